//! Threads that lose their CPU in the midst of a wait for a lock of the kernel, or before a wait for whoever they asked.

use crate::support::requests::{READ, WAITS, request, wait};
use crate::support::{OTHER, Story, VICTIM, VICTIM_RUNS, on_cpu, response, us_of};
use punctual_blame::{Kind, split};
use punctual_recording::Episode;
use punctual_recording::episode::{EventKind, LEFT_UNINTERRUPTIBLE};

const IDLE: (u32, i16) = (0, 120);
/// A thread in real time that has nothing to do with the lock.
const HOG: (u32, i16) = (9, 9);
const LOCK: u64 = 0xffff_0000;
const MUTEX: u64 = 1 << 5;

fn wakes_victim(story: &mut Story, at_us: u64) {
    on_cpu(story, 1, OTHER, |story| {
        story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
    });
}

/// It sleeps for the lock at `at_us`, and is woken by whoever had it at 4,500 us.
fn sleeps_for_it(story: &mut Story, at_us: u64) {
    story.switch(at_us, IDLE, LEFT_UNINTERRUPTIBLE, 0);
    wakes_victim(story, 4_500);
    story.switch(4_505, VICTIM_RUNS, 0, 1);
    story.event(4_510, EventKind::LockEnd, 0, LOCK, 0, 0);
}

/// The hog has the CPU from 2,100 to 4,000 us.
fn hog(story: &mut Story) {
    story.switch(2_100, HOG, 0, 4).switch(4_000, VICTIM_RUNS, 1, 1);
}

