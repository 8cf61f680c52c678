//! What the whole of `record --comm --why` costs more than its programs in the kernel, one step after the other:
//! `cargo bench --workspace --profile dev --bench steps` as root, on a machine where nothing else runs. `-- rounds=5` fewer rounds;
//! `-- command` the steps with one of the words in their name; `-- runs` how often which program runs for a switch.
//!
//! Two threads of this program switch as fast as they can on CPU 0. Each step adds one thing that the command does besides having
//! programs, or does to another CPU what the command might do to it. All of them are in each round, in turn, and each is held
//! against its round's switches with nothing attached.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod busy;
mod command;
mod runs;
mod sampling;
mod within;
#[path = "../workloads/mod.rs"]
#[allow(dead_code, reason = "another benchmark has the rest of the workloads")]
mod workloads;

use busy::Busy;
use command::Command;
use punctual_kernel::scheduling::Scheduling;
use punctual_kernel::{bpf, capabilities};
use sampling::Clock;
use std::io::Write;
use std::time::Instant;
use within::Within;

const ROUNDS: usize = 11;
/// Runs of 120,000 switches that count, in each round.
const RUNS: usize = 2;

/// What goes on while threads switch.
pub(crate) enum Watched {
    Nothing,
    /// The sampling clock, without samples.
    #[allow(dead_code, reason = "it goes on until this is dropped")]
    Interrupted(Clock),
    /// Something on another CPU that has nothing to do with these threads.
    #[allow(dead_code, reason = "it goes on until this is dropped")]
    Beside(Busy),
    /// Programs in the kernel, loaded by this process.
    Within(Box<Within>),
    /// The whole command, in a process of its own.
    Whole(Command),
}

/// One of them, and how to begin it.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) begin: fn() -> Watched,
}

const fn step(name: &'static str, begin: fn() -> Watched) -> Step {
    Step { name, begin }
}

const NOTHING: &str = "nothing";

pub(crate) const STEPS: [Step; 21] = [
    step(NOTHING, || Watched::Nothing),
    step("nothing; the sampling clock, no samples", || Watched::Interrupted(Clock::start(1_000))),
    step("nothing; the other CPU counts", || Watched::Beside(Busy::counting())),
    step("nothing; the other CPU copies 64 MB", || Watched::Beside(Busy::copying(1.0))),
    step("nothing; it copies a quarter of the time", || Watched::Beside(Busy::copying(0.25))),
    step("programs of --comm", || Watched::Within(Box::new(Within::following()))),
    step("programs of --comm --why", || Watched::Within(Box::new(Within::with_why(0)))),
    step("  measured by the kernel", || Watched::Within(Box::new(Within::with_why(0).measured()))),
    step("  emptied on CPU 0", || Watched::Within(Box::new(Within::with_why(0).emptied_on(0)))),
    step("  looked at 10 times a second", || Watched::Within(Box::new(Within::with_why(0).looked_at(10)))),
    step("  looked at 100 times a second", || Watched::Within(Box::new(Within::with_why(0).looked_at(100)))),
    step("  looked at 1,000 times a second", || Watched::Within(Box::new(Within::with_why(0).looked_at(1_000)))),
    step("  1,000 samples a second", || Watched::Within(Box::new(Within::with_why(1_000)))),
    step("  the other CPU counts", || Watched::Within(Box::new(Within::with_why(0).beside(Busy::counting())))),
    step("  the other CPU copies 64 MB", || Watched::Within(Box::new(Within::with_why(0).beside(Busy::copying(1.0))))),
    step("  it copies a quarter of the time", || {
        Watched::Within(Box::new(Within::with_why(0).beside(Busy::copying(0.25))))
    }),
    step("command --comm", || Watched::Whole(Command::start(None, &[]))),
    step("command --comm, on CPU 1", || Watched::Whole(Command::start(Some(1), &[]))),
    step("command --comm --why, no samples", || {
        Watched::Whole(Command::start(None, &["--why", "50ms", "--sample-rate", "0"]))
    }),
    step("command --comm --why, no samples, on CPU 1", || {
        Watched::Whole(Command::start(Some(1), &["--why", "50ms", "--sample-rate", "0"]))
    }),
    step("command --comm --why", || Watched::Whole(Command::start(None, &["--why", "50ms"]))),
];

