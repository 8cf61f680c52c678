//! Carries out a plan that follows other programs' threads.

use super::drain::Drain;
use super::nearest::{nearest_names, threads_beside};
use super::patience::Patience;
use super::programs::Programs;
use super::records::{FOLLOW_NAME, NAME_SIZE, RECORD_BY_NAME, RECORD_ENDED, RECORD_NO_WAKEUP, Record, shown, text};
use super::selection::{Selection, name_of};
use super::table::Table;
use super::waits::{ended_by, pause};
use crate::recorder::{self, FlightRecorder, Watch};
use crate::shared::error::RunError;
use crate::shared::observation::{FLUSH, Observation, Outcome, Step, conclude, count_cpu_times, take_last};
use crate::shared::plan::Plan;
use crate::shared::recent::Recent;
use punctual_kernel::bpf::kernel_enumeration_has;
use punctual_kernel::cpu_times::CpuTimes;
use punctual_kernel::ending::GettingReady;
use punctual_kernel::scheduling::{Eager, kernel_priority};
use punctual_kernel::{Refused, clock, cpus, host, steal};
use punctual_recording::{Configuration, EndReason, Ended, Provenance, Stage, Wakeup, Writer, counted};
use std::time::{Duration, Instant};

/// How often to look at records.
const ROUND: Duration = Duration::from_millis(20);
/// What is not seen of a followed thread without the flight recorder.
const FIRST_INSTRUCTION: &str = "a followed thread's first instruction: its total ends where it is switched in";
const FIRST_STRETCH: &str = "what a followed thread does before its first sleep, which no wakeup begins";
const NO_SCHEDULE: &str = "missed activations of followed threads, because their schedules are unknown";
const CAUSES: &str = "why a followed thread was late: record with --why";
const INTERRUPTS_OFF: &str = "code that runs with interrupts off: it shows only as a long irq stage";
const WAITS: &str = "waits for other threads within a request: this kernel does not say what a thread has called it for (Linux \
                     5.15 on x86-64 and arm64 does), so a request ends with the first of them";
/// How late an end without a last record may be found, unless hundreds of threads are followed.
const SWEEP: Duration = Duration::from_secs(1);

