//! Requests of a thread that waits for other threads at both ends: whether a wait was for an answer or for the next request.
//! Nobody is named where nothing tells.

use crate::support::requests::{IDLE, READ, WAITS, parts, signalled};
use crate::support::{INTERRUPT, Story, VICTIM, VICTIM_RUNS, in_words};
use punctual_blame::{ANSWER_OR_REQUEST, Kind, Part};
use punctual_recording::episode::{
    Call, EventKind, IN_SOFTIRQ, LockWaking, ONE_POLLED, Process, Sender, WaitEnd, WakingAct, WordState,
};
use punctual_recording::{Episode, Stage};

/// `first` sends the requests, or is the one whose answer is taken for a request.
pub(crate) const CLIENT: (u32, i16) = (8, 120);
/// `other` is waited for within the request.
pub(crate) const STORE: (u32, i16) = (7, 120);
/// A word that all who hand over work share.
const WORD: u32 = 10;
const NET_RX: u64 = 3;

/// By what two threads speak to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// What is sent is delivered by a softirq.
    Tcp,
    /// A pipe, or a Unix socket.
    Pipe,
    /// A queue in memory.
    Queue,
}

const WAYS: [Way; 3] = [Way::Tcp, Way::Pipe, Way::Queue];

pub(crate) fn word(act: WakingAct) -> u64 {
    LockWaking { act, same_word: Some(true), state: WordState::NoLock, place: WORD, owner: 0 }.bits()
}

/// The current thread, whose name has this number, wakes the late one.
pub(crate) fn wakes(story: &mut Story, at_us: u64, way: Way, name: u32) {
    match way {
        Way::Tcp => {
            let end = WaitEnd { sender: Sender::Thread(story.current.0), ..READ };
            story.event(at_us - 2, EventKind::SoftirqBegin, IN_SOFTIRQ, NET_RX, 0, 4);
            story.event(at_us, EventKind::Waking, IN_SOFTIRQ, u64::from(VICTIM), end.bits() | 19, name);
            story.event(at_us + 1, EventKind::SoftirqEnd, IN_SOFTIRQ, NET_RX, 0, 4);
        }
        Way::Pipe => {
            story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, name);
        }
        Way::Queue => {
            let bits = word(WakingAct::WakesWord);
            story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), bits | 19, name);
        }
    }
}

