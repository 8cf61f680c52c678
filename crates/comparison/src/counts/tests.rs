//! What is counted on either side, and what it takes to tell the sides apart.

use super::*;
use crate::in_time::InTime;
use crate::served::Served;
use proptest::prelude::*;
use punctual_random::Random;
use punctual_recording::{CycleCount, Followed};
use std::collections::BTreeMap;

#[path = "requests_tests.rs"]
mod of_requests;

const RUN_NS: u64 = 5_000_000_000;

/// A run with this many events, in this many bursts.
fn run(events: u64, bursts: u64) -> OfRun {
    let mut in_time = InTime::new(0, RUN_NS);
    (0..events).for_each(|event| in_time.take(event % bursts * (RUN_NS / bursts)));
    let count = EventCount { events, least: events, exposure: RUN_NS, all: Some(1_000), ..EventCount::default() };
    OfRun { count, in_time: in_time.counts().to_vec() }
}

fn spread_out(events: &[u64]) -> Vec<OfRun> {
    events.iter().map(|&events| run(events, events.max(1))).collect()
}

fn compared(a: &[OfRun], b: &[OfRun]) -> CountComparison {
    compare(Counted::Requests { threshold_ns: 20_000_000 }, a, b, false, 0.05)
}

#[test]
fn what_happens_in_every_run_of_one_side_and_in_none_of_the_other_differs() {
    let found = compared(&spread_out(&[137, 143, 147]), &spread_out(&[0, 0, 0]));
    assert_eq!((found.outcome, found.a.events, found.b.events), (Outcome::Better, 427, 0), "{found:?}");
    assert_eq!((found.a.all, found.b.all), (Some(3_000), Some(3_000)), "{found:?}");
    let RateRatio { low, estimate, high } = found.ratio;
    assert!(low.is_none() && estimate == Some(0.0) && high.is_some_and(|high| high < 0.1), "{found:?}");
    assert_eq!(compared(&spread_out(&[0, 0, 0]), &spread_out(&[137, 143, 147])).outcome, Outcome::Worse);
}

#[test]
fn about_as_many_are_no_difference_and_none_at_all_have_no_ratio() {
    let found = compared(&spread_out(&[5, 9, 11]), &spread_out(&[7, 8, 13]));
    assert_eq!(found.outcome, Outcome::NoDifference, "{found:?}");
    let RateRatio { low, estimate, high } = found.ratio;
    assert!(low.is_some_and(|low| low < 0.8) && high.is_some_and(|high| high > 1.5), "{found:?}");
    assert!(estimate.is_some_and(|estimate| (estimate - 1.12).abs() < 1e-9), "{found:?}");
    let none = compared(&spread_out(&[0, 0, 0]), &spread_out(&[0, 0, 0]));
    assert_eq!((none.outcome, none.ratio.low, none.ratio.high), (Outcome::NoDifference, None, None));
    // A run that could not count.
    let uncounted = [OfRun::default(), run(200, 200), run(200, 200)];
    let found = compared(&uncounted, &spread_out(&[0, 0, 0]));
    assert_eq!((found.ratio.high, found.a.all), (None, None));
}

#[test]
fn the_larger_a_difference_the_fewer_runs_find_it() {
    let of = |a: u64, b: u64| compared(&spread_out(&[a]), &spread_out(&[b])).runs_needed;
    let needed = [of(20, 2_000), of(20, 200), of(20, 40)].map(|runs| runs.unwrap_or(usize::MAX));
    assert!(needed.is_sorted() && needed[0] < needed[2], "{needed:?}");
    assert_eq!(needed[0], crate::standing::MIN_RUNS, "{needed:?}");
    assert_eq!((of(20, 21), of(0, 0)), (None, None));
}

