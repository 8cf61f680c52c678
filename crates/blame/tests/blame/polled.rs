//! Answers that a thread of the kernel's hands on which looks for requests all the time, and which may have no CPU for that.

use crate::support::{INTERRUPT, NOTHING_TOLD, Story, VICTIM, VICTIM_RUNS, added_up, on_cpu};
use punctual_blame::{Kind, split};
use punctual_recording::episode::{Call, EventKind, Process, WaitEnd};
use punctual_recording::{Episode, Stage};

const SERVER: (u32, i16) = (7, 120);
const BUSY: (u32, i16) = (9, 120);
const POLLER: (u32, i16) = (11, 120);
const WORKER: (u32, i16) = (12, 120);
const WAITS: u32 = 1;
const READ: WaitEnd = WaitEnd { sleeper: Call::Read, waker: Some(Call::Write), ..NOTHING_TOLD };

/// The victim asks the server, which runs from 1,500 us on; with the names of those that run later.
fn asked(names: &[&str]) -> Story {
    let mut story = Story::new((0, 120), 5_000);
    story.episode.stage = Stage::Request;
    story.episode.names.extend(names.iter().map(|name| (*name).to_owned()));
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    story.event(1_200, EventKind::Waking, 0, u64::from(SERVER.0), READ.bits() | 120, 1);
    story.switch(1_500, SERVER, WAITS, 2);
    story
}

/// The server is through at 3,000 us; a busy thread has the CPU then, until the poller hands the answer on at 4,500.
fn request(meanwhile: impl FnOnce(&mut Story)) -> Episode {
    let mut story = asked(&["iou-sqp-55"]);
    story.switch(3_000, BUSY, WAITS, 3);
    meanwhile(&mut story);
    story.switch(4_490, POLLER, 0, 5);
    story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 5);
    story.switch(4_505, VICTIM_RUNS, 0, 1);
    story.switch(5_000, SERVER, WAITS, 2);
    story.episode
}

/// Name, us, and us of what is unknown, of each wait; by name.
fn waits(episode: &Episode) -> Vec<(String, u64, u64)> {
    let split = added_up(episode);
    let waits = split.parts.into_iter().filter(|part| part.kind == Kind::Wait);
    let mut waits: Vec<_> =
        waits.map(|part| (part.who.name().to_owned(), part.ns / 1_000, part.unknown_ns / 1_000)).collect();
    waits.sort();
    waits
}

fn is(name: &str, us: u64, unknown_us: u64) -> (String, u64, u64) {
    (name.to_owned(), us, unknown_us)
}

#[test]
fn a_poller_without_a_cpu_is_waited_for_from_when_the_server_was_through() {
    let told = [is("iou-sqp-55", 1_500, 0), is("other", 1_500, 0)];
    assert_eq!(waits(&request(|_| {})), told);
    // A look takes less than the poller would need to find it.
    let looks = request(|story| {
        story.switch(3_500, POLLER, 0, 5).switch(3_520, BUSY, 0, 3);
    });
    assert_eq!(waits(&looks), told);
    let inside = split(&request(|_| {})).parts.into_iter().find(|part| part.who.name() == "iou-sqp-55").unwrap().inside;
    assert!(inside.iter().any(|inside| inside.who.name() == "first" && inside.ns > 1_400_000), "{inside:?}");
}

#[test]
fn where_it_is_not_seen_whose_answer_it_was_nobody_is_named() {
    let unseen = [is("ender not seen", 3_000, 3_000)];
    // It looked, and found nothing yet.
    let looked = request(|story| {
        story.switch(3_500, POLLER, 0, 5).switch(3_700, BUSY, 0, 3);
    });
    assert_eq!(waits(&looked), unseen);
    // It slept, and somebody woke it to hand it something.
    let slept = request(|story| {
        story.switch(3_100, POLLER, 0, 5).switch(3_110, BUSY, WAITS, 3);
        story.event(4_400, EventKind::Waking, 0, u64::from(POLLER.0), READ.bits() | 120, 3);
    });
    assert_eq!(waits(&slept), unseen);
    // The server was asked for something else before its answer was found, by whomever: when it was through is not seen.
    let asked_anew = request(|story| {
        story.event(3_500, EventKind::Waking, 0, u64::from(SERVER.0), READ.bits() | 120, 3);
        story.switch(3_510, SERVER, 0, 2).switch(4_450, BUSY, WAITS, 3);
    });
    assert_eq!(waits(&asked_anew), unseen);
}

