//! Requests of a thread that sleeps before or after it has answered: a sleep that may come after the answer is told apart.

use crate::beginnings::{STORE, Way, timer_wakes, wakes};
use crate::support::requests::{IDLE, READ, WAITS, parts};
use crate::support::{Story, VICTIM, VICTIM_RUNS};
use punctual_blame::Kind;
use punctual_recording::episode::{Call, EventKind, IN_SOFTIRQ, Sender, WaitEnd};
use punctual_recording::{Episode, Stage};

/// `first` asks.
const CLIENT: (u32, i16) = (8, 120);
const NET_RX: u64 = 3;

/// The late thread, which is current, wakes another one.
fn tells(story: &mut Story, at_us: u64, way: Way, tid: u32) {
    if way != Way::Tcp {
        story.event(at_us, EventKind::Waking, 0, u64::from(tid), READ.bits() | 120, 1);
        return;
    }
    let end = WaitEnd { sender: Sender::Thread(VICTIM), ..READ };
    story.event(at_us - 2, EventKind::SoftirqBegin, IN_SOFTIRQ, NET_RX, 0, 4);
    story.event(at_us, EventKind::Waking, IN_SOFTIRQ, u64::from(tid), end.bits() | 120, 1);
    story.event(at_us + 1, EventKind::SoftirqEnd, IN_SOFTIRQ, NET_RX, 0, 4);
}

/// Somebody asks at 1,000 us, by this way, and the late thread goes to work. The story ends at 5,000 us.
fn asked(way: Way) -> Story {
    let mut story = Story::new(CLIENT, 5_000);
    story.episode.stage = Stage::Request;
    wakes(&mut story, 1_000, way, 3);
    story.switch(1_010, VICTIM_RUNS, WAITS, 1);
    story
}

/// Somebody asks at 1,000 us. The late thread sleeps from 1,300 us to 4,000 us, and wakes these before and these afterwards.
pub(crate) fn slept(way: Way, before: &[u32], afterwards: &[u32]) -> Episode {
    let mut story = asked(way);
    for (at_us, tid) in (1_100..).step_by(10).zip(before) {
        tells(&mut story, at_us, way, *tid);
    }
    story.switch(1_300, IDLE, WAITS, 0);
    let end = WaitEnd { sleeper: Call::Sleep, waker: None, ..READ };
    timer_wakes(&mut story, 4_000, VICTIM, end.bits() | 19);
    story.switch(4_010, VICTIM_RUNS, 0, 1);
    for (at_us, tid) in (4_500..).step_by(10).zip(afterwards) {
        tells(&mut story, at_us, way, *tid);
    }
    story.switch(5_000, IDLE, WAITS, 0);
    story.episode
}

#[test]
fn a_sleep_after_whoever_asked_was_woken_may_come_after_the_answer() {
    let (client, store) = (CLIENT.0, STORE.0);
    let mut cases = 0;
    for way in [Way::Tcp, Way::Pipe, Way::Queue] {
        for (before, afterwards, expected, what) in [
            (&[client][..], &[][..], true, "it answers, and sleeps"),
            (&[store, client], &[], true, "it asks and answers, and sleeps"),
            (&[], &[client], false, "it sleeps, and answers"),
            (&[client], &[client], false, "the first may have been a part of the answer"),
            (&[client], &[store], false, "another one may hand on the answer"),
            (&[store], &[], false, "whoever asked has no answer yet"),
            (&[], &[], false, "nobody is woken"),
        ] {
            let found = parts(&slept(way, before, afterwards));
            let sleeps: Vec<_> = found.iter().filter(|part| part.kind == Kind::Sleep).collect();
            let [sleep] = sleeps[..] else { panic!("{what} by {way:?}: {found:?}") };
            assert!(sleep.ns > 2_500_000, "{what} by {way:?}: {sleep:?}");
            assert_eq!(sleep.who.is_maybe_after_answer(), expected, "{what} by {way:?}: {sleep:?}");
            cases += 1;
        }
    }
    assert_eq!(cases, 21);
}