#[test]
fn one_burst_a_run_is_one_event_and_one_run_is_not_three() {
    let bursts: Vec<OfRun> = (0..3).map(|_| run(10, 1)).collect();
    let found = compared(&bursts, &spread_out(&[0, 0, 0]));
    assert_eq!(found.outcome, Outcome::NoDifference, "{found:?}");
    let found = compared(&spread_out(&[400, 0, 0]), &spread_out(&[0, 0, 0]));
    assert_eq!(found.outcome, Outcome::NoDifference, "{found:?}");
    // If nothing tells when they came, they may have come at once.
    let untold: Vec<OfRun> = (0..3).map(|_| OfRun { in_time: Vec::new(), ..run(10, 10) }).collect();
    assert_eq!(compared(&untold, &spread_out(&[0, 0, 0])).outcome, Outcome::NoDifference);
}

#[test]
fn what_was_not_seen_may_speak_for_either_side() {
    let unseen = |least| -> Vec<OfRun> {
        let one = run(50, 50);
        vec![OfRun { count: EventCount { least, ..one.count }, ..one }; 3]
    };
    for (least, outcome) in [(50, Outcome::Better), (0, Outcome::NoDifference)] {
        let found = compared(&unseen(least), &spread_out(&[1, 1, 1]));
        assert_eq!(found.outcome, outcome, "{found:?}");
        assert!(found.ratio.estimate.is_some_and(|estimate| (estimate - 0.02).abs() < 1e-9), "{found:?}");
    }
}

/// Six pairs of runs on a machine that changes from run to run, of which each has fewer on B.
#[test]
fn six_pairs_that_all_point_the_same_way_decide() {
    let (a, b) = (spread_out(&[40, 500, 60, 300, 900, 50]), spread_out(&[30, 20, 40, 5, 300, 2]));
    let outcome = |a: &[OfRun], b: &[OfRun], is_paired| {
        let found = compare(Counted::Requests { threshold_ns: 20_000_000 }, a, b, is_paired, 0.05);
        let RateRatio { low, estimate, high } = found.ratio;
        assert!(low <= estimate && estimate <= high, "{found:?}");
        found.outcome
    };
    assert_eq!(outcome(&a, &b, true), Outcome::Better);
    assert_eq!(outcome(&b, &a, true), Outcome::Worse);
    // Not in turn, one pair fewer, and one pair that points the other way.
    assert_eq!(outcome(&a, &b, false), Outcome::NoDifference);
    assert_eq!(outcome(&a[..5], &b[..5], true), Outcome::NoDifference);
    let otherwise = spread_out(&[30, 20, 70, 5, 300, 2]);
    assert_eq!(outcome(&a, &otherwise, true), Outcome::NoDifference);
    // What was not seen on B may have been as many.
    let count =
        |run: &OfRun| OfRun { count: EventCount { least: run.count.events, events: 900, ..run.count }, ..run.clone() };
    let unseen: Vec<OfRun> = b.iter().map(count).collect();
    assert_eq!(outcome(&a, &unseen, true), Outcome::NoDifference);
}

/// How many of 300 comparisons of so many runs of each side are told apart, where these have around 50 events or, half of them,
/// around 250.
fn told_apart(runs: usize, is_paired: bool, of_run: impl Fn(u64) -> OfRun) -> usize {
    let mut random = Random(0x00c0_7a7e);
    let mut side = || -> Vec<OfRun> {
        let mut run_of_two_states = || {
            let words = if random.bits() >> 63 == 0 { 2 } else { 10 };
            of_run((0..words).map(|_| u64::from((random.bits() & !(0xfff << 20)).count_ones())).sum())
        };
        (0..runs).map(|_| run_of_two_states()).collect()
    };
    let differ = |a: &[OfRun], b: &[OfRun]| {
        let found = compare(Counted::Requests { threshold_ns: 20_000_000 }, a, b, is_paired, 0.05);
        found.outcome != Outcome::NoDifference
    };
    (0..300).filter(|_| differ(&side(), &side())).count()
}

#[test]
fn a_machine_that_changes_from_run_to_run_is_seldom_told_from_itself() {
    let told = told_apart(3, false, |events| run(events, events));
    assert!(told <= 20, "{told} of 300");
}

