use super::*;
use crate::spread::Condition;
use crate::testing::{Random, device, input, two_cpus};

const MS: u64 = 1_000_000;
const HOUR: u64 = 3_600_000;

/// An hour at 1 kHz with a stall a minute, of 5.0 to 10.9 ms in steps of 0.1, in no particular order.
fn hour_with_stalls() -> Input {
    let late: Vec<(u64, u64)> =
        (0..60).map(|minute| (minute * 60_000 * MS + 30_000 * MS, 5 * MS + minute * 37 % 60 * MS / 10)).collect();
    input(MS, &late, HOUR - 60, Some(0))
}

fn only_group(input: Input, question: &Question) -> Group {
    answer(&[input], question).unwrap().groups.remove(0)
}

#[test]
fn an_hour_of_load_that_is_two_of_use() {
    let question = Question { compression_thousandths: Some(2_000), ..Question::default() };
    let group = only_group(input(MS, &[], HOUR, Some(0)), &question);
    assert_eq!((group.exposure_s, group.use_s, group.compression), (3_600.0, 7_200.0, 2.0));
    let worst = &group.worst[0];
    assert_eq!((worst.horizon, worst.horizon_s), (Horizon::Hour, 3_600.0));
    // H / (H + T) of an hour and two, and -ln 0.05 in two hours.
    assert!((worst.longer_probability - 1.0 / 3.0).abs() < 1e-9, "{worst:?}");
    assert!((worst.longer_per_hour - 2.996 / 2.0).abs() < 0.001, "{worst:?}");
    // Ranks need 3.7 horizons, which are 1.85 hours of this load.
    assert!((worst.measure_further_s.unwrap() - 0.85 * 3_600.0).abs() < 1e-6, "{worst:?}");
}

#[test]
fn what_is_exceeded_once_is_said_where_it_is_known() {
    let question = Question { horizons: vec![Horizon::Nanoseconds(600_000 * MS)], ..Question::default() };
    let found = answer(&[hour_with_stalls()], &question).unwrap();
    // Six times in the hour: the sixth longest.
    assert!(found.verdict.starts_with("About 10.4 ms is exceeded once per 600s under test"), "{}", found.verdict);
    assert_eq!((found.stalls, found.groups[0].worst[0].measure_further_s), (60, None));
}

#[test]
fn skipped_activations_are_counted_in_words() {
    for (missed, words) in [
        (1, "the one missed period counts here as a late wakeup of its stall; `check` counts only wakeups that came"),
        (
            2_000,
            "each of the 2,000 missed periods counts here as a late wakeup of its stall; `check` counts only wakeups that came",
        ),
    ] {
        let notes = only_group(input(MS, &[], HOUR, Some(missed)), &Question::default()).notes;
        assert!(notes.iter().any(|note| note == words), "{notes:?}");
    }
}

#[test]
fn devices_finer_than_the_recording_are_noted() {
    for (period_ns, is_noted) in [(MS / 2, true), (MS, false), (2 * MS, false)] {
        let question = Question { devices: vec![device(period_ns, 3, 0)], ..Question::default() };
        let notes = only_group(hour_with_stalls(), &question).notes;
        let said =
            notes.iter().any(|note| note.starts_with("recorded every 1.00 ms, coarser than some devices' periods"));
        assert_eq!(said, is_noted, "{period_ns} ns: {notes:?}");
    }
}

/// In 53 hours without a stall, whatever comes every ten hours or less often need not have come (ln 200 is 5.3).
#[test]
fn what_a_recording_is_too_short_for_is_said() {
    for (hours, said) in
        [(53, Some("a recording of 2.2 days may miss whatever comes less often than every 10.0 h, ")), (288, None)]
    {
        let question = Question { devices: vec![device(10 * MS, 3, 0)], ..Question::default() };
        let group = only_group(input(MS, &[], hours * HOUR, Some(0)), &question);
        let notes = group.notes.iter().filter(|note| note.contains("may miss")).collect::<Vec<_>>();
        assert_eq!(notes.len(), usize::from(said.is_some()), "{:?}", group.notes);
        assert!(said.is_none_or(|said| notes[0].starts_with(said)), "{notes:?}");
        assert!(group.devices[0].underruns.outcome.holds());
    }
}

