use super::*;
use crate::recorder::connections::Connection;
use crate::recorder::stretches::{EndedBy, Pause, Stretch};
use punctual_recording::episode::LockWaking;

const ASKER: u32 = 7;
const STORE: u32 = 8;
const MS: u64 = 1_000_000;

fn record(time: u64, tid: u32, kind: EventKind, value: u64, extra: u64) -> Record {
    let context = u32::from(kind.code()) << 24;
    Record { sequence: 1, time, steal: 0, task: tid, context, value, extra, name: [0; 16] }
}

/// A thread wakes one that waits in this call, by that one, with packets of somebody's or without.
fn wakes(sleeper: Call, waker: Call, sender: Sender) -> Record {
    let end =
        WaitEnd { sleeper, waker: Some(waker), signals: false, ends: false, thaws: false, descriptor: None, sender };
    record(110, ASKER, EventKind::Waking, STORE.into(), end.bits())
}

/// It wakes one that waits for a word, which then holds this.
fn wakes_word(state: WordState) -> Record {
    let told = LockWaking { act: WakingAct::WakesWord, same_word: Some(true), state, place: 1, owner: 0 };
    record(110, ASKER, EventKind::Waking, STORE.into(), told.bits())
}

fn sleeps(time: u64, tid: u32) -> Record {
    record(time, tid, EventKind::Switch, 0, 1 << 32)
}

/// A timer wakes the store.
fn by_timer(time: u64) -> Record {
    let waking = record(time, 9, EventKind::Waking, STORE.into(), 0);
    Record { context: waking.context | 1 << 16, ..waking }
}

/// Whether a thread that did this from 100 to 200 is seen to ask.
fn is_asking(records: Vec<Record>) -> bool {
    is_asking_until(200, records)
}

fn is_asking_until(until_ns: u64, records: Vec<Record>) -> bool {
    let copied = vec![(0, Copied { records, ..Copied::default() })];
    let stretches = [Alone { tid: ASKER, from_ns: 100, until_ns }];
    !asking(&copied, &stretches, |tid| tid > 1_000).is_empty()
}

#[test]
fn whoever_wakes_another_that_waits_for_what_it_brings_asks() {
    let none = Sender::NotTold;
    let write = || wakes(Call::Read, Call::Write, none);
    let in_vain = |time| Record { time, ..wakes(Call::Read, Call::Read, none) };
    let in_interrupt = |record: Record| Record { context: record.context | 1 << 16, ..record };
    for (records, expected, what) in [
        (vec![write()], true, "writes to a reader"),
        (vec![wakes(Call::Poll, Call::Write, none)], true, "to an event loop"),
        (vec![wakes(Call::Read, Call::Other, Sender::Thread(ASKER))], true, "sends it a packet"),
        (vec![wakes(Call::Read, Call::Write, Sender::Thread(9))], false, "somebody else's packet"),
        (vec![wakes(Call::Queue, Call::Queue, none)], true, "by a queue"),
        (vec![wakes(Call::Sleep, Call::Write, none)], false, "ends a sleep"),
        (vec![wakes(Call::Write, Call::Read, none)], false, "makes room"),
        (vec![in_interrupt(write())], false, "an interrupt meanwhile"),
        (vec![wakes_word(WordState::NoLock)], true, "a condition or a semaphore"),
        (vec![wakes_word(WordState::Held)], true, "a word that is taken at once"),
        (vec![wakes_word(WordState::Free)], false, "lets go of a lock"),
        (vec![Record { value: 2_000, ..write() }], false, "the kernel's thread for a terminal"),
        (vec![Record { time: 201, ..write() }], false, "later"),
        (vec![Record { task: 9, ..write() }], false, "another thread"),
        (vec![write(), sleeps(150, STORE)], false, "it was done meanwhile"),
        (vec![write(), sleeps(150, STORE), Record { time: 300, ..write() }], false, "and is asked next"),
        (vec![write(), sleeps(150, STORE), by_timer(300)], true, "it slept within its work"),
        (vec![write(), sleeps(130, STORE), by_timer(150), sleeps(160, STORE)], false, "and was done then"),
        (vec![write(), sleeps(201, STORE), sleeps(109, STORE)], true, "it was done later"),
        (vec![write(), Record { extra: 0, ..sleeps(150, STORE) }], true, "it lost its CPU meanwhile"),
        (vec![write(), sleeps(150, STORE), in_vain(160), sleeps(165, STORE)], false, "its answer was read"),
        (vec![write(), sleeps(150, STORE), in_vain(260), sleeps(265, STORE)], false, "and later"),
        (vec![], false, "nothing"),
    ] {
        assert_eq!(is_asking(records), expected, "{what}");
    }
}

