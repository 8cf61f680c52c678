//! Waits for locks: who held them is told where it was seen, and nobody is accused where it was not.

use crate::support::{HOLDER_NOT_SEEN, INTERRUPT, OTHER, VICTIM, VICTIM_RUNS, added_up, in_words, lets_go, response};
use punctual_blame::{Inside, Kind, Part, Who, split, summarize};
use punctual_recording::Episode;
use punctual_recording::episode::{
    EventKind, INTERRUPTED_USER, LEFT_FOR_LOCK, LEFT_UNINTERRUPTIBLE, LOCK_OF_PROGRAM, LockWaking, WakingAct, WordState,
};

const FIRST: (u32, i16) = (8, 110);
const PLACE: u32 = 0x1234;

fn parts(episode: &Episode) -> Vec<Part> {
    let split = added_up(episode);
    for part in split.parts.iter().filter(|part| !part.inside.is_empty()) {
        assert_eq!(part.inside.iter().map(|inside| inside.ns).sum::<u64>(), part.ns, "{part:?}");
    }
    split.parts
}

/// The waits for locks: name, ns and how much of it is unknown.
fn locks(episode: &Episode) -> Vec<(Who, u64, u64)> {
    let parts = parts(episode).into_iter().filter(|part| part.kind == Kind::Lock);
    parts.map(|part| (part.who, part.ns, part.unknown_ns)).collect()
}

