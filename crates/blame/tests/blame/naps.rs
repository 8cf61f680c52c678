//! Threads that sleep now and then within their requests: a worker that is handed them by a thread of its own program, and a store behind a pipe. From one
//! sleep to the next they wait for their next request, and nobody is to be named for that.

use crate::beginnings::{STORE, Way, by_its_timer, is_untold, timer_wakes, word};
use crate::support::requests::{IDLE, READ, WAITS, parts};
use crate::support::{Story, VICTIM, VICTIM_RUNS};
use punctual_blame::{Kind, Part};
use punctual_recording::episode::{Call, EventKind, Process, WaitEnd, WakingAct};
use punctual_recording::{Episode, Stage};

const CLIENT: (u32, i16) = (8, 120);
const PIPE: u32 = 6;

fn is_named(told: &[Part]) -> bool {
    told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other")
}

fn of_one_program(episode: &mut Episode) {
    episode.processes = vec![Process { number: VICTIM, name: "program".into(), threads: vec![VICTIM, STORE.0] }];
}

/// A producer of the same program sleeps until its timer, and hands over the next request. A thread that is known to have a period asks by itself.
#[test]
fn a_producer_that_sleeps_is_not_named_for_what_a_worker_of_its_program_waits_for() {
    let mut cases = 0;
    for way in [Way::Queue, Way::Pipe] {
        for (has_period, sleeps, expected) in
            [(false, true, false), (true, true, true), (false, false, true), (true, false, true)]
        {
            for connections_unknown in [false, true] {
                let mut episode = by_its_timer(way, true, sleeps).episode;
                of_one_program(&mut episode);
                (episode.has_period, episode.connections_unknown) = (has_period, connections_unknown);
                let told = parts(&episode);
                // Where connections are not known, a word may be that of a queue of connections.
                let expected = expected && (way == Way::Pipe || !connections_unknown);
                let case = format!("{way:?} {has_period} {sleeps} {connections_unknown}: {told:?}");
                assert_eq!((is_named(&told), told.iter().any(is_untold)), (expected, !expected), "{case}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 16);
}

/// A server asks a store by a pipe, and waits in between for its client, which sleeps. Nothing tells that from a client with a period whose server asks a
/// store that sleeps, unless the sleeps of the late thread end whole periods apart.
#[test]
fn a_server_is_not_named_for_what_its_client_sleeps() {
    for has_period in [false, true] {
        let mut story = Story::new(CLIENT, 5_000);
        (story.episode.stage, story.episode.has_period) = (Stage::Request, has_period);
        story.switch(510, VICTIM_RUNS, WAITS, 1).switch(520, IDLE, WAITS, 0);
        let slept = WaitEnd { sleeper: Call::Sleep, waker: None, ..READ }.bits();
        timer_wakes(&mut story, 1_003, VICTIM, slept | 19);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        let reads = |priority: u64| WaitEnd { descriptor: Some(PIPE), ..READ }.bits() | priority;
        story.event(1_200, EventKind::Waking, 0, u64::from(STORE.0), reads(120), 1);
        story.switch(1_300, STORE, WAITS, 2);
        story.event(1_400, EventKind::Waking, 0, u64::from(CLIENT.0), reads(120), 2);
        story.switch(1_450, CLIENT, WAITS, 3).switch(1_500, IDLE, WAITS, 0);
        timer_wakes(&mut story, 4_000, CLIENT.0, slept | 120);
        story.switch(4_010, CLIENT, 0, 3);
        story.event(4_050, EventKind::Waking, 0, u64::from(STORE.0), reads(120), 3);
        story.switch(4_060, STORE, WAITS, 2);
        story.event(4_100, EventKind::Waking, 0, u64::from(VICTIM), reads(19), 2);
        story.switch(4_105, VICTIM_RUNS, WAITS, 1).switch(5_000, IDLE, WAITS, 0);
        let told = parts(&story.episode);
        assert_eq!((is_named(&told), told.iter().any(is_untold)), (has_period, !has_period), "{has_period}: {told:?}");
    }
}

/// Behind the server there may be a client that sleeps: what that did was not seen.
#[test]
fn a_server_is_not_named_where_what_passed_behind_it_was_not_seen() {
    for has_period in [false, true] {
        let mut story = by_its_timer(Way::Pipe, true, true);
        story.episode.has_period = has_period;
        for event in story.episode.events.iter_mut().filter(|event| event.kind == EventKind::Waking) {
            let end = match (event.at_ns, event.value) {
                (4_100_000, _) => WaitEnd { descriptor: Some(PIPE), ..READ },
                // Something woke the server that it did not wait for.
                (_, tid) if tid == u64::from(STORE.0) && event.at_ns > 1_300_000 => WaitEnd { signals: true, ..READ },
                _ => continue,
            };
            event.extra = end.bits() | event.extra & 0xffff;
            event.context = 0;
        }
        let told = parts(&story.episode);
        assert_eq!((is_named(&told), told.iter().any(is_untold)), (has_period, !has_period), "{has_period}: {told:?}");
    }
}

/// A stage of a chain that the one before it hands its work by a word, and that sleeps within some of it: who ended its wait may not be seen.
#[test]
fn a_wait_for_a_word_that_nobody_is_seen_to_end_may_be_for_the_next_request() {
    for has_period in [false, true] {
        let mut episode = by_its_timer(Way::Queue, true, true).episode;
        episode.has_period = has_period;
        let wakings = episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000);
        wakings.for_each(|event| event.extra = word(WakingAct::Else) | 19);
        let told = parts(&episode);
        let is_not_seen = told.iter().any(|part| part.kind == Kind::Wait && part.who.not_seen().is_some());
        assert_eq!((is_not_seen, told.iter().any(is_untold)), (has_period, !has_period), "{told:?}");
    }
}
