//! Rows in, a crash-safe recording directory out.

mod measures;

use crate::document::contents::{Counters, Document, Ended, Followed, Limit, Provenance, SCHEMA, Task};
use crate::document::kind::RecordingKind;
use crate::document::tables::{MAXIMA, TAIL, WAKEUPS};
use crate::episodes::summary::RecorderSummary;
use crate::error::{Error, ErrorKind, Result};
use crate::format::directory::{Directory, OCCUPIED};
use crate::format::json_file::write_json;
use crate::format::segments::SegmentWriter;
use crate::format::table::{self, Rows};
use crate::wakeups::distribution::{Distributions, Key};
use crate::wakeups::tail::{LargestValues, OpenBlock, tail_length};
use crate::{Distribution, Stage, Wakeup};
use measures::MeasureState;
pub use measures::OTHERS;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const STAGES: usize = Stage::ALL.len();

/// If writing `recording.json` takes longer than this, it may use the [`DOCUMENT_SHARE`]th part of the time.
const QUICK: Duration = Duration::from_millis(50);
const DOCUMENT_SHARE: u32 = 8;

/// Accumulates one task's wakeups.
struct TaskState {
    /// Position of its measure.
    measure: usize,
    /// Position of its largest values: its own, or, if it has no period, those of its measure, because very many
    /// threads may come and go.
    tail: usize,
    blocks: [OpenBlock; STAGES],
    /// The unobserved activations that never became a wakeup.
    unseen: u64,
    /// The missed activations after the last wakeup.
    missed_at_end: u64,
}

/// What has been measured so far, for a progress line.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// The distribution of [`Stage::Total`] over all tasks.
    pub total: Distribution,
    /// The counts over all tasks.
    pub counters: Counters,
}

/// Writes a recording.
///
/// [`Writer::push`] takes wakeups, [`Writer::flush`] closes a segment and rewrites `recording.json` by rename: call it
/// about once a second. Whatever ends the run after that, only what came since can be lost. Memory grows neither with
/// the length of the run nor with the number of measures of threads without a period: those for which there is no room
/// are merged into [`OTHERS`]. What is written stays within what [`crate::Recording`] reads.
pub struct Writer {
    directory: Directory,
    document: Document,
    states: Vec<TaskState>,
    measures: Vec<MeasureState>,
    /// Their positions by name.
    measure_positions: HashMap<String, usize>,
    tails: Vec<[LargestValues; STAGES]>,
    /// How many each task with a period keeps.
    tail_length: usize,
    /// How many of them belong to measures of threads without a period.
    named_tails: usize,
    observing: bool,
    wakeups: SegmentWriter,
    maxima: SegmentWriter,
    flushes: u64,
    /// When `recording.json` was last written, and how long that took.
    document_written: (Instant, Duration),
}

impl Writer {
    /// Makes the directory and begins to write.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] if a recording, or anything other than an empty directory, is already there;
    /// [`ErrorKind::Io`] if the file system refuses.
    pub fn create(directory: impl Into<PathBuf>, provenance: Provenance, tasks: Vec<Task>) -> Result<Writer> {
        Writer::create_of(RecordingKind::Wakeups, directory, provenance, tasks)
    }

    /// The same for a recording of another kind, which the caller writes beside the wakeups.
    ///
    /// # Errors
    /// As for [`Writer::create`].
    pub fn create_of(
        kind: RecordingKind,
        directory: impl Into<PathBuf>,
        provenance: Provenance,
        tasks: Vec<Task>,
    ) -> Result<Writer> {
        let directory = Directory::make(&directory.into())?;
        if !directory.is_empty()? {
            return Err(Error::new(ErrorKind::Exists, directory.path(), OCCUPIED));
        }
        let tables = SegmentWriter::create(&directory, "wakeups", &WAKEUPS)
            .and_then(|wakeups| Ok((wakeups, SegmentWriter::create(&directory, "maxima", &MAXIMA)?)));
        let (wakeups, maxima) = match tables {
            Ok(tables) => tables,
            Err(error) => {
                directory.discard();
                return Err(error);
            }
        };
        let observing = provenance.configuration.bpf;
        let document = Document {
            schema: SCHEMA.to_owned(),
            kind: Some(kind),
            ended: None,
            provenance,
            tasks: Vec::new(),
            counters: Counters::default(),
            limits: Vec::new(),
            segments: 0,
            distributions: Distributions::default(),
            last_ns: 0,
            followed: None,
            recorder: None,
            added: 0,
        };
        let mut writer = Writer {
            directory,
            document,
            states: Vec::new(),
            measures: Vec::new(),
            measure_positions: HashMap::new(),
            tails: Vec::new(),
            tail_length: tail_length(tasks.len()),
            named_tails: 0,
            observing,
            wakeups,
            maxima,
            flushes: 0,
            document_written: (Instant::now(), Duration::ZERO),
        };
        for task in tasks {
            writer.add_task(task);
        }
        if let Err(error) = writer.write_document() {
            // Nothing has been measured yet: leave nothing behind.
            writer.directory.discard();
            return Err(error);
        }
        Ok(writer)
    }

