//! How often the intervals hold what they promise where stalls are not independent: they chain, wander, branch, come and
//! go, differ by CPU.
//!
//! `cargo bench -p punctual-forecast --bench processes -- [--runs 200] [--process NAME,...] [--seconds 600,...]`
//!
//! Each run is a recording at 1 kHz of a process, forecast through the same code as real ones, for devices that run dry
//! once in 1, 10 and 100 s in the long run: a share of 0.001, 0.0001 and 0.00001 of activations. The truth is that of the
//! process, by its formula or, for a scale that wanders, by summing over its states. Printed for each cell: the share of
//! intervals of the mean time that hold the truth (`covered`) and that lie wholly above it (`unsafe`); of recordings whose
//! answers are conditional (`cond`); and, over wants of 0.5, 0.9, 1.001 and 2 times the truth, the share of verdicts
//! *holds* at the first (`holds`), and of all those at the last two that say *holds* (`false`) or *holds while conditions
//! stay as recorded* (`f.cond`). `pieces` is how long the recording is, in memories of the process.
//! The processes of `unseen` were chosen before any answer to them was seen: `--process unseen` is all of them. Those of `later` were
//! written when the method had been changed by what those showed and was frozen: `--process later`. Those of `stranger`
//! are by somebody else who did not know it: `--process stranger`.
//! Then `hour`: the level exceeded once an hour, with the share refused, and the mean probability that the next hour stays
//! below what it is said not to exceed (0.95 and more is right).

mod later;
mod stranger;
mod unseen;

use later::Later;
use punctual_forecast::{Input, Late, Lateness, Method, ObservedTask, Outcome};
use punctual_random::Random;
use punctual_recording::{Distribution, Stage};
use std::collections::BTreeMap;
use stranger::Stranger;
use unseen::Unseen;

const PERIOD_NS: u64 = 1_000_000;
/// The scale of lateness, ns.
const SCALE_NS: f64 = 20_000.0;
/// Events that are made, a second on average: those above a level that a share of 0.02 of wakeups exceeds.
const EVENTS: f64 = 20.0;
const KEPT: usize = 10_000;

#[derive(Clone, Copy, PartialEq)]
enum Process {
    Independent,
    /// Three kinds: scale 1 for most, 3 for 1 in 20, 6 for 1 in 2,000.
    Mixture,
    /// A Generalized Pareto tail of shape 0.5.
    Heavy,
    /// Storms every 100 s on average, of 4 s on average, with a late wakeup of scale 3 every 8 ms, above independent ones.
    Storms,
    /// Two CPUs; on the second a tenth as many.
    Cpus,
    /// The scale's logarithm is an AR(1) of this deviation and a memory of 50 s.
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
}

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

/// The level that a share of 0.02 of wakeups exceeds, in scales, and the share of those that exceed `x` scales more.
const BASE: f64 = 3.912;

