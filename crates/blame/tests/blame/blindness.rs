//! Nobody is accused because nothing else was seen, where something else might not have been seen.

use crate::support::{INTERRUPT, Story, VICTIM, added_up};
use punctual_blame::{Kind, split};
use punctual_recording::episode::{Event, EventKind, IN_SOFTIRQ, INTERRUPTED_USER, LEFT_FOR_IO, StackSample};
use punctual_recording::{Episode, Stage};

const OTHER: (u32, i16) = (7, 120);
const VICTIM_RUNS: (u32, i16) = (VICTIM, 19);

/// An accusation that stands on nothing but that nothing else was seen; the stretch that it is of, us.
struct Accusation {
    episode: Episode,
    accused: (Kind, &'static str),
    from_us: u64,
    to_us: u64,
}

fn accusations() -> Vec<(&'static str, Accusation)> {
    let outside = (Kind::Blind, "outside this kernel");
    let works = {
        let mut story = Story::new((0, 120), 5_000);
        story.episode.stage = Stage::Response;
        story.timer(1_002, 0).switch(1_010, VICTIM_RUNS, 0, 1).switch(5_000, OTHER, 1, 2);
        story.episode
    };
    let late_over = |interrupted: u64| {
        let mut story = Story::new(OTHER, 3_020);
        story.switch(900, OTHER, 0, 2);
        story.timer(3_000, interrupted).switch(3_010, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        story.episode
    };
    let on_its_way_back = {
        let mut story = Story::new(OTHER, 4_000);
        story.timer(1_005, INTERRUPTED_USER).switch(1_010, VICTIM_RUNS, 0, 1);
        story.event(3_900, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 1);
        story.event(3_901, EventKind::TimerBegin, INTERRUPT, 0, 2_000_000, 4);
        story.event(3_905, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
        story.event(3_906, EventKind::VectorEnd, INTERRUPT, 1, 0, 1).switch(4_100, OTHER, 1, 2);
        story.episode
    };
    let not_preempted = |comes: bool| {
        let mut story = Story::new(OTHER, 3_020);
        story.timer(1_002, 0);
        if comes {
            story.event(2_990, EventKind::VectorBegin, INTERRUPT, 2, INTERRUPTED_USER, 2);
            story.event(2_992, EventKind::VectorEnd, INTERRUPT, 2, 0, 2);
        }
        story.switch(3_000, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        story.episode
    };
    let of = |episode, accused, from_us, to_us| Accusation { episode, accused, from_us, to_us };
    vec![
        ("own work", of(works, (Kind::Own, "victim"), 1_010, 5_000)),
        ("a timer that comes late over a program", of(late_over(INTERRUPTED_USER), outside, 1_000, 3_000)),
        ("a timer that comes late over the kernel", of(late_over(0), (Kind::IrqOff, "other"), 1_000, 3_000)),
        ("a standstill on the way back", of(on_its_way_back, outside, 1_010, 3_900)),
        ("not preempted in the kernel", of(not_preempted(false), (Kind::Kernel, "other"), 1_006, 3_000)),
        ("not preempted in a program", of(not_preempted(true), outside, 1_006, 2_990)),
    ]
}

/// What of a stretch is told as this, ns.
fn told(episode: &Episode, accused: (Kind, &str), from_us: u64, to_us: u64) -> u64 {
    let split = added_up(episode);
    let is_it = |kind: Kind, name: &str| kind == accused.0 && (name == accused.1 || accused.1.is_empty());
    let pieces = split.pieces.iter().filter(|piece| is_it(piece.kind, piece.who.name()));
    let within = |start: u64, end: u64| end.min(to_us * 1_000).saturating_sub(start.max(from_us * 1_000));
    pieces.map(|piece| within(piece.start_ns, piece.start_ns + piece.ns)).sum()
}

/// The episode with one more event, in the thread that has the CPU then.
fn with(episode: &Episode, at_us: u64, kind: EventKind, context: u32) -> Episode {
    let mut episode = episode.clone();
    let at_ns = at_us * 1_000;
    let before = *episode.events.iter().rfind(|event| event.at_ns <= at_ns).unwrap();
    let (tid, priority) = match before.kind {
        EventKind::Switch => (before.value as u32, before.other_priority()),
        _ => (before.tid, before.priority),
    };
    episode.events.push(Event { at_ns, kind, tid, priority, context, value: 2, extra: 0, name: 2, ..before });
    episode.events.sort_by_key(|event| event.at_ns);
    episode
}

/// Of what stands around a switch or an interrupt it does not matter, us.
const EDGE_US: u64 = 70;

#[test]
fn what_might_not_have_been_seen_accuses_nobody() {
    let mut cases = 0;
    for (what, Accusation { episode, accused, from_us, to_us }) in accusations() {
        let all_ns = (to_us - from_us - EDGE_US) * 1_000;
        assert!(told(&episode, accused, from_us, to_us) >= all_ns, "{what}: {:?}", split(&episode).pieces);
        let none_of = |blind: &Episode, how: &str, from_us: u64, to_us: u64| {
            let pieces = split(blind).pieces;
            assert_eq!(told(blind, accused, from_us, to_us), 0, "{what}, {how}: {pieces:?}");
        };
        // A run that did not take place may have been any, but of an interrupt's program, which nothing interrupts.
        let missed = Episode { missed_runs: 1, ..episode.clone() };
        if accused.0 == Kind::IrqOff {
            assert!(told(&missed, accused, from_us, to_us) >= all_ns, "{what}");
        } else {
            none_of(&missed, "a missed run", from_us, to_us);
            assert!(told(&missed, (Kind::Unknown, ""), from_us, to_us) >= all_ns, "{what}");
        }
        // An interrupt or a softirq that ends and was not seen to begin, and one that begins and is not seen to end.
        let middle_us = from_us.midpoint(to_us);
        for (begin, end, context) in [
            (EventKind::VectorBegin, EventKind::VectorEnd, INTERRUPT),
            (EventKind::HandlerBegin, EventKind::HandlerEnd, INTERRUPT),
            (EventKind::SoftirqBegin, EventKind::SoftirqEnd, IN_SOFTIRQ),
        ] {
            none_of(&with(&episode, middle_us, end, context), &format!("only {end:?}"), from_us, middle_us);
            none_of(&with(&episode, middle_us, begin, context), &format!("only {begin:?}"), middle_us, to_us);
            // Both were seen: what is before and after that is as it was.
            let seen = with(&with(&episode, middle_us, begin, context), middle_us + 100, end, context);
            let ns = told(&seen, accused, from_us, to_us);
            // Who is interrupted by something else meanwhile has interrupts on.
            if accused.0 == Kind::IrqOff && begin != EventKind::SoftirqBegin {
                none_of(&seen, &format!("a whole {begin:?}"), from_us, to_us);
                cases += 2;
                continue;
            }
            // On the way back it takes a timer that was due in the stretch.
            assert!(ns >= all_ns / 3 || what.contains("way back"), "{what}, {begin:?}: {ns} {:?}", split(&seen).pieces);
            cases += 2;
        }
        cases += 1;
    }
    assert_eq!(cases, 6 * 7);
}

/// The sampling clock's interrupts come over every program. A CPU that tells nothing for long did something else.
#[test]
fn own_work_is_what_the_sampling_clock_may_come_over() {
    let (_, Accusation { mut episode, accused, from_us, to_us }) = accusations().remove(0);
    episode.sample_period_ns = 1_000_000;
    assert_eq!(told(&episode, accused, from_us, to_us), 0);
    assert_eq!(told(&episode, (Kind::Unknown, ""), from_us, to_us), 3_990_000);
    // A clock that comes without an interrupt leaves stacks.
    let mut with_stack = episode.clone();
    let (at_ns, cpu, tid, context) = (3_000_000, 0, VICTIM, 0);
    with_stack.samples.push(StackSample {
        at_ns,
        cpu,
        tid,
        context,
        at_late_interrupt: false,
        name: 1,
        frames: vec![],
    });
    assert_eq!(told(&with_stack, accused, from_us, to_us), 3_990_000);
    // With the host's time taken out of it there was none to come.
    let mut stolen = episode.clone();
    for event in stolen.events.iter_mut().filter(|event| event.at_ns >= 5_000_000) {
        event.steal_ns += 2_000_000;
    }
    assert_eq!(told(&stolen, accused, from_us, to_us), 1_990_000);
    assert_eq!(told(&stolen, (Kind::Steal, ""), from_us, to_us), 2_000_000);
    // It came at last over the kernel's code for the thread, which can keep it off.
    let kept_off =
        with(&with(&episode, 4_900, EventKind::VectorBegin, INTERRUPT), 4_902, EventKind::VectorEnd, INTERRUPT);
    assert_eq!(told(&kept_off, accused, from_us, to_us), 3_988_000);
}

/// In a kernel that serves softirqs in threads, one that was preempted in the middle of one goes on with it.
#[test]
fn a_softirq_goes_on_when_its_thread_does() {
    let mut story = Story::new((0, 120), 5_000);
    story.episode.stage = Stage::Response;
    story.timer(1_002, 0).switch(1_010, VICTIM_RUNS, 0, 1);
    story.event(2_000, EventKind::SoftirqBegin, IN_SOFTIRQ, 3, 0, 3);
    story.event(2_100, EventKind::Switch, IN_SOFTIRQ, 7, 0, 2);
    story.current = (7, 0);
    story.switch(2_300, VICTIM_RUNS, 1, 1);
    story.event(2_900, EventKind::SoftirqEnd, IN_SOFTIRQ, 3, 0, 3);
    story.switch(5_000, OTHER, 1, 2);
    assert_eq!(told(&story.episode, (Kind::Softirq, ""), 1_000, 5_000), 700_000);
    assert_eq!(told(&story.episode, (Kind::Own, "victim"), 1_000, 5_000), 990_000 + 2_100_000);
    assert_eq!(told(&story.episode, (Kind::Unknown, ""), 1_000, 5_000), 0);
}

/// The recorder's ring of a CPU lost what was before its first event there.
#[test]
fn what_was_lost_is_nobodys() {
    let void = Some("CPU 1: the ring was overwritten".to_owned());
    let works = |void: Option<String>| {
        let mut story = Story::new(VICTIM_RUNS, 5_000);
        story.episode.stage = Stage::Request;
        story.switch(4_900, OTHER, 1, 2).switch(4_910, VICTIM_RUNS, 0, 1).switch(5_100, OTHER, 1, 2);
        Episode { void, ..story.episode }
    };
    let own = (Kind::Own, "victim");
    assert!(told(&works(None), own, 1_000, 4_900) >= 3_000_000, "a CPU that told nothing had nothing to tell");
    let split = split(&works(void.clone()));
    assert_eq!(told(&works(void.clone()), own, 1_000, 4_900), 0, "{:?}", split.pieces);
    assert!(told(&works(void.clone()), own, 4_910, 5_000) > 0, "{:?}", split.pieces);
    assert_eq!(split.pieces[0].who.name(), "CPU 1: the ring was overwritten", "{:?}", split.pieces);
}

/// A thread that sleeps for a disk here runs again there, and its waking is not seen.
#[test]
fn who_runs_again_was_woken_whether_seen_or_not() {
    const FOR_IO: u64 = (LEFT_FOR_IO as u64 | 2) << 32 | 120;
    let sleeps = |wakes_up: bool| {
        let mut story = Story::new(VICTIM_RUNS, 5_000);
        story.episode.stage = Stage::Request;
        story.switch(900, OTHER, 1, 2).switch(990, VICTIM_RUNS, 0, 1);
        story.event(2_000, EventKind::Switch, 0, 7, FOR_IO, 2);
        if wakes_up {
            story.switch(4_500, VICTIM_RUNS, 0, 1).switch(5_100, OTHER, 1, 2);
        }
        story.episode
    };
    let told = |episode: &Episode, kind| told(episode, (kind, ""), 2_000, 4_500);
    let (asleep, again) = (sleeps(false), sleeps(true));
    let lost = Episode { void: Some("CPU 1: the ring was overwritten".to_owned()), ..again.clone() };
    assert_eq!(split(&lost).pieces[1].who.name(), "CPU 1: the ring was overwritten", "{:?}", split(&lost).pieces);
    assert_eq!((told(&asleep, Kind::Io), told(&asleep, Kind::Unknown)), (2_500_000, 0), "{:?}", split(&asleep).pieces);
    assert_eq!((told(&again, Kind::Io), told(&again, Kind::Unknown)), (0, 2_500_000), "{:?}", split(&again).pieces);
}

/// The victim's CPU reports another thread, and no switch to it nor back.
#[test]
fn who_is_seen_on_the_cpu_works_there_and_nobody_else() {
    let story = |other_comes: bool| {
        let mut story = Story::new((0, 120), 5_000);
        story.episode.stage = Stage::Response;
        story.timer(1_002, 0).switch(1_010, VICTIM_RUNS, 0, 1);
        for at_us in [2_000, 3_000] {
            story.current = if other_comes { OTHER } else { VICTIM_RUNS };
            story.event(at_us, EventKind::VectorBegin, INTERRUPT, 2, INTERRUPTED_USER, 2);
            story.event(at_us + 2, EventKind::VectorEnd, INTERRUPT, 2, 0, 2);
        }
        story.current = VICTIM_RUNS;
        story.switch(5_000, OTHER, 1, 2);
        story.episode
    };
    let own_ns = |episode: &Episode| told(episode, (Kind::Own, "victim"), 1_010, 5_000);
    let (alone, beside) = (story(false), story(true));
    assert!(own_ns(&alone) >= 3_900_000, "{:?}", split(&alone).pieces);
    assert_eq!(own_ns(&beside), 0, "{:?}", split(&beside).pieces);
    let unknown = (Kind::Unknown, "a switch was not seen");
    assert!(told(&beside, unknown, 1_010, 5_000) >= 3_900_000, "{:?}", split(&beside).pieces);
}
