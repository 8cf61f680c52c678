//! Keys in text, JSON and on the page.

use super::keys::KeySum;
use super::model::InteractReport;
use crate::encode::html::table::{Column, Table, Value};
use crate::layout::{fitting, percent, table};
use punctual_recording::Distribution;
use serde::Serialize;
use std::fmt::Write as _;

/// How many keys text shows; JSON and the page have all.
const SHOWN: usize = 12;

/// A key. A quantile is given only if a value lies beyond it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct KeyRow<'a> {
    kind: &'a str,
    label: &'a str,
    inputs: u64,
    seen: u64,
    p50_ns: Option<u64>,
    max_ns: Option<u64>,
    /// What most of the time of these inputs was spent on.
    largest_cause: Option<String>,
    largest_cause_ns: Option<u64>,
}

/// All keys for programs, the slowest first.
pub(super) fn rows<'a>(report: &'a InteractReport<'_>) -> Vec<KeyRow<'a>> {
    let row = |sum: &'a KeySum| {
        let (largest_cause, largest_cause_ns) = sum.cause().unzip();
        KeyRow {
            kind: &sum.kind,
            label: &sum.label,
            inputs: sum.inputs,
            seen: sum.latencies.count(),
            p50_ns: median(&sum.latencies),
            max_ns: sum.latencies.max(),
            largest_cause,
            largest_cause_ns,
        }
    };
    report.keys.sorted().into_iter().map(row).collect()
}

fn median(all: &Distribution) -> Option<u64> {
    if all.count() >= 2 { all.quantile(0.5) } else { None }
}

fn name(sum: &KeySum) -> String {
    if sum.kind == sum.label { sum.kind.clone() } else { format!("{} {}", sum.kind, sum.label) }
}

/// How much of the waiting for a key the largest cause made up.
fn told_cause(sum: &KeySum, width: usize) -> String {
    let Some((words, ns)) = sum.cause() else { return "-".to_owned() };
    let share = percent(ns, sum.waited_ns());
    format!("{share:.0} % {}", fitting(&words, width))
}

/// The slowest keys as text, if there are several.
pub(super) fn keys(text: &mut String, report: &InteractReport<'_>) {
    let sums = report.keys.sorted();
    if sums.len() < 2 {
        return;
    }
    let ms = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.2}", ns as f64 / 1e6));
    let rows = sums.iter().take(SHOWN).map(|sum| {
        let of = [sum.inputs.to_string(), sum.latencies.count().to_string()];
        let times = [ms(median(&sum.latencies)), ms(sum.latencies.max())];
        [fitting(&name(sum), 24)].into_iter().chain(of).chain(times).chain([told_cause(sum, 30)]).collect()
    });
    let header = ["ms by key, slowest first", "inputs", "seen", "p50", "max", "most of it"];
    let _ = writeln!(text, "\n{}", table(&header, 1..5, rows.collect::<Vec<Vec<String>>>()));
    if sums.len() > SHOWN {
        let _ = writeln!(text, "and {} more in JSON and on the page", sums.len() - SHOWN);
    }
}

/// All keys on the page.
pub(super) fn keys_table(report: &InteractReport<'_>) -> Option<Table> {
    let row = |sum: &&KeySum| {
        vec![
            Value::text(name(sum)),
            Value::Count(Some(sum.inputs)),
            Value::Count(Some(sum.latencies.count())),
            Value::Ns(median(&sum.latencies)),
            Value::Ns(sum.latencies.max()),
            Value::text(told_cause(sum, 60)),
        ]
    };
    let numbers = ["inputs", "seen", "p50 us", "max us"].map(Column::numbers);
    let columns = [Column::words("key")].into_iter().chain(numbers).chain([Column::words("most of it")]).collect();
    let rows: Vec<Vec<Value>> = report.keys.sorted().iter().map(row).collect();
    (rows.len() > 1).then(|| Table { caption: "By key, the slowest first".into(), columns, rows })
}

#[cfg(test)]
mod tests {
    use super::super::keys::Keys;
    use super::super::spent::Spent;
    use super::*;
    use punctual_recording::{Interaction, InteractionPart};

    #[test]
    fn keys_are_told_apart_and_the_slowest_comes_first() {
        let input = |number: u32, kind: &str, label: &str, latency: Option<u64>| Interaction {
            number,
            kind: kind.to_owned(),
            label: label.to_owned(),
            begin_ns: 100,
            seen_ns: latency.map(|ns| 100 + ns),
            ..Interaction::default()
        };
        let inputs = [
            input(0, "start", "vim", Some(900)),
            input(1, "key", "a", Some(10)),
            input(2, "key", "b", Some(50)),
            input(3, "key", "a", None),
            input(4, "key", "a", Some(20)),
        ];
        let mut keys = Keys::new(&inputs);
        let on = |kind: &str| {
            Spent::of(&InteractionPart { kind: kind.to_owned(), name: "vim".to_owned(), ..InteractionPart::default() })
        };
        for (number, kind, ns) in [(0, "io", 900), (1, "own", 6), (1, "io", 4), (4, "io", 20), (9, "own", 99)] {
            keys.spent(number, &on(kind), ns);
        }
        let sums = keys.sorted();
        let told: Vec<_> = sums.iter().map(|sum| (name(sum), sum.inputs, sum.latencies.count())).collect();
        assert_eq!(told, [("key b".to_owned(), 1, 1), ("key a".to_owned(), 3, 2)]);
        assert_eq!(sums[0].cause(), None);
        assert_eq!(sums[1].cause(), Some(("input or output: vim".to_owned(), 24)));
        assert_eq!(told_cause(sums[1], 40), "80 % input or output: vim");
        assert_eq!((median(&sums[0].latencies), median(&sums[1].latencies).is_some()), (None, true));
    }
}
