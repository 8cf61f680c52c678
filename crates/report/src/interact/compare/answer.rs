//! The answer of `punctual compare` of recordings of inputs.

use super::words::is_share;
use crate::NextStep;
use crate::answer::Answer;
use crate::compare::{DifferenceRow, RatioRow};
use crate::verdict::interact::compare::inputs_verdict;
use punctual_comparison::Standing;
use punctual_comparison::interact::{
    FigureComparison, GroupComparison, InputComparison, InputSummary, PartDifference, Parts,
};
use serde::Serialize;

/// The answer if nothing can be concluded.
const NO_VERDICT: &str = "no verdict";

/// The whole comparison.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompareInteractAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: Vec<NextStep>,
    /// `better`, `worse`, `mixed` (some kinds one, some the other), `no difference`, or `no verdict`.
    outcome: &'static str,
    /// What the outcome applies to: `systems` or, if there is none, why (`too few runs`, `one side after the other`,
    /// `other pace`).
    standing: &'static str,
    /// How these runs compare, whether or not that is a verdict on the systems; `no verdict` if a side has one run.
    these_runs: &'static str,
    /// At least how many more runs of A a verdict takes.
    more_runs_a: usize,
    /// How many more of B.
    more_runs_b: usize,
    /// How many runs of each side it takes to find a difference as large as the estimate four times out of five.
    runs_needed: Option<usize>,
    in_turn: bool,
    notes: &'a [String],
    /// Where the recordings of both sides are, if this command made them.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    a: SideRow<'a>,
    b: SideRow<'a>,
    /// By kind of input, those that differ first; their intervals hold together.
    kinds: Vec<GroupRow<'a>>,
    /// By what was typed: another family, which decides nothing.
    labels: Vec<GroupRow<'a>>,
    differences: Vec<DifferenceRow<'a>>,
}

impl<'a> CompareInteractAnswer<'a> {
    /// The answer for programs, with what to run next and the exit code of the command that made it.
    pub fn new(comparison: &'a InputComparison, next: Vec<NextStep>, exit_code: u8) -> CompareInteractAnswer<'a> {
        let [more_runs_a, more_runs_b] = comparison.standing.more_runs();
        CompareInteractAnswer {
            schema: "punctual.compare-interact/1",
            verdict: inputs_verdict(comparison),
            exit_code,
            next,
            outcome: if comparison.standing == Standing::Systems { comparison.outcome.name() } else { NO_VERDICT },
            standing: comparison.standing.name(),
            these_runs: if comparison.has_limits() { comparison.outcome.name() } else { NO_VERDICT },
            more_runs_a,
            more_runs_b,
            runs_needed: comparison.runs_needed,
            in_turn: comparison.is_paired,
            notes: &comparison.notes,
            directory: None,
            a: SideRow::new(&comparison.a),
            b: SideRow::new(&comparison.b),
            kinds: comparison.kinds.iter().map(GroupRow::new).collect(),
            labels: comparison.labels.iter().map(GroupRow::new).collect(),
            differences: comparison.differences.iter().map(DifferenceRow::new).collect(),
        }
    }

    /// The same, with where the recordings are that this command made.
    pub fn with_directory(self, directory: Option<String>) -> CompareInteractAnswer<'a> {
        CompareInteractAnswer { directory, ..self }
    }
}

impl Answer for CompareInteractAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SideRow<'a> {
    name: &'a str,
    program: &'a str,
    pace: &'a str,
    runs: usize,
    inputs: u64,
    seen: u64,
    /// Taken together with a later one.
    merged: u64,
    /// Half of the inputs were seen within this time, those that were taken together with a later one when that one was;
    /// `null` if fewer than six were.
    until_seen_ns: Option<u64>,
    /// For how long any input was waited for, for each that was seen; `null` if none was.
    waited_per_input_ns: Option<u64>,
    /// From the first input of each run to its end.
    lasted_ns: u64,
    waited_ns: u64,
    /// CPU time of the program's threads for each input, with what they did in the background; `null` if it is not known.
    cpu_per_input_ns: Option<u64>,
}

