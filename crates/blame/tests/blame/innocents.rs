//! Sequences of events in which somebody looks guilty and is not: nobody is named for them, or whoever it was.

use crate::support::{
    HOLDER_NOT_SEEN, INTERRUPT, NOTHING_TOLD, OTHER, Story, VICTIM, VICTIM_RUNS, in_words, lets_go, parts, response,
};
use punctual_blame::{Kind, Who};
use punctual_recording::episode::{
    Call, EventKind, IN_SOFTIRQ, INTERRUPTED_USER, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_STOPPED, LEFT_TRACED,
    LEFT_UNINTERRUPTIBLE, LockWaking, WaitEnd, WakingAct, WordState,
};
use punctual_recording::{Episode, Stage};

/// Asleep so that a signal would wake it.
const WAITS: u32 = 1;
const IO: u32 = LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE;

/// Names and us of the parts of a kind, by name.
fn of_kind(episode: &Episode, kind: Kind) -> Vec<(Who, u64)> {
    let parts = parts(episode).into_iter().filter(|part| part.kind == kind);
    let mut told: Vec<_> = parts.map(|part| (part.who, part.ns / 1_000)).collect();
    told.sort();
    told
}

/// A softirq that balances CPUs comes over whatever thread, and wakes the one that moves threads.
#[test]
fn who_is_interrupted_by_the_balancing_of_cpus_moves_nobody() {
    for (context, name) in [(0, "other"), (IN_SOFTIRQ, "migration/0"), (INTERRUPT, "migration/0")] {
        let episode = response(|story| {
            story.episode.names[3] = "migration/0".into();
            story.event(1_900, EventKind::Waking, context, 15, 0xffff, 2);
            let asks = story.episode.events.last_mut().unwrap();
            (asks.tid, asks.cpu) = (OTHER.0, 1);
            story.switch(2_000, (15, -1), 0, 3);
            story.event(2_010, EventKind::Migrate, 0, u64::from(VICTIM), 0, 0);
            story.switch(2_020, VICTIM_RUNS, 1, 1);
        });
        assert_eq!(of_kind(&episode, Kind::Migration), [(name.into(), 20)], "{context:#x}");
    }
}

/// A program may call a thread as the kernel calls those that move others.
#[test]
fn who_only_has_the_name_of_those_that_move_threads_moves_nobody() {
    for (name, priority, kind) in [("migration/0", 120, Kind::FairServer), ("migration/x", -1, Kind::HigherPriority)] {
        let episode = response(|story| {
            story.episode.names[3] = name.into();
            story.event(1_900, EventKind::Waking, 0, 15, 120, 2);
            let asks = story.episode.events.last_mut().unwrap();
            (asks.tid, asks.cpu) = (OTHER.0, 1);
            story.switch(2_000, (15, priority), 0, 3).switch(4_000, VICTIM_RUNS, 1, 1);
        });
        assert_eq!(of_kind(&episode, Kind::Migration), [], "{name}");
        assert_eq!(of_kind(&episode, kind), [(name.into(), 2_000)]);
    }
}

/// Who had the one that moves others woken for another move, which is done, asked for no later one.
#[test]
fn who_asked_for_a_move_before_asks_for_no_later_one() {
    let episode = response(|story| {
        story.episode.names[3] = "migration/0".into();
        story.event(1_100, EventKind::Waking, 0, 15, 0xffff, 2);
        let asks = story.episode.events.last_mut().unwrap();
        (asks.tid, asks.cpu) = (OTHER.0, 1);
        story.switch(1_150, (15, -1), 0, 3).switch(1_160, VICTIM_RUNS, 1, 1);
        // This time nobody was seen to wake it.
        story.switch(2_000, (15, -1), 0, 3).switch(2_020, VICTIM_RUNS, 1, 1);
    });
    assert_eq!(of_kind(&episode, Kind::Migration), [("migration/0".into(), 20), ("other".into(), 10)]);
}

