//! Inputs written down event by event, and what must result.

use super::*;
use proptest::prelude::*;
use punctual_recording::Outcome;

pub(super) const MS: u64 = 1_000_000;

pub(super) fn input(begin_ms: u64, label: &str) -> Input {
    Input {
        kind: "key".to_owned(),
        label: label.to_owned(),
        begin_ns: begin_ms * MS,
        injected_ns: begin_ms * MS + 10_000,
        bytes: 1,
        ..Input::default()
    }
}

pub(super) fn got(at: u64, tid: u32, bytes: u64) -> Seen {
    let mut seen = Seen::invented(at, Moment::Got, tid);
    seen.value = bytes;
    seen
}

pub(super) fn wrote(at: u64, tid: u32) -> Seen {
    let mut seen = Seen::invented(at, Moment::Wrote, tid);
    (seen.value, seen.begin_ns) = (3, at - 5_000);
    seen
}

pub(super) fn ran(from: u64, to: u64, tid: u32) -> Seen {
    let mut seen = Seen::invented(to, Moment::Ran, tid);
    seen.begin_ns = from;
    seen
}

/// Sleeps for input with nothing queued, until then at most.
pub(super) fn waits(from: u64, to: u64, tid: u32, limit_ns: Option<u64>) -> Seen {
    let mut seen = ran(from, to, tid).sleeping(true, false);
    seen.limit_ns = limit_ns;
    seen
}

pub(super) fn woke(at: u64, waker: u32, woken: u32) -> Seen {
    let mut seen = Seen::invented(at, Moment::Woke, waker);
    seen.value = u64::from(woken);
    seen
}

pub(super) fn outcomes(taken: &[Taken]) -> Vec<Outcome> {
    taken.iter().filter_map(|taken| taken.row.outcome).collect()
}

pub(super) fn seen_ms(taken: &Taken) -> Option<u64> {
    taken.row.seen_ns.map(|seen| seen / MS)
}

#[test]
fn a_key_has_three_ends() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(input(100, "a"));
    tracker.seen(&got(101 * MS, 7, 1));
    tracker.seen(&wrote(103 * MS, 7));
    // Spell-checks on the same thread when it has nothing else to do.
    tracker.seen(&waits(100 * MS + 500_000, 140 * MS, 7, None));
    tracker.arrived(103 * MS + 100_000, 3);
    let taken = tracker.finish(300 * MS);
    let row = &taken[0].row;
    assert_eq!((row.got_ns, seen_ms(&taken[0]), row.blocked_ns), (Some(101 * MS), Some(103), Some(140 * MS)));
    assert_eq!((row.busy_ns, row.cpu_ns), (Some(140 * MS), Some(39 * MS + 500_000)));
    assert_eq!(row.arrived_ns, Some(103 * MS + 100_000));
    assert_eq!((taken[0].writer.as_ref().unwrap().0, row.outcome, row.repeat), (7, Some(Outcome::Seen), 1));
}

#[test]
fn evidence_is_wanted_up_to_the_last_that_is_known_of_an_input() {
    let mut tracker = Tracker::new(true);
    let wanted = |tracker: &Tracker| -> Vec<(u64, Option<u64>)> {
        tracker.wanted().map(|wanted| (wanted.begin_ns / MS, wanted.end_ns.map(|end_ns| end_ns / MS))).collect()
    };
    tracker.put_in(input(100, "a"));
    assert_eq!(wanted(&tracker), [(100, None)]);
    tracker.seen(&got(101 * MS, 7, 1));
    tracker.seen(&wrote(103 * MS, 7));
    assert_eq!(wanted(&tracker), [(100, Some(103))]);
    tracker.seen(&waits(101 * MS, 140 * MS, 7, None));
    // However long the pause after it.
    tracker.put_in(input(9_000, "b"));
    assert_eq!(wanted(&tracker), [(100, Some(140)), (9_000, None)]);
}

