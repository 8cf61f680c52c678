//! Requests of a thread with a timer of its own that waits for a semaphore, a queue or a signal of another program: a client with a period and a server
//! that sleeps within its requests do the same there.

use crate::beginnings::{CLIENT, STORE, Way, by_its_timer, is_untold, timer_wakes, wakes, word};
use crate::support::requests::{IDLE, READ, WAITS, parts};
use crate::support::{Story, VICTIM, VICTIM_RUNS, on_cpu};
use punctual_blame::{Kind, Part};
use punctual_recording::episode::{Call, EventKind, Process, WaitEnd, WakingAct};
use punctual_recording::{Episode, Stage};

/// Which processes the late thread and the one that it waits for are of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Processes {
    One,
    Two,
    /// The other one was gone before anybody asked for its process.
    Gone,
    /// As in older recordings.
    NotKnown,
}

impl Processes {
    fn of(self) -> Vec<Process> {
        let process = |number, threads| Process { number, name: "program".into(), threads };
        match self {
            Processes::One => vec![process(VICTIM, vec![VICTIM, STORE.0])],
            Processes::Two => vec![process(VICTIM, vec![VICTIM]), process(STORE.0, vec![STORE.0])],
            Processes::Gone => vec![process(VICTIM, vec![VICTIM])],
            Processes::NotKnown => Vec::new(),
        }
    }
}

fn is_named(told: &[Part]) -> bool {
    told.iter().any(|part| part.kind == Kind::Wait && part.who.name() == "other")
}

/// The late thread waits within this call, `Futex` for a word in memory, from 1,300 to 4,100 us.
fn waits_in(call: Call, read: Option<u32>, sleeps: bool) -> Episode {
    let way = if call == Call::Futex { Way::Queue } else { Way::Pipe };
    let mut episode = by_its_timer(way, true, sleeps).episode;
    if call != Call::Futex {
        let end = WaitEnd { sleeper: call, waker: Some(call), descriptor: read, ..READ };
        let wakings = episode.events.iter_mut().filter(|event| event.at_ns == 4_100_000);
        wakings.for_each(|event| event.extra = end.bits() | 19);
    }
    episode
}

#[test]
fn nobody_of_another_program_is_named_where_it_may_be_the_one_that_asks() {
    let mut cases = 0;
    for call in [Call::Futex, Call::Queue, Call::Signal] {
        for processes in [Processes::One, Processes::Two, Processes::Gone, Processes::NotKnown] {
            for (may_sleep_within, sleeps) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut episode = waits_in(call, None, sleeps);
                (episode.processes, episode.may_sleep_within) = (processes.of(), may_sleep_within);
                let told = parts(&episode);
                let expected = match processes {
                    Processes::One => !sleeps,
                    Processes::Two | Processes::Gone => !may_sleep_within && !sleeps,
                    Processes::NotKnown => true,
                };
                let case = format!("{call:?} {processes:?} {may_sleep_within} {sleeps}: {told:?}");
                assert_eq!((is_named(&told), told.iter().any(is_untold)), (expected, !expected), "{case}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 48);
}

/// The recorder knows of its sleeps whether they last as long each time. By a pipe, too, whoever works before it writes may be the client then; what
/// comes by a connection that was asked for, or from a thread of the same program, is an answer.
#[test]
fn nobody_is_named_by_a_pipe_where_the_late_thread_may_sleep_within_its_requests() {
    const CONNECTED: u32 = 5;
    const PIPE: u32 = 6;
    for (read, processes, may_sleep_within, expected) in [
        (PIPE, Processes::Two, false, true),
        (PIPE, Processes::Two, true, false),
        (PIPE, Processes::NotKnown, true, false),
        (PIPE, Processes::One, true, true),
        (CONNECTED, Processes::Two, true, true),
    ] {
        let mut episode = waits_in(Call::Read, Some(read), false);
        (episode.processes, episode.may_sleep_within) = (processes.of(), may_sleep_within);
        episode.connected = vec![CONNECTED];
        let told = parts(&episode);
        let case = format!("{read} {processes:?} {may_sleep_within}: {told:?}");
        assert_eq!((is_named(&told), told.iter().any(is_untold)), (expected, !expected), "{case}");
    }
}

/// Between two sleeps a server answers its client three times by a semaphore, and waits for the next question each time, while that works.
#[test]
fn the_client_of_a_server_that_sleeps_and_is_asked_by_a_semaphore_is_not_named() {
    for may_sleep_within in [true, false] {
        let mut story = Story::new(STORE, 9_000);
        story.episode.stage = Stage::Request;
        (story.episode.processes, story.episode.may_sleep_within) = (Processes::Two.of(), may_sleep_within);
        story.switch(510, VICTIM_RUNS, WAITS, 1).switch(520, IDLE, WAITS, 0);
        let slept = WaitEnd { sleeper: Call::Sleep, waker: None, ..READ };
        timer_wakes(&mut story, 1_003, VICTIM, slept.bits() | 19);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        for at_us in [1_200, 3_800, 6_400] {
            let posts = word(WakingAct::WakesWord) | 120;
            story.event(at_us, EventKind::Waking, 0, u64::from(STORE.0), posts, 1);
            story.switch(at_us + 100, STORE, WAITS, 2);
            wakes(&mut story, at_us + 2_100, Way::Queue, 2);
            story.switch(at_us + 2_105, VICTIM_RUNS, 0, 1);
        }
        story.switch(9_000, IDLE, WAITS, 0);
        let told = parts(&story.episode);
        let (named, untold) = (is_named(&told), told.iter().any(is_untold));
        assert_eq!((named, untold), (!may_sleep_within, may_sleep_within), "{may_sleep_within}: {told:?}");
    }
}

/// A worker that takes a job in each step of a clock does what a client with a period does, but for that it asks nobody.
#[test]
fn nobody_is_named_whom_no_request_of_a_thread_with_a_period_reached() {
    let asks = |story: &mut Story, at_us: u64, by: (u32, i16), tid: u32| {
        on_cpu(story, 1, by, |story| {
            story.event(at_us, EventKind::Waking, 0, u64::from(tid), READ.bits() | 120, 1);
        });
    };
    let nothing: fn(&mut Story) = |_| {};
    let mut cases = 0;
    for way in [Way::Pipe, Way::Queue] {
        let story = |wakes_it, sleeps, before: &dyn Fn(&mut Story)| {
            let mut story = by_its_timer(way, wakes_it, sleeps);
            before(&mut story);
            (story.episode.processes, story.episode.has_period) = (Processes::One.of(), true);
            story.episode.events.sort_by_key(|event| event.at_ns);
            parts(&story.episode)
        };
        let through_another = |story: &mut Story| {
            asks(story, 1_100, VICTIM_RUNS, CLIENT.0);
            asks(story, 1_350, CLIENT, STORE.0);
        };
        let before = |story: &mut Story| asks(story, 515, VICTIM_RUNS, STORE.0);
        for (told, expected) in [
            (story(false, true, &nothing), false),
            (story(false, false, &nothing), false),
            (story(true, false, &nothing), true),
            (story(false, false, &through_another), true),
            // It owes what it was asked for before the timer.
            (story(false, false, &before), true),
        ] {
            let untold = told.iter().any(is_untold);
            assert_eq!((is_named(&told), untold), (expected, !expected), "{way:?} {cases}: {told:?}");
            cases += 1;
        }
    }
    assert_eq!(cases, 10);
}