/// Somebody stopped the thread before, or asked it to stop and it took no notice; who stops it now is not seen.
#[test]
fn a_stop_is_not_that_of_whoever_asked_for_the_one_before() {
    for (left, first) in [(LEFT_STOPPED, Some(190)), (WAITS, None)] {
        let episode = response(|story| {
            story.event(1_200, EventKind::StopAsked, 0, u64::from(VICTIM), 20 << 32, 3);
            story.switch(1_210, OTHER, left, 2);
            story.event(1_400, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
            story.switch(1_410, VICTIM_RUNS, 0, 1);
            story.switch(2_000, OTHER, LEFT_STOPPED, 2);
            story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
            story.switch(4_010, VICTIM_RUNS, 0, 1);
        });
        let mut told = vec![("somebody not seen".into(), 2_000)];
        told.extend(first.map(|us| ("first".into(), us)));
        told.sort();
        assert_eq!(of_kind(&episode, Kind::Stopped), told, "{left:#x}");
    }
}

/// By a signal anybody may let a thread go on that its tracer stopped.
#[test]
fn who_sends_a_signal_is_no_tracer() {
    for (signals, name) in [(false, "other"), (true, "its tracer")] {
        let told = WaitEnd { sleeper: Call::Read, waker: Some(Call::Other), signals, ..NOTHING_TOLD };
        let mut episode = response(|story| {
            story.switch(2_000, OTHER, LEFT_TRACED, 2);
            story.event(4_000, EventKind::Waking, 0, u64::from(VICTIM), told.bits() | 19, 2);
            story.switch(4_010, VICTIM_RUNS, 0, 1);
        });
        episode.stage = Stage::Request;
        assert_eq!(of_kind(&episode, Kind::Stopped), [(name.into(), 2_000)], "{signals}");
    }
}

/// The end of a wait for a lock was not seen, and the thread was in its program since: what it sleeps for later is another thing.
#[test]
fn a_wait_for_a_lock_whose_end_was_missed_accuses_nobody_later() {
    let slept = |was_in_program: bool| {
        response(|story| {
            story.event(1_100, EventKind::LockBegin, 0, 0xffff_0000, 1 << 5, 0);
            let interrupted = if was_in_program { INTERRUPTED_USER } else { 0 };
            story.event(1_300, EventKind::VectorBegin, INTERRUPT, 1, interrupted, 1);
            story.event(1_301, EventKind::VectorEnd, INTERRUPT, 1, 0, 1);
            story.switch(1_500, OTHER, WAITS, 2);
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
            // Of another one.
            story.event(4_000, EventKind::LockEnd, 0, 0xffff_0040, 0, 0);
        })
    };
    assert_eq!(of_kind(&slept(false), Kind::Lock), [("other".into(), 2_000)]);
    assert_eq!(of_kind(&slept(true), Kind::Lock), []);
    assert!(of_kind(&slept(true), Kind::Unknown).contains(&("asleep until woken by other".into(), 2_000)));
}

/// A word that counts readers, and has the mark of those that wait, reads like a lock with an owner of that number.
#[test]
fn a_thread_of_the_kernel_owns_no_lock_of_a_program() {
    for (owner, name, is_named) in [(2, "kthreadd", false), (44, "kworker/0:1", false), (45, "reader", true)] {
        let told = LockWaking {
            act: WakingAct::Signals,
            same_word: None,
            state: WordState::NotRead,
            owner,
            ..lets_go(0x1234)
        };
        let episode = response(|story| {
            story.episode.names.push(name.to_owned());
            story.switch(1_500, (owner, 120), LEFT_FOR_LOCK | WAITS, 5);
            story.switch(1_600, OTHER, WAITS, 2);
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), told.bits() | 19, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        });
        let who = if is_named { name.into() } else { HOLDER_NOT_SEEN };
        assert_eq!(of_kind(&episode, Kind::Lock), [(who, 2_000)], "{name}");
    }
}

