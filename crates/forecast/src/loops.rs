//! The loops of other programs: how often a cycle will take longer than its period.

use crate::Error;
use crate::input::{Input, ObservedTask, cautions};
use punctual_device::Profile;
use punctual_recording::{CycleCount, Document, TailValue, Task, agreeing, counted, format_ns};
use std::collections::BTreeMap;

/// A loop wakes in so many of a hundred of its periods or more, and in no more: who wakes twice in a cycle has cycles that are not
/// its wakeups.
const PERCENT: (u128, u128) = (50, 105);

/// What the loops of a recording of followed threads are forecast from.
#[derive(Debug, Clone)]
pub struct Loops {
    /// One for each measure.
    pub inputs: Vec<Input>,
    /// The loop as a device that has to be done with a cycle's work before the next begins: judged by
    /// [`Stage::Response`](crate::Stage::Response), from when a cycle was due until its work was done, which leaves nothing to compute.
    pub profile: Profile,
}

impl Input {
    /// Takes apart a recording of followed threads, as [`Input::from_recording`] does one of periodic threads. The loops' period, ns,
    /// is that of the recording unless another one is given.
    ///
    /// `None` for any other recording, and without a period.
    ///
    /// # Errors
    /// [`Error::Recording`] where none of the threads wakes about once in a period.
    pub fn of_loops(
        document: &Document,
        period_ns: Option<u64>,
        (tail, seconds): (&[TailValue], &[u64]),
        damaged: &[String],
    ) -> Result<Option<Loops>, Error> {
        let Some(followed) = &document.followed else { return Ok(None) };
        let Some(period_ns) = period_ns.or(followed.period_ns) else { return Ok(None) };
        let until_ns = document.ended.as_ref().map_or(document.last_ns, |ended| ended.at_ns);
        let periods = until_ns.saturating_sub(document.provenance.started_ns) / period_ns.max(1);
        let loops = |task: &Task| is_loop(task, periods);
        let mut cautions = cautions(document, damaged);
        let others = document.tasks.iter().filter(|task| task.counters.wakeups > 0 && !loops(task)).count();
        if others > 0 {
            cautions.push(format!(
                "{} {} not once in {} and {} left out",
                counted(others as u64, "other thread"),
                agreeing(others, "wakes", "wake"),
                format_ns(period_ns),
                agreeing(others, "is", "are"),
            ));
        }
        let of = |task: &Task| loops(task).then(|| ObservedTask { period_ns, missed: None, ..ObservedTask::of(task) });
        let inputs = Input::of_threads(document, (tail, seconds), &of, &cautions);
        if inputs.is_empty() {
            return Err(Error::Recording(format!(
                "none of its threads wakes about once in {}: the period (--period) has to be that of the loop, and where most of its cycles \
                 take longer, `punctual report` counts them",
                format_ns(period_ns)
            )));
        }
        Ok(Some(Loops { inputs, profile: Profile::of_loop(period_ns) }))
    }
}

impl Loops {
    /// A forecast counts wakeups: says which periods it cannot see, by the cycles of each measure.
    ///
    /// # Errors
    /// [`Error::Recording`] where whole cycles tell of more overruns than single wakeups do.
    pub fn held_against(mut self, cycles: &BTreeMap<String, CycleCount>) -> Result<Loops, Error> {
        for input in &mut self.inputs {
            let Some(count) = cycles.get(&input.measure) else { continue };
            let (least, shown) = (count.least_overruns(), count.certain);
            if least > shown {
                return Err(Error::Recording(format!(
                    "{} of {} took too long, of which single wakeups show {shown}: it sleeps within its cycles, which `punctual \
                     report` counts and no forecast is made of",
                    counted(least, "cycle"),
                    input.measure
                )));
            }
            if count.not_woken > 0 {
                input.cautions.push(format!(
                    "{} of {} of {} began without a wakeup: the cycle before still ran, so there are at least so many overruns, and \
                     this is optimistic",
                    count.not_woken,
                    counted(count.periods, "period"),
                    input.measure
                ));
            }
        }
        Ok(self)
    }
}

/// Whether the thread wakes about once in a period.
fn is_loop(task: &Task, periods: u64) -> bool {
    let seen = u128::from(task.counters.wakeups.saturating_add(task.counters.unobserved)) * 100;
    let periods = u128::from(periods);
    task.counters.wakeups > 0 && (PERCENT.0 * periods..=PERCENT.1 * periods).contains(&seen)
}
