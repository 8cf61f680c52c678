//! Sequences in which the culprit is plain and has to be named although others stand beside it, and sequences in which somebody stands where a culprit
//! would, and has done nothing.

use crate::support::requests::{READ, WAITS, request};
use crate::support::{INTERRUPT, OTHER, Story, VICTIM, VICTIM_RUNS, lets_go, on_cpu, response, us_of};
use punctual_blame::{Kind, split};
use punctual_recording::Episode;
use punctual_recording::episode::{
    EventKind, Group, IN_SOFTIRQ, INTERRUPTED_USER, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_UNINTERRUPTIBLE, LockWaking,
    WakingAct, WordState,
};

/// Its number and its priority.
type Thread = (u32, i16);

const IDLE: Thread = (0, 120);
/// Goes before the victim; `spin_fn` is its name.
const HOG: Thread = (9, 9);
/// Called `first`.
const FIRST: Thread = (8, 120);
const LOCK: u64 = 0xffff_0000;
const MUTEX: u64 = 1 << 5;
const FOR_LOCK: u32 = LEFT_FOR_LOCK | 1;

/// The current thread, which has this name, wakes the victim.
fn wakes_victim(story: &mut Story, at_us: u64, bits: u64, name: u32) {
    story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), bits | 19, name);
}

/// The victim sleeps for the lock at `at_us`, and is woken by whoever had it, `other`, at 4,500 us.
fn sleeps_for_it(story: &mut Story, at_us: u64) {
    story.switch(at_us, IDLE, LEFT_UNINTERRUPTIBLE, 0);
    on_cpu(story, 1, OTHER, |story| wakes_victim(story, 4_500, 0, 2));
    story.switch(4_505, VICTIM_RUNS, 0, 1);
    story.event(4_510, EventKind::LockEnd, 0, LOCK, 0, 0);
}

/// A move asked for at 700 us is done at 800; another one, asked for by `spin_fn`, keeps the CPU from 1,012 to 3,000.
fn moved(mover: Thread) -> Episode {
    let mut story = Story::new(OTHER, 3_020);
    story.episode.names.push("migration/0".to_owned());
    let asks = |story: &mut Story, at_us: u64, name: u32| {
        story.event(at_us, EventKind::Waking, 0, u64::from(mover.0), 0, name);
    };
    on_cpu(&mut story, 1, FIRST, |story| asks(story, 700, 3));
    story.switch(705, mover, 0, 5).switch(800, OTHER, 1, 2);
    on_cpu(&mut story, 1, HOG, |story| asks(story, 1_001, 4));
    story.timer(1_005, 0);
    story.switch(1_012, mover, 0, 5).switch(3_000, VICTIM_RUNS, 1, 1).switch(3_100, OTHER, 1, 2);
    story.episode
}

/// The victim's group, and maybe another one, has used up its quota from 2,100 us to 3,900; the victim has this priority.
fn out_of_quota(priority: i16, by: u32, group: &str) -> Episode {
    response(|story| {
        story.episode.names.push(group.to_owned());
        story.episode.groups = vec![Group { path: "/heavy".into(), weights: vec![1_024], real_time_us: None }];
        story.episode.members = vec![(VICTIM, 0)];
        story.current = (VICTIM, priority);
        story.event(2_100, EventKind::OutOfQuota, 0, u64::from(by), 77, 5);
        story.switch(2_100, OTHER, 0, 2);
        story.event(3_900, EventKind::QuotaRefill, 0, 77, 0, 5);
        story.switch(4_000, (VICTIM, priority), 0, 1);
    })
}

#[test]
fn a_hog_that_comes_in_the_midst_of_a_waking_is_named() {
    let mut story = Story::new(OTHER, 3_020);
    on_cpu(&mut story, 1, FIRST, |story| wakes_victim(story, 1_002, 0, 3));
    story.switch(1_004, HOG, 0, 4).switch(3_000, VICTIM_RUNS, 1, 1).switch(3_100, OTHER, 1, 2);
    assert_eq!(us_of(&story.episode, Kind::HigherPriority, "spin_fn"), 1_996);
}

