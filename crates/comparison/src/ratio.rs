//! The ratio of two sides' quantiles, with an interval that includes the spread between runs.
//!
//! Each run gives the logarithm of a quantile and, by the bootstrap over its seconds, how uncertain that is. Two runs
//! of the same machine differ by more: other work, another phase of the tick, another place in memory. Several runs
//! show that themselves; one run alone cannot, and a few show it badly. So the variance between runs is a weighted mean
//! of what is known beforehand ([`WITHIN`] times the variance within a run, and the square of [`Figure::between`]),
//! worth [`PRIOR_DEGREES`] degrees of freedom, fewer if there are many runs, and of what the runs show, worth one
//! degree less than each side has runs (an empirical-Bayes variance, Smyth 2004). The interval is Student's with the
//! degrees of both together.
//!
//! What is known beforehand holds for a machine that does not change. If the runs spread more, it is wrong, and counts
//! for less and less ([`CONFLICT`]). If they spread much more ([`SPREAD`]), the runs of the two sides also have to be
//! separated in their order, whatever their distribution (rank sum), or all pairs have to point the same way; otherwise
//! the interval reaches 1.

use crate::figure::{Estimate, Figure};
use crate::rank::rank_sum_p;
use crate::standing::MIN_RUNS;
use crate::student::{student_q, student_quantile};

/// All intervals of a family hold together with this probability.
pub const CONFIDENCE: f64 = 0.95;
/// How many times as variable whole runs are as their own seconds say, measured on repeats.
pub const WITHIN: f64 = 2.5;
/// If the runs show nothing, what is known beforehand counts as this many degrees of freedom; the more they show, the
/// less: divided by one plus half their own degrees. This and the next two are chosen, with their forms: nothing but
/// the false alarms and the coverage in `docs/compare.md` speaks for them.
pub const PRIOR_DEGREES: f64 = 12.0;
/// If the runs show more than this many times the expected variance, what is known beforehand counts for less: by the
/// fourth power of how many times that is.
pub const CONFLICT: f64 = 2.5;
/// From this many times the expected variance, the ranks have a say.
pub const SPREAD: f64 = 2.0;
/// Two sides are separated if an order as uneven as theirs has at most this probability: all of three runs above all of
/// three, 0.1.
const APART: f64 = 0.11;
/// Or if this many pairs of neighbours all point the same way: by chance once in 32 times, before the interval has its
/// say.
const AGREEING: usize = 6;
/// A family's figures belong to one distribution, and rise and fall together: if runs spread no more than expected, the
/// first of these shares of them counts (Bonferroni's correction would count each); if they spread more, up to the
/// second, which is more than all. Both were measured and set so that intervals hold together and equal machines are
/// found equal in 95 % of cases: `docs/compare.md`.
const ALIKE: [f64; 2] = [0.4, 1.25];
/// Between these multiples of the expected variance the share goes from the first to the second.
const ALIKE_FROM_TO: [f64; 2] = [1.0, 2.25];

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
    /// Within this ratio of each other the two quantiles count as the same.
    pub same_within: f64,
    /// The probability of a ratio this far from 1 if no difference were worth the name, times the number of ratios in
    /// the family.
    pub p: f64,
    /// From this ratio up, or from its inverse down, runs that are as many, [`MIN_RUNS`] of each at least, and spread as
    /// much find a difference four times out of five.
    pub findable: f64,
}

/// A ratio closer to 1 than this is not a difference worth the name.
pub const WORTH_THE_NAME: f64 = 1.05;
/// Nor is a difference smaller than this, ns: reading the clock, and the programs that do so, cost as much.
pub const RESOLUTION_NS: f64 = 250.0;

/// The mean of the runs' logarithms: the side's quantile is its exponential.
pub(crate) fn mean_ln(runs: &[Estimate]) -> f64 {
    runs.iter().map(|run| run.ln).sum::<f64>() / runs.len().max(1) as f64
}

