//! Twelve more processes, chosen by another stranger to the method, before anyone had seen an answer to them.
//!
//! For most of them the recording is many memories long; for `leak` and `tenants` it is not. How often a level is
//! exceeded in the long run follows from each formula.

use super::unseen::{above, ground, normal_above, one_at_a_time, raised};
use super::{BASE, EVENTS};
use punctual_random::Random;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stranger {
    /// A fast clock and a slow one, 40 s each on average: on the fast one stalls are frequent and short, on the slow
    /// one rare and long.
    Governor,
    /// Every 20 s on average memory is compacted, in a number of steps that follows a Pareto law of shape 1.5, with a
    /// stall in each.
    Compaction,
    /// A device fails every 150 s on average and is tried again after 1, 2, 4 ... 64 s, until it works: four times out
    /// of five it does not.
    Retries,
    /// A queue, 0.6 full; a wakeup waits for all that are in it.
    Queue,
    /// The scale grows as memory leaks, until the leaking program restarts, after 50 to 100 minutes.
    Leak,
    /// Builds of 30 s, 90 s apart, which compile for 2 s and link for 2 s in turn (means); compiling brings stalls.
    Builds,
    /// Four CPUs, each with stalls of its own, which all become longer and more frequent when a neighbour has the
    /// cache.
    Siblings,
    /// Something breaks every 250 s on average, and then stalls fade as a power law does; how many there are varies as
    /// an exponential law does.
    Aftershocks,
    /// A timer's phase is anywhere, and stays there for 25 s on average; wakeups are later by the phase.
    Phase,
    /// Every 5 s what was written goes to the disk: one stall, as long as there is much to write, and that wanders (60
    /// s).
    Flush,
    /// A container spends more or less than its quota; when its credit is used up, it is stopped every 100 ms.
    Credits,
    /// Tenants come every 300 s and stay for half an hour on average; each brings stalls, some more than others.
    Tenants,
}

/// Name, process and memory, s.
pub(crate) const PROCESSES: [(&str, Stranger, f64); 12] = [
    ("governor", Stranger::Governor, 20.0),
    ("compaction", Stranger::Compaction, 20.0),
    ("retries", Stranger::Retries, 150.0),
    ("queue", Stranger::Queue, 5.0),
    ("leak", Stranger::Leak, 4_500.0),
    ("builds", Stranger::Builds, 22.5),
    ("siblings", Stranger::Siblings, 16.0),
    ("aftershocks", Stranger::Aftershocks, 250.0),
    ("phase", Stranger::Phase, 25.0),
    ("flush", Stranger::Flush, 60.0),
    ("credits", Stranger::Credits, 58.0),
    ("tenants", Stranger::Tenants, 1_800.0),
];

/// Stalls a second, and their scale.
const FAST: (f64, f64) = (30.0, 0.8);
const SLOW: (f64, f64) = (3.0, 2.0);
const COMPACTIONS: f64 = 0.05;
const MAX_STEPS: u32 = 1_000;
const FAULTS: f64 = 1.0 / 150.0;
const TRIES: i32 = 7;
const FAILS: f64 = 0.8;
const FULL: f64 = 0.6;
/// This many are done in a second, on average, while any are there.
const DONE: f64 = 4.0;
const WAITS: f64 = 0.6;
const LEAK_S: (f64, f64) = (3_000.0, 6_000.0);
const COMPILES: f64 = 12.0;
const BREAKS: f64 = 1.0 / 250.0;
const FOLLOW: f64 = 60.0;
const PHASES: f64 = 10.0;
const FLUSH_S: f64 = 5.0;
const WRITTEN: f64 = 3.0;
const DEVIATION: f64 = 0.5;
const GAIN: f64 = 1.05;
const MAX_CREDIT: i32 = 16;
const TENANTS: f64 = 6.0;
const STAY_S: f64 = 1_800.0;
const EACH: f64 = 0.5;

