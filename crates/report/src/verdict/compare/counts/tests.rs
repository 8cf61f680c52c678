//! What is said of what was counted.

use super::*;
use crate::compare::counts::{CountRow, is_what};
use punctual_comparison::RateRatio;

fn row(what: Counted, a: (u64, u64), b: (u64, u64), limits: [Option<f64>; 3], outcome: Outcome) -> CountComparison {
    let count = |(events, exposure)| EventCount { events, least: events, exposure, ..EventCount::default() };
    let [low, estimate, high] = limits;
    CountComparison {
        what,
        a: count(a),
        b: count(b),
        ratio: RateRatio { low, estimate, high },
        outcome,
        runs_needed: None,
    }
}

#[test]
fn a_sentence_has_the_outcome_both_counts_and_the_limits() {
    let cycles = || Counted::Cycles { of: "my-loop".to_owned(), period_ns: 1_000_000 };
    let limits = [Some(0.4), Some(1.03), Some(2.7)];
    let about_as_many = row(cycles(), (25, 47_692), (28, 51_745), limits, Outcome::NoDifference);
    assert_eq!(
        sentence(&about_as_many, Standing::Systems),
        "No detectable difference in cycles of my-loop longer than 1.00 ms: 28 of 51,745 on B, 25 of 47,692 on A \
         (1.03 times as often, 0.40 to 2.70)."
    );
    let periods = Counted::Periods { of: "my-loop".to_owned(), period_ns: 1_000_000 };
    let half = row(periods, (50, 5_000), (2_500, 5_000), [Some(12.0), Some(50.0), Some(210.0)], Outcome::Worse);
    assert_eq!(
        sentence(&half, Standing::Systems),
        "Worse: more periods of 1.00 ms that my-loop overran: 2,500 of 5,000 on B, 50 of 5,000 on A (50.0 times as often, 12.0 to 210)."
    );
    let requests = || Counted::Requests { threshold_ns: 20_000_000 };
    let second = 1_000_000_000;
    let gone = row(requests(), (427, 15 * second), (0, 15 * second), [None, Some(0.0), Some(0.03)], Outcome::Better);
    assert_eq!(
        sentence(&gone, Standing::Systems),
        "Better: fewer requests slower than 20.0 ms: 0 in 15.0 s on B, 427 in 15.0 s on A (at most 0.030 times as often)."
    );
    assert!(
        sentence(&gone, Standing::OneAfterTheOther)
            .starts_with("B has fewer requests slower than 20.0 ms in these runs: ")
    );
    let none = row(cycles(), (0, 100), (0, 90), [None; 3], Outcome::NoDifference);
    assert_eq!(
        sentence(&none, Standing::Systems),
        "Cycles of my-loop longer than 1.00 ms: none on A or B (100 and 90)."
    );
    let underruns = || Counted::Underruns { of: "sdr".to_owned() };
    let more = row(underruns(), (2, 1_000), (40, 999), [Some(3.1), Some(20.0), Some(140.0)], Outcome::Worse);
    assert_eq!(
        sentence(&more, Standing::Systems),
        "Worse: more underruns of sdr: 40 of 999 blocks on B, 2 of 1,000 blocks on A (20.0 times as often, 3.10 to 140)."
    );
    let none = row(underruns(), (0, 26), (0, 1), [None; 3], Outcome::NoDifference);
    assert_eq!(sentence(&none, Standing::Systems), "Underruns of sdr: none on A or B (26 blocks and 1 block).");
    let uncounted = row(cycles(), (0, 0), (3, 90), [None; 3], Outcome::NoDifference);
    assert_eq!(
        sentence(&uncounted, Standing::Systems),
        "Cycles of my-loop longer than 1.00 ms: these could not be counted on both A and B."
    );
}

#[test]
fn overruns_that_nobody_may_have_seen_are_said_as_a_report_says_them() {
    let cycles = || Counted::Cycles { of: "my-loop".to_owned(), period_ns: 1_000_000 };
    let limits = [Some(0.4), Some(1.03), Some(2.7)];
    let mut unseen = row(cycles(), (116, 12_525), (22, 7_393), limits, Outcome::NoDifference);
    (unseen.a.least, unseen.a.may_be_more, unseen.b.may_be_more) = (15, true, true);
    assert_eq!(
        sentence(&unseen, Standing::Systems),
        "No detectable difference in cycles of my-loop longer than 1.00 ms: 22 or more of 7,393 on B, 15 to 116 or more of 12,525 on A \
         (1.03 times as often, 0.40 to 2.70)."
    );
    unseen.ratio = RateRatio { low: None, high: None, ..unseen.ratio };
    let said = sentence(&unseen, Standing::Systems);
    assert!(said.ends_with("(1.03 times as often in what was seen)."), "{said}");
    let mut none = row(cycles(), (0, 100), (0, 90), [None; 3], Outcome::NoDifference);
    none.b.may_be_more = true;
    assert_eq!(
        sentence(&none, Standing::Systems),
        "Cycles of my-loop longer than 1.00 ms: none seen on A or B (100 and 90)."
    );
}

