//! Loops of which wakeups do not show how many cycles they had, or how many took too long: no count of them is exact, and no limit
//! on the longest is certain.

use punctual_recording::{AfterOverrun, CycleCount, Cycles, Wakeup};

const MS: u64 = 1_000_000;
/// How late a cycle usually begins, and how long it executes, ns.
const LATE: u64 = 30_000;
const WORK: u64 = 210_000;

/// A wakeup that was due then, ran so much later and executed so long until the thread slept again, `kept` of which it was kept from
/// executing, ns.
fn wakeup(expected_ns: u64, total_ns: u64, executed: u64, kept: u64) -> Wakeup {
    Wakeup {
        tid: 7,
        expected_ns,
        total_ns,
        work_ns: Some(executed + kept),
        executed_ns: Some(executed),
        ..Wakeup::default()
    }
}

/// A usual cycle that was due then.
fn usual(due: u64) -> Wakeup {
    wakeup(due, LATE, WORK, 0)
}

fn counted(wakeups: &[Wakeup]) -> CycleCount {
    let mut cycles = Cycles::new(MS);
    wakeups.iter().for_each(|wakeup| cycles.take(wakeup, true));
    cycles.finish(|_| 0).next().unwrap().1
}

/// The limits of how many cycles took too long, out of how many, and whether these may have been more.
fn limits(count: &CycleCount) -> ((u64, u64), u64, bool) {
    let found = count.overrun_count();
    ((found.least, found.most), found.cycles, found.may_be_more_cycles)
}

/// A loop on a grid that goes on at once, with one more cycle, if its timer expired again during a long one.
#[test]
fn a_loop_that_reads_how_often_its_timer_expired_may_have_done_one_more_cycle() {
    let (mut wakeups, mut due, mut longest) = (Vec::new(), MS, 0);
    for number in 0..300 {
        let found = match number % 50 {
            // Late, so that it reads two expiries at once: one cycle.
            20 => wakeup(due, 1_500_000, WORK, 0),
            // Long by its own work, and one more.
            40 => wakeup(due, LATE, 2_400_000 + WORK, 0),
            _ => usual(due),
        };
        let length = found.total_ns + found.work_ns.unwrap();
        longest = longest.max(if number % 50 == 40 { length - WORK } else { length });
        wakeups.push(found);
        due += (length / MS + 1) * MS;
    }
    let count = counted(&wakeups);
    assert_eq!(count.after_overrun(), AfterOverrun::Skips, "{count:?}");
    assert_eq!(limits(&count), ((12, 24), 300, true), "{count:?}");
    assert!(count.longest_at_least_ns(MS) <= longest && longest < count.longest_ns, "{longest}: {count:?}");
    // One that was interrupted in its cycle until the next was due slept all the same.
    wakeups.push(wakeup(due, LATE, WORK, 1_500_000));
    wakeups.push(usual(due + 2 * MS));
    let count = counted(&wakeups);
    assert_eq!(limits(&count), ((13, 13), 302, false), "{count:?}");
    assert_eq!(count.longest_at_least_ns(MS), count.longest_ns, "{count:?}");
}

/// Its last stretch lasts until the recording ends, or its thread.
#[test]
fn a_loop_that_is_behind_at_the_end_may_have_done_any_of_the_cycles_that_were_due() {
    let behind = 20 * MS + 500_000;
    let mut wakeups: Vec<Wakeup> = (1..40).map(|number| usual(number * MS)).collect();
    wakeups.push(wakeup(40 * MS, LATE, behind, 0));
    let count = counted(&wakeups);
    assert_eq!((count.periods, count.not_woken, count.longest_missed), (60, 20, 20), "{count:?}");
    assert_eq!(limits(&count), ((1, 20), 40, true), "{count:?}");
    assert_eq!(count.longest_at_least_ns(MS), MS + 1, "{count:?}");
    let mut cycles = Cycles::new(MS);
    wakeups.iter().for_each(|wakeup| cycles.take(wakeup, true));
    cycles.end(7, 40 * MS + LATE + behind);
    let count = cycles.finish(|_| 0).next().unwrap().1;
    assert_eq!((count.ending, count.ending_missed), (1, 20), "{count:?}");
    assert_eq!(limits(&count), ((0, 21), 40, true), "{count:?}");
    assert!(count.longest_at_least_ns(MS) < MS, "{count:?}");
}