#[test]
fn devices_are_named_with_their_load_where_there_are_several() {
    // An hour without an underrun says nothing about one an hour.
    let question = Question { devices: vec![device(10 * MS, 3, 0)], ..Question::default() };
    let (one, other) = (hour_with_stalls(), Input { load: "games".into(), ..hour_with_stalls() });
    let verdict = |inputs: &[Input]| answer(inputs, &question).unwrap().verdict;
    assert_eq!(verdict(std::slice::from_ref(&one)), "It is too early to say whether test holds.");
    assert_eq!(verdict(&[one, other]), "It is too early to say whether test holds, either under test or under games.");
}

/// Of three devices one fails under one load only, and is not known under the other.
#[test]
fn what_is_not_known_under_one_load_only_is_told_from_what_is_under_none() {
    let of = |id: &str, period_ns: u64| Profile { id: id.to_owned(), ..device(period_ns, 2, 0) };
    let quiet = Input { load: "none".to_owned(), ..input(MS, &[], HOUR / 60, Some(0)) };
    let (slow, slower, fast) = (of("slow", 500 * MS), of("slower", 600 * MS), of("fast", 4 * MS));
    let verdict = |devices: &[Profile]| {
        let question = Question { devices: devices.to_vec(), ..Question::default() };
        let late: Vec<(u64, u64)> = (0..60).map(|second| (second * 1_000 * MS, 50 * MS)).collect();
        answer(&[quiet.clone(), input(MS, &late, HOUR / 60, Some(0))], &question).unwrap().verdict
    };
    let fails = "fast under test fails about every 1.00 s.";
    let either = "either with no load added or under test";
    let said = verdict(&[slow.clone(), fast.clone()]);
    let expected = format!("{fails} It is too early to say whether slow holds, {either}, or fast with no load added.");
    assert_eq!(said, expected);
    let expected = format!("{fails} It is too early to say whether fast holds with no load added.");
    assert_eq!(verdict(std::slice::from_ref(&fast)), expected);
    let expected = format!("It is too early to say whether slow and slower hold, {either}.");
    assert_eq!(verdict(&[slow, slower]), expected);
}

#[test]
fn that_a_failure_rests_on_one_stall_is_said() {
    let question = Question { devices: vec![device(MS, 21, 0).with_want(86_400)], ..Question::default() };
    let verdict = |late: &[(u64, u64)]| answer(&[input(MS, late, 30_000, Some(0))], &question).unwrap().verdict;
    let one = (5_000 * MS, 25 * MS);
    assert_eq!(verdict(&[one]), "Test fails about every 30 s (seen once).");
    assert_eq!(verdict(&[one, (20_000 * MS, 25 * MS)]), "Test fails about every 15 s.");
}

/// A mean time of one CPU names it; one of an average CPU, where no test tells them apart, names none.
#[test]
fn the_cpu_on_which_a_device_fails_is_named_where_cpus_differ() {
    let verdict = |first: u64, second: u64, compression_thousandths: Option<u64>| {
        let input = Input { compression_thousandths, ..two_cpus(first, second) };
        let question = Question { devices: vec![device(4 * MS, 3, MS)], ..Question::default() };
        answer(&[input], &question).unwrap().verdict
    };
    for (first, second, expected) in [
        (225, 0, "Test fails about every 16 s on CPU 0."),
        (0, 225, "Test fails about every 16 s on CPU 1."),
        (100, 100, "Test fails about every 36 s."),
    ] {
        assert_eq!(verdict(first, second, None), expected, "{first} and {second}");
    }
    let of_use = "Test fails about every 2.7 min of use on CPU 1, if an hour under test stands for 10 hours of use.";
    assert_eq!(verdict(0, 225, Some(10_000)), of_use);
}