/// Carries out a plan that follows the threads of this selection.
pub(crate) fn run(
    plan: &Plan,
    selection: &Selection,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<Outcome, RunError> {
    let getting_ready = GettingReady::begin();
    let cpus = cpus::online();
    let mut provenance = provenance(plan, &cpus);
    let for_requests = plan.why.is_some_and(|settings| settings.stage == Stage::Request);
    let (programs, recorder) = start_programs(plan, selection, for_requests, &mut provenance)?;
    if let Some(recorder) = &recorder {
        note_what_is_known(plan, recorder, &mut provenance);
    }
    provenance.blind.extend_from_slice(programs.blind());
    if for_requests && !tells_calls() {
        provenance.blind.push(WAITS.to_owned());
    }
    let drain = Drain::start(programs.rings.share())?;
    let mut writer = Writer::create(&plan.output, provenance, Vec::new())?;
    writer.followed_mut().asked = selection.asked();
    writer.followed_mut().period_ns = plan.followed_period_ns;
    let mut watch = recorder::begin(plan, recorder, &writer, &programs.program_ids())?;
    drop(getting_ready);
    if let Some(watch) = &mut watch {
        watch.begin_measuring();
    }
    // Setting up takes seconds on a slow machine: what is measured begins now, and what was followed so far does not count.
    let start = clock::monotonic_ns();
    writer.begin(start, clock::monotonic_to_unix_ns())?;
    let mut session = Session {
        watch,
        plan,
        selection,
        programs,
        drain,
        table: Table::default(),
        records: Vec::new(),
        eager: None,
        wanted: Recent::default(),
        finished: Vec::new(),
        unseen: Vec::new(),
        known_until: KnownUntil(start),
        start,
        end: plan.duration_ns.map_or(u64::MAX, |duration| start.saturating_add(duration)),
        times_before: CpuTimes::now(&cpus),
        cpus,
        cpu_before: clock::process_cpu_ns(),
        longest_ns: 0,
        anybody: false,
        patience: Patience::begin(selection),
    };
    let ended = session.until_the_end(&mut writer, observe);
    session.finish(&mut writer);
    let ended = ended.map(|ended| session.with_the_last_records(ended));
    if ended.is_ok() && !session.met_anybody(&mut writer) {
        // A name that nobody had is a mistake, not a quiet machine.
        writer.directory().discard();
        return Err(nobody(selection).into());
    }
    let mut ended = recorder::finish(session.watch.take(), &mut writer, ended);
    if let Ok(ended) = &mut ended {
        let step = observe(&mut Observation { ended_ns: Some(ended.at_ns), ..session.observation(&mut writer) });
        take_last(ended, step);
    }
    conclude(plan, writer, ended)
}

/// Starts the programs that follow threads, and the flight recorder if it is wanted. The former are attached last: this way
/// everything that is measured has its evidence.
fn start_programs(
    plan: &Plan,
    selection: &Selection,
    for_requests: bool,
    provenance: &mut Provenance,
) -> Result<(Programs, Option<FlightRecorder>), Refused> {
    if plan.why.is_none() {
        return Ok((Programs::start_with(selection, for_requests)?, None));
    }
    let start_recorder = || recorder::start(plan, provenance);
    let (programs, recorder) = Programs::start_after(selection, for_requests, start_recorder);
    Ok((programs?, recorder))
}

/// How many activations a record tells of that are no wakeup.
fn unseen(record: &Record, is_wakeup: bool) -> u64 {
    let is_lost = !is_wakeup && record.flags & RECORD_NO_WAKEUP == 0;
    u64::from(record.unobserved) + u64::from(record.lost) + u64::from(is_lost)
}

/// Nobody was there; names what may have been meant.
fn nobody(selection: &Selection) -> Refused {
    let meant: String = nearest_names(selection).iter().map(|meant| format!("; {meant}")).collect();
    let nobody = selection.nobody_in_words();
    Refused::because("following threads", format!("{nobody}{meant}"))
}

/// What the recorder sees is not blind.
fn note_what_is_known(plan: &Plan, recorder: &FlightRecorder, provenance: &mut Provenance) {
    let goes_on = plan.why.is_some_and(|settings| settings.stage.holds_work());
    provenance.blind.retain(|line| {
        let is_known =
            [CAUSES, INTERRUPTS_OFF].contains(&line.as_str()) || recorder.steal_known() && *line == steal::blindness();
        !(is_known || goes_on && *line == FIRST_INSTRUCTION)
    });
    provenance.blind.extend(recorder.blind());
}

/// Up to when all that happened is known, ns: writing a recording to a busy disk, for example, takes longer than a job may.
struct KnownUntil(u64);

impl KnownUntil {
    /// Records were taken that were handed on up to this moment, and whether these were all.
    fn took(&mut self, handed_on_ns: u64, took_all: bool) {
        if took_all {
            self.0 = self.0.max(handed_on_ns);
        }
    }
}

struct Session<'a> {
    watch: Option<Watch>,
    plan: &'a Plan,
    selection: &'a Selection,
    programs: Programs,
    drain: Drain,
    table: Table,
    records: Vec<Record>,
    /// Held while much waits to be written: if others want the CPUs too, it would stay in the rings and be lost.
    eager: Option<Eager>,
    /// Whether a name is selected: matching an expression takes longer than everything else that is done with a record.
    wanted: Recent<[u8; NAME_SIZE], bool>,
    /// The wakeups that this round brought.
    finished: Vec<Wakeup>,
    /// See [`Observation::unseen`].
    unseen: Vec<(u32, u64)>,
    known_until: KnownUntil,
    start: u64,
    /// When the measurement ends if nothing else ends it.
    end: u64,
    cpus: Vec<u32>,
    times_before: Option<CpuTimes>,
    cpu_before: u64,
    /// The largest total so far of a thread that is not there for context.
    longest_ns: u64,
    /// Whether any thread was followed at any time.
    anybody: bool,
    patience: Patience,
}

