//! A server that serves several from one loop, as one of its clients sees it: whom the server waited for, and not who came meanwhile.

use crate::support::requests::{IDLE, READ, SERVER, WAITS, parts, wait};
use crate::support::{ENDER_NOT_SEEN, Story, VICTIM, VICTIM_RUNS, on_cpu};
use punctual_blame::{Inside, Kind, Part};
use punctual_recording::episode::{Call, EventKind, WaitEnd};
use punctual_recording::{Episode, Stage};

const STORE: (u32, i16) = (8, 120);
const PINGER: (u32, i16) = (9, 120);
const SECOND: (u32, i16) = (10, 120);
const POLL: WaitEnd = WaitEnd { sleeper: Call::Poll, ..READ };

/// The position of a thread's name.
fn name(tid: u32) -> u32 {
    match tid {
        VICTIM => 1,
        7 => 2,
        8 => 3,
        9 => 5,
        10 => 6,
        _ => 0,
    }
}

/// The current thread wakes another one.
fn wakes(story: &mut Story, at_us: u64, tid: u32, end: WaitEnd) {
    let by = name(story.current.0);
    story.event(at_us, EventKind::Waking, 0, u64::from(tid), end.bits() | 120, by);
}

fn runs(story: &mut Story, at_us: u64, next: (u32, i16), left_state: u32) {
    story.switch(at_us, next, left_state, name(next.0));
}

/// A thread comes by itself and tells the server's loop something, which that takes; it may wake others for that.
fn tells(story: &mut Story, at_us: u64, by: (u32, i16), woken: &[u32]) {
    runs(story, at_us, by, 0);
    wakes(story, at_us + 10, SERVER.0, POLL);
    runs(story, at_us + 20, SERVER, WAITS);
    for (number, tid) in woken.iter().enumerate() {
        wakes(story, at_us + 22 + number as u64, *tid, READ);
    }
    runs(story, at_us + 40, IDLE, WAITS);
}

/// The victim asks the server at 1,020 us, which wakes those whom it `asks` for that. `meanwhile` happens until this one ends the
/// server's last wait, at 4,010 us, and the server answers at 4,030.
fn request(asks: &[u32], meanwhile: impl FnOnce(&mut Story), last: (u32, i16)) -> Episode {
    request_and(asks, meanwhile, last, &[])
}

/// The same where the server wakes these before it answers, each by what it had called for.
fn request_and(
    asks: &[u32],
    meanwhile: impl FnOnce(&mut Story),
    last: (u32, i16),
    first: &[(u32, Option<Call>)],
) -> Episode {
    let mut story = Story::new(IDLE, 5_000);
    story.episode.stage = Stage::Request;
    story.episode.names.extend(["pinger".into(), "second".into()]);
    tells(&mut story, 500, PINGER, &[PINGER.0]);
    story.timer(1_002, 0);
    runs(&mut story, 1_010, VICTIM_RUNS, 0);
    wakes(&mut story, 1_020, SERVER.0, POLL);
    runs(&mut story, 1_030, SERVER, WAITS);
    for (number, tid) in asks.iter().enumerate() {
        wakes(&mut story, 1_032 + number as u64, *tid, READ);
    }
    runs(&mut story, 1_050, IDLE, WAITS);
    meanwhile(&mut story);
    runs(&mut story, 4_000, last, 0);
    wakes(&mut story, 4_010, SERVER.0, POLL);
    runs(&mut story, 4_020, SERVER, WAITS);
    for (number, (tid, waker)) in first.iter().enumerate() {
        wakes(&mut story, 4_022 + number as u64, *tid, WaitEnd { waker: *waker, ..READ });
    }
    wakes(&mut story, 4_030, VICTIM, READ);
    runs(&mut story, 4_035, VICTIM_RUNS, 0);
    runs(&mut story, 5_000, IDLE, WAITS);
    story.episode
}

fn pings(story: &mut Story) {
    for at_us in [2_000, 2_500, 3_000] {
        tells(story, at_us, PINGER, &[PINGER.0]);
    }
}

/// Whom the server waited for, and for how many us, largest first.
fn waited(episode: &Episode) -> Vec<(String, u64)> {
    let of_server = wait(episode);
    assert_eq!(of_server.who.name(), "other", "{of_server:?}");
    let its = |inside: &&Inside| inside.kind == Kind::Wait;
    of_server.inside.iter().filter(its).map(|inside| (inside.who.name().to_owned(), inside.ns / 1_000)).collect()
}

fn named(waits: &[(&str, u64)]) -> Vec<(String, u64)> {
    waits.iter().map(|(name, us)| ((*name).to_owned(), *us)).collect()
}

#[test]
fn a_server_waited_for_whom_it_asked_and_not_for_who_came_meanwhile() {
    let quiet = request(&[STORE.0], |_| {}, STORE);
    assert_eq!(waited(&quiet), named(&[("first", 2_960)]));
    // Each time it was awake, or about to be, for 30 us.
    let busy = request(&[STORE.0], pings, STORE);
    assert_eq!(waited(&busy), named(&[("first", 2_960 - 3 * 30)]));
}

#[test]
fn where_the_question_is_not_seen_nobody_is_named_but_for_the_last_wait() {
    let told = waited(&request(&[], pings, STORE));
    assert_eq!(told, named(&[(ENDER_NOT_SEEN.name(), 1_900), ("first", 970)]));
    let not_seen = wait(&request(&[], pings, STORE));
    assert!(not_seen.unknown_ns >= 1_900_000, "{not_seen:?}");
}

