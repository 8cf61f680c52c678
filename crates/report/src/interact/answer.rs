//! The answer of `punctual interact`.

use super::code::{CodeRow, SamplingRow};
use super::counters::CountersRow;
use super::hardware::HardwareRow;
use super::histogram::RangeRow;
use super::key_rows::{self, KeyRow};
use super::model::InteractReport;
use super::over_time::OverTimeRow;
use super::spent::{Cause, Part};
use super::sums::KindSum;
use super::toolkit::{self, EventRow, ToolkitRow};
use crate::NextStep;
use crate::answer::Answer;
use crate::forecast::InterarrivalEntry;
use crate::forecast::interarrival::InterarrivalRow;
use punctual_blame::Awaited;
use punctual_recording::{Distribution, Ended, Interaction, InteractionDocument, Limit, Outcome, Provenance};
use serde::Serialize;
use std::path::Path;

/// How long each input to a program took, and what the program waited for.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InteractAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: Vec<NextStep>,
    recording: &'a Path,
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    provenance: &'a Provenance,
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    ended: Option<&'a Ended>,
    warnings: Vec<String>,
    blind: &'a [String],
    via: &'a str,
    pace: &'a str,
    program: &'a [String],
    script: &'a str,
    script_digest: &'a str,
    seed: u64,
    followed: bool,
    /// Whether the program never stopped putting something out before the first input: its start has no end.
    never_quiet: bool,
    /// The processor's counters; `null` if nobody asked for them.
    hardware_counters: Option<HardwareRow<'a>>,
    counts: CountRow,
    cost: CostRow,
    /// How stacks were sampled; `null` if the recording says nothing about that.
    sampling: Option<SamplingRow<'a>>,
    waiting: WaitingRow,
    kinds: Vec<KindRow<'a>>,
    tasks: Vec<TaskRow<'a>>,
    /// By what was typed, slowest first.
    keys: Vec<KeyRow<'a>>,
    /// Inputs by latency, in ranges without a hole.
    histogram: Vec<RangeRow<'a>>,
    responsiveness: Vec<ResponsivenessRow>,
    causes: Vec<CauseRow<'a>>,
    limits: Vec<LimitRow<'a>>,
    /// The program's start, which is not among the causes.
    start: Option<LongRow<'a>>,
    longest: Vec<LongRow<'a>>,
    inputs: Vec<InputRow<'a>>,
    /// What toolkits passed on, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    toolkit: Option<ToolkitRow<'a>>,
    /// How slow inputs follow one another, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    interarrival: Option<Vec<InterarrivalEntry<'a>>>,
}

impl<'a> InteractAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a InteractReport<'a>, interarrival: &'a [InterarrivalRow]) -> InteractAnswer<'a> {
        let summary = report.summary;
        let responsiveness = report.curve().into_iter().map(|(threshold_ns, over_ns, over_squared_ms2)| {
            ResponsivenessRow { threshold_ns, over_ns, over_squared_ms2 }
        });
        InteractAnswer {
            schema: "punctual.interact/1",
            verdict: report.verdict(),
            exit_code: report.exit_code(),
            next: report.next_steps(),
            recording: report.recording,
            provenance: &report.document.provenance,
            ended: report.document.ended.as_ref(),
            warnings: report.warnings(),
            blind: &report.document.provenance.blind,
            via: &summary.via,
            pace: &summary.pace,
            program: &summary.program,
            script: &summary.script,
            script_digest: &summary.script_digest,
            seed: summary.seed,
            followed: summary.followed,
            never_quiet: summary.never_quiet,
            hardware_counters: summary.hardware.as_ref().map(HardwareRow::new),
            counts: CountRow::new(report),
            cost: CostRow::new(summary),
            sampling: summary.code.as_ref().map(|about| SamplingRow::new(about, &report.code)),
            waiting: WaitingRow::new(report),
            kinds: report.kinds.iter().map(KindRow::new).collect(),
            tasks: report.tasks.iter().map(|(task, all)| TaskRow { task, latency: LatencyRow::new(all) }).collect(),
            keys: key_rows::rows(report),
            histogram: RangeRow::all(report),
            responsiveness: responsiveness.collect(),
            causes: report.causes.iter().map(|cause| CauseRow::new(report, cause)).collect(),
            limits: report.limits.iter().map(|limit| LimitRow::new(report, limit)).collect(),
            start: report.start.as_ref().map(|(at, parts)| LongRow::new(report, &report.inputs[*at], parts)),
            longest: report
                .longest
                .iter()
                .map(|(at, parts)| LongRow::new(report, &report.inputs[*at], parts))
                .collect(),
            inputs: report.inputs.iter().map(|input| InputRow::new(report, input)).collect(),
            toolkit: toolkit::row(report),
            interarrival: InterarrivalEntry::all(interarrival),
        }
    }
}

