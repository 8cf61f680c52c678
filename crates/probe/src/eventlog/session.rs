//! An event log that is running.

use super::marks::{MarkLosses, Marks};
use super::merge::{MAX_SPARE, Merger, Noted};
use super::names::Names;
use super::programs::{LogPrograms, TriedClasses, events_of, needs_programs};
use super::reader::{Batch, NICE, QUEUE, Reader, Shared, Sources};
use super::rings::{LogRings, dropped};
use crate::shared::left_out::blind_without;
use punctual_kernel::ending::GettingReady;
use punctual_kernel::per_cpu::NESTING_BLIND;
use punctual_kernel::trace_marker::TraceMarker;
use punctual_kernel::{Refused, clock, cpus, scheduling};
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::{CpuDrops, EventClass, LogCost, LogDocument, LogRow, MarkCounts};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Programs in the kernel, a thread that empties their rings, and what orders and names everything. However the process
/// ends, the programs leave the kernel, and the instance of tracing and the shared memory go away.
pub struct EventLog {
    // Dropped first, so that no program runs while its rings go away.
    programs: Option<Arc<Mutex<LogPrograms>>>,
    /// Takes the programs out of the kernel: in time, or when the sender goes away.
    stopper: Option<(Sender<()>, JoinHandle<()>)>,
    shared: Arc<Shared>,
    classes: Vec<EventClass>,
    cpus: Vec<u32>,
    reader: Option<JoinHandle<()>>,
    batches: Receiver<Batch>,
    /// Takes back the room of batches.
    spare: SyncSender<Vec<Noted>>,
    merger: Merger,
    names: Names,
    notes: Vec<String>,
    ways: Vec<String>,
    document: LogDocument,
    cpu_before_ns: u64,
    left_behind: LeftBehind,
}

/// What becomes of a log of classes of which the kernel refuses some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfRefused {
    /// It is not begun.
    Fail,
    /// It is made without them, and says so.
    LeaveOut,
}

/// What was read, and not handed on because the log was about to end.
#[derive(Default)]
struct LeftBehind {
    /// When the first of it happened, ns.
    first_ns: Option<u64>,
    events: BTreeMap<u32, u64>,
    marks: u64,
    /// What rows that were left behind themselves report as dropped: already counted, but still to be reported.
    told: BTreeMap<u32, u64>,
}

impl LeftBehind {
    fn add(&mut self, event: &Event) {
        self.first_ns.get_or_insert(event.at_ns);
        match event.kind {
            EventKind::Dropped => *self.told.entry(event.cpu).or_default() += event.value,
            EventKind::Mark => self.marks += 1,
            _ => *self.events.entry(event.cpu).or_default() += 1,
        }
    }

    /// Counts it as dropped, and makes the rows that report it.
    fn count(&self, document: &mut LogDocument) -> Vec<Noted> {
        let at_ns = self.first_ns.unwrap_or_default();
        document.marks.dropped += self.marks;
        let mut rows = Vec::new();
        if self.marks > 0 {
            rows.push(dropped(0, self.marks, at_ns, "marks, because the time to write was over"));
        }
        for (&cpu, &number) in &self.events {
            match document.drops.iter_mut().find(|drops| drops.cpu == cpu) {
                Some(drops) => drops.dropped += number,
                None => document.drops.push(CpuDrops { cpu, dropped: number }),
            }
            rows.push(dropped(cpu, number, at_ns, "ring, because the time to write was over"));
        }
        rows.extend(self.told.iter().map(|(&cpu, &number)| dropped(cpu, number, at_ns, "ring")));
        rows
    }
}

/// Says which events of these classes are not seen on this kernel, and what it lacks for them.
fn note_what_is_not_logged(programs: &LogPrograms, classes: &[EventClass], notes: &mut Vec<String>) {
    let unseen = blind_without(&programs.left_out(classes));
    notes.extend(unseen.into_iter().map(|line| format!("not logged: {line}")));
    if !programs.nesting_known {
        notes.push(format!("not seen: {NESTING_BLIND}"));
    }
}

