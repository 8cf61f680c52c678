//! Looks at each measured wakeup, and keeps the evidence of late ones.

use super::bounded_channel::{BoundedReceiver, BoundedSender, most_bytes, queue};
use super::evidence::{Evidence, Investigator};
use super::hooks::HookWatch;
use super::late::LateWakeup;
use super::missed::MissedRuns;
use super::naming::name_places;
use super::programs::{FlightRecorder, SAMPLER};
use super::requests::{EndedBy, Pause, Requests, Stretch};
use punctual_kernel::scheduling::{Scheduling, set_scheduling_of};
use punctual_kernel::{clock, ending, hold};
use punctual_recording::{
    Directory, Distribution, EpisodeWriter, RecorderSummary, Stage, Wakeup, format_ns, write_handler_sums,
    write_recorder_summary,
};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What counts as late.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// More than this, ns.
    Fixed(u64),
    /// More than this quantile of all wakeups measured so far, 0 to 1, once there are a thousand.
    Quantile(f64),
}

impl Threshold {
    /// As the user writes it.
    pub fn name(self) -> String {
        match self {
            Threshold::Fixed(ns) => format_ns(ns),
            Threshold::Quantile(quantile) => format!("p{}", (quantile * 1e8).round() / 1e6),
        }
    }
}

/// How the flight recorder is set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WhySettings {
    /// What counts as late.
    pub threshold: Threshold,
    /// What is compared with it: [`Stage::Total`], or of followed threads [`Stage::Response`] or [`Stage::Request`].
    pub stage: Stage,
    /// Stacks a second and CPU; 0: none.
    pub sample_rate: u32,
    /// Episodes to keep at most.
    pub most_episodes: u64,
}

/// Before this many wakeups a quantile says nothing.
const MIN_WAKEUPS: u64 = 1_000;
/// Episodes that may be kept at once, and every second after that: 240 a minute.
const BURST: u64 = 240;
const A_SECOND: u64 = 4;
/// The evidence of one recording takes no more than this, bytes.
const MAX_BYTES: u64 = 256 << 20;
/// The evidence reaches this far before and after the wakeup, ns.
const BEFORE_NS: u64 = 5_000_000;
const AFTER_NS: u64 = 300_000;
/// The writing thread has fallen behind when so many wait for it, and has caught up when fewer than these do.
const BEHIND: u64 = 32;
const CAUGHT_UP: u64 = 8;
/// It is far behind when what waits takes this share of what may, a part in so many.
const FAR_BEHIND: u64 = 4;
/// The kernel measures the recorder's programs for so long, ns; after that the number of records says what they cost.
const MEASURED_NS: u64 = 900_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// The usual delivery of a timer interrupt is not believed beyond this, ns: on a busy machine the median is not what
/// nobody could help.
const MAX_USUAL_NS: u64 = 15_000;
/// When the measurement is over, what waits to be written may take so long, or so long after the program was asked to end.
const WRITING: Duration = Duration::from_secs(10);
const ASKED: Duration = Duration::from_millis(700);
/// The episode that is being written may take so long beyond that.
const LAST: Duration = Duration::from_millis(500);

/// What the writing thread shares.
#[derive(Default)]
struct Written {
    kept: u64,
    void: u64,
    over_budget: u64,
    /// Episodes that came after one that could not be written, and that one.
    unwritten: u64,
    /// CPU time of the writing thread: before the first episode, reading the kernel's symbols; and since then.
    starting_ns: u64,
    cpu_ns: u64,
    /// Why the first one of these could not be, and the same for whoever has to act on it.
    failure: Option<String>,
    failed: Option<punctual_recording::Error>,
}

/// What the writing thread writes into. Gone when the measurement's end does not wait for it any longer: what it has counted
/// by then is what stands there.
type Episodes = Mutex<Option<EpisodeWriter>>;

