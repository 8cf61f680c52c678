//! Opens recordings, whole or cut short.

use crate::document::check;
use crate::document::contents::{Counters, Document, SCHEMA_VERSION};
use crate::document::counting;
use crate::document::kind::RecordingKind;
use crate::document::tables::{MAXIMA, TAIL, WAKEUPS};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::{
    MAX_COUNT, MAX_DISTRIBUTION_BYTES, MAX_DISTRIBUTIONS, MAX_JSON_BYTES, MAX_SECONDS, MAX_SPAN_NS, MAX_TAIL_VALUES,
    MAX_TIME_NS,
};
use crate::format::input;
use crate::format::json_file::parse_json;
use crate::format::segments::{self, Segment};
use crate::format::table::{self, Rows, Schema};
use crate::wakeups::distribution::Distributions;
use crate::wakeups::rebuilt::Rebuilt;
use crate::wakeups::sums::WakeupRows;
use crate::wakeups::tail::{BLOCK_NS, BlockMaximum, TailValue};
use crate::{Stage, Wakeup};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

const TAIL_FILE: &str = "tail.parquet";
/// Wakeups between two looks at how much distributions take up.
const WEIGHED_EVERY: u32 = 1 << 15;

/// An opened recording.
#[derive(Debug, Clone)]
pub struct Recording {
    directory: PathBuf,
    document: Document,
    damaged: Vec<Error>,
}