/// Starts the programs of the classes that can be logged here; leaves the others out, and notes them.
fn start_available(
    classes: &mut Vec<EventClass>,
    cpus: &[u32],
    notes: &mut Vec<String>,
) -> Result<Option<LogPrograms>, Refused> {
    let tried = TriedClasses::of(classes);
    if tried.available.iter().any(|class| needs_programs(*class)) {
        *classes = tried.available;
        let unseen = tried
            .refused
            .iter()
            .map(|(class, refused)| format!("not logged: {}: {}", events_of(*class), refused.reason));
        notes.extend(unseen);
    }
    LogPrograms::start(classes, cpus)
}

/// Opens both ways in which marks come, says where programs can put them, and what was not to be had.
fn take_marks(cpus: &[u32], sources: &mut Sources, notes: &mut Vec<String>, ways: &mut Vec<String>) {
    let (marks, refused) = Marks::start(cpus.last().map_or(1, |cpu| cpu + 1));
    notes.extend(refused);
    ways.extend(marks.found_by());
    sources.marks = Some(marks);
    let trace = match TraceMarker::start(cpus) {
        Ok(trace) => trace,
        Err(refused) => return notes.push(format!("marks by trace_marker are not logged ({refused})")),
    };
    let path = trace.path().display().to_string();
    if !trace.is_top() {
        notes.push(format!("only what is written into {path} is a mark: this kernel copies no others"));
    }
    if trace.top_is_off() {
        let off = "tracing is off (tracing_on is 0): programs that write into trace_marker see an error";
        notes.push(format!("{off}, but their marks are logged"));
    }
    ways.push(path);
    sources.trace = Some(trace);
}

impl EventLog {
    /// Starts logging these classes, for this long, ns; `None` until [`EventLog::stop`]. At that time the programs
    /// leave the kernel, whatever the caller is doing; nothing later is logged.
    ///
    /// # Errors
    /// What the kernel refused. Marks that cannot be taken are no error, nor are classes that may be left out unless
    /// nothing is left: see [`EventLog::notes`].
    pub fn start(classes: &[EventClass], refused: IfRefused, duration_ns: Option<u64>) -> Result<EventLog, Refused> {
        let _getting_ready = GettingReady::begin();
        let cpus = cpus::online();
        let (mut notes, mut ways) = (Vec::new(), Vec::new());
        let mut sources = Sources { rings: None, marks: None, trace: None };
        let mut classes = classes.to_vec();
        let programs = match LogPrograms::start(&classes, &cpus) {
            Err(_) if refused == IfRefused::LeaveOut => start_available(&mut classes, &cpus, &mut notes),
            started => started,
        }?;
        let classes = classes.as_slice();
        if let Some(programs) = &programs {
            note_what_is_not_logged(programs, classes, &mut notes);
        }
        if classes.contains(&EventClass::Mark) {
            take_marks(&cpus, &mut sources, &mut notes, &mut ways);
        }
        let (names, threads) = Names::with_threads();
        if let Some(programs) = &programs {
            sources.rings = Some(LogRings::new(programs.object.shared_array("rings")?, programs.possible, &cpus));
        }
        let (sender, batches) = sync_channel(QUEUE);
        let (spare, spares) = sync_channel(QUEUE);
        // Loading the programs does not belong to the cost of reading and writing.
        let cpu_before_ns = clock::process_cpu_ns();
        let shared = Arc::new(Shared::default());
        let reader = Reader { sources, sender, spare: spares, shared: Arc::clone(&shared), trace_missed: 0 };
        let document = LogDocument {
            classes: classes.to_vec(),
            cpus: cpus.clone(),
            started_ns: clock::monotonic_ns(),
            threads,
            ..LogDocument::default()
        };
        if let Some(duration_ns) = duration_ns {
            shared.until_ns.store(document.started_ns.saturating_add(duration_ns), Ordering::Release);
        }
        let programs = programs.map(|programs| Arc::new(Mutex::new(programs)));
        let stopper = programs.as_ref().map(|programs| stopper(Arc::clone(programs), duration_ns)).transpose()?;
        let reader = Some(reader.start()?);
        let merger = Merger::default();
        let classes = classes.to_vec();
        Ok(EventLog {
            programs,
            stopper,
            shared,
            classes,
            cpus,
            reader,
            batches,
            spare,
            merger,
            names,
            notes,
            ways,
            document,
            cpu_before_ns,
            left_behind: LeftBehind::default(),
        })
    }

