//! Waits for other threads within a request: named by who ended them, with what that one did, and nobody is accused who did
//! not.

use crate::support::requests::{READ, SERVER, WAITS, answers, leaf, parts, request, signalled, wait};
use crate::support::{ENDER_NOT_SEEN, INTERRUPT, VICTIM, VICTIM_RUNS, in_words, lets_go};
use punctual_blame::Kind;
use punctual_recording::episode::{
    Call, Event, EventKind, IN_SOFTIRQ, INTERRUPTED_USER, LEFT_DEAD, LEFT_FOR_LOCK, LockWaking, Sender, WaitEnd,
    WakingAct, WordState,
};
use punctual_recording::{Episode, Softirq, Stage};
use std::collections::BTreeSet;

const BYSTANDER: (u32, i16) = (9, 120);

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
        let part = wait(&Episode { has_period: true, ..served(bits) });
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
            story.episode.has_period = true;
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
    // Whoever handed it one thing after the other would look the same, and nobody was asked.
    assert_eq!(named(&woken(false)), BTreeSet::from([ENDER_NOT_SEEN]));
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
            story.episode.has_period = true;
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
            story.switch(1_500, BYSTANDER, WAITS, 2);
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
