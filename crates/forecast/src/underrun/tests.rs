use super::*;
use crate::testing::{Random, device, input, two_cpus};
use proptest::prelude::*;

const MS: f64 = 1e6;

#[test]
fn the_papers_arithmetic() {
    // Section 4.3: a wait of 16 ms once in 165,000 is one in 44 minutes, once in 1,000 one in 16 s.
    for (waits, expected_s) in [(165_000u64, 44.0 * 60.0), (1_000, 16.0)] {
        let input = input(16_000_000, &[(1_000 * 16_000_000, 17_000_000)], waits - 2, Some(1));
        let audio = device(16_000_000, 2, 0);
        let found = input.underruns(&audio, Stage::Total).unwrap();
        let per_buffer = found.mttf_per_buffer_s.unwrap();
        assert!((per_buffer / expected_s - 1.0).abs() < 0.01, "{per_buffer} is not {expected_s}");
    }
}

#[test]
fn the_quoted_readings_of_the_figures() {
    // Figure 6: 12 ms of buffering and a modem at 25 % (slack 10.5 ms), once in 12 to 15 minutes: that is a
    // latency table with 1.33 to 1.67 of 100,000 above the slack. Figure 7: 48 ms, slack 44 ms, once an hour.
    for (period, buffers, slack_ms, probability, from_s, to_s) in
        [(6_000_000, 3, 10.5, 1.5e-5, 720.0, 900.0), (16_000_000, 4, 44.0, 1.333e-5, 3_500.0, 3_700.0)]
    {
        let modem = device(period, buffers, period / 4);
        assert_eq!(modem.usable_slack_ns().unwrap(), (slack_ms * MS) as u64);
        let waits = 1_000_000u64;
        let late: Vec<(u64, u64)> = (0..(probability * waits as f64).round() as u64)
            .map(|index| (index * 50_000_000_000, modem.usable_slack_ns().unwrap() + 1))
            .collect();
        let input = input(1_000_000, &late, waits - late.len() as u64, Some(0));
        let mttf = input.underruns(&modem, Stage::Total).unwrap().mttf_per_buffer_s.unwrap();
        assert!(from_s <= mttf && mttf <= to_s, "{mttf}");
    }
}

/// Blackouts of exponential length, 20 an hour and 8 ms on average, as a thread at 1 kHz that skips sees them.
fn blackouts(seed: u64, hours: f64) -> Input {
    let mut random = Random(seed);
    let end = hours * 3.6e12;
    let (mut at, mut late, mut missed) = (0.0, Vec::new(), 0);
    loop {
        at += random.exponential() * 180.0e9;
        if at >= end {
            break;
        }
        let over = at + random.exponential() * 8.0 * MS;
        let due = (at / MS).ceil() * MS;
        if due < over {
            late.push((due as u64, (over - due) as u64));
            missed += ((over - due) / MS) as u64;
        }
    }
    let wakeups = (end / MS) as u64 - missed - late.len() as u64;
    input(1_000_000, &late, wakeups, Some(missed))
}

#[test]
fn skipped_activations_are_filled_in_once_and_stalls_counted_once() {
    // Cycle 12 ms, slack 10.5 ms: the truth is 16.7 minutes a missed buffer and 21.5 a stall.
    let modem = device(12_000_000, 2, 1_500_000);
    let found = blackouts(7, 2_000.0).underruns(&modem, Stage::Total).unwrap();
    let per_buffer = found.mttf_per_buffer_s.unwrap() / 60.0;
    assert!((per_buffer / 16.7 - 1.0).abs() < 0.05, "{per_buffer} minutes");
    let per_stall = found.mttf_s.value.unwrap() / 60.0;
    assert!((per_stall / 21.5 - 1.0).abs() < 0.05, "{per_stall} minutes");
}

