//! The answer of `report`, `record` and `check`.

use crate::answer::Answer;
use crate::device::{DeviceRunRow, Run};
use crate::forecast::interarrival::InterarrivalRow;
use crate::forecast::units::{Expected, called, expected};
use crate::forecast::{DeviceForecast, InterarrivalEntry};
use crate::load::ScoreRow;
use crate::recording::cycles::CyclesRow;
use crate::recording::judged::use_s;
use crate::{Measurement, NextStep, StageRow, load_name, stage_rows};
use punctual_forecast::JudgedDevice;
use punctual_recording::{Counters, Document, Ended, Followed, Limit, Provenance, RecorderSummary, Task};
use serde::Serialize;
use std::path::Path;

/// The report on one or more recordings. Counts are those of all recordings together; `parts` gives each by itself.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportAnswer<'a> {
    schema: &'static str,
    verdict: &'a str,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: &'a [NextStep],
    recording: Option<&'a Path>,
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    provenance: Option<&'a Provenance>,
    blind: Vec<&'a str>,
    fallbacks: Vec<&'a str>,
    stages: Vec<StageRow>,
    #[serde(flatten)]
    counted: Counted,
    cut: bool,
    #[cfg_attr(test, schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>"))]
    limits: Vec<&'a Limit>,
    scores: Vec<ScoreRow<'a>>,
    /// Cycles of followed threads, and how many took longer than the given period.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cycles: Vec<CyclesRow<'a>>,
    devices: Vec<JudgedRow<'a>>,
    parts: Vec<PartRow<'a>>,
    /// How late events follow one another, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    interarrival: Option<Vec<InterarrivalEntry<'a>>>,
    /// What became of the devices of each recording of devices; the rest is of the bystanders beside them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    device_runs: Vec<DeviceRunRow<'a>>,
}

impl<'a> ReportAnswer<'a> {
    /// The answer for programs.
    pub fn new(measurement: &'a Measurement, interarrival: &'a [InterarrivalRow]) -> ReportAnswer<'a> {
        let documents = || measurement.parts.iter().map(|(_, document)| document);
        let mut sum = documents().next().map(|document| document.counters).unwrap_or_default();
        for document in documents().skip(1) {
            sum.add(&document.counters);
        }
        let is_followed = documents().any(|document| document.followed.is_some());
        let cost_of_following = is_followed.then(|| documents().filter_map(cost_of_following).sum());
        let last = measurement.parts.last();
        ReportAnswer {
            schema: "punctual.report/1",
            verdict: &measurement.verdict,
            exit_code: measurement.exit_code,
            next: &measurement.next,
            recording: last.map(|(path, _)| path.as_path()),
            provenance: last.map(|(_, document)| &document.provenance),
            blind: distinct(documents().flat_map(|document| &document.provenance.blind)),
            fallbacks: distinct(documents().flat_map(|document| &document.provenance.fallbacks)),
            stages: documents().flat_map(stage_rows).collect(),
            counted: Counted::new(&sum, cost_of_following),
            cut: documents().any(|document| document.ended.is_none()),
            limits: documents().flat_map(|document| &document.limits).collect(),
            scores: documents().flat_map(scores).collect(),
            cycles: CyclesRow::all(&measurement.cycles),
            devices: measurement.devices.iter().map(|row| JudgedRow::new(row, measurement)).collect(),
            parts: measurement.parts.iter().map(|(path, document)| PartRow::new(path, document)).collect(),
            interarrival: InterarrivalEntry::all(interarrival),
            device_runs: Vec::new(),
        }
    }

    /// The same with what became of the devices of these runs.
    #[must_use]
    pub fn with_device_runs(self, runs: &[Run<'a>]) -> ReportAnswer<'a> {
        ReportAnswer { device_runs: DeviceRunRow::all(runs), ..self }
    }
}

impl Answer for ReportAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

fn distinct<'a>(notes: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for note in notes {
        if !seen.contains(&note.as_str()) {
            seen.push(note);
        }
    }
    seen
}

