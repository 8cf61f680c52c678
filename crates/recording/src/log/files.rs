//! The event log: a table `events/log/` and a summary `events/log.json` beside `recording.json`.

use crate::EventClass;
use crate::episodes::episode::{Event, EventKind};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::{MAX_SPAN_NS, MAX_TIME_NS};
use crate::format::directory::Directory;
use crate::format::json_file::{read_document, write_json};
use crate::format::segments::{self, SegmentWriter};
use crate::format::table::{self, Schema, required, text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The name and version of `events/log.json`.
pub const LOG_SCHEMA: &str = "punctual.event-log/1";

static LOG: Schema = Schema {
    name: "log",
    columns: &[
        required("time_ns").about("When it happened, ns of CLOCK_MONOTONIC"),
        required("cpu").about("On which CPU"),
        text("kind").about("What happened, in words"),
        required("tid").about("The thread that the CPU was running"),
        text("thread").about("Its name"),
        required("priority").about("Its priority as the kernel counts: below 100 real-time"),
        required("context").about("The kernel's count of nested interrupts"),
        required("steal_ns").about("Time that the host had taken, ns, plus 1; 0 for unknown"),
        required("value").about("What docs/log.md says about the kind"),
        required("extra").about("What docs/log.md says about the kind"),
        text("name").about("For wakings and migrations the other thread, otherwise what the kind is about"),
    ],
};

/// One row of the log. [`Event::name`] means nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRow<'a> {
    /// What happened.
    pub event: Event,
    /// The current thread's name, as far as it is known.
    pub thread: &'a str,
    /// The name that [`EventKind`] speaks of.
    pub name: &'a str,
}

/// A summary of the whole log. Integers only; times are ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogDocument {
    /// [`LOG_SCHEMA`].
    pub schema: String,
    /// What was logged.
    pub classes: Vec<EventClass>,
    /// CPUs that were logged.
    pub cpus: Vec<u32>,
    /// Rows of the table by kind and CPU.
    pub counts: Vec<LogCount>,
    /// Events that were overwritten before they could be read, by CPU.
    pub drops: Vec<CpuDrops>,
    /// How often a program did not run because it was already running on its CPU: those events are recorded nowhere.
    pub skipped: u64,
    /// Marks.
    pub marks: MarkCounts,
    /// Rows that came after later ones had been written.
    pub late_rows: u64,
    /// When logging began.
    pub started_ns: u64,
    /// Up to here the table is complete, except for what was dropped.
    pub reached_ns: u64,
    /// The threads that existed when it began; empty if this process numbers threads differently from the kernel's
    /// programs.
    #[serde(default)]
    pub threads: Vec<LoggedThread>,
    /// What it cost.
    pub cost: LogCost,
}

/// Threads that are listed when a log begins.
pub const MAX_LOGGED_THREADS: usize = 1 << 16;

/// A thread that existed when the log began. Threads made later are in rows of the kind `fork`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedThread {
    /// The thread.
    pub tid: u32,
    /// The number of its process.
    pub process: u32,
    /// The thread's name at that time.
    pub name: String,
}

impl LoggedThread {
    /// Whether its process has the same name.
    pub fn is_first(&self) -> bool {
        self.tid == self.process
    }
}

/// Rows of one kind on one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCount {
    /// The class.
    pub class: EventClass,
    /// The kind, as in the table.
    pub kind: String,
    /// The CPU.
    pub cpu: u32,
    /// How many.
    pub count: u64,
}

/// The events of one CPU that were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuDrops {
    /// The CPU.
    pub cpu: u32,
    /// How many.
    pub dropped: u64,
}

/// What happened to programs' marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkCounts {
    /// Logged, made with `punctual.h`.
    pub library: u64,
    /// Logged, made with `trace_marker`.
    pub trace_marker: u64,
    /// Dropped because their memory was full.
    pub dropped: u64,
    /// Refused because they were not finished, or said something impossible.
    pub refused: u64,
    /// Programs' requests for memory for marks that were refused because too many programs had some.
    #[serde(default)]
    pub unserved: u64,
    /// Programs that broke the memory of their marks: later ones are missing, and how many is not known.
    #[serde(default)]
    pub broken: u64,
    /// The first of them.
    #[serde(default)]
    pub first_broken: Option<BrokenMarks>,
}

/// A program changed something in the memory of its marks that only the log may change, or counted the impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenMarks {
    /// When it was noticed, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The process that had requested the memory, by its number as the log sees it; 0 in a PID namespace that the log
    /// does not see.
    pub process: u32,
    /// Its user.
    pub user: u32,
}

