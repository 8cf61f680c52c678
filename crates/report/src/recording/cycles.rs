//! How often somebody else's loops took longer than their period: words, a table, JSON, a section of the page.

use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Section};
use crate::layout::{counted, grouped, microseconds, table};
use punctual_recording::{CycleCount, format_ns, printable};
use serde::Serialize;
use std::collections::BTreeMap;

/// In a sentence so many names, at most; the table has all.
const MAX_NAMED: usize = 3;

/// The cycles of the followed threads of one measurement, held against a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopCycles {
    /// How often the loops should begin anew, ns.
    pub period_ns: u64,
    /// What was counted, by name and policy.
    pub by_name: BTreeMap<String, CycleCount>,
}

impl LoopCycles {
    /// The names, those with the most overruns first, then those with the longest cycle.
    fn worst_first(&self) -> Vec<(&str, &CycleCount)> {
        let mut rows: Vec<(&str, &CycleCount)> =
            self.by_name.iter().map(|(name, count)| (name.as_str(), count)).collect();
        rows.sort_by_key(|(_, count)| std::cmp::Reverse((count.overruns, count.longest_ns)));
        rows
    }

    /// The answer in a sentence.
    pub fn verdict(&self) -> String {
        let (rows, period) = (self.worst_first(), format_ns(self.period_ns));
        let Some((_, worst)) = rows.first() else {
            return format!("No cycle of {period} ended meanwhile.");
        };
        let over: Vec<(String, String)> = (rows.iter().filter(|(_, count)| count.overruns > 0).take(MAX_NAMED))
            .map(|(name, count)| {
                let (of, longest) = (counted(count.cycles, "cycle"), format_ns(count.longest_ns));
                (printable(name), format!("in {} of {of}, {longest} at most", grouped(count.overruns)))
            })
            .collect();
        let Some((first, others)) = over.split_first() else {
            let all: u64 = rows.iter().map(|(_, count)| count.cycles).sum();
            let longest = rows.iter().map(|(_, count)| count.longest_ns).max().unwrap_or(worst.longest_ns);
            return format!(
                "No cycle of {} took longer than {period}; the longest took {}.",
                grouped(all),
                format_ns(longest)
            );
        };
        let others: String = others.iter().map(|(name, how_often)| format!("; {name} {how_often}")).collect();
        format!("{} took longer than {period} {}{others}.", first.0, first.1)
    }

    pub(crate) fn text(&self) -> String {
        let rows = self.worst_first().into_iter().map(|(name, count)| {
            let CycleCount { cycles, overruns, longest_ns } = *count;
            vec![printable(name), grouped(cycles), grouped(overruns), microseconds(Some(longest_ns))]
        });
        let period = format!("over {}", format_ns(self.period_ns));
        table(&["threads", "cycles", &period, "longest us"], 1..4, rows)
    }

    pub(crate) fn section(&self) -> Section {
        let rows = self.worst_first().into_iter().map(|(name, count)| {
            vec![
                Value::text(printable(name)),
                Value::Count(Some(count.cycles)),
                Value::Count(Some(count.overruns)),
                Value::Ns(Some(count.longest_ns)),
            ]
        });
        let period = format_ns(self.period_ns);
        let columns = vec![
            Column::words("threads"),
            Column::numbers("cycles"),
            Column::numbers(format!("longer than {period}")),
            Column::numbers("longest us"),
        ];
        Section {
            id: "cycles".into(),
            title: "Cycles".into(),
            lead: format!(
                "{} A cycle goes from when it was due until the thread sleeps for the next one.",
                self.verdict()
            ),
            blocks: vec![Block::Table(Table { caption: format!("Cycles of {period}"), columns, rows: rows.collect() })],
        }
    }
}

/// The cycles of one name, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CyclesRow<'a> {
    measure: &'a str,
    period_ns: u64,
    cycles: u64,
    overruns: u64,
    longest_ns: u64,
}

impl<'a> CyclesRow<'a> {
    pub(crate) fn all(cycles: &'a [LoopCycles]) -> Vec<CyclesRow<'a>> {
        let of = |loops: &'a LoopCycles| {
            loops.worst_first().into_iter().map(|(measure, count)| CyclesRow {
                measure,
                period_ns: loops.period_ns,
                cycles: count.cycles,
                overruns: count.overruns,
                longest_ns: count.longest_ns,
            })
        };
        cycles.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(counts: &[(&str, u64, u64, u64)]) -> LoopCycles {
        let one = |(name, cycles, overruns, longest_ns): &(&str, u64, u64, u64)| {
            ((*name).to_owned(), CycleCount { cycles: *cycles, overruns: *overruns, longest_ns: *longest_ns })
        };
        LoopCycles { period_ns: 1_000_000, by_name: counts.iter().map(one).collect() }
    }

    #[test]
    fn the_verdict_names_who_ran_over_or_says_that_nobody_did() {
        let kept = loops(&[("arm fifo:80", 59_998, 0, 312_000), ("log other", 60, 0, 500_000)]);
        assert_eq!(kept.verdict(), "No cycle of 60,058 took longer than 1.00 ms; the longest took 500 us.");
        let over = loops(&[("arm fifo:80", 59_998, 3, 2_310_000), ("log other", 1, 0, 500)]);
        assert_eq!(over.verdict(), "arm fifo:80 took longer than 1.00 ms in 3 of 59,998 cycles, 2.31 ms at most.");
        assert_eq!(loops(&[]).verdict(), "No cycle of 1.00 ms ended meanwhile.");
        let lines = over.text();
        assert!(lines.lines().nth(1).is_some_and(|line| line.starts_with("arm fifo:80")), "{lines}");
    }
}
