//! An event log: what was logged, by class and kind and name, as text for people.

use crate::layout::{agreeing, counted, grouped, table};
use punctual_recording::bounds::MAX_LOG_NAME_BYTES;
use punctual_recording::episode::EventKind;
use punctual_recording::{Document, EndReason, EventClass, LogDocument, LogRow, OTHERS, format_ns, printable_path};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

/// At most this many names are shown in text; JSON has the [`NAMED`] most frequent.
const SHOWN: usize = 20;
/// Names in JSON.
pub(super) const NAMED: usize = 1_000;

/// What the rows of a log say, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Rows by kind and CPU.
    pub counts: BTreeMap<(EventClass, EventKind, u32), u64>,
    /// Rows by kind and name, ends left out.
    pub names: BTreeMap<(EventKind, String), u64>,
    /// The last row's time, ns.
    pub last_ns: u64,
    /// Dropped events, according to the rows.
    pub dropped: u64,
    by_name: HashMap<String, HashMap<EventKind, u64>>,
    name_bytes: usize,
}

/// Roughly how many bytes a name with its count takes up besides its text, in both maps that it passes through.
const NAME_BYTES: usize = 400;

impl LogSummary {
    /// Counts a row.
    pub fn take(&mut self, row: &LogRow<'_>) {
        let event = &row.event;
        *self.counts.entry((event.kind.class(), event.kind, event.cpu)).or_default() += 1;
        self.last_ns = self.last_ns.max(event.at_ns);
        if event.kind == EventKind::Dropped {
            self.dropped = self.dropped.saturating_add(event.value);
        }
        if row.name.is_empty() || event.kind.is_end() {
            return;
        }
        if let Some(kinds) = self.by_name.get_mut(row.name) {
            *kinds.entry(event.kind).or_default() += 1;
            return;
        }
        // Programs make up the texts of their marks: if there are very many different ones, only their count is given.
        let is_room = self.name_bytes < MAX_LOG_NAME_BYTES;
        let name = if is_room { row.name } else { OTHERS };
        self.name_bytes += if is_room { NAME_BYTES + name.len() } else { 0 };
        *self.by_name.entry(name.to_owned()).or_default().entry(event.kind).or_default() += 1;
    }

    /// Puts names in order, after the last row.
    pub fn close(&mut self) {
        for (name, kinds) in std::mem::take(&mut self.by_name) {
            for (kind, count) in kinds {
                self.names.insert((kind, name.clone()), count);
            }
        }
    }

    /// All rows.
    pub fn rows(&self) -> u64 {
        self.counts.values().sum()
    }

    /// All events: the rows without those that report drops.
    pub fn events(&self) -> u64 {
        self.counts.iter().filter(|((class, ..), _)| *class != EventClass::Dropped).map(|(_, count)| count).sum()
    }

    pub(super) fn most_frequent(&self, many: usize) -> Vec<(EventKind, &str, u64)> {
        let mut names: Vec<(EventKind, &str, u64)> =
            self.names.iter().map(|((kind, name), &count)| (*kind, name.as_str(), count)).collect();
        names.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
        names.truncate(many);
        names
    }
}

/// A log and what is known of it.
pub struct LogReport<'a> {
    /// Where it is recorded.
    pub recording: &'a Path,
    /// Where it comes from, and why it ended.
    pub document: &'a Document,
    /// The counts from the time of writing; in a log that was cut short, the last second or so is missing.
    pub log: &'a LogDocument,
    /// The counts from its rows.
    pub summary: &'a LogSummary,
}