#[test]
fn one_who_is_asked_after_the_other_has_the_time_from_then_on() {
    let one_by_one = |story: &mut Story| {
        tells(story, 1_500, PINGER, &[PINGER.0]);
        tells(story, 2_000, STORE, &[SECOND.0]);
        tells(story, 2_500, PINGER, &[PINGER.0]);
    };
    let told = waited(&request(&[STORE.0], one_by_one, SECOND));
    assert_eq!(told, named(&[("second", 1_940), ("first", 930)]));
}

#[test]
fn what_comes_in_several_parts_was_asked_for_once() {
    let in_parts = |story: &mut Story| {
        tells(story, 1_500, STORE, &[]);
        tells(story, 2_000, PINGER, &[PINGER.0]);
        tells(story, 2_500, STORE, &[]);
    };
    let told = waited(&request(&[STORE.0], in_parts, STORE));
    assert_eq!(told, named(&[("first", 2_960 - 3 * 30)]));
}

#[test]
fn many_questions_one_after_the_other_are_that_ones() {
    let asks_again = |story: &mut Story| {
        for number in 0..70 {
            tells(story, 1_100 + 40 * number, STORE, &[STORE.0]);
        }
    };
    let told = waited(&request(&[STORE.0], asks_again, STORE));
    assert!(told.iter().all(|(name, _)| name == "first"), "{told:?}");
}

#[test]
fn who_wakes_the_loop_as_another_ones_answer_comes_is_not_named() {
    // The store has a CPU as the pinger wakes the loop.
    let raced = |story: &mut Story| {
        pings(story);
        on_cpu(story, 1, IDLE, |story| {
            runs(story, 3_900, STORE, 0);
            runs(story, 4_100, IDLE, WAITS);
        });
    };
    let told = waited(&request(&[STORE.0], raced, PINGER));
    assert_eq!(told, named(&[(ENDER_NOT_SEEN.name(), 2_960 - 3 * 30)]));
}

#[test]
fn whoever_was_awake_as_the_server_replied_was_not_waited_for() {
    // The pinger is not woken by the last reply, and wakes the loop last.
    let unseen = |story: &mut Story| {
        pings(story);
        tells(story, 3_500, PINGER, &[]);
    };
    let told = waited(&request(&[STORE.0], unseen, PINGER));
    // The store, which was woken, may have sent what made the server answer.
    assert_eq!(told, named(&[(ENDER_NOT_SEEN.name(), 960 + 4 * 470)]));
}

/// The pinger comes while the server's answer is due by a timer of its own, or has come and woke nobody: it is served, and then the victim is.
#[test]
fn whoever_is_served_before_the_answer_was_not_waited_for() {
    let not_seen = |us| named(&[(ENDER_NOT_SEEN.name(), us)]);
    let write = Some(Call::Write);
    // As if the store were asked by the pinger, and the pinger by the store: both look like whoever is asked.
    let in_turns = |story: &mut Story| {
        tells(story, 1_500, PINGER, &[]);
        tells(story, 2_000, STORE, &[PINGER.0]);
    };
    let served = waited(&request_and(&[STORE.0], in_turns, PINGER, &[(PINGER.0, write)]));
    assert_eq!(served, not_seen(2_960 - 2 * 30));
    let alone = waited(&request_and(&[], |_| {}, PINGER, &[(PINGER.0, write)]));
    assert_eq!(alone, not_seen(2_960));
    // It asks the store for what the pinger wants.
    let asks_for_it = waited(&request_and(&[], |_| {}, PINGER, &[(STORE.0, write)]));
    assert_eq!(asks_for_it, not_seen(2_960));
    // Whoever was asked is told nothing, makes room as its answer is read, or is not the only one that is answered.
    for first in [&[][..], &[(STORE.0, Some(Call::Read))], &[(PINGER.0, write)]] {
        let told = waited(&request_and(&[STORE.0], |_| {}, STORE, first));
        assert_eq!(told, named(&[("first", 2_960)]), "{first:?}");
    }
}

/// As a server has it that answers a client every 4 us, all through one late request of another.
#[test]
fn many_requests_of_others_are_looked_through_in_a_bounded_time() {
    const SERVED: u64 = 700;
    let busy = |story: &mut Story| {
        for at_us in (0..SERVED).map(|number| 1_100 + 4 * number) {
            runs(story, at_us, PINGER, WAITS);
            wakes(story, at_us + 1, SERVER.0, POLL);
            runs(story, at_us + 2, SERVER, WAITS);
            wakes(story, at_us + 3, PINGER.0, READ);
        }
        runs(story, 3_990, IDLE, WAITS);
    };
    for last in [STORE, PINGER] {
        let told = waited(&request(&[STORE.0], busy, last));
        assert!(told.iter().all(|(name, _)| name != "pinger"), "{told:?}");
    }
}

/// Whether it is, or has in it, a wait for the pinger: it may have the CPU.
fn is_of_pinger(inside: &Inside) -> bool {
    inside.kind == Kind::Wait && inside.who.name() == "pinger" || inside.inside.iter().any(is_of_pinger)
}

#[test]
fn whoever_only_comes_to_be_served_is_never_named() {
    let of_pinger = |part: &Part| part.inside.iter().any(is_of_pinger);
    for asks in [&[STORE.0][..], &[]] {
        let told = parts(&request(asks, pings, STORE));
        assert!(!told.iter().any(of_pinger), "{told:?}");
    }
}
