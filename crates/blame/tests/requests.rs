//! Waits for other threads within a request: named by who ended them, with what that one did, and nobody is accused who did
//! not.

mod support;

use punctual_blame::{CallTree, Findings, Inside, Kind, Part, Room, add_lateness, chain, folded, split};
use punctual_recording::episode::{
    Call, Event, EventKind, Frame, IN_SOFTIRQ, INTERRUPTED_USER, LEFT_DEAD, LEFT_FOR_IO, LEFT_FOR_LOCK,
    LEFT_UNINTERRUPTIBLE, LockWaking, Sender, StackSample, WaitEnd, WakingAct, WordState,
};
use punctual_recording::{Episode, Softirq, Stage};
use std::collections::BTreeSet;
use support::{ENDER_NOT_SEEN, INTERRUPT, NOTHING_TOLD, Story, VICTIM, VICTIM_RUNS, in_words, lets_go};

const IDLE: (u32, i16) = (0, 120);
const SERVER: (u32, i16) = (7, 120);
const STORE: (u32, i16) = (8, 120);
const BYSTANDER: (u32, i16) = (9, 120);
/// Asleep so that a signal would wake it.
const WAITS: u32 = 1;
const READ: WaitEnd = WaitEnd { sleeper: Call::Read, waker: Some(Call::Write), ..NOTHING_TOLD };

fn signalled() -> WaitEnd {
    WaitEnd { signals: true, waker: Some(Call::Other), ..READ }
}

/// A request: due at 1,000 us, in at 1,010, waiting for more work at 5,000. `other` (thread 7) serves, `first` (8) stores.
fn request(build: impl FnOnce(&mut Story)) -> Episode {
    let mut story = Story::new(IDLE, 5_000);
    story.episode.stage = Stage::Request;
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    build(&mut story);
    story.switch(5_000, IDLE, WAITS, 0);
    story.episode
}

/// What the current thread ends by waking the victim.
fn answers(story: &mut Story, at_us: u64, bits: u64) {
    story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), bits | 19, 2);
    story.switch(at_us + 5, VICTIM_RUNS, 0, 1);
}

fn parts(episode: &Episode) -> Vec<Part> {
    fn add_up(inside: &[Inside], ns: u64) {
        assert!(inside.is_empty() || inside.iter().map(|inside| inside.ns).sum::<u64>() == ns, "{inside:?}");
        inside.iter().for_each(|inside| add_up(&inside.inside, inside.ns));
    }
    let split = split(episode);
    assert_eq!(split.parts.iter().map(|part| part.ns).sum::<u64>(), episode.total_ns());
    split.parts.iter().for_each(|part| add_up(&part.inside, part.ns));
    split.parts
}

fn wait(episode: &Episode) -> Part {
    let mut waits = parts(episode).into_iter().filter(|part| part.kind == Kind::Wait);
    let wait = waits.next().unwrap_or_else(|| panic!("no wait in {:?}", parts(episode)));
    assert_eq!(waits.next(), None);
    wait
}

fn leaf(kind: Kind, name: &str, ns: u64) -> Inside {
    Inside { kind, who: name.into(), ns, inside: Vec::new() }
}

/// The server runs on the victim's CPU from 1,500 us, and answers at 3,500.
fn served(bits: u64) -> Episode {
    request(|story| {
        story.switch(1_500, SERVER, WAITS, 2);
        answers(story, 3_500, bits);
    })
}

#[test]
fn a_wait_is_named_by_who_ended_it_and_by_what_that_one_did() {
    let part = wait(&served(READ.bits()));
    assert_eq!((part.who.name(), part.ns, part.unknown_ns, part.call), ("other", 2_000_000, 0, Some(Call::Read)));
    assert_eq!(part.inside, [leaf(Kind::Own, "other", 2_000_000)]);
    assert_eq!(in_words(&part.detail).as_deref(), Some("at work"));
    // Whoever asks about responses is told what it always was.
    let mut response = served(READ.bits());
    response.stage = Stage::Response;
    assert!(parts(&response).iter().all(|part| part.kind != Kind::Wait));
    assert!(
        parts(&response).iter().any(|part| part.who.name() == "asleep until woken by other" && part.ns == 2_000_000)
    );
}

