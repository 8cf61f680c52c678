//! The rules by which Linux serves deadline tasks and fixed priorities, played from event to event as plainly as
//! possible: they use nothing of the analysis.
//!
//! - `SCHED_DEADLINE`: of all threads that may run, the `cpus` with the earliest deadlines do (global EDF over a root
//!   domain). A thread that wakes gets a new deadline (now + D) and its whole budget if its old deadline is over or
//!   what is left of the budget until then would be more than its density (`update_dl_entity`, `dl_entity_overflow`);
//!   otherwise it continues with what is left, and if D < T with no more than its density until the deadline
//!   (`update_dl_revised_wakeup`). A thread with D < T that wakes between its deadline and its next period waits for
//!   that period (`dl_check_constrained_dl`). A thread without budget waits for its next period (`start_dl_timer`,
//!   `replenish_dl_entity`).
//! - `SCHED_FIFO`: bound to a CPU, below all deadlines; equal priorities run in the order of their waking. A thread
//!   that was preempted stays at their head, and a thread that finishes when its next job is already there continues
//!   with that job.
//! - Work that cannot be preempted holds a CPU from the start of a run, ahead of everything.

use std::collections::VecDeque;
use std::ops::Range;

/// A job's release and length, ns.
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
    /// Its runtime, ns.
    pub(crate) budget: u64,
    /// Its relative deadline, ns.
    pub(crate) deadline: u64,
    /// Its period, ns.
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

/// What else happens.
#[derive(Debug, Clone)]
pub(crate) struct Circumstances {
    /// CPUs of the machine.
    pub(crate) cpus: usize,
    /// Whether deadline threads run on any of them; otherwise on their own.
    pub(crate) is_global: bool,
    /// The time in which no thread runs on any CPU.
    pub(crate) blocked: Range<u64>,
    /// Of the threads that wake at one instant, this one is the last.
    pub(crate) last: usize,
    /// The threads whose deadlines count.
    pub(crate) judged: Range<usize>,
    /// How long the schedule is played, ns.
    pub(crate) end: u64,
}

/// What becomes of a thread while it is played.
struct Played<'a> {
    thread: &'a Thread,
    next: usize,
    /// Nominal release and the work that is left.
    pending: VecDeque<(u64, u64)>,
    server: Server,
    /// Its place in the order of waking.
    woken: u64,
}

impl Played<'_> {
    fn is_ready(&self) -> bool {
        !self.pending.is_empty() && (self.thread.priority.is_some() || self.server.until.is_none())
    }

    /// The next thing that happens to it by itself.
    fn event(&self) -> Option<u64> {
        let wakes = self.thread.jobs.get(self.next).map(|job| job.wakes);
        [wakes, self.server.until].into_iter().flatten().min()
    }

    /// Wakes, and gets its budget again if it is time.
    fn begin(&mut self, now: u64, sequence: &mut u64) {
        let was_idle = self.pending.is_empty();
        while let Some(job) = self.thread.jobs.get(self.next).filter(|job| job.wakes <= now) {
            self.pending.push_back((job.nominal, job.work));
            self.next += 1;
        }
        if was_idle && !self.pending.is_empty() {
            *sequence += 1;
            self.woken = *sequence;
            if self.thread.priority.is_none() {
                wake(&mut self.server, self.thread, now);
            }
        }
        if let Some(until) = self.server.until.filter(|&until| until <= now) {
            // A period's budget, and the deadline a period later.
            let deadline = until + self.thread.deadline;
            self.server = Server { deadline, left: self.thread.budget, until: None, has_begun: true };
        }
    }

    /// How long it may run at most before something changes.
    fn stretch(&self) -> u64 {
        let work = self.pending.front().map_or(0, |front| front.1);
        if self.thread.priority.is_none() { work.min(self.server.left) } else { work }
    }

    /// Runs until `now`, and tells whether a job finishes late.
    fn run(&mut self, now: u64, length: u64) -> bool {
        let Some(front) = self.pending.front_mut() else { return false };
        front.1 -= length;
        let mut is_late = false;
        if front.1 == 0 {
            is_late = now > front.0 + self.thread.deadline;
            self.pending.pop_front();
        }
        if self.thread.priority.is_none() {
            self.server.left -= length;
            // A sleeping thread gets its share when it wakes.
            if self.server.left == 0 && !self.pending.is_empty() {
                self.server.until = Some(self.server.deadline - self.thread.deadline + self.thread.period);
            }
        }
        is_late
    }
}

