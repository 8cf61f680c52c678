//! Outputs of unknown cause, event by event.

use super::display_tests::Then::{self, Drawn, Handed, KernelWakes, Sleeps, Tells, TimerWakes, Waits};
use super::display_tests::{PROGRAM, SHELL, key, play};
use super::tests::{MS, got, input, outcomes, ran, seen_ms, waits, woke, wrote};
use super::*;
use punctual_recording::Outcome;

/// The inputs as they are written down, with what is doubted of them, ms after each.
fn written(mut tracker: Tracker, end_ms: u64) -> Vec<(Option<Outcome>, Option<u64>)> {
    let taken = tracker.finish(end_ms * MS);
    let doubts = tracker.take_doubts();
    let rows = taken.into_iter().map(|Taken { mut row, .. }| {
        doubts.iter().for_each(|doubt| doubt.note(&mut row));
        (row.outcome, row.perhaps_after_ns().map(|ns| ns / MS))
    });
    rows.collect()
}

/// A key is typed, taken, and nothing else is queued.
fn types(tracker: &mut Tracker, at_ms: u64, limit_ms: Option<u64>) {
    tracker.put_in(input(at_ms, "a"));
    tracker.seen(&got(at_ms * MS + MS / 2, 7, 1));
    tracker.seen(&waits(at_ms * MS, (at_ms + 1) * MS, 7, limit_ms.map(|ms| ms * MS)));
}

#[test]
fn what_a_signal_puts_out_may_be_an_answer() {
    let mut tracker = Tracker::new(true);
    types(&mut tracker, 100, None);
    tracker.seen(&woke(140 * MS, 0, 7).among(false, true, true));
    tracker.seen(&wrote(141 * MS, 7));
    tracker.seen(&waits(140 * MS, 142 * MS, 7, None));
    types(&mut tracker, 300, None);
    assert_eq!(written(tracker, 900), [(Some(Outcome::Unsure), Some(41)), (Some(Outcome::Unanswered), None)]);
}

/// A timer that each key sets anew is no cursor's for certain, and no key's either.
#[test]
fn a_timer_that_keys_put_off_may_be_the_last_ones() {
    let mut tracker = Tracker::new(true);
    for at in [100, 160, 220] {
        tracker.put_in(input(at, "a"));
        tracker.seen(&got(at * MS + MS / 4, 7, 1));
        tracker.seen(&wrote(at * MS + MS / 2, 7));
        tracker.seen(&waits(at * MS, (at + 1) * MS, 7, Some((at + 100) * MS)));
    }
    tracker.seen(&wrote(323 * MS, 7));
    tracker.seen(&waits(320 * MS, 324 * MS, 7, None));
    let told = written(tracker, 900);
    assert_eq!(told[1..], [(Some(Outcome::Seen), None), (Some(Outcome::Seen), Some(103))]);
}

#[test]
fn what_would_have_come_anyway_is_no_answer() {
    // A timer that was set before the key, and what follows from it.
    let mut tracker = Tracker::new(true);
    tracker.seen(&waits(50 * MS, 51 * MS, 7, Some(150 * MS)));
    types(&mut tracker, 100, Some(150));
    for at in [150, 250] {
        tracker.seen(&wrote(at * MS + 1, 7));
        tracker.seen(&waits(at * MS, (at + 1) * MS, 7, Some((at + 100) * MS)));
    }
    assert_eq!(written(tracker, 900), [(Some(Outcome::Unanswered), None)]);
    // A clock, which has struck before.
    let mut tracker = Tracker::new(true);
    tracker.put_in(Input { is_start: true, kind: "start".to_owned(), bytes: 0, ..input(10, "top") });
    for at in [20, 40, 60, 80] {
        tracker.seen(&wrote(at * MS, 9));
        tracker.seen(&ran(at * MS, at * MS + 1, 9).sleeping(false, false));
    }
    types(&mut tracker, 100, None);
    tracker.seen(&wrote(120 * MS, 9));
    assert_eq!(written(tracker, 900)[1], (Some(Outcome::Unanswered), None));
}

/// A worker answers after the next key: for whom, nobody can tell.
#[test]
fn whoever_still_works_for_an_earlier_key_may_answer_it() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(input(100, "a"));
    tracker.seen(&got(101 * MS, 7, 1));
    tracker.seen(&wrote(101 * MS + 1, 7));
    tracker.seen(&woke(102 * MS, 7, 8).among(true, true, false));
    tracker.seen(&waits(101 * MS, 103 * MS, 7, None));
    types(&mut tracker, 150, None);
    tracker.seen(&wrote(230 * MS, 8));
    assert_eq!(written(tracker, 900), [(Some(Outcome::Seen), Some(130)), (Some(Outcome::Unsure), Some(80))]);
}

