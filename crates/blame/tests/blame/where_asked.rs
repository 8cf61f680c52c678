//! A worker that waits for all that it is told by one condition, also for the time limit of a task that it delays: whoever comes there with a request of its own
//! was not waited for.

use crate::beginnings::timer_wakes;
use crate::support::requests::{IDLE, READ, SERVER, WAITS, wait};
use crate::support::{ENDER_NOT_SEEN, Story, VICTIM, VICTIM_RUNS, on_cpu};
use punctual_blame::Kind;
use punctual_recording::episode::{EventKind, LockWaking, WaitEnd, WakingAct, WordState};
use punctual_recording::{Episode, Stage};

const STORE: (u32, i16) = (8, 120);
const OTHER_CLIENT: (u32, i16) = (9, 120);
/// By which words the worker is asked, the victim is answered, and others are.
const ASKED: u32 = 100;
const ANSWERED: u32 = 300;
const OTHERS: u32 = 500;

fn by_word(place: u32) -> u64 {
    LockWaking { act: WakingAct::WakesWord, same_word: Some(true), state: WordState::NoLock, place, owner: 0 }.bits()
}

fn by_pipe(descriptor: u32) -> u64 {
    WaitEnd { descriptor: Some(descriptor), ..READ }.bits()
}

fn wakes(story: &mut Story, at_us: u64, tid: u32, bits: u64) {
    let by = match story.current.0 {
        VICTIM => 1,
        7 => 2,
        8 => 3,
        _ => 5,
    };
    story.event(at_us, EventKind::Waking, 0, u64::from(tid), bits | 120, by);
}

/// What the worker waits for and does, between the question at 1,020 us and the answer at 4,800.
#[derive(Clone, Copy)]
struct Case {
    /// By what the victim asks, ...
    asked: u64,
    /// ... and what somebody ends the worker's wait by at 3,000 us, ...
    ended: u64,
    /// ... whoever that is, ...
    by: (u32, i16),
    /// ... whether that one was at work all the time, ...
    works: bool,
    /// ... and whether it wakes the victim as well, in vain.
    wakes_all: bool,
    /// Whom the worker wakes before that wait, ...
    asks: Option<u32>,
    /// ... and whom after it, by this word, before it answers.
    tells: Option<(u32, u32)>,
}

const SERVED: Case = Case {
    asked: 0,
    ended: 0,
    by: OTHER_CLIENT,
    works: false,
    wakes_all: false,
    asks: None,
    tells: Some((OTHER_CLIENT.0, OTHERS)),
};

fn request(case: Case) -> Episode {
    let mut story = Story::new(IDLE, 5_000);
    story.episode.stage = Stage::Request;
    story.episode.names.push("client".into());
    story.timer(1_002, 0).switch(1_010, VICTIM_RUNS, 0, 1);
    wakes(&mut story, 1_020, SERVER.0, case.asked);
    story.switch(1_030, SERVER, WAITS, 2);
    if let Some(tid) = case.asks {
        wakes(&mut story, 1_040, tid, by_word(OTHERS));
    }
    story.switch(1_050, IDLE, WAITS, 0);
    if case.works {
        on_cpu(&mut story, 1, case.by, |story| {
            wakes(story, 3_000, SERVER.0, case.ended);
            story.switch(3_005, IDLE, WAITS, 0);
        });
    } else if case.by == IDLE {
        timer_wakes(&mut story, 3_000, SERVER.0, case.ended | 120);
    } else {
        timer_wakes(&mut story, 2_900, case.by.0, by_pipe(4) | 120);
        story.switch(2_910, case.by, 0, if case.by == STORE { 3 } else { 5 });
        if case.wakes_all {
            story.event(2_998, EventKind::Waking, 0, u64::from(VICTIM), by_word(ANSWERED) | 19, 5);
        }
        wakes(&mut story, 3_000, SERVER.0, case.ended);
    }
    if case.wakes_all {
        story.switch(3_004, VICTIM_RUNS, 0, 1).switch(3_008, IDLE, WAITS, 0);
    }
    story.switch(3_010, SERVER, if case.works || case.wakes_all || case.by == IDLE { 0 } else { WAITS }, 2);
    if let Some((tid, place)) = case.tells {
        wakes(&mut story, 4_500, tid, by_word(place));
    }
    story.event(4_800, EventKind::Waking, 0, u64::from(VICTIM), by_word(ANSWERED) | 19, 2);
    story.switch(4_810, VICTIM_RUNS, WAITS, 1).switch(5_000, IDLE, WAITS, 0);
    story.episode
}

/// Whom the worker waited for, if it did: its wait is from 1,050 to 3,000 us.
fn waited_for(case: Case) -> Option<String> {
    let of_worker = wait(&request(case));
    assert_eq!(of_worker.who.name(), "other", "{of_worker:?}");
    let its = of_worker.inside.iter().find(|inside| inside.kind == Kind::Wait);
    its.map(|its| its.who.name().to_owned())
}