/// The victim sleeps for a lock from 1,500 us on, and is woken so at 3,500; thread 7, `other`, is current then.
fn woken(context: u32, told: LockWaking) -> Episode {
    response(|story| {
        story.switch(1_500, OTHER, LEFT_FOR_LOCK | 1, 2);
        story.event(3_500, EventKind::Waking, context, u64::from(VICTIM), told.bits() | 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    })
}

#[test]
fn only_who_lets_the_lock_go_is_its_holder() {
    assert_eq!(locks(&woken(0, lets_go(PLACE))), [("other".into(), 2_000_000, 0)]);
    let unlocks = LockWaking { act: WakingAct::UnlocksWord, state: WordState::NotRead, ..lets_go(PLACE) };
    assert_eq!(locks(&woken(0, unlocks)), [("other".into(), 2_000_000, 0)]);
    let bystanders = [
        (WakingAct::Signals, None, "the wait ended with a signal of other"),
        (WakingAct::Requeues, Some(true), "other sent it to wait for something else"),
        (WakingAct::WakesWord, Some(false), "woken by other, over another word"),
        (WakingAct::Else, None, "woken by other, which did not let it go"),
        (WakingAct::NotTold, None, "woken by other; whether that let it go is not in the recording"),
    ];
    for (act, same_word, words) in bystanders {
        let episode = woken(0, LockWaking { act, same_word, state: WordState::NotRead, ..lets_go(PLACE) });
        assert_eq!(locks(&episode), [(HOLDER_NOT_SEEN, 2_000_000, 2_000_000)], "{act:?}");
        let part = parts(&episode).into_iter().find(|part| part.kind == Kind::Lock).unwrap();
        assert_eq!(in_words(&part.detail).as_deref(), Some(words));
    }
}

#[test]
fn a_wait_that_times_out_accuses_no_interrupt() {
    let ends_with = |name: &str| {
        let mut episode = response(|story| {
            story.switch(1_500, OTHER, LEFT_FOR_LOCK | 1, 2);
            story.event(3_498, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 2);
            story.event(3_499, EventKind::TimerBegin, INTERRUPT, 0, 0, 4);
            let told = LockWaking { act: WakingAct::Else, same_word: None, ..lets_go(PLACE) };
            story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), told.bits() | 19, 2);
            story.event(3_501, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
            story.event(3_502, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        });
        episode.names[4] = name.into();
        assert_eq!(locks(&episode), [(HOLDER_NOT_SEEN, 2_000_000, 2_000_000)]);
        let part = parts(&episode).into_iter().find(|part| part.kind == Kind::Lock).unwrap();
        in_words(&part.detail).unwrap()
    };
    assert_eq!(ends_with("hrtimer_wakeup"), "the wait ended by its time limit");
    assert_eq!(ends_with("posix_timer_fn"), "the wait ended by posix_timer_fn");
}

/// A priority-inheriting or robust lock says whose it is, also where the wait ended without it.
#[test]
fn the_owner_that_the_kernel_knows_is_the_holder_though_the_wait_timed_out() {
    let told = LockWaking { act: WakingAct::Else, same_word: None, owner: 8, ..lets_go(PLACE) };
    let episode = response(|story| {
        story.switch(1_500, FIRST, LEFT_FOR_LOCK | 1, 3);
        story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), told.bits() | 19, 3);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(locks(&episode), [("first".into(), 2_000_000, 0)]);
    // It had let it go to somebody else before.
    let episode = response(|story| {
        story.switch(1_500, FIRST, LEFT_FOR_LOCK | 1, 3);
        story.event(2_000, EventKind::Waking, 0, 9, lets_go(PLACE).bits() | 120, 3);
        story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), told.bits() | 19, 3);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    let mut told = locks(&episode);
    told.sort();
    assert_eq!(told, [("first".into(), 500_000, 0), (HOLDER_NOT_SEEN, 1_500_000, 1_500_000)]);
}

#[test]
fn a_word_that_stands_as_no_lock_does_is_none() {
    let episode = woken(0, LockWaking { state: WordState::NoLock, ..lets_go(PLACE) });
    assert_eq!(locks(&episode), []);
    let unknown = parts(&episode).into_iter().find(|part| part.kind == Kind::Unknown).unwrap();
    assert_eq!((unknown.who.name(), unknown.ns), ("it waited for a word of other, which is no lock", 2_000_000));
}

/// The holder is first seen when it gets its CPU: until then it waited for that, whatever kept it before the evidence.
#[test]
fn a_holder_that_is_first_seen_as_it_is_switched_in_has_waited() {
    for moved in [false, true] {
        let episode = response(|story| {
            story.switch(1_500, FIRST, LEFT_FOR_LOCK | 1, 3);
            if moved {
                story.event(2_500, EventKind::Migrate, 0, u64::from(OTHER.0), 1, 0);
            }
            story.switch(3_000, OTHER, 0, 2);
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        });
        let lock = parts(&episode).into_iter().find(|part| part.kind == Kind::Lock).unwrap();
        assert_eq!((lock.who.name(), lock.ns), ("other", 2_000_000));
        let waited: u64 =
            lock.inside.iter().filter(|inside| inside.who.name() == "first").map(|inside| inside.ns).sum();
        // It stood on another CPU until it was moved, and of that one there are no events.
        let unseen = if moved { 1_000_000 } else { 0 };
        assert_eq!((waited, lock.unknown_ns), (1_500_000 - unseen, unseen), "{lock:?}");
    }
}

/// What the holder slept for is not known: the lock is its, and the time counts as unknown in every sum.
#[test]
fn what_is_unknown_within_a_lock_is_counted_as_unknown() {
    let episode = response(|story| {
        story.switch(1_500, OTHER, LEFT_FOR_LOCK | 1, 2);
        story.switch(1_700, (0, 120), 1, 0);
        story.event(3_300, EventKind::Waking, INTERRUPT, u64::from(OTHER.0), 120, 0);
        story.switch(3_310, OTHER, 0, 2);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    assert_eq!(locks(&episode), [("other".into(), 2_000_000, 1_600_000)]);
    let split = split(&episode);
    let summary = summarize([(1, &split), (2, &split)]);
    let unknown: u64 = split.parts.iter().map(|part| part.unknown_ns).sum();
    assert_eq!(summary.unknown_ns, 2 * unknown);
    assert!(unknown >= 1_600_000);
    let cause = summary.causes.iter().find(|cause| cause.kind == Kind::Lock).unwrap();
    assert_eq!(cause.unknown_ns, 3_200_000);
}

/// One waits for the lock before the victim, gets it, and lets it go to the victim: each held it in its time.
#[test]
fn of_two_holders_one_after_the_other_each_has_its_time() {
    let convoy = |second_place: u32| {
        response(|story| {
            // The second, `first`, sleeps for it already, and goes before the victim in the queue.
            story.episode.events.insert(
                0,
                punctual_recording::episode::Event {
                    at_ns: 900_000,
                    cpu: 1,
                    kind: EventKind::Switch,
                    tid: FIRST.0,
                    priority: 10,
                    context: 0,
                    steal_ns: 1,
                    value: 0,
                    extra: u64::from(LEFT_FOR_LOCK | 1) << 32 | 120,
                    name: 0,
                },
            );
            story.switch(1_500, OTHER, LEFT_FOR_LOCK | 1, 2);
            story.event(2_500, EventKind::Waking, 0, u64::from(FIRST.0), lets_go(second_place).bits() | 110, 2);
            story.switch(2_500, FIRST, 1, 3);
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 3);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        })
    };
    let mut both = locks(&convoy(PLACE));
    both.sort();
    assert_eq!(both, [("first".into(), 1_000_000, 0), ("other".into(), 1_000_000, 0)]);
    // It was another lock that the second waited for.
    let episode = convoy(PLACE + 1);
    assert_eq!(locks(&episode), [("first".into(), 2_000_000, 0)]);
    let lock = parts(&episode).into_iter().find(|part| part.kind == Kind::Lock).unwrap();
    let inside = |kind, name: &str| Inside { kind, who: name.into(), ns: 1_000_000, inside: Vec::new() };
    assert!(lock.inside.contains(&inside(Kind::Lock, "other")), "{lock:?}");
    assert!(lock.inside.contains(&inside(Kind::Own, "first")), "{lock:?}");
}

/// Two that wait for one another, by what the events say: no end of holders is looked for.
#[test]
fn holders_that_wait_in_a_circle_come_to_an_end() {
    let episode = response(|story| {
        story.switch(1_500, OTHER, LEFT_FOR_LOCK | 1, 2);
        story.switch(1_600, (0, 120), LEFT_FOR_LOCK | 1, 0);
        story.current = VICTIM_RUNS;
        story.event(3_400, EventKind::Waking, 0, u64::from(OTHER.0), lets_go(7).bits() | 120, 1);
        story.current = (0, 120);
        story.switch(3_410, OTHER, 0, 2);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), lets_go(PLACE).bits() | 19, 2);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
    });
    let locks = locks(&episode);
    assert_eq!((locks[0].0.name(), locks[0].1), ("other", 2_000_000));
    assert!(locks[0].2 >= 1_700_000, "what the circle hides is unknown: {locks:?}");
}

