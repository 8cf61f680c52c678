//! Latency over time: wakeups in, columns out, in memory that does not grow with the number of wakeups.

use crate::encode::html::colours;
use crate::encode::html::heat::{Cell, Heat, MAX_CPUS};
use crate::encode::html::subject::Subject;
use punctual_recording::{BLOCK_NS, BlockMaximum, Distribution};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A picture has at most this many columns; more could not be distinguished.
const MAX_COLUMNS: u64 = 2_000;
/// Short recordings are shown in about this many columns, and cells always in at most this many.
const FEW_COLUMNS: u64 = 240;
/// A column of lines is so long that it holds this many wakeups, twice what a 99th percentile takes: then those that are
/// missed leave no hole in its line. But there are at least [`ENOUGH_COLUMNS`].
const ENOUGH_WAKEUPS: u64 = 200;
const ENOUGH_COLUMNS: u64 = 20;
/// The name of the line of the 99th percentile.
const P99: &str = "p99";
/// Rows of a decade of latency in the picture of cells.
const ROWS_IN_DECADE: u32 = 8;
/// A column is finished when wakeups come that are later by this much: threads are recorded one after another.
const SETTLED_NS: u64 = 3 * BLOCK_NS;

/// Lines over time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Series {
    /// The subject that is counted.
    pub of: Subject,
    /// How long a column is, ns.
    pub column_ns: u64,
    /// The lines, in the order of their legend.
    pub lines: Vec<SeriesLine>,
    /// The axis's smallest and largest latency, ns.
    pub latency_ns: [u64; 2],
}

impl Series {
    /// The lines that there are, in the words of a caption.
    pub fn words(&self) -> &'static str {
        match self.lines.iter().any(|line| line.name == P99) {
            true => "Longest, 99th percentile and median",
            false => "Longest and median",
        }
    }
}

/// One value per column; `None` if there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SeriesLine {
    /// Its name in the legend.
    pub name: String,
    /// Its colour and dash.
    pub style: usize,
    /// The values, ns.
    pub ns: Vec<Option<u64>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Column {
    count: u64,
    max_ns: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
}

/// The totals of one group of wakeups, column by column.
#[derive(Debug, Default)]
pub struct History {
    of: Subject,
    /// Whether empty columns at both ends are kept.
    is_whole: bool,
    started_ns: u64,
    column_ns: u64,
    columns: Vec<Column>,
    open: BTreeMap<usize, Distribution>,
    newest: usize,
    /// How many columns make one column of cells.
    joined: usize,
    /// Longest total by CPU and column of cells.
    by_cpu: BTreeMap<u32, Vec<u64>>,
    /// Wakeups by column of cells and row, row 0 from 1 ns.
    rows: BTreeMap<(usize, u32), u64>,
}

/// The lower bound of a row, ns.
fn bound(row: u32) -> u64 {
    10f64.powf(f64::from(row) / f64::from(ROWS_IN_DECADE)).round() as u64
}