#[test]
fn nor_is_one_that_is_measured_in_turn() {
    for runs in [6, 9] {
        let told = told_apart(runs, true, |events| run(events, events));
        assert!(told <= 15, "{told} of 300, {runs} pairs");
    }
}

/// Of a client that waits for its answers: the more are slow, the fewer it asks for.
#[test]
fn nor_is_one_whose_requests_are_fewer_where_more_are_slow() {
    let told = told_apart(3, false, |events| {
        let (one, requests) = (run(events, events), 12_000 - 20 * events);
        let count = EventCount { exposure: requests, all: Some(requests), watched_ns: Some(RUN_NS), ..one.count };
        OfRun { count, ..one }
    });
    assert!(told <= 20, "{told} of 300");
}

proptest! {
    #[test]
    fn turning_the_sides_round_turns_the_ratio_round(
        a in prop::collection::vec(0..200u64, 3..6),
        b in prop::collection::vec(0..200u64, 3..6),
    ) {
        let (there, back) =
            (compared(&spread_out(&a), &spread_out(&b)).ratio, compared(&spread_out(&b), &spread_out(&a)).ratio);
        let opposite = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => (one * other - 1.0).abs() < 1e-6,
            (one, other) => one.is_none() && other.is_none(),
        };
        prop_assert!(opposite(there.low, back.high) && opposite(there.high, back.low), "{there:?} {back:?}");
    }

    #[test]
    fn a_side_against_itself_is_no_difference(a in prop::collection::vec(0..200u64, 3..6)) {
        let same = compared(&spread_out(&a), &spread_out(&a));
        prop_assert!(same.outcome == Outcome::NoDifference, "{same:?}");
    }
}

/// Of a recording of nothing.
pub(crate) fn document() -> Document {
    let value = serde_json::json!({
        "schema": punctual_recording::SCHEMA, "ended": null, "tasks": [], "segments": 1, "distributions": [],
        "provenance": punctual_recording::Provenance::default(), "counters": punctual_recording::Counters::default(),
    });
    serde_json::from_value(value).unwrap()
}

/// Three runs of a loop with a period of 1 ms, each with so many overruns all over it.
pub(crate) fn of_loop(measure: &str, overruns: u64) -> Vec<Run> {
    let mut document = document();
    document.followed = Some(Followed { period_ns: Some(1_000_000), ..Followed::default() });
    let mut long = InTime::new(0, RUN_NS);
    (0..overruns).for_each(|event| long.take(event * (RUN_NS / overruns)));
    let count = CycleCount { cycles: 5_000, overruns, certain: overruns, ..CycleCount::default() };
    let run = Run {
        document,
        stages: BTreeMap::new(),
        cycles: BTreeMap::from([(measure.to_owned(), count)]),
        long_responses: BTreeMap::from([(measure.to_owned(), long)]),
        slow_requests: None,
        maybe_slow: 0,
        causes: None,
        devices: Vec::new(),
        served: Vec::new(),
    };
    vec![run; 3]
}

#[test]
fn cycles_of_a_loop_are_compared_whatever_its_policy() {
    let found = counts(&of_loop("robot-ctl other", 969), &of_loop("robot-ctl fifo:60", 3), false, 0.95);
    let [row] = &found[..] else { panic!("{found:?}") };
    assert_eq!(row.what, Counted::Cycles { of: "robot-ctl".to_owned(), period_ns: 1_000_000 });
    assert_eq!((row.a.events, row.b.events, row.b.exposure), (2_907, 9, 15_000), "{row:?}");
    assert_eq!(row.outcome, Outcome::Better, "{row:?}");
    // Of another loop, and of one that was recorded with another period.
    assert_eq!(counts(&of_loop("a other", 9), &of_loop("b other", 9), false, 0.95), []);
    let mut other = of_loop("a other", 9);
    other[2].document.followed = None;
    assert_eq!(counts(&of_loop("a other", 9), &other, false, 0.95), []);
}

