//! Random time constraints: threads ask for them, work, and see whether the work was done in time.

use super::serving;
use punctual_context::rialto::Client;
use punctual_kernel::{Refused, clock};
use punctual_random::Random;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct ConstraintsPlan {
    /// How many time constraints in all.
    pub count: u32,
    /// By how many threads, each with one at a time.
    pub threads: u32,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// A time constraint that was asked for, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// CPU time that the work takes, ns.
    pub estimate_ns: u64,
    /// From when it was asked for until its deadline, ns.
    pub within_ns: u64,
    /// From when it was asked for until that was decided, ns.
    pub decided_ns: u64,
    /// Why it was refused. The thread tries all the same, with nothing promised.
    pub refusal: Option<String>,
    /// Whether the work was done by the deadline.
    pub is_met: bool,
    /// CPU time that it had got when the work was done or the deadline had passed, ns.
    pub got_ns: u64,
}

/// The longest pause between two constraints of a thread, ns.
const MAX_PAUSE_NS: u64 = 10_000_000;
/// Deadlines, from the time of asking, ns.
const WITHIN_NS: (u64, u64) = (4_000_000, 40_000_000);
/// CPU time, ns; at least half of the deadlines leave this much.
const ESTIMATE_NS: (u64, u64) = (200_000, 9_000_000);
/// How often to check for signals.
const ROUND: Duration = Duration::from_millis(50);

/// Asks for time constraints, of this process or of the one that already serves, and works for each whether it was
/// granted or not. Asks `go_on` from time to time.
///
/// # Errors
/// If nobody serves and this machine cannot be served, or if the serving process goes away.
pub fn constraints(plan: &ConstraintsPlan, go_on: &mut dyn FnMut() -> bool) -> Result<Vec<Asked>, Refused> {
    let (_client, scheduler) = serving()?;
    let (begun, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    let all = std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for number in 0..plan.threads {
            let (sender, begun, is_over) = (sender.clone(), &begun, &is_over);
            let may_begin = move || begun.fetch_add(1, Ordering::Relaxed) < plan.count;
            let random = Random(plan.seed.wrapping_mul(1_000).wrapping_add(u64::from(number)));
            scope.spawn(move || {
                // One that fails ends them all.
                let asked = ask(random, may_begin, is_over);
                is_over.fetch_or(asked.is_err(), Ordering::Relaxed);
                let _ = sender.send(asked);
            });
        }
        drop(sender);
        let mut all = Vec::new();
        loop {
            match receiver.recv_timeout(ROUND) {
                Ok(asked) => all.push(asked),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break all,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    is_over.fetch_or(!go_on(), Ordering::Relaxed);
                }
            }
        }
    });
    drop(scheduler);
    let all: Vec<Vec<Asked>> = all.into_iter().collect::<Result<_, _>>()?;
    Ok(all.into_iter().flatten().collect())
}

fn ask(mut random: Random, may_begin: impl Fn() -> bool, is_over: &AtomicBool) -> Result<Vec<Asked>, Refused> {
    let nobody = || Refused::because("asking for CPU time", "nobody serves");
    let mut client = Client::connect()?.ok_or_else(nobody)?;
    let thread = clock::thread_id();
    let mut asked = Vec::new();
    while !is_over.load(Ordering::Relaxed) && may_begin() {
        clock::sleep_until(clock::monotonic_ns() + random.below(MAX_PAUSE_NS));
        let within_ns = random.between(WITHIN_NS.0, WITHIN_NS.1);
        let estimate_ns = random.between(ESTIMATE_NS.0, ESTIMATE_NS.1.min(within_ns));
        let began_ns = clock::monotonic_ns();
        let deadline_ns = began_ns + within_ns;
        let answered = client.constrain(thread, estimate_ns, deadline_ns)?;
        let (is_met, got_ns) = work(estimate_ns, deadline_ns);
        client.end()?;
        let decided_ns = answered.at_ns.saturating_sub(began_ns);
        asked.push(Asked { estimate_ns, within_ns, decided_ns, refusal: answered.refusal, is_met, got_ns });
    }
    Ok(asked)
}

/// Takes this much CPU time, until the deadline at most; returns whether it was done then, and what it got.
fn work(estimate_ns: u64, deadline_ns: u64) -> (bool, u64) {
    let began = clock::thread_cpu_ns();
    loop {
        let got = clock::thread_cpu_ns() - began;
        let is_over = clock::monotonic_ns() > deadline_ns;
        if got >= estimate_ns || is_over {
            return (got >= estimate_ns && !is_over, got);
        }
        for _ in 0..200 {
            std::hint::spin_loop();
        }
    }
}