/// Watches wakeups. Call [`Watch::wakeup`] for each and [`Watch::round`] every 10 ms or so.
pub struct Watch {
    recorder: FlightRecorder,
    recording: Directory,
    settings: WhySettings,
    values: Distribution,
    /// Followed threads that sleep within their work, each with when that work was due.
    at_work: HashMap<u32, u64>,
    /// What they work on, where that is what is asked for.
    requests: Requests,
    deliveries: Distribution,
    threshold_ns: Option<u64>,
    begun_ns: u64,
    second_ns: u64,
    budget: u64,
    accepted: u64,
    pending: VecDeque<(LateWakeup, u64, u64)>,
    hooks: HookWatch,
    missed: MissedRuns,
    summary: RecorderSummary,
    sender: Option<BoundedSender<Box<Evidence>>>,
    writing: WritingThread,
    episodes: Arc<Episodes>,
    written: Arc<Mutex<Written>>,
    /// CPU time of the writing thread while it was measured, ns, when that is over.
    collected_ns: Option<u64>,
    /// Set when there is no time left to write episodes.
    given_up: Arc<AtomicBool>,
    /// What the sampling clock had taken when the measurement began, ns.
    sampled_before_ns: u64,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to write into a recording's directory, which is there. `own_programs` are this process's other programs.
    ///
    /// # Errors
    /// Where the directory cannot be written or no thread be started.
    pub fn begin(
        recorder: FlightRecorder,
        settings: WhySettings,
        recording: &Directory,
        own_programs: &[u32],
    ) -> punctual_recording::Result<Watch> {
        let summary = RecorderSummary {
            threshold: settings.threshold.name(),
            stage: settings.stage,
            sample_rate: settings.sample_rate,
            sample_clock: recorder.clock().map(str::to_owned),
            missing: recorder.left_out(),
            nesting_known: recorder.nesting_known(),
            cpus: recorder.cpus() as u64,
            ..RecorderSummary::default()
        };
        // Before there is a place for episodes: where that is, somebody says what it is of.
        write_recorder_summary(recording, &summary)?;
        let episodes = Arc::new(Mutex::new(Some(EpisodeWriter::create(recording)?)));
        let (sender, receiver) = queue(most_bytes());
        let (tell_tid, tid) = sync_channel(1);
        let written = Arc::new(Mutex::new(Written::default()));
        let given_up = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("why".to_owned());
        let body = {
            let (episodes, shared, no_time) = (Arc::clone(&episodes), Arc::clone(&written), Arc::clone(&given_up));
            move || write_episodes(&episodes, &tell_tid, receiver, (&shared, &no_time), settings.most_episodes)
        };
        let thread = thread.spawn(body).ok();
        // Reading the kernel's symbols takes a tenth of a second: not while it is measured. Until then the thread is a normal
        // one: where every CPU is wanted all the time, one that runs when nobody else wants to would never say that it is ready.
        let mut writing = WritingThread { tid: tid.recv().unwrap_or(0), hurry: Hurry::AsOthers };
        writing.hurry(Hurry::Spare);
        let mut own = recorder.program_ids();
        own.extend_from_slice(own_programs);
        let mut hooks = HookWatch::new(own);
        // The first late wakeup may come with the first of all.
        hooks.read(clock::monotonic_ns());
        let mut missed = MissedRuns::default();
        missed.read(clock::monotonic_ns(), &recorder);
        Ok(Watch {
            recorder,
            recording: recording.clone(),
            settings,
            values: Distribution::new(),
            at_work: HashMap::new(),
            requests: Requests::default(),
            deliveries: Distribution::new(),
            threshold_ns: match settings.threshold {
                Threshold::Fixed(ns) => Some(ns),
                Threshold::Quantile(_) => None,
            },
            begun_ns: clock::monotonic_ns(),
            second_ns: 0,
            budget: BURST,
            accepted: 0,
            pending: VecDeque::new(),
            hooks,
            missed,
            summary,
            sender: Some(sender),
            writing,
            episodes,
            written,
            collected_ns: None,
            given_up,
            sampled_before_ns: 0,
            thread,
        })
    }

    /// What the recorder takes from now on is the cost of the measurement.
    pub fn begin_measuring(&mut self) {
        self.begun_ns = clock::monotonic_ns();
        self.recorder.begin_measuring();
        self.sampled_before_ns = self.sampled_ns();
    }

    /// How long the sampling clock's interrupts took so far, ns.
    fn sampled_ns(&self) -> u64 {
        let sums = self.recorder.handler_sums();
        sums.iter().filter(|sum| sum.kind == "timer_irq" && sum.name == SAMPLER).map(|sum| sum.total_ns).sum()
    }

    /// Looks at a wakeup of a thread with this name and priority as the kernel counts.
    pub fn wakeup(&mut self, wakeup: &Wakeup, name: &str, priority: i16) {
        self.look_at(wakeup, wakeup.expected_ns, wakeup.total_ns, name, priority);
    }

