//! A histogram as cyclictest prints it: whole microseconds down, threads across.

use crate::Measurement;
use punctual_recording::{Distribution, Document, Key, Stage};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The totals of each recording: a row for each microsecond that has any, then each column's count, extremes and mean.
/// Lines that begin with `#` say what the columns are.
pub(super) fn hist(measurement: &Measurement) -> String {
    measurement.parts.iter().map(|(_, document)| of_document(document)).collect::<Vec<_>>().join("\n")
}

fn of_document(document: &Document) -> String {
    let totals = document.distributions.iter().filter(|(key, _)| key.stage == Stage::Total);
    let columns: Vec<(&Key, &Distribution)> = totals.filter(|(_, total)| total.count() > 0).collect();
    let names: Vec<String> =
        columns.iter().map(|(key, _)| format!("{} CPU {}, load {}", key.measure, key.cpu, key.load)).collect();
    let mut text = format!("# Histogram\n# Columns: {}\n", punctual_recording::printable(&names.join("; ")));
    for (microsecond, counts) in rows(&columns) {
        let cells: Vec<String> = counts.iter().map(|count| format!("{count:06}")).collect();
        let _ = writeln!(text, "{microsecond:06} {}", cells.join(" "));
    }
    let line = |text: &mut String, what: &str, of: &dyn Fn(&Distribution) -> u64| {
        let cells: Vec<String> = columns.iter().map(|(_, total)| format!("{:05}", of(total))).collect();
        let _ = writeln!(text, "# {what}: {}", cells.join(" "));
    };
    line(&mut text, "Total", &Distribution::count);
    line(&mut text, "Min Latencies", &|total| total.min().unwrap_or(0) / 1_000);
    line(&mut text, "Avg Latencies", &|total| total.mean().unwrap_or(0) / 1_000);
    line(&mut text, "Max Latencies", &|total| total.max().unwrap_or(0) / 1_000);
    text
}

/// How many wakeups of each column were late by each microsecond, whatever its fraction.
fn rows(columns: &[(&Key, &Distribution)]) -> BTreeMap<u64, Vec<u64>> {
    let mut rows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (place, (_, total)) in columns.iter().enumerate() {
        for (value_ns, count) in total.buckets() {
            rows.entry(value_ns / 1_000).or_insert_with(|| vec![0; columns.len()])[place] += count;
        }
    }
    rows
}
