//! Carries out a plan: sets up the threads, takes what they hand on, writes the recording.

use crate::periodic::chain::ChainCounts;
use crate::periodic::sample::Sample;
use crate::periodic::slots::SlotReader;
use crate::periodic::stage_tracer::StageTracer;
use crate::periodic::thread::{Equipment, MeasuringThread, Setup, ThreadCounts};
use crate::recorder::{self, FlightRecorder, Watch};
use crate::shared::beside::load_beside;
use crate::shared::control::Control;
use crate::shared::error::RunError;
use crate::shared::observation::{FLUSH, Observation, Outcome, Step, conclude, count_cpu_times, note, take_last};
use crate::shared::plan::{Plan, Policy, Via};
use punctual_kernel::cpu_times::CpuTimes;
use punctual_kernel::ending::{self, GettingReady};
use punctual_kernel::hold::{self, PowerRequest};
use punctual_kernel::rests::{Resting, RoomBelow, Times};
use punctual_kernel::scheduling::Scheduling;
use punctual_kernel::{Refused, capabilities, clock, host, limits, steal};
use punctual_recording::{
    Configuration, Counters, EndReason, Ended, Provenance, THREADS_RESTED, Task, WAS_STOPPED, Wakeup, Writer,
};
use rtrb::{Consumer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the rest of the program looks after the threads.
const ROUND: Duration = Duration::from_millis(50);
/// The same while late wakeups are investigated: the evidence does not wait for long.
const WATCHED_ROUND: Duration = Duration::from_millis(10);
/// How long a thread may go on handing on before its queue is full.
const QUEUE_NS: u64 = 10_000_000_000;

struct Measured {
    thread: MeasuringThread,
    queue: Consumer<Sample>,
    counts: Arc<ThreadCounts>,
    tid: u32,
    name: String,
    cpu: u32,
    scheduling: Scheduling,
    /// The number of its slot, if the programs stamp its wakeups.
    slot: Option<u32>,
}

/// Carries out a plan that follows nobody else's threads.
pub(crate) fn run(plan: &Plan, observe: &mut dyn FnMut(&mut Observation<'_>) -> Step) -> Result<Outcome, RunError> {
    let cpus = plan.measured_cpus()?;
    let schedulings = plan.schedulings()?;
    let getting_ready = GettingReady::begin();
    let mut provenance = provenance(plan, &cpus);
    let (tracer, recorder) = load_programs(plan, &mut provenance)?;
    let _power_request = hold_machine(plan, &mut provenance);

    let control = Arc::new(Control::default());
    control.set_cpus(cpus.len());
    // However this function ends, the threads end with it.
    let _stop = StopOnDrop(Arc::clone(&control));
    let (mut measured, tasks) = spawn_threads(plan, &cpus, &schedulings, &control, &mut provenance)?;
    let (tracer, mut equipment) = equip(plan, tracer, recorder.as_ref(), &measured, &mut provenance)?;
    let _rooms = leave_room(&cpus, &measured, &mut equipment)?;
    let steal_known = tracer.as_ref().is_some_and(StageTracer::steal_known);
    provenance.configuration.bpf = tracer.is_some();
    note_blindness(&mut provenance, steal_known, recorder.as_ref());

    begin_threads(&mut measured, equipment);
    provenance.started_ns = clock::monotonic_ns();
    provenance.monotonic_to_unix_ns = clock::monotonic_to_unix_ns();
    let fallbacks = provenance.fallbacks.clone();
    let mut writer = Writer::create_of(plan.kind, &plan.output, provenance, tasks)?;
    let own_programs = tracer.as_ref().map(StageTracer::program_ids).unwrap_or_default();
    let mut watch = recorder::begin(plan, recorder, &writer, &own_programs)?;
    drop(getting_ready);
    if let Some(watch) = &mut watch {
        watch.begin_measuring();
    }
    let times_before = CpuTimes::now(&cpus);
    // Nothing that takes long comes between this and the start, and the start is far enough ahead for the threads to
    // have seen it.
    let start = clock::monotonic_ns() + 5_000_000;
    writer.provenance_mut().started_ns = start;
    let end = plan.duration_ns.map_or(u64::MAX, |duration| start.saturating_add(duration));
    control.start(start, end);
    ending::take_continued();

    let mut rounds = Rounds {
        plan,
        start,
        fallbacks: &fallbacks,
        cpus: &cpus,
        times_before,
        cpu_before_ns: clock::process_cpu_ns(),
        steal_known,
        tracer,
        watch: watch.as_mut(),
        finished: Vec::new(),
        was_stopped: false,
    };
    let ended = rounds.until_the_end(&control, &mut measured, &mut writer, observe);
    let ended_ns = clock::monotonic_ns().min(end);
    control.stop();
    rounds.wait_for_threads(&mut measured, &mut writer);
    rounds.count(&measured, &mut writer);
    let mut ended = ended.map(|ended| rounds.unless_much_never_came(ended, &measured, &writer));
    rounds.note_what_happened(&control, &mut writer);
    // Out of the kernel before the writing, which may take long.
    rounds.tracer = None;
    if let Ok(ended) = &mut ended {
        let step = observe(&mut Observation { ended_ns: Some(ended_ns), ..rounds.observation(&mut writer) });
        take_last(ended, step);
    }
    let ended = recorder::finish(watch, &mut writer, ended);
    conclude(plan, writer, ended)
}

/// Lets the threads go and wait for the start, each with what it needs to measure.
fn begin_threads(measured: &mut [Measured], equipment: Vec<Equipment>) {
    for (thread, equipment) in measured.iter_mut().zip(equipment) {
        thread.slot = equipment.slot.as_ref().map(SlotReader::number);
        thread.thread.begin(equipment);
    }
}

struct StopOnDrop(Arc<Control>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn provenance(plan: &Plan, cpus: &[u32]) -> Provenance {
    let has_priorities = matches!(plan.policy, Policy::Fifo | Policy::RoundRobin);
    Provenance {
        configuration: Configuration {
            interval_ns: plan.interval_ns,
            policy: plan.policy.name().to_owned(),
            priorities: if has_priorities { plan.priorities.clone() } else { Vec::new() },
            cpus: cpus.to_vec(),
            via: plan.via.name().to_owned(),
            ..Configuration::default()
        },
        load: plan.load.clone(),
        ..host::provenance(&plan.command_line)
    }
}

/// Loads the programs that stamp the stages of wakeups, and those that record what makes them late: if both are wanted, beside one another.
fn load_programs(
    plan: &Plan,
    provenance: &mut Provenance,
) -> Result<(Option<StageTracer>, Option<FlightRecorder>), RunError> {
    let via = plan.via;
    if !plan.bpf || plan.why.is_none() {
        let tracer = if plan.bpf { keep_tracer(StageTracer::load(via), via, provenance)? } else { None };
        return Ok((tracer, recorder::start(plan, provenance)));
    }
    // What is said of the stage tracer comes first.
    let mut of_recorder = Provenance::default();
    let (loaded, recorder) = load_beside(|| StageTracer::load(via), || recorder::start(plan, &mut of_recorder));
    let tracer = keep_tracer(loaded, via, provenance)?;
    of_recorder.fallbacks.into_iter().for_each(|fallback| note(provenance, fallback));
    Ok((tracer, recorder))
}

/// The programs, or why it does without.
fn keep_tracer(
    loaded: Result<StageTracer, Refused>,
    via: Via,
    provenance: &mut Provenance,
) -> Result<Option<StageTracer>, RunError> {
    match loaded {
        Ok(tracer) => Ok(Some(tracer)),
        // The chain through a softirq callback is made of BPF: without it there is nothing to measure.
        Err(refused) if via == Via::Softirq => Err(refused.into()),
        Err(refused) => {
            provenance.fallbacks.push(format!("stages are not split, only the total is measured ({refused})"));
            Ok(None)
        }
    }
}

fn hold_machine(plan: &Plan, provenance: &mut Provenance) -> Option<PowerRequest> {
    // With a small limit, locking would make later allocations fail.
    let locked = if limits::may_lock_memory() {
        hold::lock_memory()
    } else {
        Err(Refused::because("locking memory", "this user's limit is too small: it needs CAP_IPC_LOCK"))
    };
    provenance.configuration.memory_locked = locked.is_ok();
    if let Err(refused) = locked {
        provenance.fallbacks.push(format!("memory is not locked, page faults may add to lateness ({refused})"));
    }
    if !plan.power_request {
        return None;
    }
    match PowerRequest::hold() {
        Ok(request) => {
            provenance.configuration.power_request = true;
            Some(request)
        }
        Err(refused) => {
            let note = format!("processors are not kept from deep idle states, which may add to lateness ({refused})");
            provenance.fallbacks.push(note);
            None
        }
    }
}

fn spawn_threads(
    plan: &Plan,
    cpus: &[u32],
    schedulings: &[Scheduling],
    control: &Arc<Control>,
    provenance: &mut Provenance,
) -> Result<(Vec<Measured>, Vec<Task>), RunError> {
    let may_pin = plan.policy != Policy::Deadline;
    if !may_pin {
        provenance.fallbacks.push("SCHED_DEADLINE threads cannot be pinned: they run on any CPU".to_owned());
    }
    let count = cpus.len() * schedulings.len();
    let capacity = (QUEUE_NS / plan.interval_ns.max(1)).clamp(1 << 12, 1 << 18) as usize;
    let (mut measured, mut tasks) = (Vec::new(), Vec::new());
    for (index, (cpu, scheduling)) in
        cpus.iter().flat_map(|cpu| schedulings.iter().map(move |scheduling| (*cpu, *scheduling))).enumerate()
    {
        let (mut producer, mut queue) = RingBuffer::<Sample>::new(capacity);
        // Touch every page of the queue now, not while measuring.
        while producer.push(Sample::default()).is_ok() {}
        while queue.pop().is_ok() {}
        let counts = Arc::new(ThreadCounts::default());
        let setup = Setup {
            scheduling,
            cpu: may_pin.then_some(cpu),
            interval_ns: plan.interval_ns,
            offset_ns: plan.interval_ns / count as u64 * index as u64,
            break_ns: plan.break_ns.unwrap_or(u64::MAX),
            queue: producer,
            control: Arc::clone(control),
            counts: Arc::clone(&counts),
        };
        let name = format!("measure-{cpu}");
        let thread = MeasuringThread::spawn(name.clone(), setup)
            .map_err(|error| Refused::because("starting a measuring thread", error.to_string()))?;
        let ready = thread.ready().ok_or_else(|| Refused::because("starting a measuring thread", "it ended early"))?;
        if let Some(refused) = ready.not_pinned {
            return Err(refused.into());
        }
        if let Some(refused) = ready.refused {
            let remedy = match scheduling {
                Scheduling::Deadline { .. } => "it needs root, and a control group that admits it".to_owned(),
                _ => capabilities::real_time_remedy(),
            };
            let why = format!("not {scheduling} ({refused}; {remedy})");
            note(provenance, format!("measured at normal priority, {why}"));
            provenance.normal_priority.get_or_insert(why);
        }
        tasks.push(Task {
            measure: ready.scheduling.to_string(),
            tid: ready.tid,
            cpu: may_pin.then_some(cpu),
            period_ns: plan.interval_ns,
            counters: Counters { missed: Some(0), ..Counters::default() },
        });
        let scheduling = ready.scheduling;
        measured.push(Measured { thread, queue, counts, tid: ready.tid, name, cpu, scheduling, slot: None });
    }
    Ok((measured, tasks))
}

fn equip(
    plan: &Plan,
    tracer: Option<StageTracer>,
    recorder: Option<&FlightRecorder>,
    measured: &[Measured],
    provenance: &mut Provenance,
) -> Result<(Option<StageTracer>, Vec<Equipment>), RunError> {
    let clock_only = || measured.iter().map(|_| Equipment::default()).collect();
    let Some(mut tracer) = tracer else { return Ok((None, clock_only())) };
    let mut prepare = || -> Result<Vec<Equipment>, Refused> {
        let mut equipment = Vec::new();
        for thread in measured {
            let slot = tracer.add(thread.tid)?;
            let softirq = match plan.via {
                Via::Timer => None,
                Via::Softirq => Some(tracer.add_softirq(slot.number())?),
            };
            equipment.push(Equipment { slot: Some(slot), softirq, resting: None });
        }
        tracer.attach_beside(recorder)?;
        Ok(equipment)
    };
    match prepare() {
        Ok(equipment) => Ok((Some(tracer), equipment)),
        Err(refused) if plan.via == Via::Softirq => Err(refused.into()),
        Err(refused) => {
            note(provenance, format!("stages are not split, only the total is measured ({refused})"));
            Ok((None, clock_only()))
        }
    }
}

/// Below the threads of each CPU: whether they leave some of it.
fn leave_room(cpus: &[u32], measured: &[Measured], equipment: &mut [Equipment]) -> Result<Vec<RoomBelow>, Refused> {
    let mut rooms = Vec::new();
    for cpu in cpus {
        let on_it = |thread: &&Measured| thread.cpu == *cpu;
        let Some(below) = RoomBelow::start(*cpu, measured.iter().filter(on_it).map(|thread| thread.scheduling))? else {
            continue;
        };
        for (thread, equipment) in measured.iter().zip(&mut *equipment) {
            if on_it(&thread) && thread.scheduling.is_real_time() {
                equipment.resting = Some(Resting::new(below.room(), Times::Each));
            }
        }
        rooms.push(below);
    }
    Ok(rooms)
}

fn note_blindness(provenance: &mut Provenance, steal_known: bool, recorder: Option<&FlightRecorder>) {
    let mut blind = Vec::new();
    if let Some(recorder) = recorder {
        if recorder.clock() == Some("cpu-clock") {
            blind.push("the inside of code that has interrupts off: the sampling clock is an interrupt itself");
        }
    } else if provenance.configuration.bpf {
        blind.push("who made a wakeup late: stages say where, not who");
        blind.push("code that runs with interrupts off: it shows only as a long irq stage");
    }
    if !provenance.configuration.bpf {
        blind.push("the stages of a wakeup: only the total is measured");
    }
    if provenance.host.virtualization.as_deref() != Some("none") && !steal_known {
        blind.push(steal::blindness());
    }
    provenance.blind.splice(0..0, blind.into_iter().map(str::to_owned));
    provenance.blind.extend(recorder.map(FlightRecorder::blind).unwrap_or_default());
}

struct Rounds<'a> {
    plan: &'a Plan,
    start: u64,
    fallbacks: &'a [String],
    cpus: &'a [u32],
    times_before: Option<CpuTimes>,
    /// CPU time that this process had used at the start, ns.
    cpu_before_ns: u64,
    steal_known: bool,
    tracer: Option<StageTracer>,
    watch: Option<&'a mut Watch>,
    /// The wakeups that this round brought.
    finished: Vec<Wakeup>,
    /// Whether the program was stopped before anybody asked it to end.
    was_stopped: bool,
}

impl Rounds<'_> {
    fn until_the_end(
        &mut self,
        control: &Control,
        measured: &mut [Measured],
        writer: &mut Writer,
        observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
    ) -> punctual_recording::Result<Ended> {
        let ended = |reason, detail| Ended { reason, detail, at_ns: 0 };
        let mut flushed = Instant::now();
        loop {
            control.beat();
            self.was_stopped |= ending::take_continued();
            self.take(measured, writer);
            if let Some(watch) = &mut self.watch {
                watch.round()?;
            }
            if flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                self.count(measured, writer);
                writer.flush()?;
            }
            if control.is_breached() {
                return Ok(ended(EndReason::LimitExceeded, None));
            }
            if control.is_starved() {
                let detail =
                    "the measuring threads left the rest of the program no CPU time for 5 s: use a longer interval";
                return Ok(ended(EndReason::Watchdog, Some(detail.to_owned())));
            }
            if measured.iter().all(|thread| thread.thread.is_finished()) {
                return Ok(ended(EndReason::Completed, None));
            }
            if let Step::Stop(reason, detail) = observe(&mut self.observation(writer)) {
                return Ok(ended(reason, detail));
            }
            std::thread::sleep(if self.watch.is_some() { WATCHED_ROUND } else { ROUND });
        }
    }

    fn observation<'a>(&'a self, writer: &'a mut Writer) -> Observation<'a> {
        Observation {
            fallbacks: self.fallbacks,
            finished: &self.finished,
            ..Observation::now(self.plan, self.start, writer)
        }
    }

    fn take(&mut self, measured: &mut [Measured], writer: &mut Writer) {
        self.finished.clear();
        for (index, thread) in measured.iter_mut().enumerate() {
            while let Ok(sample) = thread.queue.pop() {
                let wakeup = sample.wakeup(thread.tid, self.steal_known);
                self.finished.push(wakeup);
                if let Some(watch) = &mut self.watch {
                    watch.wakeup(&wakeup, &thread.name, thread.scheduling.kernel_priority());
                }
                writer.push(index, &wakeup);
            }
        }
    }

    /// Threads end after their next wakeup; one that sleeps for long is left to sleep.
    fn wait_for_threads(&mut self, measured: &mut [Measured], writer: &mut Writer) {
        let patience = Duration::from_nanos(self.plan.interval_ns.saturating_mul(2)).min(Duration::from_millis(300))
            + Duration::from_millis(50);
        let asked = Instant::now();
        while asked.elapsed() < patience && !measured.iter().all(|thread| thread.thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.take(measured, writer);
    }

    /// Notes what made punctual's own threads late meanwhile.
    fn note_what_happened(&self, control: &Control, writer: &mut Writer) {
        let was_stopped = self.was_stopped || ending::take_continued();
        let happened = [(control.rests() > 0, THREADS_RESTED), (was_stopped, WAS_STOPPED)];
        let notes = happened.iter().filter(|(is_so, _)| *is_so).map(|(_, note)| (*note).to_owned());
        writer.provenance_mut().fallbacks.extend(notes);
    }

    /// How it ended: a run in which much never came has failed, whatever ended it, except the watchdog.
    fn unless_much_never_came(&self, ended: Ended, measured: &[Measured], writer: &Writer) -> Ended {
        match self.what_never_came(measured, writer) {
            Some(detail) if ended.reason != EndReason::Watchdog => {
                Ended { reason: EndReason::Failed, detail: Some(detail), at_ns: 0 }
            }
            _ => ended,
        }
    }

    /// In a chain through a softirq callback: what was due and never came, in words.
    fn what_never_came(&self, measured: &[Measured], writer: &Writer) -> Option<String> {
        let tracer = self.tracer.as_ref().filter(|_| self.plan.via == Via::Softirq)?;
        let sum = |count: fn(&ThreadCounts) -> &AtomicU64| -> u64 {
            measured.iter().map(|thread| count(&thread.counts).load(Ordering::Relaxed)).sum()
        };
        let counts = ChainCounts {
            wakeups: writer.totals().counters.wakeups,
            unobserved: sum(|counts| &counts.unobserved),
            never_woken: sum(|counts| &counts.never_woken),
            callbacks: tracer.callbacks(),
        };
        counts.trouble()
    }

    fn count(&self, measured: &[Measured], writer: &mut Writer) {
        let mut threads_ns = 0;
        for (index, thread) in measured.iter().enumerate() {
            let at_end = thread.counts.cpu_ns.load(Ordering::Relaxed);
            let cpu_ns = if at_end > 0 { at_end } else { thread.counts.measuring_ns(cpu_time_ns(thread.tid)) };
            threads_ns += cpu_ns;
            let lost = thread.counts.lost.load(Ordering::Relaxed);
            writer.set_thread_counts(index, lost, thread.counts.unobserved.load(Ordering::Relaxed), cpu_ns);
            let armed_late =
                self.tracer.as_ref().zip(thread.slot).map(|(tracer, slot)| tracer.armed_late(slot as usize));
            writer.set_activations(index, armed_late, thread.counts.untold.load(Ordering::Relaxed));
        }
        count_cpu_times(self.cpus, self.times_before, writer);
        writer.set_own_time(clock::process_cpu_ns().saturating_sub(self.cpu_before_ns.saturating_add(threads_ns)));
    }
}

/// CPU time that a thread of this process has used so far, ns.
fn cpu_time_ns(tid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}