/// Hours of use are an assumption about the load: the sentence that has them says which, once for each load.
#[test]
fn what_times_of_use_rest_on_is_said_with_the_first_of_them() {
    let scaled = |load: &str, input: Input| Input { compression_thousandths: Some(10_000), load: load.into(), ..input };
    let verdict = |inputs: &[Input], devices: &[Profile]| {
        let question = Question { devices: devices.to_vec(), ..Question::default() };
        answer(inputs, &question).unwrap().verdict
    };
    let device = device(MS, 21, 0).with_want(86_400);
    let late = |load: &str| scaled(load, input(MS, &[(5_000 * MS, 25 * MS)], 30_000, Some(0)));
    let fails =
        "Test fails about every 5.0 min of use (seen once), if an hour under office stands for 10 hours of use.";
    assert_eq!(verdict(&[late("office")], std::slice::from_ref(&device)), fails);
    // Both loads once, though two devices fail under the first.
    let other = Profile { id: "other".into(), ..device.clone() };
    let said = verdict(&[late("office"), late("web")], &[device, other]);
    assert_eq!(said.matches("if an hour under office stands for 10 hours of use").count(), 1, "{said}");
    assert_eq!(said.matches("if an hour under web stands for 10 hours of use").count(), 1, "{said}");
    // What holds does so on the same assumption.
    let said =
        verdict(&[scaled("office", input(MS, &[], 288 * HOUR, Some(0)))], &[crate::testing::device(10 * MS, 3, 0)]);
    let expected = "It is assumed that an hour under office stands for 10 hours of use.";
    assert!(said.starts_with("Test holds") && said.ends_with(expected), "{said}");
    // So does the worst hour, where nothing was asked of devices.
    let said = verdict(&[scaled("office", hour_with_stalls())], &[]);
    assert!(
        said.contains(" once per hour of use under office") && said.contains(", if an hour under office "),
        "{said}"
    );
    // An hour that stands for one needs no word.
    let said = verdict(&[hour_with_stalls()], &[]);
    assert!(said.contains(" once per hour under test") && !said.contains("of use"), "{said}");
}

#[test]
fn a_caution_names_the_load_of_which_it_is() {
    let with = |load: &str, cautions: [&str; 2]| {
        let cautions = cautions.map(str::to_owned).to_vec();
        Input { load: load.to_owned(), cautions, ..hour_with_stalls() }
    };
    let inputs = [with("none", ["it rained", "3 unseen"]), with("mixed", ["it rained", "7 unseen"])];
    let said = |inputs: &[Input]| answer(inputs, &Question::default()).unwrap().cautions;
    assert_eq!(said(&inputs), ["it rained", "with no load added: 3 unseen", "under mixed: 7 unseen"]);
    assert_eq!(said(&inputs[..1]), ["it rained", "3 unseen"]);
}

#[test]
fn how_long_what_happens_still_shows_is_said_in_seconds() {
    // Five stalls a second for a minute, then none for a minute, both exponential: the state fades by e in 30 s.
    let (mut random, mut late, mut at, mut on) = (Random(2), Vec::new(), 0.0, true);
    while at < 10.0 * 3.6e12 {
        let until = at + random.exponential() * 60e9;
        while on && at < until {
            at += 10e6 + random.exponential() * 200e6;
            late.push((at as u64, 2 * MS + (random.exponential() * 1e6) as u64));
        }
        (at, on) = (until.max(at), !on);
    }
    let others = 10 * HOUR - late.len() as u64;
    let notes = only_group(input(MS, &late, others, Some(0)), &Question::default()).notes;
    let said = notes.iter().find_map(|note| note.strip_prefix("events stay correlated for ")?.split_once(" s, so "));
    let seconds: f64 = said.unwrap_or_else(|| panic!("{notes:?}")).0.parse().unwrap();
    assert!((10.0..120.0).contains(&seconds), "{notes:?}");
}

/// Two hours with 2,000 stalls anywhere; then with 60 others within a second, beside which no second cluster stands.
#[test]
fn that_one_cluster_makes_what_varies_is_said() {
    for in_one in [0, 60] {
        let mut random = Random(5);
        let mut at: Vec<u64> = (0..2_000).map(|_| (random.uniform() * 7.1e12) as u64 / MS * MS).collect();
        at.extend((0..in_one).map(|stall| 3_600_000 * MS + stall * 15 * MS));
        at.sort_unstable();
        at.dedup();
        let late: Vec<(u64, u64)> = at.iter().map(|&at| (at, 2 * MS + (random.exponential() * 1e6) as u64)).collect();
        let others = 2 * HOUR - late.len() as u64;
        let question = Question { devices: vec![device(MS, 3, 0)], ..Question::default() };
        let group = only_group(input(MS, &late, others, Some(0)), &question);
        let is_said = group.notes.iter().any(|note| note.contains("as few as 1 cluster of stalls"));
        assert_eq!(is_said, in_one > 0, "{:?}", group.notes);
        let conditions = &group.devices[0].underruns.conditions;
        assert_eq!(conditions.contains(&Condition::Clusters), in_one > 0, "{conditions:?} {:?}", group.notes);
    }
}

