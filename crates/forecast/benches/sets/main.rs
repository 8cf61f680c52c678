//! Random task sets against a simulation of Linux's rules: whether one ever contradicts a *schedulable*, and how many
//! sets are refused although no schedule that misses was found.
//!
//! `cargo bench --locked -p punctual-forecast --bench sets -- [--sets 25000] [--only NUMBER,...]`

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[allow(missing_docs, reason = "shared with a test")]
mod classes;
mod linux;
mod schedules;

use classes::CLASSES;
use punctual_forecast::schedulability::Standing;
use punctual_random::Random;
use schedules::one;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let after = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1).cloned());
    let sets: u64 = after("--sets").and_then(|word| word.parse().ok()).unwrap_or(25_000);
    let only: Vec<usize> =
        after("--only").unwrap_or_default().split(',').filter_map(|word| word.parse().ok()).collect();
    println!(
        "{:32} {:>6} {:>11} {:>12} {:>8} {:>8} {:>8}",
        "class", "sets", "schedulable", "contradicted", "refused", "unknown", "needless"
    );
    for (number, class) in CLASSES.iter().enumerate() {
        if !only.is_empty() && !only.contains(&number) {
            continue;
        }
        let mut random = Random(number as u64 + 1);
        let (mut schedulable, mut contradicted, mut unknown, mut bears) = (0u64, 0u64, 0u64, 0u64);
        let mut tests = [0u64; 3];
        for _ in 0..sets {
            let found = one(class, &mut random);
            bears += u64::from(!found.misses);
            schedulable += u64::from(found.standing == Standing::Schedulable);
            contradicted += u64::from(found.standing == Standing::Schedulable && found.misses);
            unknown += u64::from(found.standing == Standing::Unknown);
            for (count, passed) in tests.iter_mut().zip(found.tests.unwrap_or_default()) {
                *count += u64::from(passed);
            }
        }
        // Of those in which nothing was missed: how many were not called schedulable.
        let needless = 100.0 * (1.0 - (schedulable - contradicted) as f64 / bears.max(1) as f64);
        let refused = sets - schedulable - unknown;
        let named = if tests.iter().any(|&count| count > 0) {
            format!("   pass: GFB {}, BCL {}, Bertogna-Cirinei {}; bears {bears}", tests[0], tests[1], tests[2])
        } else {
            String::new()
        };
        println!(
            "{:32} {sets:6} {schedulable:11} {contradicted:12} {refused:8} {unknown:8} {needless:6.1} %{named}",
            class.name
        );
    }
}