/// What was counted, and what counting it cost.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Counted {
    wakeups: u64,
    missed: Option<u64>,
    unobserved: u64,
    lost: u64,
    armed_late: Option<u64>,
    steal_ns: Option<u64>,
    wakeup_steal_ns: Option<u64>,
    /// CPU time that passed on the measured CPUs, and how much of it they were idle.
    passed_ns: Option<u64>,
    idle_ns: Option<u64>,
    cost: Cost,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Cost {
    cpu_ns_per_wakeup: Option<u64>,
}

impl Counted {
    /// Followed threads use their CPU time for work of their own: the cost of following them is what punctual used.
    fn new(counters: &Counters, cost_of_following: Option<u64>) -> Counted {
        let cost = cost_of_following.unwrap_or(counters.cpu_ns);
        Counted {
            wakeups: counters.wakeups,
            missed: counters.missed,
            unobserved: counters.unobserved,
            lost: counters.lost,
            armed_late: counters.armed_late,
            steal_ns: counters.steal_ns,
            wakeup_steal_ns: counters.wakeup_steal_ns,
            passed_ns: counters.passed_ns,
            idle_ns: counters.idle_ns,
            cost: Cost { cpu_ns_per_wakeup: cost.checked_div(counters.wakeups) },
        }
    }
}

fn cost_of_following(document: &Document) -> Option<u64> {
    document.followed.as_ref().map(|followed| followed.cost_ns)
}

/// What the load got done, one row per score.
fn scores(document: &Document) -> impl Iterator<Item = ScoreRow<'_>> {
    let load = load_name(document);
    document.provenance.load.scores.iter().map(move |score| ScoreRow::new(load, score))
}

/// What a device would have met.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JudgedRow<'a> {
    #[serde(flatten)]
    forecast: DeviceForecast<'a>,
    late_wakeups: u64,
    late_wakeups_on_worst_cpu: u64,
    /// How often it is to be expected to run dry in 24 hours of use; null where the recording has no upper limit that tells anything.
    expected: Option<ExpectedRow>,
}

/// How often a device is to be expected to run dry.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExpectedRow {
    /// What its users call it: `dropouts`, `overruns`, `losses`, `slips`, `faults`, `lost connections`.
    of: &'static str,
    /// Null if it was not seen to, or more was counted than there is.
    about_per_day: Option<f64>,
    at_most_per_day: f64,
}

impl ExpectedRow {
    fn new(row: &JudgedDevice, measurement: &Measurement) -> Option<ExpectedRow> {
        let (_, document) = measurement.parts.iter().find(|(_, document)| load_name(document) == row.load)?;
        let Expected { about, at_most } = expected(&row.answer, use_s(document))?;
        let [_, of] = called(&row.answer.device);
        Some(ExpectedRow { of, about_per_day: about, at_most_per_day: at_most })
    }
}

impl<'a> JudgedRow<'a> {
    fn new(row: &'a JudgedDevice, measurement: &Measurement) -> JudgedRow<'a> {
        JudgedRow {
            expected: ExpectedRow::new(row, measurement),
            forecast: DeviceForecast::new(&row.load, &row.measure, &row.answer),
            late_wakeups: row.late_wakeups,
            late_wakeups_on_worst_cpu: row.late_wakeups_on_worst_cpu,
        }
    }
}

/// One recording by itself, or the sum of several that were made alike.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartRow<'a> {
    /// Where it is; of a sum, where the first is.
    recording: &'a Path,
    /// How many recordings are added up here.
    recordings: u64,
    load: &'a str,
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    ended: Option<&'a Ended>,
    cut: bool,
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    provenance: &'a Provenance,
    #[cfg_attr(test, schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>"))]
    tasks: &'a [Task],
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    followed: Option<&'a Followed>,
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    recorder: Option<&'a RecorderSummary>,
    #[serde(flatten)]
    counted: Counted,
}

impl<'a> PartRow<'a> {
    fn new(path: &'a Path, document: &'a Document) -> PartRow<'a> {
        PartRow {
            recording: path,
            recordings: document.added.saturating_add(1),
            load: load_name(document),
            ended: document.ended.as_ref(),
            cut: document.ended.is_none(),
            provenance: &document.provenance,
            tasks: &document.tasks,
            followed: document.followed.as_ref(),
            recorder: document.recorder.as_ref(),
            counted: Counted::new(&document.counters, cost_of_following(document)),
        }
    }
}
