//! Quota, weights, and being stopped: written down event by event, and what the split must make of them.

use crate::support::{INTERRUPT, OTHER, Story, VICTIM, added_up, in_words};
use punctual_blame::{Kind, Turn, split, summarize};
use punctual_recording::episode::{
    EventKind, Frame, Group, IDLE_PRIORITY, LEFT_FROZEN, LEFT_STOPPED, LEFT_TRACED, StackSample,
};
use punctual_recording::{Episode, Stage};

const VICTIM_RUNS: (u32, i16) = (VICTIM, 120);
/// The number of a name in the stories.
const GROUP: u32 = 5;

/// A normal victim in `/heavy`, woken at 1,007 us.
fn story(end_us: u64) -> Story {
    let mut story = Story::new(OTHER, end_us);
    story.episode.victim.priority = 120;
    story.episode.names.push("/heavy".into());
    let group =
        |path: &str, weights: &[u64]| Group { path: path.into(), weights: weights.to_vec(), real_time_us: None };
    story.episode.groups = vec![
        group("/heavy", &[20_480]),
        group("/heavy/inner", &[20_480, 1_024]),
        group("/", &[]),
        group("/light", &[1_024]),
    ];
    story.episode.members = vec![(VICTIM, 0), (7, 2), (8, 0)];
    story
}

/// The timer interrupt that wakes the victim, in a group that is out of quota or not.
fn wake(story: &mut Story, is_without: bool) {
    wake_at(story, 1_005, is_without);
}