/// How much whole runs vary: expected and shown.
struct Spread {
    /// The variance of a run's logarithm that is used.
    variance: f64,
    /// How many degrees of freedom it is worth.
    degrees: f64,
    /// How many times the expected variance the runs show.
    excess: f64,
}

fn spread(figure: Figure, a: &[Estimate], b: &[Estimate], paired: bool) -> Spread {
    let (mean_a, mean_b) = (mean_ln(a), mean_ln(b));
    let within = |runs: &[Estimate]| runs.iter().map(|run| run.variance).sum::<f64>();
    let expected = figure.between * figure.between + WITHIN * (within(a) + within(b)) / (a.len() + b.len()) as f64;
    let squares = |runs: &[Estimate], mean: f64| runs.iter().map(|run| (run.ln - mean).powi(2)).sum::<f64>();
    let apart = (squares(a, mean_a) + squares(b, mean_b), (a.len() + b.len() - 2) as f64);
    let (shown, degrees) = if paired && a.len() == b.len() && a.len() > 1 {
        let difference = mean_b - mean_a;
        let pairs = a.iter().zip(b).map(|(a, b)| (b.ln - a.ln - difference).powi(2));
        (0.5 * pairs.sum::<f64>(), (a.len() - 1) as f64)
    } else {
        apart
    };
    // Two pairs may be alike by luck where four runs are not.
    let times = |(shown, degrees): (f64, f64)| if degrees > 0.0 { shown / degrees / expected } else { 0.0 };
    let excess = times((shown, degrees)).max(times(apart));
    pooled(expected, shown, degrees, excess)
}

/// What is expected and what the runs show, each weighted by what it is worth.
fn pooled(expected: f64, shown: f64, degrees: f64, excess: f64) -> Spread {
    let prior = PRIOR_DEGREES / (1.0 + 0.5 * degrees) * (CONFLICT / excess.max(CONFLICT)).powi(4);
    let all = prior + degrees;
    Spread { variance: (prior * expected + shown) / all, degrees: all, excess }
}

/// A figure of one side, with an interval that includes the spread between its runs; ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Which figure.
    pub figure: Figure,
    /// The lower limit.
    pub low_ns: f64,
    /// The geometric mean over the runs.
    pub estimate_ns: f64,
    /// The upper limit.
    pub high_ns: f64,
}

/// A side's figure, from one [`Estimate`] for each run. The interval holds with the probability [`CONFIDENCE`], by
/// itself. `None` if there is no run.
pub fn level(figure: Figure, runs: &[Estimate]) -> Option<Level> {
    if runs.is_empty() {
        return None;
    }
    let (mean, count) = (mean_ln(runs), runs.len() as f64);
    let Spread { variance, degrees, .. } = spread_of_side(figure, runs);
    let reach = student_quantile(degrees, 1.0 - CONFIDENCE) * (variance / count).sqrt();
    let (low_ns, high_ns) = ((mean - reach).exp(), (mean + reach).exp());
    Some(Level { figure, low_ns, estimate_ns: mean.exp(), high_ns })
}

/// How much the runs of one side vary, of which there is at least one.
fn spread_of_side(figure: Figure, runs: &[Estimate]) -> Spread {
    let (mean, count) = (mean_ln(runs), runs.len().max(1) as f64);
    let within = runs.iter().map(|run| run.variance).sum::<f64>() / count;
    let expected = figure.between * figure.between + WITHIN * within;
    let shown = runs.iter().map(|run| (run.ln - mean).powi(2)).sum::<f64>();
    let degrees = count - 1.0;
    let excess = if degrees > 0.0 { shown / degrees / expected } else { 0.0 };
    pooled(expected, shown, degrees, excess)
}

/// From this many times the expected variance on, a side's own runs are said to differ: of three runs of a machine that
/// stays what it is, a figure does once in fifty times.
const UNSTEADY: f64 = 4.0;