impl<'a> SideRow<'a> {
    fn new(side: &'a InputSummary) -> SideRow<'a> {
        SideRow {
            name: &side.name,
            program: &side.program,
            pace: &side.pace,
            runs: side.runs,
            inputs: side.inputs,
            seen: side.seen,
            merged: side.merged,
            until_seen_ns: side.until_seen_ns,
            waited_per_input_ns: side.waited_per_input_ns,
            lasted_ns: side.lasted_ns,
            waited_ns: side.waited_ns,
            cpu_per_input_ns: side.cpu_per_input_ns,
        }
    }
}

/// A kind of input, or what was typed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GroupRow<'a> {
    kind: &'a str,
    /// What was typed; `null` for everything of the kind.
    label: Option<&'a str>,
    inputs_a: u64,
    inputs_b: u64,
    seen_a: u64,
    seen_b: u64,
    /// How B compares with A for this kind; `no verdict` if a side has one run.
    verdict: &'static str,
    /// By which of the figures.
    decided_by: Option<&'static str>,
    figures: Vec<FigureRow<'a>>,
    /// How much of the time was spent waiting for these inputs; it decides nothing.
    waiting: Option<FigureRow<'a>>,
}

impl<'a> GroupRow<'a> {
    fn new(group: &'a GroupComparison) -> GroupRow<'a> {
        let has_limits = group.figures.iter().all(|figure| figure.has_limits);
        let [a, b] = group.sides;
        GroupRow {
            kind: &group.group.kind,
            label: group.group.label.as_deref(),
            inputs_a: a.inputs,
            inputs_b: b.inputs,
            seen_a: a.seen,
            seen_b: b.seen,
            verdict: if has_limits { group.verdict.outcome.name() } else { NO_VERDICT },
            decided_by: group.decided().map(|figure| figure.ratio.figure.name),
            figures: group.figures.iter().map(FigureRow::new).collect(),
            waiting: group.waiting.as_ref().map(FigureRow::new),
        }
    }
}

/// A figure on both sides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FigureRow<'a> {
    figure: &'static str,
    /// The unit of all values but the ratio's: `ns`, or `ns_per_s` for a share of time.
    unit: &'static str,
    a: u64,
    b: u64,
    difference: DifferenceInterval,
    /// `null` if a side has one run, which gives no limits.
    ratio: Option<RatioRow>,
    /// What the time of the inputs near the figure was spent on; `null` if that is not known for every run.
    parts: Option<PartsRow<'a>>,
}

/// B less A; without limits if a side has one run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DifferenceInterval {
    low: Option<i64>,
    estimate: i64,
    high: Option<i64>,
}

impl<'a> FigureRow<'a> {
    fn new(figure: &'a FigureComparison) -> FigureRow<'a> {
        let [low, estimate, high] = figure.difference.map(|value| value.round() as i64);
        let limit = |limit: i64| figure.has_limits.then_some(limit);
        FigureRow {
            figure: figure.ratio.figure.name,
            unit: if is_share(figure) { "ns_per_s" } else { "ns" },
            a: figure.values[0].round() as u64,
            b: figure.values[1].round() as u64,
            difference: DifferenceInterval { low: limit(low), estimate, high: limit(high) },
            ratio: figure.has_limits.then(|| RatioRow::new(&figure.ratio)),
            parts: figure.parts.as_ref().map(PartsRow::new),
        }
    }
}

/// Means of inputs near a figure: the causes and the rest add up to them exactly.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartsRow<'a> {
    inputs_a: u64,
    inputs_b: u64,
    a_ns: i64,
    b_ns: i64,
    causes: Vec<CauseRow<'a>>,
    rest_a_ns: i64,
    rest_b_ns: i64,
}

impl<'a> PartsRow<'a> {
    fn new(parts: &'a Parts) -> PartsRow<'a> {
        PartsRow {
            inputs_a: parts.inputs[0],
            inputs_b: parts.inputs[1],
            a_ns: parts.mean_ns[0],
            b_ns: parts.mean_ns[1],
            causes: parts.rows.iter().map(CauseRow::new).collect(),
            rest_a_ns: parts.rest_ns[0],
            rest_b_ns: parts.rest_ns[1],
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CauseRow<'a> {
    kind: &'a str,
    name: &'a str,
    /// If it was not seen who it was: `holder` of a lock, or the `ender` of a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<&'static str>,
    a_ns: i64,
    b_ns: i64,
    difference_ns: i64,
    /// The limits of the difference with 95 % probability, by itself; `null` if a side has one run.
    low_ns: Option<i64>,
    /// The upper limit.
    high_ns: Option<i64>,
}

impl<'a> CauseRow<'a> {
    fn new(part: &'a PartDifference) -> CauseRow<'a> {
        CauseRow {
            kind: &part.cause.kind,
            name: &part.cause.name,
            not_seen: part.cause.not_seen.map(punctual_blame::Awaited::name),
            a_ns: part.ns[0],
            b_ns: part.ns[1],
            difference_ns: part.more_ns(),
            low_ns: part.limits_ns.map(|[low, _]| low),
            high_ns: part.limits_ns.map(|[_, high]| high),
        }
    }
}
