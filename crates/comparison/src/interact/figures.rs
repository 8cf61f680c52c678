//! The figures of a kind of input that are compared.
//!
//! Where a run has thousands of wakeups, it has only tens of inputs of a kind, so a figure is compared from fewer on;
//! the interval includes how uncertain that makes it. How often the verdict is then wrong has been measured:
//! `docs/compare.md`.

use crate::figure::Figure;

const fn figure(name: &'static str, key: &'static str, level: f64, needed: u64, between: f64) -> Figure {
    Figure { name, key, level, is_mean: false, needed, between }
}

/// Fewer inputs than this may be chance.
pub(super) const FEW: u64 = 3;

/// Half of the inputs took no longer than this.
pub const MEDIAN: Figure = figure("median", "p50_ns", 0.5, 6, 0.1);
/// How much of the time was spent waiting for inputs of this kind: ns a second, from the first input to the end.
pub const WAITING: Figure = figure("waiting", "waiting_ns_per_s", 0.0, 6, 0.15);
/// How long the program took to start: one value per run, whose own uncertainty is not known.
pub const START_FIGURE: Figure = figure("took", "start_ns", 0.5, 1, 0.3);
/// The latencies that decide, from the middle outwards: three inputs of each run lie beyond them.
pub const INPUT_FIGURES: [Figure; 3] =
    [MEDIAN, figure("p90", "p90_ns", 0.9, 30, 0.15), figure("p99", "p99_ns", 0.99, 300, 0.25)];