impl Session<'_> {
    /// Whether anybody was followed, though it had ended before it was looked at.
    fn met_anybody(&self, writer: &mut Writer) -> bool {
        self.anybody || writer.totals().counters.wakeups > 0 || !writer.followed_mut().without_sleep.is_empty()
    }

    fn until_the_end(
        &mut self,
        writer: &mut Writer,
        observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
    ) -> punctual_recording::Result<Ended> {
        // Threads may sleep for long: the measurement ends now, not with the last wakeup.
        let end = self.end;
        let ended = |reason, detail| Ended { reason, detail, at_ns: clock::monotonic_ns().min(end) };
        let (mut flushed, mut swept) = (Instant::now(), Instant::now());
        loop {
            self.programs.follow_renamed(self.selection);
            self.finished.clear();
            self.unseen.clear();
            self.eager = if self.drain.is_behind() { self.eager.take().or_else(Eager::begin) } else { None };
            let handed_on_ns = self.drain.handed_on_until_ns();
            let took_all = self.take(writer);
            self.known_until.took(handed_on_ns, took_all);
            self.anybody |= self.programs.table.alive() > 0 || !self.finished.is_empty();
            if !self.finished.is_empty() {
                self.patience.woke();
            }
            if let Some(watch) = &mut self.watch {
                watch.round()?;
            }
            if flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                self.count(writer);
                writer.flush()?;
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.programs.sweep();
                self.programs.follow_processes(self.selection);
                if self.selection.is_mixed() {
                    self.programs.follow_names(self.selection);
                }
                let tids = || self.programs.slots().iter().map(|slot| slot.owner as u32).collect::<Vec<u32>>();
                self.patience.look(tids, self.selection);
            }
            if self.is_over_break() {
                return Ok(ended(EndReason::LimitExceeded, None));
            }
            // Somebody with the name may still come, and whoever started the command watches it.
            let nobody_can_come = !self.selection.by_name() && !self.selection.command;
            if nobody_can_come && self.programs.table.alive() == 0 {
                return Ok(ended(EndReason::ThreadsEnded, None));
            }
            if clock::monotonic_ns() >= end {
                return Ok(ended(EndReason::Completed, None));
            }
            if let Step::Stop(reason, detail) = observe(&mut self.observation(writer)) {
                return Ok(ended(reason, detail));
            }
            let left = Duration::from_nanos(end.saturating_sub(clock::monotonic_ns()));
            if took_all {
                std::thread::sleep(left.min(ROUND));
            }
        }
    }

    fn is_over_break(&self) -> bool {
        self.plan.break_ns.is_some_and(|limit| self.longest_ns > limit)
    }

    /// What ended it, now that all records are taken: the late wakeup may be among the last of a thread that ended.
    fn with_the_last_records(&self, ended: Ended) -> Ended {
        let by_itself = matches!(ended.reason, EndReason::ThreadsEnded | EndReason::Completed);
        if by_itself && self.is_over_break() { Ended { reason: EndReason::LimitExceeded, ..ended } } else { ended }
    }

    fn observation<'a>(&'a self, writer: &'a mut Writer) -> Observation<'a> {
        Observation {
            finished: &self.finished,
            unseen: &self.unseen,
            known_until_ns: self.known_until.0,
            waiting: self.patience.waiting(),
            ..Observation::now(self.plan, self.start, writer)
        }
    }

    /// Takes a part of what came; returns whether that was all.
    fn take(&mut self, writer: &mut Writer) -> bool {
        let took_all = self.drain.take(&mut self.records);
        let records = std::mem::take(&mut self.records);
        for record in &records {
            // Of others it is not known whether they slept before.
            let is_whole = record.flags & RECORD_ENDED != 0 && self.programs.table.ended(record.tid);
            if !is_measured(record, self.start, self.end) {
                continue;
            }
            let is_by_name = record.flags & RECORD_BY_NAME != 0;
            if (is_by_name || self.selection.is_by_name_alone()) && !self.is_wanted(&record.name) {
                // A thread that was followed for its name and has another now became another program. Any other is followed for those that it makes.
                if is_by_name {
                    self.programs.table.follow_no_more(record.tid);
                }
                continue;
            }
            if is_whole {
                self.table.take_without_sleep(record, self.selection, writer);
            }
            let taken = self.table.take(record, writer);
            let is_context = taken.as_ref().is_some_and(|(task, _)| self.is_context(*task, writer));
            let unseen = unseen(record, taken.is_some());
            if unseen > 0 {
                self.unseen.push((record.tid, unseen));
            }
            if let Some(watch) = &mut self.watch {
                if record.unobserved > 0 || record.lost > 0 || taken.is_none() {
                    watch.lost_sight_of(record.tid);
                }
                if taken.is_none() && record.flags & RECORD_ENDED != 0 {
                    watch.ended_unseen(record.tid, record.process);
                }
                // Whoever works on a request may have any name.
                let is_watched = !is_context || self.plan.why.is_some_and(|settings| settings.stage == Stage::Request);
                if let Some((_, wakeup)) = taken.as_ref().filter(|_| is_watched) {
                    let has_ended = record.flags & RECORD_ENDED != 0;
                    let began = || is_whole || !has_ended && self.programs.table.began(record.tid);
                    if watch.is_new(record.tid) && began() {
                        watch.began(record.tid);
                    }
                    let priority = kernel_priority(record.policy.into(), record.priority.into());
                    let name = || shown(&record.name);
                    watch.followed(wakeup, record.process, ended_by(&record.wake), pause(record), &name, priority);
                }
            }
            if let Some((task, wakeup)) = taken {
                self.push(task, wakeup, writer);
            }
        }
        self.records = records;
        self.records.clear();
        took_all
    }

    fn is_wanted(&mut self, name: &[u8; NAME_SIZE]) -> bool {
        if let Some(wanted) = self.wanted.get(name) {
            return *wanted;
        }
        let wanted = self.selection.wants_name(&text(name));
        self.wanted.put(*name, wanted);
        wanted
    }

    /// Whether the thread of this task is there for context: its wakeups are recorded, and judged by nothing.
    fn is_context(&mut self, task: usize, writer: &mut Writer) -> bool {
        self.table.note_context(self.selection, writer);
        writer.followed_mut().threads.get(task).is_some_and(|thread| thread.is_context)
    }

    fn push(&mut self, task: usize, wakeup: Wakeup, writer: &mut Writer) {
        if !self.is_context(task, writer) {
            self.longest_ns = self.longest_ns.max(wakeup.total_ns);
        }
        writer.push(task, &wakeup);
        self.finished.push(wakeup);
    }

    fn count(&mut self, writer: &mut Writer) {
        self.table.count(self.programs.lost(), writer);
        self.table.note_context(self.selection, writer);
        count_cpu_times(&self.cpus, self.times_before, writer);
        let own_ns = clock::process_cpu_ns().saturating_sub(self.cpu_before);
        writer.set_own_time(own_ns);
        writer.followed_mut().cost_ns = own_ns;
    }

    /// First the programs leave the kernel, then comes what is left in their memory.
    fn finish(&mut self, writer: &mut Writer) {
        // Some are seen no more at once, but it takes the kernel tens of milliseconds to say so.
        let as_of = clock::monotonic_ns().min(self.end);
        self.programs.detach();
        self.drain.stop();
        self.finished.clear();
        self.unseen.clear();
        while !self.take(writer) {}
        for mut slot in self.programs.slots() {
            if slot.current.waking < self.start || slot.switch_in > as_of {
                slot.switch_in = 0;
            }
            let renamed = || name_of(slot.owner as u32).is_none_or(|name| !self.selection.wants_name(&name));
            if (slot.flags & FOLLOW_NAME != 0 || self.selection.is_by_name_alone()) && renamed() {
                continue;
            }
            if let Some((task, wakeup)) = self.table.take_unfinished(&slot, as_of, writer) {
                self.push(task, wakeup, writer);
            }
        }
        self.count(writer);
        let without_room = self.programs.table.without_room();
        if without_room > 0 {
            let note = format!(
                "not followed: at least {}, because there is only room for 4,096 at a time",
                counted(without_room, "thread")
            );
            writer.provenance_mut().fallbacks.push(note);
        }
        if let Some(why) = self.patience.why_in_the_end() {
            writer.provenance_mut().fallbacks.push(why.to_owned());
        }
        let only_context = self.selection.only_context_in_words(&writer.followed_mut().threads);
        writer.provenance_mut().fallbacks.extend(only_context);
        // A thread that is found by name may only wait for the one that does the work.
        let seconds = as_of.saturating_sub(self.start) / 1_000_000_000;
        if self.selection.by_name() && writer.totals().counters.wakeups <= seconds {
            let notes = threads_beside(&writer.followed_mut().threads);
            writer.provenance_mut().fallbacks.extend(notes);
        }
    }
}

