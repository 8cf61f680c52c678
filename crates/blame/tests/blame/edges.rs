//! Verdicts at their edges: just enough, and just not enough.

use crate::support::{INTERRUPT, OTHER, Story, VICTIM, VICTIM_RUNS};
use punctual_blame::{Kind, split};
use punctual_recording::episode::{EventKind, INTERRUPTED_USER};
use punctual_recording::{Episode, Stage};

fn ns_of(episode: &Episode, kind: Kind, name: &str) -> u64 {
    let parts = split(episode).parts;
    parts.iter().filter(|part| part.kind == kind && part.who.name() == name).map(|part| part.ns).sum()
}

/// The victim's last event but its switch is the last of its CPU, and what came of it is not in the evidence.
#[test]
fn after_a_cpus_last_event_a_running_victim_goes_on() {
    let last = |stage, kind| {
        let mut story = Story::new(OTHER, 2_500);
        story.episode.stage = stage;
        story.timer(1_002, 0);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        if kind == EventKind::SoftirqEnd {
            story.softirq(1_400, 1_500, 3);
        }
        story.episode
    };
    let mut cases = 0;
    for (kind, until_us) in [(EventKind::Switch, 1_010), (EventKind::SoftirqEnd, 1_500)] {
        let softirq_ns = if kind == EventKind::SoftirqEnd { 100_000 } else { 0 };
        let response = last(Stage::Response, kind);
        assert_eq!(ns_of(&response, Kind::Own, "victim"), 1_490_000 - softirq_ns, "{kind:?}");
        // On the way back to the program 50 us are ordinary; no more is known of the rest.
        let total = last(Stage::Total, kind);
        let unexplained_ns = ns_of(&total, Kind::Unknown, "on the way back to the program");
        let before_ns = if kind == EventKind::SoftirqEnd { 390_000 - 50_000 } else { 0 };
        assert_eq!(unexplained_ns, before_ns + (2_500 - until_us) * 1_000 - 50_000, "{kind:?}");
        cases += 1;
    }
    assert_eq!(cases, 2);
    // Somebody else's event says that the victim has gone, and not where to.
    let mut gone = last(Stage::Response, EventKind::Switch);
    let mut of_another = gone.events.last().copied().unwrap();
    (of_another.at_ns, of_another.kind, of_another.tid) = (1_800_000, EventKind::FaultUser, OTHER.0);
    gone.events.push(of_another);
    assert_eq!(ns_of(&gone, Kind::Unknown, "no event of this CPU"), 700_000);
}

/// The victim's own timer function, to the waking, is how a wakeup goes; not where it takes long, nor of another CPU's waking.
#[test]
fn the_timer_function_that_wakes_is_the_ordinary_path_while_it_is_short() {
    let woken = |length_us: u64, wakes: bool| {
        let mut story = Story::new(OTHER, 2_500);
        story.event(1_002, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 2);
        let begins = if wakes { EventKind::TimerBegin } else { EventKind::HandlerBegin };
        let ends = if wakes { EventKind::TimerEnd } else { EventKind::HandlerEnd };
        story.event(1_003, begins, INTERRUPT, 7, 1_000_000, 4);
        story.event(1_003 + length_us, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.event(1_004 + length_us, ends, INTERRUPT, 7, 0, 4);
        story.event(1_005 + length_us, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
        story.switch(1_010 + length_us, VICTIM_RUNS, 0, 1).switch(2_600, OTHER, 1, 2);
        story.episode
    };
    let told =
        |episode: &Episode| (ns_of(episode, Kind::KernelWake, "timer to waking"), ns_of(episode, Kind::Irq, "spin_fn"));
    assert_eq!(told(&woken(10, true)), (10_000, 1_000));
    assert_eq!(told(&woken(49, true)), (49_000, 1_000));
    assert_eq!(told(&woken(50, true)), (0, 51_000));
    // Another handler was in the way, and woke the victim at its end.
    assert_eq!(told(&woken(10, false)), (0, 11_000));
}

#[test]
fn the_highest_of_normal_priorities_is_a_normal_one() {
    let mut story = Story::new((7, 120), 3_020);
    story.episode.victim.priority = 100;
    story.timer(1_005, INTERRUPTED_USER);
    for event in story.episode.events.iter_mut().filter(|event| event.kind == EventKind::Waking) {
        event.extra = 100;
    }
    story.switch(3_009, (VICTIM, 100), 0, 1).switch(3_100, OTHER, 1, 2);
    assert_eq!(ns_of(&story.episode, Kind::LowerPriority, "other"), 2_000_000);
    assert_eq!(ns_of(&story.episode, Kind::Kernel, "other"), 0);
}

/// The interrupt that tells of the waking came over user code, late: within the time that a way through the kernel takes that
/// is the other thread's own delay, beyond it nothing here kept it.
#[test]
fn user_code_keeps_nobody_beyond_the_way_of_an_interrupt() {
    let came_after = |after_us: u64| {
        let mut story = Story::new(OTHER, 3_020);
        story.timer(1_005, 0);
        let at_us = 1_009 + after_us;
        story.event(at_us, EventKind::VectorBegin, INTERRUPT, 2, INTERRUPTED_USER, 2);
        story.event(at_us + 1, EventKind::VectorEnd, INTERRUPT, 2, 0, 2);
        story.switch(at_us + 5, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        story.episode
    };
    assert_eq!(ns_of(&came_after(1_000), Kind::Blind, "outside this kernel"), 1_000_000);
    assert_eq!(ns_of(&came_after(40), Kind::Blind, "outside this kernel"), 0);
}

/// It was preempted, and when it got its CPU back was not seen: that it is there says nothing of the time before.
#[test]
fn a_thread_that_is_on_its_cpu_for_long_is_not_about_to_leave_it() {
    let mut story = Story::new(VICTIM_RUNS, 5_000);
    story.switch(900, (7, 9), 0, 2);
    story.event(1_500, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 2);
    story.event(1_501, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
    story.current = VICTIM_RUNS;
    story.event(3_000, EventKind::FaultUser, 0, 4096, 0, 0);
    story.event(4_900, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 1);
    story.event(4_901, EventKind::VectorEnd, INTERRUPT, 1, 0, 1);
    assert_eq!(ns_of(&story.episode, Kind::HigherPriority, "other"), 500_000);
    assert_eq!(ns_of(&story.episode, Kind::KernelWake, "not yet asleep"), 0);
    assert_eq!(ns_of(&story.episode, Kind::Unknown, "a switch was not seen"), 1_499_000 + 1_900_000);
}
