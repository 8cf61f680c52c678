//! Locks of the kernel: whoever lets one go had it for as long as can be, and no longer.

use crate::support::{HOLDER_NOT_SEEN, INTERRUPT, OTHER, Story, VICTIM, VICTIM_RUNS, added_up, on_cpu, response};
use punctual_blame::{Kind, Who};
use punctual_recording::Episode;
use punctual_recording::episode::{EventKind, INTERRUPTED_USER, LEFT_UNINTERRUPTIBLE};

/// Its number and its priority.
type Thread = (u32, i16);

const IDLE: Thread = (0, 120);
const LOCK: u64 = 0xffff_0000;
const MUTEX: u64 = 1 << 5;
/// A thread spins for a mutex before it sleeps for it.
const SPINS: u64 = MUTEX | 1;

/// Names and us of the waits for locks, by name.
fn locks(episode: &Episode) -> Vec<(Who, u64)> {
    let split = added_up(episode);
    let locks = split.parts.into_iter().filter(|part| part.kind == Kind::Lock);
    let mut told: Vec<_> = locks.map(|part| (part.who, part.ns / 1_000)).collect();
    told.sort();
    told
}

/// The victim sleeps for a lock of the kernel from 1,500 us on, and is woken by thread 7, `other`, on CPU 1 at 3,500.
fn waits(flags: u64, meanwhile: impl FnOnce(&mut Story)) -> Episode {
    response(|story| {
        story.event(1_490, EventKind::LockBegin, 0, LOCK, flags, 0);
        story.switch(1_500, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        meanwhile(story);
        on_cpu(story, 1, OTHER, |story| {
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
        });
        story.switch(3_505, VICTIM_RUNS, 0, 1);
        story.event(3_510, EventKind::LockEnd, 0, LOCK, 0, 0);
    })
}

/// Whoever lets the lock go was in its program at 2,500 us: it had none then, but such as may be had there.
#[test]
fn who_was_in_its_program_did_not_have_the_lock_yet() {
    let seen = |flags: u64, at_us: u64| {
        let episode = waits(flags, |story| {
            on_cpu(story, 1, OTHER, |story| {
                story.event(at_us, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 2);
                story.event(at_us + 1, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
            });
        });
        locks(&episode)
    };
    assert_eq!(seen(MUTEX, 2_500), [(HOLDER_NOT_SEEN, 1_000 + 15), ("other".into(), 1_000)]);
    for read_or_write in [1 << 3 | 1 << 1, 1 << 3 | 1 << 2] {
        assert_eq!(seen(read_or_write, 2_500), seen(MUTEX, 2_500), "with PREEMPT_RT: {read_or_write:#x}");
    }
    assert_eq!(seen(MUTEX, 1_400), [("other".into(), 2_000 + 15)]);
    for kept in [1 << 3, 1 << 4, 1 << 4 | 1 << 1] {
        assert_eq!(seen(kept, 2_500), [("other".into(), 2_000 + 15)], "{kept:#x}");
    }
}

/// On its way to sleep for a lock it waits for the spinlock of that, time and again: what it sleeps for is the lock.
#[test]
fn the_spinlock_of_a_lock_is_not_what_is_slept_for() {
    const OF_IT: u64 = LOCK + 8;
    for times in [2, 60] {
        let episode = response(|story| {
            story.event(1_300, EventKind::LockBegin, 0, LOCK, 4, 0);
            for number in 0..times {
                story.event(1_310 + 3 * number, EventKind::LockBegin, 0, OF_IT, 1, 0);
                story.event(1_311 + 3 * number, EventKind::LockEnd, 0, OF_IT, 0, 0);
            }
            story.switch(1_500, IDLE, LEFT_UNINTERRUPTIBLE, 0);
            on_cpu(story, 1, OTHER, |story| {
                story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
            });
            story.switch(3_505, VICTIM_RUNS, 0, 1);
            story.event(3_510, EventKind::LockEnd, 0, LOCK, 0, 0);
        });
        // Who had the spinlock was not seen.
        assert_eq!(locks(&episode), [(HOLDER_NOT_SEEN, times), ("other".into(), 200 - times + 2_000 + 5)]);
    }
}

/// The first in the queue, `first`, is woken in vain twice: thread 9, `spin_fn`, and then thread 10, `thief`, have been faster. Each time it spins,
/// as the kernel has it do, and reports that it waits anew.
#[test]
fn each_that_takes_a_lock_before_its_queue_had_it_only_from_then_on() {
    let (first, thief, second): (Thread, Thread, Thread) = ((8, 110), (9, 120), (10, 120));
    for is_told_anew in [false, true] {
        let episode = response(|story| {
            let in_vain = |story: &mut Story, at_us: u64| {
                story.switch(at_us, first, 0, 3);
                if is_told_anew {
                    story.event(at_us + 2, EventKind::LockBegin, 0, LOCK, SPINS, 0);
                    story.event(at_us + 8, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
                }
            };
            story.episode.names.push("thief".to_owned());
            story.event(1_900, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
            story.switch(1_910, IDLE, LEFT_UNINTERRUPTIBLE, 0);
            on_cpu(story, 1, first, |story| {
                story.event(1_950, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
                story.switch(1_960, OTHER, LEFT_UNINTERRUPTIBLE, 2);
                story.event(2_200, EventKind::Waking, 0, u64::from(first.0), 110, 2);
                in_vain(story, 2_210);
                story.switch(2_220, thief, LEFT_UNINTERRUPTIBLE, 4);
                story.event(2_600, EventKind::Waking, 0, u64::from(first.0), 110, 4);
                in_vain(story, 2_610);
                story.switch(2_620, second, LEFT_UNINTERRUPTIBLE, 5);
                story.event(2_990, EventKind::Waking, 0, u64::from(first.0), 110, 5);
                story.switch(2_995, first, 1, 3);
                story.event(3_000, EventKind::LockEnd, 0, LOCK, 0, 0);
                story.event(3_100, EventKind::Waking, 0, u64::from(VICTIM), 19, 3);
            });
            story.switch(3_110, VICTIM_RUNS, 0, 1);
            story.event(3_111, EventKind::LockEnd, 0, LOCK, 0, 0);
        });
        let told = locks(&episode);
        let us = |name: &str| told.iter().filter(|(who, _)| who.name() == name).map(|(_, us)| us).sum::<u64>();
        assert_eq!([us("other"), us("spin_fn"), us("thief"), us("first")], [290, 400, 400, 100], "{told:?}");
    }
}

/// Whoever waits for a mutex reports that before it spins for it, and anew before it sleeps.
#[test]
fn a_mutex_is_waited_for_from_the_first_attempt() {
    let episode = response(|story| {
        story.event(1_200, EventKind::LockBegin, 0, LOCK, SPINS, 0);
        story.event(1_490, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        story.switch(1_500, IDLE, LEFT_UNINTERRUPTIBLE, 0);
        on_cpu(story, 1, OTHER, |story| {
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
        });
        story.switch(3_505, VICTIM_RUNS, 0, 1);
        story.event(3_510, EventKind::LockEnd, 0, LOCK, 0, 0);
    });
    assert_eq!(locks(&episode), [("other".into(), 300 + 2_000 + 5)]);
}
