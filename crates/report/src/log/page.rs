//! The page of a log: what was logged, when, and by whom.

use crate::answer::value;
use crate::encode::html::heat::{Cell, Heat, MAX_CPUS};
use crate::encode::html::setting::{began, provenance};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Drawing, Page, Picture, Section, Subject};
use crate::log::{LogAnswer, LogReport};
use punctual_recording::episode::EventKind;
use punctual_recording::{EventClass, LogRow, format_ns};
use std::collections::{BTreeMap, BTreeSet};

/// Columns of the pictures over time.
const MAX_COLUMNS: u64 = 240;
/// The shortest column, ns.
const MIN_COLUMN_NS: u64 = 1_000_000;
/// Names that the page lists.
const NAMES: usize = 100;

/// The events of a log over time, in memory that does not grow with their number.
pub struct LogPictures {
    started_ns: u64,
    column_ns: u64,
    columns: u64,
    by_class: BTreeMap<(EventClass, u64), u64>,
    by_cpu: BTreeMap<(u32, u64), u64>,
    cpus: BTreeSet<u32>,
}

impl LogPictures {
    /// For the rows of this log, which come later.
    pub fn new(report: &LogReport<'_>) -> LogPictures {
        let length = report.length_ns().unwrap_or(0).max(1);
        let column_ns = length.div_ceil(MAX_COLUMNS).max(MIN_COLUMN_NS);
        LogPictures {
            started_ns: report.document.provenance.started_ns,
            column_ns,
            columns: length.div_ceil(column_ns),
            by_class: BTreeMap::new(),
            by_cpu: BTreeMap::new(),
            cpus: BTreeSet::new(),
        }
    }

    /// Takes a row. A row before the beginning or after the end counts for the first or last column.
    pub fn take(&mut self, row: &LogRow<'_>) {
        let event = &row.event;
        let column = (event.at_ns.saturating_sub(self.started_ns) / self.column_ns).min(self.columns - 1);
        *self.by_class.entry((event.kind.class(), column)).or_default() += 1;
        if self.cpus.len() < MAX_CPUS || self.cpus.contains(&event.cpu) {
            self.cpus.insert(event.cpu);
            *self.by_cpu.entry((event.cpu, column)).or_default() += 1;
        }
    }

    /// Rows with names, and how many rows of the log each cell has.
    fn heat<Row: Copy + Ord>(&self, counts: &BTreeMap<(Row, u64), u64>, name: impl Fn(Row) -> String) -> Heat {
        let mut rows: Vec<Row> = counts.keys().map(|(row, _)| *row).collect();
        rows.dedup();
        let place = |row: &Row| rows.binary_search(row).unwrap_or(0) as u64;
        let mut heat = Heat {
            of: Subject::Events,
            column_ns: self.column_ns,
            columns: self.columns as usize,
            names: rows.iter().map(|row| name(*row)).collect(),
            value: Cell::Count,
            cells: counts.iter().flat_map(|((row, column), count)| [*column, place(row), *count]).collect(),
            ..Heat::default()
        };
        Heat::share_colours(std::slice::from_mut(&mut heat));
        heat
    }
}

/// The page of a log.
pub fn log_page(report: &LogReport<'_>, drawn: &LogPictures) -> Page {
    let document = report.document;
    let host = document.provenance.host.name.clone();
    let context: Vec<String> =
        ["punctual report".to_owned()].into_iter().chain(host.clone()).chain(began(document)).collect();
    let (table, _) = provenance(&[("log".to_owned(), document)]);
    let mut sections = vec![over_time(drawn), kinds(report)];
    sections.extend(names(report));
    sections.push(Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: "The machine, its settings and the command that logged.".into(),
        blocks: vec![Block::Table(table)],
    });
    Page {
        title: host.map_or_else(|| "What was logged".to_owned(), |host| format!("What was logged on {host}")),
        context: context.join(" · "),
        verdict: report.verdict(),
        next: crate::after_log(report),
        warnings: report.notes(),
        blind: document.provenance.blind.clone(),
        sections,
        report: value(&LogAnswer::new(report)),
    }
}