/// An answer to whoever does not wait for it wakes nobody.
#[test]
fn a_sleep_of_one_that_was_asked_by_a_connection_and_woke_nobody_may_come_after_the_answer() {
    let store = STORE.0;
    let mut cases = 0;
    for way in [Way::Tcp, Way::Pipe] {
        for (is_asked_for, before, afterwards, expected) in [
            (true, &[][..], &[][..], true),
            (true, &[], &[CLIENT.0], false),
            (true, &[store], &[], false),
            (false, &[], &[], false),
        ] {
            let mut episode = slept(way, before, afterwards);
            episode.is_asked_for = is_asked_for;
            let found = parts(&episode);
            let sleep = found.iter().find(|part| part.kind == Kind::Sleep).expect("it slept");
            let case = format!("{way:?} {is_asked_for} {before:?} {afterwards:?}: {sleep:?}");
            assert_eq!(sleep.who.is_maybe_after_answer(), expected, "{case}");
            cases += 1;
        }
    }
    assert_eq!(cases, 8);
}

/// Somebody asks at 1,000 us. The late thread works until 5,000 us, and wakes these meanwhile.
fn worked(way: Way, told: &[(u64, u32)]) -> Episode {
    let mut story = asked(way);
    for (at_us, tid) in told {
        tells(&mut story, *at_us, way, *tid);
    }
    story.switch(5_000, IDLE, WAITS, 0);
    story.episode
}

#[test]
fn what_a_server_works_after_whoever_asked_was_woken_in_time_may_come_after_the_answer() {
    let (client, store) = (CLIENT.0, STORE.0);
    let mut cases = 0;
    for way in [Way::Tcp, Way::Pipe, Way::Queue] {
        for (told, threshold_us, since_us, what) in [
            (&[(1_500, client)][..], 2_000, Some(1_500), "it answers, and works on"),
            (&[(1_200, store), (1_500, client)], 2_000, Some(1_500), "it tells another one first"),
            (&[(1_500, client), (2_500, client)], 2_000, Some(2_500), "an answer of two parts"),
            (&[(4_500, client)], 2_000, None, "the answer was late"),
            (&[(1_500, client), (4_500, store)], 2_000, None, "another one may hand on the answer"),
            (&[(1_500, store)], 2_000, None, "whoever asked has no answer yet"),
            (&[], 2_000, None, "nobody is woken"),
            (&[(1_500, client)], 3_900, None, "it is late with the rest of the answer alone, if at all"),
        ] {
            let mut episode = worked(way, told);
            episode.threshold_ns = threshold_us * 1_000;
            let found = parts(&episode);
            let after: u64 = found.iter().filter(|part| part.who.is_maybe_after_answer()).map(|part| part.ns).sum();
            // By a queue, whoever hands on what is to be done need not wait for that.
            let since_us = since_us.filter(|_| way != Way::Queue);
            let expected_ns: u64 = since_us.map_or(0, |since_us: u64| (5_000 - since_us) * 1_000);
            assert!(expected_ns.abs_diff(after) < 5_000, "{what} by {way:?}: {found:?}");
            assert!(found.iter().all(|part| part.kind == Kind::Own || !part.who.is_maybe_after_answer()));
            cases += 1;
        }
    }
    assert_eq!(cases, 24);
}

/// A pipe that is read has room again: that wakes whoever waited to write, and is no answer.
#[test]
fn whoever_waited_to_write_was_not_answered() {
    for (sleeper, expected) in [(Call::Read, true), (Call::Poll, true), (Call::Write, false)] {
        let mut episode = worked(Way::Pipe, &[(1_500, CLIENT.0)]);
        episode.threshold_ns = 2_000_000;
        for event in episode.events.iter_mut().filter(|event| event.at_ns == 1_500_000) {
            event.extra = WaitEnd { sleeper, ..READ }.bits() | 120;
        }
        let found = parts(&episode);
        assert_eq!(found.iter().any(|part| part.who.is_maybe_after_answer()), expected, "{sleeper:?}: {found:?}");
    }
}