#[test]
fn a_timer_that_the_key_set_is_waited_for_and_one_of_before_is_not() {
    // The cursor blinks every 500 ms: the wait before the key would have ended at 600 ms.
    let blinks = 600 * MS;
    for (limit, expected) in [(130 * MS, Some(130)), (blinks, Some(102)), (blinks + 300 * MS, Some(102))] {
        let mut tracker = Tracker::new(true);
        tracker.seen(&waits(50 * MS, 51 * MS, 7, Some(blinks)));
        tracker.put_in(input(100, "a"));
        tracker.seen(&got(101 * MS, 7, 1));
        tracker.seen(&wrote(102 * MS, 7));
        tracker.seen(&waits(101 * MS, 103 * MS, 7, Some(limit)));
        tracker.seen(&wrote(130 * MS, 7));
        tracker.seen(&waits(129 * MS, 131 * MS, 7, Some(blinks)));
        // And after that the cursor blinks.
        tracker.seen(&wrote(600 * MS, 7));
        let background = if expected == Some(130) { 1 } else { 2 };
        let taken = tracker.finish(900 * MS);
        assert_eq!((seen_ms(&taken[0]), tracker.background_outputs()), (expected, background), "{limit}");
    }
}

/// On the machine of 1996 the CPU is busy whoever has it.
#[test]
fn waiting_for_a_cpu_is_no_thinking() {
    let there = |waking: Seen| waking.among(true, true, false);
    let thinks_ms = |then: &[Seen]| {
        let mut tracker = Tracker::new(true);
        tracker.put_in(input(100, "a"));
        tracker.seen(&got(101 * MS, 7, 1));
        then.iter().for_each(|seen| tracker.seen(seen));
        tracker.finish(500 * MS)[0].row.think_1996_ns.map(|ns| ns / MS)
    };
    let (begins, ends) = (ran(101 * MS, 103 * MS, 7), waits(141 * MS, 152 * MS, 7, None));
    // It is preempted for 38 ms, or it sleeps.
    assert_eq!(thinks_ms(&[begins.clone(), wrote(151 * MS, 7), ends.clone()]), Some(0));
    assert_eq!(thinks_ms(&[begins.clone().sleeping(false, false), wrote(151 * MS, 7), ends.clone()]), Some(48));
    // It wakes another one, which gets a CPU 30 ms after that, and sleeps.
    let sleeps = begins.sleeping(false, false);
    let (asks, other) = (there(woke(102 * MS, 7, 8)), ran(132 * MS, 142 * MS, 8).sleeping(false, false));
    let then = waits(143 * MS, 144 * MS, 7, None);
    assert_eq!(thinks_ms(&[asks, sleeps.clone(), wrote(141 * MS, 8), other, then]), Some(0));
    // A timer wakes it after 20 ms: that much is thinking, and so is work with nothing queued that comes after it.
    let timer = woke(122 * MS, 0, 7).among(false, true, true);
    assert_eq!(thinks_ms(&[sleeps, timer, wrote(151 * MS, 7), ends]), Some(48));
}

#[test]
fn what_nobody_takes_is_queued_to_the_end() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(input(100, "a"));
    tracker.seen(&ran(101 * MS, 120 * MS, 7).sleeping(false, false));
    tracker.put_in(input(200, "b"));
    let taken = tracker.finish(300 * MS);
    let waits: Vec<_> = taken.iter().map(|taken| taken.waits_1996.clone().unwrap()).collect();
    assert_eq!(
        (outcomes(&taken), waits),
        (vec![Outcome::Unread; 2], vec![vec![(100 * MS, 200 * MS)], vec![(200 * MS, 300 * MS)]])
    );
}