fn over_time(drawn: &LogPictures) -> Section {
    let caption = format!("A cell is {} long; the stronger the colour, the more events.", format_ns(drawn.column_ns));
    let picture = |id: &str, title: &str, heat: Heat| {
        let (id, title, caption) = (id.to_owned(), title.to_owned(), caption.clone());
        Block::Picture(Picture { id, title, caption, drawing: Drawing::Heat(heat) })
    };
    let classes = drawn.heat(&drawn.by_class, |class| class.name().to_owned());
    let cpus = drawn.heat(&drawn.by_cpu, |cpu| format!("CPU {cpu}"));
    Section {
        id: "time".into(),
        title: "When".into(),
        lead:
            "Bursts and silences. `punctual log show` with --from and --to prints line by line what happened in one of them."
                .into(),
        blocks: vec![
            picture("time-classes", "Events of each class over time.", classes),
            picture("time-cpus", "Events of each CPU over time.", cpus),
        ],
    }
}

fn kinds(report: &LogReport<'_>) -> Section {
    let mut kinds: BTreeMap<(EventClass, EventKind), u64> = BTreeMap::new();
    for ((class, kind, _), count) in &report.summary.counts {
        *kinds.entry((*class, *kind)).or_default() += count;
    }
    let seconds = report.length_ns().map(|length| length as f64 / 1e9);
    let row = |((class, kind), count): ((EventClass, EventKind), u64)| {
        let rate = seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{:.0}", count as f64 / seconds));
        vec![Value::text(kind.name()), Value::text(class.name()), Value::Count(Some(count)), Value::text(rate)]
    };
    let table = Table {
        caption: "Events by kind".into(),
        columns: vec![
            Column::words("kind"),
            Column::words("class"),
            Column::numbers("events"),
            Column::numbers("a second"),
        ],
        rows: kinds.into_iter().map(row).collect(),
    };
    let lead =
        "punctual's docs/log.md explains each kind; rows of the class dropped stand for events that are missing.";
    Section { id: "kinds".into(), title: "What".into(), lead: lead.into(), blocks: vec![Block::Table(table)] }
}

fn names(report: &LogReport<'_>) -> Option<Section> {
    let names = report.summary.most_frequent(NAMES);
    let row = |(kind, name, count): &(EventKind, &str, u64)| {
        vec![Value::text(*name), Value::text(kind.name()), Value::Count(Some(*count))]
    };
    let table = Table {
        caption: "The most frequent names".into(),
        columns: vec![Column::words("name"), Column::words("kind"), Column::numbers("events")],
        rows: names.iter().map(row).collect(),
    };
    (!names.is_empty()).then(|| Section {
        id: "names".into(),
        title: "By whom".into(),
        lead: "Interrupts, softirqs, functions, threads and marks by name, the most frequent first.".into(),
        blocks: vec![Block::Table(table)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::episode::Event;

    #[test]
    fn a_log_that_names_cpus_without_end_gets_no_rows_without_end() {
        let mut drawn = LogPictures {
            started_ns: 0,
            column_ns: MIN_COLUMN_NS,
            columns: 1,
            by_class: BTreeMap::new(),
            by_cpu: BTreeMap::new(),
            cpus: BTreeSet::new(),
        };
        for number in 0..=MAX_CPUS as u32 + 100 {
            let event = Event {
                at_ns: 0,
                // The last one has a row already.
                cpu: number % (MAX_CPUS as u32 + 100),
                kind: EventKind::Mark,
                tid: 7,
                priority: 0,
                context: 0,
                steal_ns: 0,
                value: 0,
                extra: 0,
                name: 0,
            };
            drawn.take(&LogRow { event, thread: "a", name: "" });
        }
        assert_eq!((drawn.by_cpu.len(), drawn.by_cpu[&(0, 0)]), (MAX_CPUS, 2));
        assert_eq!(drawn.by_class.values().sum::<u64>(), MAX_CPUS as u64 + 101);
    }
}
