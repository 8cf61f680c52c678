//! Random time constraints: how many were granted, and whether those were met.

use crate::answer::Answer;
use crate::layout::{grouped, microseconds, table};
use serde::Serialize;
use std::fmt::Write as _;

/// A requested time constraint.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConstraintRow {
    /// CPU time that its work takes.
    pub estimate_ns: u64,
    /// From the request until its deadline.
    pub within_ns: u64,
    /// From the request until the decision.
    pub decided_ns: u64,
    /// Why it was refused.
    pub refusal: Option<String>,
    /// Whether its work was done by the deadline; it tried even if it was refused.
    pub met: bool,
    /// CPU time that it had received by then.
    pub got_ns: u64,
}

/// All requested constraints.
#[derive(Debug, Clone)]
pub struct ConstraintsReport {
    /// In the order in which they ended, thread by thread.
    pub rows: Vec<ConstraintRow>,
    /// Threads that asked.
    pub threads: u32,
    /// The seed of the random numbers.
    pub seed: u64,
    /// Whether somebody ended it early.
    pub is_interrupted: bool,
}

/// Granted or refused ones.
pub(crate) struct Side {
    pub(crate) all: usize,
    pub(crate) met: usize,
    /// The median time until the decision.
    pub(crate) median_ns: Option<u64>,
    most_ns: Option<u64>,
    /// The most CPU time that the work of one that was not met lacked.
    pub(crate) lacked_ns: Option<u64>,
}

impl ConstraintsReport {
    pub(crate) fn side(&self, is_granted: bool) -> Side {
        let rows: Vec<&ConstraintRow> = self.rows.iter().filter(|row| row.refusal.is_none() == is_granted).collect();
        let mut decided: Vec<u64> = rows.iter().map(|row| row.decided_ns).collect();
        decided.sort_unstable();
        let lacked = rows.iter().filter(|row| !row.met).map(|row| row.estimate_ns.saturating_sub(row.got_ns));
        Side {
            all: rows.len(),
            met: rows.iter().filter(|row| row.met).count(),
            median_ns: decided.get(decided.len() / 2).copied(),
            most_ns: decided.last().copied(),
            lacked_ns: lacked.max(),
        }
    }

    /// 1 if a granted one was not met.
    pub fn exit_code(&self) -> u8 {
        let granted = self.side(true);
        u8::from(granted.met < granted.all || self.is_interrupted)
    }
}

/// The answer as text.
pub fn constraints_text(report: &ConstraintsReport) -> String {
    let mut out = format!("{}\n", report.verdict());
    let rows = [("granted", true), ("refused", false)].map(|(name, is_granted)| {
        let side = report.side(is_granted);
        let numbers = [side.all, side.met].map(|count| grouped(count as u64));
        let times = [side.median_ns, side.most_ns, side.lacked_ns].map(microseconds);
        std::iter::once(name.to_owned()).chain(numbers).chain(times).collect::<Vec<String>>()
    });
    let header = ["", "all", "met", "decided us, median", "most", "lacked us, most"];
    let _ = writeln!(out, "\n{}", table(&header, 1..6, rows));
    let _ = writeln!(out, "\nThose that were refused tried all the same, with nothing promised. seed: {}", report.seed);
    out
}

/// The answer for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConstraintsAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    seed: u64,
    threads: u32,
    granted: usize,
    /// Of those that were granted.
    met: usize,
    refused: usize,
    /// Of those that were refused, which tried all the same.
    met_though_refused: usize,
    refusal_median_ns: Option<u64>,
    refusal_most_ns: Option<u64>,
    interrupted: bool,
    constraints: &'a [ConstraintRow],
}

impl<'a> ConstraintsAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a ConstraintsReport) -> ConstraintsAnswer<'a> {
        let (granted, refused) = (report.side(true), report.side(false));
        ConstraintsAnswer {
            schema: "punctual.rialto-constraints/1",
            verdict: report.verdict(),
            exit_code: report.exit_code(),
            seed: report.seed,
            threads: report.threads,
            granted: granted.all,
            met: granted.met,
            refused: refused.all,
            met_though_refused: refused.met,
            refusal_median_ns: refused.median_ns,
            refusal_most_ns: refused.most_ns,
            interrupted: report.is_interrupted,
            constraints: &report.rows,
        }
    }
}

impl Answer for ConstraintsAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_was_granted_and_not_met_is_told_and_fails() {
        let row = |refusal: Option<&str>, met, decided_ns| ConstraintRow {
            estimate_ns: 3_000_000,
            within_ns: 9_000_000,
            decided_ns,
            refusal: refusal.map(str::to_owned),
            met,
            got_ns: 2_000_000,
        };
        let mut report = ConstraintsReport {
            rows: vec![row(None, true, 5), row(Some("full"), false, 40_000), row(Some("full"), true, 50_000)],
            threads: 2,
            seed: 1,
            is_interrupted: false,
        };
        assert_eq!(
            report.verdict(),
            "Of 3 time constraints 1 was granted, and each one granted was met; 2 were refused, half of them within 50.0 us."
        );
        assert_eq!((report.exit_code(), ConstraintsAnswer::new(&report).met_though_refused), (0, 1));
        report.rows.push(row(None, false, 5));
        assert!(report.verdict().contains("2 were granted, and 1 of them was not met, by 1.00 ms of CPU time at most"));
        assert_eq!(report.exit_code(), 1);
        assert!(constraints_text(&report).lines().count() > 5);
    }
}