    /// Looks at a wakeup of a followed thread that something ended. Where it sleeps within its work then, it is not done with
    /// what it was woken for: its next wakeups belong to that until it sleeps otherwise.
    pub(crate) fn followed(&mut self, wakeup: &Wakeup, ended_by: EndedBy, then: Pause, name: &str, priority: i16) {
        match self.settings.stage {
            Stage::Response => {}
            Stage::Request => return self.requested(wakeup, ended_by, then, name, priority),
            _ => return self.wakeup(wakeup, name, priority),
        }
        let expected_ns = self.at_work.remove(&wakeup.tid).unwrap_or(wakeup.expected_ns);
        let Some(work_ns) = wakeup.work_ns else { return };
        if then == Pause::WithinWork {
            self.at_work.insert(wakeup.tid, expected_ns);
            return;
        }
        let end_ns = wakeup.expected_ns + wakeup.total_ns + work_ns;
        self.look_at(wakeup, expected_ns, end_ns.saturating_sub(expected_ns), name, priority);
    }

    fn requested(&mut self, wakeup: &Wakeup, ended_by: EndedBy, then: Pause, name: &str, priority: i16) {
        let Some(work_ns) = wakeup.work_ns else { return self.requests.lost_sight_of(wakeup.tid) };
        let until_ns = wakeup.expected_ns + wakeup.total_ns + work_ns;
        let stretch = Stretch { expected_ns: wakeup.expected_ns, ended_by, until_ns, then };
        for (expected_ns, end_ns) in self.requests.next(wakeup.tid, &stretch) {
            self.look_at(wakeup, expected_ns, end_ns.saturating_sub(expected_ns), name, priority);
        }
    }

    /// A followed thread ended, or wakeups of it were not seen: what it worked on since when is not known any more.
    pub fn lost_sight_of(&mut self, tid: u32) {
        self.at_work.remove(&tid);
        self.requests.lost_sight_of(tid);
    }

    fn look_at(&mut self, wakeup: &Wakeup, expected_ns: u64, value_ns: u64, name: &str, priority: i16) {
        self.values.record(value_ns);
        if let Some(irq_ns) = wakeup.irq_ns {
            self.deliveries.record(irq_ns);
        }
        let Some(threshold_ns) = self.threshold_ns.filter(|threshold_ns| value_ns > *threshold_ns) else {
            return;
        };
        self.summary.late += 1;
        if self.budget == 0 || self.accepted >= self.settings.most_episodes {
            self.summary.over_budget += 1;
            return;
        }
        self.budget -= 1;
        self.accepted += 1;
        let late = LateWakeup {
            tid: wakeup.tid,
            name: name.to_owned(),
            priority,
            cpu: wakeup.cpu,
            expected_ns,
            end_ns: expected_ns + value_ns,
            stage: self.settings.stage,
        };
        self.pending.push_back((late, threshold_ns, clock::monotonic_ns()));
    }

