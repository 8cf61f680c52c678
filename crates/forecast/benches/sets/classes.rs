//! Random task sets of each class.

use punctual_forecast::schedulability::{Policy, Reservation, Task, TaskSet};
use punctual_random::Random;

/// A tick, ns.
pub(crate) const TICK_NS: u64 = 1_000_000;
/// Periods, in ticks.
pub(crate) const PERIODS: [u64; 8] = [4, 5, 6, 8, 10, 12, 15, 20];

/// One of low..=high.
pub(crate) fn within(random: &mut Random, low: u64, high: u64) -> u64 {
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
    /// Priorities are drawn from this many levels; 0: they follow the deadlines.
    pub(crate) levels: u64,
    /// Deadlines lie between these numbers of tenths of the period.
    pub(crate) tenths: (u64, u64),
    /// Releases are late by at most this share of the period, tenths.
    pub(crate) jitter_tenths: u64,
    /// Work that cannot be preempted takes at most this many ticks.
    pub(crate) blocking: u64,
    /// First releases are drawn.
    pub(crate) offsets: bool,
    /// Each CPU is a root domain of its own.
    pub(crate) partitioned: bool,
    /// The tasks run within a reservation, or beside one.
    pub(crate) reservation: Option<bool>,
    /// Together they ask for no more than half of the CPUs.
    pub(crate) is_light: bool,
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
    is_light: false,
};

/// All classes.
pub(crate) const CLASSES: [Class; 24] = [
    Class { name: "rate monotonic", ..PLAIN },
    Class { name: "deadline monotonic", tenths: (5, 10), ..PLAIN },
    Class { name: "any priorities", levels: 99, tenths: (5, 10), ..PLAIN },
    Class { name: "deadlines beyond periods", levels: 99, tenths: (8, 25), ..PLAIN },
    Class { name: "equal priorities", levels: 2, tenths: (5, 10), ..PLAIN },
    Class { name: "jitter", tenths: (8, 10), jitter_tenths: 5, ..PLAIN },
    Class { name: "blocking", tenths: (8, 10), blocking: 4, ..PLAIN },
    Class { name: "jitter and blocking", tenths: (8, 10), jitter_tenths: 5, blocking: 4, ..PLAIN },
    Class { name: "equal priorities, jitter", levels: 2, tenths: (8, 10), jitter_tenths: 5, ..PLAIN },
    Class { name: "equal priorities, late deadlines", levels: 2, tenths: (8, 25), ..PLAIN },
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
    Class {
        name: "the same, jitter, a reservation",
        cpus: 2,
        deadline_in_ten: 6,
        tenths: (9, 10),
        jitter_tenths: 3,
        reservation: Some(false),
        ..PLAIN
    },
    Class {
        name: "light EDF, 4 CPUs, jitter, the same",
        cpus: 4,
        deadline_in_ten: 10,
        tenths: (9, 10),
        jitter_tenths: 3,
        reservation: Some(false),
        is_light: true,
        ..PLAIN
    },
];

/// Draws a set of the class, in ticks, as the analysis takes it.
pub(crate) fn draw(class: &Class, random: &mut Random) -> TaskSet {
    let count = if class.cpus > 1 { within(random, 3, 4 * u64::from(class.cpus).min(3)) } else { within(random, 2, 5) };
    // All together ask for 40 to 105 % of the CPUs, or of the reservation.
    let reserved = class.reservation.map(|_| {
        let period = PERIODS[within(random, 1, 5) as usize];
        (within(random, 1, period - 1), period)
    });
    let whole = match (class.reservation, reserved) {
        (Some(true), Some((budget, period))) => 1_000 * budget / period,
        (Some(false), Some((budget, period))) => 1_000 * u64::from(class.cpus) - 1_000 * budget / period,
        _ => 1_000 * u64::from(class.cpus),
    };
    let (least, most) = if class.is_light { (20, 50) } else { (40, 105) };
    let mut left = whole * within(random, least, most) / 100;
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
    // Where no priorities are given, they are the analysis's own affair: here they follow the deadlines, one each.
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
