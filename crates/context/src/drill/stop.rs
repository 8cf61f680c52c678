//! Ends all threads of a drill, and lets them sleep until then.

use punctual_kernel::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared by all threads of a drill.
#[derive(Debug)]
pub(crate) struct Stop {
    stopped: AtomicBool,
    /// When the drill begins, ns of `CLOCK_MONOTONIC`; 0: not known yet.
    begin_ns: AtomicU64,
    /// Injections that have yet to begin.
    left: AtomicU64,
}

/// How often a sleeping thread checks whether it should end, ns.
const LOOK_NS: u64 = 20_000_000;

impl Stop {
    /// Nothing has begun; `count` injections may be made, or any number.
    pub(crate) fn new(count: Option<u64>) -> Stop {
        let left = AtomicU64::new(count.unwrap_or(u64::MAX));
        Stop { stopped: AtomicBool::new(false), begin_ns: AtomicU64::new(0), left }
    }

    /// Takes one of the injections that are left; false if there is none.
    pub(crate) fn take(&self) -> bool {
        let mut left = self.left.load(Ordering::Acquire);
        while left > 0 {
            match self.left.compare_exchange_weak(left, left - 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => left = now,
            }
        }
        false
    }

    /// Gives one back that could not be made.
    pub(crate) fn give_back(&self) {
        self.left.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(crate) fn begin(&self, begin_ns: u64) {
        self.begin_ns.store(begin_ns, Ordering::Release);
    }

    /// Waits until the start is known; `None` if the drill ended first.
    pub(crate) fn wait_for_begin(&self) -> Option<u64> {
        loop {
            let begin = self.begin_ns.load(Ordering::Acquire);
            if self.is_set() {
                return None;
            }
            if begin != 0 {
                return Some(begin);
            }
            clock::sleep_until(clock::monotonic_ns() + 1_000_000);
        }
    }

    /// Sleeps until then; false if the drill ended first.
    pub(crate) fn sleep_until(&self, until_ns: u64) -> bool {
        loop {
            if self.is_set() {
                return false;
            }
            let now = clock::monotonic_ns();
            if now >= until_ns {
                return true;
            }
            clock::sleep_until(until_ns.min(now + LOOK_NS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_injections_are_taken_than_are_left() {
        let stop = Stop::new(Some(2));
        assert!(stop.take() && stop.take() && !stop.take());
        stop.give_back();
        assert!(stop.take() && !stop.take());
        let without_end = Stop::new(None);
        assert!((0..1000).all(|_| without_end.take()));
    }
}