    /// What could not be done as asked.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Where programs can put marks: the header, and a path.
    pub fn mark_ways(&self) -> &[String] {
        &self.ways
    }

    /// Descriptors of its programs, by name, for statistics.
    pub fn programs(&self) -> Vec<(String, i32)> {
        let of = |programs: &Arc<Mutex<LogPrograms>>| {
            programs.lock().unwrap_or_else(PoisonError::into_inner).object.programs()
        };
        self.programs.as_ref().map(of).unwrap_or_default()
    }

    /// What is logged.
    pub fn classes(&self) -> &[EventClass] {
        &self.classes
    }

    /// CPUs that are logged.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Events and marks dropped so far.
    pub fn dropped(&self) -> u64 {
        self.document.dropped()
    }

    /// When logging began, ns of `CLOCK_MONOTONIC`.
    pub fn started_ns(&self) -> u64 {
        self.document.started_ns
    }

    /// Hands on what has come, in order of time; waits this long for something.
    pub fn take(&mut self, patience: Duration, each: &mut dyn FnMut(&LogRow<'_>)) {
        if let Some(programs) = &self.programs {
            let measured_ns = clock::monotonic_ns().saturating_sub(self.document.started_ns);
            programs.lock().unwrap_or_else(PoisonError::into_inner).stop_measuring_once_known(measured_ns);
        }
        let mut patience = patience;
        // No more than was waiting, so that others get a turn.
        for _ in 0..=QUEUE {
            match self.batches.recv_timeout(patience) {
                Ok(batch) => self.take_batch(batch, &mut |row| {
                    each(row);
                    true
                }),
                Err(RecvTimeoutError::Timeout) => return,
                // Nothing will come any more.
                Err(RecvTimeoutError::Disconnected) => return std::thread::sleep(patience),
            }
            patience = Duration::ZERO;
        }
    }

    fn take_batch(&mut self, mut batch: Batch, each: &mut dyn FnMut(&LogRow<'_>) -> bool) {
        self.shared.waiting.fetch_sub(batch.weight, Ordering::AcqRel);
        let document = &mut self.document;
        if !batch.dropped.is_empty() {
            document.drops = batch.dropped.iter().map(|&(cpu, dropped)| CpuDrops { cpu, dropped }).collect();
        }
        let MarkCounts { library, trace_marker, .. } = document.marks;
        let MarkLosses { dropped, refused, unserved, broken, first_broken } = batch.marks;
        document.marks = MarkCounts { library, trace_marker, dropped, refused, unserved, broken, first_broken };
        document.cost.reader_ns = batch.reader_ns;
        self.merger.add(&mut batch.noted);
        if batch.noted.capacity() <= MAX_SPARE {
            let _ = self.spare.try_send(batch.noted);
        }
        for noted in self.merger.ready(batch.reached_ns) {
            if self.left_behind.first_ns.is_some() {
                self.left_behind.add(&noted.event);
                continue;
            }
            let (thread, name) = self.names.of(&noted);
            // What came before the beginning serves only for names.
            if noted.event.at_ns < document.started_ns {
                continue;
            }
            if !each(&LogRow { event: noted.event, thread: &thread, name: &name }) {
                self.left_behind.add(&noted.event);
                continue;
            }
            if noted.event.kind == EventKind::Mark {
                let MarkCounts { library, trace_marker, .. } = &mut document.marks;
                *(if noted.event.extra == 0 { library } else { trace_marker }) += 1;
            }
        }
        if batch.reached_ns != u64::MAX {
            let reached_ns = batch.reached_ns.min(self.shared.until_ns.load(Ordering::Relaxed));
            document.reached_ns = document.reached_ns.max(reached_ns);
        }
    }

    /// What is known so far, except what only the rows know.
    pub fn document(&mut self) -> LogDocument {
        let statistics =
            |programs: &Arc<Mutex<LogPrograms>>| programs.lock().unwrap_or_else(PoisonError::into_inner).statistics();
        let (skipped, programs_ns) = self.programs.as_ref().map_or((0, None), statistics);
        self.document.skipped = skipped;
        let process_ns = clock::process_cpu_ns() - self.cpu_before_ns;
        self.document.cost = LogCost { process_ns, programs_ns, ..self.document.cost };
        self.document.clone()
    }

    /// How much of its time is left; `None` where it has no end.
    pub fn left(&self) -> Option<Duration> {
        let until_ns = self.shared.until_ns.load(Ordering::Relaxed);
        (until_ns != u64::MAX).then(|| Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns())))
    }