impl Process {
    /// Events above `x` scales a second, in the long run.
    fn rate(self, x: f64) -> f64 {
        match self {
            Process::Unseen(unseen) => return unseen.rate(x),
            Process::Later(later) => return later.rate(x),
            Process::Stranger(stranger) => return stranger.rate(x),
            _ => {}
        }
        let exponential = |scale: f64| 1_000.0 * (-x / scale).exp();
        match self {
            Process::Mixture => 0.9495 * exponential(1.0) + 0.05 * exponential(3.0) + 0.0005 * exponential(6.0),
            Process::Heavy => 1_000.0 * (1.0 + 0.5 * x / 0.15).powi(-2),
            Process::Storms => exponential(1.0) + 125.0 * 4.0 / 100.0 * (-x / 3.0).exp(),
            Process::Wander(deviation) => {
                // Over the states, by the middle of 2,000 steps to 8 deviations either way.
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

    /// How many times as many there are on any of the CPUs as on the one that [`Process::rate`] is of: the worst hour is that of all.
    fn of_all_cpus(self) -> f64 {
        match self {
            Process::Cpus => 1.1,
            Process::Unseen(Unseen::Together) => 1.2,
            Process::Later(Later::Moving) => 2.0,
            Process::Stranger(Stranger::Siblings) => 4.0,
            _ => 1.0,
        }
    }

    /// The level that so many a second exceed, scales.
    fn level(self, per_second: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1e4);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if self.rate(middle) > per_second { low = middle } else { high = middle }
        }
        high
    }

    /// Late wakeups of one CPU: (when s, by how many scales).
    #[expect(clippy::too_many_lines, reason = "one flat match: what each process does in a second")]
    fn run(self, seconds: f64, random: &mut Random) -> Vec<(f64, f64)> {
        let mut events: Vec<(f64, f64)> = Vec::new();
        // So many a second on average, from here for a second, above a level, of this scale.
        let steady = |events: &mut Vec<(f64, f64)>, from: f64, share: f64, scale: f64, random: &mut Random| {
            let level = BASE;
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
                        at += random.exponential() / EVENTS;
                        if at >= from + 1.0 {
                            break;
                        }
                        let survival = 0.02 * random.uniform();
                        events.push((at, 0.15 * (survival.powf(-0.5) - 1.0) / 0.5));
                    }
                }
                Process::Storms => steady(&mut events, from, 1.0, 1.0, random),
                Process::Wander(deviation) => {
                    let keep = (-1.0f64 / 50.0).exp();
                    state = keep * state + (1.0 - keep * keep).sqrt() * random.normal();
                    steady(&mut events, from, 1.0, (deviation * state).exp(), random);
                }
                Process::OnOff => {
                    if (((from + 40.0 * phase) / 20.0) as u64).is_multiple_of(2) {
                        steady(&mut events, from, 2.0, 1.0, random);
                    }
                }
                Process::Daily => {
                    let angle = std::f64::consts::TAU * (from / 86_400.0 + phase);
                    steady(&mut events, from, 1.0, 1.0 + 0.3 * angle.sin(), random);
                }
                Process::Branching | Process::Unseen(_) | Process::Later(_) | Process::Stranger(_) => {}
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
}

fn record(process: Process, seconds: f64, random: &mut Random) -> Input {
    let mut cpus = match process {
        Process::Unseen(unseen) => unseen.run(seconds, random),
        Process::Later(later) => later.run(seconds, random),
        Process::Stranger(stranger) => stranger.run(seconds, random),
        process => vec![process.run(seconds, random)],
    };
    if process == Process::Cpus {
        let mut quiet = process.run(seconds, random);
        quiet.retain(|_| random.uniform() < 0.1);
        cpus.push(quiet);
    }
    let wakeups = (seconds * 1e9 / PERIOD_NS as f64) as u64;
    let (mut all, mut by_task, mut sum) = (Vec::new(), Vec::new(), Distribution::new());
    for (task, events) in cpus.iter().enumerate() {
        let mut largest: Vec<Late> = events
            .iter()
            .map(|&(at, value)| {
                let at_ns = (at * 1e9) as u64 / PERIOD_NS * PERIOD_NS;
                Late { at_ns, task, value_ns: (value * SCALE_NS) as u64 }
            })
            .collect();
        largest.sort_unstable_by_key(|late| std::cmp::Reverse(late.value_ns));
        let mut distribution = Distribution::new();
        distribution.record_n(10_000, wakeups.saturating_sub(largest.len() as u64));
        largest.iter().for_each(|late| distribution.record(late.value_ns));
        let complete = if largest.len() > KEPT { largest[KEPT - 1].value_ns } else { (BASE * SCALE_NS) as u64 };
        largest.truncate(KEPT);
        sum.add(&distribution);
        by_task.push((distribution, complete));
        all.extend(largest);
    }
    all.sort_unstable();
    let complete_above_ns = by_task.iter().map(|task| task.1).max().unwrap_or(0);
    let tasks: Vec<ObservedTask> = (0..cpus.len() as u32)
        .map(|cpu| ObservedTask { tid: cpu + 1, cpu: Some(cpu), period_ns: PERIOD_NS, wakeups, missed: Some(0) })
        .collect();
    let lateness = Lateness { distribution: sum, largest: all, complete_above_ns, by_task };
    Input {
        measure: "fifo:80".into(),
        load: "simulated".into(),
        compression_thousandths: None,
        exposure_ns: (seconds * 1e9) as u64,
        tasks,
        stages: BTreeMap::from([(Stage::Total, lateness)]),
        lost: 0,
        cut: false,
        cautions: Vec::new(),
    }
}

#[derive(Default)]
struct Cell {
    covered: u32,
    unsafe_side: u32,
    conditional: u32,
    holds: u32,
    false_holds: u32,
    false_conditional: u32,
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
#[expect(clippy::too_many_lines, reason = "a benchmark reads as its table: what is tried, counted and printed")]
fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut runs, mut seconds, mut only) = (200u32, vec![60.0f64, 600.0, 2_000.0, 7_200.0], None);
    while let Some(argument) = arguments.next() {
        let value = arguments.next();
        match (argument.as_str(), value) {
            ("--runs", Some(value)) => runs = value.parse().expect("a number of runs"),
            ("--seconds", Some(value)) => {
                seconds = value.split(',').map(|value| value.parse().expect("a number of seconds")).collect();
            }
            ("--process", Some(value)) => only = Some(value),
            (other, _) => panic!("unknown argument {other}: --runs, --seconds, --process NAME,..."),
        }
    }
    let (unseen, later) = (unseen::PROCESSES.map(|process| process.0), later::PROCESSES.map(|process| process.0));
    let stranger = stranger::PROCESSES.map(|process| process.0);
    let is_meant = |only: &str, name: &str| match only {
        "unseen" => unseen.contains(&name),
        "later" => later.contains(&name),
        "stranger" => stranger.contains(&name),
        _ => only == name,
    };
    let skip = |name: &str| only.as_ref().is_some_and(|only| !only.split(',').any(|only| is_meant(only, name)));
    println!("{runs} runs a cell, nominal 95 %");
    println!("process      recorded pieces asked    covered  unsafe    cond   holds   false  f.cond");
    let chosen_later = unseen::PROCESSES
        .into_iter()
        .map(|(name, unseen, memory)| (name, Process::Unseen(unseen), memory))
        .chain(later::PROCESSES.into_iter().map(|(name, later, memory)| (name, Process::Later(later), memory)))
        .chain(
            stranger::PROCESSES.into_iter().map(|(name, stranger, memory)| (name, Process::Stranger(stranger), memory)),
        );
    for (number, (name, process, memory)) in PROCESSES.into_iter().chain(chosen_later).enumerate() {
        if skip(name) {
            continue;
        }
        for &seconds in &seconds {
            let rates = [1.0, 0.1, 0.01];
            let mut cells: Vec<Cell> = rates.iter().map(|_| Cell::default()).collect();
            let (mut refused, mut level_covered, mut level_unsafe, mut said, mut below) = (0u32, 0u32, 0u32, 0u32, 0.0);
            for run in 0..runs {
                let mut random = Random((number as u64) << 48 | (seconds as u64) << 32 | u64::from(run));
                let input = record(process, seconds, &mut random);
                for (cell, rate) in cells.iter_mut().zip(rates) {
                    let slack = (process.level(rate) * SCALE_NS) as u64;
                    let truth = 1.0 / rate;
                    // Wants are whole seconds: the device is asked with one, and its limits are held against others.
                    let found = input.underruns(&device(slack), Stage::Total).expect("a device that works");
                    let above = found.mttf_s.low.is_some_and(|low| low > truth);
                    let under = found.mttf_s.high.is_some_and(|high| high < truth);
                    let conditional = !found.is_settled;
                    assert!(found.outcome != Outcome::Holds || !conditional);
                    cell.covered += u32::from(!above && !under);
                    cell.unsafe_side += u32::from(above);
                    cell.conditional += u32::from(conditional);
                    cell.holds += u32::from(found.holds_low_s >= 0.5 * truth);
                    // At twice the truth it is false as well, and less often.
                    let wrong = found.holds_low_s >= 1.001 * truth;
                    cell.false_holds += u32::from(wrong && !conditional);
                    cell.false_conditional += u32::from(wrong && conditional);
                }
                let tail = input.tail(Stage::Total).expect("the stage was recorded");
                let level = tail.level(3.6e12);
                let truth = process.level(1.0 / 3_600.0 / process.of_all_cpus()) * SCALE_NS;
                if level.method == Method::Bound {
                    refused += 1;
                } else {
                    let low = level.level.high.is_some_and(|high| high < truth);
                    level_unsafe += u32::from(low);
                    level_covered += u32::from(!low && level.level.low.is_none_or(|low| low <= truth));
                }
                if let Ok(next) = tail.next(3.6e12) {
                    said += 1;
                    below += (-3_600.0 * process.of_all_cpus() * process.rate(next as f64 / SCALE_NS)).exp();
                }
            }
            let pieces = if memory > 0.0 { format!("{:.1}", seconds / memory) } else { "-".into() };
            let share = |count: u32, of: u32| {
                if of == 0 { "-".to_owned() } else { format!("{:.3}", f64::from(count) / f64::from(of)) }
            };
            for (cell, rate) in cells.iter().zip(rates) {
                println!(
                    "{name:12} {seconds:6} s {pieces:>6} {:>5} s {:>8} {:>7} {:>7} {:>7} {:>7} {:>7}",
                    1.0 / rate,
                    share(cell.covered, runs),
                    share(cell.unsafe_side, runs),
                    share(cell.conditional, runs),
                    share(cell.holds, runs),
                    share(cell.false_holds, runs),
                    share(cell.false_conditional, runs)
                );
            }
            let next = if said == 0 { "-".to_owned() } else { format!("{:.3}", below / f64::from(said)) };
            println!(
                "{name:12} {seconds:6} s {pieces:>6} {:>7} {:>8} {:>7} refused {:>7}; next hour: refused {:>7}, below {next}",
                "hour",
                share(level_covered, runs - refused),
                share(level_unsafe, runs - refused),
                share(refused, runs),
                share(runs - said, runs)
            );
        }
    }
}

/// A device of the recording's own period with this slack, ns: it computes for what is left of its buffers.
fn device(slack_ns: u64) -> punctual_device::Profile {
    let buffers = (slack_ns.div_ceil(PERIOD_NS) + 1).max(2) as u32;
    let compute = u64::from(buffers - 1) * PERIOD_NS - slack_ns;
    let any = punctual_device::Catalogue::shipped().profiles()[0].clone();
    any.with_period(PERIOD_NS).with_buffers(buffers).with_compute(compute)
}
