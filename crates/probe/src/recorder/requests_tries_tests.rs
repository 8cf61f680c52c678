//! Sleeps of a thread with a period within its requests, as between two tries: what lies between two of them is not known to be a request.

use super::*;

const MS: u64 = 1_000_000;

/// The thread's next stretch, which begins with a timer so long after the one before ended, and takes so long, ns.
fn stretch(play: &mut Play, waited_ns: u64, worked_ns: u64, call: Call) {
    let expected_ns = play.now + waited_ns;
    play.now = expected_ns + worked_ns;
    let (ended_by, then) = (EndedBy::Timer, waits(IDLE, call));
    let stretch = Stretch { process: PROCESS, expected_ns, ended_by, ran_ns: expected_ns, until_ns: play.now, then };
    for request in play.requests.next(TID, &stretch) {
        play.over.push((request.expected_ns, request.end_ns));
        play.known.push(request.known);
    }
}

fn sure(play: &Play) -> Vec<bool> {
    play.known.iter().map(|known| known.is_sure()).collect()
}

/// It sleeps until its period, and for a while between two tries, each longer than the one before: one request looks like several.
#[test]
fn a_sleep_between_two_tries_ends_no_request_for_certain() {
    const PERIOD_NS: u64 = 10 * MS;
    let mut play = Play::default();
    stretch(&mut play, 10, MS, Call::Sleep);
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
    let mut due_ns = PERIOD_NS;
    let mut in_time = |play: &mut Play, count: usize| {
        for _ in 0..count {
            due_ns += PERIOD_NS;
            let waited_ns = due_ns - play.now;
            stretch(play, waited_ns, MS, Call::Sleep);
        }
    };
    in_time(&mut play, 40);
    assert_eq!(play.requests.not_sure_after_all(), 0);
    assert_eq!(sure(&play)[4..], [true; 37], "it keeps its period");
    play.known.clear();
    // Three tries, which begin 2.13, 5.2 and 7.8 ms after it was due.
    in_time(&mut play, 1);
    for (waited_us, worked_us) in [(1_130, 70), (3_000, 100), (2_500, 150)] {
        stretch(&mut play, waited_us * 1_000, worked_us * 1_000, Call::Sleep);
    }
    in_time(&mut play, 3);
    // Of the first it is only known afterwards.
    assert_eq!(sure(&play)[..4], [true, false, false, false]);
    assert_eq!(play.requests.not_sure_after_all(), 1);
    assert_eq!(sure(&play)[5..], [true; 2], "it keeps its period again");
}

/// The same where the sleep is one of another call, whose end shows that it was one.
#[test]
fn a_timer_that_is_read_between_two_tries_ends_no_request_for_certain() {
    let mut play = Play::default();
    stretch(&mut play, 10, MS, Call::Read);
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
    (0..20).for_each(|_| stretch(&mut play, 9 * MS, MS, Call::Read));
    let all = play.known.len();
    assert_eq!(sure(&play)[4..], vec![true; all - 4]);
    for waited_ns in [2_300_000, 5_300_000, 9 * MS] {
        stretch(&mut play, waited_ns, MS, Call::Read);
    }
    let later = sure(&play)[all..].iter().filter(|is_sure| !**is_sure).count() as u64;
    assert!(later + play.requests.not_sure_after_all() >= 3, "{:?}", sure(&play));
}

/// Sleeps for a while after each request end at any time.
#[test]
fn requests_of_a_thread_without_a_period_are_not_sure() {
    let mut play = Play::default();
    stretch(&mut play, 10, MS, Call::Sleep);
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
    for round in 0..20 {
        stretch(&mut play, 9 * MS, MS + round * 10_000, Call::Sleep);
    }
    assert_eq!(sure(&play), vec![false; play.known.len()]);
}

/// A cycle of 20 ms that polls its device every 1 ms: at first nothing but those steps is seen.
#[test]
fn what_a_thread_did_before_it_was_seen_to_choose_when_it_wakes_is_not_sure_after_all() {
    let cycles = |in_time: u64| {
        let mut play = Play::default();
        stretch(&mut play, 10, 10_000, Call::Sleep);
        play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
        let mut due_ns = MS;
        for steps in std::iter::repeat_n(1, in_time as usize).chain([9, 1, 1, 1, 17, 1, 19]) {
            due_ns += steps * MS;
            let waited_ns = due_ns - play.now;
            stretch(&mut play, waited_ns, 10_000, Call::Sleep);
        }
        (sure(&play).iter().filter(|is_sure| **is_sure).count() as u64, play.requests.not_sure_after_all())
    };
    let (sure, not_after_all) = cycles(11);
    assert!(sure > 5 && sure == not_after_all, "{sure} {not_after_all}");
    let (sure, not_after_all) = cycles(60);
    assert!(sure > 50 && not_after_all <= 1, "it kept its clock for long: {sure} {not_after_all}");
}
