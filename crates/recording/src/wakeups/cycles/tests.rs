//! What begins a cycle, and where one ends.

use super::*;

const MS: u64 = 1_000_000;

/// A wakeup that was due then, ran 100 us late and slept again after this much work, ns.
fn wakeup(due: u64, work: Option<u64>) -> Wakeup {
    Wakeup { tid: 7, expected_ns: due, total_ns: 100_000, work_ns: work, ..Wakeup::default() }
}

/// The longest of cycles each of which is one for certain took this long, ns.
fn longest(ns: u64) -> CycleCount {
    CycleCount { longest_ns: ns, longest_single_ns: ns, longest_skipping_ns: ns, ..CycleCount::default() }
}

fn counted(wakeups: &[(u64, Option<u64>, bool)]) -> CycleCount {
    let mut cycles = Cycles::new(MS);
    wakeups.iter().for_each(|(due, work, by_timer)| cycles.take(&wakeup(*due, *work), *by_timer));
    cycles.finish(|_| 0).next().map_or_else(CycleCount::default, |(_, count, _)| count)
}

#[test]
fn a_cycle_goes_from_its_timer_to_the_last_sleep_before_the_next() {
    let (short, long) = (Some(200_000), Some(900_001));
    // The second cycle sleeps for a lock, continues late and runs over.
    let count = counted(&[(0, short, true), (MS, short, true), (MS + 950_000, short, false), (3 * MS, short, true)]);
    let expected = CycleCount {
        cycles: 3,
        overruns: 1,
        longest_ns: 1_250_000,
        // The next cycle may have begun when it was due.
        longest_single_ns: 300_000,
        // Nor is it known whether the loop went on with that at once.
        longest_skipping_ns: 300_000,
        run_on: 1,
        longest_missed: 1,
        longest_slept: true,
        // It may have ended before the next period began.
        slept: 1,
        estimated_periods: 4,
        estimated_not_woken: 1,
        ..CycleCount::default()
    };
    assert_eq!(count, expected);
    // Ending with the period still keeps it; a nanosecond more does not.
    let count = counted(&[(0, Some(900_000), true), (MS, long, true)]);
    let expected = CycleCount {
        cycles: 2,
        overruns: 1,
        certain: 1,
        // It began 0.1 ms late.
        began_late: 1,
        longest_ns: 1_000_001,
        // As the last one it may be two, since no wakeup says which period follows it.
        longest_missed: 1,
        run_on: 1,
        made_up_at_most: 1,
        not_made_up: 1,
        estimated_periods: 2,
        ..longest(MS)
    };
    assert_eq!(count, expected);
}

#[test]
fn whoever_is_woken_by_others_begins_anew_after_half_a_period() {
    let short = Some(100_000);
    let count = counted(&[(0, short, false), (300_000, short, false), (MS, short, false), (2 * MS, short, false)]);
    // The first may have ended with its first sleep.
    let expected =
        CycleCount { cycles: 3, estimated_periods: 3, longest_ns: 500_000, longest_slept: true, ..longest(200_000) };
    assert_eq!(count, expected);
    // One sleep on a timer at the beginning does not make it a loop of timers.
    let mut driven = vec![(0, short, true)];
    driven.extend((1..20).map(|number| (number * MS, short, false)));
    let expected = CycleCount { cycles: 20, estimated_periods: 20, ..longest(200_000) };
    assert_eq!(counted(&driven), expected);
    // Of those that were dropped nothing but the time tells.
    driven.retain(|(due, ..)| !(7 * MS..10 * MS).contains(due));
    let count = counted(&driven);
    assert_eq!((count.cycles, count.periods), (17, 0), "{count:?}");
    assert_eq!((count.estimated_periods, count.estimated_not_woken), (20, 3), "{count:?}");
}

#[test]
fn a_sleep_on_a_timer_in_the_midst_of_a_cycle_begins_none_where_cycles_keep_a_grid() {
    // Each cycle sleeps for a moment on its way, each tenth for longer than a period.
    let mut wakeups = Vec::new();
    for number in 0..200 {
        let due = number * MS;
        let slept = if number.is_multiple_of(10) { 1_100_000 } else { 100_000 } + number * 3_001 % 40_000;
        wakeups.push((due, Some(100_000), true));
        wakeups.push((due + 250_000 + slept, Some(50_000), true));
    }
    wakeups.sort_unstable();
    // The next point of the grid passes while such a cycle sleeps.
    wakeups.retain(|(due, ..)| due / MS % 10 != 1 || due % MS != 0);
    let count = counted(&wakeups);
    assert_eq!((count.cycles, count.overruns, count.untold), (180, 20, 0), "{count:?}");
    assert_eq!((count.periods, count.not_woken, count.certain), (200, 20, 0), "{count:?}");
}