/// A server has the terminal's descriptor, and takes and answers the keys without anybody at the terminal.
#[test]
fn what_arrives_though_nobody_wrote_it_may_be_an_answer() {
    for is_taken in [false, true] {
        let mut tracker = Tracker::new(true);
        if is_taken {
            types(&mut tracker, 100, None);
        } else {
            tracker.put_in(input(100, "a"));
        }
        tracker.arrived(120 * MS, 1);
        tracker.put_in(input(300, "b"));
        assert_eq!(written(tracker, 900), [(Some(Outcome::Unsure), Some(20)), (Some(Outcome::Unread), None)]);
    }
}

/// `script`, and whatever else has a terminal of its own for the program in it.
#[test]
fn what_the_kernels_worker_brings_back_is_an_answer() {
    let mut tracker = Tracker::new(true);
    for (at, comes_next) in [(100, false), (300, true)] {
        tracker.put_in(input(at, "a"));
        tracker.seen(&got((at + 1) * MS, 7, 1));
        tracker.seen(&woke((at + 2) * MS, 7, 50).among(true, false, false).of_kernels());
        tracker.seen(&waits(at * MS, (at + 3) * MS, 7, None));
        if comes_next {
            tracker.put_in(Input { is_signal: true, ..input(at + 20, "ctrl-c") });
        }
        tracker.seen(&woke((at + 30) * MS, 50, 7).among(false, true, false).by_kernels());
        tracker.seen(&wrote((at + 31) * MS, 7));
        tracker.seen(&waits((at + 30) * MS, (at + 32) * MS, 7, None));
    }
    let taken = tracker.finish(900 * MS);
    assert_eq!(seen_ms(&taken[0]), Some(131));
    // What comes after a further input may be that one's.
    assert_eq!((seen_ms(&taken[1]), outcomes(&taken)[2]), (None, Outcome::ByTerminal));
}

/// A game draws between its sleeps, and looks for keys then.
#[test]
fn a_program_that_never_waits_for_input_is_through_when_it_sleeps_again() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(Input { is_start: true, kind: "start".to_owned(), bytes: 0, ..input(10, "game") });
    let frame = |tracker: &mut Tracker, at: u64| {
        tracker.seen(&wrote((at + 2) * MS, 7));
        tracker.seen(&ran(at * MS, (at + 3) * MS, 7).sleeping(false, false));
    };
    (0..9).for_each(|number| frame(&mut tracker, 20 + number * 50));
    tracker.never_starts();
    tracker.put_in(input(480, "a"));
    tracker.seen(&got(501 * MS, 7, 1));
    (0..9).for_each(|number| frame(&mut tracker, 502 + number * 50));
    assert!(!tracker.is_under_way());
    let taken = tracker.finish(2_000 * MS);
    assert_eq!(outcomes(&taken), [Outcome::Unfinished, Outcome::Seen]);
    assert_eq!((seen_ms(&taken[1]), tracker.take_doubts()), (Some(504), vec![]));
}

#[test]
fn keys_that_were_thrown_away_shift_nothing_however_late() {
    let mut tracker = Tracker::new(true);
    // The program throws away what was typed before 960 ms: the last key of it came 60 ms before.
    for at in [700, 900] {
        tracker.put_in(Input { is_for_terminal: true, ..input(at, "x") });
    }
    tracker.seen(&waits(950 * MS, 960 * MS, 7, None));
    for at in [1_050, 1_200] {
        tracker.put_in(input(at, "a"));
        tracker.seen(&got((at + 1) * MS, 7, 1));
        tracker.seen(&wrote((at + 2) * MS, 7));
        tracker.seen(&waits((at + 1) * MS, (at + 3) * MS, 7, None));
    }
    let taken = tracker.finish(2_000 * MS);
    use Outcome::{ByTerminal, Seen};
    assert_eq!(outcomes(&taken), [ByTerminal, ByTerminal, Seen, Seen]);
    assert_eq!([2, 3].map(|at: usize| seen_ms(&taken[at])), [Some(1_052), Some(1_202)]);
}

#[test]
fn what_was_typed_ahead_and_read_later_is_the_programs() {
    let mut tracker = Tracker::new(true);
    tracker.put_in(Input { is_for_terminal: true, ..input(100, "a") });
    tracker.seen(&got(900 * MS, 7, 1));
    tracker.seen(&wrote(901 * MS, 7));
    tracker.seen(&waits(900 * MS, 902 * MS, 7, None));
    let taken = tracker.finish(2_000 * MS);
    assert_eq!((outcomes(&taken)[0], seen_ms(&taken[0])), (Outcome::Seen, Some(901)));
}

