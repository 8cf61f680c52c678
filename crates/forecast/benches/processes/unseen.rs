//! Twelve processes chosen by somebody who had not read the forecast, before anyone had seen an answer to them.
//!
//! Below each lies a ground of independent late wakeups, 20 a second above [`BASE`], whose amounts above it are
//! exponential. How often a level is exceeded follows from each formula, because sizes do not depend on when the stall
//! comes, or their law is known. For a process that changes for good (`trend`, `change`), the truth is how it is from
//! the end on: that is what the forecast is about.

use super::{BASE, EVENTS, floor};
use punctual_random::Random;

/// Two late wakeups are never due at the same time, s.
const STEP: f64 = 0.001;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unseen {
    /// Gaps of a Weibull law of shape 0.5 and mean 20 s.
    Weibull,
    /// A garbage collector: 8 late wakeups within 40 ms, after a period of about 10 s that drifts.
    Collector,
    /// Calm and storm in turn, each for as long as a Pareto law of shape 1.5 says.
    Sojourns,
    /// The logarithm of the rate is the sum of nine memories, from 1 s to 18 h: long memory.
    LongMemory,
    /// The rate grows by the second, to three times its first value, and stalls are log-normal.
    Trend,
    /// Every 10 ms something has the CPU for 200 us or a little more; its place between wakeups moves round in 400 s.
    Beat,
    /// Two CPUs, which share four of five stalls.
    Together,
    /// Pairs of the same size, 50 ms apart, 0.02 a second.
    Pairs,
    /// The longer ago the last one was, the larger.
    Charged,
    /// At some time stalls become three times as frequent.
    Change,
    /// The scale goes 30 % up and down in ten times the recording.
    Tenth,
    /// Each late wakeup brings on 0.97 others within 3 s on average.
    Critical,
}

/// Name, process and memory, s.
pub(crate) const PROCESSES: [(&str, Unseen, f64); 12] = [
    ("weibull", Unseen::Weibull, 0.0),
    ("collector", Unseen::Collector, 300.0),
    ("sojourns", Unseen::Sojourns, 66.0),
    ("long-memory", Unseen::LongMemory, 65_536.0),
    ("trend", Unseen::Trend, 0.0),
    ("beat", Unseen::Beat, 400.0),
    ("together", Unseen::Together, 0.0),
    ("pairs", Unseen::Pairs, 0.0),
    ("charged", Unseen::Charged, 0.0),
    ("change", Unseen::Change, 0.0),
    ("tenth", Unseen::Tenth, 0.0),
    ("critical", Unseen::Critical, 100.0),
];

/// The share above `x` of an exponential law of this scale that begins at `from`.
pub(super) fn above(x: f64, from: f64, scale: f64) -> f64 {
    (-(x - from).max(0.0) / scale).exp()
}

