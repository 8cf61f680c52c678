//! The longest cycle of loops that are kept from running, or work for too long, and what is certain of it.

use punctual_recording::{CycleCount, Cycles, Wakeup};

const MS: u64 = 1_000_000;
/// How late a cycle usually begins, and how long it executes, ns.
const LATE: u64 = 30_000;
const WORK: u64 = 210_000;

/// The wakeups of a loop of 1 kHz that makes up for at most so many periods in a row, and how long its longest cycle took, ns. Once
/// in 100 cycles it is kept from running for so long, and works for so long in the cycles from there on, ns.
fn play(limit: u64, events: &[(u64, &[u64])]) -> (Vec<Wakeup>, u64) {
    let (mut wakeups, mut longest, mut due) = (Vec::new(), 0, MS);
    for (kept, works) in events {
        for number in 0..100 {
            let (late, works) = if number == 50 { (LATE + kept, *works) } else { (LATE, &[][..]) };
            let mut works = works.iter().copied();
            let (mut own, mut made_up) = (due, 0);
            let mut now = due + late + works.next().unwrap_or(WORK);
            longest = longest.max(now - own);
            while made_up < limit && now > own + MS {
                (own, made_up) = (own + MS, made_up + 1);
                now += works.next().unwrap_or(WORK);
                longest = longest.max(now - own);
            }
            let executed = Some(now - due - late);
            wakeups.push(Wakeup {
                tid: 7,
                expected_ns: due,
                total_ns: late,
                work_ns: executed,
                executed_ns: executed,
                ..Wakeup::default()
            });
            due = (now / MS + 1) * MS;
        }
    }
    (wakeups, longest)
}

fn counted(wakeups: &[Wakeup]) -> CycleCount {
    let mut cycles = Cycles::new(MS);
    wakeups.iter().for_each(|wakeup| cycles.take(wakeup, true));
    cycles.finish(|_| 0).next().unwrap().1
}

#[test]
fn the_longest_cycle_is_between_what_is_certain_and_the_longest_stretch() {
    let delays: &[(u64, &[u64])] = &[(12_345_678, &[]), (900_000, &[]), (4_870_000, &[]), (2_500_000, &[])];
    let one: &[(u64, &[u64])] = &[(0, &[22_000_000]), (0, &[11_000_000]), (0, &[5_300_000])];
    let several: &[(u64, &[u64])] = &[(0, &[1_900_000; 9]), (0, &[1_200_000; 12]), (700_000, &[2_300_000; 3])];
    for (what, events) in [("delays", delays), ("one long cycle", one), ("several long cycles", several)] {
        for limit in [0, 1, 3, u64::MAX] {
            let (wakeups, longest) = play(limit, events);
            let count = counted(&wakeups);
            let (least, most) = (count.longest_at_least_ns(MS), count.longest_ns);
            assert!((least..=most).contains(&longest), "{what}, {limit}: {least} <= {longest} <= {most}: {count:?}");
            // It is longer than its period, and than it had to wait.
            assert!(least > MS, "{what}, {limit}: {count:?}");
            assert!(what != "delays" || least * 20 >= longest * 19, "{limit}: {least} of {longest}: {count:?}");
        }
    }
}

/// Stopped in its sleep, and woken once for the stop and once to go on: what it does then is the next cycle, and nothing of it is
/// certain of the one before. After half of a cycle's work the sleep is part of it.
#[test]
fn a_stop_after_a_cycle_is_no_certain_part_of_the_longest() {
    let events: &[(u64, &[u64])] = &[(4_870_000, &[]), (2_500_000, &[]), (3_900_000, &[])];
    let wakeup = |expected_ns, total_ns, work| Wakeup {
        tid: 7,
        expected_ns,
        total_ns,
        work_ns: Some(work),
        executed_ns: Some(work),
        ..Wakeup::default()
    };
    // Without the stop the longest is one of those that were delayed.
    let delayed = 4_870_000 + LATE + WORK;
    for (work, longest, paused) in [(WORK, delayed, 6_300_000 + WORK), (WORK / 2, 6_300_000 + WORK / 2, 0)] {
        let (wakeups, _) = play(0, events);
        let due = wakeups.last().map_or(0, |wakeup| wakeup.expected_ns) + MS;
        let mut cycles = Cycles::new(MS);
        wakeups.iter().for_each(|wakeup| cycles.take(wakeup, true));
        cycles.take(&wakeup(due, LATE, work), true);
        cycles.take(&wakeup(due + 500_000, 20_000, 10_000), false);
        cycles.take(&wakeup(due + 6_300_000, 0, work), false);
        cycles.take(&wakeup(due + 7 * MS, LATE, WORK), true);
        let count = cycles.finish(|_| 0).next().unwrap().1;
        assert_eq!((count.longest_at_least_ns(MS), count.longest_ns), (longest, longest), "{work}: {count:?}");
        assert_eq!((count.longest_paused_ns, count.longest_slept), (paused, paused == 0), "{work}: {count:?}");
    }
}

#[test]
fn a_cycle_of_a_loop_that_skips_periods_is_one_however_long() {
    let events: &[(u64, &[u64])] = &[(4_870_000, &[]), (2_500_000, &[]), (0, &[11_000_000]), (900_000, &[])];
    let (wakeups, longest) = play(0, events);
    let count = counted(&wakeups);
    assert_eq!((count.longest_at_least_ns(MS), count.longest_ns), (longest, longest), "{count:?}");
}

/// A loop whose cycles are due 0.8 to 1.2 ms apart: the period is how far they are on average.
#[test]
fn uneven_cycles_in_a_row_are_as_long_as_they_are_on_average_at_least() {
    let (mut wakeups, mut due, mut number) = (Vec::new(), MS, 0);
    while number < 400 {
        // Each fiftieth cycle takes 0.9 ms, and the one after it, which is due after 0.8 ms, follows at once.
        let (work, cycles) = if number % 50 == 20 { (900_000 + WORK, 2) } else { (WORK, 1) };
        wakeups.push(Wakeup {
            tid: 7,
            expected_ns: due,
            total_ns: LATE,
            work_ns: Some(work),
            executed_ns: Some(work),
            ..Wakeup::default()
        });
        for _ in 0..cycles {
            due += match number % 50 {
                20 => 800_000,
                21 => 1_200_000,
                _ => 800_000 + number * 137_001 % 400_000,
            };
            number += 1;
        }
    }
    let count = counted(&wakeups);
    assert!(count.on_grid < count.cycles && count.overruns == 8, "{count:?}");
    let (least, most) = (count.longest_at_least_ns(MS), LATE + 900_000 + WORK);
    assert_eq!((least, count.longest_ns), (most / 2, most), "{count:?}");
    // Behind a wakeup that nobody saw the thread may have slept: only what it executed is work of cycles.
    let mut cycles = Cycles::new(MS);
    wakeups.iter().for_each(|wakeup| cycles.take(wakeup, true));
    let count = cycles.finish(|_| 1).next().unwrap().1;
    assert_eq!(count.longest_at_least_ns(MS), (900_000 + WORK) / 2, "{count:?}");
}