impl LogReport<'_> {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.document.ended.as_ref().is_some_and(|ended| ended.reason.is_failure()))
    }

    /// How long it logged, ns; `None` if that is not known. For a log that was cut short, or failed, it is the time
    /// that its rows cover.
    pub fn length_ns(&self) -> Option<u64> {
        let is_whole = self.document.ended.as_ref().is_some_and(|ended| ended.reason != EndReason::Failed);
        let end = if is_whole { self.log.reached_ns } else { self.summary.last_ns };
        end.checked_sub(self.document.provenance.started_ns).filter(|&length| length > 0)
    }

    /// Events that were dropped, marks included; `None` if that is not known. In a log that was cut short, the
    /// rows may report more than was counted.
    pub fn dropped(&self) -> Option<u64> {
        let is_counted = !self.log.schema.is_empty();
        is_counted.then(|| self.log.dropped().max(self.summary.dropped))
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.document.provenance.notes().cloned().collect();
        for drops in self.log.drops.iter().filter(|drops| drops.dropped > 0) {
            notes.push(format!(
                "dropped on CPU {}: {}, because they came faster than they could be read",
                drops.cpu,
                grouped(drops.dropped)
            ));
        }
        if self.log.skipped > 0 {
            notes.push(format!(
                "dropped: {}, because the program that would have noted them was already running",
                grouped(self.log.skipped)
            ));
        }
        let marks = &self.log.marks;
        if marks.dropped > 0 {
            notes.push(format!("dropped marks: {}, because there was no room for them", grouped(marks.dropped)));
        }
        if marks.refused > 0 {
            notes.push(format!(
                "refused marks: {}, because they were not finished or not credible",
                grouped(marks.refused)
            ));
        }
        if marks.unserved > 0 {
            notes.push(format!(
                "{} a program asked for memory for marks and got none, because too many of its user's programs had some",
                counted(marks.unserved, "time")
            ));
        }
        if self.log.late_rows > 0 {
            notes.push(format!(
                "{} {} later in the table than {} place in time",
                counted(self.log.late_rows, "row"),
                agreeing(self.log.late_rows, "comes", "come"),
                agreeing(self.log.late_rows, "its", "their")
            ));
        }
        notes
    }

    fn cost_in_words(&self) -> String {
        let cost = &self.log.cost;
        let share = |length: u64| format!(" ({:.1} % of one)", cost.process_ns as f64 / length as f64 * 100.0);
        let share = self.length_ns().map_or_else(String::new, share);
        let programs = match cost.programs_ns {
            Some(ns) => format!("its programs in the kernel {}", format_ns(ns)),
            None => "its programs in the kernel not measured".to_owned(),
        };
        format!("cost {} of CPU{share} to read and write, {programs}", format_ns(cost.process_ns))
    }
}