#[test]
fn a_loop_that_catches_up_overran_in_each_period_that_it_missed() {
    let after = |made_up, skipped| {
        let mut runs = of_loop("robot-ctl other", 10);
        for count in runs.iter_mut().flat_map(|run| run.cycles.values_mut()) {
            *count = CycleCount { periods: 5_060, not_woken: 60, made_up, skipped, ..*count };
        }
        let found = counts(&runs, &runs, false, 0.95);
        let [row] = &found[..] else { panic!("{found:?}") };
        (row.a.least, row.a.events, row.a.exposure)
    };
    assert_eq!(after(10, 0), (180, 180, 15_180), "catches up");
    assert_eq!(after(0, 10), (30, 30, 15_000), "skips");
    assert_eq!(after(0, 0), (30, 180, 15_000), "either");
}

#[test]
fn where_wakeups_were_not_seen_there_may_be_more_overruns() {
    let mut unseen = of_loop("robot-ctl other", 116);
    for count in unseen.iter_mut().flat_map(|run| run.cycles.values_mut()) {
        (count.certain, count.unseen) = (15, 108);
    }
    let found = counts(&unseen, &of_loop("robot-ctl other", 9), false, 0.95);
    let [row] = &found[..] else { panic!("{found:?}") };
    assert_eq!((row.a.least, row.a.events, row.a.may_be_more), (45, 348, true), "{row:?}");
    assert_eq!((row.b.least, row.b.events, row.b.may_be_more), (27, 27, false), "{row:?}");
    assert_eq!([row.a.may_be_more_exposure, row.b.may_be_more_exposure], [true, false], "{row:?}");
}

#[test]
fn no_verdict_rests_on_overruns_that_nobody_may_have_seen() {
    let ratio = |change: &dyn Fn(CycleCount) -> CycleCount| {
        let mut seldom = of_loop("robot-ctl other", 3);
        seldom.iter_mut().flat_map(|run| run.cycles.values_mut()).for_each(|own| *own = change(*own));
        let often = of_loop("robot-ctl other", 969);
        let [there, back] = [counts(&often, &seldom, false, 0.95), counts(&seldom, &often, false, 0.95)];
        let outcomes = [there[0].outcome, back[0].outcome];
        (outcomes, [there[0].ratio.high.is_some(), back[0].ratio.low.is_some()], there[0].b.at_most())
    };
    let (decided, open) = ([Outcome::Better, Outcome::Worse], [Outcome::NoDifference; 2]);
    // Nothing was unseen; or five wakeups of each run, behind which two overruns each may be: far fewer all the same.
    assert_eq!(ratio(&|own| own), (decided, [true; 2], Some(9)));
    assert_eq!(ratio(&|own| CycleCount { unseen: 5, ..own }), (decided, [true; 2], Some(39)));
    // More were unseen than the other side had overruns.
    assert_eq!(ratio(&|own| CycleCount { unseen: 2_000, ..own }), (open, [true; 2], Some(12_009)));
    // Any number may be in one stretch.
    assert_eq!(ratio(&|own| CycleCount { longest_ns: 6_000_000, longest_missed: 5, ..own }), (open, [false; 2], None));
}

