//! The outcome of an experiment.

use super::collect::Constraints;
use super::schema::{Class, Value};
use crate::time::Picoseconds;

/// One point of a paper beside the machine's.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerRow {
    /// Unique name.
    pub id: String,
    /// The experiment.
    pub experiment: String,
    /// The paper.
    pub paper: String,
    /// Where the paper prints it.
    pub printed: String,
    /// What it is.
    pub item: String,
    /// What it prints.
    pub published: Option<Value>,
    /// What came out; `None` if nothing ran.
    pub simulated: Option<Value>,
    /// The unit of both; empty for counts and words.
    pub unit: String,
    /// Its class.
    pub class: Class,
    /// What may differ, in words.
    pub tolerance: String,
    /// Why it may differ by that much.
    pub resolution: Option<String>,
    /// The assumption it depends on.
    pub assumption: Option<String>,
    /// Why it is an input, an identity or not simulated.
    pub because: Option<String>,
    /// Whether it holds; `None` if it is not judged, or its case did not run to the end.
    pub holds: Option<bool>,
    /// The measured reason, if it is known not to hold.
    pub contradicted: Option<String>,
}

impl LedgerRow {
    /// Where it is printed, and what it is.
    pub fn point(&self) -> String {
        if self.printed.is_empty() { self.item.clone() } else { format!("{}: {}", self.printed, self.item) }
    }

    /// Whether it should have been judged and was not, because nobody waited for its case.
    pub fn is_open(&self) -> bool {
        self.holds.is_none() && matches!(self.class, Class::Prediction | Class::Fitted)
    }

    /// Whether it is a prediction that does not hold, for an unknown reason.
    pub fn fails(&self) -> bool {
        self.class == Class::Prediction && self.holds == Some(false) && self.contradicted.is_none()
    }
}

/// A named assumption of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssumptionNote {
    /// Its name.
    pub name: String,
    /// What is assumed.
    pub what: String,
}

/// A value that was chosen to make rows come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedNote {
    /// The experiment.
    pub experiment: String,
    /// Its name.
    pub name: String,
    /// What it is, and why this value.
    pub what: String,
    /// The key that holds it.
    pub key: String,
    /// The rows that it was fitted to.
    pub on: Vec<String>,
}

/// The rows of a fitted value at another value.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// The value, as one would write it.
    pub value: String,
    /// Row by row.
    pub rows: Vec<(String, Option<Value>)>,
}

/// The outcome of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseSummary {
    /// Its name.
    pub name: String,
    /// Runs.
    pub runs: u64,
    /// Simulated time of all runs.
    pub simulated: Picoseconds,
    /// Events handled.
    pub events: u64,
    /// Arrivals for which there was no room, because far too many waited: no row counts them.
    pub without_room: u64,
    /// The outcome of the time constraints, thread by thread.
    pub constraints: Vec<(String, Constraints)>,
    /// How often each thread that migrates moved to another CPU.
    pub migrations: Vec<(String, u64)>,
}

/// The outcome of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The experiment's name.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// The paper.
    pub paper: Option<String>,
    /// Point by point.
    pub rows: Vec<LedgerRow>,
    /// Case by case.
    pub cases: Vec<CaseSummary>,
    /// Whether it was ended before every case had run.
    pub interrupted: bool,
    /// What is assumed.
    pub assumptions: Vec<AssumptionNote>,
    /// What was fitted.
    pub fitted: Vec<FittedNote>,
}
