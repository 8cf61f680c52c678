//! Several sides of one machine beside the first: how often the verdict says that any of them differs, and what is
//! found where the last one does.

use crate::Pools;
use crate::process::{Machine, PROCESSES, Process};
use punctual_comparison::{Outcome, Side, compare_several};
use punctual_random::Random;

/// Numbers of runs a side.
const SIZES: [usize; 3] = [3, 4, 5];

/// Runs of each side, round by round in a random order; the last side is as late as the second pool.
fn measured(process: Process, seed: u64, seconds: u64, sides: usize, rounds: usize, pools: &Pools) -> Vec<Side> {
    let mut machine = Machine::new(process, seed);
    let mut order = Random(seed ^ 0x51de5);
    let mut made: Vec<Side> =
        (0..sides).map(|side| Side { name: side.to_string(), runs: Vec::new(), inputs: Vec::new() }).collect();
    for _ in 0..rounds {
        let mut left: Vec<usize> = (0..sides).collect();
        while !left.is_empty() {
            let side = left.swap_remove(order.below(left.len() as u64) as usize);
            let pool = usize::from(side + 1 == sides);
            let run = machine.run_of_pool(seconds, &pools.0[pool]);
            let run = run.unwrap_or_else(|| machine.run(seconds, if pool == 1 { pools.1 } else { [1.0, 1.0] }));
            made[side].runs.push(run);
        }
    }
    made
}

/// The outcomes of all sides but the first, with this many runs of each.
fn outcomes(sides: &[Side], runs: usize) -> Vec<Outcome> {
    let cut = |side: &Side| Side { runs: side.runs[..runs].to_vec(), ..side.clone() };
    let cut: Vec<Side> = sides.iter().map(cut).collect();
    let found = compare_several(&cut[0], &cut[1..].iter().collect::<Vec<_>>(), &[]).expect("one kind of recording");
    found.iter().map(|shared| shared.comparison.outcome).collect()
}

/// Prints both tables.
pub(crate) fn print(sides: usize, comparisons: u64, seconds: u64, only: &[usize]) {
    let mut header = format!("{:34}", format!("{sides} equal sides, runs of {seconds} s"));
    SIZES.iter().for_each(|size| header += &format!(" {:>9}", format!("{size} each")));
    println!("{header}");
    let percent = |count: u64| 100.0 * count as f64 / comparisons as f64;
    let equal = Pools::new(seconds, [1.0, 1.0]);
    for (index, (name, process)) in PROCESSES.into_iter().enumerate() {
        if !only.is_empty() && !only.contains(&index) {
            continue;
        }
        let mut alarms = [0u64; SIZES.len()];
        for number in 0..comparisons {
            let made = measured(process, number + 100_000 * index as u64, seconds, sides, 5, &equal);
            for (size, alarms) in SIZES.into_iter().zip(&mut alarms) {
                *alarms += u64::from(outcomes(&made, size).iter().any(|outcome| *outcome != Outcome::NoDifference));
            }
        }
        let cells: String = alarms.iter().map(|&count| format!(" {:9.1}", percent(count))).collect();
        println!("{name:34}{cells}");
    }
    println!("\n{:34} {:>9} {:>9}", "the last side later: found", "runs", "worse");
    for (what, factors) in [("all x1.5", [1.5, 1.5]), ("all x2", [2.0, 2.0]), ("tail x2", [1.0, 2.0])] {
        let pools = Pools::new(seconds, factors);
        let mut found = [0u64; SIZES.len()];
        for number in 0..comparisons {
            let made = measured(PROCESSES[1].1, 7_000_000 + number, seconds, sides, 5, &pools);
            for (size, found) in SIZES.into_iter().zip(&mut found) {
                *found += u64::from(outcomes(&made, size).last() == Some(&Outcome::Worse));
            }
        }
        for (size, count) in SIZES.into_iter().zip(found) {
            println!("{what:34} {size:9} {:9.1}", percent(count));
        }
    }
}
