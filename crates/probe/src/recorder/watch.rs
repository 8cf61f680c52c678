//! Looks at each measured wakeup, and keeps the evidence of late ones.

use super::budget::{Budget, Spent};
use super::disk_limits::DiskLimits;
use super::evidence::Evidence;
use super::handlers::{Entry, handler_sums};
use super::hooks::HookWatch;
use super::kernel_code::KernelCode;
use super::late_wakeup::LateWakeup;
use super::looks::Looks;
use super::missed_runs::MissedRuns;
use super::naming::name_places;
use super::of_requests::OfRequests;
use super::programs::FlightRecorder;
use super::requests::{EndedBy, Known, Pause, Requests, Stretch};
use super::unanswered::AskLooks;
use super::writing::{MAX_BYTES, WritingThread};
use punctual_kernel::scheduling::Eager;
use punctual_kernel::{clock, ending, hold};
use punctual_recording::{
    Directory, Distribution, EpisodeWriter, HandlerSum, RecorderSummary, Stage, Wakeup, format_ns, write_handler_sums,
    write_recorder_summary,
};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

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
    /// What is compared with it: [`Stage::Total`], or for followed threads [`Stage::Response`] or [`Stage::Request`].
    pub stage: Stage,
    /// Stacks per second and CPU; 0: none.
    pub sample_rate: u32,
    /// How many episodes to keep at most.
    pub max_episodes: u64,
}

/// The evidence reaches this far before and after the wakeup, ns.
const BEFORE_NS: u64 = 5_000_000;
const AFTER_NS: u64 = 300_000;
const SECOND_NS: u64 = 1_000_000_000;
/// A timer interrupt's usual delivery is not believed to take longer than this, ns: on a busy machine the median is not
/// what nobody could help.
const MAX_USUAL_NS: u64 = 15_000;

/// A thread's name, which is asked for only when the thread was late.
type Named<'a> = &'a dyn Fn() -> String;

/// Watches wakeups. Call [`Watch::wakeup`] for each and [`Watch::round`] every 10 ms or so.
pub struct Watch {
    recorder: FlightRecorder,
    recording: Directory,
    settings: WhySettings,
    values: Distribution,
    /// Followed threads that sleep within their work, each with when that work was due.
    at_work: HashMap<u32, u64>,
    /// What they work on, if that is what was asked for.
    requests: Requests,
    /// How much is known of those that are over.
    of_requests: OfRequests,
    /// Whether they ask in those in which they wait for nobody.
    ask_looks: AskLooks,
    /// Where they get it, if other threads alone wake them.
    looks: Looks,
    deliveries: Distribution,
    threshold_ns: Option<u64>,
    begun_ns: u64,
    second_ns: u64,
    budget: Budget,
    spent: Spent,
    pending: VecDeque<(LateWakeup, u64, u64)>,
    hooks: HookWatch,
    missed: MissedRuns,
    disk_limits: DiskLimits,
    summary: RecorderSummary,
    writing: WritingThread,
    /// Held during the measurement, so that whoever fills the CPUs cannot keep evidence from being copied before it is
    /// overwritten.
    eager: Option<Eager>,
    /// CPU time of the writing thread during the measurement, ns, once that is over.
    collected_ns: Option<u64>,
    /// What the sampling clock had taken when the measurement began, ns.
    sampled_before_ns: u64,
}

