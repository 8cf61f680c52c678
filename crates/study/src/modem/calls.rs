//! The calls of one attempt: modems that call at the same moment, each served by a thread of its own.

mod interrupts;

use super::live_plan::LivePlan;
use crate::StudyError;
use punctual_context::Context;
use punctual_context::device::{Competing, enter};
use punctual_kernel::other_thread::Before;
use punctual_kernel::reservation_watch::{Freed, ReservationWatch};
use punctual_kernel::rests::{Resting, RoomBelow, Times};
use punctual_kernel::scheduling::{Scheduling, allowed_cpus};
use punctual_kernel::{Refused, clock, steal};
use punctual_modem::adapter::time_of;
use punctual_modem::end::Pump;
use punctual_modem::experiment::Step;
use punctual_modem::transfer::{Attempt, Course, LiveAttempt};
use punctual_modem::virtual_time::Live;
use punctual_probe::RunError;
use punctual_recording::NOT_SERVED;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often progress is reported.
const ROUND: Duration = Duration::from_millis(50);
/// How often a thread that is ready checks whether its call begins.
const WAITING: Duration = Duration::from_micros(500);

/// A call that is over.
pub(super) struct OneCall {
    pub(super) attempt: Attempt,
    pub(super) course: Course,
    pub(super) beside: LiveAttempt,
    /// What is to be said of it.
    pub(super) note: Option<String>,
}

/// What all threads of an attempt are told.
#[derive(Default)]
struct Common {
    stop: AtomicBool,
    /// When the receivers were lifted, ns of `CLOCK_MONOTONIC`; 0: not yet.
    began_ns: AtomicU64,
    /// For each CPU, the thread below those of real-time priority.
    rooms: OnceLock<BTreeMap<u32, RoomBelow>>,
}

/// What a thread reports about its call.
#[derive(Default)]
struct Told {
    is_over: AtomicBool,
    arrived: AtomicU64,
    line_ns: AtomicU64,
    /// The thread's number, once it runs.
    tid: AtomicU32,
}

struct Calling {
    told: Arc<Told>,
    handle: JoinHandle<Option<OneCall>>,
}

impl Calling {
    /// Whether its call goes on. A thread that panics says nothing more.
    fn is_going(&self) -> bool {
        !self.told.is_over.load(Relaxed) && !self.handle.is_finished()
    }
}

/// Calls in progress.
pub(super) struct Calls {
    common: Arc<Common>,
    calling: Vec<Calling>,
    refused: Vec<(u32, String)>,
    competing: Competing,
    of: u32,
    done: u32,
}

impl Calls {
    /// Puts a thread for each modem into its context, and lifts all receivers at once.
    pub(super) fn begin(plan: &LivePlan, done: u32, bytes: &[u8]) -> Result<Calls, StudyError> {
        let common = Arc::new(Common::default());
        let (mut calling, mut refused, mut first) = (Vec::new(), Vec::new(), None);
        let mut above = None;
        for modem in 0..plan.modems {
            match start(plan, done, modem, bytes, &common) {
                Ok((scheduling, started)) => {
                    above.get_or_insert(scheduling);
                    calling.push(started);
                }
                Err(error) => {
                    refused.push((modem, error.to_string()));
                    first.get_or_insert(error);
                }
            }
        }
        let begun = match first.filter(|_| calling.is_empty()) {
            Some(error) => Err(error),
            None => begin_all(plan, bytes, above, &common),
        };
        match begun {
            Ok(competing) => {
                let of = plan.experiment.attempts;
                Ok(Calls { common, calling, refused, competing, of, done })
            }
            Err(error) => {
                common.stop.store(true, Relaxed);
                calling.into_iter().for_each(|calling| drop(calling.handle.join()));
                Err(StudyError::Run(RunError::Refused(error)))
            }
        }
    }

    /// The modems that could not take part, and why.
    pub(super) fn take_refused(&mut self) -> Vec<(u32, String)> {
        std::mem::take(&mut self.refused)
    }

    /// Waits until all calls are over; returns none if `progress` said not to go on.
    pub(super) fn wait(self, progress: &mut dyn FnMut(Step) -> bool) -> Result<Option<Vec<OneCall>>, StudyError> {
        let Calls { common, calling, competing, of, done, .. } = self;
        let mut watch = ReservationWatch::default();
        for now in calling.iter().filter_map(|calling| Before::of(calling.told.tid.load(Relaxed)).ok()) {
            watch.begin(&now, now.scheduling);
        }
        let mut not_served: BTreeMap<u32, Freed> = BTreeMap::new();
        let mut go_on = true;
        while calling.iter().any(Calling::is_going) {
            // The one that has got least far.
            let least = |of: fn(&Told) -> &AtomicU64| {
                let going = calling.iter().filter(|calling| calling.is_going());
                going.map(|calling| of(&calling.told).load(Relaxed)).min().unwrap_or(0)
            };
            let (bytes, line_ns) = (least(|told| &told.arrived) as usize, least(|told| &told.line_ns));
            go_on = go_on && progress(Step { done, of, bytes, line_ns });
            if !go_on {
                common.stop.store(true, Relaxed);
            }
            // Its call would never be over.
            not_served.extend(watch.look().into_iter().map(|stuck| (stuck.tid, stuck.freed)));
            std::thread::sleep(ROUND);
        }
        drop(competing);
        let mut over = Vec::new();
        for Calling { told, handle } in calling {
            let mut came = handle.join().map_err(|_| StudyError::Run(RunError::Refused(ended_early())))?;
            if let Some((call, freed)) = came.as_mut().zip(not_served.get(&told.tid.load(Relaxed))) {
                let what = if *freed == Freed::SetAnew { "set anew" } else { "given back" };
                call.note.get_or_insert_with(|| format!("{NOT_SERVED}; it was {what}"));
            }
            over.extend(came);
        }
        Ok(go_on.then_some(over))
    }
}

