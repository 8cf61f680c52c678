//! Requests that a signal or a stop begins, while the thread waits for its next one: nothing shows whether a request came meanwhile.

use crate::beginnings::{STORE, timer_wakes};
use crate::support::requests::{IDLE, READ, WAITS, parts, signalled};
use crate::support::{Story, VICTIM, VICTIM_RUNS};
use punctual_blame::{ANSWER_OR_REQUEST, Kind, Part};
use punctual_recording::episode::{Call, EventKind, LEFT_FROZEN, LEFT_STOPPED, WaitEnd};
use punctual_recording::{Episode, Stage};

const STOPPER: (u32, i16) = (8, 120);

/// The late thread waits for its next request until 1,000 us, when somebody wakes it with these bits; it leaves its CPU in this state then, is let go on
/// at 4,000 us, works for 300 us, wakes its client or not, sleeps until 4,800 us if so, and waits for its next request from 5,000 us on.
fn stopped(bits: u64, left_state: u32, leaves_us: u64, is_asked: bool) -> Episode {
    let mut story = Story::new(VICTIM_RUNS, 5_000);
    story.episode.stage = Stage::Request;
    (story.episode.is_asked_for, story.episode.waits_for_answers) = (true, true);
    story.switch(500, STOPPER, WAITS, 3);
    story.event(1_000, EventKind::Waking, 0, u64::from(VICTIM), bits | 19, 3);
    story.switch(1_010, VICTIM_RUNS, WAITS, 1).switch(leaves_us, STOPPER, left_state, 3);
    story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), signalled().bits() | 19, 3);
    story.switch(4_010, VICTIM_RUNS, WAITS, 1);
    if is_asked {
        story.event(4_200, EventKind::Waking, 0, u64::from(STORE.0), READ.bits() | 120, 1);
        story.switch(4_310, IDLE, WAITS, 0);
        timer_wakes(&mut story, 4_800, VICTIM, WaitEnd { sleeper: Call::Sleep, waker: None, ..READ }.bits() | 19);
        story.switch(4_810, VICTIM_RUNS, 0, 1);
    }
    story.switch(5_000, IDLE, WAITS, 0);
    story.episode
}

fn of(told: &[Part], is_it: impl Fn(&Part) -> bool) -> u64 {
    told.iter().filter(|part| is_it(part)).map(|part| part.ns).sum()
}

fn is_maybe(part: &Part) -> bool {
    part.who.is_maybe_without_request()
}

#[test]
fn a_stop_while_no_request_is_known_to_wait_is_told_apart() {
    let written = WaitEnd { sleeper: Call::Poll, ..READ }.bits();
    let mut cases = 0;
    for is_asked in [false, true] {
        for (bits, left_state, leaves_us, expected) in [
            (signalled().bits(), LEFT_STOPPED, 1_030, true),
            (signalled().bits(), LEFT_STOPPED, 1_130, true),
            // Whoever freezes a control group writes into a file.
            (written, LEFT_FROZEN, 1_030, true),
            // It was at work for a while.
            (written, LEFT_FROZEN, 1_130, false),
            // It was asked, and stopped just then.
            (written, LEFT_STOPPED, 1_030, false),
        ] {
            let told = parts(&stopped(bits, left_state, leaves_us, is_asked));
            let case = format!("{is_asked} {left_state:#x} {leaves_us}: {told:?}");
            // Whether it was stopped in the middle of its wait depends on what it does next.
            let untold_ns = of(&told, |part| match part.kind {
                Kind::Unknown => part.who.name() == ANSWER_OR_REQUEST,
                Kind::Stopped => is_maybe(part),
                _ => false,
            });
            assert_eq!((untold_ns >= 2_800_000, untold_ns > 0), (expected, expected), "{case}");
            // What it did from then on is its request.
            assert_eq!(of(&told, |part| part.kind == Kind::Sleep && !is_maybe(part)) > 0, is_asked, "{case}");
            cases += 1;
        }
    }
    assert_eq!(cases, 10);
}

/// The handler of a signal runs as the thread waits for its next request.
#[test]
fn work_after_a_signal_is_told_apart_until_the_thread_waits() {
    for (bits, expected) in [(signalled().bits(), true), (READ.bits(), false)] {
        let mut story = Story::new(VICTIM_RUNS, 5_000);
        story.episode.stage = Stage::Request;
        (story.episode.is_asked_for, story.episode.waits_for_answers) = (true, true);
        story.switch(500, STOPPER, WAITS, 3);
        story.event(1_000, EventKind::Waking, 0, u64::from(VICTIM), bits | 19, 3);
        story.switch(1_010, VICTIM_RUNS, WAITS, 1).switch(3_000, IDLE, WAITS, 0);
        timer_wakes(&mut story, 4_000, VICTIM, WaitEnd { sleeper: Call::Sleep, waker: None, ..READ }.bits() | 19);
        story.switch(4_010, VICTIM_RUNS, 0, 1).switch(5_000, IDLE, WAITS, 0);
        let told = parts(&story.episode);
        let maybe_ns = of(&told, |part| part.kind == Kind::Own && is_maybe(part));
        assert_eq!(maybe_ns, if expected { 1_990_000 } else { 0 }, "{told:?}");
        assert!(of(&told, |part| part.kind == Kind::Own && !is_maybe(part)) >= 980_000, "{told:?}");
    }
}