#[test]
fn an_overrun_is_certain_where_one_wakeup_tells_of_it() {
    let short = Some(100_000);
    // A long wakeup; and one that continues after a sleep, which may hide a wakeup that nobody saw.
    let mut wakeups: Vec<_> = (0..20).map(|number| (number * MS, short, true)).collect();
    wakeups[5].1 = Some(1_500_000);
    wakeups[6] = (6_800_000, short, false);
    wakeups.remove(7);
    let mut count = counted(&wakeups);
    assert_eq!((count.overruns, count.certain, count.not_woken), (1, 1, 2), "{count:?}");
    count.unseen = 3;
    assert_eq!(count.least_overruns(), 1);
}

#[test]
fn an_overrun_in_which_its_thread_ends_is_not_certain() {
    let short = Some(100_000);
    let mut cycles = Cycles::new(MS);
    (0..20).for_each(|number| cycles.take(&wakeup(number * MS, short), true));
    // It frees its resources, for 50 ms.
    cycles.take(&wakeup(20 * MS, Some(50 * MS)), true);
    cycles.end(7, 70 * MS + 100_000);
    cycles.end(8, 70 * MS + 100_000);
    let count = cycles.finish(|_| 0).next().unwrap().1;
    assert_eq!((count.cycles, count.overruns, count.ending), (21, 1, 1), "{count:?}");
    assert_eq!((count.certain, count.least_overruns()), (0, 0), "{count:?}");
}

#[test]
fn what_comes_after_the_last_cycle_is_none_of_it() {
    let short = Some(100_000);
    let mut wakeups: Vec<_> = (0..20).map(|number| (number * MS, short, true)).collect();
    wakeups.push((19 * MS + 300_123_456, short, true));
    let count = counted(&wakeups);
    assert_eq!((count.cycles, count.overruns, count.longest_ns), (20, 0, 200_000), "{count:?}");
}

#[test]
fn where_nothing_tells_what_begins_a_cycle_none_is_counted() {
    let short = Some(100_000);
    let untold = CycleCount { untold: 1, ..CycleCount::default() };
    // Woken by others twice a cycle; by another thread and for a moment on its way; by timers at two points of each
    // period.
    for (kinds, off) in [([false, false], 0), ([false, true], 37_001), ([true, true], 0)] {
        let of = |number: u64| {
            let moment = 600_000 + number * off % 50_000;
            [(number * MS, short, kinds[0]), (number * MS + moment, short, kinds[1])]
        };
        assert_eq!(counted(&(0..50).flat_map(of).collect::<Vec<_>>()), untold, "{kinds:?}");
    }
}

#[test]
fn a_loop_that_computes_its_sleeps_wakes_once_a_period() {
    // From reading the clock to arming the timer takes 1 to 6 us, and each fiftieth time half a period.
    let due = |number: u64| {
        let late = if number % 50 == 25 { 500_000 } else { 0 };
        number * MS + 1_000 + number * 3_001 % 5_000 + late
    };
    let mut wakeups: Vec<_> = (0..500).map(|number| (due(number), Some(100_000), true)).collect();
    let count = counted(&wakeups);
    let expected = CycleCount { cycles: 500, periods: 500, on_grid: 500, ..longest(200_000) };
    assert_eq!(count, expected);
    // Periods that passed while it caught up are counted, and so is the cycle that was too long.
    wakeups[100].1 = Some(3_500_000);
    wakeups.drain(101..104);
    let count = counted(&wakeups);
    assert_eq!((count.cycles, count.overruns, count.certain, count.not_woken), (497, 1, 1, 3), "{count:?}");
}