#[test]
fn a_device_finer_than_the_recording_is_never_flattered() {
    // At 1 kHz, stalls beyond 0.4 ms; a device of 0.5 ms meets up to twice as many.
    let fine = device(500_000, 2, 100_000);
    let same = device(1_000_000, 2, 600_000);
    let input = blackouts(9, 500.0);
    let (fine, same) = (input.underruns(&fine, Stage::Total), input.underruns(&same, Stage::Total));
    assert!(fine.unwrap().mttf_s.value.unwrap() <= same.unwrap().mttf_s.value.unwrap());
}

#[test]
fn nothing_seen_is_a_bound_and_never_for_ever() {
    let input = input(1_000_000, &[], 3_600_000, Some(0));
    let found = input.underruns(&device(4_000_000, 3, 1_000_000), Stage::Total).unwrap();
    assert_eq!((found.over, found.mttf_s.value, found.mttf_s.high), (0, None, None));
    assert!((found.mttf_s.low.unwrap() / 1_201.7 - 1.0).abs() < 0.001);
    assert_eq!(found.outcome, Outcome::Unknown);
    // One underrun an hour is wanted, to be shown with 99.5 %: 5.3 hours in all.
    assert!((found.measure_further_s.unwrap() / (4.298 * 3_600.0) - 1.0).abs() < 0.01);
    // The same for ten hours of use, which are one of this load.
    let input = Input { compression_thousandths: Some(10_000), ..input };
    let found = input.underruns(&device(4_000_000, 3, 1_000_000).with_want(36_000), Stage::Total).unwrap();
    assert!((found.measure_further_s.unwrap() / (4.298 * 3_600.0) - 1.0).abs() < 0.01);
}

#[test]
fn a_short_recording_says_what_it_takes_at_the_least() {
    // Ten seconds in which short waits come all at once: how long the machine remembers does not show.
    let waits: Vec<(u64, u64)> = (0..400).map(|index| (1_000_000_000 + index * 4_000_000, 300_000)).collect();
    let found =
        input(1_000_000, &waits, 9_600, Some(0)).underruns(&device(4_000_000, 3, 1_000_000), Stage::Total).unwrap();
    assert!(found.further_is_least && found.pieces.is_some_and(|pieces| pieces < 20.0), "{found:?}");
    assert!((found.measure_further_s.unwrap() / (5.298 * 3_600.0) - 1.0).abs() < 0.01, "{found:?}");
}

#[test]
fn verdicts_need_their_whole_interval() {
    let every = |seconds: u64, count: u64| -> Vec<(u64, u64)> {
        (0..count).map(|index| (index * seconds * 1_000_000_000, 20_000_000)).collect()
    };
    let modem = device(4_000_000, 3, 1_000_000);
    let judge = |late: &[(u64, u64)], hours: u64| {
        input(1_000_000, late, hours * 3_600_000 - late.len() as u64, Some(0)).underruns(&modem, Stage::Total).unwrap()
    };
    assert_eq!(judge(&every(60, 120), 2).outcome, Outcome::Fails);
    assert_eq!(judge(&every(7_000, 1), 3).outcome, Outcome::Unknown);
    // Less than a week shows nothing of what comes by the week.
    let (days, week) = (judge(&every(7_000, 1), 160), judge(&every(7_000, 1), 168));
    assert_eq!((days.outcome, days.conditions), (Outcome::HoldsAsRecorded, vec![Condition::Short]));
    assert_eq!((week.outcome, week.conditions), (Outcome::Holds, vec![]));
    let near = judge(&every(3_600, 10), 10);
    assert_eq!((near.outcome, near.measure_further_s), (Outcome::Unknown, None));
}

/// 160 hours with 2,000 independent stalls, of which nothing shows that they drift.
fn six_days() -> Input {
    let (mut random, hours) = (Random(2), 160);
    let end = hours as f64 * 3.6e12;
    let mut late: Vec<(u64, u64)> =
        (0..2_000).map(|_| ((random.uniform() * end) as u64, 2_000_000 + (random.exponential() * MS) as u64)).collect();
    late.sort_unstable();
    input(1_000_000, &late, hours * 3_600_000 - 2_000, Some(0))
}

