//! What ratios and outcomes are called.

use crate::encode::html::table::Value;
use crate::layout::{grouped, load_words};
use punctual_comparison::{Comparison, Difference, FIGURES, Outcome, Quantiles, RateRatio, Ratio, StageComparison};
use punctual_forecast::are_too_wide;

/// A ratio with as many digits as are worth reading.
pub(crate) fn factor(ratio: f64) -> String {
    match ratio {
        _ if !ratio.is_finite() => "-".to_owned(),
        _ if ratio >= 100.0 => grouped(ratio.round().min(1e15) as u64),
        _ if ratio >= 10.0 => format!("{ratio:.1}"),
        _ if ratio >= 0.095 => format!("{ratio:.2}"),
        _ => format!("{ratio:.3}"),
    }
}

/// How many times as much of something there is on B, with limits; `times` says of what, such as *times as often*.
pub(super) fn rates_in_words(ratio: &RateRatio, times: &str) -> String {
    match (ratio.low, ratio.estimate, ratio.high) {
        (Some(low), Some(estimate), Some(high)) => {
            let limits = match (low < MIN_TOLD, high > MAX_TOLD) {
                (false, false) => format!("{} to {}", factor(low), factor(high)),
                (true, false) => format!("at most {}", factor(high)),
                (false, true) => format!("at least {}", factor(low)),
                (true, true) => NOT_LIMITED.to_owned(),
            };
            format!("{} {times}, {limits}", factor(estimate))
        }
        (Some(low), _, _) if low < MIN_TOLD => NOT_LIMITED.to_owned(),
        (Some(low), _, _) => format!("at least {} {times}", factor(low)),
        (None, _, Some(high)) if high > MAX_TOLD => NOT_LIMITED.to_owned(),
        (None, _, Some(high)) => format!("at most {} {times}", factor(high)),
        (None, ..) => "no ratio".to_owned(),
    }
}

/// A ratio that may be anything.
const NOT_LIMITED: &str = "not limited by these runs";

/// The two values that differ, as text and page show them; `None` for one that is not known.
pub(super) fn values(row: &Difference) -> [Option<String>; 2] {
    let is_load = (row.area, row.what.as_str()) == ("load", "name");
    [&row.a, &row.b].map(|value| {
        let value = value.as_deref().filter(|value| !value.is_empty())?;
        Some(if is_load { load_words(value) } else { value }.to_owned())
    })
}

/// What B is, with a mark for or against it.
pub(crate) fn outcome(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Better => Value::Good(outcome.name().to_owned()),
        Outcome::Worse => Value::Bad(outcome.name().to_owned()),
        Outcome::NoDifference => Value::text(outcome.name()),
    }
}

/// What B is by one ratio. An interval that is all on one side of 1, but not all beyond what counts as the same, shows no
/// difference worth the name; yet it rules the other direction out, and that is said.
pub(crate) fn told(ratio: &Ratio) -> &'static str {
    match ratio.outcome() {
        Outcome::NoDifference if ratio.high < 1.0 && ratio.low < 1.0 / ratio.same_within => "better or the same",
        Outcome::NoDifference if ratio.low > 1.0 && ratio.high > ratio.same_within => "worse or the same",
        outcome => outcome.name(),
    }
}

/// What B is in a stage, by the ratio that is shown beside.
pub(crate) fn of_stage(stage: &StageComparison) -> &'static str {
    match (stage.verdict.outcome, stage.shown()) {
        (Outcome::NoDifference, Some(ratio)) if ratio.outcome() == Outcome::NoDifference => told(ratio),
        (outcome, _) => outcome.name(),
    }
}

/// Whether there were too few wakeups to compare, and nothing else was counted that could be.
pub(crate) fn has_too_few(comparison: &Comparison) -> bool {
    comparison.counts.is_empty() && lacks_wakeups(comparison)
}

/// Whether there were too few wakeups to compare, whatever else was counted.
pub(crate) fn lacks_wakeups(comparison: &Comparison) -> bool {
    comparison.total().is_some_and(|total| total.shown().is_none())
}

/// A figure of a side by which it was compared.
pub(crate) fn value_of(quantiles: &Quantiles, ratio: &Ratio) -> Option<u64> {
    let index = FIGURES.iter().position(|figure| figure.name == ratio.figure.name)?;
    quantiles.values_ns[index]
}

/// No two sides of one machine have a ratio further from 1 than this.
pub(crate) const MAX_TOLD: f64 = 10_000.0;
/// Less than this would be 0.000.
const MIN_TOLD: f64 = 0.000_5;

/// The interval of a ratio; `None` if it is so wide that it says nothing. If it shows which side is larger, that limit
/// says something.
pub(crate) fn interval(ratio: &Ratio) -> Option<String> {
    match are_too_wide(ratio.low, ratio.high) {
        false => Some(format!("{} to {}", factor(ratio.low), factor(ratio.high))),
        true if ratio.low > 1.0 => Some(format!("{} or more", factor(ratio.low))),
        true if ratio.high < 1.0 => Some(format!("{} or less", factor(ratio.high))),
        true => None,
    }
}

/// Whose stage it is, on either side.
pub(crate) fn measure(stage: &StageComparison) -> String {
    let (a, b) = &stage.measure;
    if a == b { a.clone() } else { format!("{a} -> {b}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_rate_that_say_nothing_are_not_told() {
        let said = |low, estimate, high| rates_in_words(&RateRatio { low, estimate, high }, "times the share");
        for (low, estimate, high, expected) in [
            (Some(0.006), Some(0.25), Some(10.3), "0.25 times the share, 0.006 to 10.3"),
            (Some(1.2e-6), Some(0.37), Some(1_730_326.0), "0.37 times the share, not limited by these runs"),
            (Some(1e-5), Some(0.003), Some(19.5), "0.003 times the share, at most 19.5"),
            (Some(0.2), Some(50.0), Some(1e6), "50.0 times the share, at least 0.20"),
            (Some(3.1), None, None, "at least 3.10 times the share"),
            (Some(1e-9), None, None, "not limited by these runs"),
            (None, Some(0.0), Some(0.03), "at most 0.030 times the share"),
            (None, Some(0.0), Some(1e9), "not limited by these runs"),
            (None, None, None, "no ratio"),
        ] {
            assert_eq!(said(low, estimate, high), expected);
        }
    }

    #[test]
    fn what_rules_out_one_direction_is_not_called_no_difference() {
        for (low, estimate, high, expected) in [
            (1e-9, 0.02, 0.99, "better or the same"),
            (1e-9, 0.02, 0.90, "better"),
            (0.96, 0.97, 0.99, "no difference"),
            (0.50, 0.98, 1.10, "no difference"),
            (1.01, 1.02, 1.03, "no difference"),
            (1.01, 50.0, 1e9, "worse or the same"),
            (1.06, 50.0, 1e9, "worse"),
        ] {
            let ratio = Ratio { figure: FIGURES[0], low, estimate, high, same_within: 1.05, p: 1.0, findable: 2.0 };
            assert_eq!(told(&ratio), expected, "{low} to {high}");
        }
    }
}
