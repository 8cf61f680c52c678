//! Processes that make late wakeups, with how often each level is exceeded in the long run; those of other files stand
//! beside them.

use super::drawn::{self, Drawn};
use super::examiner::{self, Examiner};
use super::later::{self, Later};
use super::stranger::{self, Stranger};
use super::tuned::{self, Tuned};
use super::unseen::{self, Unseen, above, ground};
use super::{BASE, EVENTS, floor};
use punctual_random::Random;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Process {
    Independent,
    /// Three kinds: scale 1 for most, 3 for 1 in 20, 6 for 1 in 2,000.
    Mixture,
    /// A Generalized Pareto tail of shape 0.5.
    Heavy,
    /// Storms every 100 s on average, of 4 s on average, with a late wakeup of scale 3 every 8 ms, above independent
    /// ones.
    Storms,
    /// Two CPUs; the second has a tenth as many.
    Cpus,
    /// The scale's logarithm is an AR(1) with this deviation and a memory of 50 s.
    Wander(f64),
    /// Each late wakeup brings on 0.75 others within 3 s on average.
    Branching,
    /// 20 s on, 20 s off.
    OnOff,
    /// The scale follows the time of day, 30 % up and down.
    Daily,
    Unseen(Unseen),
    Later(Later),
    Stranger(Stranger),
    Tuned(Tuned),
    Drawn(Drawn),
    /// Stalls become longer by the second, up to a twentieth longer than at first, and stay so.
    Swelling,
    Examiner(Examiner),
}

/// Name, process and memory, s, of those in this file.
const PROCESSES: [(&str, Process, f64); 10] = [
    ("independent", Process::Independent, 0.0),
    ("mixture", Process::Mixture, 0.0),
    ("gpd+0.5", Process::Heavy, 0.0),
    ("per-cpu", Process::Cpus, 0.0),
    ("storms", Process::Storms, 104.0),
    ("branching", Process::Branching, 12.0),
    ("on-off", Process::OnOff, 20.0),
    ("wander-0.15", Process::Wander(0.15), 50.0),
    ("wander-0.4", Process::Wander(0.4), 50.0),
    ("daily", Process::Daily, 86_400.0),
];

/// By how much the scale grows within a recording, of the process that was written last: little enough that its drift
/// is certain in some recordings and does not show in others.
const SWELLS: f64 = 0.05;