/// What was logged, as text.
pub fn text(report: &LogReport<'_>) -> String {
    let mut text = format!("{}\n", report.verdict());
    for note in report.notes() {
        let _ = writeln!(text, "note: {note}");
    }
    let marks = &report.log.marks;
    if report.log.classes.contains(&EventClass::Mark) {
        let _ = writeln!(text, "marks {} by punctual.h, {} by trace_marker", marks.library, marks.trace_marker);
    }
    let _ = writeln!(text, "{}", report.cost_in_words());
    let mut kinds: BTreeMap<(EventClass, EventKind), BTreeMap<u32, u64>> = BTreeMap::new();
    for (&(class, kind, cpu), &count) in &report.summary.counts {
        *kinds.entry((class, kind)).or_default().entry(cpu).or_default() += count;
    }
    let seconds = report.length_ns().map(|length| length as f64 / 1e9);
    let rows = kinds.iter().map(|((class, kind), by_cpu)| {
        let count: u64 = by_cpu.values().sum();
        let most = by_cpu.iter().max_by_key(|(_, count)| **count).map_or(0, |(cpu, _)| *cpu);
        let mut row = vec![class.name().to_owned(), kind.name().to_owned(), count.to_string(), most.to_string()];
        row.extend(seconds.map(|seconds| format!("{:.0}", count as f64 / seconds)));
        row
    });
    let headings = ["class", "kind", "count", "most on CPU", "a second"];
    let headings = &headings[..if seconds.is_some() { 5 } else { 4 }];
    let _ = writeln!(text, "\n{}", table(headings, 2..headings.len(), rows));
    let names = report.summary.most_frequent(SHOWN);
    if !names.is_empty() {
        let rows =
            names.iter().map(|(kind, name, count)| vec![kind.name().to_owned(), (*name).to_owned(), count.to_string()]);
        let _ = writeln!(text, "\nmost frequent\n{}", table(&["kind", "name", "count"], 2..3, rows));
        let more = report.summary.names.len().saturating_sub(names.len());
        if more > 0 {
            let _ = writeln!(text, "... {more} more");
        }
    }
    let _ = writeln!(text, "\nrecording: {}", printable_path(report.recording));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::lines::tests::event;
    use punctual_recording::{CpuDrops, Ended};

    fn json(report: &LogReport<'_>) -> serde_json::Value {
        crate::answer::value(&crate::log::LogAnswer::new(report))
    }

    fn report_of(rows: &[(EventKind, &str)], dropped: u64) -> (Document, LogDocument, LogSummary) {
        let mut summary = LogSummary::default();
        for (at, (kind, name)) in rows.iter().enumerate() {
            summary.take(&LogRow { event: event(1_000 + at as u64, *kind), thread: "x", name });
        }
        summary.close();
        let log = LogDocument {
            schema: punctual_recording::LOG_SCHEMA.to_owned(),
            reached_ns: 5_000_001_000,
            drops: vec![CpuDrops { cpu: 1, dropped }],
            classes: EventClass::DEFAULT.to_vec(),
            ..LogDocument::default()
        };
        let document: Document = serde_json::from_value(serde_json::json!({
            "schema": "punctual.recording/1", "ended": null, "tasks": [], "counters": punctual_recording::Counters::default(),
            "segments": 0, "distributions": punctual_recording::Distributions::default(),
            "provenance": punctual_recording::Provenance::default(),
        }))
        .unwrap();
        (document, log, summary)
    }

    #[test]
    fn broken_memory_of_marks_is_said_and_the_highest_numbers_are_borne() {
        use punctual_recording::BrokenMarks;
        let (mut document, mut log, summary) = report_of(&[(EventKind::Mark, "a")], 0);
        document.provenance.started_ns = 500;
        document.provenance.configuration.cpus = vec![0];
        log.marks.broken = 3;
        log.marks.first_broken = Some(BrokenMarks { at_ns: 2_500, process: 77, user: 1_000 });
        let recording = Path::new("a.punctual");
        let verdict = LogReport { recording, document: &document, log: &log, summary: &summary }.verdict();
        let said = "were dropped. Marks of process 77 of user 1000 ended at 2.00 us: it corrupted the memory that it shares \
                    with the log; 2 more did so later.";
        assert!(verdict.contains(said), "{verdict}");
        // A file may say anything.
        let most = u64::MAX;
        (log.skipped, log.marks.dropped, log.marks.broken, log.marks.unserved) = (most, most, most, most);
        (log.reached_ns, log.cost.process_ns) = (most, most);
        log.drops = vec![CpuDrops { cpu: 0, dropped: most }, CpuDrops { cpu: 1, dropped: most }];
        let count =
            punctual_recording::LogCount { class: EventClass::Mark, kind: "mark".to_owned(), cpu: 0, count: most };
        log.counts = vec![count.clone(), count];
        let report = LogReport { recording, document: &document, log: &log, summary: &summary };
        assert_eq!((report.dropped(), log.rows(), log.events()), (Some(most), most, most));
        assert!(text(&report).contains("were dropped") && json(&report)["dropped"] == most);
    }

    #[test]
    fn the_verdict_says_what_was_dropped() {
        let rows = [(EventKind::Switch, "a"), (EventKind::Switch, "a"), (EventKind::Mark, "begin")];
        let (mut document, log, summary) = report_of(&rows, 0);
        document.provenance.started_ns = 1_000;
        document.provenance.configuration.cpus = vec![0, 1];
        document.ended = Some(Ended { reason: EndReason::Completed, detail: None, at_ns: 0 });
        let recording = Path::new("a.punctual");
        let report = LogReport { recording, document: &document, log: &log, summary: &summary };
        assert_eq!(report.verdict(), "Logged 3 events in 5.00 s on 2 CPUs; none were dropped.");
        insta::assert_snapshot!(text(&report));
        let value = json(&report);
        assert_eq!((value["rows"].as_u64(), value["dropped"].as_u64()), (Some(3), Some(0)));
        let (mut document, log, summary) = report_of(&[(EventKind::Switch, "a"), (EventKind::Dropped, "ring")], 9);
        document.provenance.configuration.cpus = vec![0];
        let report = LogReport { recording, document: &document, log: &log, summary: &summary };
        let verdict = report.verdict();
        assert!(verdict.starts_with("Logged 1 event in 1.00 us on 1 CPU; 9 more (90.00 %) were dropped"), "{verdict}");
        assert!(verdict.ends_with("The recording was cut short: its last second or so is missing."), "{verdict}");
        assert!(text(&report).contains("dropped on CPU 1: 9"));
        let lengthless = LogSummary { last_ns: 0, ..summary.clone() };
        let report = LogReport { summary: &lengthless, ..report };
        assert!(report.verdict().starts_with("Logged 1 event on 1 CPU;"), "{}", report.verdict());
        assert!(!text(&report).contains("a second") && text(&report).contains("of CPU to read"), "{}", text(&report));
        assert_eq!(json(&report)["length_ns"], serde_json::Value::Null);
        let unknown = LogDocument::default();
        let report = LogReport { log: &unknown, ..report };
        assert!(report.verdict().contains("how many were dropped is not known"), "{}", report.verdict());
        assert_eq!(json(&report)["dropped"], serde_json::Value::Null);
    }
}
