//! How often the verdict on inputs is wrong for a program compared with itself, and what it finds where Enter waits for
//! a disk.
//!
//! `cargo bench --profile dev --workspace --bench inputs -- [--comparisons 200]`
//!
//! Runs of both sides are made in turn, each pair in a random order. For each number of runs a side it prints how many
//! of a hundred comparisons of equal sides gave a verdict (at most 5 are promised), and in how many all limits of all
//! kinds held together (95 are promised); below that, how many found Enter slower, and how many of those named the
//! disk.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod made_up;

use made_up::{Machine, Process};
use punctual_comparison::interact::{GatherInputs, InputComparison, InputSide, compare_inputs};
use punctual_comparison::{Outcome, Overall, comes_first};

/// Numbers of runs a side.
const SIZES: [usize; 2] = [3, 5];
const SECOND_NS: u64 = 1_000_000_000;

const PROCESSES: [(&str, Process); 8] = [
    ("steady", Process::Steady),
    ("runs differ by sd 0.12", Process::Runs(0.12)),
    ("runs differ by sd 0.3", Process::Runs(0.3)),
    ("runs differ by sd 0.7", Process::Runs(0.7)),
    ("two regimes x2, drawn each run", Process::Regimes(2.0)),
    ("two regimes x5, drawn each run", Process::Regimes(5.0)),
    ("inputs correlated 0.9", Process::Correlated(0.9)),
    ("1 in 20 ten times as long, sd 0.3", Process::Tail(0.3)),
];

/// Two sides of this many runs in turn; on B, Enter waits for a disk for this many ns.
fn compared(process: Process, seed: u64, pairs: usize, disk_ns: f64) -> InputComparison {
    let mut machine = Machine::new(process, seed);
    let mut sides = [0, 1].map(|_| InputSide { name: String::new(), runs: Vec::new() });
    for index in 0..2 * pairs {
        let side = usize::from(comes_first(seed, index / 2 + 1) == index.is_multiple_of(2));
        let made = machine.run((1 + index as u64) * 60 * SECOND_NS, ("enter", disk_ns * side as f64));
        let mut gather = GatherInputs::new(made.document, made.summary, made.inputs);
        made.parts.iter().for_each(|part| gather.push(part));
        sides[side].runs.push(gather.finish());
    }
    compare_inputs(&sides[0], &sides[1]).expect("one way to use a program")
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let after = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)?.parse().ok());
    let comparisons: u64 = after("--comparisons").unwrap_or(200);
    let percent = |count: u64| 100.0 * count as f64 / comparisons as f64;
    let header = |what: &str, second: &str| {
        let columns = SIZES.map(|size| format!(" {:>6} {second:>6}", format!("{size}+{size}")));
        println!("{what:36}{}", columns.concat());
    };
    header("equal sides, of a hundred", "hold");
    for (name, process) in PROCESSES {
        let columns = SIZES.map(|size| {
            let (mut alarms, mut held) = (0, 0);
            for seed in 0..comparisons {
                let found = compared(process, seed, size, 0.0);
                alarms += u64::from(found.outcome != Overall::NoDifference);
                let mut ratios = found.kinds.iter().flat_map(|kind| kind.figures.iter().map(|figure| figure.ratio));
                held += u64::from(ratios.all(|ratio| ratio.low <= 1.0 && ratio.high >= 1.0));
            }
            format!(" {:6.1} {:6.1}", percent(alarms), percent(held))
        });
        println!("{name:36}{}", columns.concat());
    }
    println!();
    header("Enter (2 ms) waits for a disk", "disk");
    for (name, process) in &PROCESSES[..3] {
        for more in [0.5e6, 1e6, 2e6, 10e6] {
            let columns = SIZES.map(|size| {
                let (mut slower, mut named) = (0, 0);
                for seed in 0..comparisons {
                    let found = compared(*process, 7_000_000 + seed, size, more);
                    let enter = found.different().find(|kind| kind.group.kind == "enter");
                    let enter = enter.filter(|kind| kind.verdict.outcome == Outcome::Worse);
                    slower += u64::from(enter.is_some());
                    let parts = enter.and_then(|kind| kind.shown()?.parts.as_ref());
                    let first = parts.and_then(|parts| parts.clear(0.5).first().map(|cause| cause.kind == "io"));
                    named += u64::from(first == Some(true));
                }
                format!(" {:6.1} {:6.1}", percent(slower), percent(named))
            });
            println!("{:36}{}", format!("{name}, +{} ms", more / 1e6), columns.concat());
        }
    }
}
