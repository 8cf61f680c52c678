//! What is counted in a stream.

use crate::drift::trend;
use crate::pattern::{Pattern, patterns};
use crate::stream::Stream;
use std::collections::BTreeMap;

/// Extremes, mean and spread of times, ns. Early is negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many.
    pub count: u64,
    /// The smallest.
    pub min_ns: i64,
    /// The largest.
    pub max_ns: i64,
    /// The mean, rounded.
    pub mean_ns: i64,
    /// Half are at most this.
    pub median_ns: i64,
    /// The standard deviation, rounded.
    pub deviation_ns: u64,
}

impl Summary {
    /// The summary of these values; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = i64>) -> Option<Summary> {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        let (&min_ns, &max_ns) = (values.first()?, values.last()?);
        let count = values.len() as f64;
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / count;
        let variance = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / count;
        Some(Summary {
            count: values.len() as u64,
            min_ns,
            max_ns,
            mean_ns: (mean.round() as i64).clamp(min_ns, max_ns),
            median_ns: values[(values.len() - 1) / 2],
            deviation_ns: variance.sqrt().round() as u64,
        })
    }
}

/// Times between callbacks, counted in bins: 100 us wide as in Jones and Regehr (MSR-TR-98-29, table 2), or a tenth of
/// the period if that is finer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The width of a bin, ns.
    pub bin_ns: u64,
    /// How many fell into each bin that is not empty; bin `n` reaches from `n * bin_ns` up to the next.
    pub bins: BTreeMap<u64, u64>,
}

/// The largest width of a bin, ns.
const BIN_NS: u64 = 100_000;

impl Histogram {
    /// Counts these times, ns.
    pub fn of(period_ns: u64, times: impl IntoIterator<Item = u64>) -> Histogram {
        let bin_ns = (period_ns / 10).clamp(1, BIN_NS);
        let mut bins = BTreeMap::new();
        for time in times {
            *bins.entry(time / bin_ns).or_insert(0) += 1;
        }
        Histogram { bin_ns, bins }
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.bins.values().sum()
    }
}

/// What is counted in a stream, and what it shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Analysis {
    /// How many callbacks came.
    pub callbacks: u64,
    /// Periods that went by without one.
    pub missed: u64,
    /// Times between callbacks.
    pub intervals: Option<Summary>,
    /// How much later than asked for each callback came; for relative waits, how much longer than asked each took.
    pub overshoot: Option<Summary>,
    /// How much later than the ideal grid each callback came; grows if waits are relative.
    pub lateness: Option<Summary>,
    /// How the stream runs away from the grid, in millionths: +100 is 100 us a second late. `None` for short streams.
    pub drift_ppm: Option<f64>,
    /// Times between callbacks in bins.
    pub histogram: Histogram,
    /// The faults that the stream shows.
    pub patterns: Vec<Pattern>,
}

/// Counts a stream and looks for the patterns of faults.
pub fn analyse(stream: &Stream<'_>) -> Analysis {
    let overshoot = stream.callbacks.iter().map(|callback| callback.at_ns as i64 - callback.asked_ns as i64);
    Analysis {
        callbacks: stream.callbacks.len() as u64,
        missed: stream.missed().iter().sum(),
        intervals: Summary::of(stream.intervals().map(|interval| interval as i64)),
        overshoot: Summary::of(overshoot),
        lateness: Summary::of(stream.against_grid().map(|(_, lateness)| lateness)),
        drift_ppm: trend(stream).map(|trend| trend.ppm),
        histogram: Histogram::of(stream.period_ns, stream.intervals()),
        patterns: patterns(stream),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Callback;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_is_counted_once(steps in prop::collection::vec((0..5_000_000u64, 1..4u32), 0..300), anchored: bool) {
            let mut at = 1_000_000_000;
            let callbacks: Vec<Callback> = steps.iter().map(|&(step, periods)| {
                at += step;
                Callback { asked_ns: at - step / 2, at_ns: at, periods }
            }).collect();
            let stream = Stream { period_ns: 1_000_000, origin_ns: 1_000_000_000, anchored, callbacks: &callbacks };
            let analysis = analyse(&stream);
            prop_assert_eq!(analysis.callbacks, steps.len() as u64);
            prop_assert_eq!(analysis.histogram.count(), (steps.len() as u64).saturating_sub(1));
            prop_assert_eq!(stream.missed().len(), steps.len());
            if let Some(all) = analysis.intervals {
                prop_assert!(all.min_ns <= all.mean_ns && all.mean_ns <= all.max_ns);
                prop_assert!(all.min_ns <= all.median_ns && all.median_ns <= all.max_ns);
                prop_assert!(all.deviation_ns as i64 <= all.max_ns - all.min_ns);
            }
        }
    }

    #[test]
    fn relative_waits_miss_the_periods_by_which_they_fall_behind() {
        let callbacks: Vec<Callback> =
            (0..100).map(|n| Callback { asked_ns: n * 1_100, at_ns: n * 1_100, periods: 1 }).collect();
        let stream = Stream { period_ns: 1_000, origin_ns: 0, anchored: false, callbacks: &callbacks };
        assert_eq!(stream.missed().iter().sum::<u64>(), 9);
        let same = Stream { anchored: true, ..stream };
        assert_eq!(same.missed().iter().sum::<u64>(), 0);
    }
}
