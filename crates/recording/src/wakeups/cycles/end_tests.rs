//! What is not known of a loop before it was first seen and after it was last seen to go on, and who wakes it meanwhile.

use super::tests::{MS, wakeup};
use super::*;

/// A loop of 1 ms that was seen until 30 ms, in a recording of 40: its last cycle may have gone on, unless its thread ended.
#[test]
fn a_loop_that_is_seen_no_more_before_the_recording_ends_may_be_in_a_cycle() {
    let silent_ms = |last_work: Option<u64>, ended_ns: u64, thread_ended_ns: Option<u64>| {
        let mut cycles = Cycles::new(MS);
        for number in 0..30 {
            let work = if number < 29 { Some(200_000) } else { last_work };
            cycles.take(&wakeup(MS + number * MS, work), true);
        }
        cycles.within(MS / 2, ended_ns);
        thread_ended_ns.iter().for_each(|ended_ns| cycles.end(7, *ended_ns));
        let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
        assert_eq!(count.overrun_count().may_be_more, count.silent_ns > 0);
        count.silent_ns / MS
    };
    let short = Some(200_000);
    assert_eq!(silent_ms(short, 40 * MS, None), 10);
    // It was still at work, or kept from its CPU.
    assert_eq!(silent_ms(None, 40 * MS, None), 10);
    assert_eq!(silent_ms(short, 32 * MS, None), 0, "two periods");
    assert_eq!(silent_ms(short, 40 * MS, Some(31 * MS)), 0, "it ended");
    assert_eq!(silent_ms(short, 40 * MS, Some(36 * MS)), 6, "it was killed as it waited");
    assert_eq!(silent_ms(short, 40 * MS, Some(0)), 0, "it took another name");
    assert_eq!(silent_ms(short, 0, None), 0, "when the recording ended is not known");
}

/// A loop of 1 ms that is first seen 20 ms after the recording began: it may have been in a cycle by then, unless the recording started it.
#[test]
fn a_loop_that_is_first_seen_after_some_periods_may_have_been_in_a_cycle() {
    let late_ms = |began_ns: u64, started: bool| {
        let mut cycles = Cycles::new(MS);
        (0..30).for_each(|number| cycles.take(&wakeup(21 * MS + number * MS, Some(200_000)), true));
        cycles.within(began_ns, 51 * MS);
        if started {
            cycles.started();
        }
        let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
        assert_eq!(count.is_partly_seen(), count.late_seen_ns > 0);
        count.late_seen_ns / MS
    };
    assert_eq!(late_ms(MS, false), 20);
    assert_eq!(late_ms(19 * MS, false), 0, "two periods");
    assert_eq!(late_ms(MS, true), 0, "the recording started it");
    assert_eq!(late_ms(0, false), 0, "when the recording began is not known");
}

/// Another thread wakes a loop of timers again and again that hangs as the recording begins: it is not seen to go on.
#[test]
fn a_loop_that_others_wake_as_it_is_first_seen_may_have_been_in_a_cycle() {
    let mut cases = 0;
    for (poke_us, waker, on_grid, expected) in [
        (1_000, Woken::Other, true, true),
        (200, Woken::Other, true, true),
        (5_000, Woken::Other, true, true),
        // Nothing is counted of one whose polls time out within the cycle.
        (1_390, Woken::Timer, true, true),
        (5_000, Woken::Other, false, true),
        // It is seen to go on all the time.
        (1_000, Woken::Timer, true, false),
    ] {
        let mut cycles = Cycles::new(MS);
        let until_us = 40_000;
        (1_000..until_us).step_by(poke_us).for_each(|due_us| {
            cycles.take_woken(&wakeup(due_us * 1_000, Some(20_000)), waker);
        });
        (0..60u64).for_each(|number| {
            let drift_ns = if on_grid { 0 } else { number * 40_000 };
            cycles.take_woken(&wakeup(until_us * 1_000 + number * MS + drift_ns, Some(200_000)), Woken::Timer);
        });
        cycles.within(MS / 2, 101 * MS);
        let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
        assert_eq!(count.late_seen_ns + count.untold > 0, expected, "{poke_us} {waker:?} {on_grid}: {count:?}");
        cases += 1;
    }
    assert_eq!(cases, 6);
}

