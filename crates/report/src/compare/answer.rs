//! The answer of `punctual compare`.

use super::causes::CausesRow;
use super::counts::CountRow;
use super::measure;
use crate::NextStep;
use crate::answer::Answer;
use crate::recording::requests::RequestsRow;
use crate::verdict::compare::comparison_verdict;
use punctual_comparison::{
    Comparison, DeviceComparison, Difference, Quantiles, Ratio, SideSummary, StageComparison, Standing, Throughput,
};
use serde::Serialize;

/// The whole comparison.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompareAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: Vec<NextStep>,
    /// `better`, `worse`, `mixed` (one in some, the other in others), `no difference` or `no verdict`: what the wakeups and the
    /// `counts` say together, and so the first sentence of `verdict`.
    outcome: &'static str,
    /// What the outcome applies to: `systems` or, if there is none, why (`too few runs`, `one side after the other`,
    /// `other threads`).
    standing: &'static str,
    /// How these runs compare, whether or not that is a verdict on the systems.
    these_runs: &'static str,
    /// How these runs compare by the totals of their wakeups alone.
    wakeup_latency: &'static str,
    /// At least how many more runs of A a verdict takes.
    more_runs_a: usize,
    /// How many more of B.
    more_runs_b: usize,
    /// How many runs of each side it takes to find a difference as large as the estimate four times out of five.
    runs_needed: Option<usize>,
    decided_by: Option<Decision>,
    in_turn: bool,
    notes: &'a [String],
    a: SideRow<'a>,
    b: SideRow<'a>,
    stages: Vec<StageRow<'a>>,
    /// Cycles of loops that took too long, and slow requests, where both sides counted them alike; each has a verdict of
    /// its own.
    counts: Vec<CountRow<'a>>,
    /// Who made wakeups late, which decides nothing; absent if not all runs have evidence of that, or it is not alike, as a note says.
    #[serde(skip_serializing_if = "Option::is_none")]
    causes: Option<CausesRow<'a>>,
    devices: Vec<DeviceRow<'a>>,
    throughput: Vec<ThroughputRow<'a>>,
    differences: Vec<DifferenceRow<'a>>,
}

impl<'a> CompareAnswer<'a> {
    /// The answer for programs, with what to run next and the exit code of the command that made it.
    pub fn new(comparison: &'a Comparison, next: Vec<NextStep>, exit_code: u8) -> CompareAnswer<'a> {
        let decided_by = comparison.decided_by.and_then(|(stage, by)| {
            let stage = comparison.stages.get(stage)?;
            let ratio = RatioRow::new(stage.ratios.get(by)?);
            Some(Decision { stage: stage.stage.name(), measure: measure(stage), ratio })
        });
        let [more_runs_a, more_runs_b] = comparison.standing.more_runs();
        let these_runs = comparison.overall().name();
        CompareAnswer {
            schema: "punctual.compare/1",
            verdict: comparison_verdict(comparison),
            exit_code,
            next,
            outcome: if comparison.standing == Standing::Systems { these_runs } else { "no verdict" },
            standing: comparison.standing.name(),
            these_runs,
            wakeup_latency: comparison.outcome.name(),
            more_runs_a,
            more_runs_b,
            runs_needed: comparison.runs_needed,
            decided_by,
            in_turn: comparison.is_paired,
            notes: &comparison.notes,
            a: SideRow::new(&comparison.a),
            b: SideRow::new(&comparison.b),
            stages: comparison.stages.iter().map(|stage| StageRow::new(comparison, stage)).collect(),
            counts: comparison.counts.iter().map(CountRow::new).collect(),
            causes: comparison.causes.as_ref().map(CausesRow::new),
            devices: comparison.devices.iter().map(DeviceRow::new).collect(),
            throughput: comparison.throughput.iter().map(ThroughputRow::new).collect(),
            differences: comparison.differences.iter().map(DifferenceRow::new).collect(),
        }
    }
}

impl Answer for CompareAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// Something of both sides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Both<T> {
    a: T,
    b: T,
}

impl<T> From<(T, T)> for Both<T> {
    fn from((a, b): (T, T)) -> Both<T> {
        Both { a, b }
    }
}

/// The figure that decided.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Decision {
    stage: &'static str,
    measure: String,
    ratio: RatioRow,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SideRow<'a> {
    name: &'a str,
    runs: usize,
    load: &'a str,
    measured_ns: u64,
    wakeups: u64,
    missed: Option<u64>,
    /// How many periods passed for the loops of followed threads; null without a period, or where nothing shows it.
    periods: Option<u64>,
    /// How many of these began without a wakeup.
    not_woken: Option<u64>,
    /// Whether some of these are estimated from the time from one cycle to the next, because no grid of timers shows them.
    estimated: Option<bool>,
    unobserved: u64,
    lost: u64,
    steal_ns: Option<u64>,
    /// The part of the measured CPUs' time that other programs took; null if the kernel did not say.
    others_share: Option<f64>,
    cut: bool,
    /// How long requests took, which decides nothing; absent if not all runs counted them.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<RequestsRow>,
}

