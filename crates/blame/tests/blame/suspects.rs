//! Sequences in which somebody stands beside the culprit, and is not accused.

use crate::support::requests::{READ, SERVER, WAITS, request, wait};
use crate::support::{NOTHING_TOLD, OTHER, Story, VICTIM, VICTIM_RUNS, parts, response};
use punctual_blame::Kind;
use punctual_recording::Episode;
use punctual_recording::episode::{Call, EventKind, LEFT_UNINTERRUPTIBLE, WaitEnd};

fn ns_of(episode: &Episode, kind: Kind, name: &str) -> u64 {
    parts(episode).iter().filter(|part| part.kind == kind && part.who.name() == name).map(|part| part.ns).sum()
}

/// A parent in vfork waits for its child until that runs another program: under the name that the child had until then.
#[test]
fn a_parent_waits_for_its_child_and_not_for_what_that_becomes() {
    let episode = response(|story| {
        story.switch(1_500, (8, 120), LEFT_UNINTERRUPTIBLE, 3);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 3);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
        story.switch(4_000, (8, 120), 0, 4).switch(4_100, VICTIM_RUNS, 1, 1);
    });
    assert_eq!(ns_of(&episode, Kind::Wait, "first"), 2_000_000, "{:?}", parts(&episode));
    assert_eq!(ns_of(&episode, Kind::Wait, "spin_fn"), 0);
}

/// A softirq is the softirq, whether an interrupt ends with it or a thread of the kernel's serves it.
#[test]
fn who_serves_a_softirq_is_innocent_of_it() {
    for (tid, name) in [(OTHER.0, "other"), (15, "ksoftirqd/0")] {
        let mut story = Story::new((tid, 120), 3_020);
        story.episode.names[2] = name.into();
        story.timer(1_005, 0);
        story.softirq(1_010, 2_990, 3);
        story.switch(3_000, VICTIM_RUNS, 0, 1);
        assert_eq!(ns_of(&story.episode, Kind::Softirq, "first"), 1_980_000, "{name}");
        assert!(parts(&story.episode).iter().all(|part| part.who.name() != name || part.ns < 20_000), "{name}");
    }
}

/// The victim is moved while it waits: whoever had each of the CPUs kept it only while it was there.
#[test]
fn who_had_a_cpu_is_innocent_of_the_time_on_another_one() {
    let (here, there) = ((OTHER.0, 9), (8, 9));
    let mut story = Story::new(here, 4_000);
    story.current = (0, 120);
    story.switch(950, there, 0, 3);
    story.episode.events.iter_mut().for_each(|event| event.cpu = 1);
    story.current = here;
    story.timer(1_002, 0);
    // From CPU 0 to CPU 1.
    story.event(2_000, EventKind::Migrate, 0, u64::from(VICTIM), 1 << 32, 0);
    story.current = there;
    story.switch(3_500, VICTIM_RUNS, 1, 1);
    story.episode.events.last_mut().unwrap().cpu = 1;
    assert_eq!(ns_of(&story.episode, Kind::HigherPriority, "first"), 1_500_000);
    assert_eq!(ns_of(&story.episode, Kind::HigherPriority, "other"), 994_000);
}

/// A worker of `io_uring` reads for the victim, which it wakes; the server is slow to write.
#[test]
fn a_worker_that_waits_for_a_server_is_told_with_what_it_waits_for() {
    const WORKER: (u32, i16) = (12, 120);
    let completes = WaitEnd { sleeper: Call::Poll, waker: Some(Call::None), ..NOTHING_TOLD };
    let episode = request(|story| {
        story.episode.names.push("iou-wrk-100".to_owned());
        story.event(1_200, EventKind::Waking, 0, u64::from(WORKER.0), 120, 1);
        story.switch(1_500, WORKER, WAITS, 5).switch(1_600, SERVER, WAITS, 2);
        story.event(3_000, EventKind::Waking, 0, u64::from(WORKER.0), READ.bits() | 120, 2);
        story.switch(3_010, WORKER, WAITS, 5);
        story.event(3_020, EventKind::Waking, 0, u64::from(VICTIM), completes.bits() | 19, 5);
        story.switch(3_025, VICTIM_RUNS, WAITS, 1);
    });
    let part = wait(&episode);
    assert_eq!((part.who.name(), part.ns, part.unknown_ns), ("iou-wrk-100", 1_520_000, 0));
    let server = part.inside.iter().find(|inside| inside.kind == Kind::Wait).unwrap();
    assert_eq!((server.who.name(), server.ns), ("other", 1_400_000));
}