impl Answer for InteractAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// What became of the inputs, and what was lost.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CountRow {
    put_in: u64,
    not_put_in: u64,
    seen: u64,
    merged: u64,
    unanswered: u64,
    unread: u64,
    by_terminal: u64,
    ended: u64,
    /// Still under way when the recording ended: how long they took is not known.
    unfinished: u64,
    /// Followed by output of which it is not known whether they caused it, and by no other.
    unsure: u64,
    /// The same, and those that were seen before that output.
    doubtful: u64,
    background_outputs: u64,
    records_lost: u64,
    not_split: u64,
    /// Inputs of which a part of the evidence is missing: a part of their time is unknown.
    with_holes: u64,
    /// Inputs whose beginnings are not known; no sum and no limit includes them.
    began_before: u64,
    /// Inputs for which only the millisecond in which they began is known.
    to_a_millisecond: u64,
    /// Inputs that came faster than they could be taken up; no sum includes them.
    presses_lost: u64,
}

impl CountRow {
    fn new(report: &InteractReport<'_>) -> CountRow {
        let summary = report.summary;
        let count =
            |wanted| report.outcomes.iter().find(|(outcome, _)| *outcome == wanted).map_or(0, |(_, count)| *count);
        CountRow {
            put_in: summary.inputs,
            not_put_in: summary.not_put_in,
            seen: count(Outcome::Seen),
            merged: count(Outcome::Merged),
            unanswered: count(Outcome::Unanswered),
            unread: count(Outcome::Unread),
            by_terminal: count(Outcome::ByTerminal),
            ended: count(Outcome::Ended),
            unfinished: count(Outcome::Unfinished),
            unsure: count(Outcome::Unsure),
            doubtful: report.doubtful().count() as u64,
            background_outputs: summary.background_outputs,
            records_lost: summary.records_lost,
            not_split: summary.not_split,
            with_holes: summary.with_holes,
            began_before: report.began_before(),
            to_a_millisecond: summary.to_a_millisecond,
            presses_lost: summary.presses_lost,
        }
    }
}

/// What the measurement took, and the program.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CostRow {
    driver_cpu_ns: u64,
    process_cpu_ns: u64,
    program_cpu_ns: Option<u64>,
    /// How long the kernel's programs at the terminal ran, ns. Of a run that goes on for more than three
    /// seconds after the first input, an estimate: the rest of the time is taken to be like these.
    programs_ran_ns: Option<u64>,
    /// How often they ran, by the same measure.
    programs_runs: Option<u64>,
}

impl CostRow {
    fn new(summary: &InteractionDocument) -> CostRow {
        CostRow {
            driver_cpu_ns: summary.driver_cpu_ns,
            process_cpu_ns: summary.process_cpu_ns,
            program_cpu_ns: summary.program_cpu_ns,
            programs_ran_ns: summary.programs_ran_ns,
            programs_runs: summary.programs_runs,
        }
    }
}

/// How much of the time somebody waited, for the same inputs: by what was seen, and by the state machine of 1996.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WaitingRow {
    lasted_ns: u64,
    waited_ns: u64,
    /// How much of that punctual itself took, by typing and looking, and the rest; `null` if it is not known.
    own_work_ns: Option<u64>,
    without_own_work_ns: Option<u64>,
    compared_ns: Option<u64>,
    waited_1996_ns: Option<u64>,
    /// Both over time, from the first input on; `null` if it is not known.
    over_time: Option<OverTimeRow>,
}

