//! One place for what several bring: a thread asks a store, and is told news there meanwhile by one to whom it says that it took them.

use crate::beginnings::timer_wakes;
use crate::support::{ENDER_NOT_SEEN, NOTHING_TOLD, Story, VICTIM, VICTIM_RUNS, added_up};
use punctual_blame::{Kind, Split, Who};
use punctual_recording::episode::{Call, EventKind, LockWaking, WaitEnd, WakingAct, WordState};
use punctual_recording::{Episode, Stage};

/// `other`, which is asked at first.
const STORE: (u32, i16) = (7, 120);
/// `first`, which brings news, or keeps time limits.
const FEED: (u32, i16) = (9, 120);
const IDLE: (u32, i16) = (0, 120);
const WAITS: u32 = 1;
const WRITTEN: WaitEnd = WaitEnd { sleeper: Call::Read, waker: Some(Call::Write), ..NOTHING_TOLD };

fn word(act: WakingAct, place: u32) -> u64 {
    LockWaking { act, same_word: Some(true), state: WordState::NoLock, place, owner: 0 }.bits()
}

/// Out of what the late thread waits: a word, one descriptor, several.
fn places() -> [u64; 3] {
    let read = WaitEnd { descriptor: Some(5), ..WRITTEN };
    let poll = WaitEnd { sleeper: Call::Poll, ..WRITTEN };
    [word(WakingAct::WakesWord, 10), read.bits(), poll.bits()]
}

fn wakes(story: &mut Story, at_us: u64, tid: u32, bits: u64) {
    let name = if story.current == FEED { 3 } else { 2 };
    story.event(at_us, EventKind::Waking, 0, u64::from(tid), bits | 120, name);
}

/// The feed's news, which the late thread takes; it wakes the feed to say so, which then sleeps again.
fn news(story: &mut Story, at_us: u64, place: u64) {
    timer_wakes(story, at_us - 20, FEED.0, WaitEnd { sleeper: Call::Sleep, waker: None, ..WRITTEN }.bits() | 120);
    story.switch(at_us - 10, FEED, 0, 3);
    wakes(story, at_us, VICTIM, place);
    story.switch(at_us + 5, VICTIM_RUNS, WAITS, 1);
    wakes(story, at_us + 10, FEED.0, WRITTEN.bits());
    story.switch(at_us + 20, FEED, WAITS, 3).switch(at_us + 30, STORE, WAITS, 2);
}

/// The store is asked, or at work all the while; news come twice; the store answers at 4,000 us, or had when the late thread looks.
fn request(place: u64, is_asked: bool, answers: bool) -> Episode {
    let mut story = Story::new(IDLE, 5_000);
    story.episode.stage = Stage::Request;
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    if is_asked {
        wakes(&mut story, 1_100, STORE.0, WRITTEN.bits());
    }
    story.switch(1_200, STORE, WAITS, 2);
    news(&mut story, 2_100, place);
    news(&mut story, 3_100, place);
    if answers {
        wakes(&mut story, 4_000, VICTIM, place);
        story.switch(4_005, VICTIM_RUNS, 0, 1);
    } else {
        // They ran side by side, and what ends this wait is the next request's.
        story.switch(4_990, VICTIM_RUNS, 0, 1);
    }
    story.switch(5_000, IDLE, WAITS, 0);
    story.episode
}

fn waited_for(split: &Split, who: &Who) -> u64 {
    split.parts.iter().filter(|part| part.kind == Kind::Wait && part.who == *who).map(|part| part.ns).sum()
}

#[test]
fn news_that_are_acknowledged_are_not_what_was_waited_for() {
    for place in places() {
        let told = added_up(&request(place, true, true));
        assert_eq!(waited_for(&told, &"first".into()), 0, "{:?}", told.parts);
        assert!(waited_for(&told, &"other".into()) > 2_000_000, "{:?}", told.parts);
    }
}

#[test]
fn nobody_is_named_who_brought_news_while_another_one_was_at_work() {
    for place in places() {
        // Nobody had to wake it to ask it.
        let told = added_up(&request(place, false, true));
        assert_eq!(waited_for(&told, &"first".into()), 0, "{:?}", told.parts);
    }
    // The answer came while the late thread took the news: nothing tells.
    let told = added_up(&request(places()[1], true, false));
    assert_eq!(waited_for(&told, &"first".into()), 0, "{:?}", told.parts);
    assert!(waited_for(&told, &ENDER_NOT_SEEN) > 800_000, "{:?}", told.parts);
}

/// One thread keeps limits, another one works, for the late thread or not; out of which call a timer wakes the first.
fn given_up(is_asked: bool, call: Call) -> Episode {
    let mut story = Story::new(IDLE, 5_000);
    (story.episode.stage, story.episode.has_period) = (Stage::Request, true);
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    if is_asked {
        wakes(&mut story, 1_100, STORE.0, WRITTEN.bits());
    }
    wakes(&mut story, 1_110, FEED.0, WRITTEN.bits());
    story.switch(1_200, FEED, WAITS, 3).switch(1_230, STORE, WAITS, 2);
    let limit = match call {
        Call::Futex => word(WakingAct::Else, 40),
        call => WaitEnd { sleeper: call, waker: None, ..WRITTEN }.bits(),
    };
    timer_wakes(&mut story, 4_000, FEED.0, limit | 120);
    story.switch(4_010, FEED, 0, 3);
    wakes(&mut story, 4_020, VICTIM, word(WakingAct::WakesWord, 10));
    story.switch(4_025, VICTIM_RUNS, WAITS, 1).switch(5_000, STORE, WAITS, 2);
    story.episode
}

#[test]
fn who_gives_a_wait_up_at_a_limit_did_not_hold_it_up() {
    for call in [Call::Futex, Call::Poll] {
        let told = added_up(&given_up(true, call));
        assert_eq!(waited_for(&told, &"first".into()), 0, "{call:?}: {:?}", told.parts);
        assert!(waited_for(&told, &ENDER_NOT_SEEN) > 2_700_000, "{call:?}: {:?}", told.parts);
    }
    // One that sleeps as it serves; and the only one that was asked.
    for episode in [given_up(true, Call::Sleep), given_up(false, Call::Futex)] {
        let told = added_up(&episode);
        assert!(waited_for(&told, &"first".into()) > 2_700_000, "{:?}", told.parts);
    }
}