    /// Says when the measurement began, ns of `CLOCK_MONOTONIC`, and what to add to that for the time since 1970, and rewrites
    /// `recording.json`: whatever cuts the recording from here on, it tells both.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the file system refuses.
    pub fn begin(&mut self, started_ns: u64, monotonic_to_unix_ns: i64) -> Result<()> {
        self.document.provenance.started_ns = started_ns;
        self.document.provenance.monotonic_to_unix_ns = monotonic_to_unix_ns;
        self.write_document()
    }

    /// The directory that the recording is written into, held open.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Adds another task, whose wakeups will follow, and returns its index.
    pub fn add_task(&mut self, mut task: Task) -> usize {
        let is_named = task.period_ns == 0;
        let measure = self.measure(&task.measure, is_named);
        // It may have been put into another measure.
        task.measure.clone_from(&self.measures[measure].name);
        let tail = if is_named { self.tail_of(measure) } else { self.new_tail(self.tail_length) };
        self.states.push(TaskState { measure, tail, blocks: Default::default(), unseen: 0, missed_at_end: 0 });
        self.document.tasks.push(task);
        self.states.len() - 1
    }

    fn new_tail(&mut self, length: usize) -> usize {
        self.tails.push(std::array::from_fn(|_| LargestValues::new(length)));
        self.tails.len() - 1
    }

    /// Takes a wakeup of the task with this index.
    pub fn push(&mut self, task: usize, wakeup: &Wakeup) {
        let has_grid = self.document.tasks[task].period_ns > 0;
        let counters = &mut self.document.tasks[task].counters;
        counters.wakeups += 1;
        if has_grid || wakeup.missed > 0 {
            *counters.missed.get_or_insert(0) += wakeup.missed;
        }
        if self.observing && !wakeup.is_observed() {
            counters.unobserved += 1;
        }
        if let Some(steal) = wakeup.steal_ns {
            *counters.wakeup_steal_ns.get_or_insert(0) += steal;
        }
        self.document.last_ns = self.document.last_ns.max(wakeup.expected_ns + wakeup.total_ns);
        let known = &self.measures[self.states[task].measure].by_cpu;
        if known.iter().all(|(cpu, _)| *cpu != wakeup.cpu) {
            self.make_room(task);
        }
        let state = &mut self.states[task];
        let distributions = self.measures[state.measure].on_cpu(wakeup.cpu);
        let largest = &mut self.tails[state.tail];
        let tid = i64::from(wakeup.tid);
        for stage in Stage::ALL {
            let Some(value) = wakeup.stage(stage) else { continue };
            let index = stage as usize;
            distributions[index].record(value);
            largest[index].offer(value, wakeup.expected_ns, wakeup.tid);
            if let Some(closed) = state.blocks[index].offer(value, wakeup.expected_ns) {
                push_maximum(self.maxima.rows(), tid, &self.document.tasks[task].measure, stage, closed);
            }
        }
        let ns = |value: u64| Some(signed(value));
        let maybe = |value: Option<u64>| value.map(signed);
        let thread = self.wakeups.rows().text(&self.document.tasks[task].measure);
        self.wakeups.rows().push([
            Some(i64::from(wakeup.cpu)),
            Some(tid),
            ns(wakeup.expected_ns),
            ns(wakeup.total_ns),
            ns(wakeup.missed),
            maybe(wakeup.irq_ns),
            maybe(wakeup.softirq_ns),
            maybe(wakeup.wake_ns),
            maybe(wakeup.thread_ns),
            maybe(wakeup.user_ns),
            maybe(wakeup.steal_ns),
            maybe(wakeup.work_ns),
            maybe(wakeup.executed_ns),
            wakeup.woken_by.map(i64::from),
            Some(thread),
        ]);
    }