/// Some locks of the kernel are given up for a signal: whoever sends one did not have the lock.
#[test]
fn who_interrupts_a_wait_for_a_lock_of_the_kernel_did_not_have_it() {
    for (signals, who) in [(false, "other".into()), (true, HOLDER_NOT_SEEN)] {
        let mut episode = response(|story| {
            story.event(1_490, EventKind::LockBegin, 0, 0xffff_0000, 1 << 5, 0);
            story.switch(1_500, OTHER, WAITS, 2);
            let told = WaitEnd { sleeper: Call::Read, waker: Some(Call::Other), signals, ..NOTHING_TOLD };
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), told.bits() | 19, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
            story.event(3_510, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
        });
        episode.stage = Stage::Request;
        let told = of_kind(&episode, Kind::Lock);
        assert!(!told.is_empty() && told.iter().all(|(name, _)| *name == who), "{signals}: {told:?}");
    }
}

/// What another CPU asks for may be done in the idle loop, which has no locks.
#[test]
fn the_idle_loop_has_no_lock_of_the_kernel() {
    let episode = response(|story| {
        story.event(1_490, EventKind::LockBegin, 0, 0xffff_0000, 1 << 5, 0);
        story.switch(1_500, (0, 120), LEFT_UNINTERRUPTIBLE, 0);
        story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 0);
        story.switch(3_505, VICTIM_RUNS, 0, 1);
        story.event(3_510, EventKind::LockEnd, 0, 0xffff_0000, 0, 0);
    });
    assert_eq!(of_kind(&episode, Kind::Lock), [(HOLDER_NOT_SEEN, 2_000 + 15)]);
}

/// Of a sleep within a response nothing is told but that a signal ended it: whoever sends one to kill the thread was not waited for.
#[test]
fn who_sends_a_signal_was_not_waited_for_in_a_response() {
    let signal =
        LockWaking { act: WakingAct::Signals, same_word: None, state: WordState::NotRead, owner: 0, ..lets_go(0) };
    for (bits, waits_us, locks_us) in [(0, 2_000, 2_000), (signal.bits(), 0, 0)] {
        let ended = |is_lock: bool| {
            response(|story| {
                if is_lock {
                    story.event(1_490, EventKind::LockBegin, 0, 0xffff_0000, 4, 0);
                }
                story.switch(1_500, OTHER, LEFT_UNINTERRUPTIBLE | 0x100, 2);
                story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), bits | 19, 2);
                story.switch(3_505, VICTIM_RUNS, 0, 1);
            })
        };
        let us = |kind, is_lock| {
            let told = of_kind(&ended(is_lock), kind).into_iter().filter(|(who, _)| who.name() == "other");
            told.map(|(_, us)| us).sum::<u64>()
        };
        assert_eq!((us(Kind::Wait, false), us(Kind::Lock, true)), (waits_us, locks_us), "{bits:#x}");
    }
}

/// Whoever comes to wait for a lock that may be shared may let those in who wait before it: it did not have it.
#[test]
fn who_waits_for_a_lock_as_well_did_not_have_it() {
    const LOCK: u64 = 0xffff_0000;
    for (wants, who) in [(LOCK, HOLDER_NOT_SEEN), (LOCK + 64, "other".into())] {
        let episode = response(|story| {
            story.event(1_490, EventKind::LockBegin, 0, LOCK, 2, 0);
            story.switch(1_500, OTHER, LEFT_UNINTERRUPTIBLE, 2);
            story.event(3_490, EventKind::LockBegin, 0, wants, 4, 0);
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
            story.switch(3_505, VICTIM_RUNS, LEFT_UNINTERRUPTIBLE, 1);
            story.event(3_510, EventKind::LockEnd, 0, LOCK, 0, 0);
        });
        let told = of_kind(&episode, Kind::Lock);
        assert!(!told.is_empty() && told.iter().all(|(name, _)| *name == who), "{wants:#x}: {told:?}");
    }
}