impl Recording {
    /// Opens a recording. One that was cut short opens too: see [`Recording::is_cut`].
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], [`ErrorKind::Invalid`], [`ErrorKind::NewerSchema`] or [`ErrorKind::Io`].
    pub fn open(directory: impl AsRef<Path>) -> Result<Recording> {
        let directory = directory.as_ref().to_owned();
        let path = directory.join("recording.json");
        let text = read(&directory)?;
        let mut document = parse(&path, &text)?;
        drop(text);
        let mut damaged = Vec::new();
        if document.ended.is_none() {
            take_in_later_segments(&directory, &mut document, &mut damaged)?;
        }
        Ok(Recording { directory, document, damaged })
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The content of `recording.json`, with what came after it was last written, if the recording was cut.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The document of [`Recording::document`].
    pub fn into_document(self) -> Document {
        self.document
    }

    /// Whether the run ended before it could say why: at most its last second or so is missing.
    pub fn is_cut(&self) -> bool {
        self.document.ended.is_none()
    }

    /// Files that could not be read, and why.
    pub fn damaged(&self) -> &[Error] {
        &self.damaged
    }

    /// Passes on every wakeup, segment by segment, each task's in order of time.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read.
    pub fn for_each_wakeup(&self, mut take: impl FnMut(&Wakeup)) -> Result<()> {
        for segment in segments::list(&self.directory.join("wakeups"))? {
            read_wakeups(&segment, &mut |wakeup| {
                take(wakeup);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Passes on, of every wakeup in the same order, its CPU, its thread, when it was due and how late it ran, ns: what is drawn
    /// over time takes no other column.
    ///
    /// # Errors
    /// As for [`Recording::for_each_wakeup`].
    pub fn for_each_lateness(&self, mut take: impl FnMut(u32, u32, u64, u64)) -> Result<()> {
        let columns = Schema { columns: &WAKEUPS.columns[..4], ..WAKEUPS };
        for segment in segments::list(&self.directory.join("wakeups"))? {
            table::read_table(&segment.path, &columns, |rows| {
                let numbers = u64::from(u32::MAX);
                rows.check(&segment.path, &[numbers, numbers, MAX_TIME_NS, MAX_SPAN_NS])?;
                for row in 0..rows.len() {
                    take(rows.narrow(0, row), rows.narrow(1, row), rows.unsigned(2, row), rows.unsigned(3, row));
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The largest values of each task and stage, largest first; rebuilt from the wakeups if the recording was cut.
    ///
    /// # Errors
    /// As for [`Recording::for_each_wakeup`].
    pub fn tail(&self) -> Result<Vec<TailValue>> {
        let path = self.directory.join(TAIL_FILE);
        let mut values = Vec::new();
        if path.exists() {
            table::read_table(&path, &TAIL, |rows| {
                rows.check(&path, &[u32::MAX.into(), 255, MAX_TIME_NS, MAX_SPAN_NS])?;
                for row in 0..rows.len() {
                    let stage = stage_of(&path, rows, 1, row)?;
                    values.push(TailValue {
                        tid: narrow(rows.get(0, row)),
                        stage,
                        expected_ns: unsigned(rows.get(2, row)),
                        value_ns: unsigned(rows.get(3, row)),
                    });
                }
                at_most(&path, values.len(), MAX_TAIL_VALUES, "of the largest values")
            })?;
            self.check_tail(&path, &values)?;
            return Ok(values);
        }
        let values = self.rebuild(Rebuilt::tail_alone(), |_| Ok(()))?;
        self.check_rebuilt(&values)?;
        Ok(values)
    }

    /// [`Recording::tail`], and the seconds of `CLOCK_MONOTONIC` in which any wakeup was due, in order. If the
    /// recording was cut, its wakeups are read only once for both.
    ///
    /// # Errors
    /// As for [`Recording::tail`] and [`Recording::for_each_block_maximum`]; [`ErrorKind::Invalid`] for more seconds
    /// than 36 days have.
    pub fn tail_and_seconds(&self) -> Result<(Vec<TailValue>, Vec<u64>)> {
        let mut seconds = BTreeSet::new();
        let mut take = |maximum: &BlockMaximum| {
            if maximum.stage == Stage::Total {
                seconds.insert(maximum.block);
            }
            at_most(&self.directory, seconds.len(), MAX_SECONDS, "seconds with wakeups")
        };
        let values = if self.is_cut() && !self.directory.join(TAIL_FILE).exists() {
            let values = self.rebuild(Rebuilt::default(), take)?;
            self.check_rebuilt(&values)?;
            values
        } else {
            self.try_for_each_block_maximum(&mut take)?;
            self.tail()?
        };
        Ok((values, seconds.into_iter().collect()))
    }

    /// Passes on the maxima as soon as their second is over: a long run has far more than fit into memory.
    fn rebuild(
        &self,
        mut rebuilt: Rebuilt,
        mut take: impl FnMut(&BlockMaximum) -> Result<()>,
    ) -> Result<Vec<TailValue>> {
        for segment in segments::list(&self.directory.join("wakeups"))? {
            read_wakeups(&segment, &mut |wakeup| {
                rebuilt.take(wakeup);
                rebuilt.closed().try_for_each(|maximum| take(&maximum))
            })?;
        }
        let (values, open) = rebuilt.finish();
        open.iter().try_for_each(take)?;
        Ok(values)
    }

    fn check_rebuilt(&self, values: &[TailValue]) -> Result<()> {
        if values.is_empty() && self.document.counters.wakeups > 0 {
            let message = "the table is missing, and the wakeups that it could be rebuilt from are too";
            return Err(Error::new(ErrorKind::Invalid, self.directory.join(TAIL_FILE), message));
        }
        Ok(())
    }

    /// Checks that the tail contains the largest total of each measure, as one that belongs to this recording does.
    fn check_tail(&self, path: &Path, values: &[TailValue]) -> Result<()> {
        // The measures of each thread: a thread that changed its name has values in more than one.
        let mut measures: HashMap<u32, HashSet<&str>> = HashMap::new();
        let mut shared = HashSet::new();
        for task in &self.document.tasks {
            measures.entry(task.tid).or_default().insert(&task.measure);
            // Threads that are not distinguished share a task, which has no number.
            if task.tid == 0 {
                shared.insert(task.measure.as_str());
            }
        }
        // By thread first, because a thread may have very many measures.
        let mut of_thread: HashMap<u32, u64> = HashMap::new();
        for value in values.iter().filter(|value| value.stage == Stage::Total) {
            let largest = of_thread.entry(value.tid).or_default();
            *largest = (*largest).max(value.value_ns);
        }
        let mut largest: HashMap<&str, u64> = HashMap::new();
        for (tid, value_ns) in of_thread {
            for &measure in measures.get(&tid).into_iter().flatten() {
                let largest = largest.entry(measure).or_default();
                *largest = (*largest).max(value_ns);
            }
        }
        let mut all: BTreeMap<&str, u64> = BTreeMap::new();
        for (key, distribution) in self.document.distributions.iter().filter(|(key, _)| key.stage == Stage::Total) {
            if let Some(max) = distribution.max() {
                let all = all.entry(&key.measure).or_default();
                *all = (*all).max(max);
            }
        }
        let renamed = self.document.followed.is_some();
        for (measure, all) in all.into_iter().filter(|(measure, _)| !shared.contains(measure)) {
            let largest = largest.get(measure).copied();
            if if renamed { largest < Some(all) } else { largest != Some(all) } {
                return Err(Error::new(ErrorKind::Invalid, path, "does not belong to this recording"));
            }
        }
        Ok(())
    }

    /// Passes on the largest value of each second, task and stage; rebuilt from the wakeups if the recording was cut.
    /// A day on eight CPUs has millions, so none is held here.
    ///
    /// # Errors
    /// As for [`Recording::for_each_wakeup`].
    pub fn for_each_block_maximum(&self, mut take: impl FnMut(&BlockMaximum)) -> Result<()> {
        self.try_for_each_block_maximum(&mut |maximum| {
            take(maximum);
            Ok(())
        })
    }

    fn try_for_each_block_maximum(&self, take: &mut impl FnMut(&BlockMaximum) -> Result<()>) -> Result<()> {
        if !self.is_cut() {
            for segment in segments::list(&self.directory.join("maxima"))? {
                table::read_table(&segment.path, &MAXIMA, |rows| {
                    let max = [u32::MAX.into(), 255, MAX_TIME_NS / BLOCK_NS, MAX_SPAN_NS, MAX_COUNT];
                    rows.check(&segment.path, &max)?;
                    for row in 0..rows.len() {
                        take(&BlockMaximum {
                            tid: narrow(rows.get(0, row)),
                            stage: stage_of(&segment.path, rows, 1, row)?,
                            block: unsigned(rows.get(2, row)),
                            max_ns: unsigned(rows.get(3, row)),
                            count: unsigned(rows.get(4, row)),
                        })?;
                    }
                    Ok(())
                })?;
            }
            return Ok(());
        }
        self.rebuild(Rebuilt::maxima_alone(), take).map(drop)
    }

    /// How many wakeups do not add up; 0 for every sound recording.
    ///
    /// # Errors
    /// As for [`Recording::for_each_wakeup`].
    pub fn count_not_adding_up(&self) -> Result<u64> {
        self.count_rows().map(|rows| rows.not_adding_up)
    }

    /// Goes through the tables of wakeups, by several threads, and reads only what says whether stages add up.
    ///
    /// # Errors
    /// As for [`Recording::for_each_wakeup`].
    pub fn count_rows(&self) -> Result<WakeupRows> {
        counting::count(&segments::list(&self.directory.join("wakeups"))?)
    }
}

/// What a recording says it is a recording of; `None` in old ones, which do not say.
pub(crate) fn stated_kind(directory: &Path) -> Result<Option<RecordingKind>> {
    #[derive(serde::Deserialize)]
    struct Stated {
        #[serde(default)]
        kind: Option<RecordingKind>,
    }
    let path = directory.join("recording.json");
    let text = read(directory)?;
    check_version(&path, &text)?;
    Ok(parse_json::<Stated>(&path, &text, "is not a recording")?.kind)
}

fn read(directory: &Path) -> Result<Vec<u8>> {
    let path = directory.join("recording.json");
    input::read_file(&path, MAX_JSON_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if !directory.exists() => {
            Error::new(ErrorKind::NotFound, directory, "there is no such recording")
        }
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            let shown = directory.display();
            Error::new(
                ErrorKind::Invalid,
                "",
                format!("{shown} is not a recording (a directory with a recording.json)"),
            )
        }
        _ => Error::io(path, "cannot read", error),
    })
}

fn parse(path: &Path, text: &[u8]) -> Result<Document> {
    check_version(path, text)?;
    let document: Document = parse_json(path, text, "is not a recording")?;
    check::check(&document).map_err(|what| Error::new(ErrorKind::Invalid, path, what))?;
    Ok(document)
}

/// Checks whether this version can read a document, before anything else of it is read.
fn check_version(path: &Path, text: &[u8]) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = parse_json(path, text, "is not a recording")?;
    let version = head.schema.strip_prefix("punctual.recording/").and_then(|version| version.parse::<u32>().ok());
    match version {
        None => {
            let message = format!("is not a recording: its schema is `{}`", head.schema);
            Err(Error::new(ErrorKind::Invalid, path, message))
        }
        Some(version) if version > SCHEMA_VERSION => {
            let message = format!(
                "was written by a newer punctual (schema {version}; this one reads up to {SCHEMA_VERSION}): upgrade to read it"
            );
            Err(Error::new(ErrorKind::NewerSchema, path, message))
        }
        Some(_) => Ok(()),
    }
}

/// The run may have ended after a segment was closed and before `recording.json` was rewritten.
fn take_in_later_segments(directory: &Path, document: &mut Document, damaged: &mut Vec<Error>) -> Result<()> {
    let known = document.segments;
    let load = document.provenance.load.name_or_none().to_owned();
    let tasks: HashMap<u32, usize> =
        document.tasks.iter().enumerate().rev().map(|(position, task)| (task.tid, position)).collect();
    for segment in segments::list(&directory.join("wakeups"))?.iter().filter(|segment| segment.first > known) {
        // A first pass, so that nothing counts from a segment that turns out to be damaged further on.
        if let Err(error) = read_wakeups(segment, &mut |_| Ok(())) {
            damaged.push(error);
            continue;
        }
        let mut later = Distributions::default();
        let mut until_weighed = WEIGHED_EVERY;
        read_wakeups(segment, &mut |wakeup| {
            document.last_ns = document.last_ns.max(wakeup.expected_ns.saturating_add(wakeup.total_ns));
            // Threads that are not distinguished share the task without a number.
            let position = tasks.get(&wakeup.tid).or_else(|| tasks.get(&0));
            let Some(task) = position.and_then(|&position| document.tasks.get_mut(position)) else {
                return Ok(());
            };
            let counted = Counters {
                wakeups: 1,
                missed: (task.period_ns > 0).then_some(wakeup.missed),
                unobserved: u64::from(document.provenance.configuration.bpf && !wakeup.is_observed()),
                wakeup_steal_ns: wakeup.steal_ns,
                ..Counters::default()
            };
            task.counters.add(&counted);
            document.counters.add(&counted);
            for stage in Stage::ALL {
                if let Some(value) = wakeup.stage(stage) {
                    later.record(&task.measure, stage, wakeup.cpu, &load, value);
                }
            }
            until_weighed -= 1;
            if until_weighed == 0 {
                until_weighed = WEIGHED_EVERY;
                return weigh(segment, &later);
            }
            Ok(())
        })?;
        weigh(segment, &later)?;
        document.distributions.add(&later);
        weigh(segment, &document.distributions)?;
        document.segments = segment.last;
    }
    Ok(())
}

/// Refuses distributions that no measurement has.
fn weigh(segment: &Segment, distributions: &Distributions) -> Result<()> {
    at_most(&segment.path, distributions.len(), MAX_DISTRIBUTIONS, "distributions by measure, stage and CPU")?;
    let max = MAX_DISTRIBUTION_BYTES;
    at_most(&segment.path, distributions.bytes(), max, "bytes of distributions by measure, stage and CPU")
}

fn at_most(path: &Path, many: usize, max: usize, what: &str) -> Result<()> {
    if many > max {
        let message = format!("holds {many} {what} or more; {max} are read at most");
        return Err(Error::new(ErrorKind::Invalid, path, message));
    }
    Ok(())
}

fn read_wakeups(segment: &Segment, take: &mut impl FnMut(&Wakeup) -> Result<()>) -> Result<()> {
    table::read_table(&segment.path, &WAKEUPS, |rows| {
        let numbers = u64::from(u32::MAX);
        rows.check(&segment.path, &[numbers, numbers, MAX_TIME_NS, MAX_SPAN_NS, MAX_COUNT, MAX_SPAN_NS])?;
        for row in 0..rows.len() {
            let maybe = |column| rows.get_optional(column, row).map(unsigned);
            take(&Wakeup {
                cpu: narrow(rows.get(0, row)),
                tid: narrow(rows.get(1, row)),
                expected_ns: unsigned(rows.get(2, row)),
                total_ns: unsigned(rows.get(3, row)),
                missed: unsigned(rows.get(4, row)),
                irq_ns: maybe(5),
                softirq_ns: maybe(6),
                wake_ns: maybe(7),
                thread_ns: maybe(8),
                user_ns: maybe(9),
                steal_ns: maybe(10),
                work_ns: maybe(11),
                executed_ns: maybe(12),
                woken_by: maybe(13).and_then(|position| u32::try_from(position).ok()),
            })?;
        }
        Ok(())
    })
}

fn stage_of(path: &Path, rows: &Rows<'_>, column: usize, row: usize) -> Result<Stage> {
    let code = rows.get(column, row);
    Stage::from_code(code).ok_or_else(|| Error::new(ErrorKind::Invalid, path, format!("knows no stage {code}")))
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn narrow(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(0)
}