/// A disk of another CPU is faster than the victim is gone.
#[test]
fn a_hog_that_comes_as_a_device_wakes_the_victim_on_its_way_out_is_named() {
    let episode = response(|story| {
        on_cpu(story, 1, OTHER, |story| {
            story.event(1_497, EventKind::VectorBegin, INTERRUPT, 2, 0, 2);
            story.event(1_498, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
            story.event(1_499, EventKind::VectorEnd, INTERRUPT, 2, 0, 2);
        });
        story.switch(1_500, HOG, LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE, 4).switch(3_500, VICTIM_RUNS, 1, 1);
    });
    assert_eq!(us_of(&episode, Kind::HigherPriority, "spin_fn"), 2_000, "{:?}", split(&episode).parts);
}

/// It has a request made only after it has its CPU again: the disk did nothing meanwhile.
#[test]
fn a_hog_before_a_wait_for_a_disk_is_named() {
    let build = |story: &mut Story| {
        story.switch(1_500, HOG, 0, 4).switch(3_500, VICTIM_RUNS, 1, 1);
        story.switch(3_520, IDLE, LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE, 0);
        story.event(4_498, EventKind::VectorBegin, INTERRUPT, 2, 0, 0);
        story.event(4_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 0);
        story.event(4_502, EventKind::VectorEnd, INTERRUPT, 2, 0, 0);
        story.switch(4_510, VICTIM_RUNS, 0, 1);
    };
    for episode in [response(build), request(build)] {
        assert_eq!(us_of(&episode, Kind::HigherPriority, "spin_fn"), 2_000, "{:?}", split(&episode).parts);
    }
}

/// It had the lock for which it spun, and was in its program, before it lost its CPU; the next one it asked for later.
#[test]
fn a_hog_between_two_locks_is_named() {
    let episode = response(|story| {
        story.spins(2_000);
        story.event(2_050, EventKind::VectorBegin, INTERRUPT, 2, INTERRUPTED_USER, 1);
        story.event(2_051, EventKind::VectorEnd, INTERRUPT, 2, 0, 1);
        story.switch(2_100, HOG, 0, 4).switch(4_000, VICTIM_RUNS, 1, 1);
        story.event(4_005, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        sleeps_for_it(story, 4_010);
    });
    assert_eq!(us_of(&episode, Kind::HigherPriority, "spin_fn"), 1_900, "{:?}", split(&episode).parts);
}

/// `first` came for the lock a moment before the victim, and has it after `other`.
#[test]
fn each_holder_of_a_lock_of_a_program_is_named_for_its_time() {
    let episode = response(|story| {
        story.current = (VICTIM, 120);
        story.switch(1_500, IDLE, FOR_LOCK, 0);
        on_cpu(story, 1, FIRST, |story| {
            story.switch(1_450, OTHER, FOR_LOCK, 2);
            story.event(2_500, EventKind::Waking, 0, u64::from(FIRST.0), lets_go(5).bits() | 120, 2);
            story.switch(2_505, FIRST, 1, 3);
            wakes_victim(story, 4_500, lets_go(5).bits(), 3);
        });
        story.switch(4_505, VICTIM_RUNS, 0, 1);
    });
    let told = (us_of(&episode, Kind::Lock, "other"), us_of(&episode, Kind::Lock, "first"));
    assert_eq!(told, (1_000, 2_000), "{:?}", split(&episode).parts);
}

/// The first of all priorities that quota is for.
#[test]
fn the_quota_of_a_thread_of_nice_minus_20_is_named() {
    assert_eq!(us_of(&out_of_quota(100, 8, "/heavy"), Kind::Throttled, "/heavy"), 1_800);
}

/// What interrupts the holder in the kernel says nothing against it.
#[test]
fn a_holder_that_is_interrupted_in_the_kernel_is_named() {
    let episode = response(|story| {
        story.event(1_490, EventKind::LockBegin, 0, LOCK, 2, 0);
        story.switch(1_500, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, OTHER, |story| {
            story.event(2_500, EventKind::VectorBegin, INTERRUPT, 1, 0xffff, 2);
            story.event(2_501, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
            wakes_victim(story, 3_500, 0, 2);
        });
        story.switch(3_505, VICTIM_RUNS, 0, 1);
        story.event(3_510, EventKind::LockEnd, 0, LOCK, 0, 0);
    });
    assert_eq!(us_of(&episode, Kind::Lock, "other"), 10 + 2_000 + 5);
}

#[test]
fn who_asks_a_mover_anew_is_named_and_who_asked_it_before_is_not() {
    let episode = moved((15, 0));
    assert_eq!(us_of(&episode, Kind::Migration, "spin_fn"), 1_988, "{:?}", split(&episode).parts);
    assert_eq!(us_of(&episode, Kind::Migration, "first"), 0);
}

/// It was asked before, and takes the CPU for that; the victim takes the answer, and asks it anew.
#[test]
fn who_works_for_a_thread_on_its_cpu_is_named_for_that_and_for_the_next_answer() {
    let normal = (VICTIM, 120);
    let asks = |story: &mut Story, at_us: u64| {
        story.event(at_us, EventKind::Waking, 0, u64::from(OTHER.0), READ.bits() | 120, 1);
    };
    let episode = request(|story| {
        story.current = normal;
        asks(story, 1_200);
        story.switch(1_300, OTHER, 0, 2).switch(3_000, normal, WAITS, 1);
        asks(story, 3_010);
        story.switch(3_020, OTHER, WAITS, 2);
        story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 120, 2);
        story.switch(4_505, normal, WAITS, 1);
    });
    let told = (us_of(&episode, Kind::SamePriority, "other"), us_of(&episode, Kind::Wait, "other"));
    // It keeps the CPU for a moment after the waking as well.
    assert_eq!(told, (1_700 + 5, 1_480), "{:?}", split(&episode).parts);
}

/// The kernel reports that it waits for the mutex before it spins and before it sleeps; in between it loses its CPU.
#[test]
fn a_hog_is_innocent_of_a_wait_for_a_mutex() {
    let episode = response(|story| {
        story.event(1_500, EventKind::LockBegin, 0, LOCK, MUTEX | 1, 0);
        story.switch(2_100, HOG, 0, 4).switch(4_000, VICTIM_RUNS, 1, 1);
        story.event(4_005, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        sleeps_for_it(story, 4_010);
    });
    assert_eq!(us_of(&episode, Kind::HigherPriority, "spin_fn"), 0, "{:?}", split(&episode).parts);
    assert!(us_of(&episode, Kind::Lock, "other") >= 600 + 1_900 + 490, "{:?}", split(&episode).parts);
}

/// A softirq lets the lock go, over a thread that has nothing to do with it.
#[test]
fn who_is_interrupted_by_what_lets_a_lock_go_is_innocent() {
    let episode = response(|story| {
        story.event(1_490, EventKind::LockBegin, 0, LOCK, 2, 0);
        story.switch(1_500, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, OTHER, |story| {
            story.event(3_490, EventKind::SoftirqBegin, IN_SOFTIRQ, 8, 0, 2);
            story.event(3_500, EventKind::Waking, IN_SOFTIRQ, u64::from(VICTIM), 19, 2);
            story.event(3_510, EventKind::SoftirqEnd, IN_SOFTIRQ, 8, 0, 2);
        });
        story.switch(3_520, VICTIM_RUNS, 0, 1);
        story.event(3_530, EventKind::LockEnd, 0, LOCK, 0, 0);
    });
    assert_eq!(us_of(&episode, Kind::Lock, "other"), 0, "{:?}", split(&episode).parts);
    assert!(us_of(&episode, Kind::Lock, "holder not seen") >= 2_000, "{:?}", split(&episode).parts);
}

#[test]
fn a_group_whose_name_begins_alike_is_innocent() {
    assert_eq!(us_of(&out_of_quota(120, 8, "/heavy2"), Kind::Throttled, "/heavy2"), 0);
}

/// Two threads run on other CPUs all the time, and either may have the lock.
#[test]
fn of_two_that_may_have_a_lock_none_is_named() {
    let episode = response(|story| {
        for (cpu, thread, name) in [(1, OTHER, 2), (2, FIRST, 3)] {
            on_cpu(story, cpu, IDLE, |story| {
                story.switch(900, thread, 0, name);
            });
        }
        story.spins(2_000);
        story.spins(2_500);
    });
    let named = (us_of(&episode, Kind::Lock, "other"), us_of(&episode, Kind::Lock, "first"));
    assert_eq!(named, (0, 0), "{:?}", split(&episode).parts);
    assert!(us_of(&episode, Kind::Lock, "holder not seen") >= 490, "{:?}", split(&episode).parts);
}

/// A program may call its thread as the kernel calls those that move others.
#[test]
fn who_is_called_like_a_mover_moves_nobody_and_is_told_as_what_it_is() {
    let episode = moved((15, 9));
    assert_eq!(us_of(&episode, Kind::Migration, "spin_fn"), 0);
    assert_eq!(us_of(&episode, Kind::HigherPriority, "migration/0"), 1_988, "{:?}", split(&episode).parts);
}

/// A signal wakes the first in the queue of a mutex, which waits on: whoever sent it had no lock.
#[test]
fn who_sends_a_signal_to_the_first_in_a_queue_did_not_have_the_lock() {
    let told = LockWaking { act: WakingAct::Signals, same_word: None, state: WordState::NotRead, place: 0, owner: 0 };
    let episode = response(|story| {
        story.event(1_900, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        story.switch(1_910, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, FIRST, |story| {
            story.event(1_950, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
            story.switch(1_960, OTHER, LEFT_UNINTERRUPTIBLE, 2);
            story.event(2_200, EventKind::Waking, 0, u64::from(FIRST.0), told.bits() | 120, 2);
            story.switch(2_210, FIRST, 0, 3).switch(2_220, HOG, LEFT_UNINTERRUPTIBLE, 4);
            story.event(2_990, EventKind::Waking, 0, u64::from(FIRST.0), 120, 4);
            story.switch(2_995, FIRST, 1, 3);
            story.event(3_000, EventKind::LockEnd, 0, LOCK, 0, 0);
            wakes_victim(story, 3_100, 0, 3);
        });
        story.switch(3_110, VICTIM_RUNS, 0, 1);
        story.event(3_111, EventKind::LockEnd, 0, LOCK, 0, 0);
    });
    let us = |name: &str| us_of(&episode, Kind::Lock, name);
    assert_eq!([us("other"), us("spin_fn"), us("first")], [0, 1_090, 100], "{:?}", split(&episode).parts);
}
