//! A thread that is stopped while it waits: until what it waits for came it waited, and only then was it stopped.

use crate::support::{INTERRUPT, NOTHING_TOLD, Story, VICTIM, VICTIM_RUNS, added_up, lets_go};
use punctual_blame::Kind;
use punctual_recording::episode::{
    Call, EventKind, IN_SOFTIRQ, LEFT_FOR_LOCK, LEFT_FOR_SPINLOCK, LEFT_FROZEN, LEFT_STOPPED, LEFT_TRACED, LockWaking,
    Sender, WaitEnd, WakingAct,
};
use punctual_recording::{Episode, Stage};

const IDLE: (u32, i16) = (0, 120);
const SERVER: (u32, i16) = (7, 120);
const STOPPER: (u32, i16) = (9, 120);
/// Asleep so that a signal would wake it.
const WAITS: u32 = 1;
const READ: WaitEnd = WaitEnd { sleeper: Call::Read, waker: Some(Call::Write), ..NOTHING_TOLD };
const SIGNAL: WaitEnd = WaitEnd { waker: Some(Call::Other), signals: true, ..READ };

fn wakes(story: &mut Story, at_us: u64, tid: u32, bits: u64) {
    let name = if story.current == STOPPER { 3 } else { 2 };
    story.event(at_us, EventKind::Waking, 0, u64::from(tid), bits | 19, name);
}

/// A request that asks the server at 1,100 us, waits from 1,500 on, and is stopped from 2,010 to 4,000: the server runs until the stop
/// at 2,000, and from 2,015 on.
fn stopped(stop: u64, left_state: u32, asks: bool, then: impl FnOnce(&mut Story)) -> Episode {
    let mut story = Story::new(IDLE, 7_000);
    story.episode.stage = Stage::Request;
    story.switch(500, IDLE, 0, 0);
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    if asks {
        wakes(&mut story, 1_100, SERVER.0, READ.bits());
    }
    story.switch(1_500, SERVER, WAITS, 2);
    story.switch(1_990, STOPPER, 0, 3);
    let frozen = left_state & (LEFT_STOPPED | LEFT_TRACED) == 0;
    if !frozen {
        story.event(1_999, EventKind::StopAsked, 0, u64::from(VICTIM), 19 << 32, 3);
    }
    wakes(&mut story, 2_000, VICTIM, stop);
    story.switch(2_005, VICTIM_RUNS, 0, 1);
    story.switch(2_010, SERVER, left_state, 2);
    then(&mut story);
    story.switch(7_000, IDLE, WAITS, 0);
    story.episode
}

/// What was said, by time: kind, name, us, but the moments in which the thread itself runs or waits for its CPU.
fn told(episode: &Episode) -> Vec<(Kind, String, u64)> {
    let split = added_up(episode);
    let waits = split.pieces.iter().filter(|piece| matches!(piece.kind, Kind::Wait | Kind::Lock | Kind::Stopped));
    let mut told: Vec<(Kind, String, u64)> = Vec::new();
    for piece in waits {
        let (name, us) = (piece.who.name().to_owned(), piece.ns / 1_000);
        match told.last_mut().filter(|last| last.0 == piece.kind && last.1 == name) {
            Some(last) => last.2 += us,
            None => told.push((piece.kind, name, us)),
        }
    }
    told
}

fn is(kind: Kind, name: &str, us: u64) -> (Kind, String, u64) {
    (kind, name.to_owned(), us)
}

/// It goes on at 4,000 us.
fn goes_on(story: &mut Story) {
    story.switch(3_995, STOPPER, if story.current == SERVER { 0 } else { WAITS }, 3);
    wakes(story, 4_000, VICTIM, SIGNAL.bits());
    story.switch(4_005, VICTIM_RUNS, 0, 1);
}

/// Stops by a signal, by a tracer, by the freezer.
const STOPS: [(WaitEnd, u32); 3] = [(SIGNAL, LEFT_STOPPED), (READ, LEFT_TRACED), (READ, LEFT_FROZEN)];

