//! The same as text for people.

use super::super::model::MODELLED;
use super::model::{OutsideReport, Stretch};
use crate::layout::{as_percent, counted, microseconds, table};
use crate::next_text;
use std::fmt::Write as _;

/// This many of the longest stretches have rows of their own ...
const MAX_STRETCHES: usize = 8;
/// ... and this many of the first: how the interrupt came.
const FIRST: usize = 3;
const MAX_FUNCTIONS: usize = 12;
/// This many of a stretch's functions are named.
const MAX_NAMED: usize = 2;

/// The episode as text: the verdict first, the next step last.
pub fn outside_text(report: &OutsideReport<'_>) -> String {
    let mut out = format!("{}\n{}\n{}\n{MODELLED}\n", report.verdict(), report.arrival_in_words(), report.proof());
    for note in report.notes() {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "\n{}", table(&["at us", "for us", "what", "mostly in"], 0..2, stretches(report)));
    let share = |ns: u64| as_percent(ns, report.total_ns);
    let functions = report.functions.iter().take(MAX_FUNCTIONS);
    let functions =
        functions.map(|function| vec![microseconds(Some(function.ns)), share(function.ns), function.name.clone()]);
    let _ = writeln!(out, "\n{}", table(&["us", "share", "function, without what it called"], 0..2, functions));
    let classes = report
        .classes
        .iter()
        .map(|row| vec![row.class.to_owned(), microseconds(Some(row.inside_ns)), microseconds(Some(row.outside_ns))]);
    let _ = writeln!(out, "\n{}", table(&["what had it, us", "as why says", "from outside"], 1..3, classes));
    let _ = writeln!(out, "\nThe guests took {} s of processor time.", report.used_ms.div_ceil(1_000));
    let _ = writeln!(out, "recording: {}", report.recording.display());
    out + &next_text(&report.next())
}

/// The longest stretches by time, how it began and ended, and what lies between them.
fn stretches(report: &OutsideReport<'_>) -> Vec<Vec<String>> {
    let mut longest: Vec<usize> = (0..report.stretches.len()).collect();
    longest.sort_by_key(|&number| std::cmp::Reverse(report.stretches[number].ns));
    longest.truncate(MAX_STRETCHES);
    let last = report.stretches.len().saturating_sub(1);
    let mut rows = Vec::new();
    let mut between: Vec<&Stretch> = Vec::new();
    for (number, stretch) in report.stretches.iter().enumerate() {
        if number >= FIRST && number != last && !longest.contains(&number) {
            between.push(stretch);
            continue;
        }
        rows.extend(together(&between));
        between.clear();
        rows.push(row(stretch));
    }
    rows.extend(together(&between));
    rows
}

fn row(stretch: &Stretch) -> Vec<String> {
    let named: Vec<&str> = stretch.functions.iter().take(MAX_NAMED).map(|row| row.name.as_str()).collect();
    vec![microseconds(Some(stretch.at_ns)), microseconds(Some(stretch.ns)), stretch.what(), named.join(", ")]
}

/// Several stretches, described by what makes up most of them.
fn together(stretches: &[&Stretch]) -> Option<Vec<String>> {
    let first = stretches.first()?;
    if stretches.len() == 1 {
        return Some(row(first));
    }
    let sum = stretches.iter().map(|stretch| stretch.ns).sum();
    let of = |what: &str| stretches.iter().filter(|other| other.what() == what).map(|other| other.ns).sum::<u64>();
    let most = stretches.iter().max_by_key(|stretch| of(&stretch.what()))?;
    let what = format!("{}, most of it {}", counted(stretches.len(), "more piece"), most.what());
    Some(vec![microseconds(Some(first.at_ns)), microseconds(Some(sum)), what, String::new()])
}