fn row_of(value_ns: u64) -> u32 {
    let row = ((value_ns.max(1) as f64).log10() * f64::from(ROWS_IN_DECADE)) as u32;
    // The logarithm is rounded; the bound is what is printed.
    if bound(row + 1) <= value_ns.max(1) {
        row + 1
    } else if bound(row) > value_ns.max(1) {
        row.saturating_sub(1)
    } else {
        row
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_up(least: u64) -> u64 {
    let mut scale = 1u64;
    loop {
        for factor in [1, 2, 5] {
            if scale.saturating_mul(factor) >= least {
                return scale.saturating_mul(factor);
            }
        }
        scale = scale.saturating_mul(10);
    }
}

/// How long a column is: about a 240th of a short recording, a second of a longer one, beyond that as long as
/// necessary; and long enough for its wakeups, `enough_ns`, where that leaves enough columns.
fn column_ns(length_ns: u64, period_ns: u64, enough_ns: u64) -> u64 {
    let enough = Some(round_up(enough_ns)).filter(|enough| *enough <= length_ns / ENOUGH_COLUMNS).unwrap_or(0);
    let few = round_up(length_ns / FEW_COLUMNS).max(round_up(period_ns)).max(enough);
    if few <= BLOCK_NS { few } else { round_up(length_ns.div_ceil(MAX_COLUMNS)).max(BLOCK_NS).max(enough) }
}

impl History {
    /// For wakeups that are due within the seconds of these maxima, each thread's every `period_ns`; nothing if there
    /// are none.
    pub fn over(maxima: &[BlockMaximum], period_ns: u64) -> Option<History> {
        let first = maxima.iter().map(|block| block.block).min()?;
        let last = maxima.iter().map(|block| block.block).max()?;
        let threads = maxima.iter().map(|block| block.tid).collect::<BTreeSet<u32>>().len() as u64;
        let (start_ns, end_ns) = (first.saturating_mul(BLOCK_NS), last.saturating_add(1).saturating_mul(BLOCK_NS));
        let enough_ns = period_ns.saturating_mul(ENOUGH_WAKEUPS) / threads.max(1);
        let length = end_ns.checked_sub(start_ns)?;
        let history = History::in_columns(start_ns, end_ns, column_ns(length, period_ns, enough_ns), Subject::Wakeups)?;
        Some(History { is_whole: false, ..history })
    }

    /// For what begins between two times, ns, every `period_ns` or more rarely; nothing if there is no time in between.
    pub(crate) fn between(start_ns: u64, end_ns: u64, period_ns: u64, of: Subject) -> Option<History> {
        let length = end_ns.checked_sub(start_ns)?;
        History::in_columns(start_ns, end_ns, column_ns(length, period_ns, 0), of)
    }

    /// In columns of this length, ns.
    fn in_columns(start_ns: u64, end_ns: u64, column_ns: u64, of: Subject) -> Option<History> {
        let length = end_ns.checked_sub(start_ns).filter(|length| *length > 0)?;
        let columns = usize::try_from(length.div_ceil(column_ns)).ok()?;
        Some(History {
            of,
            is_whole: true,
            started_ns: start_ns,
            column_ns,
            columns: vec![Column::default(); columns],
            joined: columns.div_ceil(FEW_COLUMNS as usize).max(1),
            ..History::default()
        })
    }

    /// Counts what was late by `late_ns` on a CPU, and was due at `at_ns`: a wakeup, or a loop after a gap.
    pub fn take(&mut self, cpu: u32, at_ns: u64, late_ns: u64) {
        if self.columns.is_empty() {
            return;
        }
        let since = at_ns.saturating_sub(self.started_ns);
        let index = usize::try_from(since / self.column_ns).unwrap_or(usize::MAX).min(self.columns.len() - 1);
        let column = &mut self.columns[index];
        column.count += 1;
        column.max_ns = column.max_ns.max(late_ns);
        if column.p50_ns.is_none() {
            self.open.entry(index).or_default().record(late_ns);
        }
        let wide = index / self.joined;
        let width = self.columns.len().div_ceil(self.joined);
        if self.by_cpu.len() < MAX_CPUS || self.by_cpu.contains_key(&cpu) {
            let longest = &mut self.by_cpu.entry(cpu).or_insert_with(|| vec![0; width])[wide];
            *longest = (*longest).max(late_ns.max(1));
        }
        *self.rows.entry((wide, row_of(late_ns))).or_default() += 1;
        if index > self.newest {
            self.newest = index;
            let settled = usize::try_from(SETTLED_NS.div_ceil(self.column_ns)).unwrap_or(1).max(1);
            self.close_before(index.saturating_sub(settled));
        }
    }

    fn close_before(&mut self, end: usize) {
        while let Some(entry) = self.open.first_entry()
            && *entry.key() < end
        {
            let (index, distribution) = entry.remove_entry();
            let column = &mut self.columns[index];
            column.p50_ns = distribution.quantile(0.5);
            // As in the tables: a quantile is given only where at least one wakeup lies beyond it.
            column.p99_ns = if distribution.count() >= 100 { distribution.quantile(0.99) } else { None };
        }
    }

    /// No more wakeups will come.
    pub fn close(&mut self) {
        self.close_before(usize::MAX);
        if self.is_whole {
            return;
        }
        // The seconds before the first and after the last wakeup hold nothing.
        let last = self.columns.iter().rposition(|column| column.count > 0).map_or(0, |last| last + 1);
        let first = self.columns.iter().position(|column| column.count > 0).unwrap_or(0);
        let first = first / self.joined * self.joined;
        self.columns.truncate(last);
        self.columns.drain(..first.min(last));
        let wide = first / self.joined;
        let width = self.columns.len().div_ceil(self.joined);
        for longest in self.by_cpu.values_mut() {
            longest.drain(..wide.min(longest.len()));
            longest.truncate(width);
        }
        self.rows = std::mem::take(&mut self.rows)
            .into_iter()
            .map(|((column, row), count)| ((column.saturating_sub(wide), row), count))
            .collect();
    }

    /// How long a column of lines is, ns.
    pub fn column_ns(&self) -> u64 {
        self.column_ns
    }

    /// The smallest and largest value of the lines, ns.
    pub fn extent_ns(&self) -> Option<[u64; 2]> {
        let filled = || self.columns.iter().filter(|column| column.count > 0);
        let low = filled().map(|column| column.p50_ns.unwrap_or(column.max_ns)).min()?;
        Some([low, filled().map(|column| column.max_ns).max()?])
    }

    /// The smallest and largest latency of all wakeups, ns, to the nearest row.
    pub fn latency_ns(&self) -> Option<[u64; 2]> {
        let rows = || self.rows.keys().map(|&(_, row)| row);
        Some([bound(rows().min()?), bound(rows().max()?)])
    }

    /// The longest, 99th percentile and median of each column.
    pub fn series(&self, latency_ns: [u64; 2]) -> Series {
        let line = |name: &str, style, of: fn(&Column) -> Option<u64>| SeriesLine {
            name: name.to_owned(),
            style,
            ns: self.columns.iter().map(of).collect(),
        };
        let lines = vec![
            line("longest", colours::TOTAL, |column| (column.count > 0).then_some(column.max_ns)),
            line(P99, colours::P99, |column| column.p99_ns),
            line("median", colours::MEDIAN, |column| column.p50_ns),
        ];
        let known = |line: &SeriesLine| line.ns.iter().any(Option::is_some);
        Series { of: self.of, column_ns: self.column_ns, lines: lines.into_iter().filter(known).collect(), latency_ns }
    }

    /// Wakeups by lateness over time, on an axis that holds these latencies and its own.
    pub fn latency_heat(&self, latency_ns: [u64; 2]) -> Heat {
        let rows = || self.rows.keys().map(|&(_, row)| row);
        let low = rows().chain([row_of(latency_ns[0])]).min().unwrap_or(0);
        let high = rows().chain([row_of(latency_ns[1])]).max().unwrap_or(0);
        let cells = self.rows.iter().flat_map(|(&(column, row), &count)| [column as u64, u64::from(row - low), count]);
        Heat {
            column_ns: self.column_ns * self.joined as u64,
            columns: self.columns.len().div_ceil(self.joined),
            bounds_ns: (low..=high + 1).map(bound).collect(),
            of: self.of,
            value: Cell::Count,
            cells: cells.collect(),
            ..Heat::default()
        }
    }

    /// The longest of each CPU, over time.
    pub fn cpu_heat(&self) -> Heat {
        let cells = self.by_cpu.values().enumerate().flat_map(|(row, longest)| {
            let filled = longest.iter().enumerate().filter(|(_, value)| **value > 0);
            filled.flat_map(move |(column, &value)| [column as u64, row as u64, value])
        });
        Heat {
            column_ns: self.column_ns * self.joined as u64,
            columns: self.columns.len().div_ceil(self.joined),
            names: self.by_cpu.keys().map(|cpu| format!("CPU {cpu}")).collect(),
            of: self.of,
            value: Cell::LongestNs,
            cells: cells.collect(),
            ..Heat::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_recording::Stage;

    fn maximum(block: u64) -> BlockMaximum {
        BlockMaximum { tid: 1, stage: Stage::Total, block, max_ns: 0, count: 1 }
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_row(value in 1..10_000_000_000u64) {
            let row = row_of(value);
            prop_assert!(bound(row) <= value && value < bound(row + 1), "{} {value} {}", bound(row), bound(row + 1));
        }

        #[test]
        fn every_wakeup_is_in_every_picture(
            values in prop::collection::vec((0..90 * BLOCK_NS, 1..50_000_000u64, 0..3u32), 1..600),
            first in 0..1_000u64,
        ) {
            let mut sorted = values;
            sorted.sort_unstable();
            let mut history = History::over(&[maximum(first), maximum(first + 89)], 1_000_000).unwrap();
            for &(since, total_ns, cpu) in &sorted {
                history.take(cpu, first * BLOCK_NS + since, total_ns);
            }
            history.close();
            let longest = sorted.iter().map(|entry| entry.1).max();
            let series = history.series([0, 0]);
            prop_assert_eq!(series.lines[0].ns.iter().flatten().max().copied(), longest);
            prop_assert!(series.lines[0].ns.len() as u64 <= MAX_COLUMNS);
            let heat = history.latency_heat([1_000, 1_000]);
            let counted: u64 = heat.cells.chunks(3).map(|cell| cell[2]).sum();
            prop_assert_eq!(counted, sorted.len() as u64);
            prop_assert!(heat.cells.chunks(3).all(|cell| cell[0] < heat.columns as u64 && (cell[1] as usize) < heat.bounds_ns.len() - 1));
            let cpus = history.cpu_heat();
            prop_assert_eq!(cpus.cells.chunks(3).map(|cell| cell[2]).max(), longest);
        }
    }

    #[test]
    fn a_recording_that_names_cpus_without_end_gets_no_rows_without_end() {
        let mut history = History::over(&[maximum(0)], 1_000_000).unwrap();
        for cpu in 0..MAX_CPUS as u32 + 100 {
            history.take(cpu, 0, 5_000);
        }
        // Those that have a row go on.
        history.take(0, 0, 9_000);
        history.close();
        let cpus = history.cpu_heat();
        assert_eq!((cpus.names.len(), cpus.cells[2]), (MAX_CPUS, 9_000));
        let counted: u64 = history.latency_heat([1_000, 1_000]).cells.chunks(3).map(|cell| cell[2]).sum();
        assert_eq!(counted, MAX_CPUS as u64 + 101);
    }

    #[test]
    fn columns_are_round_and_few() {
        assert_eq!(column_ns(10 * BLOCK_NS, 1_000_000, 0), 50_000_000);
        assert_eq!(column_ns(600 * BLOCK_NS, 1_000_000, 0), BLOCK_NS);
        assert_eq!(column_ns(86_400 * BLOCK_NS, 1_000_000, 0), 50 * BLOCK_NS);
        assert_eq!(column_ns(10 * BLOCK_NS, BLOCK_NS, 0), BLOCK_NS);
        // What is enough for a thread every 1 ms and every 10 ms, and too long for a recording of a second.
        assert_eq!(column_ns(10 * BLOCK_NS, 1_000_000, 200_000_000), 200_000_000);
        assert_eq!(column_ns(600 * BLOCK_NS, 10_000_000, 2 * BLOCK_NS), 2 * BLOCK_NS);
        assert_eq!(column_ns(BLOCK_NS, 5_000_000, BLOCK_NS), 5_000_000);
    }

    #[test]
    fn the_line_of_the_99th_percentile_has_no_hole() {
        for (threads, seconds, period_ns) in
            [(1, 10, 1_000_000), (2, 10, 1_000_000), (4, 60, 1_000_000), (1, 300, 10_000_000)]
        {
            let ends =
                (0..threads).flat_map(|tid| [0, seconds - 1].map(|block| BlockMaximum { tid, ..maximum(block) }));
            let mut history = History::over(&ends.collect::<Vec<_>>(), period_ns).unwrap();
            for period in 0..seconds * BLOCK_NS / period_ns {
                // One in twenty is missed.
                for tid in (0..threads).filter(|tid| (period + u64::from(*tid)) % 20 != 7) {
                    history.take(tid, period * period_ns, 5_000 + period % 97);
                }
            }
            history.close();
            let series = history.series([0, 0]);
            let p99 = series.lines.iter().find(|line| line.name == P99);
            let p99 = p99.unwrap_or_else(|| panic!("{threads} threads, {seconds} s: no line"));
            let holes = p99.ns.iter().filter(|ns| ns.is_none()).count();
            assert!(holes == 0 && p99.ns.len() >= 20, "{threads} threads, {seconds} s: {holes} of {}", p99.ns.len());
        }
    }
}
