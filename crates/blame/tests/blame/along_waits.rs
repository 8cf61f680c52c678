//! Waits for other threads: what whoever is waited for did meanwhile, and whom that one waited for.

use crate::support::requests::{IDLE, READ, SERVER, WAITS, answers, leaf, parts, request, signalled, wait};
use crate::support::{INTERRUPT, Story, VICTIM, VICTIM_RUNS};
use punctual_blame::{CallTree, Findings, Inside, Kind, Room, add_lateness, chain, folded, split};
use punctual_recording::episode::{Call, EventKind, Frame, LEFT_FOR_IO, LEFT_UNINTERRUPTIBLE, StackSample, WaitEnd};
use punctual_recording::{Episode, Stage};

const STORE: (u32, i16) = (8, 120);

/// The server asks the store and sleeps a while; the store is kept from its CPU.
#[test]
fn what_keeps_whoever_is_waited_for_is_told_along_the_chain() {
    let episode = request(|story| {
        story.switch(1_500, SERVER, WAITS, 2);
        story.switch(2_000, STORE, WAITS, 3);
        // The store is preempted by the fourth, a FIFO thread.
        story.switch(2_200, (9, 10), 0, 4);
        story.switch(2_700, STORE, 1, 3);
        story.event(3_000, EventKind::Waking, 0, u64::from(SERVER.0), READ.bits() | 120, 3);
        story.switch(3_010, SERVER, 1, 2);
        answers(story, 3_500, READ.bits());
    });
    let part = wait(&episode);
    assert_eq!((part.who.name(), part.ns, part.unknown_ns), ("other", 2_000_000, 0));
    let ns = |inside: &[Inside], kind| inside.iter().filter(|one| one.kind == kind).map(|one| one.ns).sum::<u64>();
    assert_eq!(ns(&part.inside, Kind::Own), 990_000);
    assert_eq!(ns(&part.inside, Kind::Wait), 1_000_000);
    let store = part.inside.iter().find(|inside| inside.kind == Kind::Wait).unwrap();
    assert_eq!(store.who.name(), "first");
    assert_eq!(ns(&store.inside, Kind::HigherPriority), 500_000, "{store:?}");
    assert_eq!(ns(&store.inside, Kind::Own), 500_000);
    let pieces = split(&episode).pieces;
    let kept = pieces.iter().find(|piece| piece.path.len() == 2 && piece.path[1].0 == Kind::HigherPriority).unwrap();
    assert_eq!(
        kept.detail.as_ref().unwrap().to_string(),
        "meanwhile it waited for first, and spin_fn ran on its CPU, with the higher priority"
    );
}