impl Stranger {
    /// Wakeups later than `x` scales a second, of one CPU, in the long run.
    pub(crate) fn rate(self, x: f64) -> f64 {
        let alone = EVENTS * above(x, BASE, 1.0);
        // The mean over a number that is anywhere from 0 to 1.
        let mean = |of: &dyn Fn(f64) -> f64| {
            (0..2_000).map(|index| of((f64::from(index) + 0.5) / 2_000.0)).sum::<f64>() / 2_000.0
        };
        match self {
            Stranger::Governor => 0.5 * (FAST.0 * above(x, BASE, FAST.1) + SLOW.0 * above(x, BASE, SLOW.1)),
            Stranger::Compaction => {
                let steps: f64 = (1..=MAX_STEPS).map(|step| f64::from(step).powf(-1.5)).sum();
                alone + COMPACTIONS * steps * above(x, BASE + 4.0, 2.0)
            }
            Stranger::Retries => {
                let tries: f64 = (0..TRIES).map(|number| FAILS.powi(number)).sum();
                alone + FAULTS * tries * 10.0 * above(x, BASE + 2.0, 1.5)
            }
            // The number that wait follows a geometric law, and that many exponential waits are one exponential wait
            // again.
            Stranger::Queue => EVENTS * FULL * above(x, BASE, WAITS / (1.0 - FULL)),
            Stranger::Leak => mean(&|share| {
                let age = LEAK_S.1 * share;
                let is_left = ((LEAK_S.1 - age) / (LEAK_S.1 - LEAK_S.0)).min(1.0);
                let part = is_left * LEAK_S.1 / (0.5 * (LEAK_S.0 + LEAK_S.1));
                part * EVENTS * above(x, BASE, leaking(age))
            }),
            Stranger::Builds => alone + 0.25 * 0.5 * COMPILES * above(x, BASE, 2.0),
            Stranger::Siblings => alone + 0.2 * 5.0 * above(x, BASE, 2.0),
            Stranger::Aftershocks => alone + BREAKS * FOLLOW * above(x, BASE + 3.0, 2.0),
            Stranger::Phase => mean(&|phase| PHASES * above(x, BASE + 6.0 * phase * phase, 0.7)),
            Stranger::Flush => {
                let written = if x > BASE { normal_above(((x - BASE) / WRITTEN).ln() / DEVIATION) } else { 1.0 };
                EVENTS * above(x, BASE, 0.5) + written / FLUSH_S
            }
            Stranger::Credits => {
                let without = (GAIN - 1.0) / (GAIN.powi(MAX_CREDIT + 1) - 1.0);
                alone + without * 10.0 * above(x, BASE + 2.0, 2.0)
            }
            Stranger::Tenants => alone + TENANTS * EACH * above(x, BASE, 1.6),
        }
    }

    /// Late wakeups of each CPU: (when s, by how many scales).
    pub(crate) fn run(self, seconds: f64, random: &mut Random) -> Vec<Vec<(f64, f64)>> {
        let mut events = Vec::new();
        let mut cpus = match self {
            Stranger::Siblings => siblings(seconds, random),
            Stranger::Governor | Stranger::Queue | Stranger::Leak | Stranger::Phase => {
                match self {
                    Stranger::Governor => governor(&mut events, seconds, random),
                    Stranger::Queue => queue(&mut events, seconds, random),
                    Stranger::Leak => leak(&mut events, seconds, random),
                    _ => phase(&mut events, seconds, random),
                }
                vec![events]
            }
            _ => {
                let scale = if self == Stranger::Flush { 0.5 } else { 1.0 };
                ground(&mut events, (0.0, seconds), EVENTS, scale, random);
                match self {
                    Stranger::Compaction => compaction(&mut events, seconds, random),
                    Stranger::Retries => retries(&mut events, seconds, random),
                    Stranger::Builds => builds(&mut events, seconds, random),
                    Stranger::Aftershocks => aftershocks(&mut events, seconds, random),
                    Stranger::Flush => flush(&mut events, seconds, random),
                    Stranger::Credits => credits(&mut events, seconds, random),
                    _ => tenants(&mut events, seconds, random),
                }
                vec![events]
            }
        };
        cpus.iter_mut().for_each(one_at_a_time);
        cpus
    }
}

/// One and the other in turn, for exponential times of these means: when each begins and ends (true: the first).
fn in_turn((from, to): (f64, f64), means: (f64, f64), random: &mut Random) -> Vec<(f64, f64, bool)> {
    let mut is_first = random.uniform() < means.0 / (means.0 + means.1);
    let (mut at, mut turns) = (from, Vec::new());
    while at < to {
        let until = (at + random.exponential() * if is_first { means.0 } else { means.1 }).min(to);
        turns.push((at, until, is_first));
        (at, is_first) = (until, !is_first);
    }
    turns
}

fn governor(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    for (from, to, is_fast) in in_turn((0.0, seconds), (40.0, 40.0), random) {
        let (rate, scale) = if is_fast { FAST } else { SLOW };
        ground(events, (from, to), rate, scale, random);
    }
}

fn compaction(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut begin = -200.0;
    while begin < seconds {
        begin += random.exponential() / COMPACTIONS;
        let steps = random.uniform().powf(-1.0 / 1.5).min(f64::from(MAX_STEPS)) as u32;
        let mut at = begin;
        for _ in 0..steps {
            if (0.0..seconds).contains(&at) {
                events.push((at, BASE + 4.0 + 2.0 * random.exponential()));
            }
            at += 0.03 * random.exponential();
        }
    }
}