#[test]
fn a_drift_that_does_not_show_takes_longer_to_rule_out() {
    let found = six_days().underruns(&device(1_000_000, 6, 0).with_want(4_500), Stage::Total).unwrap();
    assert_eq!((found.outcome, found.misses), (Outcome::Unknown, 104.0));
    let exposure_s = 160.0 * 3_600.0;
    let without = further_exposure(104.0, 1.0, found.dispersion, 4_500.0 / exposure_s).unwrap() * exposure_s;
    assert!(found.measure_further_s.unwrap() > 1.2 * without, "{without} {found:?}");
}

/// A want between the limit for slight drifts and that for any size.
#[test]
fn a_drift_that_would_change_the_answer_is_a_condition_beside_a_short_recording() {
    let input = six_days();
    let ask = |want_s: u64| input.underruns(&device(1_000_000, 6, 0).with_want(want_s), Stage::Total).unwrap();
    let easily = ask(600);
    assert_eq!((easily.outcome, &easily.conditions[..]), (Outcome::HoldsAsRecorded, &[Condition::Short][..]));
    let barely = ask(easily.holds_low_s as u64);
    assert!(barely.plain_low_s < barely.holds_low_s.floor(), "{barely:?}");
    assert_eq!(
        (barely.outcome, &barely.conditions[..]),
        (Outcome::HoldsAsRecorded, &[Condition::Short, Condition::Drift][..])
    );
}

#[test]
fn one_stall_is_one_event_however_fine_the_device() {
    // A device of 50 us, recorded every 1 ms: one stall that counts 20 times tells no more than one stall does.
    let input = input(1_000_000, &[(5_000_000_000, 3_000_000)], 3_600_000, Some(0));
    let found = input.underruns(&device(50_000, 41, 0), Stage::Total).unwrap();
    let (low, value, high) = (found.mttf_s.low.unwrap(), found.mttf_s.value.unwrap(), found.mttf_s.high.unwrap());
    let garwood = crate::garwood(1);
    assert!((value / low / garwood.high.unwrap() - 1.0).abs() < 0.01, "{found:?}");
    assert!((high / value * garwood.low.unwrap() - 1.0).abs() < 0.01, "{found:?}");
}

#[test]
fn the_worst_cpu_is_the_answer() {
    let modem = device(4_000_000, 3, 1_000_000);
    // 225 underruns on one CPU and none on the other: every 16 s there, not every 32 s.
    let found = two_cpus(225, 0).underruns(&modem, Stage::Total).unwrap();
    assert_eq!((found.cpu, found.alike, found.cpus.len()), (Some(0), Some(false), 2));
    assert!((found.mttf_s.value.unwrap() / 16.0 - 1.0).abs() < 0.01, "{found:?}");
    // CPUs that no test distinguishes are pooled, and the answer says so.
    let found = two_cpus(50, 52).underruns(&modem, Stage::Total).unwrap();
    assert_eq!(found.alike, Some(true));
    assert!((found.mttf_s.value.unwrap() / (7_200.0 / 102.0) - 1.0).abs() < 0.01, "{found:?}");
    let longest = 7_200.0 / crate::garwood(102).low.unwrap();
    // And a drift that nothing shows.
    assert!((1.0..1.15).contains(&(found.mttf_s.high.unwrap() / longest)), "{found:?}");
    // Eleven is the least number that is looked at.
    assert_eq!(two_cpus(6, 5).underruns(&modem, Stage::Total).unwrap().alike, Some(true));
    assert_eq!(two_cpus(11, 0).underruns(&modem, Stage::Total).unwrap().alike, Some(false));
}