    /// Takes the programs out of the kernel, if time has not done so, and returns the time up to which events are
    /// logged, ns. What was logged until then still has to be handed on.
    pub fn stop(&mut self) -> u64 {
        // Before they leave, since one goes after the other.
        let now = clock::monotonic_ns();
        let until_ns = self.shared.until_ns.fetch_min(now, Ordering::AcqRel).min(now);
        if let Some((sender, stopper)) = self.stopper.take() {
            drop(sender);
            let _ = stopper.join();
        }
        until_ns
    }

    /// Stops, then hands on what is left, as long as `each` takes it: what it does not take is counted as dropped, with
    /// everything after it.
    pub fn end(mut self, each: &mut dyn FnMut(&LogRow<'_>) -> bool) -> LogDocument {
        let until_ns = self.stop();
        // Whatever was running when they were taken away ends within this time.
        std::thread::sleep(Duration::from_millis(2));
        self.shared.stopping.store(true, Ordering::Release);
        while let Ok(batch) = self.batches.recv() {
            self.take_batch(batch, each);
        }
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let mut document = self.document();
        document.reached_ns = until_ns;
        for noted in self.left_behind.count(&mut document) {
            let name = noted.text.as_deref().unwrap_or_default();
            each(&LogRow { event: noted.event, thread: "", name });
        }
        document
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.stop();
        self.shared.stopping.store(true, Ordering::Release);
        // It may be waiting to hand something on.
        while self.batches.recv().is_ok() {}
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// A thread that takes the programs out of the kernel after this long, or when the sender goes away, whichever comes first.
fn stopper(
    programs: Arc<Mutex<LogPrograms>>,
    duration_ns: Option<u64>,
) -> Result<(Sender<()>, JoinHandle<()>), Refused> {
    let (sender, told) = channel();
    let run = move || {
        scheduling::set_nice(NICE);
        let _ = match duration_ns {
            Some(duration_ns) => told.recv_timeout(Duration::from_nanos(duration_ns)),
            None => told.recv().map_err(RecvTimeoutError::from),
        };
        programs.lock().unwrap_or_else(PoisonError::into_inner).object.detach();
    };
    let spawned = std::thread::Builder::new().name("log-stopper".to_owned()).spawn(run);
    Ok((sender, spawned.map_err(|error| Refused::because("starting a thread", error.to_string()))?))
}

#[cfg(test)]
mod tests {
    use super::super::merge::tests::noted;
    use super::*;

    #[test]
    fn what_is_left_behind_is_counted_once_and_told() {
        let mut left = LeftBehind::default();
        let mut document = LogDocument { drops: vec![CpuDrops { cpu: 1, dropped: 5 }], ..LogDocument::default() };
        document.marks.dropped = 7;
        for (at_ns, cpu) in [(50, 1), (60, 0), (70, 1)] {
            left.add(&noted(at_ns, cpu).event);
        }
        let mut mark = noted(80, 0).event;
        mark.kind = EventKind::Mark;
        left.add(&mark);
        // Its number is in the counts of whoever noticed it; the row that reports it must not get lost.
        left.add(&dropped(0, 1_000, 90, "ring").event);
        let rows: Vec<_> = left.count(&mut document).iter().map(|row| (row.event.cpu, row.event.value)).collect();
        assert_eq!(rows, [(0, 1), (0, 1), (1, 2), (0, 1_000)]);
        assert_eq!((document.dropped(), document.marks.dropped), (5 + 7 + 4, 8));
        assert!(left.count(&mut LogDocument::default()).iter().all(|row| row.event.at_ns == 50));
    }
}