#[test]
fn none_is_said_with_the_threads_that_never_slept() {
    let cycles = Counted::Cycles { of: "my-loop".to_owned(), period_ns: 1_000_000 };
    let mut none = row(cycles, (0, 801), (0, 800), [None; 3], Outcome::NoDifference);
    for (side, threads) in [(&mut none.a, 1_800), (&mut none.b, 1_799)] {
        (side.without_sleep, side.may_be_more, side.may_be_more_exposure) = (threads, true, true);
    }
    assert_eq!(
        sentence(&none, Standing::Systems),
        "Cycles of my-loop longer than 1.00 ms: none seen on A or B (at least 801 and at least 800). Threads that the loop may have started ended \
         without ever sleeping (1,800 on A, 1,799 on B): no wakeup shows how long what they did took."
    );
    let told = serde_json::to_value(CountRow::new(&none)).unwrap();
    assert_eq!((&told["a"]["without_sleep"], &told["b"]["may_be_more"]), (&1_800.into(), &true.into()));
    none.a = EventCount { without_sleep: 0, may_be_more: false, ..none.a };
    let said = sentence(&none, Standing::Systems);
    assert!(said.contains(": none seen on A or B ") && said.contains(" (1,799 on B): "), "{said}");
}

#[test]
fn a_loop_that_may_have_hung_is_said_to_before_what_is_not_decided() {
    let of = |outcome: Outcome, (a, b): (u64, u64)| {
        let cycles = Counted::Periods { of: "my-loop".to_owned(), period_ns: 1_000_000 };
        let mut hung = row(cycles, (969, 2_403), (3, 1_248), [None, Some(0.01), None], outcome);
        (hung.a.hung_runs, hung.a.longest_hung_ns) = (a, a * 90_000_000);
        (hung.b.hung_runs, hung.b.longest_hung_ns) = (b, b * 700_000_000);
        hung
    };
    let seen = |row: &CountComparison| sentence(row, Standing::Systems);
    let none = seen(&of(Outcome::NoDifference, (0, 0)));
    let hung = of(Outcome::NoDifference, (0, 3));
    assert_eq!(seen(&hung), format!("my-loop may have hung at the end of 3 runs of B, for up to 2.10 s. {none}"));
    let both = seen(&of(Outcome::NoDifference, (1, 3)));
    assert!(
        both.starts_with("my-loop may have hung at the end of 1 run of A and 3 runs of B, for up to 2.10 s. "),
        "{both}"
    );
    let decided = seen(&of(Outcome::Worse, (1, 0)));
    assert!(
        decided.starts_with("Worse: ")
            && decided.ends_with(" my-loop may have hung at the end of 1 run of A, for up to 90.0 ms."),
        "{decided}"
    );
    let told = serde_json::to_value(CountRow::new(&hung)).unwrap();
    assert_eq!((&told["a"]["hung_runs"], &told["b"]["hung_runs"]), (&0.into(), &3.into()));
}

#[test]
fn far_fewer_underruns_in_too_few_runs_are_not_called_no_difference() {
    let told = |b: u64, standing| {
        let what = Counted::Underruns { of: "v90".to_owned() };
        let limits = [None, Some(0.0), Some(9.0)];
        sentence(&row(what, (192, 1_250), (b, 1_251), limits, Outcome::NoDifference), standing)
    };
    let two_each = Standing::TooFewRuns { more: [1, 1] };
    assert_eq!(
        told(0, two_each),
        "B has fewer underruns of v90 in these runs: 0 of 1,251 blocks on B, 192 of 1,250 blocks on A; these runs are too few \
         for a verdict."
    );
    // About as many; and with enough runs, no difference was found.
    for (b, standing) in [(190, two_each), (0, Standing::Systems)] {
        let said = told(b, standing);
        assert!(said.contains("difference in underruns of v90"), "{said}");
    }
}