/// A shell that waits for a command is not done with the key, whatever it echoed.
#[test]
fn a_key_that_is_still_worked_for_at_the_end_is_unfinished() {
    for asks_again in [false, true] {
        let mut tracker = Tracker::new(true);
        tracker.put_in(input(100, "a"));
        tracker.seen(&got(101 * MS, 7, 1));
        tracker.seen(&wrote(102 * MS, 7));
        if asks_again {
            tracker.seen(&waits(101 * MS, 140 * MS, 7, None));
        }
        assert_eq!(tracker.is_under_way(), !asks_again);
        let taken = tracker.finish(900 * MS);
        let expected = if asks_again { (Outcome::Seen, Some(102)) } else { (Outcome::Unfinished, None) };
        assert_eq!((outcomes(&taken)[0], seen_ms(&taken[0])), expected);
    }
}

#[test]
fn two_keys_before_one_output_are_one() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(input(100, "a"));
    tracker.put_in(input(101, "b"));
    tracker.put_in(input(102, "c"));
    tracker.seen(&got(110 * MS, 7, 2));
    tracker.seen(&wrote(111 * MS, 7));
    tracker.seen(&got(112 * MS, 7, 1));
    tracker.seen(&waits(109 * MS, 113 * MS, 7, None));
    let taken = tracker.finish(500 * MS);
    assert_eq!(outcomes(&taken), [Outcome::Merged, Outcome::Seen, Outcome::Unanswered]);
    assert_eq!((taken[0].row.merged_into, seen_ms(&taken[0]), seen_ms(&taken[1])), (Some(1), None, Some(111)));
}

#[test]
fn keys_that_are_taken_one_by_one_without_a_pause_are_one_too() {
    let mut tracker = Tracker::new(true);
    for number in 0..3 {
        tracker.put_in(input(100 + number, "a"));
    }
    (0..3).for_each(|number| tracker.seen(&got((110 + number) * MS, 7, 1)));
    tracker.seen(&wrote(114 * MS, 7));
    tracker.seen(&waits(113 * MS, 115 * MS, 7, None));
    let taken = tracker.finish(500 * MS);
    assert_eq!(outcomes(&taken), [Outcome::Merged, Outcome::Merged, Outcome::Seen]);
    assert_eq!([taken[0].row.merged_into, taken[1].row.merged_into], [Some(1), Some(2)]);
}

#[test]
fn whoever_was_asked_may_put_it_out_and_nobody_else() {
    let run = |wakings: &[Seen], writer: u32| {
        let mut tracker = Tracker::new(true);
        tracker.put_in(input(100, "a"));
        tracker.seen(&got(101 * MS, 7, 1));
        wakings.iter().for_each(|waking| tracker.seen(waking));
        tracker.seen(&wrote(120 * MS, writer));
        tracker.seen(&waits(119 * MS, 121 * MS, 7, None));
        let taken = tracker.finish(500 * MS);
        (seen_ms(&taken[0]), tracker.background_outputs())
    };
    let there = |waking: Seen| waking.among(true, true, false);
    // A thread beside it that nobody woke: a clock.
    assert_eq!(run(&[], 8), (None, 1));
    assert_eq!(run(&[there(woke(110 * MS, 7, 8))], 8), (Some(120), 0));
    assert_eq!(run(&[there(woke(110 * MS, 9, 8))], 8), (None, 1));
    // While the thread ran, a timer's interrupt woke it, not the thread.
    assert_eq!(run(&[woke(110 * MS, 7, 8).among(true, true, true)], 8), (None, 1));
    // Through a server outside, after the thread has gone back to waiting for input.
    let by_server = [
        woke(104 * MS, 7, 50).among(true, false, false),
        waits(101 * MS, 105 * MS, 7, None),
        woke(119 * MS, 50, 7).among(false, true, false),
    ];
    assert_eq!(run(&by_server, 7), (Some(120), 0));
    assert_eq!(run(&by_server[1..], 7), (None, 1));
    // The kernel's worker that hands on the output also hands on the next key.
    let mut by_worker = by_server.clone();
    by_worker[0] = by_worker[0].clone().of_kernels();
    assert_eq!(run(&by_worker, 7), (None, 1));
}

