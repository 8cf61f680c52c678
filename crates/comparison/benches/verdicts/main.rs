//! How often the verdict is wrong for a machine compared with itself, whatever it does between runs and within them,
//! and what it finds where there is something.
//!
//! `cargo bench --profile dev -p punctual-comparison --bench verdicts -- [--comparisons 200] [--seconds 10] [--pairs
//! 10] [--only NUMBER,...] [--sides 3]`
//!
//! Each machine (`process.rs`) is measured pair by pair, each in a random order, as `--repeat` does. For each number of
//! runs a side it prints how many of a hundred comparisons gave a verdict although both sides are the same (at most 5
//! are promised), how often all intervals held together (95 are promised), the same where the measurement may end early
//! (`--repeat`), and with how many runs. Below that comes what is found where B's machine is later by a factor, by the
//! verdict and by each quantile. With `--sides`, this many sides are compared with the first in place of two.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../made_up/mod.rs"]
mod made_up;
mod process;
mod several;

use process::{Machine, PROCESSES, Process};
use punctual_comparison::{Comparison, FIGURES, Outcome, Run, Side, Standing, comes_first, compare, is_clear};

/// The numbers of runs a side that have a column in the table.
const SIZES: [usize; 4] = [3, 4, 5, 10];

fn sides(runs: &[Run], pairs: usize, seed: u64) -> [Side; 2] {
    let mut sides = [0, 1].map(|_| Side { name: String::new(), runs: Vec::new(), inputs: Vec::new() });
    for (index, run) in runs.iter().take(2 * pairs).enumerate() {
        sides[side_of(index, seed)].runs.push(run.clone());
    }
    sides
}

/// The side of the run with this number: each pair in a random order, as with `--repeat`.
fn side_of(index: usize, seed: u64) -> usize {
    usize::from(comes_first(seed, index / 2 + 1) == index.is_multiple_of(2))
}

/// How many steady runs are drawn from to make machines whose whole runs differ.
const POOL: usize = 200;

/// Steady runs of A, and of B, which is later by these factors (body, tail).
struct Pools([Vec<Run>; 2], [f64; 2]);

impl Pools {
    fn new(seconds: u64, factors: [f64; 2]) -> Pools {
        let mut machine = Machine::new(Process::Steady, 42);
        let mut pool = |factors: [f64; 2]| (0..POOL).map(|_| machine.run(seconds, factors)).collect();
        let a: Vec<Run> = pool([1.0, 1.0]);
        let b = if factors == [1.0, 1.0] { a.clone() } else { pool(factors) };
        Pools([a, b], factors)
    }
}

/// Runs of one machine in turn.
fn measured(process: Process, seed: u64, seconds: u64, pairs: usize, pools: &Pools) -> Vec<Run> {
    let mut machine = Machine::new(process, seed);
    let mut run = |index: usize| {
        let side = side_of(index, seed);
        let factors = if side == 1 { pools.1 } else { [1.0, 1.0] };
        machine.run_of_pool(seconds, &pools.0[side]).unwrap_or_else(|| machine.run(seconds, factors))
    };
    (0..2 * pairs).map(&mut run).collect()
}

fn of(runs: &[Run], pairs: usize, seed: u64) -> Comparison {
    let [a, b] = sides(runs, pairs, seed);
    compare(&a, &b, &[]).expect("one kind of recording")
}

/// The answer of `--repeat`, and the number of pairs after which it came.
fn early(runs: &[Run], pairs: usize, seed: u64) -> (Outcome, usize) {
    for count in 1..pairs {
        let [a, b] = sides(runs, count, seed);
        if is_clear(&a, &b).expect("one kind of recording") {
            return (of(runs, count, seed).outcome, count);
        }
    }
    (of(runs, pairs, seed).outcome, pairs)
}

struct Options {
    comparisons: u64,
    seconds: u64,
    pairs: usize,
    only: Vec<usize>,
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let after = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1).cloned());
    let number = |name: &str, usual: u64| after(name).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let only = after("--only").unwrap_or_default();
    let options = Options {
        comparisons: number("--comparisons", 200),
        seconds: number("--seconds", 10),
        pairs: number("--pairs", 10) as usize,
        only: only.split(',').filter_map(|word| word.parse().ok()).collect(),
    };
    let sides = number("--sides", 2) as usize;
    if sides > 2 {
        return several::print(sides, options.comparisons, options.seconds, &options.only);
    }
    equal(&options);
    if options.only.is_empty() || options.only.iter().any(|&index| index >= PROCESSES.len()) {
        different(&options);
    }
}