#[test]
fn whoever_sleeps_on_a_timer_or_waits_for_the_disk_is_told_so() {
    let ended_in_interrupt = |story: &mut Story, at_us: u64, handler: EventKind, bits: u64| {
        story.event(at_us - 4, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
        story.event(at_us - 3, handler, INTERRUPT, 0, (at_us - 3) * 1_000, 4);
        story.event(at_us, EventKind::Waking, INTERRUPT, u64::from(SERVER.0), bits | 120, 0);
        story.event(at_us + 1, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
    };
    let kept = |left: u32, handler: EventKind, sleeper: Call| {
        request(|story| {
            story.switch(1_500, SERVER, WAITS, 2);
            story.switch(1_600, IDLE, left, 0);
            let bits = WaitEnd { sleeper, waker: None, ..READ }.bits();
            ended_in_interrupt(story, 3_000, handler, bits);
            story.switch(3_010, SERVER, 0, 2);
            answers(story, 3_500, READ.bits());
        })
    };
    let sleeps = wait(&kept(WAITS, EventKind::TimerBegin, Call::Sleep));
    assert_eq!((sleeps.who.name(), sleeps.unknown_ns), ("other", 0));
    assert!(sleeps.inside.contains(&leaf(Kind::Sleep, "spin_fn", 1_397_000)), "{sleeps:?}");
    let reads = wait(&kept(LEFT_UNINTERRUPTIBLE | LEFT_FOR_IO, EventKind::HandlerBegin, Call::Read));
    assert!(reads.inside.contains(&leaf(Kind::Io, "spin_fn", 1_400_000)), "{reads:?}");
}

/// What ran on the CPU of one that slept is not what it was waited for.
#[test]
fn stacks_of_bystanders_stand_below_no_wait() {
    let mut episode = request(|story| {
        story.switch(1_500, SERVER, WAITS, 2);
        story.switch(2_000, (9, 120), WAITS, 4);
        story.event(3_000, EventKind::Waking, 0, u64::from(SERVER.0), signalled().bits() | 120, 4);
        story.switch(3_010, SERVER, 0, 2);
        answers(story, 3_500, READ.bits());
    });
    episode.frames = ["serve", "bystander"].map(|name| Frame { function: name.into(), module: "m".into() }).into();
    let sample = |at_us: u64, tid, frame| StackSample {
        at_ns: at_us * 1_000,
        cpu: 0,
        tid,
        context: 0,
        at_late_interrupt: false,
        name: 2,
        frames: vec![frame],
    };
    episode.samples = vec![sample(1_700, SERVER.0, 0), sample(2_500, 9, 1), sample(3_200, SERVER.0, 0)];
    let mut tree = CallTree::default();
    let found = Findings::of(&episode);
    assert_eq!((&found.split, &found.chain), (&split(&episode), &chain(&episode)));
    add_lateness(&mut tree, &episode, &found.split, &found.sightings, &mut Room::of(1 << 20));
    let folded = folded(&tree);
    assert_eq!(folded.matches("wait;other;serve ").count(), 1, "{folded}");
    assert!(folded.contains("wait;other;kept by waiting for a thread that was not seen"), "{folded}");
    assert!(!folded.contains("bystander"), "{folded}");
}

/// Those who wait in a circle by what the events say, and a chain without an end.
#[test]
fn circles_and_long_chains_come_to_an_end() {
    let circle = request(|story| {
        story.switch(1_500, SERVER, WAITS, 2);
        story.switch(1_600, IDLE, WAITS, 0);
        story.current = VICTIM_RUNS;
        story.event(3_400, EventKind::Waking, 0, u64::from(SERVER.0), READ.bits() | 120, 1);
        story.current = IDLE;
        story.switch(3_410, SERVER, 0, 2);
        answers(story, 3_500, READ.bits());
    });
    let part = wait(&circle);
    assert_eq!((part.who.name(), part.ns), ("other", 2_000_000));
    assert!(part.unknown_ns >= 1_700_000, "what the circle hides is unknown: {part:?}");
    // Who waits for the server all the while did not end its sleep: nobody is named for that.
    let mut inside = part.inside.iter();
    assert!(inside.all(|inside| inside.kind != Kind::Wait && inside.who.name() != "victim"), "{part:?}");

    const LONG: u32 = 20;
    let long = request(|story| {
        story.switch(1_500, IDLE, WAITS, 0);
        for number in (0..LONG).rev() {
            let at_us = 3_000 + u64::from(LONG - number) * 10;
            story.switch(at_us, (20 + number, 120), 1, 2);
            let woken = if number == 0 { VICTIM } else { 19 + number };
            story.event(at_us + 5, EventKind::Waking, 0, u64::from(woken), READ.bits() | 120, 2);
        }
        story.switch(3_300, VICTIM_RUNS, 1, 1);
    });
    fn depth(inside: &[Inside]) -> usize {
        inside.iter().map(|inside| 1 + depth(&inside.inside)).max().unwrap_or(0)
    }
    let part = wait(&long);
    assert!((8..=9).contains(&depth(&part.inside)), "{}", depth(&part.inside));
    assert!(part.unknown_ns > 0);
}

/// By the kernel's account whoever waits in a ring of requests waits for input and output: what ends that tells for what.
#[test]
fn a_wait_in_a_ring_is_for_whoever_ends_it_and_for_no_disk() {
    let ring = |left: u32, waker: u32| {
        request(|story| {
            story.episode.names.push("vda".into());
            story.event(1_400, EventKind::Waking, 0, u64::from(SERVER.0), READ.bits() | 120, 2);
            story.switch(1_500, SERVER, left, 2);
            // Somebody else's request is done just before.
            story.event(3_450, EventKind::RequestBegin, 0, 3, 4096, 3);
            story.event(3_490, EventKind::RequestEnd, INTERRUPT, 3, 0, 5);
            let bits = WaitEnd { sleeper: Call::Poll, ..READ }.bits();
            story.event(3_500, EventKind::Waking, waker, u64::from(VICTIM), bits | 19, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        })
    };
    let part = wait(&ring(WAITS | LEFT_FOR_IO, 0));
    assert_eq!((part.who.name(), part.ns), ("other", 2_000_000));
    let named = |episode: &Episode| {
        let io: Vec<_> = parts(episode).into_iter().filter(|part| part.kind == Kind::Io).collect();
        assert_eq!(io.len(), 1, "{io:?}");
        io[0].who.name().to_owned()
    };
    let mut response = ring(WAITS | LEFT_FOR_IO, 0);
    response.stage = Stage::Response;
    assert_eq!(named(&response), "other");
    // Whoever cannot be interrupted waits for the disk.
    response = ring(LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE, 0);
    response.stage = Stage::Response;
    assert_eq!(named(&response), "vda");
    // A device ended it, and the request that was done was another one's.
    assert_ne!(named(&ring(WAITS | LEFT_FOR_IO, INTERRUPT)), "vda");
}

/// Whoever waits for a worker of the kernel's is woken by the item that stands behind that worker's work.
#[test]
fn a_wait_for_a_worker_of_the_kernels_tells_what_kept_that() {
    let waits = |item: &str| {
        let mut story = Story::new(IDLE, 5_000);
        story.episode.stage = Stage::Response;
        story.episode.names.extend([item.into(), "keeper".into()]);
        story.timer(1_002, 0);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        story.event(1_490, EventKind::Waking, 0, u64::from(SERVER.0), 120, 2);
        // On that CPU a real-time thread runs until 3,400 us.
        story.switch(1_500, (12, 9), LEFT_UNINTERRUPTIBLE, 6);
        story.switch(3_400, SERVER, 1, 2);
        story.event(3_450, EventKind::WorkBegin, 0, 1, 0, 5);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
        story.event(3_501, EventKind::WorkEnd, 0, 1, 0, 5);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
        story.switch(5_000, IDLE, WAITS, 0);
        story.episode
    };
    let part = wait(&waits("wq_barrier_func"));
    assert_eq!((part.who.name(), part.ns), ("other", 2_000_000));
    assert!(part.inside.contains(&leaf(Kind::HigherPriority, "keeper", 1_900_000)), "{part:?}");
    // Another item may have handed on what somebody else did.
    assert!(parts(&waits("flush_to_ldisc")).iter().all(|part| part.kind != Kind::Wait));
}

/// In the midst of a response: a parent whose child uses its memory, one that waits for a grace period.
#[test]
fn a_wait_that_no_signal_ends_is_for_the_thread_that_ends_it() {
    let waits = |context: u32, page: bool| {
        let mut story = Story::new(IDLE, 5_000);
        story.episode.stage = Stage::Response;
        story.timer(1_002, 0);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        if page {
            story.event(1_400, EventKind::FaultUser, 0, 0, 0, 1);
        }
        story.switch(1_500, SERVER, LEFT_UNINTERRUPTIBLE, 2);
        story.event(3_500, EventKind::Waking, context, u64::from(VICTIM), 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
        if page {
            story.event(3_510, EventKind::FaultEnd, 0, 0, 0, 1);
        }
        story.switch(5_000, IDLE, WAITS, 0);
        story.episode
    };
    let part = wait(&waits(0, false));
    assert_eq!((part.who.name(), part.ns), ("other", 2_000_000));
    assert_eq!(part.inside, [leaf(Kind::Own, "other", 2_000_000)]);
    for (context, page) in [(INTERRUPT, false), (0, true)] {
        assert!(parts(&waits(context, page)).iter().all(|part| part.kind != Kind::Wait), "{context} {page}");
    }
}