#[test]
fn what_long_cycles_show_is_kept_within_bounds_and_they_are_counted_all_the_same() {
    let of = |evidence: usize| {
        let mut cycles = Cycles::new(MS);
        cycles.room.evidence = evidence;
        for (tid, (due, work)) in (0..5).flat_map(|tid| [(tid, (0, 3_500_000)), (tid, (4 * MS, 100_000))]) {
            cycles.take(&Wakeup { tid, ..wakeup(due, Some(work)) }, true);
        }
        let left = cycles.room.evidence;
        (left, cycles.finish(|_| 0).map(|(_, count, _)| (count.cycles, count.certain)).collect::<Vec<_>>())
    };
    // Of each thread by its grid, by its timers and by time.
    assert_eq!(of(100), (85, vec![(2, 1); 5]));
    assert_eq!(of(2), (0, vec![(2, 1); 5]));
}

#[test]
fn a_few_timers_beside_the_grid_are_the_next_cycles() {
    // As `select` has them, whose times are in microseconds.
    let due = |number: u64| number * MS + if number % 40 == 20 { 3_100 } else { number * 701 % 1_500 };
    let mut wakeups: Vec<_> = (0..1_000).map(|number| (due(number), Some(100_000), true)).collect();
    let count = counted(&wakeups);
    let expected = CycleCount { cycles: 1_000, periods: 1_000, on_grid: 1_000, ..longest(200_000) };
    assert_eq!(count, expected);
    // A moment for which a few of them sleep right after they begin starts none.
    let mut with_moments = wakeups.clone();
    with_moments.extend((30..1_000).step_by(60).map(|number| (number * MS + 30_000, Some(50_000), true)));
    with_moments.sort_unstable();
    assert_eq!(counted(&with_moments).cycles, 1_000);
    // Periods that it missed are counted.
    wakeups[38].1 = Some(3_500_000);
    wakeups.drain(39..42);
    let count = counted(&wakeups);
    assert_eq!((count.cycles, count.overruns, count.certain, count.not_woken), (997, 1, 1, 3), "{count:?}");
}

#[test]
fn a_loop_that_mostly_does_not_sleep_is_starved() {
    // Each second wakeup begins a stretch of nine periods; timers of a drifting loop are on no grid.
    let due = |number: u64, off: u64| (number / 2 * 10 + number % 2) * MS + number * off;
    let of = |off: u64| {
        let work = |number: u64| if number.is_multiple_of(2) { 100_000 } else { 8_500_000 };
        let wakeups: Vec<_> = (0..60).map(|number| (due(number, off), Some(work(number)), true)).collect();
        counted(&wakeups)
    };
    let count = of(0);
    assert_eq!((count.cycles, count.overruns, count.periods, count.starved), (60, 30, 0, 1), "{count:?}");
    // No wakeup follows the last stretch, whose periods count as those of the others.
    assert_eq!((count.starved_periods, count.starved_within), (300, 30 * 8), "{count:?}");
    let count = of(37_001);
    assert_eq!((count.cycles, count.overruns, count.periods, count.starved), (60, 30, 0, 0), "{count:?}");
    assert_eq!((count.starved_periods, count.starved_within), (0, 0), "{count:?}");
}

#[test]
fn a_loop_that_starts_over_after_an_overrun_keeps_all_its_cycles() {
    let short = Some(100_000);
    let mut wakeups: Vec<_> = (0..100).map(|number| (number * MS, short, true)).collect();
    wakeups[99].1 = Some(1_300_000);
    wakeups.extend((0..40).map(|number| (number * MS + 102_400_000, short, true)));
    let count = counted(&wakeups);
    assert_eq!((count.cycles, count.overruns, count.periods), (140, 1, 0), "{count:?}");
    // It dropped those that had passed before it did.
    assert_eq!((count.estimated_periods, count.estimated_not_woken), (142, 2), "{count:?}");
}

#[test]
fn a_cycle_that_nobody_saw_end_is_none() {
    assert_eq!(counted(&[(0, Some(1), true), (MS, None, true)]).cycles, 1);
    assert_eq!(counted(&[]), CycleCount::default());
}

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

