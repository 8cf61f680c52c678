//! What begins a cycle, and where one ends.

use super::*;

pub(super) const MS: u64 = 1_000_000;

/// A wakeup that was due then, ran 100 us late and slept again after this much work, ns.
pub(super) fn wakeup(due: u64, work: Option<u64>) -> Wakeup {
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
