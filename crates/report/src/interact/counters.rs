//! What the kernel counted for the program for each input, and on average for each kind.

use super::hardware::{HardwareCountsRow, hardware_blocks, row_of};
use super::model::InteractReport;
use crate::encode::html::Block;
use crate::encode::html::table::{Column, Table, Value};
use crate::layout::table;
use punctual_recording::InputCounters;
use serde::Serialize;
use std::fmt::Write as _;

row_of! {
    /// For all threads of the program until the next input; `null` is what is not known.
    CountersRow of InputCounters {
        /// Page faults without a disk.
        minor_faults: Option<u64>,
        /// Page faults that had to wait for a disk.
        major_faults: Option<u64>,
        /// How often threads went to sleep, without those that came and went in their process; `null` if another has ended.
        waits: Option<u64>,
        /// How often threads left their CPU although they could have continued; for whom, and when `null`, as with `waits`.
        preemptions: Option<u64>,
        /// How often threads changed CPU; for whom, and when `null`, as with `waits`.
        migrations: Option<u64>,
        /// System calls of the `read` family.
        reads: Option<u64>,
        /// System calls of the `write` family.
        writes: Option<u64>,
        /// Bytes that those read from files, pipes and terminals.
        read_bytes: Option<u64>,
        /// Bytes that those wrote.
        written_bytes: Option<u64>,
        /// Bytes that were requested from disks.
        disk_read_bytes: Option<u64>,
        /// Bytes that were left for disks to write.
        disk_written_bytes: Option<u64>,
        /// What the processor counted.
        hardware: HardwareCountsRow,
    }
}

/// The columns of means.
const COLUMNS: [&str; 10] =
    ["counted", "faults", "sleeps", "preempted", "moved", "reads", "writes", "kB read", "kB written", "kB of disks"];

/// How many inputs of a kind have counters, and the means over those that have each counter.
fn means(kind: &str, counted: &[InputCounters]) -> Vec<String> {
    let mean = |unit: f64, value: &dyn Fn(&InputCounters) -> Option<u64>| {
        let values: Vec<u64> = counted.iter().filter_map(value).collect();
        let sum = values.iter().fold(0u64, |sum, value| sum.saturating_add(*value));
        if values.is_empty() { "-".to_owned() } else { format!("{:.1}", sum as f64 / unit / values.len() as f64) }
    };
    let both = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    vec![
        kind.to_owned(),
        counted.len().to_string(),
        mean(1.0, &|of| both(of.minor_faults, of.major_faults)),
        mean(1.0, &|of| of.waits),
        mean(1.0, &|of| of.preemptions),
        mean(1.0, &|of| of.migrations),
        mean(1.0, &|of| of.reads),
        mean(1.0, &|of| of.writes),
        mean(1e3, &|of| of.read_bytes),
        mean(1e3, &|of| of.written_bytes),
        mean(1e3, &|of| both(of.disk_read_bytes, of.disk_written_bytes)),
    ]
}

/// A row for each kind that has counters; empty if none has.
fn rows(report: &InteractReport<'_>) -> Vec<Vec<String>> {
    let of = |kind: &str| -> Vec<InputCounters> {
        report.inputs.iter().filter(|input| input.kind == kind).filter_map(|input| input.counters).collect()
    };
    let kinds = report.kinds.iter().map(|kind| (kind.kind.as_str(), of(&kind.kind)));
    kinds.filter(|(_, counted)| !counted.is_empty()).map(|(kind, counted)| means(kind, &counted)).collect()
}

/// Whose counts they are, and for how many inputs the sleeps are not known.
fn whose(report: &InteractReport<'_>) -> String {
    let counted: Vec<InputCounters> = report.inputs.iter().filter_map(|input| input.counters).collect();
    let without = counted.iter().filter(|of| of.waits.is_none()).count();
    let mut words = "of all threads of the program until the next input".to_owned();
    if without > 0 {
        let _ = write!(
            words,
            "; {without} of {} have no sleeps, preemptions and moves: a thread had ended, or they are not told",
            counted.len()
        );
    }
    words
}

/// The means as text.
pub(super) fn counters(text: &mut String, report: &InteractReport<'_>) {
    let rows = rows(report);
    if !rows.is_empty() {
        let header: Vec<&str> = ["on average"].into_iter().chain(COLUMNS).collect();
        let _ = writeln!(text, "\n{}\n{}", table(&header, 1..header.len(), rows), whose(report));
    }
}

/// The means on the page.
pub(super) fn counters_block(report: &InteractReport<'_>) -> Option<Vec<Block>> {
    let rows = rows(report);
    let cells = |row: Vec<String>| row.into_iter().map(Value::text).collect();
    (!rows.is_empty()).then(|| {
        let table = Table {
            caption: "Counted on average".into(),
            columns: [Column::words("input")].into_iter().chain(COLUMNS.map(Column::numbers)).collect(),
            rows: rows.into_iter().map(cells).collect(),
        };
        let whose = Block::Text(format!("Counts are {}.", whose(report)));
        [Block::Table(table), whose].into_iter().chain(hardware_blocks(report)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_those_that_have_a_count_and_nobody_has_none_for_nought() {
        let one = InputCounters { minor_faults: Some(3), major_faults: Some(1), reads: Some(2), ..Default::default() };
        let other = InputCounters { minor_faults: Some(9), waits: Some(0), read_bytes: Some(500), ..one };
        let row = means("key", &[one, other]);
        assert_eq!(row.len(), COLUMNS.len() + 1);
        assert_eq!(row[..6], ["key", "2", "7.0", "0.0", "-", "-"].map(str::to_owned));
        assert_eq!(row[6..], ["2.0", "-", "0.5", "-", "-"].map(str::to_owned));
    }
}