/// How many times the variance that is expected of a machine that stays what it is the runs of one side show of a figure;
/// `None` if that is no more than chance often brings.
pub(crate) fn unsteady(figure: Figure, runs: &[Estimate]) -> Option<f64> {
    Some(spread_of_side(figure, runs).excess).filter(|excess| *excess > UNSTEADY)
}

/// How many of a family's figures count, by the spread between runs.
fn counted(family: usize, excess: f64) -> f64 {
    let [from, to] = ALIKE_FROM_TO;
    let way = ((excess - from) / (to - from)).clamp(0.0, 1.0);
    (family.max(1) as f64 * (ALIKE[0] + way * (ALIKE[1] - ALIKE[0]))).max(1.0)
}

/// The ratio of B's quantile to A's, from one [`Estimate`] for each run; one of `family` ratios whose intervals hold
/// together with the probability [`CONFIDENCE`].
///
/// `paired`: the runs were measured in turn, the n-th of A beside the n-th of B, so that slow drift cancels. `None` if
/// a side has no run.
pub fn ratio(figure: Figure, a: &[Estimate], b: &[Estimate], paired: bool, family: usize) -> Option<Ratio> {
    ratio_with(figure, a, b, paired, family, Demand { confidence: CONFIDENCE, share: 1 })
}

/// How certain a difference has to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    /// A family's intervals hold together with this probability.
    pub(crate) confidence: f64,
    /// How many comparisons share the order of the runs, which must not mislead any of them.
    pub(crate) share: usize,
}

/// The same with another demand.
pub(crate) fn ratio_with(
    figure: Figure,
    a: &[Estimate],
    b: &[Estimate],
    paired: bool,
    family: usize,
    demand: Demand,
) -> Option<Ratio> {
    logarithms(figure, a, b, paired, family, demand).map(|found| Ratio::of(figure, found))
}

impl Ratio {
    pub(crate) fn of(figure: Figure, found: Logarithms) -> Ratio {
        let Logarithms { low, estimate, high, same_within, p, findable, excess: _ } = found;
        Ratio { figure, low: low.exp(), estimate: estimate.exp(), high: high.exp(), same_within, p, findable }
    }
}

/// How far apart the logarithms of two sides' figures are: with the sides swapped, the limits are exactly the opposite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Logarithms {
    pub(crate) low: f64,
    pub(crate) estimate: f64,
    pub(crate) high: f64,
    /// As in [`Ratio`], like the next two.
    pub(crate) same_within: f64,
    pub(crate) p: f64,
    pub(crate) findable: f64,
    /// How many times the expected variance the runs show.
    pub(crate) excess: f64,
}

impl Logarithms {
    /// Whether the runs spread so much that the interval is as wide as its correction makes any.
    pub(crate) fn spread_widely(&self) -> bool {
        self.excess > ALIKE_FROM_TO[1]
    }
}