#[test]
fn who_had_the_cpu_of_one_that_would_have_waited_for_a_lock_kept_it_from_nothing() {
    // It was waiting already, by the kernel's account or by a stack.
    let told = response(|story| {
        story.event(1_500, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        hog(story);
        sleeps_for_it(story, 4_010);
    });
    let stack = response(|story| {
        on_cpu(story, 1, OTHER, |story| {
            story.event(900, EventKind::LockEnd, 0, LOCK, 0, 0);
        });
        story.spins(2_000);
        hog(story);
        story.event(4_005, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        sleeps_for_it(story, 4_010);
    });
    for (episode, before_us) in [(told, 600), (stack, 0)] {
        assert_eq!(us_of(&episode, Kind::HigherPriority, "spin_fn"), 0, "{:?}", split(&episode).parts);
        assert!(us_of(&episode, Kind::Lock, "other") >= before_us + 1_900 + 490, "{:?}", split(&episode).parts);
    }
}

#[test]
fn who_had_the_cpu_of_one_that_could_have_had_the_lock_kept_it() {
    // The lock was let go meanwhile: it needs no sleep for it.
    let free = response(|story| {
        story.event(1_500, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        hog(story);
        story.event(4_010, EventKind::LockEnd, 0, LOCK, 0, 0);
    });
    // It had been woken for it.
    let woken = response(|story| {
        story.event(1_500, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        story.switch(1_510, HOG, LEFT_UNINTERRUPTIBLE, 4);
        wakes_victim(story, 2_100);
        story.switch(4_000, VICTIM_RUNS, 1, 1);
        story.event(4_010, EventKind::LockEnd, 0, LOCK, 0, 0);
    });
    // It did something else first.
    let works = response(|story| {
        hog(story);
        story.event(4_200, EventKind::LockBegin, 0, LOCK, MUTEX, 0);
        sleeps_for_it(story, 4_210);
    });
    for episode in [free, woken, works] {
        assert_eq!(us_of(&episode, Kind::HigherPriority, "spin_fn"), 1_900, "{:?}", split(&episode).parts);
    }
}

/// The victim asks `other`, which works on CPU 1 until 4,500 us, before it loses its CPU at 1,300 or after it has it again, at 3,000; and waits for it
/// from 3,020 on.
#[test]
fn who_had_the_cpu_of_one_that_would_have_waited_for_an_answer_kept_it_from_nothing() {
    let asks_at = |at_us: u64| {
        request(|story| {
            if at_us < 1_300 {
                story.event(at_us, EventKind::Waking, 0, u64::from(OTHER.0), READ.bits() | 120, 1);
            }
            story.switch(1_300, HOG, 0, 4).switch(3_000, VICTIM_RUNS, WAITS, 1);
            if at_us > 3_000 {
                story.event(at_us, EventKind::Waking, 0, u64::from(OTHER.0), READ.bits() | 120, 1);
            }
            on_cpu(story, 1, OTHER, |story| {
                story.current = IDLE;
                story.switch(at_us + 10, OTHER, 0, 2);
                story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 2);
            });
            story.switch(3_020, IDLE, WAITS, 0).switch(4_505, VICTIM_RUNS, 0, 1);
        })
    };
    let told =
        |episode: &Episode| (us_of(episode, Kind::Wait, "other"), us_of(episode, Kind::HigherPriority, "spin_fn"));
    assert_eq!(told(&asks_at(1_200)), (1_700 + 1_480, 0));
    assert_eq!(told(&asks_at(3_010)), (1_480, 1_700));
}

/// `other` works on CPU 1, and answers at 4,500 us. Whether the victim had asked it before it lost its CPU is not seen where it was at work by then.
#[test]
fn who_had_the_cpu_of_one_that_may_have_waited_for_an_answer_is_not_named() {
    let works_since = |at_us: u64| {
        request(|story| {
            on_cpu(story, 1, OTHER, |story| {
                story.current = IDLE;
                if at_us > 1_300 {
                    story.event(at_us - 10, EventKind::Waking, 0, u64::from(OTHER.0), READ.bits() | 120, 0);
                }
                story.switch(at_us, OTHER, 0, 2);
                story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 2);
            });
            story.switch(1_300, HOG, 0, 4).switch(3_000, VICTIM_RUNS, WAITS, 1);
            story.switch(3_020, IDLE, WAITS, 0).switch(4_505, VICTIM_RUNS, 0, 1);
        })
    };
    let told = |episode: &Episode| {
        let doubt = us_of(episode, Kind::Unknown, "it may have waited for other already");
        (doubt, us_of(episode, Kind::HigherPriority, "spin_fn"))
    };
    assert_eq!(told(&works_since(900)), (1_700, 0));
    assert_eq!(told(&works_since(2_000)), (0, 1_700));
}

/// The victim has hardly run when it is through at 5,000 us. What it is given to do next has nothing to do with that, though who gives it was at work
/// all the time.
#[test]
fn who_had_the_cpu_of_one_that_was_nearly_through_is_named() {
    let episode = request(|story| {
        on_cpu(story, 1, OTHER, |story| {
            story.current = IDLE;
            story.switch(900, OTHER, 0, 2);
            story.event(5_100, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 2);
        });
        story.switch(1_300, HOG, 0, 4).switch(4_980, VICTIM_RUNS, WAITS, 1);
    });
    assert_eq!(us_of(&episode, Kind::HigherPriority, "spin_fn"), 3_680, "{:?}", split(&episode).parts);
}

/// `other` asks `first` on CPU 2, loses its CPU, answers the victim at 4,420 us and waits for `first` only then.
#[test]
fn who_is_waited_for_after_an_answer_did_not_keep_that() {
    const NEXT: (u32, i16) = (8, 120);
    let episode = request(|story| {
        story.event(1_200, EventKind::Waking, 0, u64::from(OTHER.0), READ.bits() | 120, 1);
        story.switch(1_500, IDLE, WAITS, 0);
        on_cpu(story, 1, OTHER, |story| {
            story.current = IDLE;
            story.switch(1_210, OTHER, 0, 2);
            story.event(1_250, EventKind::Waking, 0, u64::from(NEXT.0), READ.bits() | 120, 2);
            story.switch(1_300, HOG, 0, 4).switch(4_400, OTHER, WAITS, 2);
            story.event(4_420, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 2);
            story.switch(4_440, IDLE, WAITS, 0);
        });
        let begin = story.episode.events.len();
        on_cpu(story, 1, OTHER, |story| {
            story.current = IDLE;
            story.switch(1_260, NEXT, 0, 3);
            story.event(4_900, EventKind::Waking, 0, u64::from(OTHER.0), READ.bits() | 120, 3);
        });
        story.episode.events[begin..].iter_mut().for_each(|event| event.cpu = 2);
        story.switch(4_425, VICTIM_RUNS, 0, 1);
    });
    let inside = wait(&episode).inside;
    let hog = inside.iter().find(|inside| inside.kind == Kind::HigherPriority && inside.who.name() == "spin_fn");
    assert_eq!(hog.map(|hog| hog.ns), Some(2_900_000), "{inside:?}");
    assert!(inside.iter().all(|inside| inside.kind != Kind::Wait), "{inside:?}");
}

/// `other` is through with what the victim had asked it for at 1,250 us, and at work for somebody else from 2,905 on: that the victim asks it for the next
/// thing once it has its CPU again is not seen.
#[test]
fn who_was_through_with_what_it_was_asked_for_is_not_named_for_the_next_answer_before_it_was_asked() {
    let episode = request(|story| {
        story.event(1_200, EventKind::Waking, 0, u64::from(OTHER.0), READ.bits() | 120, 1);
        story.switch(1_300, HOG, 0, 4).switch(3_000, VICTIM_RUNS, WAITS, 1);
        on_cpu(story, 1, OTHER, |story| {
            story.current = IDLE;
            story.switch(1_210, OTHER, 0, 2).switch(1_250, IDLE, WAITS, 0);
            story.event(2_900, EventKind::Waking, 0, u64::from(OTHER.0), READ.bits() | 120, 0);
            story.switch(2_905, OTHER, 0, 2);
            story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, 2);
        });
        story.switch(3_020, IDLE, WAITS, 0).switch(4_505, VICTIM_RUNS, 0, 1);
    });
    let doubt = us_of(&episode, Kind::Unknown, "it may have waited for other already");
    assert_eq!((us_of(&episode, Kind::Wait, "other"), doubt), (1_480, 1_700), "{:?}", split(&episode).parts);
}
