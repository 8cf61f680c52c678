//! Known causes, written down event by event, and what the split must make of them.

use crate::support::{INTERRUPT, OTHER, Story, VICTIM, VICTIM_RUNS, added_up, in_words, lets_go, response};
use punctual_blame::{Detail, Kind, chain, split, summarize};
use punctual_recording::Episode;
use punctual_recording::episode::{
    EventKind, Frame, HookedProgram, INTERRUPTED_USER, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_UNINTERRUPTIBLE, StackSample,
};

fn parts(episode: &Episode) -> Vec<(Kind, String, u64)> {
    let split = added_up(episode);
    split.parts.into_iter().map(|part| (part.kind, part.who.to_string(), part.ns)).collect()
}

fn largest(episode: &Episode) -> (Kind, String, u64) {
    parts(episode).remove(0)
}

#[test]
fn a_softirq_after_the_timer_is_named_by_its_callback() {
    let mut story = Story::new(OTHER, 3_020);
    story.timer(1_005, INTERRUPTED_USER);
    story.event(1_010, EventKind::SoftirqBegin, 1 << 8, 8, 0, 3);
    story.event(1_011, EventKind::TimerBegin, 1 << 8, 0, 0, 4);
    story.event(2_000, EventKind::VectorBegin, INTERRUPT | 1 << 8, 2, 0, 2);
    story.event(2_100, EventKind::VectorEnd, INTERRUPT | 1 << 8, 2, 0, 2);
    story.event(3_011, EventKind::TimerEnd, 1 << 8, 0, 0, 4);
    story.event(3_012, EventKind::SoftirqEnd, 1 << 8, 8, 0, 3);
    story.switch(3_015, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    let parts = parts(&story.episode);
    assert_eq!(parts[0], (Kind::Softirq, "spin_fn".into(), 1_900_000));
    assert_eq!(parts[1], (Kind::Irq, "reschedule".into(), 100_000));
    assert!(parts.iter().all(|part| part.0 != Kind::Unknown), "{parts:?}");
}

/// The kernel's count is read from the wrong place, or from none: beginnings and ends say the same.
#[test]
fn without_the_nesting_count_a_softirq_and_what_interrupts_it_are_told_apart() {
    for says_so in [true, false] {
        let mut story = Story::new(OTHER, 3_020);
        story.timer(1_005, INTERRUPTED_USER);
        story.event(1_010, EventKind::SoftirqBegin, 0, 8, 0, 3);
        story.event(1_011, EventKind::TimerBegin, 0, 0, 0, 4);
        story.event(2_000, EventKind::VectorBegin, 0, 2, 0, 2);
        story.event(2_050, EventKind::LockBegin, 0, 0, 0, 2);
        story.event(2_100, EventKind::VectorEnd, 0, 2, 0, 2);
        story.event(3_011, EventKind::TimerEnd, 0, 0, 0, 4);
        story.event(3_012, EventKind::SoftirqEnd, 0, 8, 0, 3);
        story.switch(3_015, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        for event in &mut story.episode.events {
            event.context = 0;
        }
        story.episode.nesting_known = !says_so;
        let parts = parts(&story.episode);
        assert_eq!(parts[0], (Kind::Softirq, "spin_fn".into(), 1_900_000));
        assert_eq!(parts[1], (Kind::Irq, "reschedule".into(), 100_000));
        assert_eq!(chain(&story.episode)[0].by, "interrupt");
    }
}

/// On arm64 the timer's interrupt is a device's like all others. A layout of the count that was not known would leave the
/// idle loop as the only one to be accused.
#[test]
fn an_interrupt_without_a_vector_shows_that_the_count_was_misread() {
    for count in [0, 2] {
        let mut story = Story::new((0, 120), 3_020);
        story.event(995, EventKind::HandlerBegin, count, 11, 0, 2);
        story.event(996, EventKind::TimerBegin, count, 0, 900_000, 4);
        story.event(3_000, EventKind::TimerEnd, count, 0, 0, 4);
        story.event(3_001, EventKind::TimerBegin, count, 0, 1_000_000, 4);
        story.event(3_002, EventKind::Waking, count, u64::from(VICTIM), 19, 2);
        story.event(3_003, EventKind::TimerEnd, count, 0, 0, 4);
        story.event(3_004, EventKind::HandlerEnd, count, 11, 0, 2);
        story.switch(3_010, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        assert_eq!(sum_of(&story.episode, Kind::Irq, "spin_fn"), 2_001_000, "{:?}", parts(&story.episode));
        assert!(sum_of(&story.episode, Kind::IdleExit, "idle") < 10_000, "{:?}", parts(&story.episode));
    }
}

fn sum_of(episode: &Episode, kind: Kind, name: &str) -> u64 {
    parts(episode).iter().filter(|part| part.0 == kind && part.1 == name).map(|part| part.2).sum()
}

#[test]
fn a_lock_is_blamed_on_who_let_it_go_and_work_on_the_victim() {
    let episode = response(|story| {
        story.switch(1_500, OTHER, LEFT_FOR_LOCK | 1, 2);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(1).bits() | 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(sum_of(&episode, Kind::Lock, "other"), 2_000_000);
    assert_eq!(sum_of(&episode, Kind::Own, "victim"), 490_000 + 1_495_000);
    assert_eq!(sum_of(&episode, Kind::Unknown, ""), 0);
}

/// The holder is on its CPU for 0.5 ms of the 2 ms that it is waited for; a thread before it has the rest.
#[test]
fn who_keeps_the_holder_of_a_lock_is_told() {
    let episode = response(|story| {
        story.switch(1_500, OTHER, LEFT_FOR_LOCK | 1, 2);
        story.switch(1_800, (8, 110), 0, 3).switch(3_300, OTHER, 1, 2);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(1).bits() | 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    let split = split(&episode);
    let lock = split.parts.iter().find(|part| part.kind == Kind::Lock).unwrap();
    assert_eq!((lock.who.name(), lock.ns), ("other", 2_000_000));
    assert_eq!(
        in_words(&lock.detail).as_deref(),
        Some("while it held the lock, first ran on its CPU, with the higher priority")
    );
    let at_work = split.pieces.iter().filter(|piece| piece.detail == Some(Detail::AtWork));
    assert_eq!(at_work.map(|piece| piece.ns).sum::<u64>(), 500_000);
}

/// The whole machine stood still while the victim was on its way back: its next tick came when that was over.
#[test]
fn a_standstill_on_the_way_back_is_out_of_sight() {
    let mut story = Story::new(OTHER, 4_000);
    story.timer(1_005, INTERRUPTED_USER);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    story.event(3_900, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 1);
    story.event(3_901, EventKind::TimerBegin, INTERRUPT, 0, 2_000_000, 4);
    story.event(3_905, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
    story.event(3_906, EventKind::VectorEnd, INTERRUPT, 1, 0, 1);
    story.switch(4_100, OTHER, 1, 2);
    assert_eq!(sum_of(&story.episode, Kind::Blind, "outside this kernel"), 2_890_000 - 50_000);
    assert_eq!(sum_of(&story.episode, Kind::Unknown, "on the way back to the program"), 44_000);
}

/// A CPU is switched to one thread, and the next event is another's: which of them had the time between is not known. What a
/// thread does while it is being switched away is no sign of that.
#[test]
fn a_switch_that_was_not_seen_leaves_its_time_unknown() {
    let (unseen, fifo) = ((75, 19), (7, 9));
    for is_seen in [true, false] {
        let mut story = Story::new(OTHER, 3_020);
        story.timer(1_005, INTERRUPTED_USER).switch(1_020, unseen, 0, 3);
        if is_seen {
            story.current = OTHER;
            story.event(1_022, EventKind::LockBegin, 0, 0, 0, 2);
            story.current = unseen;
            story.switch(1_500, fifo, 0, 2);
        } else {
            story.current = fifo;
        }
        story.event(2_000, EventKind::FaultUser, 0, 0, 0, 2);
        story.switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        let unknown = sum_of(&story.episode, Kind::Unknown, "a switch was not seen");
        let other = sum_of(&story.episode, Kind::HigherPriority, "other");
        let expected = if is_seen { (0, 1_509_000) } else { (980_000, 1_009_000) };
        assert_eq!((unknown, other), expected, "{:?}", parts(&story.episode));
    }
}

/// It was preempted, not asleep, when its timer was due: that its interrupt did not come kept nobody.
#[test]
fn one_that_was_preempted_when_it_was_due_waits() {
    let mut story = Story::new(VICTIM_RUNS, 3_020);
    story.switch(900, (7, 9), 0, 2).switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    assert_eq!(largest(&story.episode), (Kind::HigherPriority, "other".into(), 2_009_000));
}

#[test]
fn a_page_fault_is_what_lies_between_its_touch_and_the_page_with_the_way_there() {
    let mut episode = response(|story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
        story.event(2_200, EventKind::VectorBegin, INTERRUPT, 2, 0, 1);
        story.event(2_300, EventKind::VectorEnd, INTERRUPT, 2, 0, 1);
        story.event(2_600, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    assert_eq!(sum_of(&episode, Kind::Fault, "victim"), 500_000);
    episode.fault_path_ns = 700;
    assert_eq!(sum_of(&episode, Kind::Fault, "victim"), 500_700);
    // One that waits for the disk is a fault while it sleeps too.
    let episode = response(|story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
        story.switch(2_010, OTHER, LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE, 2);
        story.event(2_900, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(2_910, VICTIM_RUNS, 0, 1);
        story.event(3_000, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    assert_eq!(sum_of(&episode, Kind::Fault, "victim"), 10_000 + 890_000 + 90_000);
}

/// The sampling clock's interrupt follows a frame pointer to nowhere: no page is waited for after that.
#[test]
fn a_fault_within_an_interrupt_is_nobodys() {
    let episode = response(|story| {
        story.event(1_900, EventKind::FaultKernel, INTERRUPT, 4096, 0, 0);
        story.switch(2_000, OTHER, LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE, 2);
        story.event(3_000, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
        story.switch(3_010, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(sum_of(&episode, Kind::Io, "other"), 1_000_000);
}

#[test]
fn without_its_end_a_page_fault_is_not_believed() {
    let episode = response(|story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
    });
    assert_eq!(sum_of(&episode, Kind::Fault, "victim"), 0);
}

#[test]
fn input_and_output_in_the_middle_of_the_work_is_told() {
    let episode = response(|story| {
        story.switch(2_000, OTHER, LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE, 2);
        story.episode.names[3] = "disk".into();
        story.event(2_999, EventKind::HandlerBegin, INTERRUPT, 5, 0, 3);
        story.event(3_000, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.event(3_001, EventKind::HandlerEnd, INTERRUPT, 5, 0, 3);
        story.switch(3_010, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(sum_of(&episode, Kind::Io, "disk"), 1_000_000);
}

#[test]
fn a_used_up_budget_is_the_victims_and_a_move_is_the_movers() {
    let deadline = (VICTIM, -1);
    let episode = response(|story| {
        story.current = deadline;
        story.switch(1_500, (0, 120), 0, 2).switch(3_500, deadline, 0, 1);
    });
    assert_eq!(sum_of(&episode, Kind::Throttled, "victim"), 2_000_000);
    let episode = response(|story| {
        // Thread 7, `other`, asks; `migration/0` does it.
        story.episode.names[3] = "migration/0".into();
        story.event(1_900, EventKind::Waking, 0, 15, 0xffff, 2);
        story.episode.events.last_mut().unwrap().tid = 7;
        story.switch(2_000, (15, -1), 0, 3);
        story.event(2_010, EventKind::Migrate, 0, u64::from(VICTIM), 0, 0);
        story.switch(2_020, VICTIM_RUNS, 1, 1);
    });
    assert_eq!(sum_of(&episode, Kind::Migration, "other"), 20_000);
}

#[test]
fn a_timer_whose_beginning_was_not_seen_ends_nothing_else() {
    let mut story = Story::new(OTHER, 3_020);
    story.event(900, EventKind::SoftirqBegin, 1 << 8, 8, 0, 3);
    story.event(910, EventKind::TimerBegin, 1 << 8, 0, 0, 4);
    // It interrupted the noting of that beginning, so that its own was not noted.
    story.event(1_005, EventKind::VectorBegin, INTERRUPT | 1 << 8, 1, 0, 2);
    story.event(1_006, EventKind::Waking, INTERRUPT | 1 << 8, u64::from(VICTIM), 19, 2);
    story.event(1_007, EventKind::TimerEnd, INTERRUPT | 1 << 8, 0, 0, 4);
    story.event(1_008, EventKind::VectorEnd, INTERRUPT | 1 << 8, 1, 0, 2);
    story.event(3_011, EventKind::TimerEnd, 1 << 8, 0, 0, 4);
    story.event(3_012, EventKind::SoftirqEnd, 1 << 8, 8, 0, 3);
    story.switch(3_015, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    assert_eq!(largest(&story.episode), (Kind::Softirq, "spin_fn".into(), 2_003_000));
}

#[test]
fn threads_are_told_apart_by_priority() {
    for (priority, kind) in
        [(9, Kind::HigherPriority), (19, Kind::SamePriority), (120, Kind::Kernel), (50, Kind::Kernel)]
    {
        let mut story = Story::new((7, priority), 3_020);
        story.timer(1_005, INTERRUPTED_USER);
        story.switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        // What lies before the switch to the victim is the scheduler's, where the thread had to let it in.
        let ns = if kind == Kind::Kernel { 1_990_000 } else { 2_000_000 };
        assert_eq!(largest(&story.episode), (kind, "other".into(), ns));
    }
}

#[test]
fn a_normal_thread_that_is_chosen_before_a_real_time_one_has_its_reserved_share() {
    let mut story = Story::new((7, 19), 3_020);
    story.timer(1_005, INTERRUPTED_USER);
    story.switch(1_200, (8, 120), 0, 3).switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    assert_eq!(largest(&story.episode), (Kind::FairServer, "first".into(), 1_809_000));
    let mut story = Story::new((7, 19), 3_020);
    story.timer(1_005, INTERRUPTED_USER);
    story.switch(1_200, (0, 120), 0, 3).switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    assert_eq!(largest(&story.episode).0, Kind::Throttled);
}

/// An interrupt came over a normal thread's own code and went back there, though a real-time thread was ready: no interrupt was
/// kept from coming.
#[test]
fn a_normal_thread_that_is_let_go_on_has_its_reserved_share() {
    let goes_on = |interrupted: u64, priority: i16| {
        let mut story = Story::new((8, priority), 5_020);
        story.timer(1_005, 0);
        for at_us in [2_000, 3_000, 4_000] {
            story.event(at_us, EventKind::VectorBegin, INTERRUPT, 1, interrupted, 2);
            story.event(at_us + 5, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
        }
        story.switch(5_009, VICTIM_RUNS, 0, 1).switch(5_100, OTHER, 1, 2);
        parts(&story.episode)
    };
    let ns = |parts: &[(Kind, String, u64)], kind| {
        parts.iter().filter(|part| part.0 == kind).map(|part| part.2).sum::<u64>()
    };
    let parts = goes_on(INTERRUPTED_USER, 120);
    assert_eq!((ns(&parts, Kind::FairServer), ns(&parts, Kind::Blind)), (3_985_000, 0), "{parts:?}");
    // One of lower real-time priority has no such share: the victim's own budget was used up.
    assert_eq!(ns(&goes_on(INTERRUPTED_USER, 50), Kind::Throttled), 3_985_000);
    // In the kernel it need not let anybody in.
    assert!(ns(&goes_on(0, 120), Kind::Kernel) > 3_900_000);
}

/// The thread asked for 1,000 us and allows its timers to come 700 us later.
#[test]
fn what_a_thread_allows_its_timer_to_be_late_is_its_own_slack() {
    for (allowed_ns, slack_ns) in [(1_700_000, 700_000), (1_000_000, 0), (60_000_000, 1_002_000)] {
        let mut story = Story::new(OTHER, 2_500);
        story.timer(2_000, INTERRUPTED_USER);
        for event in story.episode.events.iter_mut().filter(|event| event.kind == EventKind::TimerBegin) {
            event.extra = allowed_ns;
        }
        story.switch(2_010, VICTIM_RUNS, 0, 1).switch(2_500, OTHER, 1, 2);
        let parts = parts(&story.episode);
        let slack = parts.iter().filter(|part| part.0 == Kind::TimerSlack);
        assert_eq!(slack.map(|part| part.2).sum::<u64>(), slack_ns, "{parts:?}");
    }
    // A timer on another clock says nothing.
    let mut story = Story::new(OTHER, 2_500);
    story.timer(2_000, INTERRUPTED_USER);
    story.episode.events[1].extra = 1_700_000_000_000_000_000;
    story.switch(2_010, VICTIM_RUNS, 0, 1).switch(2_500, OTHER, 1, 2);
    assert!(parts(&story.episode).iter().all(|part| part.0 != Kind::TimerSlack));
}

#[test]
fn a_late_interrupt_is_blamed_on_kernel_code_and_never_on_user_code() {
    let late = |interrupted| {
        let mut story = Story::new(OTHER, 3_020);
        story.event(900, EventKind::VectorBegin, INTERRUPT, 2, 0, 2).event(
            901,
            EventKind::VectorEnd,
            INTERRUPT,
            2,
            0,
            2,
        );
        story.timer(3_000, interrupted).switch(3_010, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        story.episode
    };
    let mut kernel = late(0xffff_ffff_8100_0000 & !INTERRUPTED_USER);
    assert_eq!(largest(&kernel), (Kind::IrqOff, "other".into(), 1_990_000));
    let user = late(INTERRUPTED_USER | 0x40_0000);
    assert_eq!(largest(&user), (Kind::Blind, "outside this kernel".into(), 1_990_000));
    // The stack at the interrupt says which code it was.
    let frame = |name: &str| Frame { function: name.into(), module: "kernel".into() };
    kernel.frames = vec![
        frame("bpf_get_stack"),
        frame("asm_sysvec_apic_timer_interrupt"),
        frame("_raw_spin_unlock_irqrestore"),
        frame("bad_driver"),
        frame("do_syscall_64"),
    ];
    kernel.samples.push(StackSample {
        at_ns: 3_001_000,
        cpu: 0,
        tid: 7,
        context: INTERRUPT,
        at_late_interrupt: true,
        name: 2,
        frames: vec![0, 1, 2, 3, 4],
    });
    assert_eq!(in_words(&split(&kernel).parts[0].detail).as_deref(), Some("bad_driver"));
}

#[test]
fn lateness_that_is_all_steal_accuses_nobody() {
    for tid in [0, 7] {
        let mut story = Story::new((tid, 120), 3_020);
        story.event(900, EventKind::VectorBegin, INTERRUPT, 2, 0, 2).event(
            901,
            EventKind::VectorEnd,
            INTERRUPT,
            2,
            0,
            2,
        );
        story.steal_ns += 2_090_000;
        story.timer(3_000, 0xffff_0000_0000).switch(3_010, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        let parts = parts(&story.episode);
        assert_eq!(parts[0], (Kind::Steal, "the host".into(), 2_000_000));
        // The interrupt's own few microseconds are all that is left.
        let accused = [Kind::IrqOff, Kind::Kernel, Kind::HigherPriority, Kind::SamePriority, Kind::LowerPriority];
        assert!(parts.iter().all(|part| !accused.contains(&part.0)), "{parts:?}");
    }
}

#[test]
fn a_program_on_a_tracepoint_inside_the_interrupt_is_named_by_its_run_time() {
    let mut story = Story::new(OTHER, 3_020);
    story.event(1_002, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 2);
    story.event(3_000, EventKind::TimerBegin, INTERRUPT, 0, 1_000_000, 4);
    story.event(3_001, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
    story.event(3_004, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
    story.switch(3_010, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    assert_eq!(largest(&story.episode), (Kind::Irq, "local_timer".into(), 1_998_000));
    let program = |name: &str, ran_ns| HookedProgram { name: name.into(), hook: "hrtimer_expire_entry".into(), ran_ns };
    story.episode.programs = vec![program("innocent", Some(3_000)), program("drill_irq", Some(1_995_000))];
    assert_eq!(parts(&story.episode)[0], (Kind::Irq, "drill_irq".into(), 1_998_000));
    // Without measured times nobody is picked out of two.
    story.episode.programs = vec![program("innocent", None), program("drill_irq", None)];
    assert_eq!(largest(&story.episode).1, "local_timer");
}

#[test]
fn the_chain_goes_back_to_the_interrupt() {
    let mut story = Story::new((0, 120), 1_100);
    story.event(990, EventKind::VectorBegin, INTERRUPT, 1, 0, 0);
    story.event(991, EventKind::TimerBegin, INTERRUPT, 0, 0, 4);
    story.event(992, EventKind::Waking, INTERRUPT, 7, 120, 0);
    story.event(993, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
    story.event(994, EventKind::VectorEnd, INTERRUPT, 1, 0, 0);
    story.switch(996, OTHER, 0, 2);
    story.event(1_050, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
    story.switch(1_052, VICTIM_RUNS, 0, 1).switch(1_200, OTHER, 1, 2);
    let links = chain(&story.episode);
    let told: Vec<_> = links.iter().map(|link| (link.woken.as_str(), link.by, link.name.as_str())).collect();
    assert_eq!(told, [("victim", "thread", "other"), ("other", "interrupt", "spin_fn")]);
}

#[test]
fn causes_are_ranked_by_what_they_took_in_all() {
    let mut story = Story::new((7, 9), 3_020);
    story.timer(1_005, INTERRUPTED_USER);
    story.switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    let first = split(&story.episode);
    let summary = summarize([(1, &first), (2, &first)]);
    assert_eq!(summary.late_ns, 2 * story.episode.total_ns());
    let cause = &summary.causes[0];
    assert_eq!(
        (cause.kind, cause.episodes, cause.max_ns, cause.total_ns),
        (Kind::HigherPriority, 2, 2_000_000, 4_000_000)
    );
}

#[test]
fn interrupts_off_after_the_waking_show_in_a_timer_that_was_kept() {
    let kept_from = |due_ns| {
        let mut story = Story::new((7, 120), 3_020);
        story.timer(1_005, 0xffff_0000_0000);
        story.event(3_000, EventKind::VectorBegin, INTERRUPT, 1, 0xffff_0000_0000, 2);
        story.event(3_001, EventKind::TimerBegin, INTERRUPT, 0, due_ns, 4);
        story.event(3_002, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
        story.event(3_003, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
        story.switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        largest(&story.episode)
    };
    assert_eq!(kept_from(1_500_000), (Kind::IrqOff, "other".into(), 1_991_000));
    assert_eq!(kept_from(2_500_000), (Kind::IrqOff, "other".into(), 1_991_000));
    assert_eq!(kept_from(2_900_000).0, Kind::Kernel, "a twentieth says nothing about the rest");
}

/// A worker is named by what it was given to do, also after it was away from the CPU in the middle of that.
#[test]
fn a_worker_is_told_with_its_work() {
    let mut story = Story::new((7, 120), 3_020);
    story.event(800, EventKind::WorkBegin, 0, 1, 0, 4);
    story.switch(900, (8, 110), 0, 3).switch(950, OTHER, 0, 2);
    story.timer(1_005, INTERRUPTED_USER);
    story.switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    let part = &split(&story.episode).parts[0];
    assert_eq!((part.who.name(), in_words(&part.detail).as_deref()), ("other", Some("work spin_fn")));
    // Another thread, an interrupt, or another worker had it do that, or another thing.
    let queued_by = |item, context, name: &str| {
        let mut story = Story::new((7, 120), 3_020);
        story.episode.names[3] = name.into();
        story.switch(600, (8, 110), 0, 3);
        story.event(700, EventKind::WorkQueued, context, item, 0, 3);
        story.switch(750, OTHER, 0, 2);
        story.event(800, EventKind::WorkBegin, 0, 1, 0, 4);
        story.timer(1_005, INTERRUPTED_USER);
        story.switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        in_words(&split(&story.episode).parts[0].detail)
    };
    assert_eq!(queued_by(1, 0, "shell").as_deref(), Some("work spin_fn, queued by shell (thread 8)"));
    for (item, context, name) in [(1, INTERRUPT, "shell"), (1, 0, "kworker/0:1"), (2, 0, "shell")] {
        assert_eq!(queued_by(item, context, name).as_deref(), Some("work spin_fn"));
    }
    // It was through with it.
    let mut story = Story::new((7, 120), 3_020);
    story.event(800, EventKind::WorkBegin, 0, 1, 0, 4);
    story.event(850, EventKind::WorkEnd, 0, 0, 0, 0);
    story.switch(900, (8, 110), 0, 3).switch(950, OTHER, 0, 2);
    story.timer(1_005, INTERRUPTED_USER);
    story.switch(3_009, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
    assert_eq!(split(&story.episode).parts[0].detail, None);
}
