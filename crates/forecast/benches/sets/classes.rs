//! Random task sets of each class, and the schedules that are played for each.

use crate::linux::{Circumstances, Job, Thread, play};
use punctual_forecast::schedulability::{Policy, Reservation, Standing, Task, TaskSet, analyse};
use punctual_random::Random;

/// A tick, ns.
const TICK_NS: u64 = 1_000_000;
const PERIODS: [u64; 8] = [4, 5, 6, 8, 10, 12, 15, 20];
/// Two hyperperiods of these and what comes before.
const TICKS: u64 = 320;

/// One of low..=high.
fn within(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.bits() % (high.max(low) - low + 1)
}

/// What the sets of a class have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Class {
    /// Its name.
    pub(crate) name: &'static str,
    /// CPUs.
    pub(crate) cpus: u32,
    /// How many of ten tasks are deadline tasks.
    pub(crate) deadline_in_ten: u64,
    /// Priorities are drawn, of so many levels; 0: they follow the deadlines.
    pub(crate) levels: u64,
    /// Deadlines of at least so many tenths of the period, and at most.
    pub(crate) tenths: (u64, u64),
    /// Releases are late, by this share of the period at most, tenths.
    pub(crate) jitter_tenths: u64,
    /// Work that cannot be preempted takes so many ticks at most.
    pub(crate) blocking: u64,
    /// First releases are drawn.
    pub(crate) offsets: bool,
    /// Each CPU is a root domain of its own.
    pub(crate) partitioned: bool,
    /// The tasks run within a reservation, or beside one.
    pub(crate) reservation: Option<bool>,
}

const PLAIN: Class = Class {
    name: "",
    cpus: 1,
    deadline_in_ten: 0,
    levels: 0,
    tenths: (10, 10),
    jitter_tenths: 0,
    blocking: 0,
    offsets: false,
    partitioned: false,
    reservation: None,
};

/// All classes.
pub(crate) const CLASSES: [Class; 21] = [
    Class { name: "rate monotonic", ..PLAIN },
    Class { name: "deadline monotonic", tenths: (5, 10), ..PLAIN },
    Class { name: "any priorities", levels: 99, tenths: (5, 10), ..PLAIN },
    Class { name: "deadlines beyond periods", levels: 99, tenths: (8, 25), ..PLAIN },
    Class { name: "equal priorities", levels: 2, tenths: (5, 10), ..PLAIN },
    Class { name: "jitter", tenths: (8, 10), jitter_tenths: 5, ..PLAIN },
    Class { name: "blocking", tenths: (8, 10), blocking: 4, ..PLAIN },
    Class { name: "jitter and blocking", tenths: (8, 10), jitter_tenths: 5, blocking: 4, ..PLAIN },
    Class { name: "equal priorities, jitter", levels: 2, tenths: (8, 10), jitter_tenths: 5, ..PLAIN },
    Class { name: "offsets", tenths: (5, 10), offsets: true, ..PLAIN },
    Class { name: "EDF", deadline_in_ten: 10, tenths: (5, 10), ..PLAIN },
    Class { name: "EDF, jitter", deadline_in_ten: 10, tenths: (7, 10), jitter_tenths: 4, ..PLAIN },
    Class { name: "EDF, blocking", deadline_in_ten: 10, tenths: (8, 10), blocking: 4, ..PLAIN },
    Class { name: "EDF above fixed priorities", deadline_in_ten: 5, tenths: (7, 10), ..PLAIN },
    Class { name: "the same with jitter", deadline_in_ten: 5, tenths: (8, 10), jitter_tenths: 4, ..PLAIN },
    Class { name: "within a reservation", tenths: (10, 20), reservation: Some(true), ..PLAIN },
    Class { name: "beside a reservation", tenths: (8, 10), reservation: Some(false), ..PLAIN },
    Class {
        name: "two CPUs, a root domain each",
        cpus: 2,
        deadline_in_ten: 5,
        tenths: (7, 10),
        partitioned: true,
        ..PLAIN
    },
    Class { name: "global EDF, 2 CPUs", cpus: 2, deadline_in_ten: 10, tenths: (5, 10), ..PLAIN },
    Class {
        name: "global EDF, 4 CPUs, jitter",
        cpus: 4,
        deadline_in_ten: 10,
        tenths: (7, 10),
        jitter_tenths: 2,
        ..PLAIN
    },
    Class { name: "global EDF, 2 CPUs, above fixed", cpus: 2, deadline_in_ten: 5, tenths: (7, 10), ..PLAIN },
];

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

