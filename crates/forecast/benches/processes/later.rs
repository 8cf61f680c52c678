//! Eight processes that real machines have and none of the others is, written when the method was frozen, before anyone
//! had seen an answer to them.

use super::unseen::{above, ground, one_at_a_time};
use super::{BASE, EVENTS};
use punctual_random::Random;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Later {
    /// A job every minute, for 2 s on average (log-normal), with ten late wakeups a second of twice the scale.
    Minutes,
    /// A temperature that wanders (60 s) throttles the CPU from one level until it falls below another: the scale is
    /// then 1.3.
    Heat,
    /// Another guest works for 120 s and rests for 240 s on average; meanwhile every 2 s it keeps the CPU for up to 10
    /// scales more.
    Neighbour,
    /// Firmware takes the CPU every 32 s, for nearly the same time each.
    Firmware,
    /// Sessions begin at random and last as a Pareto law of shape 2.5 says, 20 s on average; each adds as many stalls.
    Sessions,
    /// The recording begins with a machine that is cold: five times as many stalls, which fade by e in 60 s.
    Cold,
    /// For ten minutes in three hours it copies its disks: three times as many stalls, the others of 1.5 times the
    /// scale.
    Backup,
    /// What holds up wakeups moves between two CPUs, every 100 s on average.
    Moving,
}

/// Name, process and memory, s.
pub(crate) const PROCESSES: [(&str, Later, f64); 8] = [
    ("minutes", Later::Minutes, 60.0),
    ("heat", Later::Heat, 60.0),
    ("neighbour", Later::Neighbour, 80.0),
    ("firmware", Later::Firmware, 32.0),
    ("sessions", Later::Sessions, 40.0),
    ("cold", Later::Cold, 60.0),
    ("backup", Later::Backup, 10_800.0),
    ("moving", Later::Moving, 50.0),
];

const JOB_S: f64 = 2.0;
const JOB_DEVIATION: f64 = 0.8;
const HOT: f64 = 1.3;
const FIRMWARE_S: f64 = 32.0;
const SESSIONS: f64 = 0.05;
const BACKUP_S: (f64, f64) = (600.0, 10_800.0);

impl Later {
    /// Wakeups later than `x` scales a second, of one CPU, in the long run.
    pub(crate) fn rate(self, x: f64) -> f64 {
        let alone = EVENTS * above(x, BASE, 1.0);
        match self {
            Later::Minutes => alone + JOB_S / 60.0 * 10.0 * above(x, BASE, 2.0),
            Later::Heat => 0.5 * (alone + EVENTS * above(x, BASE, HOT)),
            Later::Neighbour => alone + 0.5 / 3.0 * (1.0 - (x - BASE) / 10.0).clamp(0.0, 1.0),
            Later::Firmware => alone + (2.0 * (BASE + 5.5 - x)).clamp(0.0, 1.0) / FIRMWARE_S,
            // One session at a time on average.
            Later::Sessions | Later::Cold => alone,
            Later::Backup => alone + BACKUP_S.0 / BACKUP_S.1 * 2.0 * EVENTS * above(x, BASE, 1.5),
            Later::Moving => alone + 0.5 * above(x, BASE, 2.0),
        }
    }

    /// Late wakeups of each CPU: (when s, by how many scales).
    pub(crate) fn run(self, seconds: f64, random: &mut Random) -> Vec<Vec<(f64, f64)>> {
        let mut cpus = match self {
            Later::Heat => vec![hot(seconds, random)],
            Later::Sessions => vec![sessions(seconds, random)],
            Later::Cold => vec![cold(seconds, random)],
            Later::Moving => moving(seconds, random).into(),
            _ => {
                let mut events = Vec::new();
                ground(&mut events, (0.0, seconds), EVENTS, 1.0, random);
                match self {
                    Later::Minutes => jobs(&mut events, seconds, random),
                    Later::Neighbour => neighbour(&mut events, seconds, random),
                    Later::Firmware => firmware(&mut events, seconds, random),
                    _ => backup(&mut events, seconds, random),
                }
                vec![events]
            }
        };
        cpus.iter_mut().for_each(one_at_a_time);
        cpus
    }
}