/// Threads that could move between CPUs are told apart by their longest waits alone; where these differ, the numbers are those
/// of the thread that has most of them.
#[test]
fn the_worst_of_several_threads_is_the_answer() {
    let modem = device(4_000_000, 3, 1_000_000);
    for (first, second, expected, every_s) in [
        (225, 0, Some((1, 1.0)), 16.0),
        (0, 225, Some((2, 1.0)), 16.0),
        (40, 160, Some((2, 0.8)), 22.5),
        (100, 100, None, 36.0),
        // Ten are too few to tell.
        (10, 0, None, 720.0),
    ] {
        let mut both = two_cpus(first, second);
        (both.tasks[0].cpu, both.tasks[1].cpu, both.tasks[1].tid) = (None, None, 2);
        both.stages.get_mut(&Stage::Total).unwrap().by_task.clear();
        let worst = both.worst_thread(Stage::Total).map(|worst| (worst.tid, worst.share));
        assert_eq!(worst, expected, "{first} and {second}");
        let found = both.underruns(&modem, Stage::Total).unwrap();
        assert_eq!((found.alike, found.cpu, found.thread), (None, None, expected.map(|(tid, _)| tid)));
        let said = expected.map_or_else(String::new, |(tid, _)| format!(" in thread {tid}"));
        assert_eq!(found.where_worst(), said);
        assert!((found.mttf_s.value.unwrap() / every_s - 1.0).abs() < 0.01, "{first} and {second}: {found:?}");
    }
    // Of 440 waits the shorter 400 are shared equally, and of the longest 40 one thread has all: it is the worst beyond these.
    let mut both = two_cpus(240, 200);
    both.tasks[1].tid = 2;
    let lateness = both.stages.get_mut(&Stage::Total).unwrap();
    lateness.by_task.clear();
    for (index, late) in lateness.largest.iter_mut().filter(|late| late.task == 0).enumerate() {
        late.value_ns += if index < 40 { 10_000_000 } else { 0 };
    }
    let [short, long] =
        [12, 33].map(|buffers| both.underruns(&device(1_000_000, buffers, 0), Stage::Total).unwrap().misses.round());
    assert_eq!((short, long), (240.0, 0.0));
    let longest = both.underruns(&device(1_000_000, 26, 0), Stage::Total).unwrap();
    assert_eq!((longest.misses, both.worst_thread(Stage::Total).map(|worst| worst.tid)), (40.0, Some(1)));
    // CPU by CPU there are no such threads.
    assert_eq!(two_cpus(225, 0).worst_thread(Stage::Total), None);
}

/// On one CPU 40 stalls of 5 ms a minute apart and none beyond, on the other 30 of 20 ms in one storm: the first is the
/// worst up to 5 ms, and the second from there on.
#[test]
fn no_limit_falls_where_another_cpu_becomes_the_worst() {
    let mut both = two_cpus(0, 0);
    let often = (0..40).map(|index| Late { at_ns: index * 60_000_000_000, task: 0, value_ns: 5_000_000 });
    let storm = (0..30).map(|index| Late { at_ns: 1_000_000_000 + index * 30_000_000, task: 1, value_ns: 20_000_000 });
    let lateness = both.stages.get_mut(&Stage::Total).unwrap();
    lateness.largest = often.chain(storm).collect();
    lateness.largest.sort_unstable();
    for late in &lateness.largest {
        lateness.distribution.record(late.value_ns);
        lateness.by_task[late.task].0.record(late.value_ns);
    }
    let watch = both.watch(Stage::Total).unwrap();
    let ask = |buffers: u32| watch.underruns(&device(1_000_000, buffers, 0)).unwrap();
    let found: Vec<Underruns> = (2..24).map(ask).collect();
    assert_eq!((found[0].alike, found[0].cpu, found[10].cpu), (Some(false), Some(0), Some(1)), "{found:?}");
    for pair in found.windows(2) {
        assert!(pair[0].mttf_s.low <= pair[1].mttf_s.low, "{pair:?}");
    }
}

#[test]
fn a_storm_counts_as_what_a_listener_hears() {
    // 40 s of wakeups 12 ms late every 15 ms within 10 hours: never a second between them, and 2,666 underruns.
    let late: Vec<(u64, u64)> = (0..2_666).map(|index| (1_000_000_000 + index * 15_000_000, 12_000_000)).collect();
    let input = input(1_000_000, &late, 36_000_000, Some(0));
    let audio = device(5_333_333, 2, 500_000).with_want(36_000);
    let found = input.underruns(&audio, Stage::Total).unwrap();
    assert_eq!(found.misses.round(), 2_666.0);
    assert!(found.over >= 380 && !found.outcome.holds(), "{found:?}");
}