/// A set of the class, in ticks: as the analysis takes it.
fn draw(class: &Class, random: &mut Random) -> TaskSet {
    let count = if class.cpus > 1 { within(random, 3, 4 * u64::from(class.cpus).min(3)) } else { within(random, 2, 5) };
    // All together ask for 40 to 105 % of the CPUs, or of the reservation.
    let reserved = class.reservation.map(|_| {
        let period = PERIODS[within(random, 1, 5) as usize];
        (within(random, 1, period - 1), period)
    });
    let whole = match (class.reservation, reserved) {
        (Some(true), Some((budget, period))) => 1_000 * budget / period,
        (Some(false), Some((budget, period))) => 1_000 - 1_000 * budget / period,
        _ => 1_000 * u64::from(class.cpus),
    };
    let mut left = whole * within(random, 40, 105) / 100;
    let mut tasks = Vec::new();
    for index in 0..count {
        let period = PERIODS[within(random, 0, 7) as usize];
        let share = if index + 1 == count { left } else { within(random, left / 8, left * 5 / 8) }.min(1_000);
        left -= share;
        let compute = ((share * period + 500) / 1_000).clamp(1, period);
        let deadline = (period * within(random, class.tenths.0, class.tenths.1) / 10).max(compute);
        let is_deadline = within(random, 0, 9) < class.deadline_in_ten;
        tasks.push(Task {
            name: format!("t{index}"),
            cpu: within(random, 0, u64::from(class.cpus) - 1) as u32,
            period_ns: period * TICK_NS,
            compute_ns: compute * TICK_NS,
            deadline_ns: deadline * TICK_NS,
            policy: if is_deadline { Policy::Deadline } else { Policy::Fixed },
            priority: (class.levels > 0).then(|| within(random, 1, class.levels) as u32),
            jitter_ns: within(random, 0, period * class.jitter_tenths / 10) * TICK_NS,
            offset_ns: if class.offsets { within(random, 0, period - 1) * TICK_NS } else { 0 },
            blocking_ns: within(random, 0, class.blocking) * TICK_NS,
            reservation: (class.reservation == Some(true)).then(|| "r".to_owned()),
            permitted_s: 3_600,
        });
        if class.reservation == Some(true) {
            tasks[index as usize].cpu = 0;
        }
    }
    // Priorities are the analysis's own affair where none are given: here they follow the deadlines, one each.
    if class.levels == 0 || class.levels > count {
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        let drawn: Vec<u64> = (0..tasks.len()).map(|_| random.bits()).collect();
        order.sort_by_key(|&index| if class.levels == 0 { tasks[index].deadline_ns } else { drawn[index] });
        for (place, index) in order.into_iter().enumerate() {
            tasks[index].priority = Some((99 - place) as u32);
        }
    }
    let mut set = TaskSet { tasks, partitioned: class.partitioned, ..TaskSet::default() };
    set.limits.cpus = class.cpus;
    if let Some((budget, period)) = reserved {
        let (budget_ns, period_ns) = (budget * TICK_NS, period * TICK_NS);
        set.reservations.push(Reservation { name: "r".to_owned(), cpu: 0, budget_ns, period_ns });
    }
    set
}

/// Draws a set, asks the analysis, and looks for a schedule that misses.
pub(crate) fn one(class: &Class, random: &mut Random) -> Found {
    let set = draw(class, random);
    let analysis = analyse(&set, None).expect("no recording is asked for");
    let tests = analysis.global.as_ref().map(|global| [global.density, global.interference, global.response]);
    let misses =
        if class.reservation == Some(true) { misses_within(&set, random) } else { misses(class, &set, random) };
    Found { standing: analysis.standing, misses, tests }
}

/// How jobs come.
enum Coming {
    /// All as late as may be and together, `first` earlier or later by so many ticks, then on time.
    Together { own: usize, phase: u64 },
    /// The same, but each server has woken before, has used what leaves it its share, and goes on with the rest when the others come.
    Leftover,
    /// By the offsets, strictly periodic.
    Strictly,
    /// At random: phases, lateness, and work up to the most.
    Anyhow,
}

fn jobs(task: &Task, index: usize, coming: &Coming, start: u64, random: &mut Random) -> Vec<Job> {
    let ticks = |ns: u64| ns / TICK_NS;
    let (period, jitter, compute) = (ticks(task.period_ns), ticks(task.jitter_ns), ticks(task.compute_ns));
    if matches!(coming, Coming::Leftover) && task.policy == Policy::Deadline && jitter > 0 {
        // The job before was so late that the next, in time, follows `before` its end.
        let deadline = ticks(task.deadline_ns);
        let before = within(random, (period - jitter).max(1), period - 1).min(start);
        let left = (compute * deadline.saturating_sub(before)) / deadline;
        let used = (compute - left).max(1);
        let first = start - period;
        let mut jobs = vec![Job { nominal: first, wakes: start - before, work: used }];
        jobs.extend(
            (1..).map(|number| first + number * period).take_while(|&nominal| nominal < TICKS).map(|nominal| Job {
                nominal,
                wakes: nominal.max(start),
                work: compute,
            }),
        );
        // Late by no more than its jitter, or it is another task.
        if jobs.iter().all(|job| job.wakes >= job.nominal && job.wakes - job.nominal <= jitter) {
            return jobs;
        }
    }
    let first = match coming {
        Coming::Leftover => start - jitter,
        Coming::Together { own, phase } => start - jitter + if *own == index { *phase } else { 0 },
        Coming::Strictly => ticks(task.offset_ns),
        Coming::Anyhow => start - jitter + within(random, 0, period),
    };
    let mut jobs: Vec<Job> = Vec::new();
    for number in 0.. {
        let nominal = first + number * period;
        if nominal >= TICKS {
            break;
        }
        let (late, work) = match coming {
            Coming::Together { .. } | Coming::Leftover => (if number == 0 { jitter } else { 0 }, compute),
            Coming::Strictly => (0, compute),
            Coming::Anyhow => (
                within(random, 0, jitter),
                if within(random, 0, 2) == 0 { within(random, 1, compute) } else { compute },
            ),
        };
        let wakes = jobs.last().map_or(0, |job| job.wakes).max(nominal + late);
        jobs.push(Job { nominal, wakes, work });
    }
    jobs
}