/// What logging cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCost {
    /// CPU time of this process: reading, naming, writing, ns.
    pub process_ns: u64,
    /// CPU time of the thread that empties the rings, which is part of it, ns.
    pub reader_ns: u64,
    /// Run time of the programs in the kernel, ns, extrapolated from a beginning in which the kernel measured it;
    /// `None` if it did not.
    pub programs_ns: Option<u64>,
}

impl LogDocument {
    /// All rows, including those that report drops. Sums saturate, because a file may say anything.
    pub fn rows(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(count.count))
    }

    /// All events: the rows without those that report drops.
    pub fn events(&self) -> u64 {
        let events = self.counts.iter().filter(|count| count.class != EventClass::Dropped);
        events.fold(0, |sum, count| sum.saturating_add(count.count))
    }

    /// All events that were lost, marks included.
    pub fn dropped(&self) -> u64 {
        let others = self.skipped.saturating_add(self.marks.dropped);
        self.drops.iter().fold(others, |sum, drops| sum.saturating_add(drops.dropped))
    }
}

/// At its end a log joins its segments only if they have no more rows than this, because it has to end at once.
const MAX_ROWS_JOINED_AT_END: u64 = 1 << 17;

/// The most codes that kinds can have.
const CODES: usize = 1 << u8::BITS;

/// Writes `events/log/` and `events/log.json` into the directory of a recording.
pub struct LogWriter {
    directory: Directory,
    rows: SegmentWriter,
    /// By CPU, and there by the kind's code.
    counts: BTreeMap<u32, Box<[u64; CODES]>>,
    last_ns: u64,
    late_rows: u64,
}

impl LogWriter {
    /// Begins to write into a directory that [`crate::Writer::create`] has made.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the file system refuses.
    pub fn create(recording: &Directory) -> Result<LogWriter> {
        let directory = recording.make_below("events")?;
        let rows = SegmentWriter::create(&directory, "log", &LOG)?;
        Ok(LogWriter { directory, rows, counts: BTreeMap::new(), last_ns: 0, late_rows: 0 })
    }

    /// Takes a row.
    pub fn push(&mut self, row: &LogRow<'_>) {
        let event = &row.event;
        let counts = self.counts.entry(event.cpu).or_insert_with(|| Box::new([0; CODES]));
        counts[usize::from(event.kind.code())] += 1;
        self.late_rows += u64::from(event.at_ns < self.last_ns);
        self.last_ns = self.last_ns.max(event.at_ns);
        let rows = self.rows.rows();
        let (kind, thread, name) = (rows.text(event.kind.name()), rows.text(row.thread), rows.text(row.name));
        rows.push([
            Some(event.at_ns.cast_signed()),
            Some(i64::from(event.cpu)),
            Some(kind),
            Some(i64::from(event.tid)),
            Some(thread),
            Some(i64::from(event.priority)),
            Some(i64::from(event.context)),
            Some(event.steal_ns.cast_signed()),
            Some(event.value.cast_signed()),
            Some(event.extra.cast_signed()),
            Some(name),
        ]);
    }

    /// Rows taken so far.
    pub fn rows(&self) -> u64 {
        self.counts.values().flat_map(|counts| counts.iter()).sum()
    }

    /// Rows that no segment holds yet.
    pub fn rows_waiting(&mut self) -> usize {
        self.rows.rows().len()
    }

    /// Closes the open segment.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable.
    pub fn close_segment(&mut self) -> Result<()> {
        self.rows.close_segment()
    }

    /// Notes what the rows say of themselves.
    fn count(&self, document: &mut LogDocument) {
        let of_kind = |code: u8, kind: EventKind| {
            let counted = self.counts.iter().map(move |(&cpu, counts)| (cpu, counts[usize::from(code)]));
            let count = move |(cpu, count)| LogCount { class: kind.class(), kind: kind.name().to_owned(), cpu, count };
            counted.filter(|(_, count)| *count > 0).map(count)
        };
        let kinds = (0..=u8::MAX).filter_map(|code| Some((code, EventKind::from_code(code)?)));
        document.schema = LOG_SCHEMA.to_owned();
        document.counts = kinds.flat_map(|(code, kind)| of_kind(code, kind)).collect();
        document.late_rows = self.late_rows;
    }

    /// Closes the open segment and rewrites the summary, with what only the rows know.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable.
    pub fn flush(&mut self, document: &mut LogDocument) -> Result<()> {
        self.count(document);
        self.rows.close_segment()?;
        write_json(&self.directory, "log.json", document)?;
        self.rows.join()
    }

    /// Writes what is left and the summary, and joins the segments unless they are large.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable.
    pub fn finish(mut self, document: &mut LogDocument) -> Result<()> {
        self.count(document);
        self.rows.close_segment()?;
        write_json(&self.directory, "log.json", document)?;
        if self.rows.unjoined_rows() > MAX_ROWS_JOINED_AT_END {
            return Ok(());
        }
        self.rows.join_all()
    }
}