#[test]
fn a_short_recording_of_a_slow_machine_holds_only_as_recorded() {
    // Load that comes and goes for 100 s each, 400 s in all: quiet enough for 1 s, and known for only 4 pieces.
    let mut random = Random(3);
    let mut late: Vec<(u64, u64)> = Vec::new();
    for second in 0..400u64 {
        let busy = if second / 100 % 2 == 0 { 10 } else { 1 };
        late.extend((0..busy).map(|_| {
            (second * 1_000_000_000 + (random.uniform() * 1e9) as u64, 100_000 + (random.exponential() * 1e6) as u64)
        }));
    }
    late.sort_unstable();
    let input = input(1_000_000, &late, 400_000, Some(0));
    let found = input.underruns(&device(30_000_000, 2, 0).with_want(1), Stage::Total).unwrap();
    assert_eq!((found.misses, found.outcome), (0.0, Outcome::HoldsAsRecorded), "{found:?}");
    assert!(found.pieces.unwrap() < 20.0);
}

/// A device with this period and slack, us: enough buffers, and computing for the rest of them.
fn with_slack(period_us: u64, slack_us: u64) -> Profile {
    let buffers = (slack_us.div_ceil(period_us) + 1).max(2) as u32;
    let compute = u64::from(buffers - 1) * period_us - slack_us;
    device(period_us * 1_000, buffers, compute.min(period_us) * 1_000).with_want(30)
}

/// Such a device, and one with a period this many times as long and this much more slack, us.
fn with_more(period_us: u64, more_period: f64, slack_us: u64, more_us: u64) -> [Profile; 2] {
    [with_slack(period_us, slack_us), with_slack((period_us as f64 * more_period) as u64, slack_us + more_us)]
}

/// A device with more slack comes out no worse than one with little.
fn comes_out_no_worse(much: &Underruns, little: &Underruns) -> Result<(), TestCaseError> {
    prop_assert!(much.misses <= little.misses + 1e-9, "{} {}", much.misses, little.misses);
    prop_assert!(much.holds_low_s >= little.holds_low_s * (1.0 - 1e-9));
    prop_assert!(much.outcome >= little.outcome);
    Ok(())
}

/// Storms of so many wakeups, 8 ms apart: those that are later than the level above which all are known, us, in the order of
/// time.
fn storms(raw: Vec<(u64, u64, u64)>, known_us: u64) -> Vec<(u64, u64)> {
    let of_storm = |(at, value, storm): (u64, u64, u64)| {
        (0..storm).map(move |index| (at * 1_000 + index * 8_000_000, value * 1_000))
    };
    let mut late: Vec<(u64, u64)> = raw.into_iter().flat_map(of_storm).collect();
    late.sort_unstable();
    late.retain(|late| late.1 > known_us * 1_000);
    late
}

