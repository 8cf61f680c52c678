//! After an event log, and after showing one.

use super::options::as_written;
use super::{NextStep, few};
use crate::layout::shell_word;
use crate::log::LogReport;
use punctual_recording::{EventClass, printable, printable_path};
use std::collections::BTreeMap;

/// A log without holes if this one has some; otherwise its events line by line, and as a picture.
pub fn after_log(report: &LogReport<'_>) -> Vec<NextStep> {
    let mut steps: Vec<NextStep> = without_holes(report).into_iter().collect();
    if report.summary.rows() > 0 {
        let show = format!("punctual log show {}", recording(report));
        steps.push(NextStep::new("shows its events line by line", show));
        steps.push(as_trace(report));
    }
    few(steps)
}

/// After events were shown, or written as a trace.
pub fn after_log_show(report: &LogReport<'_>, is_trace: bool) -> Vec<NextStep> {
    if report.summary.rows() == 0 {
        return Vec::new();
    }
    let mut steps = if is_trace { Vec::new() } else { vec![as_trace(report)] };
    let counted = format!("punctual report {}", recording(report));
    steps.push(NextStep::new("counts them by class, kind and name", counted));
    few(steps)
}

fn recording(report: &LogReport<'_>) -> String {
    shell_word(&printable_path(report.recording))
}

fn as_trace(report: &LogReport<'_>) -> NextStep {
    let trace = shell_word(&printable_path(&report.recording.with_extension("pftrace")));
    let command = format!("punctual log show {} --perfetto {trace}", recording(report));
    NextStep::new("writes them as a trace for https://ui.perfetto.dev", command)
}

/// The same log without its most frequent class, if events were dropped and other classes were asked for too.
fn without_holes(report: &LogReport<'_>) -> Option<NextStep> {
    report.dropped().filter(|dropped| *dropped > 0)?;
    let mut counts: BTreeMap<EventClass, u64> = BTreeMap::new();
    for ((class, ..), count) in &report.summary.counts {
        *counts.entry(*class).or_default() += count;
    }
    let chosen = || report.log.classes.iter().filter(|class| **class != EventClass::Dropped);
    let most = chosen().max_by_key(|class| counts.get(class).copied().unwrap_or(0))?;
    let others: Vec<&str> = chosen().filter(|class| *class != most).map(|class| class.name()).collect();
    if others.is_empty() {
        return None;
    }
    let words = &report.document.provenance.command_line;
    let mut command = format!("sudo punctual log --events {}", others.join(","));
    command += &(as_written(words, "-D", "--duration") + &as_written(words, "", "--load"));
    if let Some(at) = words.iter().position(|word| word == "--") {
        words[at..].iter().for_each(|word| command += &format!(" {}", shell_word(&printable(word))));
    }
    Some(NextStep::new(
        &format!("leaves out `{}`, which came most often, so that less is dropped", most.name()),
        command,
    ))
}