/// Whether programs may look at what threads have called the kernel for, as `bpf/calls.h` does.
fn tells_calls() -> bool {
    let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    is_known && kernel_enumeration_has("bpf_func_id", "BPF_FUNC_task_pt_regs") != Some(false)
}

/// Whether a record belongs to the measurement: its thread was woken after that began, and was done before it ended.
fn is_measured(record: &Record, start: u64, end: u64) -> bool {
    let woken_before = record.flags & RECORD_NO_WAKEUP == 0 && record.wake.waking < start;
    record.at >= start && record.at <= end && !woken_before
}

fn provenance(plan: &Plan, cpus: &[u32]) -> Provenance {
    let is_bare = host::host().virtualization.as_deref() == Some("none");
    Provenance {
        configuration: Configuration {
            cpus: cpus.to_vec(),
            via: "own".to_owned(),
            bpf: true,
            ..Configuration::default()
        },
        load: plan.load.clone(),
        blind: blind(plan.followed_period_ns.is_some(), is_bare).into_iter().map(str::to_owned).collect(),
        ..host::provenance(&plan.command_line)
    }
}

/// What cannot be seen of a followed thread; with a period it is known when it should run.
fn blind(has_period: bool, is_bare: bool) -> Vec<&'static str> {
    let lines = [
        (true, FIRST_INSTRUCTION),
        (true, FIRST_STRETCH),
        (!has_period, NO_SCHEDULE),
        (true, CAUSES),
        (true, INTERRUPTS_OFF),
        (!is_bare, steal::blindness()),
    ];
    lines.into_iter().filter(|(is_so, _)| *is_so).map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::records::Wake;
    use super::*;

    #[test]
    fn what_is_still_to_be_taken_is_not_known() {
        let mut known = KnownUntil(10);
        // At first nothing was handed on; later the thread that does so did not run for a while.
        let until = [(0, true), (20, true), (30, false), (40, false), (50, true), (50, true)].map(
            |(handed_on_ns, took_all)| {
                known.took(handed_on_ns, took_all);
                known.0
            },
        );
        assert_eq!(until, [10, 20, 20, 20, 50, 50]);
    }

    #[test]
    fn a_thread_with_a_period_has_a_schedule() {
        assert!(blind(false, true).contains(&NO_SCHEDULE));
        assert!(!blind(true, true).contains(&NO_SCHEDULE));
        assert_eq!(blind(true, false).len(), blind(true, true).len() + 1);
    }

    #[test]
    fn what_came_before_the_beginning_or_after_the_end_is_not_measured() {
        let record = |waking, at, flags| {
            let wake = Wake { waking, ..Wake::default() };
            is_measured(&Record { wake, at, flags, ..Record::default() }, 1_000, 2_000)
        };
        assert!(record(1_000, 1_500, 0) && record(1_999, 2_000, 0));
        assert!(!record(999, 1_500, 0), "woken before");
        assert!(!record(1_500, 2_001, 0), "done after");
        // Only counts: what `wake` holds is from another time.
        assert!(record(5, 1_500, RECORD_NO_WAKEUP));
        assert!(!record(5, 999, RECORD_NO_WAKEUP));
    }
}