fn retries(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut fault = -1_000.0;
    while fault < seconds {
        fault += random.exponential() / FAULTS;
        let (mut at, mut pause) = (fault, 1.0);
        for _ in 0..TRIES {
            at += pause;
            pause *= 2.0;
            // Ten in a second, on average.
            let mut due = at + random.exponential() / 10.0;
            while due < at + 1.0 {
                if (0.0..seconds).contains(&due) {
                    events.push((due, BASE + 2.0 + 1.5 * random.exponential()));
                }
                due += random.exponential() / 10.0;
            }
            if random.uniform() > FAILS {
                break;
            }
        }
    }
}

fn queue(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut waiting = 0;
    while random.uniform() < FULL {
        waiting += 1;
    }
    let mut at = 0.0;
    while at < seconds {
        let change = DONE * if waiting > 0 { 1.0 + FULL } else { FULL };
        let until = (at + random.exponential() / change).min(seconds);
        if waiting > 0 {
            loop {
                at += random.exponential() / EVENTS;
                if at >= until {
                    break;
                }
                let late: f64 = (0..waiting).map(|_| WAITS * random.exponential()).sum();
                events.push((at, BASE + late));
            }
        }
        if waiting == 0 || random.uniform() < FULL / (1.0 + FULL) {
            waiting += 1
        } else {
            waiting -= 1
        }
        at = until;
    }
}

/// The scale, this many seconds after the leaking program started.
fn leaking(age: f64) -> f64 {
    1.0 + age / 10_000.0
}

fn leak(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut start = -100_000.0 - LEAK_S.1 * random.uniform();
    while start < seconds {
        let end = start + LEAK_S.0 + (LEAK_S.1 - LEAK_S.0) * random.uniform();
        let mut at = start.max(0.0);
        while at < end.min(seconds) {
            let until = (at + 1.0).min(end).min(seconds);
            ground(events, (at, until), EVENTS, leaking(at - start), random);
            at = until;
        }
        start = end;
    }
}

fn builds(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    for (from, to, is_build) in in_turn((0.0, seconds), (30.0, 90.0), random) {
        if is_build {
            for (from, to, compiles) in in_turn((from, to), (2.0, 2.0), random) {
                if compiles {
                    ground(events, (from, to), COMPILES, 2.0, random);
                }
            }
        }
    }
}

fn siblings(seconds: f64, random: &mut Random) -> Vec<Vec<(f64, f64)>> {
    let turns = in_turn((0.0, seconds), (20.0, 80.0), random);
    let one = |_| {
        let mut events = Vec::new();
        ground(&mut events, (0.0, seconds), EVENTS, 1.0, random);
        for &(from, to, is_shared) in &turns {
            if is_shared {
                ground(&mut events, (from, to), 5.0, 2.0, random);
            }
        }
        events
    };
    (0..4).map(one).collect()
}

fn aftershocks(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut at = -5_000.0;
    while at < seconds {
        at += random.exponential() / BREAKS;
        let strength = FOLLOW * random.exponential();
        let mut so_far = random.exponential();
        while so_far < strength {
            // One in 8 is later than 9 s, one in 1,000 later than 5 minutes.
            let due = at + 3.0 * (random.uniform().powf(-1.0 / 1.5) - 1.0);
            if (0.0..seconds).contains(&due) {
                events.push((due, BASE + 3.0 + 2.0 * random.exponential()));
            }
            so_far += random.exponential();
        }
    }
}

fn phase(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut from = 0.0;
    while from < seconds {
        let until = (from + 25.0 * random.exponential()).min(seconds);
        let later = 6.0 * random.uniform().powi(2);
        raised(events, (from, until), PHASES, (BASE + later, 0.7), random);
        from = until;
    }
}

fn flush(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let keep = (-FLUSH_S / 60.0).exp();
    let mut state = random.normal();
    let mut at = FLUSH_S * random.uniform();
    while at < seconds {
        events.push((at, BASE + WRITTEN * (DEVIATION * state).exp()));
        state = keep * state + (1.0 - keep * keep).sqrt() * random.normal();
        at += FLUSH_S;
    }
}

fn credits(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let offset = 0.1 * random.uniform();
    let mut credit = 0;
    for second in -5_000..seconds as i32 {
        let is_more = random.uniform() < GAIN / (1.0 + GAIN);
        credit = (credit + if is_more { 1 } else { -1 }).clamp(0, MAX_CREDIT);
        if credit == 0 && second >= 0 {
            for tenth in 0..10 {
                let at = f64::from(second) + offset + f64::from(tenth) / 10.0;
                events.push((at, BASE + 2.0 + 2.0 * random.exponential()));
            }
        }
    }
}

fn tenants(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut at = -30_000.0;
    while at < seconds {
        at += random.exponential() * STAY_S / TENANTS;
        let until = (at + STAY_S * random.exponential()).min(seconds);
        let rate = EACH * random.exponential();
        if at.max(0.0) < until {
            ground(events, (at.max(0.0), until), rate, 1.6, random);
        }
    }
}