/// The victim waits for what comes over the network, as of a file system there, while a disk serves another one.
#[test]
fn a_disk_that_serves_another_one_is_not_what_a_packet_ends() {
    let woken = |softirq: u64| {
        response(|story| {
            story.episode.names.extend(["vda", "softirq"].map(str::to_owned));
            story.switch(1_500, OTHER, IO, 2);
            story.event(1_600, EventKind::RequestBegin, 0, 1, 4096, 2);
            story.event(3_400, EventKind::RequestEnd, INTERRUPT, 1, 0, 5);
            story.event(3_410, EventKind::HandlerEnd, INTERRUPT, 1, 0, 0);
            story.event(3_480, EventKind::SoftirqBegin, IN_SOFTIRQ, softirq, 0, 6);
            story.event(3_500, EventKind::Waking, IN_SOFTIRQ, u64::from(VICTIM), 19, 2);
            story.event(3_502, EventKind::SoftirqEnd, IN_SOFTIRQ, softirq, 0, 6);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        })
    };
    let (by_disk, by_packet) = (woken(4), woken(3));
    assert_eq!(of_kind(&by_disk, Kind::Io), [("vda".into(), 2_000)]);
    assert_eq!(of_kind(&by_packet, Kind::Io), [("softirq".into(), 2_000)]);
    let details = parts(&by_packet).into_iter().filter_map(|part| in_words(&part.detail));
    assert_eq!(details.filter(|words| words.contains("request of")).count(), 0);
}

/// A daemon answers the victim's page fault, while a disk serves another one.
#[test]
fn a_page_that_a_daemon_brings_is_from_no_disk_that_another_asked() {
    for (asked_by, from) in [((9, 120), None), (OTHER, Some("a page from vda, by a request of other, 4 KiB"))] {
        let episode = response(|story| {
            story.episode.names.push("vda".to_owned());
            story.event(2_000, EventKind::FaultUser, 0, 4096, 0, 0);
            story.switch(2_010, OTHER, LEFT_UNINTERRUPTIBLE, 2);
            story.event(2_100, EventKind::RequestBegin, 0, 1, 4096, 2);
            story.episode.events.last_mut().unwrap().tid = asked_by.0;
            story.episode.events.last_mut().unwrap().cpu = 1;
            story.event(2_890, EventKind::RequestEnd, INTERRUPT, 1, 0, 5);
            story.event(2_891, EventKind::HandlerEnd, INTERRUPT, 1, 0, 0);
            story.event(2_900, EventKind::Waking, 0, u64::from(VICTIM), 19, 2);
            story.switch(2_910, VICTIM_RUNS, 0, 1);
            story.event(3_000, EventKind::FaultEnd, 0, 0, 0, 0);
        });
        let faults = parts(&episode).into_iter().filter(|part| part.kind == Kind::Fault);
        let words: Vec<_> = faults.filter_map(|part| in_words(&part.detail)).collect();
        assert_eq!(words.first().map(String::as_str), from, "{words:?}");
    }
}

/// The victim's timer is late over a thread's kernel code, to which another interrupt comes at once: it had interrupts on.
#[test]
fn who_is_interrupted_meanwhile_keeps_no_interrupt_off() {
    let late = |comes_us: u64| {
        let mut story = Story::new(OTHER, 3_020);
        story.switch(900, OTHER, 0, 2);
        story.event(comes_us, EventKind::VectorBegin, INTERRUPT, 2, 0, 2);
        story.event(comes_us + 3, EventKind::VectorEnd, INTERRUPT, 2, 0, 2);
        story.timer(3_000, 0).switch(3_010, VICTIM_RUNS, 0, 1).switch(3_100, OTHER, 1, 2);
        story.episode
    };
    assert_eq!(of_kind(&late(2_000), Kind::IrqOff), []);
    assert_eq!(of_kind(&late(2_000), Kind::Blind), [("while other ran".into(), 1_977)]);
    // Both come as soon as they are let.
    assert_eq!(of_kind(&late(2_990), Kind::IrqOff), [("other".into(), 1_980)]);
}