/// What a step cost in one round.
struct Round {
    /// A switch, each time, ns.
    fast: Vec<f64>,
    /// Interrupts on CPU 0 a second meanwhile.
    interrupts: f64,
    /// CPU time of the command meanwhile, of one CPU.
    share: f64,
    lost: u64,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        return;
    }
    let refused = capabilities::try_scheduling(Scheduling::Fifo(50)).and_then(|()| bpf::may_load()).err();
    if let Some(refused) = refused {
        println!("SKIPPED: the benchmark needs real-time priority and BPF programs ({refused})");
        return;
    }
    if words.iter().any(|word| word == "runs") {
        return runs::print();
    }
    let rounds = words.iter().find_map(|word| word.strip_prefix("rounds=")?.parse().ok()).unwrap_or(ROUNDS);
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-') && !word.contains('=')).collect();
    let is_wanted = |step: &&Step| {
        step.name == NOTHING || wanted.is_empty() || wanted.iter().any(|word| step.name.contains(word.as_str()))
    };
    let mut rows: Vec<(&Step, Vec<Round>)> = STEPS.iter().filter(is_wanted).map(|step| (step, Vec::new())).collect();
    for number in 0..rounds {
        for (step, results) in &mut rows {
            eprint!("\rround {} of {rounds}: {:<50}", number + 1, step.name);
            let _ = std::io::stderr().flush();
            results.push(measure(step));
        }
    }
    eprintln!();
    print_table(&rows);
}

fn measure(step: &Step) -> Round {
    let watched = (step.begin)();
    if !matches!(watched, Watched::Nothing) {
        // What a beginning takes is no part of what a switch costs.
        workloads::ping_pong();
        watched.settle();
    }
    let mut round = Round { fast: Vec::new(), interrupts: 0.0, share: 0.0, lost: 0 };
    for _ in 0..RUNS {
        let (before, cpu_ns, began) = (interrupts(), watched.cpu_ns(), Instant::now());
        round.fast.push(workloads::ping_pong().ns);
        let runs_s = began.elapsed().as_secs_f64() * RUNS as f64;
        round.interrupts += (interrupts() - before) / runs_s;
        round.share += (watched.cpu_ns() - cpu_ns) as f64 / 1e9 / runs_s;
        watched.settle();
    }
    round.lost = watched.end();
    round
}

impl Watched {
    /// Waits until the command has written what it was given.
    fn settle(&self) {
        if let Watched::Whole(command) = self {
            command.settle();
        }
    }

    /// CPU time of the command so far, ns.
    fn cpu_ns(&self) -> u64 {
        match self {
            Watched::Whole(command) => command.cpu_ns(),
            _ => 0,
        }
    }

    /// Ends it; returns how many records it lost.
    fn end(self) -> u64 {
        match self {
            Watched::Nothing | Watched::Interrupted(_) | Watched::Beside(_) => 0,
            Watched::Within(within) => within.lost(),
            Watched::Whole(command) => command.stop(),
        }
    }
}

/// Interrupts on CPU 0 so far.
fn interrupts() -> f64 {
    let text = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).sum()
}

fn print_table(rows: &[(&Step, Vec<Round>)]) {
    let Some((_, nothing)) = rows.first() else { return };
    let of = |round: &Round| round.fast.iter().sum::<f64>() / round.fast.len() as f64;
    let base: Vec<f64> = nothing.iter().map(of).collect();
    println!(
        "What a switch of two threads on CPU 0 takes more as a whole, ns of their CPU time: the median of {} rounds, the middle \
         half of them;\nof the {:.0} ns with nothing attached; interrupts on CPU 0 a second; \
         CPU time of the command, %; records lost\n",
        base.len(),
        quarters(base.clone()).1
    );
    for (step, rounds) in rows {
        let (low, middle, high) = match step.name {
            NOTHING => quarters(rounds.iter().map(|round| (round.fast[1] - round.fast[0]) / 2.0).collect()),
            _ => quarters(rounds.iter().zip(&base).map(|(round, base)| of(round) - base).collect()),
        };
        let interrupts = quarters(rounds.iter().map(|round| round.interrupts).collect()).1;
        let share = quarters(rounds.iter().map(|round| round.share).collect()).1 * 100.0;
        let lost: u64 = rounds.iter().map(|round| round.lost).sum();
        println!(
            "{:<46} {middle:>+7.0} ({low:>+5.0} to {high:>+5.0}) {interrupts:>7.0} {share:>5.1} {lost:>8}",
            step.name
        );
    }
}

/// The lower quarter, the median and the upper quarter.
fn quarters(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    (values[quarter], values[values.len() / 2], values[values.len() - 1 - quarter])
}
