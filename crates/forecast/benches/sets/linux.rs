//! The rules by which Linux serves deadline tasks and fixed priorities, tick by tick, as plainly as can be: nothing of the analysis.
//!
//! - `SCHED_DEADLINE`: of all that may run, the `cpus` with the earliest deadlines do (global EDF over a root domain). A thread that wakes
//!   gets a new deadline (now + D) and its whole budget if its old deadline is over or what is left of the budget until then would be more than its
//!   density (`update_dl_entity`, `dl_entity_overflow`); otherwise it goes on with what is left, and with D < T with no more
//!   than its density until the deadline (`update_dl_revised_wakeup`). One with D < T that wakes between its deadline and its next period waits
//!   for that (`dl_check_constrained_dl`). One without budget waits for its next period (`start_dl_timer`, `replenish_dl_entity`).
//! - `SCHED_FIFO`: bound to a CPU, below all deadlines; equal priorities in the order of their waking, one that was
//!   preempted at their head.
//! - Work that cannot be preempted holds a CPU from the start of a run on, before everything.

use std::collections::VecDeque;

/// A job's release and length, ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// When it should be released: its deadline counts from here.
    pub(crate) nominal: u64,
    /// When it is released: when its thread wakes.
    pub(crate) wakes: u64,
    /// How long it computes.
    pub(crate) work: u64,
}

/// A thread.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    /// `None`: `SCHED_DEADLINE`, with `budget` in every `period`.
    pub(crate) priority: Option<u32>,
    /// The CPU it is bound to; for a deadline thread in a root domain of its own.
    pub(crate) cpu: usize,
    /// Its runtime, ticks.
    pub(crate) budget: u64,
    /// Its relative deadline, ticks.
    pub(crate) deadline: u64,
    /// Its period, ticks.
    pub(crate) period: u64,
    /// Its jobs in the order of their waking.
    pub(crate) jobs: Vec<Job>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Server {
    deadline: u64,
    left: u64,
    /// Without budget, or waiting for its period, until then.
    until: Option<u64>,
    has_begun: bool,
}

/// What happens besides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    /// CPUs of the machine.
    pub(crate) cpus: usize,
    /// Whether deadline threads run on any of them; else on their own.
    pub(crate) is_global: bool,
    /// From when until when no thread runs on any CPU.
    pub(crate) blocked: (u64, u64),
    /// Of those that wake in one tick this one is the last.
    pub(crate) last: usize,
    /// How long is played.
    pub(crate) ticks: u64,
}

/// How late each thread's latest job was done, from its nominal release; `u64::MAX` for one that was not done although its deadline was over.
#[expect(clippy::too_many_lines, reason = "the rules of one tick, in the order in which the kernel applies them")]
pub(crate) fn play(threads: &[Thread], circumstances: Circumstances) -> Vec<u64> {
    let Circumstances { cpus, is_global, blocked, last, ticks } = circumstances;
    let mut order: Vec<usize> = (0..threads.len()).collect();
    order.sort_by_key(|&index| index == last);
    let count = threads.len();
    let mut next = vec![0usize; count];
    let mut pending: Vec<VecDeque<(u64, u64, u64)>> = vec![VecDeque::new(); count];
    let mut servers = vec![Server::default(); count];
    // For each CPU and priority, the order of waking.
    let mut woken = vec![u64::MAX; count];
    let mut sequence = 0u64;
    let mut worst = vec![0u64; count];
    for now in 0..ticks {
        for &index in &order {
            let thread = &threads[index];
            let was_idle = pending[index].is_empty();
            while let Some(job) = thread.jobs.get(next[index]).filter(|job| job.wakes <= now) {
                pending[index].push_back((job.nominal, job.work, thread.deadline));
                next[index] += 1;
            }
            if was_idle && !pending[index].is_empty() {
                sequence += 1;
                woken[index] = sequence;
                if thread.priority.is_none() {
                    wake(&mut servers[index], thread, now);
                }
            }
            let server = &mut servers[index];
            if let Some(until) = server.until.filter(|&until| until <= now) {
                server.until = None;
                // A period's budget, and the deadline a period later.
                server.deadline = until + thread.deadline;
                server.left = thread.budget;
            }
        }
        if (blocked.0..blocked.1).contains(&now) {
            continue;
        }
        let mut free: Vec<bool> = vec![true; cpus];
        let mut ready: Vec<usize> = (0..count)
            .filter(|&index| {
                threads[index].priority.is_none() && !pending[index].is_empty() && servers[index].until.is_none()
            })
            .collect();
        ready.sort_by_key(|&index| (servers[index].deadline, index == last, index));
        let mut running = Vec::new();
        for index in ready {
            let place = if is_global { free.iter().rposition(|free| *free) } else { Some(threads[index].cpu) };
            if let Some(place) = place.filter(|&place| free[place]) {
                free[place] = false;
                running.push(index);
            }
        }
        for cpu in (0..cpus).filter(|&cpu| free[cpu]) {
            let here = (0..count).filter(|&index| {
                threads[index].priority.is_some() && threads[index].cpu == cpu && !pending[index].is_empty()
            });
            running.extend(here.max_by_key(|&index| (threads[index].priority, u64::MAX - woken[index])));
        }
        for index in running {
            let Some(front) = pending[index].front_mut() else { continue };
            front.1 -= 1;
            let done = (front.1 == 0).then_some(front.0);
            if let Some(nominal) = done {
                pending[index].pop_front();
                worst[index] = worst[index].max(now + 1 - nominal);
                // The next of a fixed priority that was already there comes behind those that woke meanwhile.
                sequence += 1;
                woken[index] = sequence;
            }
            if threads[index].priority.is_none() {
                let thread = &threads[index];
                let server = &mut servers[index];
                server.left = server.left.saturating_sub(1);
                if server.left == 0 {
                    server.until = Some((server.deadline - thread.deadline + thread.period).max(now + 1));
                    if pending[index].is_empty() {
                        // It sleeps; what it gets is settled when it wakes.
                        server.until = None;
                    }
                }
            }
        }
    }
    for (index, waiting) in pending.iter().enumerate() {
        if let Some((nominal, _, deadline)) = waiting.front()
            && nominal + deadline < ticks
        {
            worst[index] = u64::MAX;
        }
    }
    worst
}

fn wake(server: &mut Server, thread: &Thread, now: u64) {
    if !server.has_begun {
        *server = Server { deadline: now + thread.deadline, left: thread.budget, until: None, has_begun: true };
        return;
    }
    let next_period = server.deadline - thread.deadline + thread.period;
    if server.deadline <= now {
        if thread.deadline < thread.period && now < next_period {
            server.until = Some(next_period);
        } else {
            (server.deadline, server.left) = (now + thread.deadline, thread.budget);
        }
        return;
    }
    let laxity = server.deadline - now;
    // left / laxity > budget / deadline
    if u128::from(server.left) * u128::from(thread.deadline) > u128::from(thread.budget) * u128::from(laxity) {
        if thread.deadline < thread.period {
            server.left = (u128::from(thread.budget) * u128::from(laxity) / u128::from(thread.deadline)) as u64;
        } else {
            (server.deadline, server.left) = (now + thread.deadline, thread.budget);
        }
    }
    if server.left == 0 {
        server.until = Some((server.deadline - thread.deadline + thread.period).max(now));
        if server.until == Some(now) {
            server.until = None;
            (server.deadline, server.left) = (now + thread.deadline, thread.budget);
        }
    }
}