#[test]
fn what_came_after_the_stop_was_waited_for_all_the_time() {
    for (stop, left_state) in STOPS {
        for asks in [true, false] {
            let episode = stopped(stop.bits(), left_state, asks, |story| {
                goes_on(story);
                story.switch(4_015, SERVER, WAITS, 2);
                wakes(story, 5_000, VICTIM, READ.bits());
                story.switch(5_005, VICTIM_RUNS, 0, 1);
            });
            let told = told(&episode);
            assert_eq!(told, [is(Kind::Wait, "other", 500 + 1_990 + 985)], "{left_state:#x} {asks}");
        }
    }
}

/// With PREEMPT_RT it may sleep for one of the kernel's spin locks on its way to be stopped, which whoever stops it still has.
#[test]
fn a_spin_lock_on_the_way_to_a_stop_ends_no_wait() {
    for (stop, left_state) in STOPS {
        let mut episode = stopped(stop.bits(), left_state, true, |story| {
            goes_on(story);
            story.switch(4_015, SERVER, WAITS, 2);
            wakes(story, 5_000, VICTIM, READ.bits());
            story.switch(5_005, VICTIM_RUNS, 0, 1);
        });
        let mut sleeps = Story::new(VICTIM_RUNS, 7_000);
        sleeps.switch(2_006, STOPPER, LEFT_FOR_SPINLOCK, 3);
        wakes(&mut sleeps, 2_007, VICTIM, 0);
        sleeps.switch(2_008, VICTIM_RUNS, 0, 1);
        let at = episode.events.partition_point(|event| event.at_ns < 2_006_000);
        episode.events.splice(at..at, sleeps.episode.events);
        assert_eq!(told(&episode), [is(Kind::Wait, "other", 500 + 1 + 1_990 + 985)], "{left_state:#x}");
    }
}

/// An interrupt that comes over the server leaves its softirqs to a thread, which is woken as it ends: the server has asked nobody.
#[test]
fn whom_an_interrupt_wakes_for_its_softirqs_is_not_asked() {
    for (name, who) in [("ktimers/0", Some("first")), ("worker", None)] {
        let episode = stopped(SIGNAL.bits(), LEFT_STOPPED, true, |story| {
            story.episode.names.push(name.to_owned());
            story.event(2_500, EventKind::Waking, 0, 15, 98, 2);
            story.switch(2_510, (15, 98), 0, 5).switch(2_520, SERVER, WAITS, 2);
            story.switch(3_000, IDLE, WAITS, 0);
            goes_on(story);
        });
        let stopped = told(&episode).into_iter().find(|(kind, ..)| *kind == Kind::Stopped);
        assert_eq!(stopped.as_ref().map(|(_, name, _)| name.as_str()), who, "{name}");
    }
}

#[test]
fn what_came_while_it_was_stopped_was_waited_for_until_then() {
    for (stop, left_state) in STOPS {
        let episode = stopped(stop.bits(), left_state, true, |story| {
            // Sleeps until it is asked anew.
            story.switch(3_000, IDLE, WAITS, 0);
            goes_on(story);
        });
        let who = match left_state {
            LEFT_FROZEN => "the freezer of its control group",
            // It goes on by a signal.
            LEFT_TRACED => "its tracer",
            _ => "first",
        };
        assert_eq!(told(&episode), [is(Kind::Wait, "other", 500 + 990), is(Kind::Stopped, who, 1_000)]);
    }
}