fn equal(options: &Options) {
    let sizes: Vec<usize> = SIZES.into_iter().filter(|&size| size <= options.pairs).collect();
    let mut header = format!("{:34}", format!("equal sides, runs of {} s", options.seconds));
    for size in &sizes {
        header += &format!(" {:>6} {:>6}", format!("{size}+{size}"), "hold");
    }
    println!("{header} {:>9} {:>6}", format!("up to {}", options.pairs), "runs");
    let pools = Pools::new(options.seconds, [1.0, 1.0]);
    for (index, (name, process)) in PROCESSES.into_iter().enumerate() {
        if !options.only.is_empty() && !options.only.contains(&index) {
            continue;
        }
        let mut found = vec![[0u64; 2]; sizes.len()];
        let (mut alarms, mut taken) = (0u64, 0usize);
        for number in 0..options.comparisons {
            let seed = number + 100_000 * index as u64;
            let runs = measured(process, seed, options.seconds, options.pairs, &pools);
            for (&size, [alarms, held]) in sizes.iter().zip(&mut found) {
                let comparison = of(&runs, size, seed);
                assert_eq!(comparison.standing, Standing::Systems);
                *alarms += u64::from(comparison.outcome != Outcome::NoDifference);
                let ratios = &comparison.total().expect("a total").ratios;
                *held += u64::from(ratios.iter().all(|ratio| ratio.low <= 1.0 && ratio.high >= 1.0));
            }
            let (outcome, count) = early(&runs, options.pairs, seed);
            alarms += u64::from(outcome != Outcome::NoDifference);
            taken += count;
        }
        let percent = |count: u64| 100.0 * count as f64 / options.comparisons as f64;
        let mut line = format!("{name:34}");
        for [alarms, held] in found {
            line += &format!(" {:6.1} {:6.1}", percent(alarms), percent(held));
        }
        println!("{line} {:9.1} {:6.1}", percent(alarms), taken as f64 / options.comparisons as f64);
    }
}

/// Where B is later: everything by a factor, or only the tail.
const LATER: [(&str, [f64; 2]); 5] = [
    ("all x1.2", [1.2, 1.2]),
    ("all x1.5", [1.5, 1.5]),
    ("all x2", [2.0, 2.0]),
    ("tail x2", [1.0, 2.0]),
    ("tail x4", [1.0, 4.0]),
];

fn different(options: &Options) {
    let shown = ["p50", "p99", "p99.9"];
    print!("\n{:26} {:10} {:>6} {:>6}", "found of a hundred", "B is", "a side", "worse");
    shown.iter().for_each(|name| print!(" {name:>6}"));
    println!(" {:>6} {:>9} {:>6}", "better", format!("up to {}", options.pairs), "runs");
    for (name, process) in PROCESSES.into_iter().take(2) {
        for (what, factors) in LATER {
            let pools = Pools::new(options.seconds, factors);
            let sizes: Vec<usize> = SIZES.into_iter().filter(|&size| size <= options.pairs).collect();
            let mut found = vec![[0u64; 5]; sizes.len()];
            let (mut early_worse, mut taken) = (0u64, 0usize);
            for number in 0..options.comparisons {
                let seed = 7_000_000 + number;
                let runs = measured(process, seed, options.seconds, options.pairs, &pools);
                for (&size, [worse, better, by @ ..]) in sizes.iter().zip(&mut found) {
                    let comparison = of(&runs, size, seed);
                    *worse += u64::from(comparison.outcome == Outcome::Worse);
                    *better += u64::from(comparison.outcome == Outcome::Better);
                    let ratios = &comparison.total().expect("a total").ratios;
                    for (count, wanted) in by.iter_mut().zip(shown) {
                        let own = ratios.iter().find(|ratio| ratio.figure.name == wanted);
                        *count += u64::from(own.is_some_and(|ratio| ratio.outcome() == Outcome::Worse));
                    }
                }
                let (outcome, count) = early(&runs, options.pairs, seed);
                early_worse += u64::from(outcome == Outcome::Worse);
                taken += count;
            }
            let percent = |count: u64| 100.0 * count as f64 / options.comparisons as f64;
            for (size, [worse, better, by @ ..]) in sizes.iter().zip(&found) {
                let by: String = by.iter().map(|&count| format!(" {:6.1}", percent(count))).collect();
                let early = if *size == options.pairs {
                    let runs = taken as f64 / options.comparisons as f64;
                    format!(" {:9.1} {runs:6.1}", percent(early_worse))
                } else {
                    String::new()
                };
                println!("{name:26} {what:10} {size:6} {:6.1}{by} {:6.1}{early}", percent(*worse), percent(*better));
            }
        }
    }
    debug_assert!(shown.iter().all(|name| FIGURES.iter().any(|figure| figure.name == *name)));
}
