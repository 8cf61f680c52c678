//! Six processes used to choose the rules that say when the recording's own events cannot carry a verdict, or a limit
//! for the next hour: nobody looked at any of the others for that.

use super::unseen::{above, ground, one_at_a_time, raised};
use super::{BASE, EVENTS};
use punctual_random::Random;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tuned {
    /// Jobs, 30 s apart on average; each lasts a log-normal time (its logarithm's deviation 1.8) and brings 20 stalls a
    /// second.
    Jobs,
    /// The same every minute, for as long as a Pareto law of shape 1.3 says, but at most a minute.
    Crowds,
    /// Work comes at random and is done at one speed, 0.7 of capacity: a wakeup waits for all that is there.
    Backlog,
    /// Calm for as long as a Pareto law of shape 2 says, then storms of 5 s on average.
    Spells,
    /// The logarithm of the rate is an AR(1) with deviation 0.8 and a memory of 20 s.
    Waves,
    /// Stalls become less frequent by the second, down to half of what they were, and stay so.
    Settling,
}

/// Name, process and memory, s.
pub(crate) const PROCESSES: [(&str, Tuned, f64); 6] = [
    ("jobs", Tuned::Jobs, 30.0),
    ("crowds", Tuned::Crowds, 60.0),
    ("backlog", Tuned::Backlog, 11.0),
    ("spells", Tuned::Spells, 25.0),
    ("waves", Tuned::Waves, 20.0),
    ("settling", Tuned::Settling, 0.0),
];

const JOB: (f64, f64) = (0.05, 1.8);
const CROWD: (f64, f64, f64) = (0.05, 1.3, 60.0);
/// The share of capacity, how much comes at once, scales, and how much is done in a second.
const WORK: (f64, f64, f64) = (0.7, 0.6, 2.0);
const DEVIATION: f64 = 0.8;

impl Tuned {
    /// Wakeups later than `x` scales a second, of one CPU, in the long run.
    pub(crate) fn rate(self, x: f64) -> f64 {
        let alone = EVENTS * above(x, BASE, 1.0);
        match self {
            Tuned::Jobs => {
                let mean = JOB.0 * (JOB.1 * JOB.1 / 2.0).exp();
                alone + mean / 30.0 * EVENTS * above(x, BASE + 3.0, 2.0)
            }
            Tuned::Crowds => {
                let (least, shape, most) = CROWD;
                let mean = (shape * least - least.powf(shape) * most.powf(1.0 - shape)) / (shape - 1.0);
                alone + mean / 60.0 * EVENTS * above(x, BASE + 3.0, 2.0)
            }
            Tuned::Backlog => EVENTS * WORK.0 * above(x, BASE, WORK.1 / (1.0 - WORK.0)),
            Tuned::Spells => alone + 0.2 * EVENTS * above(x, BASE, 1.6),
            Tuned::Waves | Tuned::Settling => alone,
        }
    }

    /// Late wakeups of each CPU until `until`, on a machine that is recorded for this many seconds: (when s, by how
    /// many scales).
    pub(crate) fn run(self, seconds: f64, until: f64, random: &mut Random) -> Vec<Vec<(f64, f64)>> {
        let mut events = Vec::new();
        match self {
            Tuned::Backlog => backlog(&mut events, until, random),
            Tuned::Waves => waves(&mut events, until, random),
            Tuned::Settling => {
                ground(&mut events, (0.0, until), 2.0 * EVENTS, 1.0, random);
                events.retain(|event| random.uniform() < 1.0 - 0.5 * (event.0 / seconds).min(1.0));
            }
            _ => {
                ground(&mut events, (0.0, until), EVENTS, 1.0, random);
                storms(self, &mut events, until, random);
            }
        }
        one_at_a_time(&mut events);
        vec![events]
    }
}

fn storms(process: Tuned, events: &mut Vec<(f64, f64)>, until: f64, random: &mut Random) {
    let mut at = -5_000.0;
    while at < until {
        let (pause, length) = match process {
            Tuned::Jobs => (30.0 * random.exponential(), JOB.0 * (JOB.1 * random.normal()).exp()),
            Tuned::Crowds => {
                (60.0 * random.exponential(), (CROWD.0 * random.uniform().powf(-1.0 / CROWD.1)).min(CROWD.2))
            }
            _ => (10.0 * random.uniform().powf(-0.5), 5.0 * random.exponential()),
        };
        at += pause;
        let (from, to) = (at.max(0.0), (at + length).min(until));
        if from < to {
            let (level, scale) = if process == Tuned::Spells { (0.0, 1.6) } else { (3.0, 2.0) };
            raised(events, (from, to), EVENTS, (BASE + level, scale), random);
        }
        // Storms of a spell end before the next calm; jobs overlap.
        at += if process == Tuned::Spells { length } else { 0.0 };
    }
}

fn backlog(events: &mut Vec<(f64, f64)>, until: f64, random: &mut Random) {
    let (full, piece, speed) = WORK;
    let comes = full * speed / piece;
    let mut left = if random.uniform() < full { piece / (1.0 - full) * random.exponential() } else { 0.0 };
    let mut at = 0.0;
    while at < until {
        let next = at + random.exponential() / comes;
        let mut due = at;
        loop {
            due += random.exponential() / EVENTS;
            let waits = left - speed * (due - at);
            if due >= next.min(until) || waits <= 0.0 {
                break;
            }
            events.push((due, BASE + waits));
        }
        left = (left - speed * (next - at)).max(0.0) + piece * random.exponential();
        at = next;
    }
}

fn waves(events: &mut Vec<(f64, f64)>, until: f64, random: &mut Random) {
    let keep = (-1.0_f64 / 20.0).exp();
    let mut state = random.normal();
    for second in 0..until as u64 {
        let rate = EVENTS * (DEVIATION * state - DEVIATION * DEVIATION / 2.0).exp();
        let from = second as f64;
        ground(events, (from, from + 1.0), rate, 1.0, random);
        state = keep * state + (1.0 - keep * keep).sqrt() * random.normal();
    }
}
