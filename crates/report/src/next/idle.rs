//! After a measurement of idle time.

use super::options::as_written;
use super::{NextStep, few};
use crate::idle::IdleReport;
use crate::why::explain;
use punctual_blame::Kind;
use punctual_recording::CauseKind;

/// Who took the CPU, if that is not known; how much of it would be left for real-time work; and what happens to a
/// thread that wakes up there. For keystrokes: the same for a program.
pub fn after_idle(report: &IdleReport<'_>) -> Vec<NextStep> {
    if report.validation.is_some() {
        let purpose = "measures how long your program takes to answer each key; PROGRAM stands for it";
        return vec![NextStep::new(purpose, "sudo punctual interact -- PROGRAM".to_owned())];
    }
    let words = &report.document.provenance.command_line;
    let cpus = as_written(words, "-a", "--cpus");
    let others = as_written(words, "-D", "--duration") + &as_written(words, "", "--threshold") + &cpus;
    let is_real_time = report.document.provenance.configuration.policy == "fifo";
    let policy = if is_real_time { " --policy fifo" } else { "" };
    let leading = report.gaps.causes.iter().max_by_key(|cause| cause.total_ns).map(|cause| cause.kind);
    let never_ran = report.runtime_ns() == 0;
    let mut steps = Vec::new();
    if !report.gaps.followed && !never_ran {
        let names = format!("sudo punctual idle{policy}{others}");
        steps.push(NextStep::new("names who took the CPU", names));
    }
    if !is_real_time && (never_ran || leading == Some(CauseKind::Thread)) {
        let purpose = "shows how much of the CPU is left for real-time work, which threads like these give way to";
        steps.push(NextStep::new(purpose, format!("sudo punctual idle --policy fifo{others}")));
    }
    if let Some(kind) = leading.and_then(page_of) {
        steps.push(NextStep::new(explain::PURPOSE, explain::command(kind)));
    }
    let record = format!("sudo punctual record --why p99{cpus}");
    steps.push(NextStep::new("records how late threads wake up there, and who makes the worst 1 % late", record));
    few(steps)
}

/// The kind of cause whose page explains what took a loop's time.
fn page_of(kind: CauseKind) -> Option<Kind> {
    match kind {
        CauseKind::Irq => Some(Kind::Irq),
        CauseKind::Softirq => Some(Kind::Softirq),
        CauseKind::Thread => Some(Kind::HigherPriority),
        CauseKind::Outside => Some(Kind::Steal),
        CauseKind::Unknown | CauseKind::NotFollowed => None,
    }
}