/// A timer's interrupt wakes a thread; `bits` tell out of which wait, and its priority.
pub(crate) fn timer_wakes(story: &mut Story, at_us: u64, tid: u32, bits: u64) {
    story.event(at_us - 4, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
    story.event(at_us - 3, EventKind::TimerBegin, INTERRUPT, 0, (at_us - 3) * 1_000, 4);
    story.event(at_us, EventKind::Waking, INTERRUPT, u64::from(tid), bits, 0);
    story.event(at_us + 1, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
    story.event(at_us + 2, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
}

fn slept() -> u64 {
    WaitEnd { sleeper: Call::Sleep, waker: None, ..READ }.bits() | 120
}

/// What whoever begins the request did before.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Before {
    /// It was answered, or asked, by the late thread.
    Woken,
    /// It slept: a client pauses, or a store is slow.
    Slept,
    /// Nothing was seen.
    NotSeen,
}

const BEFORE: [Before; 3] = [Before::Woken, Before::Slept, Before::NotSeen];

/// Somebody wakes the late thread at 1,000 us. From 1,300 us on that waits for somebody else, whom it woke before or not, who sleeps until
/// 4,000 us or works all the time, and wakes it at 4,100 us.
pub(crate) fn served(way: Way, before: Before, wakes_it: bool, sleeps: bool) -> Episode {
    let begun_by = if matches!(before, Before::NotSeen) { CLIENT } else { VICTIM_RUNS };
    let mut story = Story::new(begun_by, 5_000);
    story.episode.stage = Stage::Request;
    match before {
        Before::Woken => {
            story.event(700, EventKind::Waking, 0, u64::from(CLIENT.0), READ.bits() | 120, 1);
            story.switch(710, CLIENT, WAITS, 3);
        }
        Before::Slept => {
            story.switch(600, IDLE, WAITS, 0);
            timer_wakes(&mut story, 700, CLIENT.0, slept());
            story.switch(710, CLIENT, 0, 3);
        }
        Before::NotSeen => {}
    }
    wakes(&mut story, 1_000, way, 3);
    story.switch(1_010, VICTIM_RUNS, WAITS, 1);
    waits_for_store(&mut story, way, wakes_it, sleeps);
    story.episode
}

fn waits_for_store(story: &mut Story, way: Way, wakes_it: bool, sleeps: bool) {
    if wakes_it {
        story.event(1_200, EventKind::Waking, 0, u64::from(STORE.0), READ.bits() | 120, 1);
    }
    story.switch(1_300, STORE, WAITS, 2);
    if sleeps {
        story.switch(1_400, IDLE, WAITS, 0);
        timer_wakes(story, 4_000, STORE.0, slept());
        story.switch(4_010, STORE, 0, 2);
    }
    wakes(story, 4_100, way, 2);
    story.switch(4_105, VICTIM_RUNS, 0, 1);
    story.switch(5_000, IDLE, WAITS, 0);
}

/// A timer of its own wakes the late thread at 1,003 us; it waits for somebody else as above.
pub(crate) fn by_its_timer(way: Way, wakes_it: bool, sleeps: bool) -> Story {
    let mut story = Story::new(CLIENT, 5_000);
    story.episode.stage = Stage::Request;
    story.switch(510, VICTIM_RUNS, WAITS, 1).switch(520, IDLE, WAITS, 0);
    timer_wakes(&mut story, 1_003, VICTIM, WaitEnd { sleeper: Call::Sleep, waker: None, ..READ }.bits() | 19);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    waits_for_store(&mut story, way, wakes_it, sleeps);
    story
}

/// Of which nothing tells what it was for: no name, and all of it unknown.
pub(crate) fn is_untold(part: &Part) -> bool {
    let is_it = part.kind == Kind::Unknown && part.who.name() == ANSWER_OR_REQUEST;
    is_it && part.ns >= 2_700_000 && part.unknown_ns == part.ns && part.inside.is_empty()
}

/// A closed loop, a client that pauses, a store that sleeps, a worker whose feeder is slow: seen from the late thread they are the same.
#[test]
fn nobody_is_named_within_a_request_whose_beginning_is_assumed() {
    let mut cases = 0;
    for way in WAYS {
        for before in BEFORE {
            for (wakes_it, sleeps) in [(true, true), (true, false), (false, true), (false, false)] {
                let told = parts(&served(way, before, wakes_it, sleeps));
                let case = format!("{way:?} {before:?} {wakes_it} {sleeps}: {told:?}");
                assert!(told.iter().any(is_untold), "{case}");
                assert!(told.iter().all(|part| !matches!(part.kind, Kind::Wait | Kind::Idle)), "{case}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 36);
}

/// It was seen to begin by a connection that the late thread accepted. An answer is awaited of whoever was asked since; who was not asked
/// may hand over the next piece of work, as to a worker of a pool.
#[test]
fn whoever_was_asked_within_a_request_is_named() {
    let mut cases = 0;
    for way in WAYS {
        for before in BEFORE {
            for (wakes_it, sleeps) in [(true, true), (true, false), (false, true), (false, false)] {
                let mut episode = served(way, before, wakes_it, sleeps);
                episode.is_asked_for = true;
                let told = parts(&episode);
                let case = format!("{way:?} {before:?} {wakes_it} {sleeps}: {told:?}");
                let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
                assert_eq!((is_named, told.iter().any(is_untold)), (wakes_it, !wakes_it), "{case}");
                assert!(told.iter().all(|part| part.kind != Kind::Idle), "{case}");
                // All waits are known to be for answers.
                episode.waits_for_answers = true;
                let told = parts(&episode);
                assert!(told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other"), "{told:?}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 36);
}

/// Whoever asked, and is waited for again, owes no answer: it was answered, or has not sent all.
#[test]
fn a_wait_for_whoever_asked_is_for_the_next_request() {
    for sleeps in [true, false] {
        let mut story = Story::new(CLIENT, 5_000);
        story.episode.stage = Stage::Request;
        story.episode.is_asked_for = true;
        wakes(&mut story, 1_000, Way::Pipe, 3);
        story.switch(1_010, VICTIM_RUNS, WAITS, 1);
        story.event(1_200, EventKind::Waking, 0, u64::from(CLIENT.0), READ.bits() | 120, 1);
        story.switch(1_300, CLIENT, WAITS, 3);
        if sleeps {
            story.switch(1_400, IDLE, WAITS, 0);
            timer_wakes(&mut story, 4_000, CLIENT.0, slept());
            story.switch(4_010, CLIENT, 0, 3);
        }
        wakes(&mut story, 4_100, Way::Pipe, 3);
        story.switch(4_105, VICTIM_RUNS, 0, 1);
        story.switch(5_000, IDLE, WAITS, 0);
        let told = parts(&story.episode);
        assert!(told.iter().all(|part| part.kind != Kind::Wait), "{told:?}");
        let idle = told.iter().find(|part| part.kind == Kind::Idle);
        assert_eq!((idle.is_some(), told.iter().any(is_untold)), (sleeps, !sleeps), "{told:?}");
        if let Some(idle) = idle {
            assert_eq!(idle.who.name(), "no request was waiting");
            assert!((2_700_000..=2_800_000).contains(&idle.ns) && idle.inside.is_empty(), "{idle:?}");
            assert_eq!(in_words(&idle.detail).as_deref(), Some("first slept until a timer of its own"));
        }
    }
}

/// By which descriptors it reads what it accepted, and what it asked for, is seen beside the waits.
#[test]
fn descriptors_tell_requests_from_answers() {
    const ACCEPTED: u32 = 4;
    const CONNECTED: u32 = 5;
    let mut cases = 0;
    for before in BEFORE {
        for (wakes_it, sleeps) in [(true, true), (true, false), (false, true), (false, false)] {
            let read = |begins_with: u32, waits_for: u32| {
                let mut episode = served(Way::Pipe, before, wakes_it, sleeps);
                (episode.accepted, episode.connected) = (vec![ACCEPTED], vec![CONNECTED]);
                for (at_ns, descriptor) in [(1_000_000, begins_with), (4_100_000, waits_for)] {
                    let end = WaitEnd { descriptor: Some(descriptor), ..READ };
                    let wakings = episode.events.iter_mut().filter(|event| event.at_ns == at_ns);
                    wakings.for_each(|event| event.extra = end.bits() | 19);
                }
                parts(&episode)
            };
            // A store, whether it had to be woken or not.
            let told = read(ACCEPTED, CONNECTED);
            assert!(told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other"), "{told:?}");
            // A client, whatever it does meanwhile.
            for begins_with in [CONNECTED, ACCEPTED, 9] {
                let told = read(begins_with, ACCEPTED);
                let idle = told.iter().find(|part| part.kind == Kind::Idle);
                assert!(idle.is_some_and(|idle| idle.ns >= 2_700_000), "{told:?}");
                assert!(told.iter().all(|part| part.kind != Kind::Wait), "{told:?}");
            }
            // A worker that fetches its work by a connection which it asked for may wait for that, or for a store.
            for begins_with in [CONNECTED, 9] {
                assert!(read(begins_with, CONNECTED).iter().any(is_untold));
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 12);
}

/// An event loop of a program that accepts connections gets its requests where it waits for several things. It waits for an answer of whoever
/// it has asked since, also of one whose answer it was told of before.
#[test]
fn an_event_loop_that_accepts_connections_gets_its_requests_there() {
    let mut cases = 0;
    for (accepted, descriptor) in [(vec![4], None), (Vec::new(), None), (vec![4], Some(ONE_POLLED))] {
        for (wakes_it, sleeps) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut episode = served(Way::Pipe, Before::Woken, wakes_it, sleeps);
            episode.accepted.clone_from(&accepted);
            let end = WaitEnd { sleeper: Call::Poll, descriptor, ..READ };
            for event in episode.events.iter_mut().filter(|event| event.at_ns == 1_000_000) {
                event.extra = end.bits() | 19;
            }
            let told = parts(&episode);
            let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
            let is_known = wakes_it && !accepted.is_empty() && descriptor.is_none();
            assert_eq!((is_named, told.iter().any(is_untold)), (is_known, !is_known), "{told:?}");
            cases += 1;
        }
    }
    assert_eq!(cases, 12);
}

/// A lock that is asked for again every few milliseconds, such as an interpreter's, is no clock; a wait with a time limit by which a thread
/// keeps its period is one.
#[test]
fn a_time_limit_at_which_others_wake_it_as_well_begins_no_request() {
    for is_lock in [true, false] {
        let mut story = Story::new(CLIENT, 5_000);
        story.episode.stage = Stage::Request;
        if is_lock {
            wakes(&mut story, 500, Way::Queue, 3);
        }
        story.switch(510, VICTIM_RUNS, WAITS, 1).switch(520, IDLE, WAITS, 0);
        timer_wakes(&mut story, 1_003, VICTIM, word(WakingAct::Else) | 19);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        waits_for_store(&mut story, Way::Pipe, true, true);
        let told = parts(&story.episode);
        let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
        assert_eq!((is_named, told.iter().any(is_untold)), (!is_lock, is_lock), "{told:?}");
    }
}

/// A server that sleeps within its requests wakes its client afterwards, and waits for it: that must not be taken for a request of its own timer.
#[test]
fn a_servers_own_timer_may_be_in_the_middle_of_a_request() {
    const ACCEPTED: u32 = 4;
    const CONNECTED: u32 = 5;
    let mut cases = 0;
    for (accepted, read, wakes_it, expected) in [
        (vec![ACCEPTED], Some(ACCEPTED), true, false),
        (vec![ACCEPTED], Some(ACCEPTED), false, false),
        (vec![ACCEPTED], None, false, false),
        // A server with a period asks its store by a connection.
        (vec![ACCEPTED], Some(CONNECTED), true, true),
        (vec![ACCEPTED], Some(CONNECTED), false, true),
        // A worker of a pool waits for whoever hands over the next connection, and has woken that, too.
        (vec![ACCEPTED], None, true, false),
        // A client with a period.
        (Vec::new(), Some(CONNECTED), true, true),
        (Vec::new(), None, false, true),
    ] {
        let mut story = by_its_timer(Way::Pipe, wakes_it, true);
        (story.episode.accepted, story.episode.connected) = (accepted.clone(), vec![CONNECTED]);
        let end = WaitEnd { descriptor: read, ..READ };
        let wakings = story.episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000);
        wakings.for_each(|event| event.extra = end.bits() | 19);
        let told = parts(&story.episode);
        let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
        let case = format!("{accepted:?} {read:?} {wakes_it}: {told:?}");
        assert_eq!((is_named, told.iter().any(is_untold)), (expected, !expected), "{case}");
        assert!(told.iter().all(|part| part.kind != Kind::Idle), "{case}");
        cases += 1;
    }
    assert_eq!(cases, 8);
}

/// Where a timer of its own begins the request of a program that accepted connections, another thread of the program is no client. It owes an
/// answer by a pipe; at a word in memory it may hand over the next connection.
#[test]
fn a_thread_of_its_own_program_that_was_asked_is_no_client() {
    let mut cases = 0;
    for way in [Way::Pipe, Way::Queue] {
        for (is_of_its_program, wakes_it) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut story = by_its_timer(way, wakes_it, true);
            story.episode.accepted = vec![4];
            let threads = if is_of_its_program { vec![VICTIM, STORE.0] } else { vec![VICTIM] };
            story.episode.processes.push(Process { number: VICTIM, name: "program".into(), threads });
            let told = parts(&story.episode);
            let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
            let expected = way == Way::Pipe && is_of_its_program && wakes_it;
            let case = format!("{way:?} {is_of_its_program} {wakes_it}: {told:?}");
            assert_eq!((is_named, told.iter().any(is_untold)), (expected, !expected), "{case}");
            cases += 1;
        }
    }
    assert_eq!(cases, 8);
}

/// In `epoll_wait` and the like a server waits for its next request, too: whoever it has woken meanwhile may be a client that it answered. Nor does it
/// tell anything there that nobody was asked.
#[test]
fn a_server_that_waits_for_several_things_waits_for_nobody_whom_it_woke() {
    const ACCEPTED: u32 = 4;
    let mut cases = 0;
    let all = |is_own_timer| [(is_own_timer, true), (is_own_timer, false)];
    for ((is_own_timer, sleeps), wakes_it) in
        [true, false].into_iter().flat_map(all).flat_map(|case| [(case, true), (case, false)])
    {
        let mut episode = match is_own_timer {
            true => by_its_timer(Way::Pipe, wakes_it, sleeps).episode,
            false => served(Way::Pipe, Before::Woken, wakes_it, sleeps),
        };
        episode.accepted = vec![ACCEPTED];
        episode.is_asked_for = !is_own_timer;
        for event in episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000) {
            event.extra = WaitEnd { sleeper: Call::Poll, ..READ }.bits() | 19;
        }
        let told = parts(&episode);
        let case = format!("{is_own_timer} {sleeps} {wakes_it}: {told:?}");
        assert!(told.iter().any(is_untold), "{case}");
        assert!(told.iter().all(|part| part.kind != Kind::Wait), "{case}");
        cases += 1;
    }
    assert_eq!(cases, 8);
}

/// As a recording begins, nobody has looked yet by which descriptors a thread reads what it accepted: its timer may be in the middle of
/// a request, and whoever it has woken may be its client.
#[test]
fn nobody_is_named_as_long_as_connections_are_not_known() {
    for (is_unknown, wakes_it) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut by_its_timer = by_its_timer(Way::Pipe, wakes_it, true).episode;
        by_its_timer.connections_unknown = is_unknown;
        let mut by_somebody = served(Way::Pipe, Before::Woken, wakes_it, true);
        (by_somebody.is_asked_for, by_somebody.connections_unknown) = (true, is_unknown);
        for (episode, is_known) in [(by_its_timer, true), (by_somebody.clone(), wakes_it)] {
            let told = parts(&episode);
            let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
            let expected = is_known && !is_unknown;
            assert_eq!(
                (is_named, told.iter().any(is_untold)),
                (expected, !expected),
                "{is_unknown} {wakes_it}: {told:?}"
            );
        }
        // Looks at the waits themselves have told that all are for answers.
        by_somebody.waits_for_answers = true;
        let told = parts(&by_somebody);
        assert!(told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other"), "{told:?}");
    }
}

/// By a pipe, a server that sleeps within its requests does what a client with a period does: it writes, and waits for one that sleeps and writes. Whoever
/// works until it writes is taken for a store; another thread of the program is no client, and by a connection that was asked for come answers.
#[test]
fn nobody_is_named_for_its_sleep_before_it_writes_to_a_thread_with_a_timer() {
    const CONNECTED: u32 = 5;
    const PIPE: u32 = 6;
    let is_named = |sleeper: Call, read: Option<u32>, sleeps: bool, change: fn(&mut Episode)| {
        let mut episode = by_its_timer(Way::Pipe, true, sleeps).episode;
        change(&mut episode);
        let end = WaitEnd { sleeper, descriptor: read, ..READ };
        let wakings = episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000);
        wakings.for_each(|event| event.extra = end.bits() | 19);
        let told = parts(&episode);
        let is_named = told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other");
        assert_eq!(told.iter().any(is_untold), !is_named, "{sleeper:?} {read:?} {sleeps}: {told:?}");
        is_named
    };
    let nothing: fn(&mut Episode) = |_| {};
    let has_asked: fn(&mut Episode) = |episode| episode.connected = vec![CONNECTED];
    let is_of_one_program: fn(&mut Episode) = |episode| {
        let threads = vec![VICTIM, STORE.0];
        episode.processes.push(Process { number: VICTIM, name: "program".into(), threads });
    };
    let waits_for_answers: fn(&mut Episode) = |episode| episode.waits_for_answers = true;
    let is_unknown: fn(&mut Episode) = |episode| {
        (episode.connected, episode.connections_unknown) = (vec![CONNECTED], true);
    };
    for (sleeper, read, sleeps, change, expected) in [
        (Call::Read, Some(PIPE), true, nothing, false),
        (Call::Read, Some(PIPE), true, has_asked, false),
        (Call::Poll, Some(ONE_POLLED), true, nothing, false),
        (Call::Poll, None, true, nothing, false),
        (Call::Poll, None, false, nothing, true),
        // It may have polled the connection.
        (Call::Poll, None, true, has_asked, true),
        (Call::Poll, Some(ONE_POLLED), true, has_asked, true),
        (Call::Read, Some(CONNECTED), true, has_asked, true),
        (Call::Read, Some(PIPE), false, nothing, true),
        (Call::Read, Some(PIPE), true, is_of_one_program, false),
        (Call::Read, Some(PIPE), false, is_of_one_program, true),
        (Call::Read, Some(PIPE), true, waits_for_answers, true),
        // Where it is not known what else there is, only what was asked for is an answer.
        (Call::Read, Some(CONNECTED), true, is_unknown, true),
        (Call::Read, Some(PIPE), false, is_unknown, false),
        // An older recording does not tell what was read.
        (Call::Read, None, true, nothing, true),
    ] {
        assert_eq!(is_named(sleeper, read, sleeps, change), expected, "{sleeper:?} {read:?} {sleeps}");
    }
}

/// So it is with a wait that nobody is seen to end, where it is only assumed which wait is for requests.
#[test]
fn a_wait_that_a_signal_ended_may_be_for_the_next_request() {
    let cases = [(false, Call::Read), (false, Call::Poll), (false, Call::Write), (true, Call::Read)];
    let untold = cases.map(|(is_asked_for, sleeper)| {
        let mut episode = served(Way::Pipe, Before::Slept, true, true);
        episode.is_asked_for = is_asked_for;
        for event in episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000) {
            event.extra = WaitEnd { sleeper, ..signalled() }.bits() | 19;
        }
        parts(&episode).iter().any(is_untold)
    });
    assert_eq!(untold, [true, true, false, false]);
}

/// A packet from outside may be the answer of a store.
#[test]
fn a_packet_from_outside_may_be_an_answer() {
    let mut episode = served(Way::Tcp, Before::NotSeen, true, true);
    let end = WaitEnd { sender: Sender::NoThread, ..READ };
    for event in episode.events.iter_mut().filter(|event| event.at_ns == 1_000_000) {
        event.extra = end.bits() | 19;
    }
    let told = parts(&episode);
    assert!(told.iter().any(is_untold), "{told:?}");
}

/// Nobody waits for a request who writes, waits for a child or for the lock of a file.
#[test]
fn a_wait_that_is_for_no_request_has_a_name() {
    let called = [Call::Write, Call::Child, Call::FileLock, Call::Read];
    let named = called.map(|sleeper| {
        let mut episode = served(Way::Pipe, Before::Slept, true, true);
        let end = WaitEnd { sleeper, ..READ };
        for event in episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000) {
            event.extra = end.bits() | 19;
        }
        parts(&episode).iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other")
    });
    assert_eq!(named, [true, true, true, false]);
}