/// A reservation's thread: it has work for its whole budget and more, and now and then none.
fn reserved_jobs(reservation: &Reservation, start: u64, coming: &Coming, random: &mut Random) -> Vec<Job> {
    let (budget, period) = (reservation.budget_ns / TICK_NS, reservation.period_ns / TICK_NS);
    if matches!(coming, Coming::Leftover) {
        // From the start on it always has work.
        let before = within(random, 1, period).min(start);
        let used = (budget - budget * (period - before) / period).max(1);
        let first = Job { nominal: start - before, wakes: start - before, work: used };
        return vec![first, Job { nominal: start, wakes: start, work: TICKS }];
    }
    let is_steady = matches!(coming, Coming::Together { .. });
    let mut at = start;
    let mut jobs = Vec::new();
    while at < TICKS {
        let work = if is_steady { budget } else { within(random, 1, 2 * budget) };
        jobs.push(Job { nominal: at, wakes: at, work });
        at += if is_steady { period } else { within(random, 1, 2 * period) };
    }
    jobs
}

/// Whether a schedule is found in which some task is late.
fn misses(class: &Class, set: &TaskSet, random: &mut Random) -> bool {
    // Servers that have woken before need room.
    let begun = set.tasks.iter().any(|task| task.policy == Policy::Deadline && task.jitter_ns > 0);
    let room = if begun || !set.reservations.is_empty() { PERIODS[PERIODS.len() - 1] } else { 0 };
    let start = room + set.tasks.iter().map(|task| task.jitter_ns / TICK_NS).max().unwrap_or(0);
    let late = |coming: &Coming, blocked: u64, judged: Option<usize>, random: &mut Random| {
        let thread = |index: usize, random: &mut Random| {
            let task = &set.tasks[index];
            Thread {
                priority: (task.policy == Policy::Fixed).then(|| task.priority.unwrap_or(0)),
                cpu: task.cpu as usize,
                budget: task.compute_ns / TICK_NS,
                deadline: task.deadline_ns / TICK_NS,
                period: task.period_ns / TICK_NS,
                jobs: jobs(task, index, coming, start, random),
            }
        };
        let mut threads: Vec<Thread> = (0..set.tasks.len()).map(|index| thread(index, random)).collect();
        for reservation in &set.reservations {
            let (budget, period) = (reservation.budget_ns / TICK_NS, reservation.period_ns / TICK_NS);
            let jobs = reserved_jobs(reservation, start, coming, random);
            threads.push(Thread {
                priority: None,
                cpu: reservation.cpu as usize,
                budget,
                deadline: period,
                period,
                jobs,
            });
        }
        let circumstances = Circumstances {
            cpus: class.cpus as usize,
            is_global: class.cpus > 1 && !class.partitioned,
            blocked: (start, start + blocked),
            last: judged.unwrap_or(usize::MAX),
            ticks: TICKS,
        };
        let found = play(&threads, circumstances);
        let is_late = |index: usize| found[index] > set.tasks[index].deadline_ns / TICK_NS;
        judged.map_or_else(|| (0..set.tasks.len()).any(is_late), is_late)
    };
    if class.offsets {
        return late(&Coming::Strictly, 0, None, random);
    }
    for index in 0..set.tasks.len() {
        let task = &set.tasks[index];
        let blocked = task.blocking_ns / TICK_NS;
        // Released with all others is the worst for distinct priorities; elsewhere a little later may be.
        let phases = if class.levels == 2 || task.policy == Policy::Deadline { task.period_ns / TICK_NS } else { 1 };
        for phase in 0..phases {
            if late(&Coming::Together { own: index, phase }, blocked, Some(index), random) {
                return true;
            }
        }
    }
    (room > 0 && (0..20).any(|_| late(&Coming::Leftover, 0, None, random)))
        || (0..4).any(|_| late(&Coming::Anyhow, 0, None, random))
}

/// Whether a place of the budget is found, anywhere in each period, at which a task inside is late.
fn misses_within(set: &TaskSet, random: &mut Random) -> bool {
    let reservation = &set.reservations[0];
    let (budget, period) = (reservation.budget_ns / TICK_NS, reservation.period_ns / TICK_NS);
    (0..8).any(|trial| {
        // First as early as can be and from then on as late as can be; then anywhere.
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
