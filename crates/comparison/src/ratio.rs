//! The ratio of two sides' quantiles, with an interval that holds the spread between runs.
//!
//! Each run gives the logarithm of a quantile and, by the bootstrap over its seconds, how uncertain it leaves that.
//! Two runs of the same machine differ by more: other work, another phase of the tick, another place in memory. Several runs
//! show that themselves; one alone cannot, and few show it badly. So the variance between runs is a weighted mean
//! of what is known beforehand ([`WITHIN`] times the variance within a run, and the square of [`Figure::between`]), worth
//! [`PRIOR_DEGREES`] degrees of freedom and fewer where there are many runs, and of what the runs show, worth one less for each side than it has runs
//! (an empirical-Bayes variance, Smyth 2004). The interval is Student's with the degrees of both together.

use crate::figure::{Estimate, Figure};
use crate::student::{student_q, student_quantile};

/// All intervals of a family hold together with this probability.
pub const CONFIDENCE: f64 = 0.95;
/// How many times as variable whole runs are as their own seconds say, measured on repeats.
pub const WITHIN: f64 = 2.5;
/// What is known beforehand counts as much as so many degrees of freedom where the runs show nothing; the less the more they
/// show: divided by one and half their own degrees.
pub const PRIOR_DEGREES: f64 = 12.0;

/// The ratio of a quantile of B to that of A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Which figure.
    pub figure: Figure,
    /// The lower limit.
    pub low: f64,
    /// The ratio of the sides' geometric means over their runs.
    pub estimate: f64,
    /// The upper limit.
    pub high: f64,
    /// Within so many ns of each other the two quantiles count as the same, whatever their ratio.
    pub same_within: f64,
    /// The probability of a ratio as far from 1, if nothing differed by more than is worth the name; times the number
    /// of ratios in the family.
    pub p: f64,
}

/// A ratio nearer to 1 than this is no difference worth the name.
pub const WORTH_THE_NAME: f64 = 1.05;
/// Nor is a difference of less than this, ns: the readings of the clock and the programs that take them cost as much.
const RESOLUTION_NS: f64 = 250.0;

/// The mean of the runs' logarithms: the side's quantile is its exponential.
fn mean_ln(runs: &[Estimate]) -> f64 {
    runs.iter().map(|run| run.ln).sum::<f64>() / runs.len().max(1) as f64
}

/// The ratio of B's quantile to A's, one [`Estimate`] for each run; one of `family` ratios whose intervals hold together.
///
/// `paired`: the runs were made in turn, the n-th of A beside the n-th of B, so that what drifts slowly cancels.
/// `None` where a side has no run.
pub fn ratio(figure: Figure, a: &[Estimate], b: &[Estimate], paired: bool, family: usize) -> Option<Ratio> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (mean_a, mean_b) = (mean_ln(a), mean_ln(b));
    let difference = mean_b - mean_a;
    let runs = a.iter().chain(b);
    let expected = figure.between * figure.between
        + WITHIN * runs.map(|run| run.variance).sum::<f64>() / (a.len() + b.len()) as f64;
    let squares = |runs: &[Estimate], mean: f64| runs.iter().map(|run| (run.ln - mean).powi(2)).sum::<f64>();
    let (shown, degrees) = if paired && a.len() == b.len() && a.len() > 1 {
        let pairs = a.iter().zip(b).map(|(a, b)| (b.ln - a.ln - difference).powi(2));
        (0.5 * pairs.sum::<f64>(), a.len() - 1)
    } else {
        (squares(a, mean_a) + squares(b, mean_b), a.len() + b.len() - 2)
    };
    let prior = PRIOR_DEGREES / (1.0 + 0.5 * degrees as f64);
    let all_degrees = prior + degrees as f64;
    let variance = (prior * expected + shown) / all_degrees;
    let error = (variance * (1.0 / a.len() as f64 + 1.0 / b.len() as f64)).sqrt();
    let reach = student_quantile(all_degrees, (1.0 - CONFIDENCE) / family.max(1) as f64) * error;
    let smaller = mean_a.min(mean_b).exp().max(1.0);
    let same_within = WORTH_THE_NAME.max(1.0 + RESOLUTION_NS / smaller);
    let beyond = (difference.abs() - same_within.ln()).max(0.0) / error;
    Some(Ratio {
        figure,
        low: (difference - reach).exp(),
        estimate: difference.exp(),
        high: (difference + reach).exp(),
        same_within,
        p: (student_q(all_degrees, beyond) * family.max(1) as f64).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FIGURES;
    use proptest::prelude::*;

    fn runs(values: &[f64]) -> Vec<Estimate> {
        values.iter().map(|&value| Estimate { ln: f64::ln(value), variance: 0.001 }).collect()
    }

    proptest! {
        #[test]
        fn turning_the_sides_round_turns_the_ratio_round(a in prop::collection::vec(1e3..1e6f64, 1..6), b in prop::collection::vec(1e3..1e6f64, 1..6)) {
            let there = ratio(FIGURES[2], &runs(&a), &runs(&b), false, 4).unwrap();
            let back = ratio(FIGURES[2], &runs(&b), &runs(&a), false, 4).unwrap();
            prop_assert!((there.estimate * back.estimate - 1.0).abs() < 1e-9);
            prop_assert!((there.low * back.high - 1.0).abs() < 1e-9);
            prop_assert!(there.low <= there.estimate && there.estimate <= there.high);
        }

        #[test]
        fn a_side_against_itself_is_no_difference(a in prop::collection::vec(1e3..1e6f64, 1..6)) {
            let same = ratio(FIGURES[2], &runs(&a), &runs(&a), false, 4).unwrap();
            prop_assert!((same.estimate - 1.0).abs() < 1e-12 && same.low < 1.0 && same.high > 1.0);
        }
    }

    #[test]
    fn more_runs_that_agree_narrow_the_interval_and_runs_that_disagree_widen_it() {
        let width = |a: &[f64], b: &[f64]| {
            let ratio = ratio(FIGURES[2], &runs(a), &runs(b), false, 4).unwrap();
            ratio.high / ratio.low
        };
        let one = width(&[1e5], &[2e5]);
        let three = width(&[1e5, 1.01e5, 0.99e5], &[2e5, 2.02e5, 1.98e5]);
        let apart = width(&[1e5, 4e5, 0.3e5], &[2e5, 8e5, 0.5e5]);
        assert!(three < one && one < apart, "{three} {one} {apart}");
    }

    #[test]
    fn what_drifts_slowly_cancels_in_pairs() {
        let (a, b) = (runs(&[1e5, 2e5, 3e5, 4e5]), runs(&[1.5e5, 3e5, 4.5e5, 6e5]));
        let apart = ratio(FIGURES[0], &a, &b, false, 4).unwrap();
        let paired = ratio(FIGURES[0], &a, &b, true, 4).unwrap();
        assert!(apart.low < 1.0 && paired.low > 1.05, "{apart:?} {paired:?}");
    }

    #[test]
    fn nanoseconds_are_no_difference() {
        let found = ratio(FIGURES[0], &runs(&[300.0]), &runs(&[500.0]), false, 1).unwrap();
        assert!(found.same_within > 1.8, "{found:?}");
    }
}