#[test]
fn where_it_is_not_seen_when_it_came_nobody_is_named() {
    let unseen = [is(Kind::Wait, "ender not seen", 500 + 1_990)];
    // Nobody was asked.
    let unasked = stopped(SIGNAL.bits(), LEFT_STOPPED, false, |story| {
        story.switch(3_000, IDLE, WAITS, 0);
        goes_on(story);
    });
    assert_eq!(told(&unasked), unseen);
    // The server is at work still, for whomever.
    assert_eq!(told(&stopped(SIGNAL.bits(), LEFT_STOPPED, true, goes_on)), unseen);
    // It asked somebody itself, who may have answered in its place.
    let asks_on = stopped(SIGNAL.bits(), LEFT_STOPPED, true, |story| {
        wakes(story, 2_500, 8, READ.bits());
        story.switch(3_000, IDLE, WAITS, 0);
        goes_on(story);
    });
    assert_eq!(told(&asks_on), unseen);
    // Another one asks it before the victim goes on.
    let for_others = stopped(SIGNAL.bits(), LEFT_STOPPED, true, |story| {
        story.switch(3_000, STOPPER, WAITS, 3);
        wakes(story, 3_100, SERVER.0, READ.bits());
        story.switch(3_110, SERVER, WAITS, 2);
        goes_on(story);
    });
    assert_eq!(told(&for_others), unseen);
    // A packet comes for it, or it looks after something else by itself.
    let comes = |context: u32, end: WaitEnd| {
        stopped(SIGNAL.bits(), LEFT_STOPPED, true, |story| {
            story.switch(3_000, IDLE, WAITS, 0);
            story.event(3_098, EventKind::VectorBegin, INTERRUPT, 1, 0, 0);
            story.event(3_099, EventKind::TimerBegin, INTERRUPT, 0, 3_099_000, 4);
            story.event(3_100, EventKind::Waking, context, u64::from(SERVER.0), end.bits() | 120, 0);
            story.event(3_101, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
            story.event(3_102, EventKind::VectorEnd, INTERRUPT, 1, 0, 0);
            story.switch(3_110, SERVER, 0, 2).switch(3_500, IDLE, WAITS, 0);
            goes_on(story);
        })
    };
    let packet = WaitEnd { sender: Sender::NoThread, ..READ };
    assert_eq!(told(&comes(IN_SOFTIRQ, packet)), unseen);
    assert_eq!(told(&comes(INTERRUPT, WaitEnd { sleeper: Call::Poll, ..READ })), unseen);
    // A sleep for some time belongs to its work.
    let sleeps = comes(INTERRUPT, WaitEnd { sleeper: Call::Sleep, ..READ });
    assert_eq!(told(&sleeps), [is(Kind::Wait, "other", 500 + 1_490), is(Kind::Stopped, "first", 500)]);
}

/// Whoever is told things, as one who writes a log, owes no answer: before, another one gave that.
#[test]
fn who_is_only_told_things_was_not_waited_for() {
    let mut episode = stopped(SIGNAL.bits(), LEFT_STOPPED, true, |story| {
        story.switch(3_000, IDLE, WAITS, 0);
        goes_on(story);
    });
    assert_eq!(told(&episode), [is(Kind::Wait, "other", 500 + 990), is(Kind::Stopped, "first", 1_000)]);
    let mut before = Story::new(VICTIM_RUNS, 7_000);
    wakes(&mut before, 100, SERVER.0, READ.bits());
    before.switch(110, (8, 120), WAITS, 4);
    wakes(&mut before, 300, VICTIM, READ.bits());
    before.switch(305, VICTIM_RUNS, 0, 1).switch(490, IDLE, WAITS, 0);
    episode.events.splice(0..0, before.episode.events);
    assert_eq!(told(&episode), [is(Kind::Wait, "ender not seen", 500 + 1_990)]);
}

#[test]
fn a_stop_that_interrupts_no_wait_is_a_stop() {
    // The server that was asked has answered, and then the thread is stopped.
    let answered = stopped(READ.bits(), LEFT_STOPPED, true, |story| {
        story.switch(3_000, IDLE, WAITS, 0);
        goes_on(story);
    });
    let mut by_server = answered;
    for event in by_server.events.iter_mut().filter(|event| (1_990_000..2_005_000).contains(&event.at_ns)) {
        if event.kind == EventKind::Switch {
            event.value = u64::from(SERVER.0);
        } else if event.kind == EventKind::Waking {
            (event.tid, event.name) = (SERVER.0, 2);
        }
    }
    let told = told(&by_server);
    assert_eq!(told.last(), Some(&is(Kind::Stopped, "first", 1_990)), "{told:?}");
    assert_eq!(told.first(), Some(&is(Kind::Wait, "other", 500)), "{told:?}");
}

#[test]
fn who_is_frozen_in_its_sleep_waited_until_what_it_waits_for_came() {
    let thaws = WaitEnd { thaws: true, ..READ };
    for asks in [true, false] {
        let mut story = Story::new(IDLE, 7_000);
        story.episode.stage = Stage::Request;
        story.timer(1_002, 0);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        if asks {
            wakes(&mut story, 1_100, SERVER.0, READ.bits());
        }
        story.switch(1_500, SERVER, WAITS, 2);
        story.switch(3_000, STOPPER, WAITS, 3);
        wakes(&mut story, 4_000, VICTIM, thaws.bits());
        story.switch(4_005, VICTIM_RUNS, 0, 1);
        story.switch(7_000, IDLE, WAITS, 0);
        let waited = [is(Kind::Wait, "other", 1_500), is(Kind::Stopped, "the freezer of its control group", 1_000)];
        match asks {
            true => assert_eq!(told(&story.episode), waited),
            false => assert_eq!(told(&story.episode), [is(Kind::Wait, "ender not seen", 2_500)]),
        }
    }
}

#[test]
fn several_stops_of_one_wait_are_one_wait() {
    let episode = stopped(SIGNAL.bits(), LEFT_STOPPED, true, |story| {
        goes_on(story);
        story.switch(4_015, SERVER, WAITS, 2);
        story.switch(4_490, STOPPER, 0, 3);
        story.event(4_499, EventKind::StopAsked, 0, u64::from(VICTIM), 19 << 32, 3);
        wakes(story, 4_500, VICTIM, SIGNAL.bits());
        story.switch(4_505, VICTIM_RUNS, 0, 1);
        story.switch(4_510, SERVER, LEFT_STOPPED, 2);
        story.switch(5_000, IDLE, WAITS, 0);
        story.switch(5_995, STOPPER, 0, 3);
        wakes(story, 6_000, VICTIM, SIGNAL.bits());
        story.switch(6_005, VICTIM_RUNS, 0, 1);
    });
    let waited = 500 + 1_990 + 485 + 490;
    assert_eq!(told(&episode), [is(Kind::Wait, "other", waited), is(Kind::Stopped, "first", 1_000)]);
}

#[test]
fn a_lock_that_may_change_hands_during_the_stop_has_no_holder() {
    let signal = |owner| LockWaking { act: WakingAct::Signals, same_word: None, owner, ..lets_go(77) }.bits();
    // Nobody knows who has a plain one; in a robust one stands who does, and it is that one who lets it go.
    for (owner, before, meanwhile) in [(0, "holder not seen", "holder not seen"), (SERVER.0, "other", "other")] {
        let mut episode = stopped(signal(owner), LEFT_STOPPED, false, |story| {
            goes_on(story);
            story.switch(4_015, SERVER, WAITS | LEFT_FOR_LOCK, 2);
            wakes(story, 5_000, VICTIM, lets_go(77).bits());
            story.switch(5_005, VICTIM_RUNS, 0, 1);
        });
        let sleeps = episode.events.iter_mut().find(|event| event.at_ns == 1_500_000).expect("it goes to sleep");
        sleeps.extra |= u64::from(LEFT_FOR_LOCK) << 32;
        let told = told(&episode);
        let by_name = |name: &str| told.iter().filter(|(_, of, _)| of == name).map(|(.., us)| us).sum::<u64>();
        assert!(told.iter().all(|(kind, ..)| *kind == Kind::Lock), "{told:?}");
        match owner {
            0 => assert_eq!((by_name(before), by_name("other")), (500 + 1_990, 985), "{told:?}"),
            _ => assert_eq!(by_name(meanwhile), 500 + 1_990 + 985, "{told:?}"),
        }
    }
}

/// As a forged recording may have them.
#[test]
fn many_stops_are_looked_through_in_a_bounded_time() {
    const STOPS: u64 = 4_000;
    let mut story = Story::new(IDLE, 50_000);
    story.episode.stage = Stage::Request;
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    story.switch(1_500, STOPPER, WAITS, 3);
    for stop in 0..STOPS {
        let at_us = 2_000 + 10 * stop;
        wakes(&mut story, at_us, VICTIM, SIGNAL.bits());
        story.switch(at_us + 1, VICTIM_RUNS, 0, 1);
        story.switch(at_us + 2, STOPPER, LEFT_STOPPED, 3);
        wakes(&mut story, at_us + 5, VICTIM, SIGNAL.bits());
        story.switch(at_us + 6, VICTIM_RUNS, 0, 1);
        story.switch(at_us + 7, STOPPER, WAITS, 3);
    }
    let told = told(&story.episode);
    assert!(told.iter().all(|(kind, name, _)| *kind != Kind::Wait || name == "ender not seen"), "{told:?}");
    assert!(told.iter().map(|(.., us)| us).sum::<u64>() >= 6 * STOPS, "{told:?}");
}