#[test]
fn a_lock_within_a_page_fault_is_the_lock() {
    let asleep = response(|story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
        story.event(2_005, EventKind::LockBegin, 0, 0xffff_0000, 2, 0);
        story.switch(2_010, OTHER, LEFT_UNINTERRUPTIBLE, 2);
        story.event(2_900, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
        story.switch(2_910, VICTIM_RUNS, 0, 1);
        story.event(2_911, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
        story.event(3_000, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    assert_eq!(locks(&asleep)[0], ("other".into(), 896_000, 0));
    let fault: u64 = parts(&asleep).iter().filter(|part| part.kind == Kind::Fault).map(|part| part.ns).sum();
    assert_eq!(fault, 5_000 + 89_000);
    let spinning = response(|story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
        story.event(2_005, EventKind::LockBegin, 0, 0xffff_0000, 1, 0);
        story.event(2_905, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
        story.event(3_000, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    assert_eq!(locks(&spinning), [(HOLDER_NOT_SEEN, 900_000, 900_000)]);
    // The lock was had at once, and the wait is for the page.
    let page = response(|story| {
        story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
        story.event(2_005, EventKind::LockBegin, 0, 0xffff_0000, 1, 0);
        story.event(2_006, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
        story.switch(2_010, OTHER, LEFT_UNINTERRUPTIBLE, 2);
        story.event(2_900, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(2_910, VICTIM_RUNS, 0, 1);
        story.event(3_000, EventKind::FaultEnd, 0, 0, 0, 0);
    });
    assert_eq!(locks(&page), [(HOLDER_NOT_SEEN, 1_000, 1_000)]);
}

/// No thread let a lock of the kernel go: a timer or a signal ended the wait.
#[test]
fn a_lock_of_the_kernel_is_no_interrupts() {
    let episode = response(|story| {
        story.event(2_005, EventKind::LockBegin, 0, 0xffff_0000, 2, 0);
        story.switch(2_010, OTHER, LEFT_UNINTERRUPTIBLE, 2);
        story.event(2_900, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        story.switch(2_910, VICTIM_RUNS, 0, 1);
    });
    assert!(locks(&episode).contains(&(HOLDER_NOT_SEEN, 890_000, 890_000)), "{:?}", locks(&episode));
}

/// The holder runs on the other CPU; the victim, which could have the lock lend it its priority, waits without sleeping.
#[test]
fn waiting_in_the_kernel_for_a_lock_that_lends_priority_is_the_lock() {
    let spins = |in_its_program: bool| {
        response(|story| {
            for (at_us, next, name) in [(900, OTHER, 2), (4_500, (0, 120), 0)] {
                story.current = (0, 120);
                story.switch(at_us, next, 0, name);
                story.episode.events.last_mut().unwrap().cpu = 1;
            }
            story.current = VICTIM_RUNS;
            story.event(2_000, EventKind::LockBegin, 0, u64::from(OTHER.0), LOCK_OF_PROGRAM, 0);
            if in_its_program {
                story.event(2_500, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 1);
                story.event(2_501, EventKind::VectorEnd, INTERRUPT, 1, 0, 1);
            }
            let told = LockWaking { act: WakingAct::UnlocksWord, state: WordState::NotRead, ..lets_go(PLACE) };
            story.current = OTHER;
            story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), told.bits() | 19, 2);
            story.episode.events.last_mut().unwrap().cpu = 1;
            story.current = VICTIM_RUNS;
        })
    };
    let episode = spins(false);
    assert_eq!(locks(&episode), [("other".into(), 2_000_000, 0)]);
    // It was seen in its program before the lock was let go: it had it by then, since when is not known.
    assert_eq!(locks(&spins(true)), []);
}
