//! The schedules that are played for a set of a class.

use super::classes::{Class, PERIODS, TICK_NS, draw, within};
use super::linux::{Circumstances, Job, Thread, is_late};
use punctual_forecast::schedulability::{Policy, Reservation, Standing, Task, TaskSet, standing};
use punctual_random::Random;

/// Two hyperperiods of the sets and what comes before.
const TICKS: u64 = 320;
const END_NS: u64 = TICKS * TICK_NS;
/// Releases that are aimed at lie within this time from the start.
const AIMED_NS: u64 = 60 * TICK_NS;

/// What came of one set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// What the analysis says.
    pub(crate) standing: Standing,
    /// Whether a schedule was found in which a deadline is missed.
    pub(crate) misses: bool,
    /// Under global EDF, what its tests say.
    pub(crate) tests: Option<[bool; 3]>,
}

/// Draws a set, asks the analysis, and looks for a schedule that misses.
pub(crate) fn one(class: &Class, random: &mut Random) -> Found {
    let set = draw(class, random);
    let (standing, global) = standing(&set);
    let tests = global.map(|global| [global.density, global.interference, global.response]);
    let misses =
        if class.reservation == Some(true) { misses_within(&set, random) } else { misses(class, &set, random) };
    Found { standing, misses, tests }
}

/// When jobs come.
#[derive(Debug, Clone, Copy)]
enum Coming {
    /// All together and as late as possible, then on time; `own` this much later, ns.
    Together { own: usize, phase: u64 },
    /// By the offsets, strictly periodic.
    Strictly,
    /// At random: phases, lateness, and work up to the most.
    Anyhow,
    /// `own` this much later and as late as possible each time; each server so that the most comes, or is due, within
    /// `window` ns from the start.
    Aimed { own: usize, phase: u64, window: u64, is_due: bool },
    /// All together, and reservations with a rest that is due this much later, ns.
    Rested { due: u64 },
    /// `own` at random, and each server in one of the ways that bring it more than a sporadic task has.
    Served { own: usize },
}

/// How a server that wakes late gets more than a sporadic task does.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// As late as possible, then on time.
    Plain,
    /// It has woken before, and at the start continues with the rest of that budget, due this much later, ns.
    Rest(u64),
    /// It uses so little of the first budget that the next wakeup, this much less than a period later, gets a new one,
    /// ns.
    Early(u64),
}

/// What is played: a set, and from when.
struct Stage<'a> {
    class: &'a Class,
    set: &'a TaskSet,
    start: u64,
}

/// What a thread of a task has to do with a budget: its own, or a reservation's.
#[derive(Clone, Copy)]
struct Served {
    budget: u64,
    period: u64,
    deadline: u64,
    /// `None`: it wakes at any time, and has work without end.
    late: Option<u64>,
}

impl Served {
    fn of(task: &Task) -> Served {
        let Task { compute_ns, period_ns, deadline_ns, jitter_ns, .. } = *task;
        Served { budget: compute_ns, period: period_ns, deadline: deadline_ns, late: Some(jitter_ns) }
    }

    /// How late a rest of its budget can be due.
    fn rest(self) -> u64 {
        (self.late.unwrap_or(self.period) + self.deadline).saturating_sub(self.period)
    }

    /// The way in which the most of its work is due within a window.
    fn most_due(self, window: u64) -> Way {
        let (beyond, late) = (window % self.period, self.late.unwrap_or(self.period));
        if beyond >= self.deadline || self.rest() == 0 || beyond == 0 {
            Way::Plain
        } else if self.deadline == self.period && beyond + late >= self.period && beyond > late {
            Way::Early(self.period - beyond)
        } else {
            Way::Rest(beyond.min(self.rest()))
        }
    }

