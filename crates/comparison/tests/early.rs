//! When a measurement of several repeats may end early: once a difference is clear, and not before there are runs enough
//! that it can be.

#[path = "../benches/made_up/mod.rs"]
mod made_up;

use made_up::{PERIOD_NS, SECOND_NS, run_of};
use punctual_comparison::{MIN_INTERIM_RUNS, Run, Side, are_clear, is_clear};
use punctual_random::Random;
use punctual_recording::Wakeup;

const SECONDS: u64 = 10;

/// The run at this turn of a machine that stays what it is, everything this many times as late.
fn run(turn: u64, times: f64) -> Run {
    let mut random = Random(turn);
    let start_ns = 2 * turn * SECONDS * SECOND_NS;
    let wakeup = |index: u64| {
        let tail = if random.uniform() < 0.005 { 10.0 } else { 1.0 };
        let total_ns = (20_000.0 * (0.3 * random.normal()).exp() * tail * times) as u64;
        Wakeup { tid: 1, expected_ns: start_ns + index * PERIOD_NS, total_ns, ..Wakeup::default() }
    };
    let wakeups: Vec<Wakeup> = (0..SECONDS * SECOND_NS / PERIOD_NS).map(wakeup).collect();
    run_of(turn, &wakeups, |document| document.provenance.started_ns = start_ns)
}

fn side(turns: impl Iterator<Item = u64>, times: f64) -> Side {
    Side { name: String::new(), runs: turns.map(|turn| run(turn, times)).collect(), inputs: Vec::new() }
}

/// As many sides as there are factors, measured in turn so many times.
fn in_turn(rounds: usize, factors: &[f64]) -> Vec<Side> {
    let turns = |place: usize| (0..rounds).map(move |round| (round * factors.len() + place) as u64);
    factors.iter().enumerate().map(|(place, &times)| side(turns(place), times)).collect()
}

#[test]
fn it_ends_once_a_difference_is_clear_and_never_for_want_of_one() {
    for (pairs, times, expected) in [
        (MIN_INTERIM_RUNS - 1, 4.0, false),
        (MIN_INTERIM_RUNS, 4.0, true),
        (MIN_INTERIM_RUNS, 0.25, true),
        (MIN_INTERIM_RUNS, 1.0, false),
        (MIN_INTERIM_RUNS + 1, 1.0, false),
    ] {
        let sides = in_turn(pairs, &[1.0, times]);
        assert_eq!(is_clear(&sides[0], &sides[1]).unwrap(), expected, "{pairs} pairs, times {times}");
        assert_eq!(is_clear(&sides[1], &sides[0]).unwrap(), expected, "turned round: {pairs} pairs, times {times}");
    }
}

#[test]
fn nothing_is_clear_of_one_side_after_the_other() {
    let runs = MIN_INTERIM_RUNS as u64;
    let (before, after) = (side(0..runs, 1.0), side(runs..2 * runs, 4.0));
    assert!(!is_clear(&before, &after).unwrap());
}

#[test]
fn of_several_sides_each_has_to_be_clear() {
    for (rounds, factors, expected) in [
        (MIN_INTERIM_RUNS - 1, vec![1.0, 4.0, 0.25], false),
        (MIN_INTERIM_RUNS, vec![1.0, 4.0, 0.25], true),
        (MIN_INTERIM_RUNS, vec![1.0, 4.0, 1.0], false),
        (MIN_INTERIM_RUNS, vec![1.0, 4.0], true),
        (MIN_INTERIM_RUNS, vec![1.0], false),
    ] {
        let sides = in_turn(rounds, &factors);
        let others: Vec<&Side> = sides[1..].iter().collect();
        assert_eq!(are_clear(&sides[0], &others).unwrap(), expected, "{rounds} rounds of {factors:?}");
    }
}