/// With nothing beyond the slack a limit speaks of one CPU's time; with one of two alike CPUs' time, and still it is no better.
#[test]
fn a_limit_from_alike_cpus_is_no_better_where_a_little_was_seen() {
    let mut both = two_cpus(20, 20);
    let lateness = both.stages.get_mut(&Stage::Total).unwrap();
    lateness.largest[17].value_ns = 30_000_000;
    let watch = both.watch(Stage::Total).unwrap();
    let [one, none] = [25, 35].map(|buffers| watch.underruns(&device(1_000_000, buffers, 0)).unwrap());
    assert_eq!((one.alike, one.misses, none.alike, none.misses), (Some(true), 1.0, Some(true), 0.0));
    // One in two hours is 5.6 at most, and none in one hour is 3.0.
    assert!((3_600.0 / none.mttf_s.low.unwrap() / 3.0 - 1.0).abs() < 0.01, "{none:?}");
    assert!(one.mttf_s.low <= none.mttf_s.low && one.mttf_s.value.unwrap() > 7_000.0, "{one:?} {none:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_device_with_more_slack_never_comes_out_worse(
        raw in prop::collection::vec((0..600_000_000u64, 0..40_000u64, 1..40u64), 1..120),
        period_us in 200..20_000u64, more_period in 1.0..4.0f64, slack in 0..30_000u64, more in 0..10_000u64, known in 0..20_000u64,
    ) {
        let mut input = input(1_000_000, &storms(raw, known), 1_000_000, Some(0));
        input.stages.get_mut(&Stage::Total).unwrap().complete_above_ns = known * 1_000;
        let watch = input.watch(Stage::Total).unwrap();
        let [little, much] = with_more(period_us, more_period, slack, more);
        prop_assume!(much.slack_ns() >= little.slack_ns());
        comes_out_no_worse(&watch.underruns(&much).unwrap(), &watch.underruns(&little).unwrap())?;
    }

    /// The same on two CPUs, whether or not a test distinguishes them: on one of them there may be any share of the storms.
    #[test]
    fn nor_does_it_where_there_are_two_cpus(
        raw in prop::collection::vec((0..600_000_000u64, 0..40_000u64, 1..8u64), 1..120), share in 0..=120usize,
        period_us in 200..20_000u64, more_period in 1.0..4.0f64, slack in 0..30_000u64, more in 0..10_000u64,
    ) {
        let mut both = two_cpus(0, 0);
        let (first, second) = raw.split_at(share.min(raw.len()));
        let lateness = both.stages.get_mut(&Stage::Total).unwrap();
        for (task, raw) in [first, second].into_iter().enumerate() {
            for (at_ns, value_ns) in storms(raw.to_vec(), 10) {
                lateness.largest.push(Late { at_ns, task, value_ns });
                lateness.distribution.record(value_ns);
                lateness.by_task[task].0.record(value_ns);
            }
        }
        lateness.largest.sort_unstable();
        let watch = both.watch(Stage::Total).unwrap();
        let [little, much] = with_more(period_us, more_period, slack, more);
        prop_assume!(much.slack_ns() >= little.slack_ns());
        let (little, much) = (watch.underruns(&little).unwrap(), watch.underruns(&much).unwrap());
        comes_out_no_worse(&much, &little)?;
        let lows = [&little, &much].map(|found| found.mttf_s.low.unwrap_or(0.0));
        prop_assert!(lows[1] >= lows[0] * (1.0 - 1e-9), "{:?}: {lows:?}", little.alike);
    }
}

#[test]
fn bursts_widen_the_interval() {
    let at = |seconds: &dyn Fn(u64) -> u64| -> Vec<(u64, u64)> {
        (0..200).map(|index| (seconds(index) * 1_000_000_000, 20_000_000)).collect()
    };
    let modem = device(4_000_000, 3, 1_000_000);
    let judge =
        |late: &[(u64, u64)]| input(1_000_000, late, 36_000_000, Some(0)).underruns(&modem, Stage::Total).unwrap();
    let even = judge(&at(&|index| index * 180));
    let independent = crate::garwood(200).scaled(1.0 / 10.0);
    let bursts = judge(&at(&|index| index / 50 * 9_000 + index % 50));
    assert!(even.dispersion == 1.0 && bursts.dispersion > 10.0);
    // Except for a drift that nothing shows.
    assert!((0.85..1.0).contains(&(even.per_hour.low.unwrap() / independent.low.unwrap())), "{even:?}");
    assert_eq!(even.over, bursts.over);
    assert!(bursts.mttf_s.low < even.mttf_s.low && bursts.mttf_s.high > even.mttf_s.high);
}

#[test]
fn hours_of_use_stretch_the_time() {
    let mut input = input(1_000_000, &[(1_000_000_000, 20_000_000)], 3_600_000, Some(0));
    let modem = device(4_000_000, 3, 1_000_000);
    let plain = input.underruns(&modem, Stage::Total).unwrap().mttf_s.value.unwrap();
    input.compression_thousandths = Some(10_000);
    let office = input.underruns(&modem, Stage::Total).unwrap().mttf_s.value.unwrap();
    assert!((office / plain - 10.0).abs() < 1e-9);
}

