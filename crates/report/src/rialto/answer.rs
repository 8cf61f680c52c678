//! The answer of `punctual rialto run`.

use crate::answer::Answer;
use punctual_rialto::{Form, Received, Share};
use serde::Serialize;

/// The report on a run.
#[derive(Debug, Clone)]
pub struct RialtoReport {
    /// What was granted.
    pub share: Share,
    /// CPU time in every sliding window of a period in which it wanted the CPU all the time; `None` if there was no
    /// such window.
    pub received: Option<Received>,
    /// How long it wanted the CPU, as far as that is known, ns.
    pub seen_ns: u64,
    /// Whether another process's scheduler served it, beside others.
    pub has_joined: bool,
    /// How often others changed its slots by coming.
    pub moved: u64,
    /// Whether there were more runs than are kept.
    pub is_cut: bool,
    /// How often one of its threads slept.
    pub slept: u64,
    /// How often somebody was stopped outside their own time.
    pub repaired: u64,
    /// How late the clock was at an edge, at most, ns.
    pub latest_ns: u64,
    /// Why the scheduler was taken away before the command ended.
    pub taken_away: Option<String>,
    /// The command's exit code; 0 if its time was up.
    pub exit_code: u8,
}

/// What a command was given.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RialtoAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    budget_ns: u64,
    period_ns: u64,
    hard: bool,
    /// CPU time in every sliding window of a period in which it wanted the CPU all the time.
    least_ns: Option<u64>,
    most_ns: Option<u64>,
    mean_ns: Option<u64>,
    /// How long it wanted the CPU, as far as that is known.
    seen_ns: u64,
    /// Whether another process served it, beside others.
    joined: bool,
    /// How often others changed its slots by coming.
    moved: u64,
    cut: bool,
    slept: u64,
    repaired: u64,
    edge_latest_ns: u64,
    taken_away: Option<&'a str>,
}

impl<'a> RialtoAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a RialtoReport) -> RialtoAnswer<'a> {
        RialtoAnswer {
            schema: "punctual.rialto/1",
            verdict: report.verdict(),
            exit_code: report.exit_code,
            budget_ns: report.share.budget_ns,
            period_ns: report.share.period_ns,
            hard: report.share.form == Form::Hard,
            least_ns: report.received.map(|received| received.least_ns),
            most_ns: report.received.map(|received| received.most_ns),
            mean_ns: report.received.map(|received| received.mean_ns),
            seen_ns: report.seen_ns,
            joined: report.has_joined,
            moved: report.moved,
            cut: report.is_cut,
            slept: report.slept,
            repaired: report.repaired,
            edge_latest_ns: report.latest_ns,
            taken_away: report.taken_away.as_deref(),
        }
    }
}

impl Answer for RialtoAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
