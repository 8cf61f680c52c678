//! The loop that wants its CPU all the time and notes when it did not have it.

use crate::idle::calibrated::{Calibration, Durations, count_to};
use crate::idle::ticker::{Ticker, tsc};
use crate::shared::control::{Control, Watchdog};
use punctual_kernel::{clock, rests};
use rtrb::Producer;
use std::sync::atomic::{AtomicU64, Ordering};

/// A time in which the loop did not run, in the form in which the loop hands it on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RawGap {
    /// When the loop ran again, ns of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    /// How long it had not run, in ticks of [`Ticker`].
    pub ticks: u64,
}

/// What a loop counts and others read.
#[derive(Debug, Default)]
pub(crate) struct LoopCounts {
    /// Everything up to here has been handed on, ns of `CLOCK_MONOTONIC`.
    pub(crate) reached_ns: AtomicU64,
    /// Ticks for which the loop measured, including its gaps, excluding its own sleeps.
    pub(crate) measured_ticks: AtomicU64,
    pub(crate) iterations: AtomicU64,
    /// Gaps for which the queue had no room.
    pub(crate) lost: AtomicU64,
    /// How often the loop went to sleep so that others could run.
    pub(crate) sleeps: AtomicU64,
    /// How long the count of a calibrated loop took.
    pub(crate) durations: Durations,
}

/// How often the loop looks around.
const LOOK_NS: u64 = 1_000_000;

pub(crate) struct IdleLoop<'a> {
    pub(crate) ticker: Ticker,
    pub(crate) threshold_ns: u64,
    /// Whether the loop rests between turns.
    pub(crate) rests: bool,
    /// Counts between two readings; `None`: reads back to back.
    pub(crate) calibration: Option<Calibration>,
    pub(crate) queue: Producer<RawGap>,
    pub(crate) control: &'a Control,
    pub(crate) counts: &'a LoopCounts,
}

/// Up to when everything has been handed on if the loop read its counter `behind_ns` before `now_ns`. The ticks' rate is
/// known to some ten-thousandths: rather a little too early, or what ran first in a long gap is passed before that ends.
#[inline(always)]
fn reached_ns(now_ns: u64, behind_ns: u64) -> u64 {
    now_ns.saturating_sub(behind_ns.saturating_add(behind_ns / 1_000))
}

impl IdleLoop<'_> {
    /// Runs from one time to the other or until the run is stopped.
    pub(crate) fn run(self, start_ns: u64, end_ns: u64) {
        let times = (start_ns, end_ns);
        match (self.calibration, self.ticker.is_tsc) {
            (None, true) => self.run_with(times, 0, tsc::read, || {}),
            (None, false) => self.run_with(times, 0, clock::monotonic_ns, || {}),
            (Some(Calibration { count, ticks }), true) => self.run_with(times, ticks, tsc::read, || count_to(count)),
            (Some(Calibration { count, ticks }), false) => {
                self.run_with(times, ticks, clock::monotonic_ns, || count_to(count));
            }
        }
    }

    #[inline(always)]
    fn run_with(
        mut self,
        (start_ns, end_ns): (u64, u64),
        own_ticks: u64,
        read: impl Fn() -> u64 + Copy,
        compute: impl Fn(),
    ) {
        let threshold = self.ticker.ticks(self.threshold_ns).max(1);
        let look_ticks = self.ticker.ticks(LOOK_NS).max(1);
        let mut watchdog = Watchdog::default();
        let (mut iterations, mut measured) = (0u64, 0u64);
        // Whatever keeps it from beginning is a gap like any other: at idle priority that may take seconds.
        let kept_ns = clock::monotonic_ns().saturating_sub(start_ns);
        let mut last = read().wrapping_sub(self.ticker.ticks(kept_ns));
        let mut looked = last;
        loop {
            compute();
            let now = read();
            iterations += 1;
            if own_ticks > 0 {
                self.counts.durations.add(now.wrapping_sub(last), own_ticks);
            }
            // Two processors' counters may differ by a few ticks; the loop is pinned, so this is only in case.
            let gap = now.wrapping_sub(last).wrapping_sub(own_ticks) as i64;
            last = now;
            if gap > threshold as i64 {
                let raw = RawGap { end_ns: self.end_of_gap(now, read), ticks: gap as u64 };
                if self.queue.push(raw).is_err() {
                    self.counts.lost.fetch_add(1, Ordering::Relaxed);
                }
            }
            if now.wrapping_sub(looked) < look_ticks {
                continue;
            }
            measured += now.wrapping_sub(looked);
            looked = now;
            self.counts.measured_ticks.store(measured, Ordering::Relaxed);
            self.counts.iterations.store(iterations, Ordering::Relaxed);
            let now_ns = clock::monotonic_ns();
            // What comes after `now` has not been handed on yet.
            let behind = self.ticker.ns(read().wrapping_sub(now));
            self.counts.reached_ns.store(reached_ns(now_ns, behind), Ordering::Release);
            watchdog.check(self.control, now_ns);
            if self.control.is_stopped() || now_ns >= end_ns {
                return;
            }
            // It leaves a tenth of its CPU to the rest of the system, at the same time as whoever else rests there.
            if let (true, Some(rest_end)) = (self.rests, rests::rest_end(now_ns)) {
                self.counts.sleeps.fetch_add(1, Ordering::Relaxed);
                clock::sleep_until(rest_end);
                last = read();
                looked = last;
            }
        }
    }

    /// The time at which the counter read `now`, a moment ago. A reading that was itself interrupted is taken again.
    #[inline(always)]
    fn end_of_gap(&self, now: u64, read: impl Fn() -> u64) -> u64 {
        let mut best = (u64::MAX, 0);
        for _ in 0..4 {
            let before = read();
            let ns = clock::monotonic_ns();
            let after = read();
            let width = after.wrapping_sub(before);
            let middle = (before.wrapping_sub(now)).wrapping_add(width / 2);
            best = best.min((width, ns.saturating_sub(self.ticker.ns(middle))));
            if self.ticker.ns(width) < 1_000 {
                break;
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reached_is_never_later_than_the_reading_even_if_the_rates_differ() {
        let (read_ns, now_ns) = (5_000_000_000, 7_000_000_000);
        for millionths in [-500_i64, -25, 0, 25, 500] {
            let behind_ns = 2_000_000_000 + 2_000 * millionths;
            let reached = reached_ns(now_ns, behind_ns.cast_unsigned());
            assert!(reached <= read_ns && reached >= read_ns - 4_000_000, "{millionths}: {reached}");
        }
        // Most of the time nothing comes between.
        assert_eq!(reached_ns(7_000, 90), 6_910);
        assert_eq!(reached_ns(7_000, u64::MAX), 0);
    }
}