fn jobs(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut at = -60.0 * random.uniform();
    while at < seconds {
        let length = JOB_S * (JOB_DEVIATION * random.normal() - JOB_DEVIATION * JOB_DEVIATION / 2.0).exp();
        let (from, to) = (at.max(0.0), (at + length).min(seconds));
        if from < to {
            ground(events, (from, to), 10.0, 2.0, random);
        }
        at += 60.0;
    }
}

fn hot(seconds: f64, random: &mut Random) -> Vec<(f64, f64)> {
    let keep = (-1.0_f64 / 60.0).exp();
    let (mut temperature, mut events) = (random.normal(), Vec::new());
    let mut is_hot = if temperature.abs() > 0.5 { temperature > 0.0 } else { random.uniform() < 0.5 };
    for second in 0..seconds as u64 {
        temperature = keep * temperature + (1.0 - keep * keep).sqrt() * random.normal();
        is_hot = if is_hot { temperature > -0.5 } else { temperature > 0.5 };
        let from = second as f64;
        ground(&mut events, (from, from + 1.0), EVENTS, if is_hot { HOT } else { 1.0 }, random);
    }
    events
}

fn neighbour(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut works = random.uniform() < 1.0 / 3.0;
    let mut at = 0.0;
    while at < seconds {
        let until = at + random.exponential() * if works { 120.0 } else { 240.0 };
        if works {
            loop {
                at += 2.0 * random.exponential();
                if at >= until.min(seconds) {
                    break;
                }
                events.push((at, BASE + 10.0 * random.uniform()));
            }
        }
        (at, works) = (until, !works);
    }
}

fn firmware(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let mut at = FIRMWARE_S * random.uniform();
    while at < seconds {
        events.push((at, BASE + 5.0 + 0.5 * random.uniform()));
        at += FIRMWARE_S;
    }
}

fn sessions(seconds: f64, random: &mut Random) -> Vec<(f64, f64)> {
    let mut events = Vec::new();
    let mut at = -5_000.0;
    loop {
        at += random.exponential() / SESSIONS;
        if at >= seconds {
            return events;
        }
        // Of shape 2.5, the mean is 5/3 of the least.
        let until = at + 12.0 * random.uniform().powf(-1.0 / 2.5);
        if until > 0.0 {
            ground(&mut events, (at.max(0.0), until.min(seconds)), EVENTS, 1.0, random);
        }
    }
}

fn cold(seconds: f64, random: &mut Random) -> Vec<(f64, f64)> {
    let mut events = Vec::new();
    for second in 0..seconds as u64 {
        let from = second as f64;
        ground(&mut events, (from, from + 1.0), EVENTS * (1.0 + 4.0 * (-from / 60.0).exp()), 1.0, random);
    }
    events
}

fn backup(events: &mut Vec<(f64, f64)>, seconds: f64, random: &mut Random) {
    let (length, every) = BACKUP_S;
    let mut at = -every * random.uniform();
    while at < seconds {
        let (from, to) = (at.max(0.0), (at + length).min(seconds));
        if from < to {
            ground(events, (from, to), 2.0 * EVENTS, 1.5, random);
        }
        at += every;
    }
}

fn moving(seconds: f64, random: &mut Random) -> [Vec<(f64, f64)>; 2] {
    let mut cpus = [Vec::new(), Vec::new()];
    cpus.iter_mut().for_each(|events| ground(events, (0.0, seconds), EVENTS, 1.0, random));
    let mut own = usize::from(random.uniform() < 0.5);
    let mut at = 0.0;
    while at < seconds {
        let until = (at + 100.0 * random.exponential()).min(seconds);
        ground(&mut cpus[own], (at, until), 1.0, 2.0, random);
        (at, own) = (until, 1 - own);
    }
    cpus
}
