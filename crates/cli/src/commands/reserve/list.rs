//! Lists the threads that keep a reservation.

use super::applied;
use crate::output::{self, Output};
use punctual_kernel::other_thread::{Before, ThreadScheduling};
use punctual_kernel::reservation_watch::stuck_now;
use punctual_report::reserve::{AppliedAnswer, AppliedRow, applied_text};
use std::time::Duration;

/// How long to watch a thread that has work to do and does not run.
const PATIENCE: Duration = Duration::from_secs(4);

pub(super) fn run(output: Output) -> anyhow::Result<u8> {
    let mut rows: Vec<AppliedRow> = Vec::new();
    let mut reserved = Vec::new();
    for before in applied::take()? {
        // Another thread may have its number by now.
        let now = before.is_there().then(|| ThreadScheduling::of(before.tid).ok()).flatten();
        reserved.extend(now.filter(|now| now.reservation().is_some()).map(|now| (before.clone(), now)));
        rows.push(row(&before, now));
    }
    let stuck = stuck_now(&reserved, PATIENCE);
    rows.iter_mut().for_each(|row| row.stuck = stuck.contains(&row.tid));
    if output.json {
        output::answer(AppliedAnswer::new(&rows), 0);
    } else {
        output::print_text(&applied_text(&rows));
    }
    Ok(0)
}

fn row(before: &Before, now: Option<ThreadScheduling>) -> AppliedRow {
    AppliedRow {
        tid: before.tid,
        name: before.name.clone(),
        keeps: now.is_some_and(|now| now.reservation().is_some()),
        now: now.map(|now| now.to_string()),
        stuck: false,
        before: before.scheduling.to_string(),
    }
}