#[test]
fn far_fewer_slow_requests_in_too_few_runs_are_told_without_a_verdict() {
    let second = 1_000_000_000;
    let told = |a: (u64, u64), b: (u64, u64), limits, standing| {
        let what = Counted::Requests { threshold_ns: 20_000_000 };
        let mut found = row(what, a, b, limits, Outcome::NoDifference);
        for count in [&mut found.a, &mut found.b] {
            (count.all, count.watched_ns) = (Some(count.exposure), Some(7 * second));
        }
        (sentence(&found, standing), is_what(&found, standing))
    };
    let one_each = Standing::TooFewRuns { more: [2, 2] };
    let none = [None, Some(0.0), Some(4.2)];
    let (words, cell) = told((154, 374), (0, 201), none, one_each);
    assert_eq!(
        words,
        "B has a smaller share of requests slower than 20.0 ms in these runs: 0 of 201 in 7.00 s on B, 41.2 % (154 of 374 in \
         7.00 s, 22.0 a second) on A; one run of each side is too few for a verdict."
    );
    assert_eq!(cell, "too few runs");
    let (words, _) =
        told((34, 173), (60, 166), [Some(0.2), Some(1.76), Some(9.0)], Standing::TooFewRuns { more: [1, 2] });
    assert!(
        words.starts_with("B has a larger share of requests slower than 20.0 ms in these runs: 36.1 % (60 of 166 in "),
        "{words}"
    );
    assert!(words.ends_with(" on A (1.76 times the share); these runs are too few for a verdict."), "{words}");
    let (words, _) = told((0, 201), (154, 374), [Some(0.3), None, None], one_each);
    assert!(words.starts_with("B has a larger share ") && words.contains("on A; one run"), "{words}");
    // A client that waits for its answers: more slow requests a second, of far more requests.
    let (words, _) = told((84, 1_196), (140, 2_648), [Some(0.2), Some(0.753), Some(3.0)], one_each);
    assert!(
        words.starts_with(
            "B has a smaller share of requests slower than 20.0 ms in these runs: 5.29 % (140 of 2,648 in "
        ),
        "{words}"
    );
    // About as many; and with enough runs, no difference was found.
    for (b, standing) in [(38, one_each), (60, Standing::Systems)] {
        let (words, cell) = told((34, 173), (b, 166), [Some(0.2), Some(1.1), Some(9.0)], standing);
        assert!(
            words.contains("difference in the share of requests") && cell == Outcome::NoDifference.name(),
            "{words} {cell}"
        );
    }
}

#[test]
fn requests_of_which_nothing_can_be_said_are_not_countable_and_why() {
    use punctual_comparison::Untold::{MostlyUnknown, NoneRecognised};
    for (a, b, why) in [
        (Some(NoneRecognised), None, "a run of A recognised none"),
        (None, Some(NoneRecognised), "a run of B recognised none"),
        (
            Some(NoneRecognised),
            Some(MostlyUnknown),
            "a run of A recognised none, and it is not known how long more than half of those in a run of B took",
        ),
    ] {
        let exposure = |untold: Option<Untold>| if untold.is_some() { 0 } else { 2_000 };
        let what = Counted::Requests { threshold_ns: 20_000_000 };
        let mut found = row(what, (9, exposure(a)), (0, exposure(b)), [None; 3], Outcome::NoDifference);
        (found.a.untold, found.b.untold) = (a, b);
        for standing in [Standing::Systems, Standing::TooFewRuns { more: [2, 2] }] {
            assert_eq!(
                sentence(&found, standing),
                format!("Requests slower than 20.0 ms: these could not be counted on both A and B: {why}.")
            );
            assert_eq!(is_what(&found, standing), "not countable");
        }
        let told = serde_json::to_value(CountRow::new(&found)).unwrap();
        let untold = |untold: Option<Untold>| serde_json::json!(untold.map(Untold::name));
        assert_eq!(told["verdict"], "not countable");
        assert_eq!([&told["a"]["untold"], &told["b"]["untold"]], [&untold(a), &untold(b)]);
    }
}

#[test]
fn requests_that_may_have_been_slow_are_no_sure_ones() {
    let second = 1_000_000_000;
    let told = |b: (u64, u64)| {
        let what = Counted::Requests { threshold_ns: 20_000_000 };
        let mut found = row(what, (40, 1_000), (b.1, 1_000), [None, Some(0.5), None], Outcome::NoDifference);
        found.b.least = b.0;
        (found.a.watched_ns, found.b.watched_ns) = (Some(7 * second), Some(7 * second));
        sentence(&found, Standing::TooFewRuns { more: [2, 2] })
    };
    let (few, many) = (told((0, 10)), told((0, 30)));
    assert!(few.starts_with("B has a smaller share of requests slower than 20.0 ms in these runs: "), "{few}");
    assert!(
        few.contains(": at most 1.00 % (0 to 10 of 1,000 in 7.00 s) on B, 4.00 % (40 of 1,000 in 7.00 s, "),
        "{few}"
    );
    assert!(many.starts_with("These runs show no difference in the share of requests"), "{many}");
}

/// A loop that may catch up, or wakeups that were not seen: the cycles are at least so many, as the report of one run says.
#[test]
fn cycles_that_may_have_been_more_are_at_least_so_many() {
    for (a, b, on) in [
        (false, false, "0 of 51,745 on B, 25 of 47,692 on A"),
        (true, false, "0 of 51,745 on B, 25 of at least 47,692 on A"),
        (true, true, "0 of at least 51,745 on B, 25 of at least 47,692 on A"),
    ] {
        let what = Counted::Cycles { of: "my-loop".to_owned(), period_ns: 1_000_000 };
        let mut found = row(what, (25, 47_692), (0, 51_745), [None, Some(0.0), Some(0.3)], Outcome::Better);
        (found.a.may_be_more_exposure, found.b.may_be_more_exposure) = (a, b);
        let said = sentence(&found, Standing::Systems);
        assert!(said.contains(&format!(": {on} (")), "{said}");
        let told = serde_json::to_value(CountRow::new(&found)).unwrap();
        let is_more = |side: &str| told[side]["may_be_more_cycles"].as_bool();
        assert_eq!([is_more("a"), is_more("b")], [Some(a), Some(b)], "{told}");
    }
}