#[test]
fn a_word_in_memory_is_waited_for_too() {
    let words = [
        lets_go(5),
        LockWaking { state: WordState::NoLock, ..lets_go(5) },
        // It was sent to this word meanwhile.
        LockWaking { same_word: Some(false), state: WordState::NotRead, ..lets_go(5) },
    ];
    for word in words {
        let part = wait(&served(word.bits()));
        assert_eq!((part.who.name(), part.ns, part.call), ("other", 2_000_000, Some(Call::Futex)), "{word:?}");
        assert!(!part.has_ended);
    }
}

#[test]
fn whoever_woke_it_over_something_else_is_not_accused() {
    let signalled = signalled();
    let by_signal = LockWaking { act: WakingAct::Signals, same_word: None, state: WordState::NotRead, ..lets_go(5) };
    let by_chance = LockWaking { act: WakingAct::Else, same_word: None, state: WordState::NotRead, ..lets_go(5) };
    let cases = [
        (signalled.bits(), "the wait ended with a signal of other"),
        (by_signal.bits(), "the wait ended with a signal of other"),
        (by_chance.bits(), "woken by other, over nothing that it waited for"),
        (0, "woken by other; how is not in the recording"),
    ];
    for (bits, words) in cases {
        let part = wait(&served(bits));
        assert_eq!((&part.who, part.ns, part.unknown_ns), (&ENDER_NOT_SEEN, 2_000_000, 2_000_000), "{words}");
        assert_eq!(in_words(&part.detail).as_deref(), Some(words));
    }
}

/// One that crashes has sent itself a signal, and ends by that: what it had goes with it.
#[test]
fn whoever_ends_ends_the_waits_for_what_it_had() {
    let by_end = LockWaking { act: WakingAct::Ends, same_word: None, state: WordState::NotRead, ..lets_go(5) };
    let ends = [WaitEnd { ends: true, waker: None, ..READ }.bits(), by_end.bits()];
    for bits in ends {
        let part = wait(&served(bits));
        assert_eq!((part.who.name(), part.ns, part.has_ended), ("other", 2_000_000, true), "{bits:#x}");
    }
}

/// A timer ends a wait for an answer that did not come; a device has one of its own.
#[test]
fn an_interrupt_ends_a_wait_for_nobody() {
    let ended = |timer: bool| {
        request(|story| {
            story.switch(1_500, SERVER, WAITS, 2);
            story.event(3_490, EventKind::VectorBegin, INTERRUPT, 1, INTERRUPTED_USER, 2);
            if timer {
                story.event(3_491, EventKind::TimerBegin, INTERRUPT, 0, 3_491_000, 4);
            } else {
                story.event(3_491, EventKind::HandlerBegin, INTERRUPT, 5, 0, 4);
            }
            let bits = WaitEnd { waker: Some(Call::None), ..READ }.bits();
            story.event(3_500, EventKind::Waking, INTERRUPT, u64::from(VICTIM), bits | 19, 2);
            let end = if timer { EventKind::TimerEnd } else { EventKind::HandlerEnd };
            story.event(3_501, end, INTERRUPT, 5, 0, 4);
            story.event(3_502, EventKind::VectorEnd, INTERRUPT, 1, 0, 2);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        })
    };
    let part = wait(&ended(true));
    assert_eq!(
        (&part.who, in_words(&part.detail).as_deref()),
        (&ENDER_NOT_SEEN, Some("the wait ended by its time limit"))
    );
    assert_eq!((part.ns, part.unknown_ns), (1_991_000, 1_991_000));
    assert!(parts(&ended(false)).iter().any(|part| part.kind == Kind::Io && part.who.name() == "spin_fn"));
}

/// The softirqs of timers end a wait by its time limit, also where no function of a timer was seen; that of disks does not.
#[test]
fn a_softirq_ends_a_wait_for_nobody() {
    let ended_by = |softirq: Softirq| {
        request(|story| {
            story.switch(1_500, SERVER, WAITS, 2);
            story.event(3_480, EventKind::SoftirqBegin, IN_SOFTIRQ, softirq.code().into(), 0, 3);
            let bits = WaitEnd { waker: Some(Call::None), ..READ }.bits();
            story.event(3_500, EventKind::Waking, IN_SOFTIRQ, u64::from(VICTIM), bits | 19, 2);
            story.event(3_510, EventKind::SoftirqEnd, IN_SOFTIRQ, softirq.code().into(), 0, 3);
            story.switch(3_515, VICTIM_RUNS, 0, 1);
        })
    };
    let mut cases = 0;
    for softirq in [Softirq::Timer, Softirq::Hrtimer] {
        let part = wait(&ended_by(softirq));
        assert_eq!(part.who, ENDER_NOT_SEEN, "{softirq:?}");
        assert_eq!(in_words(&part.detail).as_deref(), Some("the wait ended by its time limit"), "{softirq:?}");
        cases += 1;
    }
    assert_eq!(cases, 2);
    assert!(parts(&ended_by(Softirq::Block)).iter().any(|part| part.kind == Kind::Io && part.ns == 2_000_000));
}

