//! How often the intervals hold what they promise, and how often the verdict is right: on streams that were made up.
//!
//! `cargo bench -p punctual-comparison --bench coverage -- [--runs 200]`
//!
//! A stream is 1,000 wakeups a second: a lognormal body, and a share of wakeups in a tail ten times as late. Both the body and
//! the share wander from second to second (an autoregressive process of first order, coefficient `rho`), and each run has a
//! level of its own (`between`, the standard deviation of its logarithm). Side B is side A's machine, its body multiplied by
//! `body` and its tail by `tail`. Printed: how often the intervals of all figures of the total held the true ratio together
//! (95 % is promised; only where both are the same), and what the verdict was.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use punctual_comparison::{Gather, Outcome, Run, Side, compare};
use punctual_random::Random;
use punctual_recording::{
    Counters, Distributions, Document, EndReason, Ended, Key, Provenance, SCHEMA, Stage, Task, Wakeup,
};

const SECOND_NS: u64 = 1_000_000_000;
const PERIOD_NS: u64 = 1_000_000;

fn run(
    random: &mut Random,
    seconds: u64,
    rho: f64,
    between: f64,
    [body_factor, tail_factor]: [f64; 2],
    number: u64,
) -> Run {
    let level = (between * random.normal()).exp();
    let mut distributions = Distributions::default();
    let mut wakeups = Vec::new();
    let mut wander = random.normal();
    for index in 0..seconds * 1_000 {
        if index % 1_000 == 0 {
            wander = rho * wander + (1.0 - rho * rho).sqrt() * random.normal();
        }
        let body = 20_000.0 * (0.3 * random.normal() + 0.05 * wander).exp();
        let in_tail = random.uniform() < 0.005 * (0.5 * wander).exp();
        let total_ns = (level * if in_tail { 10.0 * body * tail_factor } else { body * body_factor }) as u64;
        let key = Key { measure: "fifo:80".into(), stage: Stage::Total, cpu: 0, load: "none".into() };
        distributions.entry(key).record(total_ns);
        wakeups.push(Wakeup { tid: 1, expected_ns: index * PERIOD_NS, total_ns, ..Wakeup::default() });
    }
    let counters = Counters { wakeups: seconds * 1_000, missed: Some(0), ..Counters::default() };
    let mut document = empty();
    document.ended = Some(Ended { reason: EndReason::Completed, detail: None, at_ns: seconds * SECOND_NS });
    document.provenance.run_id = number.to_string();
    document.provenance.monotonic_to_unix_ns = (number * 1_000 * SECOND_NS) as i64;
    document.provenance.configuration.interval_ns = PERIOD_NS;
    document.tasks = vec![Task { measure: "fifo:80".into(), tid: 1, cpu: Some(0), period_ns: PERIOD_NS, counters }];
    document.counters = counters;
    document.distributions = distributions;
    let mut gather = Gather::new(document);
    wakeups.iter().for_each(|wakeup| gather.push(wakeup));
    gather.finish().expect("wakeups")
}

/// A document that says nothing, as it stands on disk, so that what is added to documents later need not be named here.
fn empty() -> Document {
    let value = serde_json::json!({
        "schema": SCHEMA, "ended": null, "provenance": Provenance::default(), "tasks": [], "counters": Counters::default(),
        "segments": 1, "distributions": [],
    });
    serde_json::from_value(value).expect("a document")
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