/// What one CPU by itself shows, or a drift that hides would change, is a reason like any other: a device that holds on a
/// condition says why.
#[test]
fn every_reason_for_a_condition_is_said() {
    let question = Question { devices: vec![device(10 * MS, 3, 0)], ..Question::default() };
    let mut answers = only_group(input(MS, &[], 288 * HOUR, Some(0)), &question).devices;
    let found = &mut answers[0].underruns;
    (found.outcome, found.pieces) = (Outcome::HoldsAsRecorded, Some(12.4));
    let mut notes = |conditions: &[Condition], drift: Option<f64>, hours: f64| {
        (answers[0].underruns.conditions, answers[0].underruns.drift) = (conditions.to_vec(), drift);
        notes::condition_notes(&crate::spread::Spread::independent(hours * 3.6e12), &answers)
    };
    let so = ": devices are said to hold only while conditions stay as recorded";
    for (conditions, drift, words) in [
        (Condition::Short, None, None),
        (Condition::Memory, None, Some("waits vary as if the recording had only 12 independent pieces")),
        (Condition::Clusters, None, Some("a few clusters of waits account for most of the variation")),
        (Condition::Drift, None, Some("a drift that the recording may hide would change the answer")),
        (Condition::Drift, Some(1.5), Some("waits drift on at least one CPU")),
    ] {
        let expected: Vec<String> = words.iter().map(|words| format!("{words}{so}")).collect();
        assert_eq!(notes(&[conditions], drift, 288.0), expected, "{conditions:?}");
        // Where a recording is too short to say more of itself, that it is short is enough.
        assert_eq!(notes(&[conditions], drift, 0.5), [""; 0], "{conditions:?}");
    }
    assert_eq!(notes(&[Condition::Memory, Condition::Clusters, Condition::Drift], None, 288.0).len(), 3);
}

/// A thousand stalls in an hour, which come at these shares of it.
fn thousand_stalls(at: &dyn Fn(f64) -> f64, random: &mut Random, load: &str) -> Input {
    let mut late: Vec<(u64, u64)> = (0..1_000)
        .map(|index| ((at((f64::from(index) + 0.5) / 1e3) * 3.6e12) as u64, random.exponential()))
        .map(|(at, length)| (at / MS * MS, 3 * MS + (length * 1e6) as u64))
        .collect();
    late.sort_unstable();
    Input { load: load.to_owned(), ..input(MS, &late, HOUR - 1_000, Some(0)) }
}

/// Ever more of them; and as many that come evenly.
#[test]
fn a_drift_is_said_with_the_times_that_it_makes_doubtful() {
    let mut random = Random(9);
    let mut verdict = |at: &dyn Fn(f64) -> f64, load: &str| {
        let input = thousand_stalls(at, &mut random, load);
        let question = Question { devices: vec![device(MS, 3, 0)], ..Question::default() };
        let even = Input { load: "even".to_owned(), ..hour_with_stalls() };
        answer(&[input, even], &question).unwrap().verdict
    };
    let more = verdict(&|share| share.sqrt(), "growing");
    let expected = " The machine drifts under growing: stalls are ";
    assert!(more.contains(expected) && more.contains(" times as frequent at the end as at the beginning."), "{more}");
    let even = verdict(&|share| share, "steady");
    assert!(even.contains(" under steady fails about every ") && !even.contains("drifts"), "{even}");
}

/// The stalls of one CPU, or those that a device meets, need not drift as all of them do: the notes repeat what the verdict says.
#[test]
fn a_drift_has_the_same_words_in_the_verdict_and_below_it() {
    let input = thousand_stalls(&|share| share.sqrt(), &mut Random(9), "growing");
    let tail = input.tail(Stage::Total).unwrap();
    let said = |told: Option<&str>| notes::spread_notes(&tail, None, told).join("\n");
    let own = said(None);
    assert!(own.contains(" times as frequent at the end as at the beginning, and answers hold only "), "{own}");
    let told = said(Some("as frequent as they were"));
    assert!(told.contains("the machine drifts: stalls are as frequent as they were, and answers hold only "), "{told}");
    assert!(!told.contains(" at the end "), "{told}");
    let question = Question { devices: vec![device(MS, 3, 0)], ..Question::default() };
    let group = only_group(input, &question);
    let (_, words) = told_drift(&group.devices).unwrap();
    assert!(group.notes.iter().any(|note| note.contains(words)), "{words}: {:?}", group.notes);
}
