//! The loop of Olawuyi and others (2014), II.c: a fixed count that takes a known time on an idle processor. If it takes
//! longer, something else had the CPU.

use crate::idle::ticker::Ticker;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bins of a 64th of the calibrated time, up to eight times that; the last also holds anything longer.
pub const DURATION_BINS: usize = 8 * BINS_EACH as usize;
/// How many bins the calibrated time has.
pub const BINS_EACH: u64 = 64;

/// How a fixed count was calibrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// The count.
    pub count: u64,
    /// How long it took when it was fast: a tenth of the runs took less, ticks.
    pub ticks: u64,
}

/// How long the count really took, by 64ths of the calibrated time.
#[derive(Debug)]
pub(crate) struct Durations(Box<[AtomicU64]>);

impl Default for Durations {
    fn default() -> Durations {
        Durations((0..DURATION_BINS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Durations {
    #[inline]
    pub(crate) fn add(&self, ticks: u64, calibrated: u64) {
        let bin = (u128::from(ticks) * u128::from(BINS_EACH) / u128::from(calibrated.max(1))) as usize;
        // One writer: no need for an atomic addition.
        let bin = &self.0[bin.min(DURATION_BINS - 1)];
        bin.store(bin.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Vec<u64> {
        self.0.iter().map(|bin| bin.load(Ordering::Relaxed)).collect()
    }
}

/// Counts.
#[inline]
pub(crate) fn count_to(count: u64) {
    for number in 0..count {
        black_box(number);
    }
}

/// Looks for a count that takes this long, and measures it.
pub(crate) fn calibrate(ticker: Ticker, target_ns: u64) -> Calibration {
    let target = ticker.ticks(target_ns).max(1);
    let timed = |count: u64| {
        let before = ticker.read();
        count_to(count);
        ticker.read().wrapping_sub(before).max(1)
    };
    let fastest = |count: u64| (0..5).map(|_| timed(count)).min().unwrap_or(1);
    let mut count = 64u64;
    while fastest(count) < target / 2 && count < 1 << 40 {
        count *= 2;
    }
    let took = fastest(count);
    count = (u128::from(count) * u128::from(target) / u128::from(took)).max(1) as u64;
    // A third of a second's worth, so that a processor that changes its speed is caught at more than one.
    let runs = (300_000_000 / target_ns.max(1)).clamp(30, 3_000);
    let mut times: Vec<u64> = (0..runs).map(|_| timed(count)).collect();
    times.sort_unstable();
    Calibration { count, ticks: times[times.len() / 10] }
}