/// What [`ratio_with`] is computed from.
pub(crate) fn logarithms(
    figure: Figure,
    a: &[Estimate],
    b: &[Estimate],
    paired: bool,
    family: usize,
    demand: Demand,
) -> Option<Logarithms> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (mean_a, mean_b) = (mean_ln(a), mean_ln(b));
    let difference = mean_b - mean_a;
    let Spread { variance, degrees, excess } = spread(figure, a, b, paired);
    let error = (variance * (1.0 / a.len() as f64 + 1.0 / b.len() as f64)).sqrt();
    let counted = counted(family, excess);
    let reach = student_quantile(degrees, (1.0 - demand.confidence) / counted) * error;
    let smaller = mean_a.min(mean_b).exp().max(1.0);
    let same_within = WORTH_THE_NAME.max(1.0 + RESOLUTION_NS / smaller);
    let beyond = (difference.abs() - same_within.ln()).max(0.0) / error;
    let p = (student_q(degrees, beyond) * counted).min(1.0);
    let ln = |runs: &[Estimate]| runs.iter().map(|run| run.ln).collect::<Vec<f64>>();
    // Slow drift mixes the sides' ranks, but not the pairs.
    let mut signs = a.iter().zip(b).map(|(a, b)| b.ln.total_cmp(&a.ln));
    let first = signs.next();
    // Each further pair halves the chance that all of them point the same way.
    let share = demand.share.max(1);
    let agreeing = AGREEING + share.next_power_of_two().ilog2() as usize;
    let pairs_agree = paired && a.len() == b.len() && a.len() >= agreeing && signs.all(|sign| Some(sign) == first);
    let mixed = excess > SPREAD && !pairs_agree && rank_sum_p(&ln(a), &ln(b)) > APART / share as f64;
    let (low, high) = (difference - reach, difference + reach);
    // Fewer runs give no verdict, and so find nothing.
    let found_from = match a.len().min(b.len()) {
        runs if runs < MIN_RUNS => found_from(variance, degrees, (1.0 - demand.confidence) / counted, MIN_RUNS),
        _ => reach + FOUR_OF_FIVE * error,
    };
    Some(Logarithms {
        low: if mixed { low.min(0.0) } else { low },
        estimate: difference,
        high: if mixed { high.max(0.0) } else { high },
        same_within,
        p: if mixed { 1.0 } else { p },
        findable: (same_within.ln() + found_from).exp(),
        excess,
    })
}

/// How far above what counts as none the logarithm of a difference has to be for so many runs of each side to find it four
/// times out of five; `outside`: how often an interval may not hold.
fn found_from(variance: f64, degrees: f64, outside: f64, runs: usize) -> f64 {
    let error = (variance * 2.0 / runs as f64).sqrt();
    let degrees = degrees.max((runs - 1) as f64);
    student_quantile(degrees, outside) * error + FOUR_OF_FIVE * error
}

/// How many runs of each side it takes to find a difference like this one four times out of five, if runs spread as
/// expected and as these did; `None` if more than [`MAX_RUNS_NEEDED`] would be needed.
pub(crate) fn runs_needed(ratio: &Ratio, a: &[Estimate], b: &[Estimate], family: usize) -> Option<usize> {
    let wanted = ratio.estimate.ln().abs() - ratio.same_within.ln();
    runs_that_find(wanted, ratio.figure, a, b, family)
}

/// How many runs of each side find a difference whose logarithm is this far above what counts as none, as
/// [`runs_needed`] says.
pub(crate) fn runs_that_find(
    wanted: f64,
    figure: Figure,
    a: &[Estimate],
    b: &[Estimate],
    family: usize,
) -> Option<usize> {
    let Spread { variance, degrees, excess } = spread(figure, a, b, false);
    let counted = counted(family, excess);
    let outside = (1.0 - CONFIDENCE) / counted;
    (MIN_RUNS..=MAX_RUNS_NEEDED).find(|&runs| found_from(variance, degrees, outside, runs) <= wanted)
}

