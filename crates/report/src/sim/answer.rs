//! The answers of `punctual sim`.

use super::sweep;
use super::text::{class_name, ledger_verdict, outcome_verdict};
use crate::answer::{Answer, Named};
use punctual_recording::{Distribution, Stage};
use punctual_sim::experiment::{AssumptionNote, Class, Experiment, LedgerRow, Outcome, Point, Value};
use punctual_sim::ledger::Ledger;
use punctual_sim::sweep::Sweep;
use punctual_sim::time::NANOSECOND;
use punctual_sim::{swept, whatif};
use serde::Serialize;

/// The experiments that come with the program.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExperimentsAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    experiments: Vec<ExperimentRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExperimentRow<'a> {
    name: &'a str,
    cases: Vec<&'a str>,
}

impl<'a> ExperimentsAnswer<'a> {
    /// The answer for programs.
    pub fn new(experiments: &'a [Experiment]) -> ExperimentsAnswer<'a> {
        let rows = experiments
            .iter()
            .map(|experiment| ExperimentRow { name: experiment.name(), cases: experiment.cases().collect() });
        ExperimentsAnswer {
            schema: "punctual.sim-list/1",
            verdict: format!("{} experiments come with the program.", experiments.len()),
            exit_code: 0,
            experiments: rows.collect(),
        }
    }
}

impl Answer for ExperimentsAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// Every table and figure of the papers beside what came out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PapersAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    counts: Counts,
    holding: usize,
    failing: usize,
    rows: Vec<PointRow<'a>>,
    assumptions: Vec<AssumptionRow<'a>>,
}

/// How many points there are of each class.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Counts {
    exact: usize,
    approximate: usize,
    assumption: usize,
    input: usize,
    not_simulated: usize,
}

impl<'a> PapersAnswer<'a> {
    /// The answer for programs.
    pub fn new(ledger: &'a Ledger) -> PapersAnswer<'a> {
        let count = |class: Class| ledger.counts.get(&class).copied().unwrap_or(0);
        PapersAnswer {
            schema: "punctual.papers/1",
            verdict: ledger_verdict(ledger),
            exit_code: 0,
            counts: Counts {
                exact: count(Class::Exact),
                approximate: count(Class::Approximate),
                assumption: count(Class::Assumption),
                input: count(Class::Input),
                not_simulated: count(Class::NotSimulated),
            },
            holding: ledger.holding,
            failing: ledger.failing,
            rows: ledger.rows.iter().map(PointRow::new).collect(),
            assumptions: ledger.assumptions.iter().map(AssumptionRow::new).collect(),
        }
    }
}

impl Answer for PapersAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// One point of a paper.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PointRow<'a> {
    id: &'a str,
    paper: &'a str,
    item: &'a str,
    published: Option<ValueRow<'a>>,
    simulated: Option<ValueRow<'a>>,
    unit: &'a str,
    class: &'static str,
    tolerance: &'a str,
    assumption: Option<&'a str>,
    fitted: bool,
    why_not: Option<&'a str>,
    holds: Option<bool>,
}

/// What a paper says of a point, or the simulator.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum ValueRow<'a> {
    Number(f64),
    Text(&'a str),
}