/// A poller serves one program: whoever was asked and is of another one has not answered by it.
#[test]
fn a_poller_hands_on_nothing_of_another_program() {
    for (is_same, told) in [(true, "other"), (false, "ender not seen")] {
        let mut episode = request(|_| {});
        let process = |number, threads: &[u32]| Process { number, name: "program".into(), threads: threads.to_vec() };
        episode.processes = match is_same {
            true => vec![process(7, &[SERVER.0, POLLER.0])],
            false => vec![process(7, &[SERVER.0]), process(55, &[POLLER.0])],
        };
        let waits = waits(&episode);
        assert!(waits.iter().any(|(name, ..)| name == told), "{waits:?}");
        assert_eq!(waits.iter().any(|(name, ..)| name == "other"), is_same, "{waits:?}");
    }
}

/// Before Linux 6.4 a poller has what is written to a pipe written by a worker, which it wakes for that: the server is waited for until the
/// poller has it, and the worker from when it was woken, which has no CPU before 4,490 us.
#[test]
fn a_worker_to_whom_a_poller_hands_an_answer_is_waited_for_from_then_on() {
    let handed_on = |found_us: u64| {
        let mut story = asked(&["iou-sqp-55", "iou-wrk-55"]);
        if found_us > 3_100 {
            story.switch(3_000, BUSY, WAITS, 3).switch(found_us - 50, POLLER, 0, 5);
        } else {
            story.switch(3_000, POLLER, WAITS, 5);
        }
        story.event(found_us, EventKind::Waking, 0, u64::from(WORKER.0), 120, 5);
        story.switch(found_us + 50, BUSY, 0, 3).switch(4_490, WORKER, 0, 6);
        story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 6);
        story.switch(4_505, VICTIM_RUNS, WAITS, 1).switch(5_000, SERVER, WAITS, 2);
        story.episode
    };
    // By then the server sleeps, for nobody knows what.
    assert_eq!(waits(&handed_on(3_050)), [is("iou-wrk-55", 1_450, 0), is("other", 1_550, 50)]);
    // The poller had no CPU for long.
    let told = [is("iou-sqp-55", 850, 0), is("iou-wrk-55", 650, 0), is("other", 1_500, 0)];
    assert_eq!(waits(&handed_on(3_850)), told);
}

/// A disk's interrupt comes over the poller, which has its CPU all the time, and wakes the worker: that was found by nobody, and for nobody but
/// the worker, which works on what the victim had asked it for before.
#[test]
fn what_comes_over_a_poller_is_not_found_by_it() {
    let mut story = asked(&["iou-sqp-55", "iou-wrk-55"]);
    on_cpu(&mut story, 1, (0, 120), |story| {
        story.switch(900, POLLER, 0, 5);
        story.event(3_000, EventKind::VectorBegin, INTERRUPT, 2, 0, 5);
        story.event(3_002, EventKind::Waking, INTERRUPT, u64::from(WORKER.0), 120, 5);
        story.event(3_004, EventKind::VectorEnd, INTERRUPT, 2, 0, 5);
    });
    on_cpu(&mut story, 2, (0, 120), |story| {
        story.switch(3_010, WORKER, 0, 6);
        story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 6);
    });
    story.switch(4_505, VICTIM_RUNS, 0, 1).switch(5_000, SERVER, WAITS, 2);
    let told: Vec<_> = waits(&story.episode).into_iter().map(|(name, us, _)| (name, us)).collect();
    assert_eq!(told, [("iou-wrk-55".to_owned(), 3_000)]);
}
