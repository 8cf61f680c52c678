//! The figures that are compared: quantiles, and means of the worst wakeups.
//!
//! A quantile such as p99 often lies on a cliff: if 0.8 % of wakeups are late by 500 us and all others by 60, it jumps
//! tenfold when 0.8 becomes 1.2. It is what people read, but a poor witness. The mean over the worst tenth of all
//! wakeups then moves by only a tenth. So both are compared.

use punctual_recording::Distribution;

/// A figure of a distribution that is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Its name: `p99.9`, `worst 10 %`.
    pub name: &'static str,
    /// Its key in JSON: `p99_9_ns`.
    pub key: &'static str,
    /// The share of wakeups that are at most this late; for a mean, the share that it leaves out.
    pub level: f64,
    /// Whether it is the geometric mean of all wakeups beyond the level, rather than the quantile at it.
    pub is_mean: bool,
    /// It is compared only if each run has this many wakeups.
    pub needed: u64,
    /// How much it must be expected to differ between runs of one machine even if each run is steady: the standard
    /// deviation of its logarithm. Set from repeats: `docs/compare.md`.
    pub between: f64,
}

/// A quantile decides only if this many wakeups of each run lie beyond it: fewer may come from a single stall.
const BEYOND: u64 = 8;

const fn figure(
    name: &'static str,
    key: &'static str,
    level: f64,
    is_mean: bool,
    one_beyond: u64,
    between: f64,
) -> Figure {
    Figure { name, key, level, is_mean, needed: BEYOND * one_beyond, between }
}

/// The figures that are compared, from the middle outwards.
pub const FIGURES: [Figure; 5] = [
    figure("p50", "p50_ns", 0.5, false, 2, 0.1),
    figure("worst 10 %", "worst_10_percent_ns", 0.9, true, 10, 0.12),
    figure("p99", "p99_ns", 0.99, false, 100, 0.15),
    figure("p99.9", "p99_9_ns", 0.999, false, 1_000, 0.25),
    figure("p99.99", "p99_99_ns", 0.9999, false, 10_000, 0.4),
];

impl Figure {
    /// The figure of values given as (from, to, count), ascending: ns, spread evenly from edge to edge.
    /// `None` if there is none.
    pub(crate) fn of(&self, total: u64, values: impl Iterator<Item = (f64, f64, u64)>) -> Option<f64> {
        let rank = self.level * total as f64;
        let (mut below, mut sum) = (0.0, 0.0);
        for (from, to, count) in values {
            let within = count as f64;
            if below + within >= rank {
                let start = from + (to - from) * ((rank - below).max(0.0) / within);
                if !self.is_mean {
                    return Some(start.max(1.0));
                }
                let taken = below + within - rank.max(below);
                sum += taken * (0.5 * (start + to)).max(1.0).ln();
            }
            below += within;
        }
        (self.is_mean && total > 0).then(|| (sum / (total as f64 - rank)).exp())
    }

    /// The figure of a distribution, ns; for a quantile, the same as [`Distribution::quantile`].
    pub fn of_distribution(&self, distribution: &Distribution) -> Option<u64> {
        if !self.is_mean {
            return distribution.quantile(self.level);
        }
        let values = distribution.buckets().map(|(value, count)| (value as f64, value as f64, count));
        self.of(distribution.count(), values).map(|value| value.round() as u64)
    }
}

/// One run's figure: its natural logarithm (of ns), and the variance of that within the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Natural logarithm of the figure in ns.
    pub ln: f64,
    /// How uncertain it is within the run: the variance of the logarithm, by the bootstrap.
    pub variance: f64,
}