fn ended_early() -> Refused {
    Refused::because("running a modem's thread", "it ended early")
}

/// Starts what competes, and what keeps real-time threads from taking all of a CPU, and then the calls.
fn begin_all(plan: &LivePlan, bytes: &[u8], above: Option<Scheduling>, common: &Common) -> Result<Competing, Refused> {
    let mut rooms = BTreeMap::new();
    for &cpu in &plan.cpus {
        if let Some(room) = RoomBelow::start(cpu, above)? {
            rooms.insert(cpu, room);
        }
    }
    let _ = common.rooms.set(rooms);
    let limit_ns = time_of(plan.experiment.plan(bytes).limit);
    let end_ns = clock::monotonic_ns() + limit_ns + 1_000_000_000;
    let competing = Competing::start(&plan.competitors, &cpus_of(plan), end_ns)?;
    common.began_ns.store(clock::monotonic_ns(), Relaxed);
    Ok(competing)
}

/// Where its threads may run.
fn cpus_of(plan: &LivePlan) -> Vec<u32> {
    // A reservation's thread may move to any CPU.
    if matches!(plan.context, Context::Reservation(_)) { allowed_cpus() } else { plan.cpus.clone() }
}

/// Starts the thread of a modem, which waits for its call to begin.
fn start(
    plan: &LivePlan,
    done: u32,
    modem: u32,
    bytes: &[u8],
    common: &Arc<Common>,
) -> Result<(Scheduling, Calling), Refused> {
    let experiment = plan.experiment;
    let seed = experiment.seed.wrapping_add(u64::from(done) * u64::from(plan.modems) + u64::from(modem));
    let cpu = plan.cpus[modem as usize % plan.cpus.len()];
    let context = plan.context;
    let serving = Serving {
        // For a thread that may run anywhere, everything that the host takes may be taken from it.
        cpus: if matches!(context, Context::Reservation(_)) { allowed_cpus() } else { vec![cpu] },
        compute_ns: experiment.setup.compute_ns,
        beside: LiveAttempt { attempt: done, modem, cpu, ..LiveAttempt::default() },
        common: Arc::clone(common),
        told: Arc::new(Told::default()),
    };
    let told = Arc::clone(&serving.told);
    let (tell, entered) = mpsc::channel();
    let (telephone, call) = (experiment.telephone, experiment.plan(bytes));
    let theirs = plan.pumps;
    let is_ours_here = !context.is_in_kernel() && theirs.is_none();
    let live = is_ours_here.then(|| Live::new(&telephone, call, seed, bytes));
    // The kernel's part of a call, and others' datapumps, belong to the thread that makes the call.
    let bytes = if live.is_none() { bytes.to_vec() } else { Vec::new() };
    let body = move || {
        let its = Arc::clone(&serving.told);
        its.tid.store(clock::thread_id(), Relaxed);
        let came = match (live, theirs.map(|make| make())) {
            (Some(live), _) => serving.enter_and_serve(context, &tell, live),
            (None, Some(Some(pumps))) => {
                serving.enter_and_serve(context, &tell, Live::over(pumps, &telephone, call, seed, &bytes))
            }
            (None, Some(None)) => {
                let _ = tell.send(Err(Refused::because("making others' datapumps", "there is no memory for them")));
                None
            }
            (None, None) => interrupts::enter_and_serve(serving, context, &tell, (&telephone, call, seed), &bytes),
        };
        its.is_over.store(true, Relaxed);
        came
    };
    let doing = "starting a modem's thread";
    let spawned = std::thread::Builder::new().name("modem".to_owned()).stack_size(1 << 20).spawn(body);
    let handle = spawned.map_err(|error| Refused::because(doing, error.to_string()))?;
    let scheduling = entered.recv().map_err(|_| ended_early())??;
    Ok((scheduling, Calling { told, handle }))
}

/// A thread that works for a modem.
struct Serving {
    cpus: Vec<u32>,
    compute_ns: u64,
    beside: LiveAttempt,
    common: Arc<Common>,
    told: Arc<Told>,
}

