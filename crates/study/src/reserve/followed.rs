//! What following the threads of a program shows, look by look.

use super::stolen::Stolen;
use punctual_probe::Observation;
use punctual_recording::Wakeup;
use punctual_reserve::Activation;
use std::time::Duration;

/// What following for some time showed.
pub(super) struct Followed<'a> {
    /// Activations that ended since the last look.
    pub(super) activations: &'a [(u32, Activation, u64)],
    /// Activations that were not seen, or of which the end was not seen: whose, and how many.
    unseen: &'a [(u32, u64)],
    /// What the host has taken.
    stolen: &'a Stolen,
    /// Whether a thread was freed that the kernel did not let run.
    pub(super) freed: bool,
    /// Since it began.
    pub(super) elapsed: Duration,
    /// Up to when everything that ended is known, ns of `CLOCK_MONOTONIC`: as far as this tells, it is now.
    pub(super) now_ns: u64,
}

impl Followed<'_> {
    /// What the host may have taken from an activation, ns.
    pub(super) fn stolen_ns(&self, activation: &Activation) -> u64 {
        self.stolen.between(activation.released_ns, activation.finished_ns)
    }

    /// How many activations of a thread were not seen.
    pub(super) fn unseen_of(&self, tid: u32) -> u64 {
        self.unseen.iter().filter(|(of, _)| *of == tid).map(|(_, count)| count).sum()
    }
}

/// What a look at a followed thread decides.
pub(super) enum Next {
    /// Go on.
    Go,
    /// Enough is known.
    Enough,
    /// Somebody wants the study to end.
    Stop,
}

/// What came since the last look.
#[derive(Default)]
pub(super) struct Came {
    activations: Vec<(u32, Activation, u64)>,
    unseen: Vec<(u32, u64)>,
}

impl Came {
    /// Takes what came with a look in place of what came with the one before.
    pub(super) fn take(&mut self, observation: &Observation<'_>) {
        self.activations.clear();
        self.activations.extend(observation.finished.iter().filter_map(activation));
        self.unseen.clear();
        self.unseen.extend_from_slice(observation.unseen);
        let without_end = observation.finished.iter().filter(|wakeup| wakeup.work_ns.is_none());
        self.unseen.extend(without_end.map(|wakeup| (wakeup.tid, 1)));
    }

    /// The same with the time that has passed, what the host took, and whether a thread was freed.
    pub(super) fn followed<'a>(
        &'a self,
        stolen: &'a Stolen,
        freed: bool,
        (elapsed, now_ns): (Duration, u64),
    ) -> Followed<'a> {
        Followed { activations: &self.activations, unseen: &self.unseen, stolen, freed, elapsed, now_ns }
    }
}

/// What is known about an activation: its thread, itself, and how late it was without waiting for the CPU. One that did
/// not end is left out.
fn activation(wakeup: &Wakeup) -> Option<(u32, Activation, u64)> {
    let work_ns = wakeup.work_ns?;
    let finished_ns = wakeup.expected_ns + wakeup.total_ns + work_ns;
    let activation = Activation {
        released_ns: wakeup.expected_ns,
        latency_ns: wakeup.total_ns,
        finished_ns,
        executed_ns: wakeup.executed_ns.unwrap_or(work_ns),
    };
    Some((wakeup.tid, activation, wakeup.irq_ns.unwrap_or(0) + wakeup.wake_ns.unwrap_or(0)))
}
