//! `sim papers`.

use super::row::{AssumptionRow, FittedRow, PointRow};
use crate::answer::Answer;
use crate::verdict::sim::ledger_verdict;
use punctual_sim::experiment::{Class, FittedNote, Moved};
use punctual_sim::ledger::{Ledger, Turned};
use serde::Serialize;

/// Every table and figure of the papers beside the simulation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PapersAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    counts: Counts,
    /// Predictions that hold.
    holding: usize,
    /// Predictions that do not hold, for a listed reason.
    contradicted: usize,
    /// Predictions that do not hold, and no reason is listed: then the exit code is 2.
    failing: usize,
    /// Predictions that were not judged, because it was interrupted: then the exit code is 1.
    open: usize,
    interrupted: bool,
    rows: Vec<PointRow<'a>>,
    assumptions: Vec<AssumptionRow<'a>>,
    fitted: Vec<FittedRow<'a>>,
    /// Only if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    mutations: Option<Vec<MutationRow<'a>>>,
}

/// How many points there are of each class.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Counts {
    prediction: usize,
    fitted: usize,
    input: usize,
    identity: usize,
    not_simulated: usize,
}

impl<'a> PapersAnswer<'a> {
    /// The answer for programs.
    pub fn new(
        ledger: &'a Ledger,
        ranges: &'a [(FittedNote, Vec<Moved>)],
        mutations: Option<&'a [Turned]>,
    ) -> PapersAnswer<'a> {
        let count = |class: Class| ledger.counts.get(&class).copied().unwrap_or(0);
        PapersAnswer {
            schema: "punctual.papers/1",
            verdict: ledger_verdict(ledger),
            exit_code: 0,
            counts: Counts {
                prediction: count(Class::Prediction),
                fitted: count(Class::Fitted),
                input: count(Class::Input),
                identity: count(Class::Identity),
                not_simulated: count(Class::NotSimulated),
            },
            holding: ledger.holding(),
            contradicted: ledger.contradicted(),
            failing: ledger.failing(),
            open: ledger.open(),
            interrupted: ledger.interrupted,
            rows: ledger.rows.iter().map(PointRow::new).collect(),
            assumptions: ledger.assumptions.iter().map(AssumptionRow::new).collect(),
            fitted: ranges.iter().map(|(note, moved)| FittedRow::new(note, moved)).collect(),
            mutations: mutations.map(|turned| turned.iter().map(MutationRow::new).collect()),
        }
    }
}

impl Answer for PapersAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// A mechanism that was broken, and the predictions that held before and no longer do.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MutationRow<'a> {
    mechanism: &'static str,
    broken: &'static str,
    turned: &'a [String],
}

impl<'a> MutationRow<'a> {
    fn new(turned: &'a Turned) -> MutationRow<'a> {
        MutationRow { mechanism: turned.mechanism.name(), broken: turned.mechanism.how(), turned: &turned.rows }
    }
}