/// A softirq delivers what the thread sends in which it runs, but not what an interrupt brought in between.
#[test]
fn a_packet_is_its_senders_or_the_networks() {
    let delivered = |call: Call, after_interrupt: bool| {
        request(|story| {
            story.switch(1_500, SERVER, WAITS, 2);
            if after_interrupt {
                story.event(3_490, EventKind::HandlerBegin, INTERRUPT, 5, INTERRUPTED_USER, 4);
                story.event(3_494, EventKind::HandlerEnd, INTERRUPT, 5, 0, 4);
            }
            story.event(3_495, EventKind::SoftirqBegin, IN_SOFTIRQ, 3, 0, 4);
            let bits = WaitEnd { waker: Some(call), ..READ }.bits();
            story.event(3_500, EventKind::Waking, IN_SOFTIRQ, u64::from(VICTIM), bits | 19, 2);
            story.event(3_502, EventKind::SoftirqEnd, IN_SOFTIRQ, 3, 0, 4);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        })
    };
    let part = wait(&delivered(Call::Write, false));
    assert_eq!((part.who.name(), part.unknown_ns), ("other", 0));
    // The interrupt came while softirqs were kept off: the sender's own are served once it lets them.
    let mut kept_off = delivered(Call::Write, true);
    for event in kept_off.events.iter_mut().filter(|event| event.kind == EventKind::HandlerEnd) {
        event.context |= 2 << 8;
    }
    assert_eq!(wait(&kept_off).who.name(), "other");
    // What the interrupt brought was served before, and is over.
    let mut over = delivered(Call::Write, true);
    let begin = *over.events.iter().find(|event| event.kind == EventKind::SoftirqBegin).unwrap();
    for (at_us, kind) in [(3_480, EventKind::SoftirqBegin), (3_484, EventKind::SoftirqEnd)] {
        over.events.push(Event { at_ns: at_us * 1_000, kind, ..begin });
    }
    for event in over.events.iter_mut() {
        event.at_ns -= match event.kind {
            EventKind::HandlerBegin | EventKind::HandlerEnd => 15_000,
            _ => 0,
        };
    }
    over.events.sort_by_key(|event| event.at_ns);
    assert_eq!(wait(&over).who.name(), "other");
    for (call, after_interrupt) in [(Call::Write, true), (Call::None, false), (Call::Read, false)] {
        let part = wait(&delivered(call, after_interrupt));
        assert_eq!((part.who.name(), part.unknown_ns), ("the network", 2_000_000), "{call:?}");
    }
}

/// Which softirq delivers a packet, and in which thread, says nothing where the packet's sender was seen.
#[test]
fn a_packet_that_was_seen_to_be_sent_is_its_senders() {
    let delivered = |end: WaitEnd| {
        request(|story| {
            story.switch(1_500, SERVER, WAITS, 2);
            story.switch(3_400, BYSTANDER, WAITS, 4);
            story.event(3_495, EventKind::SoftirqBegin, IN_SOFTIRQ, 3, 0, 4);
            story.event(3_500, EventKind::Waking, IN_SOFTIRQ, u64::from(VICTIM), end.bits() | 19, 4);
            story.event(3_502, EventKind::SoftirqEnd, IN_SOFTIRQ, 3, 0, 4);
            story.switch(3_505, VICTIM_RUNS, 0, 1);
        })
    };
    let by = |sender| WaitEnd { waker: Some(Call::None), sender, ..READ };
    let part = wait(&delivered(by(Sender::Thread(SERVER.0))));
    // Since it sent that, it sleeps, and nothing says for what.
    assert_eq!((part.who.name(), part.unknown_ns), ("other", 100_000));
    // A bystander that was sending something else when the softirq came over it.
    let by_nobody = WaitEnd { sender: Sender::NoThread, ..READ };
    let part = wait(&delivered(by_nobody));
    assert_eq!((part.who.name(), part.unknown_ns), ("the network", 2_000_000));
}

