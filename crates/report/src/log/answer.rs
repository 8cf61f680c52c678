//! The answers of `punctual log`.

use super::lines::signed_value;
use super::text::{LogReport, NAMED};
use crate::answer::Answer;
use crate::{NextStep, after_log};
use punctual_recording::{CpuDrops, EventClass, LogCost, LogRow, MarkCounts, Provenance};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What was logged, counted. `log show` adds the events themselves, or how many went into a trace.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LogAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: Vec<NextStep>,
    recording: &'a Path,
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    provenance: &'a Provenance,
    blind: &'a [String],
    cut: bool,
    started_ns: u64,
    length_ns: Option<u64>,
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    chosen: &'a [EventClass],
    rows: u64,
    logged: u64,
    dropped: Option<u64>,
    #[cfg_attr(test, schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>"))]
    drops: &'a [CpuDrops],
    skipped: u64,
    late_rows: u64,
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    marks: &'a MarkCounts,
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    cost: &'a LogCost,
    classes: Vec<ClassRow>,
    counts: Vec<CountRow>,
    names: Vec<NameRow<'a>>,
    /// The events that were asked for. They are printed one by one: there may be millions.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<EventRow<'a>>>,
    /// How many events were shown or written.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<u64>,
}

impl<'a> LogAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a LogReport<'a>) -> LogAnswer<'a> {
        let LogReport { recording, document, log, summary } = report;
        let mut classes: BTreeMap<EventClass, u64> = BTreeMap::new();
        for ((class, ..), count) in &summary.counts {
            *classes.entry(*class).or_default() += count;
        }
        let counts = summary.counts.iter().map(|((class, kind, cpu), count)| CountRow {
            class: class.name(),
            kind: kind.name(),
            cpu: *cpu,
            count: *count,
        });
        let names = summary.most_frequent(NAMED);
        LogAnswer {
            schema: "punctual.log/1",
            verdict: report.verdict(),
            exit_code: report.exit_code(),
            next: after_log(report),
            recording,
            provenance: &document.provenance,
            blind: &document.provenance.blind,
            cut: document.ended.is_none(),
            started_ns: document.provenance.started_ns,
            length_ns: report.length_ns(),
            chosen: &log.classes,
            rows: summary.rows(),
            logged: summary.events(),
            dropped: report.dropped(),
            drops: &log.drops,
            skipped: log.skipped,
            late_rows: log.late_rows,
            marks: &log.marks,
            cost: &log.cost,
            classes: classes.iter().map(|(class, count)| ClassRow { class: class.name(), count: *count }).collect(),
            counts: counts.collect(),
            names: names.into_iter().map(|(kind, name, count)| NameRow { kind: kind.name(), name, count }).collect(),
            events: None,
            shown: None,
        }
    }

    /// The answer of a command with these next steps.
    pub fn with_next(self, next: Vec<NextStep>) -> LogAnswer<'a> {
        LogAnswer { next, ..self }
    }

    /// The answer of a command that wrote this many events elsewhere.
    pub fn with_shown(self, shown: u64) -> LogAnswer<'a> {
        LogAnswer { shown: Some(shown), ..self }
    }
}

impl Answer for LogAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ClassRow {
    class: &'static str,
    count: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CountRow {
    class: &'static str,
    kind: &'static str,
    cpu: u32,
    count: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NameRow<'a> {
    kind: &'static str,
    name: &'a str,
    count: u64,
}

/// One event.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventRow<'a> {
    time_ns: u64,
    cpu: u32,
    class: &'static str,
    kind: &'static str,
    tid: u32,
    thread: &'a str,
    priority: i16,
    context: u32,
    steal_ns: Option<u64>,
    value: Amount,
    extra: u64,
    name: &'a str,
}

/// What an event says: for some kinds a difference, which may be negative.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Amount {
    Signed(i64),
    Unsigned(u64),
}

impl<'a> EventRow<'a> {
    /// The event for programs.
    pub fn new(row: &LogRow<'a>) -> EventRow<'a> {
        let event = &row.event;
        EventRow {
            time_ns: event.at_ns,
            cpu: event.cpu,
            class: event.kind.class().name(),
            kind: event.kind.name(),
            tid: event.tid,
            thread: row.thread,
            priority: event.priority,
            context: event.context,
            steal_ns: (event.steal_ns > 0).then(|| event.steal_ns - 1),
            value: signed_value(event).map_or(Amount::Unsigned(event.value), Amount::Signed),
            extra: event.extra,
            name: row.name,
        }
    }
}

/// The header with which programs make marks.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeaderAnswer<'a> {
    schema: &'static str,
    verdict: &'static str,
    exit_code: u8,
    header: &'a str,
}

impl<'a> HeaderAnswer<'a> {
    /// This header.
    pub fn new(header: &'a str) -> HeaderAnswer<'a> {
        HeaderAnswer { schema: "punctual.log-header/1", verdict: "The header for marks.", exit_code: 0, header }
    }
}

impl Answer for HeaderAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
