//! A file over a telephone line in real time: the calling end's datapump is worked on by a thread of this machine.
//!
//! The line and the far end are computed by the same thread when it comes, for the time that has passed: they are never late.
//! All of that together takes as much processor time a block as the plan says.

use punctual_context::Context;
use punctual_context::device::{Competing, Competitor, enter};
use punctual_kernel::rests::{Resting, RoomBelow, Times};
use punctual_kernel::scheduling::allowed_cpus;
use punctual_kernel::{Refused, clock, steal};
use punctual_modem::adapter::time_of;
use punctual_modem::experiment::{Experiment, Step};
use punctual_modem::transfer::{Attempt, LiveAttempt, Transfer};
use punctual_modem::virtual_time::Live;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

/// How often progress is told.
const ROUND: Duration = Duration::from_millis(50);

/// A file, and in which context it is received.
#[derive(Debug, Clone)]
pub struct LivePlan {
    /// The file, the modems, how often. Its slots and stalls are left alone.
    pub experiment: Experiment,
    /// Of the thread that works on the calling end's samples; none in the kernel.
    pub context: Context,
    /// Where it begins, and where what it competes with is.
    pub cpu: u32,
    /// What wants the CPU meanwhile.
    pub competitors: Vec<Competitor>,
}

/// What the thread and whoever waits for it tell each other.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    is_over: AtomicBool,
    arrived: AtomicU64,
    line_ns: AtomicU64,
}

/// Sends the file as often as was asked for. `progress` says whether to go on; if not, the attempts that are over are what
/// there is.
///
/// # Errors
/// What the kernel refused: a priority, a reservation.
pub fn transfer(
    plan: &LivePlan,
    bytes: &[u8],
    progress: &mut dyn FnMut(Step) -> bool,
) -> Result<(Transfer, Vec<LiveAttempt>), Refused> {
    let mut transfer = Transfer { bytes: bytes.len() as u64, attempts: Vec::new() };
    let mut beside = Vec::new();
    for done in 0..plan.experiment.attempts {
        let Some((attempt, live)) = attempt(plan, done, bytes, progress)? else { break };
        transfer.attempts.push(attempt);
        beside.push(live);
    }
    Ok((transfer, beside))
}

fn attempt(
    plan: &LivePlan,
    done: u32,
    bytes: &[u8],
    progress: &mut dyn FnMut(Step) -> bool,
) -> Result<Option<(Attempt, LiveAttempt)>, Refused> {
    let experiment = plan.experiment;
    let seed = experiment.seed.wrapping_add(u64::from(done));
    let call_plan = experiment.plan(bytes);
    let live = Live::new(&experiment.telephone, call_plan, seed, bytes);
    let shared = Arc::new(Shared::default());
    let (tell, told) = mpsc::channel();
    let (context, cpu, its) = (plan.context, plan.cpu, Arc::clone(&shared));
    // A reservation's thread may go to any CPU.
    let cpus = if matches!(context, Context::Reservation(_)) { allowed_cpus() } else { vec![cpu] };
    let its_cpus = cpus.clone();
    let body = move || {
        let entered = enter(context, cpu).and_then(|scheduling| RoomBelow::start(cpu, [scheduling]));
        let (below, entered) = match entered {
            Ok(below) => (Some(below), Ok(())),
            Err(refused) => (None, Err(refused)),
        };
        let _ = tell.send(entered);
        let came = below.map(|below| {
            let resting = below.as_ref().map(|below| Resting::new(below.room(), Times::EveryOther));
            serve(live, resting, &its_cpus, experiment.setup.compute_ns, &its)
        });
        its.is_over.store(true, Relaxed);
        came
    };
    let doing = "starting a modem's thread";
    let spawned = std::thread::Builder::new().name("modem".to_owned()).stack_size(1 << 20).spawn(body);
    let handle = spawned.map_err(|error| Refused::because(doing, error.to_string()))?;
    told.recv().map_err(|_| Refused::because(doing, "it ended early"))??;
    let end_ns = clock::monotonic_ns() + time_of(call_plan.limit) + 1_000_000_000;
    let competing = Competing::start(&plan.competitors, &cpus, end_ns);
    let mut go_on = competing.is_ok();
    while !shared.is_over.load(Relaxed) {
        let (bytes, line_ns) = (shared.arrived.load(Relaxed) as usize, shared.line_ns.load(Relaxed));
        go_on = go_on && progress(Step { done, of: experiment.attempts, bytes, line_ns });
        if !go_on {
            shared.stop.store(true, Relaxed);
        }
        std::thread::sleep(ROUND);
    }
    drop(competing?);
    let came = handle.join().map_err(|_| Refused::because(doing, "it ended early"))?;
    Ok(came.filter(|_| go_on))
}

/// The thread: one block after the other, each when it is complete, until the call is over.
fn serve(
    mut live: Live,
    mut resting: Option<Resting>,
    cpus: &[u32],
    compute_ns: u64,
    shared: &Shared,
) -> (Attempt, LiveAttempt) {
    let mut beside = LiveAttempt::default();
    let began_ns = clock::monotonic_ns();
    let since = || clock::monotonic_ns() - began_ns;
    let host = || steal::steal_ns(cpus);
    let host_before = host();
    let (mut host_seen, mut underruns) = (host_before, 0);
    let mut rest = || {
        if let Some(rest_end) = resting.as_mut().and_then(|resting| resting.works_on(clock::monotonic_ns())) {
            clock::sleep_until(rest_end);
        }
    };
    while !shared.stop.load(Relaxed) {
        let cpu_before = clock::thread_cpu_ns();
        catch_up(&mut live, since(), &mut rest);
        let at = since();
        if live.advance(at).is_some() {
            break;
        }
        shared.arrived.store(live.arrived() as u64, Relaxed);
        shared.line_ns.store(at, Relaxed);
        let Some(complete_ns) = live.begin(at) else {
            clock::sleep_until(began_ns + live.next_block_ns());
            continue;
        };
        beside.max_late_ns = beside.max_late_ns.max(at.saturating_sub(complete_ns));
        live.work();
        // The rest of a block's work: one of the datapump's own size would take longer than the paper's or less.
        while clock::thread_cpu_ns() - cpu_before < compute_ns && !shared.stop.load(Relaxed) {
            std::hint::spin_loop();
            rest();
        }
        catch_up(&mut live, since(), &mut rest);
        let ended = live.complete(since());
        beside.activations += 1;
        beside.note_pending(live.adapter().pending(since()));
        let counted = live.counters().underruns;
        if counted > underruns {
            let now = host();
            let took = now.zip(host_seen).is_some_and(|(now, before)| now > before);
            beside.underruns_by_host += if took { counted - underruns } else { 0 };
            (underruns, host_seen) = (counted, now);
        }
        if ended.is_some() {
            break;
        }
    }
    beside.executed_ns = clock::thread_cpu_ns();
    beside.host_ns = host().zip(host_before).map(|(now, before)| now.saturating_sub(before));
    (live.attempt(), beside)
}

/// The line goes on until then, a block at a time: after a long absence that is work for a while.
fn catch_up(live: &mut Live, until_ns: u64, rest: &mut dyn FnMut()) {
    rest();
    while live.next_block_ns() < until_ns && live.advance(live.next_block_ns()).is_none() {
        rest();
    }
}