/// A client computes between its question and its answer. Its store is given a CPU at 1,000, loses that, and is given one again at 400,000 to go to sleep: later than the
/// client, on a busy machine.
#[test]
fn whoever_was_only_kept_from_going_to_sleep_is_done() {
    let gets_cpu = |time| record(time, 9, EventKind::Switch, STORE.into(), 0);
    let loses_cpu = |time| record(time, STORE, EventKind::Switch, 9, 0);
    for (lost_ns, slept_ns, naps, expected, what) in [
        (150_000, Some(420_000), false, false, "all that it had left to do was to go to sleep"),
        (150_000, Some(460_000), false, true, "it had more to do"),
        (20_000, Some(410_000), false, true, "it had only begun"),
        (150_000, None, false, true, "its end was not seen"),
        (150_000, Some(420_000), true, true, "it slept within its work"),
    ] {
        let mut records = vec![wakes(Call::Read, Call::Write, Sender::NotTold)];
        records.extend([gets_cpu(1_000), loses_cpu(lost_ns), gets_cpu(400_000)]);
        records.extend(slept_ns.map(|at_ns| sleeps(at_ns, STORE)));
        if naps {
            records.extend([by_timer(900_000), gets_cpu(900_010), sleeps(950_000, STORE)]);
        }
        assert_eq!(is_asking_until(200_000, records), expected, "{what}");
    }
}

/// A thread with a clock that asks at every second step, or waits for answers in some: the requests that count as sure, and those of them that do not after all.
fn counted(rounds: u64, waits_in: impl Fn(u64) -> bool, asks_in: impl Fn(u64) -> bool) -> (u64, u64) {
    let mut requests = Requests::default();
    let sleep = Pause::Waits { place: 1, call: Some(Call::Sleep) };
    let answer = Pause::Waits { place: 2, call: Some(Call::Read) };
    let mut sure = 0;
    let mut take = |requests: &mut Requests, expected_ns: u64, ended_by, then| {
        let stretch =
            Stretch { process: 5, expected_ns, ended_by, ran_ns: expected_ns, until_ns: expected_ns + MS, then };
        sure += requests.next(ASKER, &stretch).filter(|over| over.known.is_sure()).count() as u64;
    };
    take(&mut requests, MS, EndedBy::Thread, sleep);
    let found: [Connection; 0] = [];
    requests.saw_connections(ASKER, (1, 2), &found);
    for round in 1..=rounds {
        let waits = waits_in(round);
        take(&mut requests, round * 20 * MS, EndedBy::Timer, if waits { answer } else { sleep });
        if waits {
            take(&mut requests, round * 20 * MS + 5 * MS, EndedBy::Thread, sleep);
        } else if asks_in(round) {
            requests.saw_asking(ASKER);
        }
    }
    (sure, requests.unanswered())
}

#[test]
fn none_of_the_requests_of_a_thread_that_asks_without_waiting_is_sure() {
    let never = |_| false;
    let (sure, unanswered) = counted(40, never, never);
    assert!(sure >= 30 && unanswered == 0, "{sure} {unanswered}: it asks nobody");
    let (sure, unanswered) = counted(40, never, |round| round % 2 == 0);
    assert!(sure >= 30 && unanswered == sure, "{sure} {unanswered}: two steps on one clock");
    let (sure, unanswered) = counted(40, |round| round % 8 == 7, |round| round % 2 == 0);
    assert!(sure >= 30 && unanswered == sure, "{sure} {unanswered}: an answer that is late is waited for");
    let (_, unanswered) = counted(40, never, |round| round > 38);
    assert_eq!(unanswered, 0, "twice tells nothing");
    let (sure, unanswered) = counted(40, |round| round % 8 != 7, |_| true);
    assert!(
        sure >= 30 && unanswered == 0,
        "{sure} {unanswered}: it waits for its answers, but for a few that come at once"
    );
}
