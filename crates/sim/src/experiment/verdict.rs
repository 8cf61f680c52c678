//! Whether a row is complete, and whether the result agrees with what the paper prints.

use super::schema::{Class, File, Row, Value};

/// What a row must have, by its class: the key that is missing, and what is wrong.
pub(super) fn check(row: &Row, file: &File) -> Result<(), (&'static str, String)> {
    let of_paper = file.paper.is_some();
    let bounded = row.at_least.is_some() || row.at_most.is_some();
    let said = row.published.is_some() || bounded;
    match row.class {
        Class::Input | Class::NotSimulated | Class::Identity if row.because.is_none() => {
            return Err(("id", format!("row {:?} does not say why (because)", row.id)));
        }
        Class::Prediction | Class::Fitted if row.measure.is_none() => {
            return Err(("id", format!("row {:?} has no measure", row.id)));
        }
        Class::Prediction | Class::Fitted if !said => {
            return Err(("id", format!("row {:?} says nothing that could fail", row.id)));
        }
        _ => {}
    }
    let judged = matches!(row.class, Class::Prediction | Class::Fitted);
    let loose = bounded || row.tolerance_percent.is_some() || row.tolerance.is_some_and(|max| max > 0.0);
    if of_paper && judged && loose && row.resolution.is_none() {
        return Err(("id", format!("row {:?} does not say why it may differ (resolution)", row.id)));
    }
    if of_paper && said && row.printed.is_empty() {
        return Err(("id", format!("row {:?} does not say where it is printed", row.id)));
    }
    let fitted = file.fitted.iter().any(|fitted| fitted.on.contains(&row.id));
    match (row.class, fitted) {
        (Class::Fitted, false) => {
            Err(("class", format!("row {:?} is fitted, but no [[fitted]] value names it", row.id)))
        }
        (Class::Prediction, true) => {
            Err(("class", format!("row {:?} is not a prediction: a value was fitted to it", row.id)))
        }
        _ => Ok(()),
    }
}

/// What may differ, in words.
pub(super) fn tolerance(row: &Row) -> String {
    let mut parts = Vec::new();
    if let Some(max) = row.tolerance {
        parts.push(if max == 0.0 { "exactly".to_owned() } else { format!("within {max}") });
    }
    if let Some(percent) = row.tolerance_percent {
        parts.push(format!("within {percent} %"));
    }
    if let Some(least) = row.at_least {
        parts.push(format!("at least {least}"));
    }
    if let Some(max) = row.at_most {
        parts.push(format!("at most {max}"));
    }
    parts.join(", ")
}

/// Whether the result agrees with the paper, as far as it must.
pub(super) fn holds(row: &Row, simulated: Option<&Value>) -> bool {
    match (&row.published, simulated) {
        (_, None) => false,
        (Some(Value::Text(word)), Some(simulated @ Value::Text(_))) => *simulated == Value::Text(word.clone()),
        (_, Some(Value::Text(_))) => false,
        (published, Some(Value::Number(value))) => {
            let bounded = row.at_least.is_none_or(|min| *value >= min) && row.at_most.is_none_or(|max| *value <= max);
            let difference = match published {
                Some(Value::Number(number)) => Some(((value - number).abs(), number.abs())),
                _ => None,
            };
            let unbounded = row.at_least.is_none() && row.at_most.is_none();
            let max = match (row.tolerance, row.tolerance_percent, difference) {
                (Some(max), _, _) => Some(max),
                (None, Some(percent), Some((_, number))) => Some(number * percent / 100.0),
                _ => None,
            };
            bounded
                && match (difference, max) {
                    (Some((difference, _)), Some(max)) => difference <= max + 1e-9,
                    (Some((difference, _)), None) if unbounded => difference <= 1e-9,
                    (None, _) => !unbounded,
                    _ => true,
                }
        }
    }
}