/// The most runs that are ever asked for.
pub const MAX_RUNS_NEEDED: usize = 30;
/// This many standard errors beyond the limit, a difference is found four times out of five.
const FOUR_OF_FIVE: f64 = 0.842;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FIGURES;
    use proptest::prelude::*;

    fn runs(values: &[f64]) -> Vec<Estimate> {
        values.iter().map(|&value| Estimate { ln: f64::ln(value), variance: 0.001 }).collect()
    }

    #[test]
    fn a_level_is_the_runs_mean_and_narrower_the_more_they_agree() {
        let one = level(FIGURES[2], &runs(&[100e3])).unwrap();
        assert!((one.estimate_ns - 100e3).abs() < 1e-3 && one.low_ns < 80e3 && one.high_ns > 125e3, "{one:?}");
        let agreeing = level(FIGURES[2], &runs(&[99e3, 100e3, 101e3, 100e3, 99e3, 101e3])).unwrap();
        assert!(agreeing.high_ns / agreeing.low_ns < one.high_ns / one.low_ns, "{agreeing:?}");
        let apart = level(FIGURES[2], &runs(&[50e3, 200e3, 100e3])).unwrap();
        assert!((apart.estimate_ns - 100e3).abs() < 1.0 && apart.high_ns / apart.low_ns > 2.0, "{apart:?}");
        assert_eq!(level(FIGURES[2], &[]), None);
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

        /// One run of each side finds nothing; what three would find is what takes three.
        #[test]
        fn what_one_run_of_each_calls_findable_takes_three(first in 1e3..1e6f64, times in 1.0..50.0f64) {
            let (a, b) = (runs(&[first]), runs(&[first * times]));
            let found = ratio(FIGURES[2], &a, &b, false, 4).unwrap();
            let takes_three = runs_needed(&found, &a, &b, 4) == Some(MIN_RUNS);
            // At the limit itself, rounding decides.
            if (found.estimate / found.findable - 1.0).abs() > 1e-9 {
                prop_assert_eq!(takes_three, found.estimate > found.findable, "{:?}", found);
            }
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
        let (a, b) = (runs(&[1e5, 2e5, 3e5, 4e5, 5e5, 6e5]), runs(&[1.5e5, 3e5, 4.5e5, 6e5, 7.5e5, 9e5]));
        let apart = ratio(FIGURES[0], &a, &b, false, 4).unwrap();
        let paired = ratio(FIGURES[0], &a, &b, true, 4).unwrap();
        assert!(apart.low < 1.0 && paired.low > 1.05, "{apart:?} {paired:?}");
    }

    #[test]
    fn runs_that_spread_more_than_is_expected_are_not_taken_for_steady() {
        // Two regimes, the second five times as late; all of B's runs but one are in it, and none of A's.
        let (a, b) = (runs(&[1e5, 1.02e5, 0.98e5]), runs(&[1.01e5, 5e5, 5.05e5]));
        let found = ratio(FIGURES[2], &a, &b, true, 4).unwrap();
        assert!(found.low < 1.0 && found.p > 0.05, "{found:?}");
        // The ranks of both sides are mixed: however narrow the interval, it reaches 1.
        let (a, b) = (runs(&[1e5, 1e5, 1e5, 1e5, 9e5]), runs(&[1.01e5, 9e5, 9e5, 9e5, 9e5]));
        let found = ratio(FIGURES[2], &a, &b, false, 1).unwrap();
        assert!(found.low <= 1.0, "{found:?}");
    }

    #[test]
    fn what_could_be_found_and_how_many_runs_it_takes() {
        let three = ratio(FIGURES[2], &runs(&[1e5; 3]), &runs(&[1.3e5; 3]), true, 4).unwrap();
        let ten = ratio(FIGURES[2], &runs(&[1e5; 10]), &runs(&[1.3e5; 10]), true, 4).unwrap();
        assert!(three.findable > ten.findable && ten.findable > 1.05, "{three:?} {ten:?}");
        let (a, b) = (runs(&[1e5]), runs(&[1.3e5]));
        let one = ratio(FIGURES[2], &a, &b, false, 4).unwrap();
        let needed = runs_needed(&one, &a, &b, 4).unwrap();
        assert!((3..=20).contains(&needed), "{needed}");
        let (a, b) = (runs(&[1e5]), runs(&[4e5]));
        assert_eq!(runs_needed(&ratio(FIGURES[2], &a, &b, false, 4).unwrap(), &a, &b, 4), Some(3));
        let (a, b) = (runs(&[1e5]), runs(&[1.01e5]));
        assert_eq!(runs_needed(&ratio(FIGURES[2], &a, &b, false, 4).unwrap(), &a, &b, 4), None);
    }

    #[test]
    fn nanoseconds_are_no_difference() {
        let found = ratio(FIGURES[0], &runs(&[300.0]), &runs(&[500.0]), false, 1).unwrap();
        assert!(found.same_within > 1.8, "{found:?}");
    }
}
