//! What ratios and outcomes are called.

use crate::encode::html::table::Value;
use crate::layout::grouped;
use punctual_comparison::Outcome;

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

/// What B is, with a mark for or against it.
pub(crate) fn outcome(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Better => Value::Good(outcome.name().to_owned()),
        Outcome::Worse => Value::Bad(outcome.name().to_owned()),
        Outcome::NoDifference => Value::text(outcome.name()),
    }
}
