//! The same as text for people: the verdict first, then tables in the paper's form.

use super::{ASSUMED, Studied, by_table, class_name, endings, heading};
use crate::layout::{counted, grouped, table};
use crate::modem::text::calling_end;
use crate::next::next_text;
use punctual_modem::tables::{Published, Row};
use punctual_recording::printable;
use std::fmt::Write as _;

/// The tables.
pub fn text(studied: &Studied<'_>) -> String {
    let tables = studied.tables;
    let mut text = format!("{}\n", studied.verdict());
    for row in studied.differing() {
        let clean = tables.clean_s().unwrap_or(0.0);
        let (here, paper) = (class_name(row.class(clean)), row.published.class().name());
        let _ = writeln!(text, "otherwise: Table {}, {}: {here} here, {paper} in the paper", row.table, row.name);
    }
    let missing: usize = tables.rows.iter().map(|row| tables.experiment.attempts as usize - row.numbers.len()).sum();
    if missing > 0 {
        let _ = writeln!(text, "missing: {}", counted(missing, "attempt"));
    }
    let _ = writeln!(
        text,
        "\na file of {}, {} a row, in virtual time; seed {}",
        counted(tables.bytes, "byte"),
        counted(tables.experiment.attempts, "attempt"),
        tables.experiment.seed,
    );
    text += &calling_end(&tables.experiment);
    if let Some(directory) = studied.directory.filter(|_| studied.kept > 0) {
        let _ = writeln!(text, "taken from {}: {}", printable(directory), counted(studied.kept, "call"));
    }
    if let Some(clean) = tables.clean_s() {
        let _ = writeln!(text, "a transfer that nothing delays: {clean:.3} s; `times` are multiples of that");
    }
    for (number, rows) in by_table(tables) {
        let _ = writeln!(text, "\n{}\n\n{}", heading(number), times(studied, &rows));
        let _ = writeln!(text, "\n{}", events(studied, &rows));
    }
    text += "\nWhat is assumed:\n";
    for sentence in ASSUMED {
        let _ = writeln!(text, "  {sentence}");
    }
    let next = next_text(&studied.next());
    if !next.is_empty() {
        let _ = write!(text, "\n{next}");
    }
    text
}

/// Transfer times as the paper prints them, beside the paper's own as multiples.
fn times(studied: &Studied<'_>, rows: &[&Row]) -> String {
    let header = ["row", "min s", "max s", "mean s", "std dev", "succ", "times", "paper's times", "paper's succ"];
    let clean = studied.tables.clean_s().unwrap_or(0.0);
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let rows = rows.iter().map(|row| {
        let seconds = row.transfer.seconds();
        let second = |value: Option<f64>| or_none(value.map(|value| format!("{value:.3}")));
        let times = |value: Option<f64>| or_none(value.map(|value| format!("{value:.2}")));
        vec![
            row.name.clone(),
            second(seconds.map(|seconds| seconds.min)),
            second(seconds.map(|seconds| seconds.max)),
            second(seconds.map(|seconds| seconds.mean)),
            second(seconds.map(|seconds| seconds.deviation)),
            format!("{} of {}", row.transfer.successes(), row.transfer.attempts.len()),
            times(row.times_clean(clean)),
            times(row.published.times_clean()),
            format!("{} of {}", row.published.successes, Published::ATTEMPTS),
        ]
    });
    table(&header, 1..9, rows)
}

/// What happened in the calls, over all attempts, and below that how the failed ones ended.
fn events(studied: &Studied<'_>, rows: &[&Row]) -> String {
    let header = ["row", "retrains", "CRC errors", "far", "underruns", "overruns", "class"];
    let clean = studied.tables.clean_s().unwrap_or(0.0);
    let cells = rows.iter().map(|row| {
        let sum = |of: fn(&punctual_modem::transfer::Attempt) -> u64| grouped(row.transfer.sum(of));
        vec![
            row.name.clone(),
            sum(|attempt| attempt.retrains.into()),
            sum(|attempt| attempt.crc_errors),
            sum(|attempt| attempt.far_crc_errors),
            sum(|attempt| attempt.underruns),
            sum(|attempt| attempt.overruns),
            class_name(row.class(clean)).to_owned(),
        ]
    });
    let mut text = table(&header, 1..6, cells);
    for row in rows {
        let failed = endings(row);
        if !failed.is_empty() {
            let _ = write!(text, "\nfailed: {}: {failed}", row.name);
        }
    }
    text
}
