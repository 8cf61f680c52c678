//! The study as text, and the tables that its page has too.

use super::notes::notes;
use super::{GROUPS, Row, StudyReport};
use crate::device::came::came;
use crate::device::pending::in_blocks;
use crate::layout::{grouped, table};
use crate::microseconds;
use crate::verdict::device::study::study_verdict;
use punctual_device::pc99;
use punctual_recording::format_ns;
use std::fmt::Write as _;

pub(super) const HEADER: [&str; 14] = [
    "context",
    "competitor",
    "here",
    "paper",
    "simulated",
    "blocks",
    "underruns",
    "machine's",
    "pending blocks",
    "work p50",
    "elapsed p50",
    "elapsed max",
    "off 1 ms",
    "bystander max",
];

/// What a run here shows: a device that ran may still be not judged.
fn here(row: &Row<'_>) -> &'static str {
    // A run of some seconds does not show that anything holds.
    match row.holds {
        Some(true) => "kept up",
        None if row.is_unjudged() => "not judged",
        judged => word(judged),
    }
}

fn word(works: Option<bool>) -> &'static str {
    match works {
        Some(true) => "holds",
        Some(false) => "fails",
        None => "-",
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.2} %", share * 100.0))
}

pub(super) fn cells(row: &Row<'_>) -> Vec<String> {
    let competitor = row.competitor.clone().unwrap_or_else(|| "-".to_owned());
    let mut cells = vec![
        row.context.clone(),
        competitor,
        here(row).to_owned(),
        word(row.paper_works).to_owned(),
        word(row.predicted).to_owned(),
    ];
    match row.device() {
        Some(device) => cells.extend([
            grouped(came(device)),
            grouped(device.underruns),
            grouped(device.underruns_outside),
            in_blocks(Some(device.pending_max), device),
            microseconds(device.executed.quantile(0.5)),
            microseconds(device.elapsed.quantile(0.5)),
            microseconds(device.elapsed.max()),
        ]),
        None => cells.extend(std::iter::repeat_n("-".to_owned(), 7)),
    }
    let longest = row.run.as_ref().ok().and_then(|run| run.activations.bystander_intervals.max());
    cells.extend([percent(row.off), microseconds(longest)]);
    cells
}

/// The study as text.
pub fn text(study: &StudyReport<'_>) -> String {
    let mut text = study_verdict(study);
    text.push('\n');
    for note in notes(study) {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(
        text,
        "\n{}: {} of every {}, {} buffers; the bystander is FIFO 95 every 1 ms on the same CPU; us.\n\
         \"machine's\" are underruns while even FIFO 99 was kept from the CPU; \"off 1 ms\" is the share of the\n\
         bystander's callbacks that came more than 100 us away from 1 ms, \"bystander max\" the longest time between\n\
         two of them; \"work\" is what a block's work took.",
        study.profile.name,
        format_ns(study.profile.compute_ns),
        format_ns(study.profile.period_ns),
        study.profile.buffers
    );
    for said in study.scaling().map(str::to_owned).into_iter().chain(study.load_in_words()) {
        let _ = writeln!(text, "{said}");
    }
    for (group, title) in GROUPS {
        let rows = study.rows.iter().filter(|row| row.group == group);
        if rows.clone().next().is_none() {
            continue;
        }
        let _ = writeln!(text, "\n{title}\n\n{}", table(&HEADER, 5..14, rows.clone().map(cells)));
        for row in rows {
            if let Err(reason) = row.run {
                let _ = writeln!(text, "{} is unavailable: {reason}", row.name());
            }
        }
    }
    for row in study.rows.iter().filter(|row| row.group == "contexts" && row.competitor.is_none()) {
        if let Some(device) = row.device() {
            let _ = writeln!(text, "PC 99: {}: {}", row.context, pc99(device).why);
        }
    }
    text
}
