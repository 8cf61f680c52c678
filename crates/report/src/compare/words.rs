//! What ratios and outcomes are called.

use crate::encode::html::table::Value;
use crate::layout::{grouped, load_words};
use punctual_comparison::{Difference, Outcome};

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
