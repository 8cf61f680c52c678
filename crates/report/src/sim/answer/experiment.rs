//! `sim run` of one experiment.

use super::row::{AssumptionRow, FittedRow, PointRow};
use crate::answer::Answer;
use crate::verdict::sim::outcome_verdict;
use punctual_sim::experiment::Outcome;
use punctual_sim::time::NANOSECOND;
use serde::Serialize;

/// One experiment: the paper beside the simulation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExperimentAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    experiment: &'a str,
    about: &'a str,
    paper: Option<&'a str>,
    /// Whether it was ended before every case had run: then the rows of the others have no `holds`.
    interrupted: bool,
    rows: Vec<PointRow<'a>>,
    cases: Vec<CaseRow<'a>>,
    assumptions: Vec<AssumptionRow<'a>>,
    fitted: Vec<FittedRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CaseRow<'a> {
    case: &'a str,
    runs: u64,
    simulated_ns: u64,
    events: u64,
    /// Arrivals for which there was no room, because far too many waited: no row counts them.
    without_room: u64,
    constraints: Vec<ConstraintsRow<'a>>,
    /// One for each thread that migrates.
    migrations: Vec<MigrationsRow<'a>>,
}

/// How often a thread moved to another CPU.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MigrationsRow<'a> {
    thread: &'a str,
    migrations: u64,
}

impl<'a> ExperimentAnswer<'a> {
    /// The answer for programs.
    pub fn new(outcome: &'a Outcome) -> ExperimentAnswer<'a> {
        let cases = outcome.cases.iter().map(|case| CaseRow {
            case: &case.name,
            runs: case.runs,
            simulated_ns: case.simulated / NANOSECOND,
            events: case.events,
            without_room: case.without_room,
            constraints: case
                .constraints
                .iter()
                .map(|(thread, seen)| ConstraintsRow {
                    thread,
                    granted: seen.granted,
                    refused: seen.refused,
                    met: seen.met,
                    missed: seen.missed,
                })
                .collect(),
            migrations: case
                .migrations
                .iter()
                .map(|(thread, migrations)| MigrationsRow { thread, migrations: *migrations })
                .collect(),
        });
        ExperimentAnswer {
            schema: "punctual.sim/1",
            verdict: outcome_verdict(outcome),
            exit_code: 0,
            experiment: &outcome.name,
            about: &outcome.about,
            paper: outcome.paper.as_deref(),
            interrupted: outcome.interrupted,
            rows: outcome.rows.iter().map(PointRow::new).collect(),
            cases: cases.collect(),
            assumptions: outcome.assumptions.iter().map(AssumptionRow::new).collect(),
            fitted: outcome.fitted.iter().map(|note| FittedRow::new(note, &[])).collect(),
        }
    }
}

impl Answer for ExperimentAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// The outcome of the time constraints that a thread asked for.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ConstraintsRow<'a> {
    thread: &'a str,
    granted: u64,
    refused: u64,
    met: u64,
    missed: u64,
}
