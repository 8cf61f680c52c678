//! How often something happened on either side: cycles of loops that took too long, requests that were slow, underruns of
//! devices.
//!
//! The logarithm of each run's rate is compared as figures of wakeups are ([`logarithms`]), with what the runs show of
//! their spread and what is expected of it; so a run without any event is one with half an event, certain to within a
//! factor of four. The interval also holds that of the exact test given the sum of all counts (Przyborowski and Wilenski
//! 1940), in which events that come in bursts, or vary from run to run, count as so many clusters.

use crate::blocks::Run;
use crate::devices::RateRatio;
use crate::events::{EventCount, OfRun};
use crate::figure::{Estimate, Figure};
use crate::loops;
use crate::ratio::{Demand, WORTH_THE_NAME, logarithms, mean_ln, runs_that_find};
use crate::resample::variance_of_sum;
use crate::student::beta_quantile;
use crate::verdict::Outcome;
use punctual_recording::{Document, Stage};
use std::collections::BTreeSet;

/// The most loops, or devices, that are compared: a program may have any number of threads.
const MAX_LOOPS: usize = 8;
/// How much the rate of rare events must be expected to differ between runs: as the furthest quantile.
const RATE: Figure = Figure { name: "rate", key: "rate", level: 0.5, is_mean: false, needed: 0, between: 0.4 };
/// How many figures of wakeups a rate counts as: the correction for these is what keeps machines that change from run to
/// run from being told from themselves.
const FAMILY: usize = 4;
/// Added to the logarithm of each rate, so that none is as small as nanoseconds that make no difference.
const FAR_ABOVE_NS: f64 = 60.0;

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// Cycles of the loops of this name that took longer than their period, ns; out of all their cycles.
    Cycles {
        /// The threads' name.
        of: String,
        /// The period, ns.
        period_ns: u64,
    },
    /// Periods of this length, ns, that the loops of this name overran; out of all that the time held.
    Periods {
        /// The threads' name.
        of: String,
        /// The period, ns.
        period_ns: u64,
    },
    /// Requests that took longer than this, ns; in the time that was watched.
    Requests {
        /// The threshold, ns.
        threshold_ns: u64,
    },
    /// Blocks of the device of this name that were processed too late or never; out of all its blocks.
    Underruns {
        /// The device.
        of: String,
    },
}

/// Events of one kind on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct CountComparison {
    /// What was counted.
    pub what: Counted,
    /// How often on A.
    pub a: EventCount,
    /// How often on B.
    pub b: EventCount,
    /// How many times as often on B. No limits if a side counted nothing.
    pub ratio: RateRatio,
    /// What that amounts to.
    pub outcome: Outcome,
    /// How many runs of each side it would take to find a difference of the estimated size four times out of five; `None`
    /// if that is more than [`crate::ratio::MAX_RUNS_NEEDED`], or if a side counted nothing.
    pub runs_needed: Option<usize>,
}

/// The threshold, ns, if slow requests were counted above a fixed one: one that follows the wakeups counts as many on
/// every machine.
pub fn slow_request_ns(document: &Document) -> Option<u64> {
    let recorder = document.recorder.as_ref().filter(|recorder| recorder.stage == Stage::Request)?;
    recorder.threshold_ns.filter(|_| !recorder.threshold.starts_with('p'))
}

/// Everything that both sides counted in the same way. The intervals hold together with this probability.
pub(crate) fn counts(a: &[Run], b: &[Run], is_paired: bool, confidence: f64) -> Vec<CountComparison> {
    let mut rows: Vec<(Counted, [Vec<OfRun>; 2])> = Vec::new();
    if let Some(period_ns) = shared(a, b, |document| document.followed.as_ref()?.period_ns) {
        let names: BTreeSet<&str> = loops::names(a).intersection(&loops::names(b)).copied().collect();
        for name in names.into_iter().take(MAX_LOOPS) {
            let by_period = loops::have_periods(a, name) && loops::have_periods(b, name);
            let count: fn(&Run, &str) -> OfRun = if by_period { loops::periods } else { loops::cycles };
            let of_runs = |runs: &[Run]| runs.iter().map(|run| count(run, name)).collect();
            let of = name.to_owned();
            let what = if by_period { Counted::Periods { of, period_ns } } else { Counted::Cycles { of, period_ns } };
            rows.push((what, [of_runs(a), of_runs(b)]));
        }
    }
    if let Some(threshold_ns) = shared(a, b, slow_request_ns) {
        let of = |runs: &[Run]| runs.iter().map(requests).collect();
        rows.push((Counted::Requests { threshold_ns }, [of(a), of(b)]));
    }
    for device in shared_devices(a, b) {
        let of = |runs: &[Run]| runs.iter().map(|run| underruns(run, device)).collect();
        rows.push((Counted::Underruns { of: device.to_owned() }, [of(a), of(b)]));
    }
    let each = (1.0 - confidence) / rows.len().max(1) as f64;
    rows.into_iter().map(|(what, [a, b])| compare(what, &a, &b, is_paired, each)).collect()
}