/// Who wakes those that wait for a condition without making it true answers nobody; who makes it true does.
#[test]
fn whoever_wakes_in_vain_is_not_accused() {
    let told =
        LockWaking { act: WakingAct::WakesWord, same_word: Some(true), state: WordState::NoLock, place: 10, owner: 0 };
    let woken_twice = |looks_us: u64, second: (u32, i16), place: u32, over_lock: bool| {
        request(|story| {
            story.switch(1_500, BYSTANDER, WAITS, 4);
            answers(story, 3_000, told.bits());
            if over_lock {
                story.switch(3_010, SERVER, WAITS | LEFT_FOR_LOCK, 2);
                let let_go = LockWaking { state: WordState::Free, place: 300, ..told };
                answers(story, 3_400, let_go.bits());
                story.switch(3_405 + looks_us, second, WAITS, 2);
            } else {
                story.switch(3_005 + looks_us, second, WAITS, 2);
            }
            answers(story, 4_500, LockWaking { place, ..told }.bits());
        })
    };
    let named = |episode: &Episode| {
        let waits = parts(episode).into_iter().filter(|part| part.kind == Kind::Wait);
        waits.map(|part| part.who).collect::<BTreeSet<_>>()
    };
    // Who ends it at last was waited for all the time.
    let at_last = BTreeSet::from(["other".into()]);
    let mut cases = 0;
    for over_lock in [false, true] {
        for place in [10, 11] {
            let episode = woken_twice(20, SERVER, place, over_lock);
            assert_eq!(named(&episode), at_last, "{place} {over_lock}");
            assert!(wait(&episode).ns >= 2_500_000, "{:?}", wait(&episode));
            cases += 1;
        }
    }
    // It worked in between, it waited for something else then, the same thread woke it again: that was an answer.
    for episode in [
        woken_twice(500, SERVER, 10, false),
        woken_twice(20, SERVER, 200, false),
        woken_twice(20, BYSTANDER, 10, false),
    ] {
        assert!(!named(&episode).contains(&ENDER_NOT_SEEN));
        cases += 1;
    }
    assert_eq!(cases, 7);
}

/// A bystander wakes it several times in a row before the server does, which was asked or not.
#[test]
fn whoever_wakes_in_vain_again_and_again_is_not_accused() {
    let told =
        LockWaking { act: WakingAct::WakesWord, same_word: Some(true), state: WordState::NoLock, place: 10, owner: 0 };
    let woken = |is_asked: bool| {
        request(|story| {
            if is_asked {
                story.event(1_200, EventKind::Waking, 0, u64::from(SERVER.0), READ.bits() | 120, 1);
            }
            for number in 0..3 {
                story.switch(1_500 + 500 * number, BYSTANDER, WAITS, 4);
                answers(story, 1_980 + 500 * number, told.bits());
            }
            story.switch(3_005, SERVER, WAITS, 2);
            answers(story, 4_500, told.bits());
        })
    };
    let named = |episode: &Episode| {
        let waits = parts(episode).into_iter().filter(|part| part.kind == Kind::Wait);
        waits.map(|part| part.who).collect::<BTreeSet<_>>()
    };
    assert_eq!(named(&woken(true)), BTreeSet::from(["other".into()]));
    // Whoever handed it one thing after the other would look the same.
    assert_eq!(named(&woken(false)), BTreeSet::from(["other".into(), ENDER_NOT_SEEN]));
}

/// A word that stands as in a held lock whenever those who wait for it are woken, or as in no lock, is none: who makes the last of them go on was
/// waited for.
#[test]
fn a_word_that_was_never_free_is_waited_for_as_any_other() {
    let told = |state| LockWaking { act: WakingAct::WakesWord, same_word: Some(true), state, place: 10, owner: 0 };
    let woken = |states: &[WordState]| {
        request(|story| {
            story.event(1_200, EventKind::Waking, 0, u64::from(SERVER.0), READ.bits() | 120, 1);
            let mut at_us = 1_500;
            for state in states {
                story.switch(at_us, BYSTANDER, WAITS | LEFT_FOR_LOCK, 4);
                answers(story, at_us + 400, told(*state).bits());
                at_us += 420;
            }
            story.switch(at_us, SERVER, WAITS | LEFT_FOR_LOCK, 2);
            answers(story, 4_500, told(WordState::Held).bits());
        })
    };
    let held = [WordState::Held; 3];
    for states in [&held[..], &[WordState::NoLock][..]] {
        let part = wait(&woken(states));
        assert_eq!((part.who.name(), part.unknown_ns), ("other", 0), "{states:?}");
    }
    // Seen twice it may still be a lock that others are faster to take; and one that was free is one.
    for states in [&held[..1], &[WordState::Free, WordState::Held, WordState::Held][..]] {
        let parts = parts(&woken(states));
        assert!(parts.iter().all(|part| part.kind != Kind::Wait), "{states:?} {parts:?}");
    }
}

