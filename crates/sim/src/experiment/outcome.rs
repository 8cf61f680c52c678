//! What comes out of an experiment.

use super::collect::Constraints;
use super::schema::{Class, Value};
use crate::time::Picoseconds;

/// One point of a paper beside what came out of the machine.
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
    /// What came out; `None` where nothing was run.
    pub simulated: Option<Value>,
    /// The unit of both; empty for counts and words.
    pub unit: String,
    /// How it is held.
    pub class: Class,
    /// What may differ, in words.
    pub tolerance: String,
    /// Why it may differ by so much.
    pub resolution: Option<String>,
    /// The assumption it rests on.
    pub assumption: Option<String>,
    /// Why it is an input, an identity or not simulated.
    pub because: Option<String>,
    /// Whether it holds; `None` where it is not judged, or its case was not run to the end.
    pub holds: Option<bool>,
    /// Of one that is known not to hold: the measured reason.
    pub contradicted: Option<String>,
}

impl LedgerRow {
    /// Where it is printed, and what it is.
    pub fn point(&self) -> String {
        if self.printed.is_empty() { self.item.clone() } else { format!("{}: {}", self.printed, self.item) }
    }

    /// Whether it is one that is judged, and was not: nobody waited for its case.
    pub fn is_open(&self) -> bool {
        self.holds.is_none() && matches!(self.class, Class::Prediction | Class::Fitted)
    }

    /// A prediction that does not hold, for a reason that is not known.
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

/// A value that was chosen because of what came out.
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
    /// The rows it was fitted on.
    pub on: Vec<String>,
}

/// What the rows of a fitted value become at another value.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// The value, as it would be written.
    pub value: String,
    /// Row by row.
    pub rows: Vec<(String, Option<Value>)>,
}

/// What came out of one case.
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
    /// What became of the time constraints, thread by thread.
    pub constraints: Vec<(String, Constraints)>,
    /// How often each thread that migrates went on on another CPU.
    pub migrations: Vec<(String, u64)>,
}

/// What came out of an experiment.
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
    /// Whether it was ended before every case was run.
    pub interrupted: bool,
    /// What is assumed.
    pub assumptions: Vec<AssumptionNote>,
    /// What was fitted.
    pub fitted: Vec<FittedNote>,
}
