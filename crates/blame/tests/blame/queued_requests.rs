//! Late requests that may be several: the thread found the next one in its queue, and did not wait for it.

use crate::beginnings::{STORE, is_untold, timer_wakes};
use crate::support::requests::{IDLE, READ, WAITS};
use crate::support::{Story, VICTIM, VICTIM_RUNS};
use punctual_blame::{may_be_several, split};
use punctual_recording::episode::{Call, EventKind, Process, WaitEnd};
use punctual_recording::{Episode, Stage};

const CLIENT: (u32, i16) = (8, 120);
const SECOND_CLIENT: u32 = 9;
const WORKER: (u32, i16) = (30, 120);

/// A client asks the late thread, or a timer wakes it; within the request it wakes these, and the store answers it or not.
fn woken(by_timer: bool, told: &[u32], is_answered: bool) -> Episode {
    let mut story = Story::new(CLIENT, 5_000);
    story.episode.stage = Stage::Request;
    story.episode.names.push("kworker/0:1".into());
    if by_timer {
        timer_wakes(&mut story, 1_003, VICTIM, WaitEnd { sleeper: Call::Sleep, waker: None, ..READ }.bits() | 19);
    } else {
        story.event(1_000, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 3);
    }
    story.switch(1_010, VICTIM_RUNS, WAITS, 1);
    for (at_us, tid) in (1_200..).step_by(100).zip(told) {
        story.event(at_us, EventKind::Waking, 0, u64::from(*tid), READ.bits() | 120, 1);
    }
    story.switch(2_000, WORKER, 0, 5).switch(2_050, STORE, WAITS, 2);
    if is_answered {
        story.event(2_100, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 2);
    }
    story.switch(2_110, VICTIM_RUNS, WAITS, 1).switch(5_000, IDLE, WAITS, 0);
    story.episode
}

#[test]
fn a_request_may_be_several_where_two_were_woken_that_are_not_waited_for() {
    for (by_timer, told, is_answered, expected) in [
        (false, &[CLIENT.0][..], false, false),
        (false, &[CLIENT.0, SECOND_CLIENT][..], false, true),
        // An answer may come in two parts.
        (false, &[CLIENT.0, CLIENT.0][..], false, false),
        // Three are answers to questions that it sent at once, or as the last one was answered.
        (false, &[CLIENT.0, CLIENT.0, CLIENT.0][..], false, true),
        (true, &[CLIENT.0, CLIENT.0, CLIENT.0][..], false, false),
        // It asks a store, or leaves work to the kernel.
        (false, &[STORE.0, CLIENT.0][..], true, false),
        (false, &[STORE.0, CLIENT.0, SECOND_CLIENT][..], true, true),
        (false, &[WORKER.0, CLIENT.0][..], false, false),
        // A client with a timer asks two servers.
        (true, &[CLIENT.0, SECOND_CLIENT][..], false, false),
    ] {
        let episode = woken(by_timer, told, is_answered);
        let found = may_be_several(&episode, &split(&episode));
        assert_eq!(found, expected, "by timer: {by_timer}, woken: {told:?}, answered: {is_answered}");
    }
    let response = Episode { stage: Stage::Response, ..woken(false, &[CLIENT.0, SECOND_CLIENT], false) };
    assert!(!may_be_several(&response, &split(&response)));
}

/// A server of a queue sleeps within its requests: they seem to begin with the ends of its sleeps, and nothing tells whether it waits there for the next one. What
/// it found in the queue after that, it did not wait for.
#[test]
fn the_longest_stretch_between_two_waits_that_may_be_for_requests_may_be_several() {
    for (told, expected, what) in [
        (&[CLIENT.0][..], false, "one"),
        (&[CLIENT.0, SECOND_CLIENT][..], true, "two"),
        (&[CLIENT.0, CLIENT.0][..], false, "an answer in two parts"),
    ] {
        let mut story = Story::new(IDLE, 10_000);
        story.episode.stage = Stage::Request;
        story.episode.may_sleep_within = true;
        story.episode.processes.push(Process { number: VICTIM, name: "server".into(), threads: vec![VICTIM] });
        let slept = WaitEnd { sleeper: Call::Sleep, waker: None, ..READ };
        timer_wakes(&mut story, 1_003, VICTIM, slept.bits() | 19);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        // Its last answer.
        story.event(1_100, EventKind::Waking, 0, u64::from(CLIENT.0), READ.bits() | 120, 1);
        story.switch(1_200, IDLE, WAITS, 0);
        timer_wakes(&mut story, 4_000, CLIENT.0, slept.bits() | 120);
        story.switch(4_010, CLIENT, 0, 3);
        let taken = WaitEnd { sleeper: Call::Queue, waker: Some(Call::Queue), descriptor: None, ..READ };
        story.event(4_100, EventKind::Waking, 0, u64::from(VICTIM), taken.bits() | 19, 3);
        story.switch(4_110, VICTIM_RUNS, WAITS, 1);
        for (at_us, tid) in (5_000..).step_by(2_000).zip(told) {
            story.event(at_us, EventKind::Waking, 0, u64::from(*tid), READ.bits() | 120, 1);
        }
        story.switch(10_000, IDLE, WAITS, 0);
        let found = split(&story.episode);
        assert!(found.parts.iter().any(is_untold), "{found:?}");
        assert_eq!(may_be_several(&story.episode, &found), expected, "{what}");
    }
}
