//! Requests that may hide one that was late: it is not known where they begin.

use super::*;

const MS: u64 = 1_000_000;

fn hidden(play: &Play) -> Vec<bool> {
    play.known.iter().map(|known| known.may_hide).collect()
}

/// The thread's next stretch, which begins so long after the one before ended, and takes so long, ns.
fn stretch(play: &mut Play, waited_ns: u64, worked_ns: u64, ended_by: EndedBy, then: Pause) {
    let expected_ns = play.now + waited_ns;
    play.now = expected_ns + worked_ns;
    let stretch = Stretch { process: PROCESS, expected_ns, ended_by, ran_ns: expected_ns, until_ns: play.now, then };
    for request in play.requests.next(TID, &stretch) {
        play.over.push((request.expected_ns, request.end_ns));
        play.known.push(request.known);
    }
}

/// A client that asks again as soon as it has its answer works between two waits, as a server does; what is late is the wait.
#[test]
fn whoever_waits_at_one_place_may_be_a_client_that_asks_again_at_once() {
    for (call, awaited, expected) in [
        (Call::Read, None, true),
        (Call::Futex, None, true),
        (Call::Read, Some(WaitedFor::Unclear), true),
        (Call::Read, Some(WaitedFor::Answer), true),
        (Call::Poll, Some(WaitedFor::Either), true),
        // Somebody is known to ask there.
        (Call::Read, Some(WaitedFor::Request), false),
        (Call::Poll, Some(WaitedFor::Request), false),
    ] {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(IDLE, call));
        if let Some(awaited) = awaited {
            look(&mut play, awaited);
        }
        play.stretch(EndedBy::Thread, waits(IDLE, call)).known.clear();
        for _ in 0..3 {
            play.stretch(EndedBy::Thread, waits(IDLE, call));
        }
        assert_eq!(hidden(&play), [expected; 3], "{call:?} {awaited:?}");
        assert!(play.known.iter().all(|known| known.is_sure() != expected), "{:?}", play.known);
    }
}

/// It sleeps until its period, and for a while between two tries, each longer than the one before: one request looks like several.
#[test]
fn a_sleep_between_two_tries_ends_no_request_for_certain() {
    const PERIOD_NS: u64 = 10 * MS;
    let mut play = Play::default();
    stretch(&mut play, 10, MS, EndedBy::Timer, waits(IDLE, Call::Sleep));
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
    let mut due_ns = PERIOD_NS;
    let mut in_time = |play: &mut Play, count: usize| {
        for _ in 0..count {
            due_ns += PERIOD_NS;
            let waited_ns = due_ns - play.now;
            stretch(play, waited_ns, MS, EndedBy::Timer, waits(IDLE, Call::Sleep));
        }
    };
    in_time(&mut play, 40);
    assert_eq!(play.requests.out_of_step(), [0, 0]);
    assert_eq!(hidden(&play)[4..], [false; 37], "it keeps its period");
    assert!(play.known[4..].iter().all(|known| known.is_sure()));
    play.known.clear();
    // Three tries, which begin 2.13, 5.2 and 7.8 ms after it was due.
    in_time(&mut play, 1);
    for (waited_us, worked_us) in [(1_130, 70), (3_000, 100), (2_500, 150)] {
        stretch(&mut play, waited_us * 1_000, worked_us * 1_000, EndedBy::Timer, waits(IDLE, Call::Sleep));
    }
    in_time(&mut play, 3);
    // Of the first it is only known afterwards.
    assert_eq!(hidden(&play)[..4], [false, true, true, true]);
    assert_eq!(play.requests.out_of_step(), [1, 1]);
    assert_eq!(hidden(&play)[5..], [false; 2], "it keeps its period again");
}

/// The same where the sleep is one of another call, whose end shows that it was one.
#[test]
fn a_timer_that_is_read_between_two_tries_ends_no_request_for_certain() {
    let mut play = Play::default();
    stretch(&mut play, 10, MS, EndedBy::Timer, waits(IDLE, Call::Read));
    play.requests.saw_connections(TID, (play.now, play.now + 1), &[]);
    for waited_ns in [9 * MS; 20] {
        stretch(&mut play, waited_ns, MS, EndedBy::Timer, waits(IDLE, Call::Read));
    }
    assert_eq!(hidden(&play)[4..], vec![false; play.known.len() - 4]);
    play.known.clear();
    for waited_ns in [2_300_000, 5_300_000, 9 * MS] {
        stretch(&mut play, waited_ns, MS, EndedBy::Timer, waits(IDLE, Call::Read));
    }
    assert!(play.known.iter().filter(|known| known.may_hide).count() >= 2, "{:?}", play.known);
}