    /// The way in which the most of its work comes within a window.
    fn most_come(self, window: u64) -> Way {
        let begun = window - (window.max(1) - 1) / self.period * self.period;
        let Some(late) = self.late else { return Way::Rest(begun.max(2) - 1) };
        if self.deadline == self.period {
            return if begun + late > self.period { Way::Early(self.period - begun + 1) } else { Way::Plain };
        }
        let rest = (begun + late + self.deadline).saturating_sub(2 * self.period);
        if rest > 1 { Way::Rest(rest - 1) } else { Way::Plain }
    }

    fn any(self, random: &mut Random) -> Way {
        match random.bits() % 3 {
            0 if self.rest() > 0 => Way::Rest(within(random, 1, self.rest().min(self.deadline - 1))),
            1 if self.deadline == self.period => Way::Early(within(random, 0, self.late.unwrap_or(0))),
            _ => Way::Plain,
        }
    }

    /// Its jobs, in this way.
    fn jobs(self, way: Way, start: u64, end: u64) -> Vec<Job> {
        let Served { budget, period, deadline, .. } = self;
        let late = self.late.unwrap_or(period);
        let (mut jobs, first) = match way {
            Way::Plain => (Vec::new(), start - late.min(period)),
            Way::Rest(due) => {
                let began = start + due - deadline;
                // If its deadline is its period, it must have used the rest, or it gets a whole budget.
                let used = if deadline == period { budget - budget * due / deadline } else { 1 };
                let before = Job { nominal: began - late.min(period), wakes: began, work: used.max(1) };
                (vec![before], began - late.min(period) + period)
            }
            Way::Early(early) => {
                let used = (budget * (period - early)).div_ceil(period).max(2) - 1;
                (vec![Job { nominal: start - early, wakes: start, work: used }], start - early + period)
            }
        };
        if self.late.is_none() {
            jobs.push(Job { nominal: start, wakes: start, work: end });
            return jobs;
        }
        jobs.extend(
            (0..).map(|number| first + number * period).take_while(|&nominal| nominal < end).map(|nominal| Job {
                nominal,
                wakes: nominal.max(start),
                work: budget,
            }),
        );
        jobs
    }
}