    /// Sets the counts that a measuring thread keeps itself, for the task with this index: records lost, activations
    /// that no program saw and that therefore never became a wakeup, CPU time used (ns).
    pub fn set_thread_counts(&mut self, task: usize, lost: u64, unseen: u64, cpu_ns: u64) {
        let counters = &mut self.document.tasks[task].counters;
        counters.lost = lost;
        counters.cpu_ns = cpu_ns;
        counters.unobserved = counters.unobserved - self.states[task].unseen + unseen;
        self.states[task].unseen = unseen;
    }

    /// Sets how many timers were already due when the task with this index armed them, and how many activations at the
    /// end passed without a wakeup that could report them.
    pub fn set_activations(&mut self, task: usize, armed_late: Option<u64>, missed_at_end: u64) {
        let counters = &mut self.document.tasks[task].counters;
        counters.armed_late = armed_late;
        if missed_at_end > 0 || counters.missed.is_some() {
            let missed = counters.missed.get_or_insert(0);
            *missed = *missed - self.states[task].missed_at_end + missed_at_end;
        }
        self.states[task].missed_at_end = missed_at_end;
    }

    /// Who the followed threads are and what woke them, in a recording of other programs' threads.
    pub fn followed_mut(&mut self) -> &mut Followed {
        self.document.followed.get_or_insert_default()
    }

    /// Sets the counts and the cost of the flight recorder.
    pub fn set_recorder(&mut self, summary: RecorderSummary) {
        self.document.recorder = Some(summary);
    }

    /// Sets the host steal on the measured CPUs since the beginning, ns.
    pub fn set_steal(&mut self, steal_ns: Option<u64>) {
        self.document.counters.steal_ns = steal_ns;
    }

    /// Sets how much time passed on the measured CPUs since the beginning, and for how much of it they were idle, ns.
    pub fn set_cpu_times(&mut self, passed_ns: u64, idle_ns: u64) {
        self.document.counters.passed_ns = Some(passed_ns);
        self.document.counters.idle_ns = Some(idle_ns);
    }

    /// Sets how much CPU time punctual has used since the beginning, beside the measured threads, ns.
    pub fn set_own_time(&mut self, own_ns: u64) {
        self.document.counters.own_ns = Some(own_ns);
    }

    /// The provenance, to which the caller adds what became known during the run.
    pub fn provenance_mut(&mut self) -> &mut Provenance {
        &mut self.document.provenance
    }

    /// What has been measured so far.
    pub fn totals(&self) -> Totals {
        Totals { total: self.sum_of(Stage::Total, |_| true), counters: self.counters() }
    }

    /// What has been measured so far of a stage, over all tasks to which limits apply, as [`Document::judged`].
    pub fn judged(&self, stage: Stage) -> Distribution {
        let context = self.document.context_measures();
        self.sum_of(stage, |measure| !context.contains(measure))
    }

    fn sum_of(&self, stage: Stage, is_wanted: impl Fn(&str) -> bool) -> Distribution {
        let mut sum = Distribution::new();
        let measures = self.measures.iter().filter(|measure| is_wanted(&measure.name));
        for (_, distributions) in measures.flat_map(|measure| &measure.by_cpu) {
            if let Some(own) = distributions.get(stage as usize) {
                sum.add(own);
            }
        }
        sum
    }

    /// Closes the open segment and rewrites `recording.json`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable.
    pub fn flush(&mut self) -> Result<()> {
        self.wakeups.close_segment()?;
        self.flushes += 1;
        // If the run is cut, the tail is rebuilt from the wakeups; writing it here only saves that work.
        if self.flushes.is_multiple_of(60) {
            self.maxima.close_segment()?;
            self.maxima.join()?;
        }
        self.keep_bounds();
        // Segments that came after the document are taken in when the recording is opened.
        let (written, took) = self.document_written;
        if took > QUICK && written.elapsed() < took * DOCUMENT_SHARE {
            return Ok(());
        }
        self.write_document()?;
        // Only once the document knows them: nobody can tell which segments of a joined file the document knows.
        self.wakeups.join()
    }

