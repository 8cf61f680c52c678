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

/// Somebody asks at 1,000 us. The late thread sleeps from 1,300 us to 4,000 us, and wakes these before and these afterwards.
pub(crate) fn slept(way: Way, before: &[u32], afterwards: &[u32]) -> Episode {
    let mut story = Story::new(CLIENT, 5_000);
    story.episode.stage = Stage::Request;
    wakes(&mut story, 1_000, way, 3);
    story.switch(1_010, VICTIM_RUNS, WAITS, 1);
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
