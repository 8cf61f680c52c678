//! Lists the threads that keep a reservation.

use super::applied;
use crate::output::{self, Output};
use punctual_kernel::other_thread::{Before, ThreadScheduling};
use punctual_report::reserve::{AppliedAnswer, AppliedRow, applied_text};

pub(super) fn run(output: Output) -> anyhow::Result<u8> {
    let rows: Vec<AppliedRow> = applied::take()?.iter().map(row).collect();
    if output.json {
        output::answer(AppliedAnswer::new(&rows), 0);
    } else {
        output::print_text(&applied_text(&rows));
    }
    Ok(0)
}

fn row(before: &Before) -> AppliedRow {
    // Another thread may have its number by now.
    let now = before.is_there().then(|| ThreadScheduling::of(before.tid).ok()).flatten();
    AppliedRow {
        tid: before.tid,
        name: before.name.clone(),
        keeps: now.is_some_and(|now| now.reservation().is_some()),
        now: now.map(|now| now.to_string()),
        before: before.scheduling.to_string(),
    }
}