#[test]
fn the_start_ends_when_the_program_waits_for_input_for_a_while() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(Input { is_start: true, kind: "start".to_owned(), bytes: 0, ..input(10, "vim") });
    tracker.seen(&Seen::invented(15 * MS, Moment::Became, 7));
    tracker.seen(&wrote(30 * MS, 7));
    // In between it waits for an answer from the terminal.
    tracker.seen(&waits(15 * MS, 31 * MS, 7, Some(60 * MS)));
    tracker.seen(&wrote(62 * MS, 7));
    tracker.seen(&waits(60 * MS, 63 * MS, 7, Some(563 * MS)));
    tracker.put_in(input(450, "a"));
    let done = tracker.take_done(451 * MS);
    assert_eq!(done.len(), 1);
    let row = &done[0].row;
    assert_eq!((row.begin_ns, seen_ms(&done[0]), row.blocked_ns), (15 * MS, Some(62), Some(63 * MS)));
    // The cursor blinks before the key is taken.
    tracker.seen(&wrote(460 * MS, 7));
    tracker.seen(&got(470 * MS, 7, 1));
    tracker.seen(&wrote(471 * MS, 7));
    tracker.seen(&waits(470 * MS, 472 * MS, 7, None));
    assert_eq!(tracker.background_outputs(), 1);
    assert_eq!(seen_ms(&tracker.finish(700 * MS)[0]), Some(471));
}

#[test]
fn a_key_of_several_bytes_is_at_work_from_the_first_and_taken_with_the_last() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(Input { bytes: 4, ..input(100, "page-down") });
    for (at, bytes) in [(101, 1), (103, 3)] {
        tracker.seen(&got(at * MS, 7, bytes));
        tracker.seen(&wrote((at + 1) * MS, 7));
    }
    tracker.seen(&waits(104 * MS, 105 * MS, 7, None));
    let taken = tracker.finish(300 * MS);
    assert_eq!((taken[0].row.got_ns, seen_ms(&taken[0])), (Some(103 * MS), Some(104)));
    assert_eq!((tracker.background_outputs(), taken[0].row.output_bytes), (0, 6));
}

#[test]
fn a_signal_is_the_terminals_and_its_bytes_are_never_got() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(Input { is_signal: true, ..input(100, "ctrl-c") });
    tracker.seen(&wrote(101 * MS, 7));
    tracker.put_in(input(200, "a"));
    tracker.seen(&got(201 * MS, 7, 1));
    tracker.seen(&wrote(202 * MS, 7));
    tracker.seen(&waits(201 * MS, 203 * MS, 7, None));
    let taken = tracker.finish(300 * MS);
    assert_eq!(outcomes(&taken), [Outcome::ByTerminal, Outcome::Seen]);
    assert_eq!((seen_ms(&taken[1]), tracker.background_outputs()), (Some(202), 1));
}

#[test]
fn what_was_thrown_away_shifts_nothing() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(input(100, "a"));
    // Flushed: much later the thread waits with nothing queued, and never got it.
    tracker.seen(&waits(100 * MS, 150 * MS, 7, None));
    tracker.seen(&waits(240 * MS, 250 * MS, 7, None));
    tracker.put_in(input(300, "b"));
    tracker.seen(&got(301 * MS, 7, 1));
    tracker.seen(&wrote(302 * MS, 7));
    tracker.seen(&waits(301 * MS, 303 * MS, 7, None));
    let taken = tracker.finish(500 * MS);
    assert_eq!(outcomes(&taken), [Outcome::Unread, Outcome::Seen]);
    assert_eq!(seen_ms(&taken[1]), Some(302));
}