/// The summary of a recording's event log; `None` for a recording without any.
///
/// # Errors
/// [`ErrorKind::Invalid`], [`ErrorKind::NewerSchema`] or [`ErrorKind::Io`].
pub fn read_log_document(recording: &Path) -> Result<Option<LogDocument>> {
    let path = recording.join("events/log.json");
    read_document(&path, "is not a summary of an event log", LOG_SCHEMA, |document: &LogDocument| &document.schema)
}

/// Whether a recording is an event log.
pub fn is_log(recording: &Path) -> bool {
    recording.join("events/log").is_dir()
}

/// The rows of a recording's event log, according to its files.
///
/// # Errors
/// As for [`for_each_log_row`].
pub fn count_log_rows(recording: &Path) -> Result<u64> {
    segments::list(&recording.join("events/log"))?.iter().map(|segment| table::count_rows(&segment.path)).sum()
}

/// Passes on every row of an event log in order of time, for as long as `take` says to continue.
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read.
pub fn for_each_log_row(recording: &Path, mut take: impl FnMut(&LogRow<'_>) -> bool) -> Result<()> {
    for segment in segments::list(&recording.join("events/log"))? {
        let mut go_on = true;
        table::read_table(&segment.path, &LOG, |rows| {
            // Time, CPU, thread, context, stolen time. Values, what else belongs to them, and priorities have a sign.
            let number = u64::from(u32::MAX);
            for (column, max) in [(0, MAX_TIME_NS), (1, number), (3, number), (6, number), (7, MAX_SPAN_NS)] {
                rows.check_column(&segment.path, column, max)?;
            }
            for row in 0..rows.len() {
                if !go_on {
                    break;
                }
                let unsigned = |column| rows.get(column, row).cast_unsigned();
                let narrow = |column| rows.narrow(column, row);
                let kind = EventKind::from_name(rows.get_text(2, row)).ok_or_else(|| {
                    let kind = rows.get_text(2, row);
                    Error::new(ErrorKind::Invalid, &segment.path, format!("knows no kind of event `{kind}`"))
                })?;
                let event = Event {
                    at_ns: unsigned(0),
                    cpu: narrow(1),
                    kind,
                    tid: narrow(3),
                    priority: i16::try_from(rows.get(5, row)).unwrap_or(0),
                    context: narrow(6),
                    steal_ns: unsigned(7),
                    value: unsigned(8),
                    extra: unsigned(9),
                    name: 0,
                };
                go_on = take(&LogRow { event, thread: rows.get_text(4, row), name: rows.get_text(10, row) });
            }
            Ok(())
        })?;
        if !go_on {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_ns: u64, kind: EventKind) -> Event {
        Event {
            at_ns,
            cpu: (at_ns % 2) as u32,
            kind,
            tid: 7,
            priority: -1,
            context: 65_536,
            steal_ns: 3,
            value: u64::MAX - at_ns,
            extra: 1 << 63,
            name: 0,
        }
    }

    #[test]
    fn what_is_written_is_read_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        let recording = directory.path();
        assert_eq!(read_log_document(recording).unwrap(), None);
        assert!(!is_log(recording));
        let mut writer = LogWriter::create(&Directory::make(recording).unwrap()).unwrap();
        let mut document = LogDocument { classes: vec![EventClass::Sched], ..LogDocument::default() };
        let mut written = Vec::new();
        for at in 0..1_000 {
            let kind = EventKind::ALL[at as usize % EventKind::ALL.len()];
            let (event, name) = (event(at, kind), format!("name {}", at % 5));
            writer.push(&LogRow { event, thread: "thread", name: &name });
            written.push((event, name));
            if at % 300 == 0 {
                writer.flush(&mut document).unwrap();
                assert_eq!(count_log_rows(recording).unwrap(), at + 1);
                assert_eq!(read_log_document(recording).unwrap().unwrap().rows(), at + 1);
            }
        }
        writer.finish(&mut document).unwrap();
        assert!(is_log(recording));
        assert_eq!(read_log_document(recording).unwrap().unwrap(), document);
        assert_eq!((document.rows(), document.late_rows), (1_000, 0));
        let mut read = Vec::new();
        for_each_log_row(recording, |row| {
            assert_eq!(row.thread, "thread");
            read.push((row.event, row.name.to_owned()));
            true
        })
        .unwrap();
        assert_eq!(read, written);
        let mut few = 0;
        for_each_log_row(recording, |_| {
            few += 1;
            few < 10
        })
        .unwrap();
        assert_eq!(few, 10);
    }
}