#[test]
fn whoever_asks_a_worker_where_it_waits_was_not_waited_for() {
    let nobody = || Some(ENDER_NOT_SEEN.name().to_owned());
    let client = || Some("client".to_owned());
    let store = || Some("first".to_owned());
    let (asked, read) = (by_word(ASKED), by_pipe(6));
    let served = Case { asked, ended: asked, ..SERVED };
    let asks_store = Case { by: STORE, asks: Some(STORE.0), ..served };
    for (case, expected, what) in [
        (served, nobody(), "it is served, and then the victim is"),
        (Case { asked: read, ended: read, ..SERVED }, nobody(), "the same by a pipe"),
        (Case { tells: None, ..served }, nobody(), "nobody tells it that its task is done"),
        (Case { ended: by_word(ASKED + 1), ..served }, nobody(), "a condition has two words"),
        (Case { tells: None, ..asks_store }, store(), "a store that it asked"),
        (Case { tells: Some((STORE.0, OTHERS)), ..asks_store }, nobody(), "and told again"),
        (Case { ended: by_word(ASKED + 40), ..served }, client(), "somewhere else"),
        (Case { ended: by_pipe(7), ..served }, client(), "by a pipe of its own"),
        (Case { tells: Some((OTHER_CLIENT.0, ASKED)), ..served }, nobody(), "one condition for all that happens"),
        (Case { works: true, tells: Some((OTHER_CLIENT.0, ASKED)), ..served }, client(), "a lock that it lets go"),
        (Case { works: true, ..served }, nobody(), "it works, and asks"),
        (Case { wakes_all: true, ..served }, nobody(), "it wakes all that wait for the one condition"),
    ] {
        assert_eq!(waited_for(case), expected, "{what}");
    }
}

/// Its task is due by that limit, and nobody else came.
#[test]
fn a_worker_that_waits_up_to_a_limit_where_it_is_asked_sleeps() {
    let told = wait(&request(Case { asked: by_word(ASKED), ended: by_word(ASKED), by: IDLE, tells: None, ..SERVED }));
    assert_eq!(told.unknown_ns, 0, "{told:?}");
    assert!(told.inside.iter().any(|inside| inside.kind == Kind::Sleep && inside.ns > 1_900_000), "{told:?}");
}

/// The worker serves the other client as the victim asks it, so that nothing wakes it then; then it asks the store, which answers where that client asks as well.
#[test]
fn a_worker_that_was_busy_as_it_was_asked_is_asked_where_others_ask_it() {
    // Where only one was seen to tell it things, that may be how it is answered; but the store had been asked, too, and was at work.
    for is_shared in [true, false] {
        let mut story = Story::new(IDLE, 5_000);
        story.episode.stage = Stage::Request;
        story.episode.names.push("client".into());
        let mailbox = by_word(ASKED);
        on_cpu(&mut story, 1, OTHER_CLIENT, |story| {
            wakes(story, 800, SERVER.0, mailbox);
            story.switch(810, SERVER, WAITS, 2);
            wakes(story, 1_200, OTHER_CLIENT.0, by_word(OTHERS));
            wakes(story, 1_210, STORE.0, by_word(OTHERS + 40));
            story.switch(1_220, IDLE, WAITS, 0);
            timer_wakes(story, 1_990, OTHER_CLIENT.0, by_pipe(4) | 120);
            story.switch(1_995, OTHER_CLIENT, 0, 5);
            wakes(story, 2_000, SERVER.0, mailbox);
            story.switch(2_010, SERVER, WAITS, 2);
            wakes(story, 2_200, OTHER_CLIENT.0, by_word(OTHERS));
            story.switch(2_210, STORE, WAITS, 3);
            wakes(story, 4_000, SERVER.0, if is_shared { mailbox } else { by_word(ASKED + 40) });
            story.switch(4_010, SERVER, WAITS, 2);
            story.event(4_100, EventKind::Waking, 0, u64::from(VICTIM), by_word(ANSWERED) | 19, 2);
            story.switch(4_110, IDLE, WAITS, 0);
        });
        story.timer(1_002, 0).switch(1_010, VICTIM_RUNS, 0, 1);
        story.switch(1_030, IDLE, WAITS, 0).switch(4_110, VICTIM_RUNS, 0, 1).switch(5_000, IDLE, WAITS, 0);
        let told = wait(&story.episode);
        let first = told.inside.iter().filter(|inside| inside.kind == Kind::Wait).max_by_key(|inside| inside.ns);
        assert_eq!(first.map(|first| first.who.name()), Some("first"), "{told:?}");
        let is_named = told.inside.iter().any(|inside| inside.kind == Kind::Wait && inside.who.name() == "client");
        assert!(!is_named, "{is_shared}: {told:?}");
    }
}