#[test]
fn without_threads_the_output_alone_tells() {
    let mut tracker = Tracker::new(false);
    tracker.put_in(input(100, "a"));
    tracker.arrived(101 * MS, 1);
    tracker.arrived(140 * MS, 1);
    // After a silence: perhaps a cursor.
    tracker.arrived(240 * MS, 1);
    tracker.put_in(input(300, "b"));
    tracker.put_in(input(310, "c"));
    tracker.arrived(311 * MS, 2);
    tracker.put_in(input(600, "d"));
    tracker.put_in(Input { is_for_terminal: true, ..input(900, "e") });
    tracker.arrived(901 * MS, 1);
    let taken = tracker.finish(1_000 * MS);
    use Outcome::{ByTerminal, Merged, Seen, Unanswered};
    assert_eq!(outcomes(&taken), [Seen, Merged, Seen, Unanswered, ByTerminal]);
    assert_eq!([seen_ms(&taken[0]), seen_ms(&taken[2]), seen_ms(&taken[4])], [Some(140), Some(311), None]);
    assert_eq!((taken[1].row.merged_into, taken[4].row.arrived_ns), (Some(2), Some(901 * MS)));
    assert_eq!((taken[0].row.got_ns, taken[0].row.think_1996_ns), (None, None));
}

proptest! {
    /// Whatever a program does, every input has an end, in order, and none is seen before it was put in.
    #[test]
    fn every_input_comes_out_once(steps in prop::collection::vec((0..7u8, 1..60u64, 5..12u32, any::<bool>()), 1..200)) {
        let mut tracker = Tracker::new(true);
        let (mut now, mut put_in, mut taken) = (100 * MS, 0, Vec::new());
        for (what, later, tid, flag) in steps {
            now += later * MS / 2;
            match what {
                0 | 1 => {
                    tracker.put_in(Input { begin_ns: now, injected_ns: now + 1_000, ..input(0, "x") });
                    put_in += 1;
                }
                2 => tracker.seen(&got(now, tid, 1 + u64::from(flag))),
                3 => tracker.seen(&wrote(now, tid)),
                4 => tracker.seen(&woke(now, tid, tid + 1).among(flag, true, false)),
                5 => tracker.seen(&waits(now - MS / 4, now, tid, flag.then_some(now + 9 * MS))),
                _ => tracker.seen(&ran(now - MS / 4, now, tid).sleeping(false, flag)),
            }
            tracker.arrived(now + 1, 1);
            taken.extend(tracker.take_done(now));
        }
        taken.extend(tracker.finish(now + MS));
        prop_assert_eq!(taken.len(), put_in);
        let mut told = 0;
        for (number, taken) in taken.iter().enumerate() {
            let row = &taken.row;
            prop_assert_eq!(row.number as usize, number);
            prop_assert!(row.outcome.is_some());
            for end in [row.got_ns, row.seen_ns, row.blocked_ns] {
                prop_assert!(end.is_none_or(|end| end >= row.begin_ns), "{row:?}");
            }
            prop_assert_eq!(row.outcome == Some(Outcome::Seen), row.seen_ns.is_some());
            let latency = row.latency_ns();
            prop_assert!(row.think_1996_ns.is_none_or(|think| think <= latency.unwrap_or(0)));
            // The machine's stretches lie between this input and the next one, in order; up to when it was seen, they
            // are what it does not call thinking.
            let Some(waits) = &taken.waits_1996 else { continue };
            told += 1;
            prop_assert!(waits.iter().all(|(from, to)| row.begin_ns <= *from && from < to && *to <= row.end_ns), "{taken:?}");
            prop_assert!(waits.windows(2).all(|pair| pair[0].1 < pair[1].0), "{taken:?}");
            if let (Some(seen_ns), Some(think_ns)) = (row.seen_ns.filter(|seen| *seen <= row.end_ns), row.think_1996_ns) {
                let waited: u64 = waits.iter().map(|(from, to)| to.min(&seen_ns).saturating_sub(*from)).sum();
                prop_assert_eq!(waited + think_ns, seen_ns - row.begin_ns, "{:?}", taken);
            }
        }
        prop_assert!(told >= put_in.min(1), "{told} of {put_in}");
    }
}
