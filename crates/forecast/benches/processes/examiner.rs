//! Six processes written without knowledge of the method.
//!
//! Each drifts while it is recorded and stays as it is at the end: that is the truth.

use super::unseen::{above, ground, one_at_a_time};
use super::{BASE, EVENTS, floor};
use punctual_random::Random;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Examiner {
    /// Long stalls become twice as frequent, while a quarter of the short ones goes away.
    Trade,
    /// Nothing changes for two thirds of the recording; then stalls become up to a tenth longer.
    LastThird,
    /// At a moment in the middle of the recording, what long stalls have above their least becomes 15 % longer; short
    /// ones do not change.
    Step,
    /// Stalls become shorter and longer again, by a sine of twice the recording's length.
    Dip,
    /// The tail of long stalls becomes heavier while its scale shrinks: the level exceeded every 10 s hardly moves.
    Thicker,
    /// Stalls become up to a tenth longer, are as at first after a restart halfway, and become longer again.
    Restarted,
}

/// Name, process and memory, s.
pub(crate) const PROCESSES: [(&str, Examiner, f64); 6] = [
    ("trade", Examiner::Trade, 0.0),
    ("last-third", Examiner::LastThird, 0.0),
    ("step", Examiner::Step, 0.0),
    ("dip", Examiner::Dip, 0.0),
    ("thicker", Examiner::Thicker, 0.0),
    ("restarted", Examiner::Restarted, 0.0),
];

/// How far above the ground's least stall the least long one is, scales.
const LEVEL: f64 = 3.0;
/// The scale of short stalls where there are long ones.
const SHORT: f64 = 0.8;
const GROWS: f64 = 0.1;
const DIPS: f64 = 0.08;

/// Long stalls: how many a second, and the scale and shape of their tail.
#[derive(Clone, Copy)]
struct Long {
    rate: f64,
    scale: f64,
    shape: f64,
}

/// What the machine does at a moment: short stalls a second, their scale, and the long ones, if any.
#[derive(Clone, Copy)]
struct State {
    rate: f64,
    scale: f64,
    long: Option<Long>,
}

impl Long {
    /// How many a second are longer than `x` scales.
    fn above(self, x: f64) -> f64 {
        let beyond = ((x - BASE - LEVEL) / self.scale).max(0.0);
        let share =
            if self.shape > 0.0 { (1.0 + self.shape * beyond).powf(-1.0 / self.shape) } else { (-beyond).exp() };
        self.rate * share
    }

    /// Adds those of a second.
    fn run(self, events: &mut Vec<(f64, f64)>, from: f64, random: &mut Random) {
        let mut at = from;
        loop {
            at += random.exponential() / self.rate;
            if at >= from + 1.0 {
                return;
            }
            let depth = random.exponential();
            let beyond = if self.shape > 0.0 { ((self.shape * depth).exp() - 1.0) / self.shape } else { depth };
            let late = BASE + LEVEL + self.scale * beyond;
            if late > floor() {
                events.push((at, late));
            }
        }
    }
}

impl Examiner {
    /// What it does when this share of the recording is over, where its step, if any, comes at `step`.
    fn at(self, share: f64, step: f64) -> State {
        let all = |scale: f64| State { rate: EVENTS, scale, long: None };
        let two = |rate: f64, long: Long| State { rate, scale: SHORT, long: Some(long) };
        match self {
            Examiner::Trade => {
                let long = Long { rate: 0.1 * (1.0 + share), scale: 2.0, shape: 0.0 };
                two(EVENTS * (4.0 - share) / 3.0, long)
            }
            Examiner::LastThird => all(1.0 + GROWS * (3.0 * share - 2.0).max(0.0)),
            Examiner::Step => {
                let scale = if share < step { 2.0 } else { 2.0 * 1.15 };
                two(EVENTS, Long { rate: 0.3, scale, shape: 0.0 })
            }
            Examiner::Dip => all(1.0 - DIPS * (std::f64::consts::PI * share).sin()),
            Examiner::Thicker => {
                let long = Long { rate: 2.0, scale: 2.0 - 0.4 * share, shape: 0.05 + 0.15 * share };
                two(EVENTS, long)
            }
            Examiner::Restarted => all(1.0 + GROWS * if share < 0.5 { 2.0 * share } else { 2.0 * share - 1.0 }),
        }
    }

    /// Wakeups later than `x` scales a second, from the recording's end on.
    pub(crate) fn rate(self, x: f64) -> f64 {
        let last = self.at(1.0, 0.5);
        last.rate * above(x, BASE, last.scale) + last.long.map_or(0.0, |long| long.above(x))
    }

    /// Late wakeups until `until`, on a machine that is recorded for this many seconds: (when s, by how many scales).
    pub(crate) fn run(self, seconds: f64, until: f64, random: &mut Random) -> Vec<(f64, f64)> {
        let step = 0.2 + 0.6 * random.uniform();
        let mut events = Vec::new();
        for second in 0..until as u64 {
            let from = second as f64;
            let state = self.at((from / seconds).min(1.0), step);
            ground(&mut events, (from, from + 1.0), state.rate, state.scale, random);
            if let Some(long) = state.long {
                long.run(&mut events, from, random);
            }
        }
        one_at_a_time(&mut events);
        events
    }
}