impl Watch {
    /// Begins to write into a recording's directory, which exists. `own_programs` are this process's other programs.
    ///
    /// # Errors
    /// If the directory cannot be written or no thread can be started.
    pub fn begin(
        mut recorder: FlightRecorder,
        settings: WhySettings,
        recording: &Directory,
        own_programs: &[u32],
    ) -> punctual_recording::Result<Watch> {
        let summary = RecorderSummary {
            threshold: settings.threshold.name(),
            stage: settings.stage,
            sample_rate: settings.sample_rate,
            sample_clock: recorder.clock().map(str::to_owned),
            missing: recorder.left_out().into_iter().map(|one| one.program).collect(),
            nesting_known: recorder.nesting_known(),
            cpus: recorder.cpus() as u64,
            ..RecorderSummary::default()
        };
        // Before there is a place for episodes: once that exists, this says what it belongs to.
        write_recorder_summary(recording, &summary)?;
        let episodes = EpisodeWriter::create(recording)?;
        let symbols = recorder.take_symbols();
        let mut own = recorder.program_ids();
        own.extend_from_slice(own_programs);
        let writing = WritingThread::start(episodes, settings.max_episodes, symbols, own.clone(), recorder.ended());
        let mut hooks = HookWatch::new(own);
        // The first wakeup of all may already be late.
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
            of_requests: OfRequests::default(),
            ask_looks: AskLooks::default(),
            looks: Looks::new(settings.stage),
            deliveries: Distribution::new(),
            threshold_ns: match settings.threshold {
                Threshold::Fixed(ns) => Some(ns),
                Threshold::Quantile(_) => None,
            },
            begun_ns: clock::monotonic_ns(),
            second_ns: 0,
            budget: Budget::new(settings.max_episodes, MAX_BYTES),
            spent: Spent::default(),
            pending: VecDeque::new(),
            hooks,
            missed,
            disk_limits: DiskLimits::default(),
            summary,
            writing,
            eager: None,
            collected_ns: None,
            sampled_before_ns: 0,
        })
    }

    /// From now on, what the recorder takes counts towards the measurement.
    pub fn begin_measuring(&mut self) {
        self.begun_ns = clock::monotonic_ns();
        self.recorder.begin_measuring();
        self.sampled_before_ns = self.recorder.sampled_ns().unwrap_or(0);
    }

    /// Looks at a wakeup of a thread with this name, and this priority as the kernel counts.
    pub fn wakeup(&mut self, wakeup: &Wakeup, name: &str, priority: i16) {
        self.look_at(wakeup, wakeup.expected_ns, wakeup.total_ns, &|| name.to_owned(), priority, Known::default());
    }

    /// Looks at a wakeup that something ended, of a followed thread of a process. If it now sleeps within its work, it is not done
    /// with what it was woken for: its next wakeups belong to that until it sleeps in another way.
    pub(crate) fn followed(
        &mut self,
        wakeup: &Wakeup,
        process: u32,
        ended_by: EndedBy,
        then: Pause,
        name: Named<'_>,
        priority: i16,
    ) {
        match self.settings.stage {
            Stage::Response => {}
            Stage::Request => return self.requested(wakeup, process, ended_by, then, name, priority),
            _ => return self.look_at(wakeup, wakeup.expected_ns, wakeup.total_ns, name, priority, Known::default()),
        }
        let expected_ns = self.at_work.remove(&wakeup.tid).unwrap_or(wakeup.expected_ns);
        let Some(work_ns) = wakeup.work_ns else { return };
        if then == Pause::WithinWork {
            self.at_work.insert(wakeup.tid, expected_ns);
            return;
        }
        let end_ns = wakeup.expected_ns + wakeup.total_ns + work_ns;
        self.look_at(wakeup, expected_ns, end_ns.saturating_sub(expected_ns), name, priority, Known::default());
    }

    fn requested(
        &mut self,
        wakeup: &Wakeup,
        process: u32,
        ended_by: EndedBy,
        then: Pause,
        name: Named<'_>,
        priority: i16,
    ) {
        let Some(work_ns) = wakeup.work_ns else { return self.requests.lost_sight_of(wakeup.tid) };
        let ran_ns = wakeup.expected_ns + wakeup.total_ns;
        let until_ns = ran_ns + work_ns;
        let stretch = Stretch { process, expected_ns: wakeup.expected_ns, ended_by, ran_ns, until_ns, then };
        self.requests.late_after(self.threshold_ns);
        for request in self.requests.next(wakeup.tid, &stretch) {
            let value_ns = request.end_ns.saturating_sub(request.expected_ns);
            self.of_requests.count(&request, self.threshold_ns);
            self.ask_looks.note(wakeup.tid, &request);
            self.look_at(wakeup, request.expected_ns, value_ns, name, priority, request.known);
        }
    }

    /// Whether nothing is known of the requests of a followed thread yet.
    pub(crate) fn is_new(&self, tid: u32) -> bool {
        self.settings.stage == Stage::Request && self.requests.is_new(tid)
    }

    /// A followed thread began while it was followed.
    pub(crate) fn began(&mut self, tid: u32) {
        self.requests.began(tid);
    }

    /// A followed thread ended, or wakeups of it were not seen: since when it works on what is not known any more.
    pub fn lost_sight_of(&mut self, tid: u32) {
        self.at_work.remove(&tid);
        self.requests.lost_sight_of(tid);
    }

    /// A followed thread of a process ended, and no wakeup led to what it did last.
    pub(crate) fn ended_unseen(&mut self, tid: u32, process: u32) {
        self.at_work.remove(&tid);
        self.requests.ended_unseen(tid, process);
    }

    fn look_at(
        &mut self,
        wakeup: &Wakeup,
        expected_ns: u64,
        value_ns: u64,
        name: Named<'_>,
        priority: i16,
        known: Known,
    ) {
        self.values.record(value_ns);
        if let Some(irq_ns) = wakeup.irq_ns {
            self.deliveries.record(irq_ns);
        }
        let Some(threshold_ns) = self.threshold_ns else {
            self.summary.not_judged += 1;
            return;
        };
        if value_ns <= threshold_ns {
            return;
        }
        self.summary.late += 1;
        self.requests.was_late(wakeup.tid, expected_ns.saturating_add(value_ns));
        if !self.budget.take() {
            self.summary.over_budget += 1;
            return;
        }
        let mut connections = self.requests.connections(wakeup.tid, expected_ns);
        // Where nobody looks they are not waited for.
        connections.is_unknown &= self.looks.go_on();
        // A program that accepts some has others then. Where somebody is known to ask, a request is told from an answer without them.
        let has_others = connections.accepted.is_empty() && self.requests.has_accepted(wakeup.tid);
        connections.is_unknown |= has_others && !known.is_known_to_begin();
        // Nor does anything tell one from the other by a pipe.
        connections.is_unknown |= connections.accepted.is_empty() && known.may_be_part;
        let late = LateWakeup {
            tid: wakeup.tid,
            name: name(),
            priority,
            cpu: wakeup.cpu,
            expected_ns,
            end_ns: expected_ns + value_ns,
            stage: self.settings.stage,
            is_asked_for: known.is_known_to_begin(),
            waits_for_answers: known.waits_for_answers,
            may_sleep_within: known.may_sleep_within,
            has_period: known.has_period,
            asker_unknown: known.asker_unknown,
            connections,
        };
        self.pending.push_back((late, threshold_ns, clock::monotonic_ns()));
    }

    /// Takes the evidence of late wakeups out of the rings. The calling thread runs ahead of ordinary ones until
    /// [`Watch::finish`].
    ///
    /// # Errors
    /// Where episodes could not be written.
    pub fn round(&mut self) -> punctual_recording::Result<()> {
        // Refused while whoever gets the measurement ready is eager here.
        self.eager = self.eager.take().or_else(Eager::begin);
        let now = clock::monotonic_ns();
        self.hooks.read(now);
        self.missed.read(now, &self.recorder);
        self.writing.keep_up();
        self.looks.look(&mut self.requests);
        self.ask_looks.look(&self.recorder, &mut self.requests, now);
        // Each one copies out of all rings: not once the program was asked to end.
        while !ending::is_asked() && self.pending.front().is_some_and(|(late, ..)| late.end_ns + AFTER_NS < now) {
            let Some((late, threshold_ns, noticed_ns)) = self.pending.pop_front() else { break };
            let before_ns = clock::thread_cpu_ns();
            self.take(late, threshold_ns);
            self.spent.taken += 1;
            self.spent.taking_ns += clock::thread_cpu_ns().saturating_sub(before_ns);
            let since = clock::monotonic_ns().saturating_sub(noticed_ns);
            self.summary.longest_collection_ns = self.summary.longest_collection_ns.max(since);
        }
        self.look_at_budget(now);
        self.recorder.stop_measuring_once_known(now.saturating_sub(self.begun_ns));
        if now - self.second_ns >= SECOND_NS {
            self.second_ns = now;
            self.budget.another_second();
            if let Threshold::Quantile(quantile) = self.settings.threshold
                && self.values.count() >= RecorderSummary::MIN_FOR_QUANTILE
            {
                self.threshold_ns = self.values.quantile(quantile);
            }
            self.read_cost();
            write_recorder_summary(&self.recording, &self.summary())?;
        }
        self.writing.failure().map_or(Ok(()), Err)
    }

    fn look_at_budget(&mut self, now_ns: u64) {
        let Some(written) = self.writing.written() else { return };
        self.spent.elapsed_ns = now_ns.saturating_sub(self.begun_ns);
        (self.spent.written, self.spent.writing_ns) = (written.kept, written.cpu_ns);
        self.spent.bytes = written.bytes;
        self.budget.spent(&self.spent);
    }

    fn take(&mut self, late: LateWakeup, threshold_ns: u64) {
        if self.writing.is_full() {
            self.summary.writing_behind += 1;
            return;
        }
        let start = late.expected_ns.saturating_sub(BEFORE_NS);
        let end = late.end_ns + AFTER_NS;
        let evidence = Evidence {
            copied: self.recorder.copy(start, end),
            programs: self.hooks.between(late.expected_ns, late.end_ns),
            disk_limit: self.disk_limit(&late),
            threshold_ns,
            usual_delivery_ns: self.deliveries.quantile(0.25).unwrap_or(0).min(MAX_USUAL_NS),
            fault_path_ns: self.recorder.fault_path_ns(),
            nesting_known: self.recorder.nesting_known(),
            missed_runs: self.missed.since(start, &self.recorder),
            sample_period_ns: self.sample_period_ns(),
            late,
        };
        if !self.writing.episode(evidence) {
            self.summary.writing_behind += 1;
        }
    }

    /// 0 if no samples are taken, because none were asked for or the kernel refused them.
    fn sample_period_ns(&self) -> u64 {
        self.recorder.sample_period_ns(self.settings.sample_rate)
    }

    /// Nobody waits for disks on the way to its CPU.
    fn disk_limit(&mut self, late: &LateWakeup) -> Option<String> {
        let now_ns = clock::monotonic_ns();
        if late.stage.holds_work() { self.disk_limits.of(late.tid, now_ns) } else { None }
    }

    fn read_cost(&mut self) {
        self.summary.samples = self.recorder.samples_taken();
        let cost = self.recorder.cost();
        self.summary.programs_ns = cost.map(|cost| cost.ns);
        self.summary.program_runs = cost.map(|cost| cost.runs);
        self.summary.armed_ns = clock::monotonic_ns().saturating_sub(self.begun_ns);
    }

    /// What has been counted so far.
    pub fn summary(&self) -> RecorderSummary {
        let mut summary = self.summary.clone();
        summary.threshold_ns = self.threshold_ns;
        summary.without_end = self.requests.given_up();
        summary.cut_requests = self.requests.cut();
        if self.settings.stage == Stage::Request {
            summary.requests = Some(self.values.count());
            summary.request_times =
                self.of_requests.times(&self.values, self.requests.not_sure_after_all(), self.requests.unanswered());
            summary.maybe_late_cut = Some(self.requests.maybe_late_cut(clock::monotonic_ns()));
            summary.ended_threads = self.requests.ended();
        }
        if let Some(written) = self.writing.written() {
            summary.kept = written.kept;
            summary.void = written.void;
            summary.over_budget += written.over_budget;
            summary.writing_behind += written.unwritten;
            summary.failure.clone_from(&written.failure);
            summary.starting_ns = written.starting_ns;
            // Only during the measurement; the rest belongs to the end.
            summary.collecting_ns = self.collected_ns.unwrap_or(written.cpu_ns);
            summary.finishing_ns = written.cpu_ns.saturating_sub(summary.collecting_ns);
        }
        summary
    }

    /// The sums of handlers with their names. The writing thread, which has ended, had read the kernel's symbols.
    fn named(&mut self, entries: &[Entry]) -> Vec<HandlerSum> {
        if entries.is_empty() {
            return Vec::new();
        }
        let mut code = self.writing.take_kernel_code().unwrap_or_else(KernelCode::read);
        code.bring_up_to_date();
        handler_sums(entries, &mut code)
    }

    /// Takes what is left, writes it, and finds names for places in programs. The measurement is over.
    ///
    /// # Errors
    /// Where episodes could not be written.
    pub fn finish(mut self) -> punctual_recording::Result<RecorderSummary> {
        let over = Instant::now();
        self.collected_ns = self.writing.written().map(|written| written.cpu_ns);
        let last = self.pending.back().map_or(0, |(late, ..)| late.end_ns + AFTER_NS);
        let now = clock::monotonic_ns();
        if last >= now {
            std::thread::sleep(std::time::Duration::from_nanos(last - now + 100_000));
        }
        let result = self.round();
        self.eager = None;
        self.writing.no_more();
        self.read_cost();
        let entries = self.recorder.handler_entries();
        let sampled_ns = self.recorder.sampled_ns();
        self.summary.sampling_ns = sampled_ns.map(|ns| ns.saturating_sub(self.sampled_before_ns));
        let is_written = self.writing.finish(over);
        let mut summary = self.summary();
        summary.nothing_is_written_any_more();
        let counted = write_recorder_summary(&self.recording, &summary);
        result?;
        counted?;
        let failed = self.writing.failure();
        let recording = self.recording.clone();
        let written = write_handler_sums(&recording, &self.named(&entries));
        // The programs leave the kernel before whatever takes long. With locked memory, every file that is looked into
        // would be read whole.
        drop(self);
        if summary.kept > 0 && is_written && !ending::is_asked() {
            hold::unlock_memory();
            name_places(&recording, over);
        }
        written?;
        failed.map_or(Ok(summary), Err)
    }
}