#[test]
fn periods_that_a_loop_sleeps_through_on_purpose_are_no_overruns() {
    let (mut wakeups, mut due) = (Vec::new(), MS);
    for number in 0..200 {
        let (work, periods) = match number % 50 {
            10 => (1_500_000, 2),
            30 => (WORK, 13),
            _ => (WORK, 1),
        };
        wakeups.push(wakeup(due, LATE, work, 0));
        due += periods * MS;
    }
    let count = counted(&wakeups);
    assert_eq!((count.not_woken, count.asleep, count.began_within()), (4 * 13, 4 * 12, 4), "{count:?}");
    let found = count.overrun_count();
    assert_eq!((found.least, found.most), (4, 4), "{count:?}");
    let periods = count.overrun_periods().map(|periods| (periods.least, periods.most));
    assert_eq!(periods, Some((4, 4)), "{count:?}");
}

/// It sleeps for some periods within a cycle, and then works off those that were due meanwhile.
#[test]
fn a_loop_may_make_up_for_the_periods_of_a_long_sleep() {
    let (mut wakeups, mut due, mut overruns) = (Vec::new(), MS, 0);
    for number in 0..200 {
        wakeups.push(usual(due));
        if number % 50 == 25 {
            let woken = due + 5_300_000;
            wakeups.push(wakeup(woken, LATE, 7 * WORK, 0));
            // Of the seven cycles that end then, the last one is in time.
            overruns += 6;
            due += 6 * MS;
        }
        due += MS;
    }
    let count = counted(&wakeups);
    let found = count.overrun_count();
    assert!(found.least <= overruns && overruns <= found.most, "{overruns}: {found:?} {count:?}");
    assert!(found.may_be_more_cycles, "{found:?}");
}

#[test]
fn what_wakes_more_often_than_once_a_period_counts_no_cycles() {
    let mut due = MS;
    let wakeups: Vec<Wakeup> = (0..200)
        .map(|number| {
            due += 270_000 + number % 7 * 9_000;
            wakeup(due, LATE, 20_000, 0)
        })
        .collect();
    let count = counted(&wakeups);
    assert_eq!((count.cycles, count.untold, count.too_often), (0, 1, 1), "{count:?}");
}

#[test]
fn of_a_thread_that_was_seen_in_few_of_its_periods_no_count_is_exact() {
    let mut due = MS;
    let wakeups: Vec<Wakeup> = (0..50)
        .map(|number| {
            due += 4_270_000 + number % 7 * 9_000;
            usual(due)
        })
        .collect();
    let found = counted(&wakeups).overrun_count();
    assert_eq!(found.of_cycles_in_words(), "none seen of at least 50 cycles", "{found:?}");
    // A single wakeup, and then it only yields.
    let mut cycles = Cycles::new(MS);
    cycles.take(&usual(MS), true);
    cycles.end(7, 1_000 * MS);
    let count = cycles.finish(|_| 0).next().unwrap().1;
    assert_eq!((count.cycles, count.rare_periods), (1, 1_000), "{count:?}");
}

/// A loop of relative sleeps, of which every tenth cycle has a sleep of its own, longer than the others.
#[test]
fn a_sleep_of_another_length_may_be_within_a_cycle() {
    let (mut wakeups, mut due) = (Vec::new(), MS);
    for number in 1..=200_u64 {
        due += 950_000 + number % 3 * 1_000;
        wakeups.push(usual(due));
        // Too little shows in the first ones what is usual.
        if number % 10 == 0 && number > 10 {
            due += LATE + WORK + 1_200_000;
            wakeups.push(usual(due));
        }
    }
    let count = counted(&wakeups);
    assert_eq!((count.overruns, count.waits), (0, 19), "{count:?}");
    assert_eq!(limits(&count), ((0, 19), 200, true), "{count:?}");
    assert_eq!(count.longest_waited_ns, 2 * (LATE + WORK) + 1_200_000, "{count:?}");
}

#[test]
fn two_periods_of_one_thread_are_no_loop_with_sleeps() {
    let mut due: Vec<u64> = (1..=200).map(|number| number * MS).collect();
    due.extend((1..=280).map(|number| 230_000 + number * 700_000));
    due.sort_unstable();
    let wakeups: Vec<Wakeup> = due.into_iter().map(|due| wakeup(due, LATE, 20_000, 0)).collect();
    let count = counted(&wakeups);
    assert_eq!((count.cycles, count.untold), (0, 1), "{count:?}");
}
