//! Time constraints by chance: threads ask for them, work, and see whether they were done in time.

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
    /// So many time constraints in all.
    pub count: u32,
    /// By so many threads, each one at a time.
    pub threads: u32,
    /// Of the numbers by chance.
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
    /// Why it was refused. It tries all the same, with nothing promised.
    pub refusal: Option<String>,
    /// Whether the work was done at the deadline.
    pub is_met: bool,
    /// CPU time that it had got when it was done or its deadline was over, ns.
    pub got_ns: u64,
}

/// Between two constraints of a thread, ns.
const MAX_PAUSE_NS: u64 = 10_000_000;
/// Deadlines, from when it is asked, ns.
const WITHIN_NS: (u64, u64) = (4_000_000, 40_000_000);
/// CPU time, ns; at least half of the deadlines leave so much.
const ESTIMATE_NS: (u64, u64) = (200_000, 9_000_000);
/// Signals are looked for this often.
const ROUND: Duration = Duration::from_millis(50);

/// Asks for time constraints, of this process or of the one that serves already, and works for each whether it was granted or
/// not. `go_on` is asked now and then.
///
/// # Errors
/// Where nobody serves and this machine cannot be served, or whoever serves goes.
pub fn constraints(plan: &ConstraintsPlan, go_on: &mut dyn FnMut() -> bool) -> Result<Vec<Asked>, Refused> {
    let (_client, scheduler) = serving()?;
    let (left, is_over) = (AtomicU32::new(plan.count), AtomicBool::new(false));
    let all = std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for number in 0..plan.threads {
            let (sender, left, is_over) = (sender.clone(), &left, &is_over);
            let random = Random(plan.seed.wrapping_mul(1_000).wrapping_add(u64::from(number)));
            scope.spawn(move || {
                // Whoever fails ends them all.
                let asked = ask(random, left, is_over);
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

fn ask(mut random: Random, left: &AtomicU32, is_over: &AtomicBool) -> Result<Vec<Asked>, Refused> {
    let nobody = || Refused::because("asking for CPU time", "nobody serves");
    let mut client = Client::connect()?.ok_or_else(nobody)?;
    let thread = clock::thread_id();
    let mut asked = Vec::new();
    let take = |left: &AtomicU32| {
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
    };
    while !is_over.load(Ordering::Relaxed) && take(left) {
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

/// Takes so much CPU time, until the deadline at most: whether it was done then, and what it got.
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