    /// Takes the evidence of late wakeups out of the rings.
    ///
    /// # Errors
    /// Where episodes could not be written.
    pub fn round(&mut self) -> punctual_recording::Result<()> {
        let now = clock::monotonic_ns();
        self.hooks.read(now);
        self.missed.read(now, &self.recorder);
        let waiting = self.sender.as_ref().map_or(0, BoundedSender::waiting);
        self.writing.hurry(match (waiting, self.writing.hurry) {
            _ if self.sender.as_ref().is_some_and(|sender| sender.is_filled_to(FAR_BEHIND)) => Hurry::AsOthers,
            (waiting, Hurry::AsOthers) if waiting >= BEHIND => Hurry::AsOthers,
            (waiting, Hurry::Spare) if waiting < BEHIND => Hurry::Spare,
            (waiting, _) if waiting < CAUGHT_UP => Hurry::Spare,
            _ => Hurry::BelowOthers,
        });
        // Each copies out of all rings: not once the program was asked to end.
        while !ending::is_asked() && self.pending.front().is_some_and(|(late, ..)| late.end_ns + AFTER_NS < now) {
            let Some((late, threshold_ns, noticed_ns)) = self.pending.pop_front() else { break };
            self.take(late, threshold_ns);
            let since = clock::monotonic_ns().saturating_sub(noticed_ns);
            self.summary.longest_collection_ns = self.summary.longest_collection_ns.max(since);
        }
        if now - self.second_ns >= SECOND_NS {
            self.second_ns = now;
            self.budget = (self.budget + A_SECOND).min(BURST);
            if let Threshold::Quantile(quantile) = self.settings.threshold
                && self.values.count() >= MIN_WAKEUPS
            {
                self.threshold_ns = self.values.quantile(quantile);
            }
            self.read_cost();
            write_recorder_summary(&self.recording, &self.summary())?;
        }
        match self.written.lock().ok().and_then(|mut written| written.failed.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn take(&mut self, late: LateWakeup, threshold_ns: u64) {
        let Some(sender) = self.sender.as_ref().filter(|sender| !sender.is_full()) else {
            self.summary.writing_behind += 1;
            return;
        };
        let start = late.expected_ns.saturating_sub(BEFORE_NS);
        let end = late.end_ns + AFTER_NS;
        let evidence = Evidence {
            copied: self.recorder.copy(start, end),
            programs: self.hooks.between(late.expected_ns, late.end_ns),
            threshold_ns,
            usual_delivery_ns: self.deliveries.quantile(0.25).unwrap_or(0).min(MAX_USUAL_NS),
            fault_path_ns: self.recorder.fault_path_ns(),
            nesting_known: self.recorder.nesting_known(),
            missed_runs: self.missed.since(start, &self.recorder),
            sample_period_ns: SECOND_NS.checked_div(u64::from(self.settings.sample_rate)).unwrap_or(0),
            late,
        };
        let bytes = evidence.bytes();
        if !sender.put(Box::new(evidence), bytes) {
            self.summary.writing_behind += 1;
        }
    }

    fn read_cost(&mut self) {
        self.summary.samples = self.recorder.samples_taken();
        let cost = self.recorder.cost();
        self.summary.programs_ns = cost.map(|cost| cost.ns);
        self.summary.program_runs = cost.map(|cost| cost.runs);
        self.summary.armed_ns = clock::monotonic_ns().saturating_sub(self.begun_ns);
        if self.summary.armed_ns > MEASURED_NS {
            self.recorder.stop_measuring();
        }
    }

    /// What was counted so far.
    pub fn summary(&self) -> RecorderSummary {
        let mut summary = self.summary.clone();
        summary.threshold_ns = self.threshold_ns;
        summary.without_end = self.requests.given_up();
        if let Ok(written) = self.written.lock() {
            summary.kept = written.kept;
            summary.void = written.void;
            summary.over_budget += written.over_budget;
            summary.writing_behind += written.unwritten;
            summary.failure.clone_from(&written.failure);
            summary.starting_ns = written.starting_ns;
            // While it was measured; the rest is the end's.
            summary.collecting_ns = self.collected_ns.unwrap_or(written.cpu_ns);
            summary.finishing_ns = written.cpu_ns.saturating_sub(summary.collecting_ns);
        }
        summary
    }

    /// Takes what is left, writes it, and finds names for places in programs. Nothing is measured any more.
    ///
    /// # Errors
    /// Where episodes could not be written.
    pub fn finish(mut self) -> punctual_recording::Result<RecorderSummary> {
        let over = Instant::now();
        self.collected_ns = self.written.lock().ok().map(|written| written.cpu_ns);
        let last = self.pending.back().map_or(0, |(late, ..)| late.end_ns + AFTER_NS);
        let now = clock::monotonic_ns();
        if last >= now {
            std::thread::sleep(std::time::Duration::from_nanos(last - now + 100_000));
        }
        let result = self.round();
        drop(self.sender.take());
        self.read_cost();
        let sums = self.recorder.handler_sums();
        let sampled_ns = self.sampled_ns().saturating_sub(self.sampled_before_ns);
        self.summary.sampling_ns = self.recorder.clock().map(|_| sampled_ns);
        let is_written = self.wait_for_writing(over);
        // From here on nothing is added to what is counted, and both that tell it are given the same.
        if let Ok(mut episodes) = self.episodes.lock() {
            *episodes = None;
        }
        let mut summary = self.summary();
        summary.nothing_is_written_any_more();
        let counted = write_recorder_summary(&self.recording, &summary);
        result?;
        counted?;
        let failed = self.written.lock().ok().and_then(|mut written| written.failed.take());
        let recording = self.recording.clone();
        let written = write_handler_sums(&recording, &sums);
        // Out of the kernel before what takes long. Locked memory would have every file that is looked into read whole.
        drop(self);
        if summary.kept > 0 && is_written && !ending::is_asked() {
            hold::unlock_memory();
            name_places(&recording);
        }
        written?;
        failed.map_or(Ok(summary), Err)
    }
}

impl Watch {
    /// Waits for what is still to be written, not for ever; whether all of it was.
    fn wait_for_writing(&mut self, over: Instant) -> bool {
        let Some(thread) = self.thread.take() else { return true };
        // Nothing is measured any more that it could disturb.
        self.writing.hurry(Hurry::AsOthers);
        let (mut asked, mut given_up) = (None, None);
        while !thread.is_finished() {
            if ending::is_asked() {
                asked.get_or_insert_with(Instant::now);
            }
            if over.elapsed() > WRITING || asked.is_some_and(|asked: Instant| asked.elapsed() > ASKED) {
                self.given_up.store(true, Ordering::Relaxed);
                if given_up.get_or_insert_with(Instant::now).elapsed() > LAST {
                    return false;
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        thread.join().is_ok()
    }
}

/// The thread that finds names and writes. That is work, and must not be what makes the threads late that are looked
/// at: it runs when nobody else wants the CPU, unless it falls behind. On a machine where somebody always wants it, evidence
/// would be lost that was there.
struct WritingThread {
    tid: u32,
    hurry: Hurry,
}

/// How the writing thread gets its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hurry {
    /// When nobody else wants the CPU.
    Spare,
    /// A tenth of what a normal thread gets.
    BelowOthers,
    /// As a normal thread.
    AsOthers,
}

impl WritingThread {
    fn hurry(&mut self, hurry: Hurry) {
        if self.hurry == hurry || self.tid == 0 {
            return;
        }
        self.hurry = hurry;
        let scheduling = if hurry == Hurry::Spare { Scheduling::Idle } else { Scheduling::Other };
        // Where the kernel refuses, it stays as it is: slower, or more in the way.
        let _ = set_scheduling_of(self.tid, scheduling, false);
        if hurry == Hurry::BelowOthers {
            let _ = rustix::process::setpriority_process(rustix::process::Pid::from_raw(self.tid as i32), 10);
        }
    }
}

fn write_episodes(
    episodes: &Episodes,
    tell_tid: &SyncSender<u32>,
    receiver: BoundedReceiver<Box<Evidence>>,
    (shared, given_up): (&Mutex<Written>, &AtomicBool),
    most: u64,
) {
    let mut investigator = Investigator::new();
    let starting_ns = clock::thread_cpu_ns();
    if let Ok(mut written) = shared.lock() {
        written.starting_ns = starting_ns;
    }
    let _ = tell_tid.send(clock::thread_id());
    let (mut kept, mut bytes, mut has_failed) = (0, 0, false);
    receiver.for_each(|evidence| {
        let count = |count: &mut dyn FnMut(&mut Written)| {
            if let Ok(mut written) = shared.lock() {
                count(&mut written);
            }
        };
        // A smaller one might fit, and take the room for what is to be said of the end.
        if has_failed || given_up.load(Ordering::Relaxed) {
            return count(&mut |written| written.unwritten += 1);
        }
        if kept >= most || bytes > MAX_BYTES {
            return count(&mut |written| written.over_budget += 1);
        }
        let episode = investigator.investigate(kept + 1, &evidence);
        // Held until it is counted: whoever closes the file counts what stands in it.
        let Ok(mut episodes) = episodes.lock() else { return };
        let Some(writer) = episodes.as_mut() else { return };
        match writer.push(&episode) {
            Ok(()) => {
                (kept, bytes) = (kept + 1, writer.bytes());
                let cpu_ns = clock::thread_cpu_ns().saturating_sub(starting_ns);
                count(&mut |written| {
                    (written.kept, written.cpu_ns) = (kept, cpu_ns);
                    written.void += u64::from(episode.void.is_some());
                });
            }
            Err(error) => {
                has_failed = true;
                if let Ok(mut written) = shared.lock() {
                    written.unwritten += 1;
                    written.failure = Some(error.to_string());
                    written.failed.get_or_insert(error);
                }
            }
        }
    });
}