    /// Writes what is left, says why the recording ended, and joins its segments.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable, as a recording that was cut short.
    pub fn finish(mut self, mut ended: Ended, limits: Vec<Limit>) -> Result<Document> {
        if ended.at_ns == 0 {
            ended.at_ns = self.document.last_ns;
        }
        for (state, task) in self.states.iter_mut().zip(&self.document.tasks) {
            for stage in Stage::ALL {
                if let Some(closed) = state.blocks[stage as usize].close() {
                    push_maximum(self.maxima.rows(), i64::from(task.tid), &task.measure, stage, closed);
                }
            }
        }
        self.keep_bounds();
        let closed = self.wakeups.close_segment().and_then(|()| self.maxima.close_segment());
        let closed = closed.and_then(|()| self.write_tail());
        // Even if the tables could not be finished, try to say so: there may be room for the document where there was
        // none for them.
        self.document.ended = Some(ended);
        self.document.limits = limits;
        if let Err(error) = &closed {
            self.note_failure(error);
        }
        let written = self.write_document();
        closed.and(written)?;
        // By now everything is written: if the run is killed while its files are joined, it is still complete.
        if let Err(error) = self.wakeups.join_all().and_then(|()| self.maxima.join_all()) {
            self.note_failure(&error);
            let _ = self.write_document();
            return Err(error);
        }
        Ok(self.document)
    }

    fn note_failure(&mut self, error: &Error) {
        if let Some(ended) = &mut self.document.ended {
            ended.reason = crate::EndReason::Failed;
            ended.detail = Some(error.to_string());
        }
    }

    fn write_tail(&self) -> Result<()> {
        let mut rows = Rows::new(&TAIL);
        let threads: HashMap<u32, &str> =
            self.document.tasks.iter().map(|task| (task.tid, task.measure.as_str())).collect();
        for largest in &self.tails {
            for stage in Stage::ALL {
                let name = rows.text(stage.name());
                for (value, expected, tid) in largest[stage as usize].sorted() {
                    let thread = rows.text(threads.get(&tid).copied().unwrap_or_default());
                    let code = i64::from(stage.code());
                    rows.push([i64::from(tid), code, signed(expected), signed(value), name, thread].map(Some));
                }
            }
        }
        table::write_table(&self.directory, "tail.parquet", &rows)
    }

    fn counters(&self) -> Counters {
        let Counters { steal_ns, passed_ns, idle_ns, own_ns, .. } = self.document.counters;
        let mut sum = Counters { steal_ns, passed_ns, idle_ns, own_ns, ..Counters::default() };
        for task in &self.document.tasks {
            sum.add(&task.counters);
        }
        sum
    }

    fn write_document(&mut self) -> Result<()> {
        let began = Instant::now();
        let written = self.make_and_write_document();
        self.document_written = (Instant::now(), began.elapsed());
        written
    }

    fn make_and_write_document(&mut self) -> Result<()> {
        self.document.counters = self.counters();
        self.document.segments = self.wakeups.written();
        let load = self.document.provenance.load.name_or_none();
        let mut distributions = Distributions::default();
        for measure in &self.measures {
            for (cpu, by_stage) in &measure.by_cpu {
                for (stage, distribution) in Stage::ALL.into_iter().zip(by_stage) {
                    if distribution.count() > 0 {
                        let key = Key { measure: measure.name.clone(), stage, cpu: *cpu, load: load.to_owned() };
                        distributions.entry(key).add(distribution);
                    }
                }
            }
        }
        self.document.distributions = distributions;
        write_json(&self.directory, "recording.json", &self.document)
    }
}

fn push_maximum(rows: &mut Rows<'_>, tid: i64, thread: &str, stage: Stage, (block, max, count): (u64, u64, u64)) {
    let (name, thread) = (rows.text(stage.name()), rows.text(thread));
    let code = i64::from(stage.code());
    rows.push([tid, code, signed(block), signed(max), signed(count), name, thread].map(Some));
}

/// Tables hold signed numbers, as every Parquet engine knows them; 292 years fit.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