impl WaitingRow {
    fn new(report: &InteractReport<'_>) -> WaitingRow {
        let waited_1996 = report.waited_1996_ns();
        WaitingRow {
            lasted_ns: report.lasted_ns(),
            waited_ns: report.waited_ns(),
            own_work_ns: report.own_work_ns(),
            without_own_work_ns: report.own_work_ns().map(|own| report.waited_ns().saturating_sub(own)),
            compared_ns: waited_1996.map(|(_, all)| all),
            waited_1996_ns: waited_1996.map(|(waited, _)| waited),
            over_time: OverTimeRow::new(report),
        }
    }
}

/// Quantiles; one is given only if a value lies beyond it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LatencyRow {
    count: u64,
    min_ns: Option<u64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl LatencyRow {
    fn new(all: &Distribution) -> LatencyRow {
        let beyond = |least: u64, quantile: f64| if all.count() >= least { all.quantile(quantile) } else { None };
        LatencyRow {
            count: all.count(),
            min_ns: all.min(),
            p50_ns: beyond(2, 0.5),
            p90_ns: beyond(10, 0.9),
            p99_ns: beyond(100, 0.99),
            max_ns: all.max(),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct KindRow<'a> {
    kind: &'a str,
    inputs: u64,
    latency: LatencyRow,
    cold: LatencyRow,
    warm: LatencyRow,
    /// The mean of the later ones.
    warm_mean_ns: Option<u64>,
    /// Their standard deviation; `null` if there is one of them, or none.
    warm_deviation_ns: Option<u64>,
    patience_ns: u64,
    over_patience_ns: u64,
    over_patience_squared_ms2: f64,
}

impl<'a> KindRow<'a> {
    fn new(kind: &'a KindSum) -> KindRow<'a> {
        KindRow {
            kind: &kind.kind,
            inputs: kind.inputs,
            latency: LatencyRow::new(&kind.latencies),
            cold: LatencyRow::new(&kind.cold),
            warm: LatencyRow::new(&kind.warm),
            warm_mean_ns: kind.warm.mean(),
            warm_deviation_ns: kind.warm_deviation_ns,
            patience_ns: kind.patience_ns,
            over_patience_ns: kind.over_ns,
            over_patience_squared_ms2: kind.over_squared_ms,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TaskRow<'a> {
    task: &'a str,
    latency: LatencyRow,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ResponsivenessRow {
    threshold_ns: u64,
    over_ns: u64,
    over_squared_ms2: f64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CauseRow<'a> {
    kind: &'a str,
    name: &'a str,
    /// If it was not seen who it was: `holder` of a lock, or the `ender` of a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<&'static str>,
    ns: u64,
    unknown_ns: u64,
    inputs: u64,
    /// The code that samples saw at work, if any did.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<CodeRow<'a>>,
}

impl<'a> CauseRow<'a> {
    fn new(report: &'a InteractReport<'_>, cause: &'a Cause) -> CauseRow<'a> {
        CauseRow {
            kind: cause.on.kind(),
            name: cause.on.who.name(),
            not_seen: cause.on.who.not_seen().map(Awaited::name),
            ns: cause.ns,
            unknown_ns: cause.unknown_ns,
            inputs: cause.inputs,
            code: report.code.of_cause(&cause.on).map(CodeRow::new),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LimitRow<'a> {
    kind: &'a str,
    what: &'a str,
    limit_ns: u64,
    found_ns: Option<u64>,
    exceeded: bool,
    /// Whether it is exceeded if inputs caused what may be theirs.
    perhaps_exceeded: bool,
}

impl<'a> LimitRow<'a> {
    fn new(report: &InteractReport<'_>, (kind, limit): &'a (String, Limit)) -> LimitRow<'a> {
        LimitRow {
            kind,
            what: &limit.what,
            limit_ns: limit.limit_ns,
            found_ns: limit.found_ns,
            exceeded: limit.exceeded,
            perhaps_exceeded: report.perhaps_over(kind, limit),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LongRow<'a> {
    number: u32,
    latency_ns: Option<u64>,
    parts: Vec<PartRow<'a>>,
}

impl<'a> LongRow<'a> {
    fn new(report: &'a InteractReport<'_>, input: &Interaction, parts: &'a [Part]) -> LongRow<'a> {
        let parts = parts.iter().map(|part| PartRow::new(report, input.number, part)).collect();
        LongRow { number: input.number, latency_ns: input.latency_ns(), parts }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartRow<'a> {
    kind: &'a str,
    name: &'a str,
    /// If it was not seen who it was: `holder` of a lock, or the `ender` of a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<&'static str>,
    detail: &'a str,
    ns: u64,
    unknown_ns: u64,
    /// The code that samples saw at work, if any did.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<CodeRow<'a>>,
}

impl<'a> PartRow<'a> {
    fn new(report: &'a InteractReport<'_>, number: u32, part: &'a Part) -> PartRow<'a> {
        let Part { on, detail, ns, unknown_ns } = part;
        let not_seen = on.who.not_seen().map(Awaited::name);
        let code = report.code.of_part(number, on).map(CodeRow::new);
        PartRow { kind: on.kind(), name: on.who.name(), not_seen, detail, ns: *ns, unknown_ns: *unknown_ns, code }
    }
}

/// An input. Times but the first are ns from its beginning.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InputRow<'a> {
    number: u32,
    begin_ns: u64,
    since_start_ns: u64,
    kind: &'a str,
    label: &'a str,
    task: &'a str,
    repeat: u32,
    outcome: &'static str,
    merged_into: Option<u32>,
    injected_ns: u64,
    got_ns: Option<u64>,
    busy_ns: Option<u64>,
    blocked_ns: Option<u64>,
    seen_ns: Option<u64>,
    arrived_ns: Option<u64>,
    /// The last output of which it is not known whether this input caused it.
    perhaps_ns: Option<u64>,
    /// CPU time of all threads of the program until the next input, including what they did in the background.
    cpu_ns: Option<u64>,
    /// CPU time of the threads that were working on this input; not of a display's server.
    caused_cpu_ns: Option<u64>,
    /// How long all threads of the program were kept from a CPU until the next input.
    run_delay_ns: Option<u64>,
    think_1996_ns: Option<u64>,
    /// What the kernel counted for the program until the next input; `null` if it was not asked.
    counters: Option<CountersRow>,
    bytes: u64,
    output_bytes: u64,
    /// How much of the time until it was seen punctual itself took; `null` if it was not split.
    own_work_ns: Option<u64>,
    /// What the time until it was seen was spent on; `null` if it was not split. Of more than 10,000 inputs, only the
    /// longest have it.
    parts: Option<Vec<PartRow<'a>>>,
    /// What toolkits passed on because of it, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<EventRow<'a>>>,
}

impl<'a> InputRow<'a> {
    fn new(report: &'a InteractReport<'_>, input: &'a Interaction) -> InputRow<'a> {
        let parts = report.parts.get(&input.number).filter(|parts| !parts.is_empty());
        let after = |at: Option<u64>| at.map(|at| at.saturating_sub(input.begin_ns));
        InputRow {
            number: input.number,
            begin_ns: input.begin_ns,
            since_start_ns: report.since_start(input.begin_ns),
            kind: &input.kind,
            label: &input.label,
            task: &input.task,
            repeat: input.repeat,
            outcome: input.outcome.map_or("", Outcome::name),
            merged_into: input.merged_into,
            injected_ns: input.injected_ns.saturating_sub(input.begin_ns),
            got_ns: after(input.got_ns),
            busy_ns: after(input.busy_ns),
            blocked_ns: after(input.blocked_ns),
            seen_ns: after(input.seen_ns),
            arrived_ns: after(input.arrived_ns),
            perhaps_ns: after(input.perhaps_ns),
            cpu_ns: input.cpu_ns,
            caused_cpu_ns: input.caused_cpu_ns,
            run_delay_ns: input.run_delay_ns,
            think_1996_ns: input.think_1996_ns,
            counters: input.counters.map(CountersRow::from),
            bytes: input.bytes,
            output_bytes: input.output_bytes,
            own_work_ns: parts.map(|parts| parts.iter().filter(|part| part.on.is_own_work()).map(|part| part.ns).sum()),
            parts: parts.map(|parts| parts.iter().map(|part| PartRow::new(report, input.number, part)).collect()),
            events: toolkit::rows_of(report, input),
        }
    }
}