/// A thread is moved to another CPU; a child ends, and nobody sees it leave its CPU.
#[test]
fn work_that_goes_on_elsewhere_is_no_thinking() {
    let thinks_ms = |then: &[Seen]| {
        let mut tracker = Tracker::new(true);
        tracker.put_in(input(100, "a"));
        tracker.seen(&got(101 * MS, 7, 1));
        then.iter().for_each(|seen| tracker.seen(seen));
        let row = tracker.finish(500 * MS).remove(0).row;
        (row.think_1996_ns.map(|ns| ns / MS), row.busy_ns.map(|ns| ns / MS))
    };
    let mut moves = woke(104 * MS, 30, 7).among(false, true, false).by_kernels();
    moves.name = "migration/0".to_owned();
    let stays = ran(101 * MS, 103 * MS, 7).sleeping(false, false);
    let goes_on = [wrote(115 * MS, 7), waits(105 * MS, 116 * MS, 7, None)];
    assert_eq!(thinks_ms(&[&[stays.clone(), moves.clone()], &goes_on[..]].concat()), (Some(0), Some(116)));
    moves.name = "kworker/0:1".to_owned();
    assert_eq!(thinks_ms(&[&[stays, moves], &goes_on[..]].concat()).0, Some(12));
    let child = [woke(102 * MS, 7, 8).among(true, true, false), waits(101 * MS, 103 * MS, 7, None), wrote(117 * MS, 8)];
    assert_eq!(thinks_ms(&child).0, Some(0));
}

/// Of a child that is reaped at once nobody sees the end: the kernel is asked.
#[test]
fn whoever_has_ended_keeps_no_cpu_busy() {
    for has_ended in [false, true] {
        let mut tracker = Tracker::new(true);
        tracker.put_in(input(100, "a"));
        tracker.seen(&got(101 * MS, 7, 1));
        tracker.seen(&woke(102 * MS, 7, 8).among(true, true, false));
        tracker.seen(&wrote(103 * MS, 8));
        tracker.seen(&waits(101 * MS, 104 * MS, 7, None));
        tracker.forget(|tid| has_ended && tid == 8);
        types(&mut tracker, 300, None);
        let busy = tracker.finish(900 * MS)[0].row.busy_ns.map(|ns| ns / MS);
        assert_eq!(busy, has_ended.then_some(104), "nobody knows how long one works that nobody saw leave its CPU");
    }
}

/// A child sleeps for a disk, and ends before it sleeps again.
#[test]
fn a_disk_that_has_answered_is_waited_for_no_more() {
    let mut tracker = Tracker::new(true);
    types(&mut tracker, 100, None);
    tracker.seen(&ran(104 * MS, 105 * MS, 8).sleeping(false, true));
    tracker.seen(&woke(110 * MS, 0, 8).among(false, true, true));
    types(&mut tracker, 500, None);
    let taken = tracker.finish(900 * MS);
    let waited: u64 = taken[0].waits_1996.iter().flatten().map(|(from, to)| to - from).sum();
    assert!(waited < 15 * MS, "{:?}", taken[0].waits_1996);
}

/// Tk's first thread waits for another one, which gets the input, or for a timer of its own: its cursor's.
#[test]
fn what_a_sleeping_thread_draws_by_a_timer_after_the_key_was_seen_is_its_own() {
    let draws = |at: u64| [TimerWakes(at, PROGRAM), Handed(at + 1, PROGRAM), Drawn(at + 2), Sleeps(at + 3, PROGRAM)];
    // The key's answer comes at once, or by the timer.
    let at_once = [Handed(103, PROGRAM), Drawn(104), Sleeps(105, PROGRAM)];
    let (taken, background) = play(&[&key(100)[..], &at_once, &draws(400)].concat());
    assert_eq!((seen_ms(&taken[0]), background), (Some(104), 1));
    assert_eq!(outcomes(&taken), [Outcome::Seen], "nobody works on it any more");
    let later = [Sleeps(105, PROGRAM)];
    assert_eq!(seen_ms(&play(&[&key(100)[..], &later, &draws(400)].concat()).0[0]), Some(402));
}

/// A program in a terminal emulator draws every 50 ms, before the key, too: that is no answer, though it comes the same way.
#[test]
fn what_ticks_in_a_terminal_emulator_is_no_answer() {
    let ticks = |from: u64, times: u64| -> Vec<Then> {
        let tick = |number: u64| {
            let at = from + number * 50;
            let limit = Some(at + 52);
            [
                TimerWakes(at, SHELL),
                Tells(at + 1, SHELL),
                Waits(at + 2, SHELL, limit),
                KernelWakes(at + 3, PROGRAM),
                Handed(at + 4, PROGRAM),
                Drawn(at + 5),
                Waits(at + 6, PROGRAM, None),
            ]
        };
        (0..times).flat_map(tick).collect()
    };
    let answer = [
        Tells(303, PROGRAM),
        Waits(304, PROGRAM, None),
        KernelWakes(305, SHELL),
        Tells(306, SHELL),
        Waits(307, SHELL, Some(357)),
        KernelWakes(308, PROGRAM),
        Handed(309, PROGRAM),
        Drawn(310),
        Waits(311, PROGRAM, None),
    ];
    let before = [&key(10)[..], &[Waits(13, PROGRAM, None)], &ticks(20, 6)].concat();
    let (taken, _) = play(&[&before[..], &key(300), &answer, &ticks(357, 3)].concat());
    assert_eq!(seen_ms(&taken[1]), Some(310));
}
