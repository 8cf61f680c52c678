//! JSON for programs. A number that is not known is `null`, never 0.

use crate::{Measurement, stage_rows};
use punctual_recording::{Counters, Document};
use serde_json::{Value, json};

/// The report on one or more recordings, schema `punctual.report/1`.
///
/// Counts are those of all recordings together; `parts` gives each by itself.
pub fn measurement(measurement: &Measurement) -> Value {
    let documents = || measurement.parts.iter().map(|(_, document)| document);
    let mut sum = documents().next().map(|document| document.counters).unwrap_or_default();
    for document in documents().skip(1) {
        sum.add(&document.counters);
    }
    let last = measurement.parts.last();
    let mut blind: Vec<&String> = Vec::new();
    for note in documents().flat_map(|document| &document.provenance.blind) {
        if !blind.contains(&note) {
            blind.push(note);
        }
    }
    let mut report = json!({
        "schema": "punctual.report/1",
        "verdict": measurement.verdict,
        "exit_code": measurement.exit_code,
        "recording": last.map(|(path, _)| path),
        "provenance": last.map(|(_, document)| &document.provenance),
        "blind": blind,
        "fallbacks": distinct(documents().flat_map(|document| &document.provenance.fallbacks)),
        "stages": documents().flat_map(stage_rows).collect::<Vec<_>>(),
    });
    let mut counted = counters(&sum);
    if documents().any(|document| document.followed.is_some()) {
        let cost: u64 = documents().filter_map(cost_of_following).sum();
        counted["cost"]["cpu_ns_per_wakeup"] = cost.checked_div(sum.wakeups).into();
    }
    let members = [
        counted,
        json!({
            "cut": documents().any(|document| document.ended.is_none()),
            "limits": documents().flat_map(|document| &document.limits).collect::<Vec<_>>(),
            "scores": documents().flat_map(scores).collect::<Vec<_>>(),
            "devices": measurement.devices.iter().map(device).collect::<Vec<_>>(),
            "parts": measurement.parts.iter().map(|(path, document)| part(path, document)).collect::<Vec<_>>(),
        }),
    ];
    if let Value::Object(report) = &mut report {
        report.extend(
            members
                .into_iter()
                .filter_map(|member| if let Value::Object(member) = member { Some(member) } else { None })
                .flatten(),
        );
    }
    report
}

fn distinct<'a>(notes: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut seen = Vec::new();
    for note in notes {
        if !seen.contains(&note) {
            seen.push(note);
        }
    }
    seen
}

fn counters(counters: &Counters) -> Value {
    json!({
        "wakeups": counters.wakeups,
        "missed": counters.missed,
        "unobserved": counters.unobserved,
        "lost": counters.lost,
        "armed_late": counters.armed_late,
        "steal_ns": counters.steal_ns,
        "wakeup_steal_ns": counters.wakeup_steal_ns,
        "cost": { "cpu_ns_per_wakeup": counters.cpu_ns.checked_div(counters.wakeups) },
    })
}

/// Followed threads use their CPU time for work of their own: what following them cost is what punctual used.
fn cost_of_following(document: &Document) -> Option<u64> {
    document.followed.as_ref().map(|followed| followed.cost_ns)
}

/// What the load got done, a row a score.
fn scores(document: &Document) -> Vec<Value> {
    let load = crate::load_name(document);
    document.provenance.load.scores.iter().map(|score| crate::load::score_json(load, score)).collect()
}

fn part(path: &std::path::Path, document: &Document) -> Value {
    let mut part = json!({
        "recording": path,
        "load": crate::load_name(document),
        "ended": document.ended,
        "cut": document.ended.is_none(),
        "provenance": document.provenance,
        "tasks": document.tasks,
        "followed": document.followed,
        "recorder": document.recorder,
    });
    let mut counted = counters(&document.counters);
    if let Some(cost) = cost_of_following(document) {
        counted["cost"]["cpu_ns_per_wakeup"] = cost.checked_div(document.counters.wakeups).into();
    }
    if let (Value::Object(part), Value::Object(counted)) = (&mut part, counted) {
        part.extend(counted);
    }
    part
}

fn device(row: &punctual_forecast::JudgedDevice) -> Value {
    let mut device = crate::forecast::device_json(&row.load, &row.measure, &row.answer);
    device["late_wakeups"] = row.late_wakeups.into();
    device["late_wakeups_on_worst_cpu"] = row.late_wakeups_on_worst_cpu.into();
    device
}

/// Any failure, schema `punctual.error/1`.
pub fn error(message: &str, hint: Option<&str>, exit_code: u8) -> Value {
    json!({ "schema": "punctual.error/1", "error": message, "hint": hint, "exit_code": exit_code })
}

/// A failure as text for the standard error stream.
pub fn failure(message: &str, hint: Option<&str>) -> String {
    let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("error: {message}{hint}")
}