/// A loop of 1 ms with cycles from 1 to 30 ms, before the wakeups that are given, and the thread's end, ns: what was counted by 100 ms.
fn with_an_end(woken: Woken, others: &[(u64, u64, Woken)], ended_ns: Option<u64>) -> CycleCount {
    let mut cycles = Cycles::new(MS);
    (1..=30).for_each(|number| cycles.take_woken(&wakeup(number * MS, Some(200_000)), woken));
    for (due_ns, work_ns, woken) in others {
        cycles.take_woken(&wakeup(*due_ns, Some(*work_ns)), *woken);
    }
    cycles.within(MS / 2, 100 * MS);
    ended_ns.iter().for_each(|ended_ns| cycles.end(7, *ended_ns));
    cycles.finish(|_| 0).next().unwrap().1
}

#[test]
fn a_thread_that_is_woken_only_to_end_was_not_seen_to_have_done_its_cycle() {
    let silent_ms = |woken: Woken, others: &[(u64, u64, Woken)], ended_ns: u64| {
        with_an_end(woken, others, Some(ended_ns)).silent_ns / MS
    };
    let killed = (80 * MS, 50_000, Woken::Other);
    for woken in [Woken::Timer, Woken::Signal, Woken::Other] {
        assert_eq!(silent_ms(woken, &[killed], 80_150_000), 50, "{woken:?}: killed as it waited");
        assert_eq!(silent_ms(woken, &[(31 * MS, 50_000, Woken::Other)], 31_150_000), 0, "{woken:?}: killed at once");
        assert_eq!(silent_ms(woken, &[killed], 0), 0, "{woken:?}: it took another name");
        let goes_on: Vec<_> = [killed].into_iter().chain((81..90).map(|ms| (ms * MS, 200_000, woken))).collect();
        assert_eq!(silent_ms(woken, &goes_on, 89_300_000), 0, "{woken:?}: its loop went on");
    }
    // Its end waits for others.
    let twice = [killed, (84 * MS, 50_000, Woken::Other)];
    assert_eq!(silent_ms(Woken::Timer, &twice, 84_150_000), 54);
    // A sleep of its own until a point of its grid, after which it ends as it meant to.
    assert_eq!(silent_ms(Woken::Timer, &[(80 * MS, 50_000, Woken::Timer)], 80_150_000), 0);
    let count = with_an_end(Woken::Timer, &[killed], Some(80_150_000));
    assert!(count.overrun_count().may_be_more && count.hidden_overruns().is_none(), "{count:?}");
}

#[test]
fn a_thread_that_ends_after_a_long_sleep_was_not_seen_to_have_done_its_cycle() {
    let silent_ms = |woken: Woken, others: &[(u64, Woken)], ended_ns: Option<u64>| {
        let others: Vec<_> = others.iter().map(|(due_us, woken)| (due_us * 1_000, 50_000, *woken)).collect();
        let count = with_an_end(woken, &others, ended_ns);
        assert_eq!(count.unended_ns, if ended_ns.is_none() { count.silent_ns } else { 0 }, "{count:?}");
        (count.silent_ns / MS, count.own_cycles())
    };
    for woken in [Woken::Timer, Woken::Other] {
        // A time-out of its own ends the sleep within its last cycle, off the grid.
        let timed_out = [(80_300, Woken::Timer)];
        assert_eq!(silent_ms(woken, &timed_out, Some(80_450_000)).0, 50, "{woken:?}");
        assert_eq!(silent_ms(woken, &timed_out, None).0, 70, "{woken:?}: it does not end");
        // It is killed, and a handler sleeps before it ends.
        let handled = [(70_300, Woken::Other), (80_400, Woken::Timer)];
        assert_eq!(silent_ms(woken, &handled, Some(80_550_000)).0, 50, "{woken:?}");
        // It waits again and again until it is killed: none of these wakeups is certain to begin a cycle.
        let tries = [40_300, 50_410, 60_520, 70_630].map(|due_us| (due_us, Woken::Timer));
        let (silent, cycles) = silent_ms(woken, &tries, Some(75 * MS));
        assert!(silent == 45 && cycles <= 30, "{woken:?}: {silent} {cycles}");
        assert_eq!(silent_ms(woken, &tries, None).0, 70, "{woken:?}: it goes on until the recording ends");
        // Its loop goes on.
        let goes_on: Vec<_> = tries.into_iter().chain((75..90).map(|ms| (ms * 1_000, woken))).collect();
        assert_eq!(silent_ms(woken, &goes_on, Some(89_300_000)).0, 0, "{woken:?}");
    }
    // Naps of two periods, none of which is long; and of one and a half, which are off every grid.
    for nap_us in [2_000, 1_470] {
        let naps: Vec<_> = (1..=9).map(|number| (30_150 + number * (nap_us + 150), Woken::Timer)).collect();
        let ended_us = 30_150 + 9 * (nap_us + 150) + 150;
        let (silent, cycles) = silent_ms(Woken::Timer, &naps, Some(ended_us * 1_000));
        assert!(silent == (ended_us - 30_000) / 1_000 && cycles <= 31, "{nap_us}: {silent} {cycles}");
    }
    // On another grid, as a loop that starts over has it.
    let over: Vec<_> = (0..5).map(|number| (80_300 + number * 1_000, Woken::Timer)).collect();
    assert_eq!(silent_ms(Woken::Timer, &over, Some(84_450_000)).0, 0);
    assert_eq!(silent_ms(Woken::Timer, &over[..3], Some(82_450_000)).0, 52, "too few tell");
}

