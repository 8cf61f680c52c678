//! Rows that the ledger and a single experiment share: points of a paper, assumptions, fitted values.

use crate::sim::text::class_name;
use punctual_sim::experiment::{AssumptionNote, FittedNote, LedgerRow, Moved, Value};
use serde::Serialize;

/// One point of a paper.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PointRow<'a> {
    id: &'a str,
    paper: &'a str,
    /// Where the paper prints it.
    printed: &'a str,
    item: &'a str,
    published: Option<ValueRow<'a>>,
    simulated: Option<ValueRow<'a>>,
    unit: &'a str,
    class: &'static str,
    tolerance: &'a str,
    /// Why it may differ by that much.
    resolution: Option<&'a str>,
    assumption: Option<&'a str>,
    why_not: Option<&'a str>,
    holds: Option<bool>,
    /// The measured reason why it does not hold.
    contradicted: Option<&'a str>,
}

/// What a paper or the simulator says about a point.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(super) enum ValueRow<'a> {
    Number(f64),
    Text(&'a str),
}

impl<'a> PointRow<'a> {
    pub(super) fn new(row: &'a LedgerRow) -> PointRow<'a> {
        PointRow {
            id: &row.id,
            paper: &row.paper,
            printed: &row.printed,
            item: &row.item,
            published: value_row(&row.published),
            simulated: value_row(&row.simulated),
            unit: &row.unit,
            class: class_name(row.class),
            tolerance: &row.tolerance,
            resolution: row.resolution.as_deref(),
            assumption: row.assumption.as_deref(),
            why_not: row.because.as_deref(),
            holds: row.holds,
            contradicted: row.contradicted.as_deref().filter(|_| row.holds == Some(false)),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AssumptionRow<'a> {
    name: &'a str,
    what: &'a str,
}

impl<'a> AssumptionRow<'a> {
    pub(super) fn new(known: &'a AssumptionNote) -> AssumptionRow<'a> {
        AssumptionRow { name: &known.name, what: &known.what }
    }
}

/// A value that was chosen to make rows come out, and how its rows move over its range.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FittedRow<'a> {
    name: &'a str,
    experiment: &'a str,
    what: &'a str,
    key: &'a str,
    on: &'a [String],
    /// Empty for a single experiment.
    range: Vec<MovedRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MovedRow<'a> {
    value: &'a str,
    rows: Vec<MovedPointRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MovedPointRow<'a> {
    id: &'a str,
    simulated: Option<ValueRow<'a>>,
}

impl<'a> FittedRow<'a> {
    pub(super) fn new(note: &'a FittedNote, moved: &'a [Moved]) -> FittedRow<'a> {
        let range = moved.iter().map(|moved| MovedRow {
            value: &moved.value,
            rows: moved.rows.iter().map(|(id, value)| MovedPointRow { id, simulated: value_row(value) }).collect(),
        });
        FittedRow {
            name: &note.name,
            experiment: &note.experiment,
            what: &note.what,
            key: &note.key,
            on: &note.on,
            range: range.collect(),
        }
    }
}

fn value_row(value: &Option<Value>) -> Option<ValueRow<'_>> {
    value.as_ref().map(|value| match value {
        Value::Number(number) => ValueRow::Number(*number),
        Value::Text(word) => ValueRow::Text(word),
    })
}
