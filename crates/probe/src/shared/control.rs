//! What the measuring threads and the rest of the program tell each other: atomics, nothing that blocks.

use punctual_kernel::watchdog;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared by all threads of a run.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Set to end the run.
    stop: AtomicBool,
    /// Set by a thread that saw a wakeup over the limit.
    breached: AtomicBool,
    /// Set by a thread that found the rest of the program starved.
    starved: AtomicBool,
    /// The rest of the program increments this as it does its work.
    heartbeat: AtomicU64,
    /// How many CPUs are measured; 0 counts as one.
    cpus: AtomicU64,
    /// Rests that threads took.
    rests: AtomicU64,
    /// When to begin, ns of `CLOCK_MONOTONIC`; 0: not yet.
    start_ns: AtomicU64,
    /// When to end, ns of `CLOCK_MONOTONIC`.
    end_ns: AtomicU64,
}

impl Control {
    pub(crate) fn start(&self, start_ns: u64, end_ns: u64) {
        self.end_ns.store(end_ns, Ordering::Relaxed);
        self.start_ns.store(start_ns, Ordering::Release);
    }

    /// (start, end), once both are known.
    pub(crate) fn times(&self) -> Option<(u64, u64)> {
        let start = self.start_ns.load(Ordering::Acquire);
        (start != 0).then(|| (start, self.end_ns.load(Ordering::Relaxed)))
    }

    /// How often measuring threads rested because they had left nothing of their CPUs.
    pub(crate) fn rests(&self) -> u64 {
        self.rests.load(Ordering::Relaxed)
    }

    pub(crate) fn count_rest(&self) {
        self.rests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    #[cold]
    pub(crate) fn breach(&self) {
        self.breached.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub(crate) fn is_breached(&self) -> bool {
        self.breached.load(Ordering::Relaxed)
    }

    /// Says on how many CPUs the threads run.
    pub(crate) fn set_cpus(&self, cpus: usize) {
        self.cpus.store(cpus as u64, Ordering::Relaxed);
    }

    pub(crate) fn beat(&self) {
        self.heartbeat.fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    fn starve(&self) {
        self.starved.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub(crate) fn is_starved(&self) -> bool {
        self.starved.load(Ordering::Relaxed)
    }
}

/// A measuring thread's watch over the rest of the program: ends the run if that is starved.
#[derive(Debug, Default)]
pub(crate) struct Watchdog(watchdog::Watchdog);

impl Watchdog {
    #[inline]
    pub(crate) fn check(&mut self, control: &Control, now_ns: u64) {
        let beat = control.heartbeat.load(Ordering::Relaxed);
        if self.0.finds_starved(beat, control.cpus.load(Ordering::Relaxed), now_ns) {
            control.starve();
        }
    }
}
