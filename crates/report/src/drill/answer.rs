//! The answers of `punctual drill`.

use super::text::{DrillLine, DrillReport};
use crate::answer::Answer;
use crate::verdict::tools::drills_verdict;
use serde::Serialize;

/// What a drill did.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    kind: &'static str,
    name: &'static str,
    blame: &'static str,
    seed: u64,
    cpus: &'a [u32],
    every_ns: u64,
    start_ns: u64,
    end_ns: u64,
    interrupted: bool,
    not_made: u64,
    /// As the log has them.
    injections: &'a serde_json::Value,
}

impl<'a> DrillAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a DrillReport) -> DrillAnswer<'a> {
        DrillAnswer {
            schema: "punctual.drill/1",
            verdict: report.verdict(),
            exit_code: 0,
            kind: report.kind,
            name: report.name,
            blame: report.blame,
            seed: report.seed,
            cpus: &report.cpus,
            every_ns: report.every_ns,
            start_ns: report.start_ns,
            end_ns: report.end_ns,
            interrupted: report.interrupted,
            not_made: report.not_made,
            injections: &report.log,
        }
    }
}

impl Answer for DrillAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// Which drills are available here.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillListAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    drills: Vec<DrillRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DrillRow<'a> {
    kind: &'static str,
    available: &'static str,
    detail: &'a str,
    what: &'static str,
    blame: &'static str,
    name: &'static str,
}

impl<'a> DrillListAnswer<'a> {
    /// The answer for programs.
    pub fn new(lines: &'a [DrillLine]) -> DrillListAnswer<'a> {
        let drills = lines.iter().map(|line| DrillRow {
            kind: line.kind,
            available: line.available,
            detail: &line.detail,
            what: line.what,
            blame: line.blame,
            name: line.name,
        });
        let (verdict, drills) = (drills_verdict(lines), drills.collect());
        DrillListAnswer { schema: "punctual.drill-list/1", verdict, exit_code: 0, drills }
    }
}

impl Answer for DrillListAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