#[test]
fn a_run_of_half_the_cycles_is_worse() {
    let of = |count: CycleCount| {
        let mut runs = of_loop("robot-ctl other", count.overruns);
        runs.iter_mut().flat_map(|run| run.cycles.values_mut()).for_each(|own| *own = count);
        runs
    };
    let kept = |cycles: u64, overruns: u64| {
        let count = CycleCount { cycles, overruns, certain: overruns, on_grid: cycles, ..CycleCount::default() };
        CycleCount { periods: 5_000, not_woken: 5_000 - cycles, ..count }
    };
    // One cycle in a hundred overran on both sides, but one side skipped half of its periods.
    let found = counts(&of(kept(4_950, 50)), &of(CycleCount { skipped: 25, ..kept(2_500, 25) }), false, 0.95);
    let [row] = &found[..] else { panic!("{found:?}") };
    assert_eq!(row.what, Counted::Periods { of: "robot-ctl".to_owned(), period_ns: 1_000_000 });
    assert_eq!((row.a.events, row.b.events, row.b.exposure), (150, 7_500, 15_000), "{row:?}");
    assert_eq!((row.outcome, row.ratio.estimate), (Outcome::Worse, Some(50.0)), "{row:?}");
    // All cycles of one side overran, and half of those of the other, which hardly ran.
    let (cycles, overruns, certain) = (60, 30, 30);
    let starved = CycleCount { cycles, overruns, certain, starved: 1, on_grid: 60, ..CycleCount::default() };
    let starved = CycleCount { starved_periods: 5_000, starved_within: 4_940, ..starved };
    let found = counts(&of(kept(2_500, 2_500)), &of(starved), false, 0.95);
    assert!(found[0].ratio.estimate.is_some_and(|ratio| (ratio - 1.976).abs() < 1e-9), "{found:?}");
}

/// Three runs of devices with a thousand blocks, each with so many underruns all over it.
fn of_devices(devices: &[(&str, u64)]) -> Vec<Run> {
    let served = devices.iter().map(|&(device, underruns)| Served {
        device: device.to_owned(),
        blocks: 1_000,
        underruns,
        in_time: Some({
            let mut found = InTime::new(0, RUN_NS);
            (0..underruns).for_each(|event| found.take(event * (RUN_NS / underruns)));
            found
        }),
    });
    let run = Run { served: served.collect(), ..of_loop("a other", 1).remove(0) };
    vec![Run { cycles: BTreeMap::new(), ..run }; 3]
}

#[test]
fn underruns_of_the_devices_of_both_sides_are_compared() {
    let (a, b) = (of_devices(&[("sdr", 2), ("v90", 9)]), of_devices(&[("sdr", 200), ("modem", 9)]));
    let found = counts(&a, &b, false, 0.95);
    let [row] = &found[..] else { panic!("{found:?}") };
    assert_eq!(row.what, Counted::Underruns { of: "sdr".to_owned() });
    assert_eq!((row.a.events, row.b.events, row.a.exposure), (6, 600, 3_000), "{row:?}");
    assert_eq!((row.outcome, row.ratio.estimate), (Outcome::Worse, Some(100.0)), "{row:?}");
    // One side has none, and a run of the other has not that device.
    let mut other = of_devices(&[("sdr", 200)]);
    other[1].served.clear();
    assert_eq!(counts(&a, &other, false, 0.95), []);
    assert_eq!(shared_devices(&a, &a), ["sdr", "v90"]);
}

#[test]
fn only_requests_above_a_fixed_threshold_can_be_compared() {
    let mut document = document();
    assert_eq!(slow_request_ns(&document), None);
    for (stage, threshold, expected) in
        [(Stage::Request, "20.0 ms", Some(5)), (Stage::Request, "p99", None), (Stage::Response, "20.0 ms", None)]
    {
        document.recorder = Some(punctual_recording::RecorderSummary {
            stage,
            threshold: threshold.to_owned(),
            threshold_ns: Some(5),
            ..punctual_recording::RecorderSummary::default()
        });
        assert_eq!(slow_request_ns(&document), expected, "{stage:?} {threshold}");
    }
}