/// A loop of 1 ms that works when the recording ends, at 40 ms.
#[test]
fn of_a_cycle_that_goes_on_as_the_recording_ends_it_is_not_known_how_long_it_takes() {
    let of = |work_ns: u64, thread_ended_ns: Option<u64>| {
        let mut cycles = Cycles::new(MS);
        (1..=30).for_each(|number| cycles.take(&wakeup(number * MS, Some(200_000)), true));
        cycles.take(&wakeup(31 * MS, Some(work_ns)), true);
        cycles.within(MS / 2, 40 * MS);
        thread_ended_ns.iter().for_each(|ended_ns| cycles.end(7, *ended_ns));
        let count = cycles.finish(|_| 0).next().unwrap().1;
        (count.unended_ns, count.ending_missed)
    };
    // If it had worked off others since, one more was due.
    assert_eq!(of(8_900_000, None), (9 * MS, 1));
    assert_eq!(of(8_000_000, None), (0, 0), "it slept before that");
    assert_eq!(of(8_900_000, Some(40 * MS)).0, 0, "its thread ended");
}

#[test]
fn a_handler_of_a_signal_may_have_run_within_a_cycle() {
    let signals =
        |from: u64, until: u64| -> Vec<_> { (from..until).map(|ms| (ms * MS, 20_000, Woken::Signal)).collect() };
    let signalled_ms = |woken: Woken, others: &[(u64, u64, Woken)], ended_ns: Option<u64>| {
        let count = with_an_end(woken, others, ended_ns);
        assert_eq!(count.is_partly_seen(), count.signalled_ns.max(count.silent_ns) > 0, "{count:?}");
        count.signalled_ns / MS
    };
    assert_eq!(signalled_ms(Woken::Timer, &signals(31, 100), None), 69, "until the recording ended");
    // Off its grid each of them looks like a cycle, and none is certain to be one.
    let beside: Vec<_> =
        signals(31, 100).into_iter().map(|(due_ns, work, woken)| (due_ns + 300_000, work, woken)).collect();
    let count = with_an_end(Woken::Timer, &beside, None);
    assert!(count.cycles > 90 && count.own_cycles() <= 30 && count.overrun_count().may_be_more_cycles, "{count:?}");
    assert_eq!(signalled_ms(Woken::Timer, &signals(31, 60), Some(60_120_000)), 29, "until its thread did");
    let timers = (60..100).map(|ms| (ms * MS, 200_000, Woken::Timer));
    let goes_on: Vec<_> = signals(31, 60).into_iter().chain(timers.clone()).collect();
    assert_eq!(signalled_ms(Woken::Timer, &goes_on, None), 29, "until its own timers woke it again");
    // A signal now and then, beside its own timers; and one of a loop that waits for these signals.
    let seldom: Vec<_> = [(30_500_000, 20_000, Woken::Signal)]
        .into_iter()
        .chain((31..100).map(|ms| (ms * MS, 200_000, Woken::Timer)))
        .collect();
    assert_eq!(signalled_ms(Woken::Timer, &seldom, None), 0);
    assert_eq!(signalled_ms(Woken::Signal, &signals(31, 100), None), 0);
    // One that sleeps on its way in a few of its cycles.
    let mut sleeps = signals(31, 100);
    sleeps.splice(20..20, [(50_500_000, 20_000, Woken::Timer)]);
    assert_eq!(signalled_ms(Woken::Signal, &sleeps, None), 0);
}