/// What the host took while underruns came.
struct Host {
    before: Option<u64>,
    seen: Option<u64>,
    underruns: u64,
}

impl Host {
    fn begin(cpus: &[u32]) -> Host {
        let before = steal::steal_ns(cpus);
        Host { before, seen: before, underruns: 0 }
    }

    /// So many underruns were counted by now.
    fn look(&mut self, cpus: &[u32], underruns: u64, beside: &mut LiveAttempt) {
        if underruns > self.underruns {
            let now = steal::steal_ns(cpus);
            let took = now.zip(self.seen).is_some_and(|(now, before)| now > before);
            beside.underruns_by_host += if took { underruns - self.underruns } else { 0 };
            (self.underruns, self.seen) = (underruns, now);
        }
    }

    /// What it took in all.
    fn took(&self, cpus: &[u32]) -> Option<u64> {
        steal::steal_ns(cpus).zip(self.before).map(|(now, before)| now.saturating_sub(before))
    }
}

impl Serving {
    /// Takes up the context, tells how that is scheduled, and makes the call.
    fn enter_and_serve<P: Pump>(
        self,
        context: Context,
        tell: &mpsc::Sender<Result<Scheduling, Refused>>,
        live: Live<P>,
    ) -> Option<OneCall> {
        let scheduling = enter(context, self.beside.cpu);
        let has_entered = scheduling.is_ok();
        let _ = tell.send(scheduling);
        if has_entered { self.wait_and_serve(live) } else { None }
    }

    fn wait_and_serve<P: Pump>(self, live: Live<P>) -> Option<OneCall> {
        loop {
            let began_ns = self.common.began_ns.load(Relaxed);
            if self.common.stop.load(Relaxed) {
                return None;
            }
            if began_ns > 0 {
                let room = self.common.rooms.get().and_then(|rooms| rooms.get(&self.beside.cpu));
                let resting = room.map(|below| Resting::new(below.room(), Times::EveryOther));
                return Some(self.serve(live, resting, began_ns));
            }
            std::thread::sleep(WAITING);
        }
    }

    /// One block after another, each when it is complete, until the call is over.
    fn serve<P: Pump>(mut self, mut live: Live<P>, mut resting: Option<Resting>, began_ns: u64) -> OneCall {
        let since = || clock::monotonic_ns().saturating_sub(began_ns);
        let mut host = Host::begin(&self.cpus);
        let beside = &mut self.beside;
        let executed_before = clock::thread_cpu_ns();
        let mut rest = || {
            if let Some(rest_end) = resting.as_mut().and_then(|resting| resting.works_on(clock::monotonic_ns())) {
                clock::sleep_until(rest_end);
            }
        };
        while !self.common.stop.load(Relaxed) {
            let cpu_before = clock::thread_cpu_ns();
            catch_up(&mut live, since(), &mut rest);
            let at = since();
            if live.advance(at).is_some() {
                break;
            }
            self.told.arrived.store(live.arrived() as u64, Relaxed);
            self.told.line_ns.store(at, Relaxed);
            let Some(complete_ns) = live.begin(at) else {
                clock::sleep_until(began_ns + live.next_block_ns());
                continue;
            };
            beside.max_late_ns = beside.max_late_ns.max(at.saturating_sub(complete_ns));
            let pump_before = clock::thread_cpu_ns();
            live.work();
            beside.datapump_ns += clock::thread_cpu_ns() - pump_before;
            // The rest of a block's work: a datapump of the paper's own size would take more or less time than the paper's did.
            while clock::thread_cpu_ns() - cpu_before < self.compute_ns && !self.common.stop.load(Relaxed) {
                std::hint::spin_loop();
                rest();
            }
            catch_up(&mut live, since(), &mut rest);
            let ended = live.complete(since());
            beside.activations += 1;
            beside.note_pending(live.adapter().pending(since()));
            host.look(&self.cpus, live.counters().underruns, beside);
            if ended.is_some() {
                break;
            }
        }
        beside.elapsed_ns = since();
        beside.executed_ns = clock::thread_cpu_ns() - executed_before;
        beside.host_ns = host.took(&self.cpus);
        let (attempt, course) = (live.attempt(), live.course().clone());
        OneCall { attempt, course, beside: self.beside, note: None }
    }
}

/// The line goes on until then, a block at a time: after a long absence that is work for a while.
fn catch_up<P: Pump>(live: &mut Live<P>, until_ns: u64, rest: &mut dyn FnMut()) {
    rest();
    while live.next_block_ns() < until_ns && live.advance(live.next_block_ns()).is_none() {
        rest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_thread_that_panics_ends_the_wait_for_its_call() {
        let handle = std::thread::spawn(|| -> Option<OneCall> { std::panic::resume_unwind(Box::new("on purpose")) });
        let calling = Calling { told: Arc::default(), handle };
        let until = Instant::now() + Duration::from_secs(20);
        while calling.is_going() {
            assert!(Instant::now() < until, "it counts as going on");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(calling.handle.join().is_err());
    }
}
