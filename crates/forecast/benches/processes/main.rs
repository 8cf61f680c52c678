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
//! are by somebody else who did not know it: `--process stranger`. On those of `tuned` later rules were chosen.
//! Then `hour`: the level exceeded once an hour, with the share refused; and, where a limit for the next hour is said, how often
//! the process stayed below it in the hour that followed the recording (0.95 and more is right).

mod cell;
mod later;
mod process;
mod recorded;
mod stranger;
mod tuned;
mod unseen;

use cell::Counted;

/// The level that a share of 0.02 of wakeups exceeds, in scales, and the share of those that exceed `x` scales more.
const BASE: f64 = 3.912;
/// The scale of lateness, ns.
const SCALE_NS: f64 = 20_000.0;
/// Events that are made, a second on average: those above a level that a share of 0.02 of wakeups exceeds.
const EVENTS: f64 = 20.0;

#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
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
    let is_asked =
        |name: &str| only.as_ref().is_none_or(|only| only.split(',').any(|only| process::is_meant(only, name)));
    println!("{runs} runs a cell, nominal 95 %");
    println!("process      recorded pieces asked    covered  unsafe    cond   holds   false  f.cond");
    for (number, (name, process, memory)) in process::all().into_iter().enumerate() {
        for &seconds in seconds.iter().filter(|_| is_asked(name)) {
            let mut counted = Counted::new(process);
            for run in 0..runs {
                counted.run(seconds, (number as u64) << 48 | (seconds as u64) << 32 | u64::from(run));
            }
            let pieces = if memory > 0.0 { format!("{:.1}", seconds / memory) } else { "-".into() };
            counted.print(&format!("{name:12} {seconds:6} s {pieces:>6}"));
        }
    }
}