impl<'a> SideRow<'a> {
    pub(super) fn new(side: &'a SideSummary) -> SideRow<'a> {
        SideRow {
            name: &side.name,
            runs: side.runs,
            load: &side.load,
            measured_ns: side.measured_ns,
            wakeups: side.wakeups,
            missed: side.missed,
            periods: side.periods.map(|passed| passed.all),
            not_woken: side.periods.map(|passed| passed.not_woken),
            estimated: side.periods.map(|passed| passed.is_estimated),
            unobserved: side.unobserved,
            lost: side.lost,
            steal_ns: side.steal_ns,
            others_share: side.others_share,
            cut: side.cut,
            requests: side.requests.map(RequestsRow::from),
        }
    }
}

/// A stage on both sides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StageRow<'a> {
    stage: &'static str,
    measure: String,
    load: Both<&'a str>,
    /// All CPUs together.
    cpu: (),
    a: QuantilesRow,
    b: QuantilesRow,
    ratio: Option<RatioRow>,
    ratios: Vec<RatioRow>,
    verdict: &'static str,
}

impl<'a> StageRow<'a> {
    fn new(comparison: &'a Comparison, stage: &'a StageComparison) -> StageRow<'a> {
        StageRow {
            stage: stage.stage.name(),
            measure: measure(stage),
            load: Both { a: &comparison.a.load, b: &comparison.b.load },
            cpu: (),
            a: QuantilesRow::new(&stage.a),
            b: QuantilesRow::new(&stage.b),
            ratio: stage.shown().map(RatioRow::new),
            ratios: stage.ratios.iter().map(RatioRow::new).collect(),
            verdict: stage.verdict.outcome.name(),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct QuantilesRow {
    count: u64,
    p50_ns: Option<u64>,
    worst_10_percent_ns: Option<u64>,
    p99_ns: Option<u64>,
    p99_9_ns: Option<u64>,
    p99_99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl QuantilesRow {
    fn new(quantiles: &Quantiles) -> QuantilesRow {
        // In the order of `punctual_comparison::FIGURES`.
        let [p50_ns, worst_10_percent_ns, p99_ns, p99_9_ns, p99_99_ns] = quantiles.values_ns;
        let (count, max_ns) = (quantiles.count, quantiles.max_ns);
        QuantilesRow { count, p50_ns, worst_10_percent_ns, p99_ns, p99_9_ns, p99_99_ns, max_ns }
    }
}

/// B's figure as a multiple of A's.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RatioRow {
    quantile: &'static str,
    level: f64,
    low: f64,
    estimate: f64,
    high: f64,
    same_within: f64,
    p: f64,
    /// From this ratio up, or from its inverse down, a difference is found four times out of five by runs like these, three of each at least.
    findable: f64,
    verdict: &'static str,
}

impl RatioRow {
    pub(crate) fn new(ratio: &Ratio) -> RatioRow {
        RatioRow {
            quantile: ratio.figure.name,
            level: ratio.figure.level,
            low: ratio.low,
            estimate: ratio.estimate,
            high: ratio.high,
            same_within: ratio.same_within,
            p: ratio.p,
            findable: ratio.findable,
            verdict: ratio.outcome().name(),
        }
    }
}

/// How often a device's slack was exceeded on both sides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DeviceRow<'a> {
    device: &'a str,
    name: &'a str,
    /// `named` by the user, a device of `today` or of the `papers`.
    origin: &'static str,
    measure: Both<&'a str>,
    slack_ns: u64,
    over: Both<u64>,
    ran_dry: Both<u64>,
    per_hour: Both<Option<f64>>,
    ratio: RateRatioRow,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RateRatioRow {
    low: Option<f64>,
    estimate: Option<f64>,
    high: Option<f64>,
}

impl<'a> DeviceRow<'a> {
    fn new(row: &'a DeviceComparison) -> DeviceRow<'a> {
        DeviceRow {
            device: &row.device.id,
            name: &row.device.name,
            origin: row.device.origin.name(),
            measure: Both { a: &row.measure.0, b: &row.measure.1 },
            slack_ns: row.slack_ns,
            over: row.over.into(),
            ran_dry: row.ran_dry.into(),
            per_hour: row.per_hour.into(),
            ratio: RateRatioRow { low: row.ratio.low, estimate: row.ratio.estimate, high: row.ratio.high },
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ThroughputRow<'a> {
    name: &'a str,
    unit: &'a str,
    a_per_s_thousandths: Option<u64>,
    b_per_s_thousandths: Option<u64>,
    ratio: Option<f64>,
    paced: bool,
}

impl<'a> ThroughputRow<'a> {
    fn new(score: &'a Throughput) -> ThroughputRow<'a> {
        ThroughputRow {
            name: &score.name,
            unit: &score.unit,
            a_per_s_thousandths: score.a_thousandths,
            b_per_s_thousandths: score.b_thousandths,
            ratio: score.ratio,
            paced: score.is_paced,
        }
    }
}

/// What else differs between the sides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DifferenceRow<'a> {
    area: &'static str,
    what: &'a str,
    a: Option<&'a str>,
    b: Option<&'a str>,
}

impl<'a> DifferenceRow<'a> {
    pub(crate) fn new(row: &'a Difference) -> DifferenceRow<'a> {
        DifferenceRow { area: row.area, what: &row.what, a: row.a.as_deref(), b: row.b.as_deref() }
    }
}