impl Stage<'_> {
    /// The jobs of a task.
    fn jobs(&self, index: usize, coming: Coming, end: u64, random: &mut Random) -> Vec<Job> {
        let task = &self.set.tasks[index];
        let Task { period_ns: period, jitter_ns: jitter, compute_ns: compute, .. } = *task;
        let is_server = task.policy == Policy::Deadline;
        let first = match coming {
            Coming::Aimed { own, window, is_due, .. } if own != index && is_server => {
                let served = Served::of(task);
                let way = if is_due { served.most_due(window) } else { served.most_come(window) };
                return served.jobs(way, self.start, end);
            }
            Coming::Served { own } if own != index && is_server => {
                let served = Served::of(task);
                return served.jobs(served.any(random), self.start, end);
            }
            Coming::Together { own, phase } | Coming::Aimed { own, phase, .. } => {
                self.start - jitter + if own == index { phase } else { 0 }
            }
            Coming::Rested { .. } => self.start - jitter,
            Coming::Served { own } if own != index => self.start - jitter,
            Coming::Strictly => task.offset_ns,
            Coming::Anyhow | Coming::Served { .. } => {
                self.start - jitter + within(random, 0, period / TICK_NS) * TICK_NS
            }
        };
        let mut jobs: Vec<Job> = Vec::new();
        for nominal in (0..).map(|number| first + number * period).take_while(|&nominal| nominal < end) {
            let is_steady =
                matches!(coming, Coming::Aimed { own, .. } | Coming::Served { own } if own == index) && is_server;
            let (late, work) = match coming {
                _ if is_steady => (jitter, compute),
                Coming::Strictly => (0, compute),
                Coming::Anyhow => {
                    let work = if random.bits().is_multiple_of(3) { within(random, 1, compute) } else { compute };
                    (within(random, 0, jitter), work)
                }
                _ => (if jobs.is_empty() { jitter } else { 0 }, compute),
            };
            let wakes = jobs.last().map_or(0, |job| job.wakes).max(nominal + late);
            jobs.push(Job { nominal, wakes, work });
        }
        jobs
    }

    /// A reservation's thread: it has work for its whole budget and more, and now and then none.
    fn reserved(&self, reservation: &Reservation, coming: Coming, end: u64, random: &mut Random) -> Vec<Job> {
        let Reservation { budget_ns: budget, period_ns: period, .. } = *reservation;
        let served = Served { budget, period, deadline: period, late: None };
        match coming {
            Coming::Aimed { window, is_due, .. } => {
                let way = if is_due { served.most_due(window) } else { served.most_come(window) };
                return served.jobs(way, self.start, end);
            }
            Coming::Rested { due } => return served.jobs(Way::Rest(due), self.start, end),
            Coming::Served { .. } => return served.jobs(served.any(random), self.start, end),
            _ => {}
        }
        let is_steady = matches!(coming, Coming::Together { .. });
        let (mut at, mut jobs) = (self.start, Vec::new());
        while at < end {
            let work = if is_steady { budget } else { within(random, 1, 2 * budget) };
            jobs.push(Job { nominal: at, wakes: at, work });
            at += if is_steady { period } else { within(random, 1, 2 * period) };
        }
        jobs
    }

    /// Whether a task, or the judged one, is late.
    fn is_late(&self, coming: Coming, blocked: u64, judged: Option<usize>, end: u64, random: &mut Random) -> bool {
        let Stage { class, set, start } = *self;
        let mut threads: Vec<Thread> = (0..set.tasks.len())
            .map(|index| {
                let task = &set.tasks[index];
                Thread {
                    priority: (task.policy == Policy::Fixed).then(|| task.priority.unwrap_or(0)),
                    cpu: task.cpu as usize,
                    budget: task.compute_ns,
                    deadline: task.deadline_ns,
                    period: task.period_ns,
                    jobs: self.jobs(index, coming, end, random),
                }
            })
            .collect();
        threads.extend(set.reservations.iter().map(|reservation| Thread {
            priority: None,
            cpu: reservation.cpu as usize,
            budget: reservation.budget_ns,
            deadline: reservation.period_ns,
            period: reservation.period_ns,
            jobs: self.reserved(reservation, coming, end, random),
        }));
        let circumstances = Circumstances {
            cpus: class.cpus as usize,
            is_global: class.cpus > 1 && !class.partitioned,
            blocked: start..start + blocked,
            last: judged.unwrap_or(usize::MAX),
            judged: judged.map_or(0..set.tasks.len(), |index| index..index + 1),
            end,
        };
        is_late(&threads, &circumstances)
    }

    /// Whether the task is late where the servers beside it bring the most by the time when it must be done.
    fn is_late_when_aimed_at(&self, own: usize, random: &mut Random) -> bool {
        let Task { period_ns: period, deadline_ns: deadline, jitter_ns: jitter, blocking_ns: blocked, .. } =
            self.set.tasks[own];
        if self.set.tasks[own].policy == Policy::Fixed {
            return (0..3).any(|job| {
                let Some(window) = (job * period + deadline).checked_sub(jitter).filter(|&window| window > 0) else {
                    return false;
                };
                let coming = Coming::Aimed { own, phase: 0, window, is_due: false };
                self.is_late(coming, blocked, Some(own), self.start + window + 2, random)
            });
        }
        (0..AIMED_NS / TICK_NS).map(|release| release * TICK_NS).any(|release| {
            let (phase, window) = (release % period, release + deadline);
            let coming = Coming::Aimed { own, phase, window, is_due: true };
            // With its own lateness it is late before its deadline.
            self.is_late(coming, blocked, Some(own), self.start + window + 2, random)
        })
    }
}