impl Process {
    /// Events above `x` scales a second, in the long run.
    pub(crate) fn rate(self, x: f64) -> f64 {
        match self {
            Process::Unseen(unseen) => return unseen.rate(x),
            Process::Later(later) => return later.rate(x),
            Process::Stranger(stranger) => return stranger.rate(x),
            Process::Tuned(tuned) => return tuned.rate(x),
            Process::Drawn(drawn) => return drawn.rate(x),
            Process::Examiner(examiner) => return examiner.rate(x),
            _ => {}
        }
        let exponential = |scale: f64| 1_000.0 * (-x / scale).exp();
        match self {
            Process::Swelling => EVENTS * above(x, BASE, 1.0 + SWELLS),
            Process::Mixture => 0.9495 * exponential(1.0) + 0.05 * exponential(3.0) + 0.0005 * exponential(6.0),
            Process::Heavy => 1_000.0 * (1.0 + 0.5 * x / 0.15).powi(-2),
            Process::Storms => exponential(1.0) + 125.0 * 4.0 / 100.0 * (-x / 3.0).exp(),
            Process::Wander(deviation) => {
                // Sums over the states, at the middle of 2,000 steps to 8 deviations either way.
                let step = 16.0 / 2_000.0;
                let of = |index: usize| {
                    let z = -8.0 + (index as f64 + 0.5) * step;
                    (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * step * exponential((deviation * z).exp())
                };
                (0..2_000).map(of).sum()
            }
            Process::Daily => {
                let of = |index: usize| exponential(1.0 + 0.3 * (std::f64::consts::TAU * index as f64 / 2_000.0).sin());
                (0..2_000).map(of).sum::<f64>() / 2_000.0
            }
            _ => exponential(1.0),
        }
    }

    /// How many times as many there are on any of the CPUs as on the CPU that [`Process::rate`] speaks of: the worst
    /// hour is that of all.
    pub(crate) fn of_all_cpus(self) -> f64 {
        match self {
            Process::Cpus => 1.1,
            Process::Unseen(Unseen::Together) => 1.2,
            Process::Later(Later::Moving) => 2.0,
            Process::Stranger(Stranger::Siblings) => 4.0,
            _ => 1.0,
        }
    }

    /// The level that this many a second exceed, scales.
    pub(crate) fn level(self, per_second: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1e4);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if self.rate(middle) > per_second { low = middle } else { high = middle }
        }
        high
    }

    /// Late wakeups of one CPU, of the processes of this file: (when s, by how many scales).
    #[expect(clippy::too_many_lines, reason = "one flat match: what each process does in a second")]
    fn one(self, seconds: f64, random: &mut Random) -> Vec<(f64, f64)> {
        let mut events: Vec<(f64, f64)> = Vec::new();
        // This many a second on average, for a second from here, above a level, of this scale.
        let steady = |events: &mut Vec<(f64, f64)>, from: f64, share: f64, scale: f64, random: &mut Random| {
            let level = floor();
            let rate = 1_000.0 * share * (-level / scale).exp();
            let mut at = from;
            loop {
                at += random.exponential() / rate;
                if at >= from + 1.0 {
                    break;
                }
                events.push((at, level + scale * random.exponential()));
            }
        };
        let mut state = random.normal();
        let phase = random.uniform();
        for second in 0..seconds as u64 {
            let from = second as f64;
            match self {
                Process::Independent | Process::Cpus => steady(&mut events, from, 1.0, 1.0, random),
                Process::Mixture => {
                    for (share, scale) in [(0.9495, 1.0), (0.05, 3.0), (0.0005, 6.0)] {
                        steady(&mut events, from, share, scale, random);
                    }
                }
                Process::Heavy => {
                    let mut at = from;
                    loop {
                        let share = self.rate(floor()) / 1_000.0;
                        at += random.exponential() / (1_000.0 * share);
                        if at >= from + 1.0 {
                            break;
                        }
                        let survival = share * random.uniform();
                        events.push((at, 0.15 * (survival.powf(-0.5) - 1.0) / 0.5));
                    }
                }
                Process::Storms => steady(&mut events, from, 1.0, 1.0, random),
                Process::Wander(deviation) => {
                    let keep = (-1.0f64 / 50.0).exp();
                    state = keep * state + (1.0 - keep * keep).sqrt() * random.normal();
                    steady(&mut events, from, 1.0, (deviation * state).exp(), random);
                }
                Process::OnOff if (((from + 40.0 * phase) / 20.0) as u64).is_multiple_of(2) => {
                    steady(&mut events, from, 2.0, 1.0, random);
                }
                Process::Daily => {
                    let angle = std::f64::consts::TAU * (from / 86_400.0 + phase);
                    steady(&mut events, from, 1.0, 1.0 + 0.3 * angle.sin(), random);
                }
                _ => {}
            }
        }
        if self == Process::Storms {
            let mut at = -60.0;
            loop {
                at += random.exponential() * 100.0;
                if at >= seconds {
                    break;
                }
                let until = (at + random.exponential() * 4.0).min(seconds);
                let mut due = at;
                while due < until {
                    if due >= 0.0 {
                        events.push((due, 3.0 * random.exponential()));
                    }
                    due += 0.008;
                }
            }
        }
        if self == Process::Branching {
            let mut waiting: Vec<f64> = Vec::new();
            let mut at = -60.0;
            while at < seconds {
                at += random.exponential() / (EVENTS * 0.25);
                waiting.push(at);
            }
            while let Some(at) = waiting.pop() {
                if (0.0..seconds).contains(&at) {
                    events.push((at, BASE + random.exponential()));
                }
                // Poisson with mean 0.75.
                let mut chance = random.uniform();
                while chance > (-0.75f64).exp() {
                    let child = at + 3.0 * random.exponential();
                    if child < seconds {
                        waiting.push(child);
                    }
                    chance *= random.uniform();
                }
            }
        }
        events
    }

    /// Late wakeups of each CPU until `until`, on a machine that is recorded for this many seconds: (when s, by how
    /// many scales).
    pub(crate) fn run(self, seconds: f64, until: f64, random: &mut Random) -> Vec<Vec<(f64, f64)>> {
        match self {
            Process::Unseen(unseen) => unseen.run(seconds, until, random),
            Process::Later(later) => later.run(until, random),
            Process::Stranger(stranger) => stranger.run(until, random),
            Process::Tuned(tuned) => tuned.run(seconds, until, random),
            Process::Drawn(drawn) => vec![drawn.run(seconds, until, random)],
            Process::Examiner(examiner) => vec![examiner.run(seconds, until, random)],
            Process::Swelling => vec![swelling(seconds, until, random)],
            Process::Cpus => {
                let mut quiet = self.one(until, random);
                quiet.retain(|_| random.uniform() < 0.1);
                vec![self.one(until, random), quiet]
            }
            process => vec![process.one(until, random)],
        }
    }
}

