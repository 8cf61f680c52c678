//! Locks with and without inheritance, and the boosts of normal priorities, against arithmetic.

use punctual_sim::Engine;
use punctual_sim::cost::Cost;
use punctual_sim::ledger::builtin;
use punctual_sim::machine::{Activity, Hold, MachineSpec, Policy, ThreadSpec};
use punctual_sim::observe::{Activation, Everything};
use punctual_sim::time::{MILLISECOND, SECOND};

fn periodic(name: &str, priority: u8, offset: u64, work: u64) -> ThreadSpec {
    let activity = Activity::Periodic { period: SECOND, offset: offset * MILLISECOND };
    ThreadSpec::new(name, Policy::Priority(priority), activity, Cost::constant(work * MILLISECOND))
}

fn first(spec: MachineSpec, thread: u32, until: u64) -> Activation {
    let mut seen = Everything::default();
    Engine::new(spec).unwrap().run(until, &mut seen);
    *seen.activations.iter().find(|activation| activation.thread == Some(thread)).expect("it ran")
}

/// The lowest holds what the highest wants; the one between them computes for 100 ms.
fn inversion(inheritance: bool) -> u64 {
    let hold =
        |after: u64, length: u64| Some(Hold { lock: 0, after: after * MILLISECOND, length: length * MILLISECOND });
    let mut low = periodic("low", 3, 0, 10);
    low.hold = hold(0, 10);
    let mut high = periodic("high", 20, 2, 5);
    high.hold = hold(1, 2);
    let spec =
        MachineSpec { inheritance, threads: vec![low, high, periodic("middle", 10, 3, 100)], ..MachineSpec::default() };
    first(spec, 1, 900 * MILLISECOND).response() / MILLISECOND
}

#[test]
fn without_inheritance_the_highest_waits_for_the_middle() {
    // Low ran 2 ms, high runs 1 and waits, middle takes 100, low its other 8, high its other 4.
    assert_eq!(inversion(false), 1 + 100 + 8 + 4);
}

#[test]
fn with_inheritance_it_waits_for_the_holder_alone() {
    assert_eq!(inversion(true), 1 + 8 + 4);
}

/// The same with the experiment that comes with the program.
#[test]
fn the_experiment_of_priority_inversion_says_so_too() {
    let outcome = builtin("priority-inversion").unwrap().unwrap().run().unwrap();
    let held: Vec<_> = outcome.rows.iter().map(|row| (row.id.as_str(), row.holds)).collect();
    assert_eq!(
        held,
        [("inversion-without", Some(true)), ("inversion-with", Some(true)), ("inversion-starved", Some(true))]
    );
}

#[test]
fn a_foreground_quantum_is_three_times_as_long() {
    let turns = |foreground: bool| {
        let mut spin = ThreadSpec::spinner("spin", 8);
        spin.foreground = foreground;
        let spec = MachineSpec {
            quantum: 30 * MILLISECOND,
            threads: vec![spin, ThreadSpec::spinner("other", 8)],
            ..MachineSpec::default()
        };
        let mut engine = Engine::new(spec).unwrap();
        engine.run(12 * SECOND, &mut punctual_sim::observe::Unwatched);
        engine.thread_time(0) as f64 / engine.thread_time(1) as f64
    };
    assert!((turns(false) - 1.0).abs() < 0.02 && (turns(true) - 3.0).abs() < 0.05, "{} {}", turns(false), turns(true));
}

#[test]
fn a_starved_thread_has_two_quanta_each_time_it_waited_long() {
    let served = |starvation_boost: Option<u64>| {
        let spec = MachineSpec {
            quantum: 20 * MILLISECOND,
            starvation_boost,
            threads: vec![ThreadSpec::spinner("spin", 9), ThreadSpec::spinner("starved", 4)],
            ..MachineSpec::default()
        };
        let mut engine = Engine::new(spec).unwrap();
        engine.run(30 * SECOND + 500 * MILLISECOND, &mut punctual_sim::observe::Unwatched);
        engine.thread_time(1) / MILLISECOND
    };
    assert_eq!(served(None), 0);
    // Every 3.04 s 40 ms: ten times in 30.5 s.
    assert_eq!(served(Some(3 * SECOND)), 400);
}

#[test]
fn a_boost_sinks_by_a_level_each_quantum() {
    // Woken to 11, it computes 100 ms beside a spinning thread of 9: a quantum at 11 and at 10, then turns at 9, then none.
    let mut woken = periodic("woken", 8, 10, 100);
    woken.work = Cost::constant(100 * MILLISECOND);
    let spec = MachineSpec {
        quantum: 20 * MILLISECOND,
        wait_boost: 3,
        threads: vec![woken, ThreadSpec::spinner("spin", 9)],
        ..MachineSpec::default()
    };
    let mut engine = Engine::new(spec).unwrap();
    engine.run(800 * MILLISECOND, &mut punctual_sim::observe::Unwatched);
    assert_eq!(engine.thread_time(0) / MILLISECOND, 60);
}
