//! How often the intervals hold what they promise, and how often the verdict is right, on made-up streams.
//!
//! `cargo bench -p punctual-comparison --bench coverage -- [--runs 200]`
//!
//! A stream is 1,000 wakeups a second: a lognormal body, and a share of wakeups in a tail ten times as late. Both the
//! body and the share wander from second to second (an autoregressive process of first order, coefficient `rho`), and
//! each run has a level of its own (`between`, the standard deviation of its logarithm). Side B is side A's machine,
//! its body multiplied by `body` and its tail by `tail`. It prints how often the intervals of all figures of the total
//! held the true ratio together (95 % is promised; only where both are the same), and what the verdict was.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod made_up;

use made_up::{PERIOD_NS, SECOND_NS, run_of};
use punctual_comparison::{Outcome, Run, Side, compare};
use punctual_random::Random;
use punctual_recording::Wakeup;

fn run(
    random: &mut Random,
    seconds: u64,
    rho: f64,
    between: f64,
    [body_factor, tail_factor]: [f64; 2],
    number: u64,
) -> Run {
    let level = (between * random.normal()).exp();
    let mut wakeups = Vec::new();
    let mut wander = random.normal();
    for index in 0..seconds * 1_000 {
        if index % 1_000 == 0 {
            wander = rho * wander + (1.0 - rho * rho).sqrt() * random.normal();
        }
        let body = 20_000.0 * (0.3 * random.normal() + 0.05 * wander).exp();
        let in_tail = random.uniform() < 0.005 * (0.5 * wander).exp();
        let total_ns = (level * if in_tail { 10.0 * body * tail_factor } else { body * body_factor }) as u64;
        wakeups.push(Wakeup { tid: 1, expected_ns: index * PERIOD_NS, total_ns, ..Wakeup::default() });
    }
    run_of(number, &wakeups, |document| {
        document.provenance.monotonic_to_unix_ns = (number * 1_000 * SECOND_NS) as i64;
    })
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let value = words.iter().position(|word| word == "--runs").and_then(|at| words.get(at + 1)?.parse().ok());
    let comparisons: usize = value.unwrap_or(200);
    println!("  body   tail  runs a side  seconds   rho  between   covered  no difference  worse  better");
    for [body, tail] in [[1.0, 1.0], [1.5, 1.5], [2.0, 2.0], [4.0, 4.0], [1.5, 1.0 / 1.5], [3.0, 1.0 / 3.0]] {
        for (runs, seconds) in [(1, 10), (1, 60), (3, 10), (6, 5)] {
            for (rho, between) in [(0.0, 0.0), (0.8, 0.1), (0.95, 0.2)] {
                let mut random = Random(42);
                let (mut covered, mut outcomes) = (0, [0usize; 3]);
                for _ in 0..comparisons {
                    let mut sides = [0, 1].map(|_| Side { name: String::new(), runs: Vec::new(), inputs: Vec::new() });
                    for number in 0..runs as u64 {
                        for (index, factors) in [[1.0, 1.0], [body, tail]].into_iter().enumerate() {
                            let run = run(&mut random, seconds, rho, between, factors, 2 * number + index as u64);
                            sides[index].runs.push(run);
                        }
                    }
                    let comparison = compare(&sides[0], &sides[1], &[]).expect("one kind of recording");
                    let total = comparison.total().expect("a total");
                    covered += usize::from(total.ratios.iter().all(|ratio| ratio.low <= body && body <= ratio.high));
                    outcomes[match comparison.outcome {
                        Outcome::NoDifference => 0,
                        Outcome::Worse => 1,
                        Outcome::Better => 2,
                    }] += 1;
                }
                let percent = |count: usize| 100.0 * count as f64 / comparisons as f64;
                let covered = if body == tail { format!("{:.1}%", percent(covered)) } else { "-".to_owned() };
                println!(
                    "{body:6.1} {tail:6.1} {runs:12} {seconds:8} {rho:5.2} {between:8.2} {covered:>9} {:13.1}% {:5.1}% {:6.1}%",
                    percent(outcomes[0]),
                    percent(outcomes[1]),
                    percent(outcomes[2])
                );
            }
        }
    }
}
