//! The answers of `punctual sim`.

use super::sweep::{self, ExperimentSweep};
use super::text::{class_name, ledger_verdict, outcome_verdict};
use crate::answer::{Answer, Named};
use punctual_recording::{Distribution, Stage};
use punctual_sim::experiment::{AssumptionNote, Class, Experiment, FittedNote, LedgerRow, Moved, Outcome, Value};
use punctual_sim::ledger::{Ledger, Turned};
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
    /// Predictions that hold.
    holding: usize,
    /// Predictions that do not, for a reason that is listed.
    contradicted: usize,
    /// Predictions that do not, and no reason is listed: then the exit code is 2.
    failing: usize,
    /// Predictions that were not judged, since it was interrupted: then the exit code is 1.
    open: usize,
    interrupted: bool,
    rows: Vec<PointRow<'a>>,
    assumptions: Vec<AssumptionRow<'a>>,
    fitted: Vec<FittedRow<'a>>,
    /// Only where it was asked for.
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

/// One point of a paper.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PointRow<'a> {
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
    /// Why it may differ by so much.
    resolution: Option<&'a str>,
    assumption: Option<&'a str>,
    why_not: Option<&'a str>,
    holds: Option<bool>,
    /// The measured reason why it does not hold.
    contradicted: Option<&'a str>,
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
struct AssumptionRow<'a> {
    name: &'a str,
    what: &'a str,
}

impl<'a> AssumptionRow<'a> {
    fn new(known: &'a AssumptionNote) -> AssumptionRow<'a> {
        AssumptionRow { name: &known.name, what: &known.what }
    }
}

/// A value that was chosen because of what came out, and how its rows move over its range.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FittedRow<'a> {
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
    fn new(note: &'a FittedNote, moved: &'a [Moved]) -> FittedRow<'a> {
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

/// What became of the time constraints that a thread asked for.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ConstraintsRow<'a> {
    thread: &'a str,
    granted: u64,
    refused: u64,
    met: u64,
    missed: u64,
}

fn value_row(value: &Option<Value>) -> Option<ValueRow<'_>> {
    value.as_ref().map(|value| match value {
        Value::Number(number) => ValueRow::Number(*number),
        Value::Text(word) => ValueRow::Text(word),
    })
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
    /// Whether it was ended before every case was run: then the rows of the others have no `holds`.
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
    constraints: Vec<ConstraintsRow<'a>>,
    /// One for each thread that migrates.
    migrations: Vec<MigrationsRow<'a>>,
}

/// How often a thread went on on another CPU than it ran on before.
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

/// One case of an experiment at every point of a grid.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExperimentSweepAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    interrupted: bool,
    axes: Vec<&'a str>,
    points: Vec<ExperimentPointRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExperimentPointRow<'a> {
    point: u64,
    /// One for each axis: whole numbers, else as they are written.
    values: Vec<SweptRow>,
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

/// A value of a sweep.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum SweptRow {
    Number(i64),
    Text(String),
}

impl<'a> ExperimentSweepAnswer<'a> {
    /// The answer for programs.
    pub fn new(found: &ExperimentSweep<'a>) -> ExperimentSweepAnswer<'a> {
        let ExperimentSweep { grid, points, interrupted } = *found;
        let rows = points.iter().map(|(number, point)| ExperimentPointRow {
            point: *number,
            values: grid
                .axes()
                .iter()
                .zip(grid.values(*number).into_iter().zip(grid.written(*number)))
                .map(|(axis, (value, word))| match axis.words.is_empty() {
                    true => SweptRow::Number(value),
                    false => SweptRow::Text(word),
                })
                .collect(),
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
            verdict: sweep::experiment_verdict(found),
            exit_code: u8::from(interrupted),
            interrupted,
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
    /// How sure the misses are; absent where nothing recorded went in.
    interval: Option<IntervalRow>,
    /// Whether it was ended before the simulated time was over, or before there was an interval.
    interrupted: bool,
}

/// Between which numbers the misses of a run as long lie, 95 times of 100: of one recording while the machine stays as it was
/// recorded, of several while it changes no more than between them.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IntervalRow {
    recorded_ns: u64,
    /// In how many recordings.
    recordings: u64,
    repetitions: u64,
    misses_low: u64,
    misses_high: u64,
    /// Why the recording cannot carry the answer, and what would.
    refused: Option<String>,
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
            interval: answer.interval.as_ref().map(|interval| IntervalRow {
                recorded_ns: interval.recorded / NANOSECOND,
                recordings: interval.recordings,
                repetitions: interval.repetitions,
                misses_low: interval.low,
                misses_high: interval.high,
                refused: interval.refused.clone(),
            }),
            interrupted: answer.interrupted,
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
