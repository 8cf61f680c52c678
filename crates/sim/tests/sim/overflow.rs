//! What a ring loses, and what is late because nobody ever began it.

use proptest::prelude::*;
use punctual_sim::experiment::{Experiment, Outcome, Value, setting};
use punctual_sim::ledger::builtin;

fn with(name: &str, set: &[&str]) -> Outcome {
    let set: Vec<_> = set.iter().map(|text| setting(text).unwrap()).collect();
    builtin(name).unwrap().unwrap().with(&set).unwrap().run().unwrap()
}

fn value(outcome: &Outcome, id: &str) -> f64 {
    let row = outcome.rows.iter().find(|row| row.id == id).unwrap_or_else(|| panic!("no row {id}"));
    match row.simulated {
        Some(Value::Number(number)) => number,
        _ => panic!("{id}: {:?}", row.simulated),
    }
}

fn overflows(set: &[&str]) -> f64 {
    value(&with("soft-modem-dialup", set), "modem-fig7-overflow")
}

#[test]
fn overflows_grow_with_the_duration() {
    let (short, long) = (overflows(&["duration=28s", "runs=1"]), overflows(&["duration=280s", "runs=1"]));
    assert!(short > 50.0, "{short}");
    assert!((8.0..14.0).contains(&(long / short)), "{short} in 28 s, {long} in 280 s");
}

#[test]
fn overflows_never_grow_with_the_ring() {
    let found: Vec<f64> =
        [128, 256, 512, 1024, 100_000].map(|ring| overflows(&[&format!("device.ring={ring}"), "runs=1"])).to_vec();
    assert!(found.windows(2).all(|pair| pair[1] <= pair[0]), "{found:?}");
    assert!(found[0] > found[2] && found[4] == 0.0, "{found:?}");
}

#[test]
fn overflows_vanish_where_a_boost_makes_them_impossible() {
    assert!(overflows(&["runs=1"]) > 0.0);
    assert_eq!(overflows(&["runs=1", "machine.wait_boost=1"]), 0.0);
    assert_eq!(overflows(&["runs=1", "machine.quantum=20ms"]), 0.0);
}

#[test]
fn a_ring_without_end_shows_the_same_blocks_late() {
    // What the ring loses would be late without it: the share of faults does not depend on how they are counted.
    let share = |ring: &str| {
        let outcome = with("soft-modem-dialup", &[ring, "device.start_tolerance=64ms", "runs=1"]);
        value(&outcome, "modem-fig7-dialing")
    };
    let (with_ring, without) = (share("device.ring=512"), share("device.ring=1000000000"));
    assert!(with_ring > 5.0 && without > 5.0, "{with_ring} {without}");
}

const STARVED: &str = r#"schema = "punctual.experiment/1"
name = "starved"
duration = "10s"

[[thread]]
name = "spin"
policy = { priority = 9 }
activity = "spinning"

[[thread]]
name = "starved"
policy = { priority = 8 }
activity = { periodic = { period = "10ms" } }
work = "1ms"

[[row]]
id = "late"
item = "activations over 10 ms late"
measure = { of = "late_count", thread = "starved", limit = "10ms" }
published = 999
class = "prediction"

[[row]]
id = "latest"
item = "longest latency"
measure = { of = "latency_max", thread = "starved" }
published = 10000000
class = "prediction"
"#;

#[test]
fn threads_that_take_turns_too_often_are_refused() {
    let turns = |keys: &str| Experiment::parse("turns.toml", &format!("{STARVED}\n[machine]\n{keys}\n"));
    for key in ["quantum", "slot_unit", "starvation_boost"] {
        let refused = turns(&format!("{key} = \"10ps\"")).unwrap_err().to_string();
        assert!(refused.contains("too many"), "{key}: {refused}");
        assert!(turns(&format!("{key} = \"10ms\"")).is_ok(), "{key}");
    }
    let deadline = "policy = { deadline = { runtime = \"1ps\", period = \"2ps\" } }";
    let refused = Experiment::parse("turns.toml", &STARVED.replace("policy = { priority = 8 }", deadline)).unwrap_err();
    assert!(refused.to_string().contains("too many"), "{refused}");
}

#[test]
fn runs_without_end_are_refused_however_short_they_are() {
    let runs = |count: u32| {
        let text = STARVED.replace("duration = \"10s\"", &format!("duration = \"1us\"\nruns = {count}"));
        Experiment::parse("runs.toml", &text)
    };
    let refused = runs(100_000_000).unwrap_err().to_string();
    assert!(refused.contains("too many") && runs(1_000).is_ok(), "{refused}");
}