#[test]
fn what_wakes_a_loop_that_waits_for_its_timers_does_not_show_that_it_goes_on() {
    // Messages, broadcasts or signals of other threads, as often as its timers woke it before.
    let woken = |from: u64, until: u64, woken: Woken| (from..until).map(move |ms| (ms * MS, 20_000, woken));
    for other in [Woken::Other, Woken::Device] {
        let hangs: Vec<_> = woken(31, 55, other).collect();
        let count = with_an_end(Woken::Timer, &hangs, None);
        assert_eq!((count.silent_ns / MS, count.unended_ns / MS), (70, 70), "{other:?}: {count:?}");
        assert!(count.own_cycles() <= 30 && count.is_partly_seen(), "{other:?}: {count:?}");
        let goes_on: Vec<_> = hangs.into_iter().chain(woken(55, 100, Woken::Timer)).collect();
        let count = with_an_end(Woken::Timer, &goes_on, None);
        // What came meanwhile is part of a stretch that may be one cycle.
        assert_eq!((count.silent_ns, count.longest_ns / MS), (0, 24), "{other:?}: {count:?}");
    }
    let once = with_an_end(Woken::Timer, &woken(31, 32, Woken::Other).collect::<Vec<_>>(), Some(32 * MS));
    assert_eq!(once.silent_ns, 0, "{once:?}");
}

/// A loop of 1 ms that one thread wakes forty times, another one so many times, and the first twenty times again.
fn with_other_wakers(others: u64, goes_on: bool) -> CycleCount {
    let mut cycles = Cycles::new(MS);
    let last = 40 + others + if goes_on { 20 } else { 0 };
    for number in 1..=last {
        let by = u32::from((41..=40 + others).contains(&number));
        let wakeup = Wakeup { woken_by: Some(by), ..wakeup(number * MS, Some(100_000)) };
        cycles.take_woken(&wakeup, Woken::Other);
    }
    cycles.within(MS / 2, (last + 1) * MS);
    cycles.finish(|_| 0).next().unwrap().1
}

#[test]
fn while_another_thread_than_usual_wakes_a_loop_a_cycle_may_go_on() {
    let usual = with_other_wakers(0, true);
    assert_eq!((usual.waits, usual.own_cycles(), usual.silent_ns), (0, 60, 0), "{usual:?}");
    for others in [10, 60] {
        let found = with_other_wakers(others, true);
        let overruns = found.overrun_count();
        assert_eq!((found.waits, found.own_cycles(), found.silent_ns), (others, 60, 0), "{found:?}");
        assert!(found.longest_waited_ns > others * MS && found.longest_ns < MS, "{found:?}");
        assert!(overruns.least == 0 && overruns.most >= others && overruns.may_be_more_cycles, "{overruns:?}");
        let hangs = with_other_wakers(others, false);
        assert_eq!((hangs.silent_ns / MS, hangs.own_cycles()), (others + 1, 40), "{hangs:?}");
    }
    // One or two of its wakeups by another thread are none of more than two periods.
    let once = with_other_wakers(1, true);
    assert_eq!((once.waits, once.own_cycles(), once.silent_ns), (0, 61, 0), "{once:?}");
}

#[test]
fn a_thread_that_is_killed_as_it_is_stopped_was_late_for_its_cycles() {
    let executing = |wakeup: Wakeup| Wakeup { executed_ns: wakeup.work_ns, ..wakeup };
    let of = |held_ns: u64, ends: bool| {
        let mut cycles = Cycles::new(MS);
        (1..=30).for_each(|number| cycles.take(&executing(wakeup(number * MS, Some(200_000))), true));
        let stopped = Wakeup { total_ns: held_ns, ..wakeup(30_500_000, Some(50_000)) };
        cycles.take(&executing(stopped), false);
        if ends {
            cycles.end(7, 30_500_000 + held_ns + 50_000);
        }
        let count = cycles.finish(|_| 0).next().unwrap().1;
        let periods = count.overrun_periods().unwrap();
        (count.certain, count.ending, (periods.least, periods.most, periods.all))
    };
    // The cycle that was due at 31 ms never began, and 19 periods began until its thread did.
    assert_eq!(of(20 * MS, true), (1, 0, (19, 19, 50)));
    assert_eq!(of(700_000, true), (0, 0, (0, 0, 31)), "stopped for a moment");
}