/// As close together as 0.5 ms, in a period of 1 ms.
#[test]
fn how_close_together_uneven_cycles_are_due_is_known() {
    let closest = |apart_us: [u64; 2]| {
        let (mut cycles, mut due_ns) = (Cycles::new(MS), MS);
        for number in 0..60 {
            cycles.take(&wakeup(due_ns, Some(100_000)), true);
            due_ns += apart_us[number % 2] * 1_000;
        }
        let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
        (count.cycles > 0, count.closest_ns)
    };
    assert_eq!(closest([570, 1_430]), (true, 570_000));
    assert_eq!(closest([1_000, 1_000]), (true, 0));
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

#[test]
fn a_loop_off_any_grid_may_have_slept_within_a_cycle_for_long() {
    let count = |others: &[u64]| {
        let mut cycles = Cycles::new(MS);
        let due = |number: u64| MS + number * 1_037_000;
        (0..60).for_each(|number| cycles.take(&wakeup(due(number), Some(100_000)), true));
        let from_ns = due(59);
        others.iter().for_each(|after_us| cycles.take(&wakeup(from_ns + after_us * 1_000, Some(100_000)), true));
        let last_ns = from_ns + others.last().unwrap_or(&0) * 1_000;
        (1..=60).for_each(|number| cycles.take(&wakeup(last_ns + due(number), Some(100_000)), true));
        cycles.finish(|_| 0).next().unwrap().1
    };
    let none = count(&[]);
    assert_eq!((none.overruns, none.longest_paused_ns), (0, 0), "{none:?}");
    // One sleep of 9 ms; and three, which it takes up again.
    for others in [&[9_037][..], &[9_037, 18_074, 27_111]] {
        let count = count(others);
        let most_us = others.last().unwrap() + 200;
        assert_eq!((count.overruns, count.paused, count.longest_paused_ns), (1, 1, most_us * 1_000), "{count:?}");
        assert_eq!((count.least_overruns(), count.own_overruns_between().1), (0, 1), "{count:?}");
    }
}

/// A loop of 5 ms that waits six times for 5 ms in one cycle of forty, and whose cycles begin so much later than 5 ms after one another, ns.
fn with_polls(polls: u64, drift_ns: u64) -> CycleCount {
    let period_ns = 5 * MS;
    let mut cycles = Cycles::new(period_ns);
    for number in (0..400).filter(|number| !(21..21 + polls).contains(&(number % 40))) {
        let mut due_ns = MS + number * (period_ns + drift_ns);
        for _ in 0..=if number % 40 == 20 { polls } else { 0 } {
            let work_ns = Some(20_000);
            cycles.take(&Wakeup { tid: 7, expected_ns: due_ns, total_ns: 10_000, work_ns, ..Wakeup::default() }, true);
            due_ns += period_ns + 25_000;
        }
    }
    cycles.finish(|_| 0).next().unwrap().1
}

#[test]
fn polls_of_one_period_right_after_a_cycle_began_are_within_it() {
    let longest_ns = 6 * (5 * MS + 25_000) + 30_000;
    // All of them are due near points of the grid, and the loop goes on at one.
    let found = with_polls(6, 0);
    let overruns = found.overrun_count();
    assert_eq!((found.cycles, found.waits, found.longest_ns), (340, 0, longest_ns), "{found:?}");
    assert!(overruns.least == 10 && overruns.most >= 10, "{overruns:?}");
    // Without a grid they may begin cycles.
    let found = with_polls(6, 37_000);
    let overruns = found.overrun_count();
    assert_eq!((found.cycles, found.waits, found.own_cycles()), (400, 60, 340), "{found:?}");
    assert_eq!((found.longest_ns, found.longest_waited_ns), (30_000, longest_ns), "{found:?}");
    assert!(overruns.least == 0 && overruns.most >= 10 && overruns.may_be_more_cycles, "{overruns:?}");
    for drift_ns in [0, 37_000] {
        let none = with_polls(0, drift_ns);
        assert_eq!((none.cycles, none.waits, none.longest_waited_ns), (400, 0, 0), "{drift_ns}: {none:?}");
    }
}

/// A loop of 5 ms that works for 30 us, and in one cycle of forty then sleeps for so long, ns; it goes on at the next point of its grid.
fn with_sleeps(sleep_ns: u64) -> CycleCount {
    let period_ns = 5 * MS;
    let mut cycles = Cycles::new(period_ns);
    let take = |cycles: &mut Cycles, due_ns: u64| {
        let work_ns = Some(30_000);
        cycles.take(&Wakeup { tid: 7, expected_ns: due_ns, total_ns: 30_000, work_ns, ..Wakeup::default() }, true);
    };
    let mut next_ns = MS;
    for number in 0..400 {
        take(&mut cycles, next_ns);
        if number % 40 == 20 {
            take(&mut cycles, next_ns + 60_000 + sleep_ns - 5_000);
            next_ns += sleep_ns;
        }
        next_ns += period_ns;
    }
    cycles.finish(|_| 0).next().unwrap().1
}

#[test]
fn a_sleep_of_whole_periods_after_little_work_is_no_planned_pause() {
    // It ends 55 us after a point of the grid, next to where a cycle would begin. Of two periods it is part of its cycle, of four a pause or part of it.
    let two = with_sleeps(10 * MS);
    let overruns = two.overrun_count();
    assert_eq!((two.own_cycles(), overruns.least, two.longest_ns / MS), (400, 10, 10), "{two:?}");
    let four = with_sleeps(20 * MS);
    let overruns = four.overrun_count();
    assert_eq!((four.own_cycles(), four.paused, four.longest_paused_ns / MS), (400, 10, 20), "{four:?}");
    assert!(overruns.least == 0 && overruns.most >= 10, "{overruns:?}");
}

/// A wakeup of a loop of 1 ms that runs after 10 us, for so long, ns.
fn brief(due_ns: u64, work_ns: u64) -> Wakeup {
    Wakeup { tid: 7, expected_ns: due_ns, total_ns: 10_000, work_ns: Some(work_ns), ..Wakeup::default() }
}

#[test]
fn naps_of_a_period_in_a_last_cycle_do_not_show_that_the_loop_goes_on() {
    let silent_ms = |nap_ns: u64| {
        let mut cycles = Cycles::new(MS);
        (1..=40).for_each(|number| cycles.take(&brief(number * MS, 20_000), true));
        (1..=20).for_each(|number| cycles.take(&brief(40 * MS + number * (nap_ns + 27_000), 20_000), true));
        cycles.end(7, 40 * MS + 20 * (nap_ns + 27_000) + 30_000);
        cycles.finish(|_| 0).next().unwrap().1.silent_ns / MS
    };
    assert_eq!(silent_ms(MS), 20);
    // Of a loop that has left its grid and sleeps for what is left of its period.
    assert_eq!(silent_ms(MS - 27_000 - 4_000), 0);
}

#[test]
fn a_period_whose_timer_is_a_little_beside_the_last_point_of_the_grid_passed() {
    let mut cycles = Cycles::new(MS);
    (1..=40).filter(|number| *number != 20).for_each(|number| cycles.take(&brief(number * MS, 20_000), true));
    cycles.take(&brief(41 * MS + 3_000, 20_000), true);
    let found = cycles.finish(|_| 0).next().unwrap().1;
    assert_eq!((found.cycles, found.periods, found.asleep), (40, 41, 1), "{found:?}");
}

#[test]
fn where_cycles_end_as_soon_as_they_begin_a_sleep_of_a_period_is_as_any_other() {
    // What is left of the period looks like all of it, and one timer in three is 5 us beside the grid.
    let mut cycles = Cycles::new(MS);
    for number in 1..=90 {
        let beside_ns = if number % 3 == 0 { 5_000 } else { 0 };
        cycles.take(&brief(number * MS + beside_ns, 5_000), true);
    }
    let found = cycles.finish(|_| 0).next().unwrap().1;
    assert_eq!((found.own_cycles(), found.waits, found.overrun_count().exact()), (90, 0, Some(0)), "{found:?}");
}

#[test]
fn a_sleep_until_a_later_point_of_the_grid_is_a_planned_pause() {
    let mut cycles = Cycles::new(5 * MS);
    let mut due_ns = MS;
    for number in 0..400 {
        let work_ns = Some(30_000);
        cycles.take(&Wakeup { tid: 7, expected_ns: due_ns, total_ns: 30_000, work_ns, ..Wakeup::default() }, true);
        due_ns += if number % 40 == 20 { 25 * MS } else { 5 * MS };
    }
    let found = cycles.finish(|_| 0).next().unwrap().1;
    assert_eq!((found.own_cycles(), found.waits, found.longest_paused_ns), (400, 0, 0), "{found:?}");
    assert_eq!((found.overrun_count().exact(), found.longest_ns), (Some(0), 60_000), "{found:?}");
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