/// The rests of a reservation that are due just when a whole number of ticks of other work, and of budgets, is done.
fn rests(reservation: &Reservation) -> impl Iterator<Item = u64> {
    let Reservation { budget_ns, period_ns, .. } = *reservation;
    let other = period_ns - budget_ns;
    (1..=other / TICK_NS).map(move |ticks| ticks * TICK_NS * period_ns / other - 1)
}

/// Whether some schedule makes some task late.
fn misses(class: &Class, set: &TaskSet, random: &mut Random) -> bool {
    // Servers that have woken before need room.
    let has_rests = set.tasks.iter().any(|task| task.policy == Policy::Deadline && task.jitter_ns > 0)
        || !set.reservations.is_empty();
    let room = if has_rests { 2 * PERIODS[PERIODS.len() - 1] * TICK_NS } else { 0 };
    let start = room + set.tasks.iter().map(|task| task.jitter_ns).max().unwrap_or(0);
    let stage = Stage { class, set, start };
    if class.offsets {
        return stage.is_late(Coming::Strictly, 0, None, END_NS, random);
    }
    for (own, task) in set.tasks.iter().enumerate() {
        // Release together with all others is the worst for distinct priorities; elsewhere a slightly later one may be.
        let phases = if class.levels == 2 || task.policy == Policy::Deadline { task.period_ns / TICK_NS } else { 1 };
        for phase in (0..phases).map(|phase| phase * TICK_NS) {
            if stage.is_late(Coming::Together { own, phase }, task.blocking_ns, Some(own), END_NS, random) {
                return true;
            }
        }
    }
    let count = set.tasks.len();
    if set.reservations.iter().flat_map(rests).any(|due| stage.is_late(Coming::Rested { due }, 0, None, END_NS, random))
    {
        return true;
    }
    // Where several CPUs are shared nobody knows the worst.
    (has_rests && class.cpus == 1 && (0..count).any(|own| stage.is_late_when_aimed_at(own, random)))
        || (has_rests
            && (0..20).any(|trial| stage.is_late(Coming::Served { own: trial % count }, 0, None, END_NS, random)))
        || (0..4).any(|_| stage.is_late(Coming::Anyhow, 0, None, END_NS, random))
}

/// Whether some place of the budget, anywhere in each period, makes a task inside late.
fn misses_within(set: &TaskSet, random: &mut Random) -> bool {
    let reservation = &set.reservations[0];
    let (budget, period) = (reservation.budget_ns / TICK_NS, reservation.period_ns / TICK_NS);
    (0..8).any(|trial| {
        // First as early as possible and from then on as late as possible; then anywhere.
        let mut served = Vec::new();
        for number in 0..TICKS.div_ceil(period) {
            let place = match trial {
                0 => {
                    if number == 0 {
                        0
                    } else {
                        period - budget
                    }
                }
                _ => within(random, 0, period - budget),
            };
            served.extend((0..period).map(|tick| (place..place + budget).contains(&tick)));
        }
        let begin = if trial < 2 { budget } else { within(random, 0, 2 * period) };
        let mut order: Vec<&Task> = set.tasks.iter().collect();
        order.sort_by_key(|task| std::cmp::Reverse(task.priority));
        let mut waiting: Vec<std::collections::VecDeque<(u64, u64)>> = vec![Default::default(); order.len()];
        for now in begin..TICKS {
            for (task, waiting) in order.iter().zip(&mut waiting) {
                if (now - begin) % (task.period_ns / TICK_NS) == 0 {
                    waiting.push_back((now, task.compute_ns / TICK_NS));
                }
                if waiting.front().is_some_and(|(released, _)| now >= released + task.deadline_ns / TICK_NS) {
                    return true;
                }
            }
            if served[now as usize]
                && let Some(first) = waiting.iter_mut().find(|waiting| !waiting.is_empty())
            {
                first[0].1 -= 1;
                if first[0].1 == 0 {
                    first.pop_front();
                }
            }
        }
        false
    })
}