#[test]
fn below_the_tail_wakeups_bound_the_stalls() {
    let late: Vec<(u64, u64)> = (0..1_000).map(|index| (index * 1_000_000_000, 5_000_000 + index)).collect();
    let mut input = input(1_000_000, &late, 1_000_000, Some(0));
    let lateness = input.stages.get_mut(&Stage::Total).unwrap();
    lateness.largest.retain(|late| late.value_ns > 5_000_900);
    lateness.complete_above_ns = 5_000_900;
    let found = input.underruns(&device(3_000_000, 2, 0), Stage::Total).unwrap();
    assert!(found.is_upper_count);
    assert_eq!(found.over, 1_000);
    assert!(found.mttf_s.low < found.mttf_s.high);
}

#[test]
fn below_the_tail_each_wakeup_counts() {
    // Seven wakeups of 10 us against a slack of 5: a device of twice the period meets half of them.
    let input = input(1_000_000, &[], 7, Some(0));
    for (period_ns, misses) in [(1_000_000, 7.0), (2_000_000, 3.5)] {
        let found = input.underruns(&device(period_ns, 2, period_ns - 5_000), Stage::Total).unwrap();
        assert_eq!((found.over, found.misses, found.is_upper_count), (7, misses, true));
    }
}

/// The most of everything that a recording may say, beside a tail that does not reach down to the slack.
#[test]
fn what_no_machine_can_be_late_is_counted_without_an_overflow() {
    let longest = 1u64 << 58;
    let late: Vec<(u64, u64)> = (0..1_000).map(|index| (index * 1_000_000, longest)).collect();
    let mut input = input(1, &late, 1_000, Some(1 << 47));
    let lateness = input.stages.get_mut(&Stage::Total).unwrap();
    lateness.distribution.record_n(longest / 2, u64::MAX);
    lateness.complete_above_ns = longest - 1;
    let found = input.underruns(&device(3_000_000, 2, 0), Stage::Total).unwrap();
    assert_eq!((found.over, found.is_upper_count, found.probability), (u64::MAX, true, Some(1.0)));
    assert!(found.misses.is_finite() && found.holds_low_s > 0.0 && found.mttf_s.low <= found.mttf_s.high, "{found:?}");
    let scale = input.time_scale(0.999, Stage::Total).unwrap();
    assert!(scale.period_ns.is_some() || scale.measure_further_s.is_some_and(|further| further >= 0.0), "{scale:?}");
}

/// Ten waits of 2.5 ms, recorded every 1 ms, beyond a slack of 1.2: each makes two wakeups late, and holds up one of the
/// activations of a device of 3 ms with a probability of 2/3.
#[test]
fn one_number_says_how_often_a_device_ran_dry() {
    let late: Vec<(u64, u64)> = (0..10).map(|index| (index * 1_000_000_000, 2_500_000)).collect();
    let input = input(1_000_000, &late, 100_000, Some(0));
    let ran_dry = |period_ns: u64, slack_ns: u64| {
        let found = input.underruns(&device(period_ns, 2, period_ns - slack_ns), Stage::Total).unwrap();
        (found.misses, found.ran_dry())
    };
    let (misses, times) = ran_dry(3_000_000, 1_200_000);
    assert!((misses - 20.0 / 3.0).abs() < 1e-9 && times == 7, "{misses} {times}");
    // Ten chances of one in thirty are less than half an underrun, and still not none.
    let (misses, times) = ran_dry(30_000_000, 2_000_000);
    assert!(misses < 0.5 && times == 1, "{misses} {times}");
    assert_eq!(ran_dry(3_000_000, 2_500_000), (0.0, 0));
}

#[test]
fn impossible_devices_are_refused() {
    let input = input(1_000_000, &[], 1_000, Some(0));
    assert!(input.underruns(&device(1_000, 2, 2_000), Stage::Total).is_err());
    assert!(input.underruns(&device(1_000, 2, 0), Stage::Irq).unwrap_err().to_string().contains("irq"));
}