impl<'a> PointRow<'a> {
    fn new(row: &'a LedgerRow) -> PointRow<'a> {
        let value = |value: &'a Option<Value>| {
            value.as_ref().map(|value| match value {
                Value::Number(number) => ValueRow::Number(*number),
                Value::Text(word) => ValueRow::Text(word),
            })
        };
        PointRow {
            id: &row.id,
            paper: &row.paper,
            item: &row.item,
            published: value(&row.published),
            simulated: value(&row.simulated),
            unit: &row.unit,
            class: class_name(row.class),
            tolerance: &row.tolerance,
            assumption: row.assumption.as_deref(),
            fitted: row.fitted,
            why_not: row.because.as_deref(),
            holds: row.holds,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AssumptionRow<'a> {
    name: &'a str,
    what: &'a str,
    fitted_on: &'a [String],
}

impl<'a> AssumptionRow<'a> {
    fn new(known: &'a AssumptionNote) -> AssumptionRow<'a> {
        AssumptionRow { name: &known.name, what: &known.what, fitted_on: &known.fitted_on }
    }
}

/// One experiment: the paper beside what came out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExperimentAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    experiment: &'a str,
    about: &'a str,
    paper: Option<&'a str>,
    rows: Vec<PointRow<'a>>,
    cases: Vec<CaseRow<'a>>,
    assumptions: Vec<AssumptionRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CaseRow<'a> {
    case: &'a str,
    runs: u64,
    simulated_ns: u64,
    events: u64,
}

impl<'a> ExperimentAnswer<'a> {
    /// The answer for programs.
    pub fn new(outcome: &'a Outcome) -> ExperimentAnswer<'a> {
        let cases = outcome.cases.iter().map(|case| CaseRow {
            case: &case.name,
            runs: case.runs,
            simulated_ns: case.simulated / NANOSECOND,
            events: case.events,
        });
        ExperimentAnswer {
            schema: "punctual.sim/1",
            verdict: outcome_verdict(outcome),
            exit_code: 0,
            experiment: &outcome.name,
            about: &outcome.about,
            paper: outcome.paper.as_deref(),
            rows: outcome.rows.iter().map(PointRow::new).collect(),
            cases: cases.collect(),
            assumptions: outcome.assumptions.iter().map(AssumptionRow::new).collect(),
        }
    }
}

impl Answer for ExperimentAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// One case of an experiment at every point of a grid.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExperimentSweepAnswer<'a> {
    schema: &'static str,
    verdict: &'a str,
    exit_code: u8,
    axes: Vec<&'a str>,
    points: Vec<ExperimentPointRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExperimentPointRow<'a> {
    point: u64,
    values: Vec<i64>,
    /// `impossible`, `sufficient`, `marginal` or `insufficient`.
    class: &'static str,
    impossible: Option<&'a str>,
    runs: u64,
    blocks: u64,
    faults: u64,
    pending_max: u64,
    overruns: u64,
    successes: u64,
    transfer_faults: u64,
}

impl<'a> ExperimentSweepAnswer<'a> {
    /// The answer for programs.
    pub fn new(verdict: &'a str, grid: &'a Sweep, points: &'a [(u64, Point)]) -> ExperimentSweepAnswer<'a> {
        let rows = points.iter().map(|(number, point)| ExperimentPointRow {
            point: *number,
            values: grid.values(*number),
            class: point.class(),
            impossible: point.impossible.as_deref(),
            runs: point.runs,
            blocks: point.blocks,
            faults: point.faults,
            pending_max: point.pending_most,
            overruns: point.overruns,
            successes: point.successes,
            transfer_faults: point.transfer_faults,
        });
        ExperimentSweepAnswer {
            schema: "punctual.sim-sweep/1",
            verdict,
            exit_code: 0,
            axes: grid.axes().iter().map(|axis| axis.name.as_str()).collect(),
            points: rows.collect(),
        }
    }
}

impl Answer for ExperimentSweepAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// What a device would meet on a machine that is taken as it was recorded.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhatifAnswer {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    activations: u64,
    misses: u64,
    pending_max: u64,
    exposure_ns: u64,
    latency: TimesRow,
    response: TimesRow,
    bystander: Option<[TimesRow; 1]>,
    bystander_intervals: Option<TimesRow>,
    shares: Shares,
    events: u64,
}

/// Times of many activations.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TimesRow {
    count: u64,
    min_ns: Option<u64>,
    mean_ns: Option<u64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    p99_9_ns: Option<u64>,
    p99_99_ns: Option<u64>,
    max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
}

impl TimesRow {
    fn new(stage: Option<Stage>, times: &Distribution) -> TimesRow {
        TimesRow {
            count: times.count(),
            min_ns: times.min(),
            mean_ns: times.mean(),
            p50_ns: times.quantile(0.5),
            p99_ns: times.quantile(0.99),
            p99_9_ns: times.quantile(0.999),
            p99_99_ns: times.quantile(0.9999),
            max_ns: times.max(),
            stage: stage.map(Stage::name),
        }
    }
}

/// Who had the CPU.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Shares {
    device: f64,
    competitors: f64,
    idle: f64,
}

impl WhatifAnswer {
    /// The answer for programs.
    pub fn new(answer: &whatif::Answer) -> WhatifAnswer {
        let [device, competitors, idle] = answer.shares;
        WhatifAnswer {
            schema: "punctual.whatif/1",
            verdict: answer.verdict(),
            exit_code: 0,
            activations: answer.activations,
            misses: answer.misses,
            pending_max: answer.pending_most,
            exposure_ns: answer.exposure / NANOSECOND,
            latency: TimesRow::new(Some(Stage::Total), &answer.latency),
            response: TimesRow::new(None, &answer.response),
            bystander: answer.bystander.as_ref().map(|late| [TimesRow::new(Some(Stage::Total), late)]),
            bystander_intervals: answer.bystander_intervals.as_ref().map(|gaps| TimesRow::new(None, gaps)),
            shares: Shares { device, competitors, idle },
            events: answer.events,
        }
    }
}

impl Answer for WhatifAnswer {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// The same at every point of a grid.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhatifSweepAnswer {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    interrupted: bool,
    points: Vec<WhatifPointRow>,
}

/// A point: before the other members, one for each axis of the grid, by its name.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WhatifPointRow {
    #[serde(flatten)]
    axes: Named<i64>,
    point: u64,
    possible: bool,
    activations: Option<u64>,
    misses: Option<u64>,
    pending_max: Option<u64>,
    latency_max_ns: Option<u64>,
}

impl WhatifSweepAnswer {
    /// The answer for programs.
    pub fn new(grid: &Sweep, points: &[swept::Point], interrupted: bool) -> WhatifSweepAnswer {
        let rows = points.iter().map(|point| WhatifPointRow {
            axes: grid.axes().iter().map(|axis| axis.name.as_str()).zip(grid.values(point.number)).collect(),
            point: point.number,
            possible: point.outcome.is_some(),
            activations: point.outcome.map(|outcome| outcome.activations),
            misses: point.outcome.map(|outcome| outcome.misses),
            pending_max: point.outcome.map(|outcome| outcome.pending_max),
            latency_max_ns: point.outcome.map(|outcome| outcome.latency_max_ns),
        });
        WhatifSweepAnswer {
            schema: "punctual.whatif-sweep/1",
            verdict: sweep::verdict(points, interrupted),
            exit_code: 0,
            interrupted,
            points: rows.collect(),
        }
    }
}

impl Answer for WhatifSweepAnswer {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