/// What all runs of both sides have in common.
fn shared(a: &[Run], b: &[Run], of: impl Fn(&Document) -> Option<u64>) -> Option<u64> {
    let mut values = a.iter().chain(b).map(|run| of(&run.document));
    let first = values.next()??;
    values.all(|other| other == Some(first)).then_some(first)
}

/// The devices that ran in every run of both sides.
pub(crate) fn shared_devices<'a>(a: &'a [Run], b: &'a [Run]) -> Vec<&'a str> {
    let Some(first) = a.first() else { return Vec::new() };
    let is_in = |run: &Run, device: &str| run.served.iter().any(|own| own.device == device);
    let devices = first.served.iter().map(|own| own.device.as_str());
    devices.filter(|device| a.iter().chain(b).all(|run| is_in(run, device))).take(MAX_LOOPS).collect()
}

fn underruns(run: &Run, device: &str) -> OfRun {
    let Some(own) = run.served.iter().find(|own| own.device == device) else { return OfRun::default() };
    let count = EventCount { events: own.underruns, least: own.underruns, exposure: own.blocks, all: None };
    OfRun { count, in_time: own.in_time.as_ref().map(|found| found.counts().to_vec()).unwrap_or_default() }
}

fn requests(run: &Run) -> OfRun {
    let recorder = run.document.recorder.as_ref();
    let late = recorder.map_or(0, |recorder| recorder.late);
    let (exposure, all) = recorder.map_or((0, None), |recorder| (recorder.armed_ns, recorder.requests));
    let count = EventCount { events: late, least: late, exposure, all };
    OfRun { count, in_time: run.slow_requests.as_ref().map(|found| found.counts().to_vec()).unwrap_or_default() }
}

fn compare(what: Counted, a: &[OfRun], b: &[OfRun], is_paired: bool, error: f64) -> CountComparison {
    let (left, right) = (sum(a), sum(b));
    let has_all = a.iter().chain(b).all(|run| run.count.exposure > 0);
    let ratio = if has_all && left.events.saturating_add(right.events) > 0 {
        // What was not seen may speak for either side.
        let (least_a, least_b) = (at_least(a), at_least(b));
        RateRatio {
            low: rate_ratio(a, &least_b, is_paired, error).low,
            estimate: rate_ratio(a, b, is_paired, error).estimate,
            high: rate_ratio(&least_a, b, is_paired, error).high,
        }
    } else {
        RateRatio::default()
    };
    let outcome = match ratio {
        RateRatio { low: Some(low), .. } if low > WORTH_THE_NAME => Outcome::Worse,
        RateRatio { high: Some(high), .. } if high < WORTH_THE_NAME.recip() => Outcome::Better,
        _ => Outcome::NoDifference,
    };
    let runs_needed = if ratio.low.is_some() || ratio.high.is_some() { rate_runs_needed(a, b) } else { None };
    CountComparison { what, a: left, b: right, ratio, outcome, runs_needed }
}

/// How many runs of each side show that the rates differ as much as these do.
fn rate_runs_needed(a: &[OfRun], b: &[OfRun]) -> Option<usize> {
    let [of_a, of_b] = [a, b].map(|runs| runs.iter().map(estimate).collect::<Vec<Estimate>>());
    let wanted = (mean_ln(&of_b) - mean_ln(&of_a)).abs() - WORTH_THE_NAME.ln();
    runs_that_find(wanted, RATE, &of_a, &of_b, FAMILY)
}

fn sum(runs: &[OfRun]) -> EventCount {
    let all = runs.iter().try_fold(0_u64, |sum, run| Some(sum.saturating_add(run.count.all?)));
    runs.iter().fold(EventCount { all, ..EventCount::default() }, |sum, run| EventCount {
        events: sum.events.saturating_add(run.count.events),
        least: sum.least.saturating_add(run.count.least),
        exposure: sum.exposure.saturating_add(run.count.exposure),
        ..sum
    })
}