/// Whether a job of the judged threads finishes later than its deadline from its nominal release, or not at all.
pub(crate) fn is_late(threads: &[Thread], circumstances: &Circumstances) -> bool {
    let Circumstances { blocked, last, judged, end, .. } = circumstances;
    let mut played: Vec<Played<'_>> = threads
        .iter()
        .map(|thread| Played { thread, next: 0, pending: VecDeque::new(), server: Server::default(), woken: u64::MAX })
        .collect();
    let (mut now, mut sequence) = (0, 0u64);
    while now < *end {
        for index in (0..played.len()).filter(|index| index != last).chain((*last < played.len()).then_some(*last)) {
            played[index].begin(now, &mut sequence);
        }
        let running = if blocked.contains(&now) { Vec::new() } else { running(&played, circumstances) };
        let edges = [blocked.start, blocked.end, *end].into_iter().filter(|&edge| edge > now);
        let events = played.iter().filter_map(Played::event).filter(|&event| event > now);
        let stretches = running.iter().map(|&index| now + played[index].stretch());
        let Some(then) = edges.chain(events).chain(stretches).min() else { break };
        for index in running {
            if played[index].run(then, then - now) && judged.contains(&index) {
                return true;
            }
        }
        now = then;
        let is_over = |played: &Played<'_>| {
            played.pending.front().is_some_and(|(nominal, _)| nominal + played.thread.deadline < now)
        };
        if played[judged.clone()].iter().any(is_over) {
            return true;
        }
    }
    false
}

/// Who runs, one on a CPU.
fn running(played: &[Played<'_>], circumstances: &Circumstances) -> Vec<usize> {
    let Circumstances { cpus, is_global, last, .. } = *circumstances;
    let is_deadline = |index: &usize| played[*index].thread.priority.is_none();
    let mut free: Vec<bool> = vec![true; cpus];
    let mut running = Vec::new();
    let mut ready: Vec<usize> =
        (0..played.len()).filter(is_deadline).filter(|&index| played[index].is_ready()).collect();
    ready.sort_by_key(|&index| (played[index].server.deadline, index == last, index));
    for index in ready {
        let place = if is_global { free.iter().rposition(|free| *free) } else { Some(played[index].thread.cpu) };
        if let Some(place) = place.filter(|&place| free[place]) {
            free[place] = false;
            running.push(index);
        }
    }
    for cpu in (0..cpus).filter(|&cpu| free[cpu]) {
        let here = (0..played.len()).filter(|index| {
            let found = &played[*index];
            !is_deadline(index) && found.thread.cpu == cpu && found.is_ready()
        });
        running.extend(here.max_by_key(|&index| (played[index].thread.priority, u64::MAX - played[index].woken)));
    }
    running
}

fn wake(server: &mut Server, thread: &Thread, now: u64) {
    let anew = Server { deadline: now + thread.deadline, left: thread.budget, until: None, has_begun: true };
    if !server.has_begun {
        *server = anew;
        return;
    }
    let next_period = server.deadline - thread.deadline + thread.period;
    if server.deadline <= now {
        if thread.deadline < thread.period && now < next_period {
            server.until = Some(next_period);
        } else {
            *server = anew;
        }
        return;
    }
    let laxity = server.deadline - now;
    let share = u128::from(thread.budget) * u128::from(laxity);
    // left / laxity > budget / deadline
    if u128::from(server.left) * u128::from(thread.deadline) > share {
        if thread.deadline < thread.period {
            server.left = (share / u128::from(thread.deadline)) as u64;
        } else {
            *server = anew;
            return;
        }
    }
    if server.left == 0 {
        server.until = Some(next_period);
    }
}
