//! Runs in the form that others need: wakeups for a recording, slices for a timeline.

use crate::error::Result;
use crate::machine::{Engine, MachineSpec};
use crate::observe::{Activation, Everything, Observer, Slice, Unwatched};
use crate::time::Picoseconds;
use punctual_recording::Wakeup;

/// Passes every wakeup of a run, in order of completion, to `take`, with the name of the thread or source.
///
/// # Errors
/// A machine that is impossible.
pub fn wakeups<F: FnMut(&str, &Wakeup)>(spec: &MachineSpec, duration: Picoseconds, take: F) -> Result<()> {
    struct Recorder<'a, F> {
        spec: &'a MachineSpec,
        take: F,
    }
    impl<F: FnMut(&str, &Wakeup)> Observer for Recorder<'_, F> {
        fn activation(&mut self, activation: &Activation) {
            let name = match (activation.thread, activation.unit.source) {
                (Some(thread), _) => &self.spec.threads[thread as usize].name,
                (None, Some(source)) => &self.spec.sources[source as usize].name,
                (None, None) => return,
            };
            (self.take)(name, &activation.wakeup(0));
        }
    }
    Engine::new(spec.clone())?.run(duration, &mut Recorder { spec, take });
    Ok(())
}

/// Who ran when, at which level.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Slices in order of their start.
    pub slices: Vec<TimelineSlice>,
    /// Activations that ended within, in order of their end.
    pub activations: Vec<Activation>,
}

/// One stretch of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineSlice {
    /// The stretch.
    pub slice: Slice,
    /// The name of what ran.
    pub name: String,
}

impl Timeline {
    /// What happens on a machine between two points in time.
    ///
    /// # Errors
    /// A machine that is impossible.
    pub fn of(spec: &MachineSpec, from: Picoseconds, to: Picoseconds) -> Result<Timeline> {
        let mut engine = Engine::new(spec.clone())?;
        engine.run(from, &mut Unwatched);
        let mut seen = Everything::default();
        engine.run(to, &mut seen);
        let mut slices: Vec<TimelineSlice> = seen
            .slices
            .into_iter()
            .map(|slice| TimelineSlice { slice, name: engine.name(slice.level, slice.index).to_owned() })
            .collect();
        slices.sort_by_key(|shown| (shown.slice.start, shown.slice.cpu));
        Ok(Timeline { slices, activations: seen.activations })
    }
}

#[cfg(test)]
mod tests {
    use crate::ledger::builtin;
    use crate::time::{MILLISECOND, SECOND};

    #[test]
    fn a_timeline_covers_its_time_and_names_what_ran() {
        let experiment = builtin("soft-modem-dialup").unwrap().unwrap();
        let timeline = experiment.timeline(Some("THR 24"), 24 * SECOND, 24 * SECOND + 50 * MILLISECOND).unwrap();
        let covered: u64 = timeline.slices.iter().map(|shown| shown.slice.end - shown.slice.start).sum();
        assert_eq!(covered, 50 * MILLISECOND);
        for name in ["spin", "modem", "clock"] {
            assert!(timeline.slices.iter().any(|shown| shown.name == name), "{name}");
        }
        assert!(experiment.timeline(None, 0, 11 * SECOND).is_err());
        assert!(experiment.timeline(Some("nowhere"), 0, SECOND).is_err());
    }

    #[test]
    fn wakeups_add_up_and_come_in_order_of_completion() {
        let experiment = builtin("soft-modem-callbacks").unwrap().unwrap();
        let mut count = 0;
        experiment
            .wakeups(Some("DPC"), 0, |name, wakeup| {
                assert!(wakeup.adds_up() && wakeup.is_observed(), "{name} {wakeup:?}");
                count += u64::from(name == "callback");
            })
            .unwrap();
        assert_eq!(count, 30_199);
    }
}