#[test]
fn what_far_too_many_leave_no_room_for_is_counted() {
    let much = STARVED.replace("period = \"10ms\"", "period = \"30us\"");
    let outcome = Experiment::parse("starved.toml", &much).unwrap().run().unwrap();
    let without_room = outcome.cases[0].without_room;
    assert!(without_room > 0, "all of them found room");
    // All that wait came long before the end. One comes every 30 us for 10 s.
    let all = without_room + value(&outcome, "late") as u64;
    assert!((333_330..=333_340).contains(&all), "{all} of 333,334, {without_room} of them without room");
    assert_eq!(Experiment::parse("starved.toml", STARVED).unwrap().run().unwrap().cases[0].without_room, 0);
}

#[test]
fn an_activation_that_never_starts_is_late() {
    let outcome = Experiment::parse("starved.toml", STARVED).unwrap().run().unwrap();
    for row in &outcome.rows {
        assert_eq!(row.holds, Some(true), "{}: {:?}", row.id, row.simulated);
    }
    // A timer's callbacks that were due and never came also count.
    let timer = STARVED
        .replace(
            "activity = { periodic = { period = \"10ms\" } }",
            "activity = { timer = { interval = \"10ms\", rule = \"exact\" } }",
        )
        .replace("duration = \"10s\"", "duration = \"10s\"\n[clock]\nperiod = \"1ms\"");
    let outcome = Experiment::parse("starved.toml", &timer).unwrap().run().unwrap();
    assert_eq!(value(&outcome, "late"), 998.0);
    let device = r#"schema = "punctual.experiment/1"
name = "starved device"
duration = "10s"

[[thread]]
name = "spin"
policy = { priority = 9 }
activity = "spinning"

[device]
name = "device"
context = "thread"
policy = { priority = 8 }
start_tolerance = "5ms"
[[device.phase]]
name = "on"
rate = 8000
samples = [80]
work = "1ms"

[[row]]
id = "faults"
item = "blocks late or lost"
measure = { of = "fault_share" }
published = 100
class = "prediction"
"#;
    let outcome = Experiment::parse("device.toml", device).unwrap().run().unwrap();
    assert_eq!(value(&outcome, "faults"), 100.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Samples come at a rate; each is taken, lost or still there when the run ends, whoever serves them.
    #[test]
    fn every_sample_is_consumed_dropped_or_pending_exactly_once(
        ring in 50..600u64,
        work in 1..14u64,
        priority in prop_oneof![Just(7u8), Just(8), Just(20)],
        stale in any::<bool>(),
        quantum in 1..150u64,
    ) {
        use punctual_sim::cost::Cost;
        use punctual_sim::machine::{
            Activity, Arrival, Engine, LateWork, MachineSpec, PhaseSpec, Phases, Policy, SourceSpec, ThreadSpec, WorkContext,
        };
        use punctual_sim::modem::{Meter, Tolerance};
        use punctual_sim::time::{MILLISECOND, NEVER, SECOND};
        let phases = Phases {
            phases: vec![PhaseSpec {
                until: NEVER,
                rate: 8000,
                samples: vec![105, 105, 90],
                work: Cost::constant(work * MILLISECOND),
            }],
            offset: 0,
            parts_per_million: 100,
            ring,
        };
        let mut thread = ThreadSpec::new("modem", Policy::Priority(priority), Activity::Signalled, Cost::default());
        thread.late_work = if stale { LateWork::DropStale } else { LateWork::WorkOff };
        let source = SourceSpec {
            name: "modem".to_owned(), cpu: 0, irql: 9, arrival: Arrival::Phases(phases), latched: false,
            isr: Cost::default(), dpc: Cost::default(), important: false, work: Cost::default(),
            context: WorkContext::Thread, thread: Some(0),
        };
        let spec = MachineSpec {
            quantum: quantum * MILLISECOND,
            threads: vec![thread, ThreadSpec::spinner("spin", 8)],
            sources: vec![source],
            ..MachineSpec::default()
        };
        let mut engine = Engine::new(spec).unwrap();
        let mut good = 0u64;
        let mut meter = Meter::new(0, 0, Tolerance { ring, start: NEVER }, |block| {
            if block.fate == punctual_sim::modem::Fate::Good { good += u64::from(block.samples) }
        });
        let end = 30 * SECOND;
        engine.run(end, &mut meter);
        let samples = meter.ring.clone();
        let came = samples.came(end);
        let pending = came - samples.taken() - samples.lost();
        prop_assert!(came.abs_diff(30 * 8000) < 40, "{came}");
        // Complete blocks are a part of what was taken; the rest is half blocks that the ring left.
        prop_assert!(samples.taken() >= good && samples.taken() <= came);
        prop_assert!(pending < ring + 105);
        prop_assert!(samples.overflows() * ring <= samples.lost());
        prop_assert!(priority != 20 || work > 10 || samples.lost() == 0 || ring < 200);
    }
}
