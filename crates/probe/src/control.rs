//! What the measuring threads and the rest of the program tell each other: atomics, nothing that blocks.

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
    /// Counted up by the rest of the program as it goes about its work.
    heartbeat: AtomicU64,
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

/// Ends the run when the rest of the program makes no progress for this long while the thread does.
const STARVED_NS: u64 = 5_000_000_000;
/// The most that one period may add: a program that was stopped whole was not starved.
const STEP_NS: u64 = 20_000_000;

/// A measuring thread's watch over the rest of the program.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    seen: u64,
    last_ns: u64,
    without_progress_ns: u64,
}

impl Watchdog {
    #[inline]
    pub(crate) fn check(&mut self, control: &Control, now_ns: u64) {
        let beat = control.heartbeat.load(Ordering::Relaxed);
        if beat != self.seen {
            self.seen = beat;
            self.without_progress_ns = 0;
        } else {
            self.without_progress_ns += now_ns.saturating_sub(self.last_ns).min(STEP_NS);
            if self.without_progress_ns > STARVED_NS {
                control.starve();
            }
        }
        self.last_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starved_program_is_noticed_and_a_stopped_one_is_not() {
        let control = Control::default();
        let mut watchdog = Watchdog::default();
        let mut now = 1;
        control.beat();
        watchdog.check(&control, now);
        // Stopped for an hour: one step.
        now += 3_600_000_000_000;
        watchdog.check(&control, now);
        assert!(!control.is_starved());
        for _ in 0..STARVED_NS / STEP_NS {
            now += STEP_NS;
            watchdog.check(&control, now);
        }
        assert!(control.is_starved() && control.is_stopped());
    }

    #[test]
    fn progress_resets_the_watch() {
        let control = Control::default();
        let mut watchdog = Watchdog::default();
        for step in 0..10_000 {
            if step % 100 == 0 {
                control.beat();
            }
            watchdog.check(&control, step * STEP_NS);
        }
        assert!(!control.is_starved());
    }
}