#[test]
fn only_too_few_runs_and_counts_beyond_chance_differ_without_a_verdict() {
    let too_few = Standing::TooFewRuns { more: [2, 2] };
    let requests = || Counted::Requests { threshold_ns: 20_000_000 };
    let underruns = || Counted::Underruns { of: "sdr".to_owned() };
    let cycles = || Counted::Cycles { of: "my-loop".to_owned(), period_ns: 1_000_000 };
    let count =
        |least: u64, events: u64, exposure: u64| EventCount { events, least, exposure, ..EventCount::default() };
    let of = |events: u64| count(events, events, 1_000);
    let no_difference = Outcome::NoDifference;
    for (what, a, b, outcome, standing, expected) in [
        (underruns(), of(192), of(0), no_difference, too_few, true),
        (requests(), of(0), of(192), no_difference, too_few, true),
        // Others have their verdict, or need none.
        (cycles(), of(192), of(0), no_difference, too_few, false),
        (requests(), of(192), of(0), no_difference, Standing::Systems, false),
        (requests(), of(192), of(0), no_difference, Standing::OneAfterTheOther, false),
        (requests(), of(192), of(0), Outcome::Better, too_few, false),
        // Chance takes 10 and 16 this far apart; a third of the time has a third of them.
        (requests(), of(10), of(16), no_difference, too_few, false),
        (requests(), of(90), count(30, 30, 333), no_difference, too_few, false),
        // What was not seen may make up for the difference, and without a rate there is none.
        (requests(), of(192), count(0, 200, 1_000), no_difference, too_few, false),
        (requests(), of(192), count(0, 0, 0), no_difference, too_few, false),
        (requests(), of(0), of(0), no_difference, too_few, false),
    ] {
        let ratio = RateRatio::default();
        let row = CountComparison { what, a, b, ratio, outcome, runs_needed: None };
        assert_eq!(row.differs_without_a_verdict(standing), expected, "{row:?}, {standing:?}");
    }
}

/// Three pairs of runs of a loop, each with a stop in which these periods began, and none.
#[test]
fn a_stop_in_each_run_decides_where_all_were_measured_in_turn() {
    let stops = |periods: [u64; 3]| -> Vec<OfRun> { periods.iter().map(|&periods| run(periods, 1)).collect() };
    let of = |a: &[OfRun], b: &[OfRun], is_paired| {
        let what = Counted::Periods { of: "robot-ctl".to_owned(), period_ns: 1_000_000 };
        let found = compare(what, a, b, is_paired, 0.05);
        (found.outcome, found.ratio.low.is_some(), found.ratio.high.is_some())
    };
    let (none, some) = (stops([0, 0, 0]), stops([100, 90, 110]));
    assert_eq!(of(&none, &some, true), (Outcome::Worse, true, false));
    assert_eq!(of(&some, &none, true), (Outcome::Better, false, true));
    // Not in turn; a pair fewer; one without a stop; one that had an overrun on the other side; and requests.
    assert_eq!(of(&none, &some, false).0, Outcome::NoDifference);
    assert_eq!(of(&none[..2], &some[..2], true).0, Outcome::NoDifference);
    assert_eq!(of(&none, &stops([100, 0, 110]), true).0, Outcome::NoDifference);
    assert_eq!(of(&stops([0, 1, 0]), &some, true).0, Outcome::NoDifference);
    let requests = compare(Counted::Requests { threshold_ns: 20_000_000 }, &none, &some, true, 0.05);
    assert_eq!(requests.outcome, Outcome::NoDifference);
}

/// A loop that may be stopped ten times in a run, each time for 100 periods, and is about so many times in a run.
#[test]
fn a_loop_that_is_stopped_now_and_then_is_seldom_told_from_itself() {
    for stops in [0.3, 0.7, 1.0, 1.5, 3.0] {
        let mut random = Random(0x57_0b5);
        let mut side = || -> Vec<OfRun> {
            let mut stopped = || (0..10).filter(|_| random.uniform() < stops / 10.0).count() as u64;
            (0..3).map(|_| stopped()).map(|stopped| run(100 * stopped, stopped.max(1))).collect()
        };
        let what = || Counted::Periods { of: "robot-ctl".to_owned(), period_ns: 1_000_000 };
        let differ = |a: &[OfRun], b: &[OfRun]| compare(what(), a, b, true, 0.05).outcome != Outcome::NoDifference;
        let told = (0..300).filter(|_| differ(&side(), &side())).count();
        assert!(told <= 15, "{told} of 300, stopped {stops} times");
    }
}