/// The runs with the fewest events that they may have had.
fn at_least(runs: &[OfRun]) -> Vec<OfRun> {
    let fewest = |run: &OfRun| EventCount { events: run.count.least, ..run.count };
    runs.iter().map(|run| OfRun { count: fewest(run), in_time: run.in_time.clone() }).collect()
}

/// How many times as often on B, with limits that are wrong with this probability.
fn rate_ratio(a: &[OfRun], b: &[OfRun], is_paired: bool, error: f64) -> RateRatio {
    let (left, right) = (sum(a), sum(b));
    let estimates = |runs: &[OfRun]| runs.iter().map(estimate).collect::<Vec<Estimate>>();
    let (of_a, of_b) = (estimates(a), estimates(b));
    let demand = Demand { confidence: 1.0 - error, share: 1 };
    let Some(spread) = logarithms(RATE, &of_a, &of_b, is_paired, FAMILY, demand) else {
        return RateRatio::default();
    };
    // A side without an event shows no bursts: it has those of the other.
    let cluster = dispersion(a, &of_a).max(dispersion(b, &of_b));
    let clusters = |count: u64| if count > 0 { (count as f64 / cluster).max(1.0) } else { 0.0 };
    let exposure = right.exposure as f64 / left.exposure as f64;
    let odds = |share: f64| share / (1.0 - share) / exposure;
    let (one, other) = (clusters(left.events), clusters(right.events));
    let low = (other > 0.0).then(|| odds(beta_quantile(other, one + 1.0, 0.5 * error)));
    let high = (one > 0.0).then(|| odds(beta_quantile(other + 1.0, one, 1.0 - 0.5 * error)));
    RateRatio {
        low: low.map(|low| low.min(spread.low.exp())),
        estimate: (left.events > 0).then(|| right.events as f64 / left.events as f64 / exposure),
        high: high.map(|high| high.max(spread.high.exp())),
    }
}

/// The logarithm of a run's rate, and how uncertain the run itself leaves it.
fn estimate(run: &OfRun) -> Estimate {
    let events = run.count.events as f64 + 0.5;
    let alone = events.recip();
    let variance = if run.count.events == 0 { alone } else { alone.max(variance_of_sum(&run.in_time)) };
    Estimate { ln: (events / run.count.exposure as f64).ln() + FAR_ABOVE_NS, variance }
}

/// How many times as variable as a count of independent events a side's count is, by its bursts or by how its runs
/// differ, whichever is more.
fn dispersion(runs: &[OfRun], estimates: &[Estimate]) -> f64 {
    let all = sum(runs);
    if all.events == 0 {
        return 1.0;
    }
    let events = all.events as f64;
    let clusters = runs.iter().zip(estimates).map(|(run, estimate)| {
        let own = run.count.events as f64;
        own / (own * estimate.variance).max(1.0)
    });
    let within = events / clusters.sum::<f64>();
    let squares = runs.iter().map(|run| {
        let expected = events * run.count.exposure as f64 / all.exposure as f64;
        (run.count.events as f64 - expected).powi(2) / expected
    });
    let between = squares.sum::<f64>() / (runs.len() - 1).max(1) as f64;
    within.max(between).max(1.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::in_time::InTime;
    use crate::served::Served;
    use proptest::prelude::*;
    use punctual_random::Random;
    use punctual_recording::{CycleCount, Followed};
    use std::collections::BTreeMap;

    const RUN_NS: u64 = 5_000_000_000;

    /// A run with this many events, in this many bursts.
    fn run(events: u64, bursts: u64) -> OfRun {
        let mut in_time = InTime::new(0, RUN_NS);
        (0..events).for_each(|event| in_time.take(event % bursts * (RUN_NS / bursts)));
        let count = EventCount { events, least: events, exposure: RUN_NS, all: Some(1_000) };
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

    #[test]
    fn a_machine_that_changes_from_run_to_run_is_seldom_told_from_itself() {
        // Around 50 events a run, or in half of all runs around 250.
        let mut random = Random(0x00c0_7a7e);
        let mut side = || -> Vec<OfRun> {
            let mut run_of_two_states = || {
                let words = if random.bits() >> 63 == 0 { 2 } else { 10 };
                let events = (0..words).map(|_| u64::from((random.bits() & !(0xfff << 20)).count_ones())).sum();
                run(events, events)
            };
            (0..3).map(|_| run_of_two_states()).collect()
        };
        let told = (0..300).filter(|_| compared(&side(), &side()).outcome != Outcome::NoDifference).count();
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
    fn of_loop(measure: &str, overruns: u64) -> Vec<Run> {
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
}