/// A thread of the kernel's looks for requests all the time, and hands on what a server gave it.
#[test]
fn whoever_polls_for_requests_is_not_accused_of_them() {
    let polled = |asks: &[u32], poller: &str| {
        request(|story| {
            story.episode.names.push(poller.to_owned());
            for asked in asks {
                story.event(1_200, EventKind::Waking, 0, u64::from(*asked), READ.bits() | 120, 1);
            }
            story.switch(1_500, SERVER, WAITS, 2);
            story.switch(4_490, BYSTANDER, WAITS, 5);
            let name = 5;
            story.event(4_500, EventKind::Waking, 0, u64::from(VICTIM), READ.bits() | 19, name);
            story.switch(4_505, VICTIM_RUNS, 0, 1);
        })
    };
    let part = wait(&polled(&[SERVER.0], "iou-sqp-55"));
    // It sleeps by the time at which its request is found.
    assert_eq!((part.who.name(), part.unknown_ns), ("other", 10_000));
    // Two may have been asked, or nobody; and any other thread is it itself.
    assert_eq!(wait(&polled(&[SERVER.0, 8], "iou-sqp-55")).who, ENDER_NOT_SEEN);
    assert_eq!(wait(&polled(&[], "iou-sqp-55")).who, ENDER_NOT_SEEN);
    assert_eq!(wait(&polled(&[SERVER.0], "worker")).who.name(), "worker");
}

/// Who joins a thread is woken as that ends: by the kernel, in its name.
#[test]
fn who_joins_a_thread_waits_for_it() {
    let joined = |left: u32| {
        request(|story| {
            story.switch(1_500, SERVER, WAITS, 2);
            let told = LockWaking { act: WakingAct::Else, same_word: None, ..lets_go(10) };
            story.event(3_500, EventKind::Waking, 0, u64::from(VICTIM), told.bits() | 19, 2);
            story.switch(3_505, VICTIM_RUNS, left, 1);
        })
    };
    let part = wait(&joined(LEFT_DEAD));
    assert_eq!((part.who.name(), part.ns, part.unknown_ns), ("other", 2_000_000, 0));
    assert_eq!(wait(&joined(WAITS)).who, ENDER_NOT_SEEN);
    assert_eq!(wait(&joined(0)).who, ENDER_NOT_SEEN);
}

/// A wait for a signal ends with it: whoever sends that is who was waited for, unless it is waited on for another one.
#[test]
fn who_waits_for_a_signal_waits_for_its_sender() {
    let sent = WaitEnd { sleeper: Call::Signal, ..signalled() };
    let part = wait(&served(sent.bits()));
    assert_eq!((part.who.name(), part.ns, part.unknown_ns), ("other", 2_000_000, 0));
    // Of one that reads, it is no answer.
    assert_eq!(wait(&served(signalled().bits())).who, ENDER_NOT_SEEN);
    let twice = |looks_us: u64| {
        request(|story| {
            story.switch(1_500, BYSTANDER, WAITS, 4);
            answers(story, 3_000, sent.bits());
            story.switch(3_005 + looks_us, SERVER, WAITS, 2);
            answers(story, 4_500, sent.bits());
        })
    };
    let names = |episode: &Episode| {
        let waits = parts(episode).into_iter().filter(|part| part.kind == Kind::Wait);
        waits.map(|part| (part.who.name().to_owned(), part.ns)).collect::<Vec<_>>()
    };
    let waited_ns = 1_500_000 + 1_475_000;
    assert_eq!(names(&twice(20)), [("other".to_owned(), waited_ns)]);
    // It worked in between: two waits, the second for whoever ended that.
    assert_eq!(names(&twice(500)), [("other".to_owned(), 1_500_000 + 995_000)]);
}

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