/// What is known of a thread is older than what a look sees: of a server that is asked a thousand times a second, each look is at a later wait.
#[test]
fn a_look_counts_for_the_wait_that_lasts_while_it_looks() {
    let find = |begun_ns: u64, over_ns: u64| {
        let mut play = Play::default();
        play.stretch(EndedBy::Thread, waits(OTHER, Call::Read)).stretch(EndedBy::Thread, waits(IDLE, Call::Read));
        play.requests.next_look();
        // Each wait takes 10, and each stretch of work 5: the second one from here lasts from 15 to 25.
        let at = |after_ns: u64| play.now + after_ns;
        let times = (at(begun_ns), at(over_ns));
        play.requests.saw(TID, times, WaitedFor::Request);
        for place in [ANSWER, IDLE, OTHER] {
            play.stretch(EndedBy::Thread, waits(place, Call::Read));
        }
        play.requests.threads[&TID].accepted.iter().copied().collect::<Vec<u32>>()
    };
    assert_eq!(find(1, 9), [IDLE], "the first wait");
    assert_eq!(find(16, 24), [ANSWER], "the second");
    assert_eq!(find(31, 39), [IDLE], "the third");
    for (begun_ns, over_ns) in [(9, 16), (11, 14), (14, 16), (24, 26), (16, 25)] {
        assert_eq!(find(begun_ns, over_ns), [0_u32; 0], "{begun_ns} to {over_ns}");
    }
}

/// A header of the client's message, and then the rest of it, by the same connection: both at the place where its requests come.
#[test]
fn a_request_that_is_read_in_two_parts_is_one() {
    for is_looked_at in [true, false] {
        let mut play = Play::default();
        stretch(&mut play, 10, MS, EndedBy::Sender, waits(IDLE, Call::Read));
        if is_looked_at {
            look(&mut play, WaitedFor::Request);
        }
        let message = |play: &mut Play| {
            stretch(play, 19 * MS, 5_000, EndedBy::Sender, waits(IDLE, Call::Read));
            stretch(play, 300_000, MS, EndedBy::Sender, waits(IDLE, Call::Read));
        };
        (0..6).for_each(|_| message(&mut play));
        play.over();
        play.known.clear();
        for _ in 0..3 {
            let begun_ns = play.now + 19 * MS;
            message(&mut play);
            assert_eq!(play.over(), [(begun_ns, play.now)]);
        }
        // What it waits for is the client.
        assert!(play.known.iter().all(|known| !known.is_sure() && known.may_hide != is_looked_at), "{:?}", play.known);
    }
}

/// One of a thread that sleeps once and then serves: what it holds is not known, but for how long it went on.
#[test]
fn requests_that_were_given_up_may_have_been_late_if_they_took_as_long() {
    for (threshold_ns, expected) in [(Some(1_000_000), 0), (Some(1_000), 1), (None, 1)] {
        let mut play = Play::default();
        play.requests.late_after(threshold_ns);
        play.stretch(EndedBy::Timer, waits(ANSWER, Call::Read));
        for _ in 0..MAX_WAITS {
            play.stretch(EndedBy::Thread, waits(OTHER, Call::Read));
        }
        assert_eq!((play.requests.given_up(), play.requests.cut()), (1, 0));
        // The next one begins where it waits now.
        play.stretch(EndedBy::Thread, waits(ANSWER, Call::Read));
        assert_eq!(play.requests.cut(), 1);
        let open = u64::from(threshold_ns.is_none());
        assert_eq!(play.requests.maybe_late_cut(play.now), expected + open, "{threshold_ns:?}");
        play.requests.lost_sight_of(TID);
        assert_eq!(play.requests.maybe_late_cut(play.now), expected + 1, "nobody knows how long that one took");
    }
}