/// The share above `z` of a standard normal law.
pub(super) fn normal_above(z: f64) -> f64 {
    // At the middle of 2,000 steps over 10 more deviations.
    let step = 10.0 / 2_000.0;
    let of = |index: usize| {
        let z = z + (index as f64 + 0.5) * step;
        (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * step
    };
    (0..2_000).map(of).sum()
}

const PAIRS: f64 = 0.02;
const STALLS: f64 = 0.05;
const CHARGES: f64 = 0.2;
/// Storms: how much more frequent than the ground, and of twice the scale.
const STORM: f64 = 5.0;
/// In `trend`, sizes are this many scales at the middle, with this deviation of the logarithm.
const MIDDLE: f64 = 4.0;
const DEVIATION: f64 = 0.35;

impl Unseen {
    /// Wakeups later than `x` scales a second, of one CPU, in the long run.
    pub(crate) fn rate(self, x: f64) -> f64 {
        let ground = EVENTS * above(x, BASE, 1.0);
        match self {
            Unseen::Weibull => ground + STALLS * above(x, BASE + 4.0, 2.0),
            Unseen::Collector => ground + 0.8 * above(x, BASE + 2.0, 1.5),
            Unseen::Sojourns => ground + 6.0 / 66.0 * STORM * EVENTS * above(x, BASE, 2.0),
            Unseen::LongMemory | Unseen::Together | Unseen::Critical => ground,
            Unseen::Trend => 1.5 * EVENTS * normal_above((x / MIDDLE).ln() / DEVIATION),
            // The length is 10 scales and an exponential amount, and the wakeup meets the rest of it: it may fall
            // anywhere.
            Unseen::Beat => ground + 100.0 / 50.0 * (above(x, 10.0, 1.0) + (10.0 - x).max(0.0)),
            Unseen::Pairs => ground + 2.0 * PAIRS * above(x, BASE + 5.0, 2.0),
            Unseen::Charged => ground + CHARGES * above(x, BASE + 1.0, 3.0),
            Unseen::Change => 3.0 * ground,
            Unseen::Tenth => {
                let of = |index: usize| {
                    let scale = 1.0 + 0.3 * (std::f64::consts::TAU * index as f64 / 2_000.0).sin();
                    EVENTS * above(x, BASE, scale)
                };
                (0..2_000).map(of).sum::<f64>() / 2_000.0
            }
        }
    }

    /// Late wakeups of each CPU until `until`, on a machine that is recorded for this many seconds: (when s, by how
    /// many scales).
    pub(crate) fn run(self, seconds: f64, until: f64, random: &mut Random) -> Vec<Vec<(f64, f64)>> {
        let mut cpus = match self {
            Unseen::Together => together(until, random),
            Unseen::LongMemory => vec![wandering(until, random)],
            Unseen::Trend => vec![growing(seconds, until, random)],
            Unseen::Change => vec![changing(seconds, until, random)],
            Unseen::Tenth => vec![swinging(seconds, until, random)],
            Unseen::Critical => vec![critical(until, random)],
            _ => {
                let mut events = Vec::new();
                ground(&mut events, (0.0, until), EVENTS, 1.0, random);
                match self {
                    Unseen::Weibull => renewed(&mut events, until, random),
                    Unseen::Collector => collected(&mut events, until, random),
                    Unseen::Sojourns => stormy(&mut events, until, random),
                    Unseen::Beat => beating(&mut events, until, random),
                    Unseen::Pairs => paired(&mut events, until, random),
                    _ => charged(&mut events, until, random),
                }
                vec![events]
            }
        };
        cpus.iter_mut().for_each(one_at_a_time);
        cpus
    }
}

/// Wakeups are due one after another: of two in the same period, one becomes the next period's.
pub(super) fn one_at_a_time(events: &mut Vec<(f64, f64)>) {
    events.retain(|event| event.1 > floor());
    events.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = 0.0;
    for (at, _) in events {
        *at = (*at / STEP).floor().max(free) * STEP + STEP / 10.0;
        free = (*at / STEP).floor() + 1.0;
    }
}

/// Independent late wakeups, this many a second; only those that are recorded are made.
pub(super) fn ground(events: &mut Vec<(f64, f64)>, between: (f64, f64), rate: f64, scale: f64, random: &mut Random) {
    let floor = floor();
    poisson(events, between, rate * above(floor, BASE, scale), (floor, scale), random);
}

/// The same from this level on, which may be above or below what is recorded.
pub(super) fn raised(
    events: &mut Vec<(f64, f64)>,
    between: (f64, f64),
    rate: f64,
    (level, scale): (f64, f64),
    random: &mut Random,
) {
    let from = floor().max(level);
    poisson(events, between, rate * above(from, level, scale), (from, scale), random);
}

fn poisson(
    events: &mut Vec<(f64, f64)>,
    (from, to): (f64, f64),
    rate: f64,
    (level, scale): (f64, f64),
    random: &mut Random,
) {
    let mut at = from;
    loop {
        at += random.exponential() / rate;
        if at >= to {
            return;
        }
        events.push((at, level + scale * random.exponential()));
    }
}

fn renewed(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    // Begins long before the recording, so that the recording begins anywhere.
    let mut at = -2_000.0;
    while at < seconds {
        // The mean of a squared exponential is 2.
        at += random.exponential().powi(2) / (2.0 * STALLS);
        if (0.0..seconds).contains(&at) {
            events.push((at, BASE + 4.0 + 2.0 * random.exponential()));
        }
    }
}

fn collected(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    const DEVIATION: f64 = 0.4;
    let keep = (-1.0_f64 / 30.0).exp();
    let mut state = random.normal();
    let mut at = -1_000.0;
    while at < seconds {
        state = keep * state + (1.0 - keep * keep).sqrt() * random.normal();
        at += 10.0 * (DEVIATION * state - DEVIATION * DEVIATION / 2.0).exp();
        for wakeup in 0..8 {
            let due = at + 0.005 * f64::from(wakeup);
            if (0.0..seconds).contains(&due) {
                events.push((due, BASE + 2.0 + 1.5 * random.exponential()));
            }
        }
    }
}

fn stormy(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    const SHAPE: f64 = 1.5;
    // Of shape 1.5, the mean is three times the least.
    let sojourn = |least: f64, random: &mut Random| least * random.uniform().powf(-1.0 / SHAPE);
    // The recording begins anywhere: in calm or storm in proportion to how long each lasts, with what is left of it.
    let mut is_calm = random.uniform() < 20.0 / 22.0;
    let mut until = left_of_pareto(if is_calm { 20.0 } else { 2.0 }, SHAPE, random);
    let mut at = 0.0;
    while at < seconds {
        if !is_calm {
            ground(events, (at, until.min(seconds)), STORM * EVENTS, 2.0, random);
        }
        (at, is_calm) = (until, !is_calm);
        until = at + sojourn(if is_calm { 20.0 } else { 2.0 }, random);
    }
}

/// How much longer something goes on from any moment, if it lasts as a Pareto law with this least and shape says.
pub(super) fn left_of_pareto(least: f64, shape: f64, random: &mut Random) -> f64 {
    if random.uniform() < 1.0 / shape {
        least * random.uniform().powf(-1.0 / (shape - 1.0))
    } else {
        least * random.uniform()
    }
}

fn beating(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let begin = 50.0 * random.uniform();
    let mut at = 0.0;
    while at < seconds {
        // How far into it the wakeup falls, in scales.
        let into = (begin + 50.0 * at / 400.0) % 50.0;
        let late = 10.0 + random.exponential() - into;
        if late > BASE {
            events.push((at, late));
        }
        at += 0.01;
    }
}

fn paired(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut at = -1.0;
    while at < seconds {
        at += random.exponential() / PAIRS;
        let late = BASE + 5.0 + 2.0 * random.exponential();
        for due in [at, at + 0.05] {
            if (0.0..seconds).contains(&due) {
                events.push((due, late));
            }
        }
    }
}

fn charged(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut at = -100.0;
    while at < seconds {
        let gap = random.exponential();
        at += gap / CHARGES;
        if (0.0..seconds).contains(&at) {
            events.push((at, BASE + 1.0 + 3.0 * gap));
        }
    }
}

fn together(seconds: f64, random: &mut Random) -> Vec<Vec<(f64, f64)>> {
    let mut both = Vec::new();
    ground(&mut both, (0.0, seconds), 0.8 * EVENTS, 1.0, random);
    let one = |random: &mut Random| {
        let mut events = both.clone();
        ground(&mut events, (0.0, seconds), 0.2 * EVENTS, 1.0, random);
        events
    };
    vec![one(random), one(random)]
}

fn wandering(seconds: f64, random: &mut Random) -> Vec<(f64, f64)> {
    const MEMORIES: usize = 9;
    const VARIANCE: f64 = 0.5;
    let mut states: Vec<f64> = (0..MEMORIES).map(|_| random.normal()).collect();
    let mut events = Vec::new();
    for second in 0..seconds as u64 {
        for (index, state) in states.iter_mut().enumerate() {
            let keep = (-1.0 / 4f64.powi(index as i32)).exp();
            *state = keep * *state + (1.0 - keep * keep).sqrt() * random.normal();
        }
        let logarithm = (VARIANCE / MEMORIES as f64).sqrt() * states.iter().sum::<f64>() - VARIANCE / 2.0;
        let from = second as f64;
        ground(&mut events, (from, from + 1.0), EVENTS * logarithm.exp(), 1.0, random);
    }
    events
}

fn growing(seconds: f64, until: f64, random: &mut Random) -> Vec<(f64, f64)> {
    let mut events = Vec::new();
    let mut at = 0.0;
    loop {
        at += random.exponential() / (1.5 * EVENTS);
        if at >= until {
            return events;
        }
        // From a third of its last rate up to that rate, which it then keeps.
        let share = (1.0 + 2.0 * (at / seconds).min(1.0)) / 3.0;
        let late = MIDDLE * (DEVIATION * random.normal()).exp();
        if random.uniform() < share && late > BASE {
            events.push((at, late));
        }
    }
}

fn changing(seconds: f64, until: f64, random: &mut Random) -> Vec<(f64, f64)> {
    let change = seconds * (0.1 + 0.8 * random.uniform());
    let mut events = Vec::new();
    ground(&mut events, (0.0, change), EVENTS, 1.0, random);
    ground(&mut events, (change, until), 3.0 * EVENTS, 1.0, random);
    events
}

fn swinging(seconds: f64, until: f64, random: &mut Random) -> Vec<(f64, f64)> {
    let phase = random.uniform();
    let mut events = Vec::new();
    for second in 0..until as u64 {
        let from = second as f64;
        let angle = std::f64::consts::TAU * (from / (10.0 * seconds) + phase);
        ground(&mut events, (from, from + 1.0), EVENTS, 1.0 + 0.3 * angle.sin(), random);
    }
    events
}

fn critical(seconds: f64, random: &mut Random) -> Vec<(f64, f64)> {
    const CHILDREN: f64 = 0.97;
    let (mut waiting, mut events) = (Vec::new(), Vec::new());
    let mut at = -1_500.0;
    while at < seconds {
        at += random.exponential() / (EVENTS * (1.0 - CHILDREN));
        waiting.push(at);
    }
    while let Some(at) = waiting.pop() {
        if (0.0..seconds).contains(&at) {
            events.push((at, BASE + random.exponential()));
        }
        // As many as a Poisson law says.
        let mut chance = random.uniform();
        while chance > (-CHILDREN).exp() {
            let child = at + 3.0 * random.exponential();
            if child < seconds {
                waiting.push(child);
            }
            chance *= random.uniform();
        }
    }
    events
}