fn swelling(seconds: f64, until: f64, random: &mut Random) -> Vec<(f64, f64)> {
    let mut events = Vec::new();
    for second in 0..until as u64 {
        let from = second as f64;
        let scale = 1.0 + SWELLS * (from / seconds).min(1.0);
        ground(&mut events, (from, from + 1.0), EVENTS, scale, random);
    }
    events
}

/// All of them: name, process and memory, s.
pub(crate) fn all() -> Vec<(&'static str, Process, f64)> {
    let unseen = unseen::PROCESSES.into_iter().map(|(name, unseen, memory)| (name, Process::Unseen(unseen), memory));
    let later = later::PROCESSES.into_iter().map(|(name, later, memory)| (name, Process::Later(later), memory));
    let stranger =
        stranger::PROCESSES.into_iter().map(|(name, stranger, memory)| (name, Process::Stranger(stranger), memory));
    let tuned = tuned::PROCESSES.into_iter().map(|(name, tuned, memory)| (name, Process::Tuned(tuned), memory));
    let of_drawn = |name| (name, Process::Drawn(Drawn::of(name)), Drawn::of(name).memory());
    let drawn = drawn::NAMES.into_iter().map(of_drawn);
    let last = [("swelling", Process::Swelling, 0.0)];
    let examiner =
        examiner::PROCESSES.into_iter().map(|(name, examiner, memory)| (name, Process::Examiner(examiner), memory));
    let earlier = PROCESSES.into_iter().chain(unseen).chain(later).chain(stranger).chain(tuned).chain(drawn);
    // Last, so that all others keep the numbers that they had.
    let queues = drawn::QUEUES.into_iter().map(of_drawn);
    earlier.chain(last).chain(examiner).chain(queues).collect()
}

/// Processes of which a forecast has no good reason to refuse much: nothing comes in storms, and no rate wanders or drifts.
const BENIGN: [&str; 9] =
    ["independent", "mixture", "per-cpu", "branching", "on-off", "weibull", "together", "minutes", "firmware"];

/// Whether this is the name of one of them.
pub(crate) fn is_benign(name: &str) -> bool {
    BENIGN.contains(&name)
}

/// Whether a name of the command line means this one: its own name, or that of its set.
pub(crate) fn is_meant(only: &str, name: &str) -> bool {
    match only {
        "first" => PROCESSES.iter().any(|process| process.0 == name),
        "unseen" => unseen::PROCESSES.iter().any(|process| process.0 == name),
        "later" => later::PROCESSES.iter().any(|process| process.0 == name),
        "stranger" => stranger::PROCESSES.iter().any(|process| process.0 == name),
        "examiner" => examiner::PROCESSES.iter().any(|process| process.0 == name),
        "tuned" => tuned::PROCESSES.iter().any(|process| process.0 == name),
        "drawn" => drawn::NAMES[..drawn::EARLIER].contains(&name),
        "fresh" => drawn::NAMES[drawn::EARLIER..drawn::BEFORE].contains(&name),
        "aside" => drawn::NAMES[drawn::BEFORE..].contains(&name),
        "queues" => drawn::QUEUES.contains(&name),
        _ => only == name,
    }
}
