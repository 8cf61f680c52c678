//! Waits for a word in memory that are given up after a time and begun again, as for Python's lock: whoever ends the last of them was
//! waited for.

use crate::support::{INTERRUPT, Story, VICTIM, awaited_parts};
use punctual_blame::{Kind, Part};
use punctual_recording::episode::{EventKind, LockWaking, WakingAct, WordState};
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
