//! Which sleeps are within a cycle, and which are pauses between two.

use super::tests::{MS, wakeup};
use super::*;

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