fn wake_at(story: &mut Story, at_us: u64, is_without: bool) {
    story.event(at_us, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
    story.event(at_us + 1, EventKind::TimerBegin, INTERRUPT, 0, 1_000_000, 4);
    if is_without {
        story.event(at_us + 2, EventKind::OutOfQuota, INTERRUPT, u64::from(VICTIM), 77, GROUP);
    }
    story.event(at_us + 2, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 120, 2);
    story.event(at_us + 3, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
    story.event(at_us + 4, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
}

fn sum_of(episode: &Episode, kind: Kind, name: &str) -> u64 {
    let split = added_up(episode);
    split.parts.iter().filter(|part| part.kind == kind && part.who.name() == name).map(|part| part.ns).sum()
}

#[test]
fn a_group_that_is_out_of_quota_waits_for_it_whoever_runs() {
    let mut story = story(5_000);
    story.episode.stage = Stage::Response;
    wake(&mut story, false);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    story.event(2_000, EventKind::OutOfQuota, 0, u64::from(VICTIM), 77, GROUP);
    story.switch(2_000, OTHER, 0, 2).switch(2_500, (0, 120), 1, 0).switch(2_900, OTHER, 0, 2);
    // Another group's is none of its.
    story.event(3_000, EventKind::QuotaRefill, 0, 78, 0, 2);
    story.event(3_600, EventKind::QuotaRefill, 0, 77, 0, GROUP);
    story.switch(3_700, VICTIM_RUNS, 0, 1).switch(5_000, OTHER, 1, 2);
    assert_eq!(sum_of(&story.episode, Kind::Throttled, "/heavy"), 1_600_000);
    assert_eq!(sum_of(&story.episode, Kind::LowerPriority, "other"), 100_000 + 1_000);
    assert_eq!(sum_of(&story.episode, Kind::Own, "victim"), 990_000 + 1_300_000);
}

/// The message that gives new quota went to CPU 1 alone: CPU 0 waits for the next one.
#[test]
fn quota_comes_for_each_cpu() {
    let mut story = story(4_000);
    wake(&mut story, true);
    story.event(2_000, EventKind::QuotaRefill, 0, 77, 0b01, GROUP);
    story.event(3_000, EventKind::QuotaRefill, 0, 77, 0b10, GROUP);
    story.switch(3_990, VICTIM_RUNS, 0, 1);
    assert_eq!(sum_of(&story.episode, Kind::Throttled, "/heavy"), 1_993_000);
    assert_eq!(sum_of(&story.episode, Kind::LowerPriority, "other"), 990_000);
}

/// It is let in to be parked on its way out of the kernel: that is no arrival.
#[test]
fn one_woken_without_quota_waits_for_it_around_its_visit_to_the_kernel() {
    let mut story = story(9_000);
    wake(&mut story, true);
    story.switch(2_000, VICTIM_RUNS, 0, 1);
    story.event(2_010, EventKind::OutOfQuota, 0, u64::from(VICTIM), 77, GROUP);
    story.switch(2_010, OTHER, 0, 2);
    story.event(8_980, EventKind::QuotaRefill, 0, 77, 0, GROUP);
    story.switch(8_990, VICTIM_RUNS, 0, 1);
    assert_eq!(sum_of(&story.episode, Kind::Throttled, "/heavy"), 993_000 + 6_970_000);
}

/// Threads of the same group share what it has: one that used up the last of it says so for all.
#[test]
fn anothers_end_of_quota_is_the_groups() {
    for (member, throttled) in [(1, true), (3, false)] {
        let mut story = story(4_000);
        story.episode.members[0].1 = member;
        wake(&mut story, false);
        story.switch(1_500, (8, 120), 0, 3);
        story.event(2_000, EventKind::OutOfQuota, 0, 8, 77, GROUP);
        story.switch(2_000, OTHER, 0, 2);
        story.event(3_900, EventKind::QuotaRefill, 0, 77, 0, GROUP);
        story.switch(3_950, VICTIM_RUNS, 0, 1);
        let expected = if throttled { 1_900_000 } else { 0 };
        assert_eq!(sum_of(&story.episode, Kind::Throttled, "/heavy"), expected);
    }
}

/// Which group a thread was in when another one of that used up the quota is not known where it was moved: its own end of quota is.
#[test]
fn quota_of_a_group_to_which_a_thread_was_moved_may_not_have_been_its() {
    for (is_moved, by, throttled) in [(false, 8, 1_900_000), (true, 8, 0), (true, VICTIM, 1_900_000)] {
        let mut story = story(4_000);
        if is_moved {
            story.episode.members.push((VICTIM, 3));
        }
        wake(&mut story, false);
        story.switch(1_500, (8, 120), 0, 3);
        story.event(2_000, EventKind::OutOfQuota, 0, u64::from(by), 77, GROUP);
        story.switch(2_000, OTHER, 0, 2);
        story.event(3_900, EventKind::QuotaRefill, 0, 77, 0, GROUP);
        story.switch(3_950, VICTIM_RUNS, 0, 1);
        assert_eq!(sum_of(&story.episode, Kind::Throttled, "/heavy"), throttled, "{is_moved} {by}");
    }
}

/// Quota is that of normal threads: what a real-time thread of the same group waits for is who goes first.
#[test]
fn a_real_time_thread_needs_no_quota_of_its_group() {
    for (priority, throttled, before) in [(120, 1_900_000, 500_000), (49, 0, 2_940_000)] {
        let mut story = story(4_000);
        story.episode.victim.priority = priority;
        wake(&mut story, false);
        story.episode.events.iter_mut().filter(|event| event.kind == EventKind::Waking).for_each(|event| {
            event.extra = priority as u64;
        });
        // It goes first whatever the victim is; and a thread of the victim's group has used up the quota meanwhile.
        story.switch(1_010, (9, 9), 0, 3);
        story.event(2_000, EventKind::OutOfQuota, 0, 8, 77, GROUP);
        story.event(3_900, EventKind::QuotaRefill, 0, 77, 0, GROUP);
        story.switch(3_950, (VICTIM, priority), 1, 1);
        assert_eq!(sum_of(&story.episode, Kind::Throttled, "/heavy"), throttled);
        assert!(sum_of(&story.episode, Kind::HigherPriority, "first") >= before);
    }
}

#[test]
fn weights_of_groups_say_who_was_entitled() {
    // Nice 19 in a group of 20 times the weight; nice 0 in the root; the same group; deeper in the same one.
    let cases = [
        ((9, 139), 0, 3, Kind::HigherPriority, 20_480, 1_024),
        ((9, 120), 2, 3, Kind::SamePriority, 1_024, 1_024),
        ((9, 120), 2, 0, Kind::LowerPriority, 1_024, 20_480),
        ((9, 100), 3, 0, Kind::LowerPriority, 1_024, 20_480),
        ((9, 139), 0, 0, Kind::LowerPriority, 15, 1_024),
        ((9, 110), 0, 0, Kind::HigherPriority, 9_548, 1_024),
        ((9, 139), 1, 0, Kind::SamePriority, 1_024, 1_024),
        // What runs when nobody else wants the CPU, whatever its nice value; where groups differ those count.
        ((9, 140), 0, 0, Kind::LowerPriority, 3, 1_024),
        ((9, 140), 3, 0, Kind::LowerPriority, 1_024, 20_480),
    ];
    for (runs, its_group, victims_group, kind, weight, waiting_weight) in cases {
        let mut story = story(4_000);
        story.current = runs;
        story.episode.members = vec![(VICTIM, victims_group), (9, its_group)];
        wake(&mut story, false);
        story.switch(3_990, VICTIM_RUNS, 0, 1);
        let split = split(&story.episode);
        let part = &split.parts[0];
        let turn = Turn { weight, waiting_weight, waits_in_session: Some(false) };
        assert_eq!((part.kind, part.turn), (kind, Some(turn)), "{runs:?} {part:?}");
        assert_eq!(part.cgroup, Some(story.episode.groups[its_group as usize].path.clone()));
    }
}

/// Between sessions nice has no effect where the kernel makes groups of them; within one it has.
#[test]
fn a_victim_of_another_session_is_told_that_nice_has_no_effect() {
    // The victim's group and that of the other one.
    for (victims_group, its_group, waits_in_session, is_told) in [
        (Some(4), 5, Some(true), true),
        (Some(4), 2, Some(true), true),
        (Some(4), 4, Some(false), false),
        (Some(2), 5, Some(false), false),
        (Some(3), 5, Some(false), false),
        (None, 5, None, false),
    ] {
        let mut story = story(4_000);
        for path in ["/autogroup-7", "/autogroup-8"] {
            story.episode.groups.push(Group { path: path.into(), weights: vec![1_024], real_time_us: None });
        }
        story.current = (9, 120);
        let victims = victims_group.map(|group| (VICTIM, group));
        story.episode.members = victims.into_iter().chain([(9, its_group)]).collect();
        wake(&mut story, false);
        story.switch(3_990, VICTIM_RUNS, 0, 1);
        let summary = summarize([(1, &split(&story.episode))]);
        let cause = &summary.causes[0];
        let met = (cause.kind, cause.turn.and_then(|turn| turn.waits_in_session));
        assert_eq!(met, (Kind::SamePriority, waits_in_session), "{victims_group:?} {its_group} {cause:?}");
        let remedy = cause.remedy().unwrap_or_default();
        assert_eq!(remedy.contains("nice has no effect"), is_told, "{remedy}");
    }
}

/// It runs when nobody else wants the CPU: who ran first had the right to, whatever its nice value.
#[test]
fn an_idle_victim_comes_after_any_normal_thread() {
    for its_nice in [100, 139] {
        let mut story = story(4_000);
        story.current = (9, its_nice);
        story.episode.members = vec![(VICTIM, 0), (9, 0)];
        story.event(1_005, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
        story.event(1_006, EventKind::Waking, INTERRUPT, u64::from(VICTIM), IDLE_PRIORITY as u64, 2);
        story.event(1_009, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
        story.switch(3_990, (VICTIM, IDLE_PRIORITY), 0, 1);
        let split = split(&story.episode);
        let part = &split.parts[0];
        assert_eq!((part.kind, part.turn.map(|turn| turn.waiting_weight)), (Kind::HigherPriority, Some(3)), "{part:?}");
        let summary = summarize([(1, &split)]);
        assert!(summary.causes[0].happened().contains("SCHED_IDLE"), "{summary:?}");
        assert!(summary.causes[0].remedy().is_some_and(|remedy| remedy.contains("chrt -o")), "{summary:?}");
    }
}

#[test]
fn threads_of_one_name_in_two_groups_are_two_causes() {
    let mut story = story(4_000);
    story.episode.members = vec![(VICTIM, 0), (7, 2), (8, 3)];
    wake(&mut story, false);
    story.switch(2_000, (8, 120), 0, 2).switch(3_990, VICTIM_RUNS, 0, 1);
    let split = split(&story.episode);
    let summary = summarize([(1, &split)]);
    let groups: Vec<_> =
        summary.causes.iter().filter(|cause| cause.who.name() == "other").map(|cause| &cause.cgroup).collect();
    assert_eq!(groups, [&Some("/light".to_owned()), &Some("/".to_owned())]);
}

/// A real-time thread before a normal one has no turn; it goes first.
#[test]
fn real_time_threads_take_no_turns() {
    let mut story = story(4_000);
    story.current = (9, 10);
    wake(&mut story, false);
    story.switch(3_990, VICTIM_RUNS, 0, 1);
    let part = &split(&story.episode).parts[0];
    assert_eq!((part.kind, part.turn), (Kind::HigherPriority, None));
}

#[test]
fn one_that_is_stopped_is_told_by_whom() {
    for (left, asked, name, detail) in [
        (LEFT_STOPPED | LEFT_FROZEN, true, "first", "signal SIGSTOP"),
        (LEFT_STOPPED, false, "somebody not seen", "continued by other"),
        (LEFT_TRACED, false, "other", "its tracer"),
        (LEFT_FROZEN | 1, false, "the freezer of its control group", "thawed by other"),
    ] {
        let mut story = story(5_000);
        story.episode.stage = Stage::Response;
        wake(&mut story, false);
        story.switch(1_010, VICTIM_RUNS, 0, 1);
        if asked {
            story.event(1_990, EventKind::StopAsked, 0, u64::from(VICTIM), 19 << 32, 3);
        }
        story.switch(2_000, OTHER, left, 2);
        story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), 120, 2);
        story.switch(4_010, VICTIM_RUNS, 0, 1).switch(5_000, OTHER, 1, 2);
        assert_eq!(sum_of(&story.episode, Kind::Stopped, name), 2_000_000);
        let split = split(&story.episode);
        let part = split.parts.iter().find(|part| part.kind == Kind::Stopped).unwrap();
        assert_eq!(in_words(&part.detail).as_deref(), Some(detail));
    }
}

/// A program that reads the clock in a loop is at its loop.
#[test]
fn the_clock_that_the_kernel_lends_is_no_culprit() {
    let mut story = story(4_000);
    wake(&mut story, false);
    story.switch(3_990, VICTIM_RUNS, 0, 1);
    let frame = |function: &str, module: &str| Frame { function: function.into(), module: module.into() };
    story.episode.frames = vec![frame("[vdso]+0xb46", "[vdso]"), frame("wait_for_it", "/bin/other")];
    story.episode.samples = vec![StackSample {
        at_ns: 2_000_000,
        cpu: 0,
        tid: 7,
        context: 0,
        at_late_interrupt: false,
        name: 2,
        frames: vec![0, 1],
    }];
    assert_eq!(in_words(&split(&story.episode).parts[0].detail).as_deref(), Some("wait_for_it"));
}

/// The timer that it slept for was due while it was stopped: armed anew, it comes late, but kept nobody.
#[test]
fn a_timer_that_was_due_while_it_was_stopped_is_not_late() {
    let mut story = story(5_000);
    story.current = VICTIM_RUNS;
    story.event(890, EventKind::StopAsked, 0, u64::from(VICTIM), 19 << 32, 3);
    story.switch(900, (0, 120), LEFT_STOPPED, 0);
    story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), 120, 2);
    story.switch(4_005, VICTIM_RUNS, 0, 1).switch(4_010, (0, 120), 1, 0);
    wake_at(&mut story, 4_011, false);
    story.switch(4_990, VICTIM_RUNS, 0, 1);
    assert_eq!(sum_of(&story.episode, Kind::Stopped, "first"), 3_000_000);
}

/// The same where the evidence does not reach back to when it was stopped: nobody is accused.
#[test]
fn a_thread_that_wakes_it_long_after_its_timer_was_due_says_that_it_did_something_else() {
    let mut story = story(5_000);
    story.current = (0, 120);
    story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), 120, 2);
    story.episode.events.last_mut().unwrap().tid = 9;
    story.switch(4_990, VICTIM_RUNS, 0, 1);
    let split = split(&story.episode);
    assert!(split.parts.iter().all(|part| part.kind != Kind::IdleExit || part.ns < 1_000_000), "{:?}", split.parts);
    assert_eq!(sum_of(&story.episode, Kind::Unknown, "its timer was due while it was not waiting for it"), 3_000_000);
}

/// A normal thread is let in before a ready one in real time: the kernel's share, or the budget of that one's group.
#[test]
fn a_used_up_budget_for_real_time_threads_is_that_of_the_group() {
    let told = |real_time_us| {
        let mut story = story(5_000);
        story.episode.stage = Stage::Response;
        story.episode.groups[0].real_time_us = real_time_us;
        story.episode.victim.priority = 29;
        let runs = (VICTIM, 29);
        story.event(1_005, EventKind::VectorBegin, INTERRUPT, 1, 0, 2);
        story.event(1_006, EventKind::TimerBegin, INTERRUPT, 0, 1_000_000, 4);
        story.event(1_007, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 29, 2);
        story.event(1_008, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
        story.event(1_009, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
        story.switch(1_010, runs, 0, 1).switch(2_000, OTHER, 0, 2).switch(3_000, runs, 0, 1);
        story.switch(5_000, OTHER, 1, 2);
        story.episode
    };
    assert_eq!(sum_of(&told(Some(4_000)), Kind::Throttled, "/heavy"), 1_000_000);
    assert_eq!(sum_of(&told(None), Kind::FairServer, "other"), 1_000_000);
}
