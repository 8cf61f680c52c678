//! Waits up to a time limit. Those for a word in memory may be given up and begun again, as for Python's lock: whoever ends the last of them was
//! waited for.

use crate::beginnings::{is_untold, timer_wakes};
use crate::support::requests::{READ, parts};
use crate::support::{ENDER_NOT_SEEN, HOLDER_NOT_SEEN, INTERRUPT, Story, VICTIM, VICTIM_RUNS, awaited_parts};
use punctual_blame::{Kind, Part};
use punctual_recording::episode::{Call, EventKind, LockWaking, ONE_POLLED, WaitEnd, WakingAct, WordState};
use punctual_recording::{Episode, Stage};

const WAITER: (u32, i16) = (VICTIM, 120);
const HOLDER: (u32, i16) = (7, 120);
const IDLE: (u32, i16) = (0, 120);
const WAITS: u32 = 1;

fn told(act: WakingAct, place: u32) -> u64 {
    LockWaking { act, same_word: Some(true), state: WordState::NoLock, place, owner: 0 }.bits()
}

/// The waiter goes to sleep at 1,010 us and looks every 5 ms; the holder, which runs all the while, ends that at 14,000.
fn waits(second: u32, looks_us: u64, ends: bool) -> Episode {
    let mut story = Story::new(WAITER, 16_000);
    story.episode.stage = Stage::Request;
    story.switch(1_010, HOLDER, WAITS, 2);
    for (at_us, place) in [(6_010, 10), (11_020, second)] {
        story.event(at_us, EventKind::TimerBegin, INTERRUPT, 0, at_us * 1_000, 4);
        // What the current thread did last says nothing.
        story.event(at_us + 1, EventKind::Waking, INTERRUPT, VICTIM.into(), told(WakingAct::Else, place) | 120, 2);
        story.event(at_us + 2, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
        story.switch(at_us + 3, WAITER, 0, 1);
        story.switch(at_us + 3 + looks_us, HOLDER, WAITS, 2);
    }
    if ends {
        story.event(14_000, EventKind::Waking, 0, VICTIM.into(), told(WakingAct::WakesWord, 11) | 120, 2);
        story.switch(14_010, WAITER, 0, 1);
    }
    story.switch(16_000, IDLE, WAITS, 0);
    story.episode
}

fn ns_of(parts: &[Part], kind: Kind) -> u64 {
    parts.iter().filter(|part| part.kind == kind).map(|part| part.ns).sum()
}

#[test]
fn whoever_ends_the_last_of_them_was_waited_for() {
    let told = awaited_parts(&waits(11, 5, true));
    assert_eq!((told[0].kind, told[0].who.name()), (Kind::Wait, "other"), "{told:?}");
    assert_eq!((ns_of(&told, Kind::Sleep), told[0].unknown_ns), (0, 0), "{told:?}");
    assert!(told[0].ns > 12_900_000, "{told:?}");
}

#[test]
fn a_sleep_is_a_sleep() {
    // Another word, work in between, nobody who ends it: then the timer was slept for.
    for (episode, slept_ns) in
        [(waits(200, 5, true), 5_000_000), (waits(11, 300, true), 9_500_000), (waits(11, 5, false), 9_900_000)]
    {
        let told = awaited_parts(&episode);
        assert!(ns_of(&told, Kind::Sleep) >= slept_ns, "{told:?}");
    }
}

/// A thread that is waited for waits for a word up to a limit of 5 ms; then it runs, wakes the holder by a word at a `place`, and works on.
fn wakes_by(place: u32) -> Episode {
    let mut story = Story::new(WAITER, 8_000);
    story.episode.stage = Stage::Request;
    story.switch(1_010, HOLDER, WAITS, 2);
    story.event(6_010, EventKind::TimerBegin, INTERRUPT, 0, 6_010_000, 4);
    story.event(6_011, EventKind::Waking, INTERRUPT, VICTIM.into(), told(WakingAct::Else, 100) | 120, 2);
    story.event(6_012, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
    story.switch(6_013, IDLE, WAITS, 0);
    story.switch(6_020, WAITER, 0, 1);
    story.event(6_200, EventKind::Waking, 0, HOLDER.0.into(), told(WakingAct::WakesWord, place) | 120, 1);
    story.switch(8_000, IDLE, WAITS, 0);
    story.episode
}

#[test]
fn whoever_lets_go_of_what_it_waited_for_up_to_a_limit_waited_for_a_lock() {
    for place in [100, 101, 98] {
        let told = awaited_parts(&wakes_by(place));
        let lock = told.iter().find(|part| part.kind == Kind::Lock).expect("a lock");
        assert_eq!((&lock.who, ns_of(&told, Kind::Sleep)), (&HOLDER_NOT_SEEN, 0), "{told:?}");
        assert!(lock.ns == lock.unknown_ns && lock.ns >= 4_990_000, "{told:?}");
    }
}

#[test]
fn a_word_beside_may_be_of_the_same_lock_and_one_elsewhere_is_not() {
    let told = awaited_parts(&wakes_by(123));
    let unseen = told.iter().find(|part| part.who == ENDER_NOT_SEEN).expect("nobody is named");
    assert!(unseen.ns == unseen.unknown_ns && unseen.ns >= 4_990_000, "{told:?}");
    assert_eq!(ns_of(&told, Kind::Sleep) + ns_of(&told, Kind::Lock), 0, "{told:?}");
    let told = awaited_parts(&wakes_by(300));
    assert!(ns_of(&told, Kind::Sleep) >= 4_990_000, "{told:?}");
}

/// After a sleep of its own, a server polls the only connection that it accepted up to a limit, as a loop with a tick does: nothing tells that a request was
/// waiting.
#[test]
fn a_limit_that_is_over_after_a_servers_own_timer_makes_no_request_late() {
    const ACCEPTED: u32 = 4;
    const CONNECTED: u32 = 5;
    for (sleeper, descriptor, accepted, expected) in [
        (Call::Poll, Some(ONE_POLLED), vec![ACCEPTED], true),
        (Call::Poll, None, vec![ACCEPTED], true),
        (Call::Read, Some(ACCEPTED), vec![ACCEPTED], true),
        (Call::Read, Some(CONNECTED), vec![ACCEPTED], false),
        (Call::Write, None, vec![ACCEPTED], false),
        (Call::Poll, Some(ONE_POLLED), Vec::new(), false),
    ] {
        let mut story = Story::new(HOLDER, 5_000);
        story.episode.stage = Stage::Request;
        (story.episode.accepted, story.episode.connected) = (accepted.clone(), vec![CONNECTED]);
        story.switch(510, VICTIM_RUNS, WAITS, 1).switch(520, IDLE, WAITS, 0);
        let slept = WaitEnd { sleeper: Call::Sleep, waker: None, ..READ };
        timer_wakes(&mut story, 1_003, VICTIM, slept.bits() | 19);
        story.switch(1_010, VICTIM_RUNS, 0, 1).switch(1_300, IDLE, WAITS, 0);
        let limited = WaitEnd { sleeper, waker: None, descriptor, ..READ };
        timer_wakes(&mut story, 4_100, VICTIM, limited.bits() | 19);
        story.switch(4_105, VICTIM_RUNS, 0, 1).switch(5_000, IDLE, WAITS, 0);
        let told = parts(&story.episode);
        let is_not_seen = told.iter().any(|part| part.kind == Kind::Wait && part.who == ENDER_NOT_SEEN);
        let case = format!("{sleeper:?} {descriptor:?} {accepted:?}: {told:?}");
        assert_eq!((told.iter().any(is_untold), is_not_seen), (expected, !expected), "{case}");
    }
}
