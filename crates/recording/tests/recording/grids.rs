//! Loops whose timers do not keep to one grid of their period.

use punctual_recording::{CycleCount, Cycles, Wakeup};

const MS: u64 = 1_000_000;
/// How late a cycle begins, ns.
const LATE: u64 = 30_000;

/// Counts a loop of this period whose cycles were due then, and worked for so long, ns; `None` if nothing tells what begins one.
fn counted(period_ns: u64, wakeups: &[(u64, u64)]) -> Option<CycleCount> {
    let mut cycles = Cycles::new(period_ns);
    for &(due, work) in wakeups {
        let (work_ns, executed_ns) = (Some(work), Some(work));
        cycles.take(
            &Wakeup { tid: 7, expected_ns: due, total_ns: LATE, work_ns, executed_ns, ..Wakeup::default() },
            true,
        );
    }
    let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
    (count.untold == 0).then_some(count)
}

/// As of a loop that computes its sleeps on a busy machine: 5 to 20 us from reading the clock to setting the timer.
#[test]
fn a_loop_whose_timers_stray_from_their_grid_is_not_starved() {
    let is_missed = |cycle: &u64| cycle % 20 == 7;
    let due = |cycle: u64| (cycle + 1) * MS + 5_000 + cycle * 7_919 % 15_000;
    let work = |cycle: u64| if is_missed(&(cycle + 1)) { 1_300_000 } else { 200_000 };
    let wakeups: Vec<(u64, u64)> =
        (0..649).filter(|cycle| !is_missed(cycle)).map(|cycle| (due(cycle), work(cycle))).collect();
    let count = counted(MS, &wakeups).unwrap();
    assert_eq!((count.starved, count.cycles, count.overruns, count.certain), (0, 616, 33, 33), "{count:?}");
    assert_eq!((count.estimated_periods, count.estimated_not_woken), (649, 33), "{count:?}");
    // One that wakes in every third period is.
    let wakeups: Vec<(u64, u64)> = (0..649).step_by(3).map(|cycle| (due(cycle), 2_300_000)).collect();
    let count = counted(MS, &wakeups).unwrap();
    assert_eq!((count.starved, count.cycles, count.overruns), (1, 217, 217), "{count:?}");
}

/// Half of the timers of the new period are on the grid of the old one.
#[test]
fn a_loop_whose_period_changes_keeps_no_grid() {
    // Each fiftieth cycle takes 2.6 ms: of the shorter period it misses one.
    let play = |phases: &[(u64, u64)]| {
        let (mut wakeups, mut due, mut overruns) = (Vec::new(), MS, 0);
        for &(period, cycles) in phases {
            for cycle in 0..cycles {
                let work = if cycle % 50 == 30 { 2_600_000 } else { 300_000 };
                overruns += u64::from(work > 2 * MS);
                wakeups.push((due, work));
                due += (LATE + work).div_ceil(period) * period;
            }
        }
        (wakeups, overruns)
    };
    let all: [&[(u64, u64)]; 7] = [
        &[(2 * MS, 3_000)],
        &[(2 * MS, 3_000), (5 * MS, 600)],
        &[(5 * MS, 600), (2 * MS, 3_000)],
        &[(2 * MS, 2_000), (5 * MS, 200), (2 * MS, 1_000)],
        &[(2 * MS, 3_000), (3 * MS, 1_000)],
        &[(2 * MS, 3_000), (2_200_000, 1_500)],
        &[(2 * MS, 3_000), (1_500_000, 2_500)],
    ];
    for phases in all {
        let (wakeups, overruns) = play(phases);
        let found = counted(2 * MS, &wakeups).map(|count| (count.cycles, count.overruns));
        let expected = (phases.len() == 1).then_some((3_000, overruns));
        assert_eq!(found, expected, "{phases:?}");
    }
}

/// Cycles sleep on a timer for so long that the next ones are due meanwhile: that is no other period, be it a few in a row or all.
#[test]
fn sleeps_within_long_cycles_are_no_other_period() {
    for long in [5, 100] {
        let (mut wakeups, mut due, mut ends) = (Vec::new(), MS, Vec::new());
        for cycle in 0..2_000_u64 {
            wakeups.push((due, 100_000));
            let is_long = cycle % 100 >= 100 - long;
            if is_long {
                wakeups.push((due + 1_250_000 + cycle * 3_001 % 40_000, 50_000));
            }
            ends.push(is_long);
            due += if is_long { 2 * MS } else { MS };
        }
        // Of the last cycle only the first sleep is known.
        ends.pop();
        let overruns = ends.iter().filter(|is_long| **is_long).count() as u64;
        let count = counted(MS, &wakeups).unwrap();
        let expected = (2_000, overruns, 2_000 + overruns);
        assert_eq!((count.cycles, count.overruns, count.periods), expected, "{long}: {count:?}");
    }
}

/// After a cycle a loop waits for a second, and goes on at the next point of its grid: that looks like a sleep within the cycle.
#[test]
fn a_pause_after_a_cycle_is_no_certain_overrun() {
    let period = 2 * MS;
    let (mut wakeups, mut due) = (Vec::new(), MS);
    for cycle in 0..2_000_u64 {
        let work = if cycle % 100 == 50 { 5_100_000 } else { 300_000 };
        wakeups.push((due, work));
        let mut slept = due + LATE + work;
        if [500, 1_000, 1_500].contains(&cycle) {
            wakeups.push((slept + 1_000 * MS, 5_000));
            slept += 1_000 * MS + LATE + 5_000;
        }
        due += (slept - due).div_ceil(period) * period;
    }
    let count = counted(period, &wakeups).unwrap();
    assert_eq!((count.cycles, count.overruns, count.certain, count.paused), (2_000, 23, 20, 3), "{count:?}");
    assert_eq!((count.not_woken, count.paused_periods, count.began_within()), (1_540, 1_500, 40), "{count:?}");
    assert_eq!((count.own_overruns_between(), count.longest_ns), ((20, 40), 5_130_000), "{count:?}");
    assert_eq!(count.longest_paused_ns, 1_000_365_000, "{count:?}");
}

/// The grid of most of its cycles is not that of the rest.
#[test]
fn a_loop_that_moves_its_offset_near_an_end_keeps_all_its_cycles() {
    // After how many of its 1,000 cycles, by how much, and whether each cycle sleeps on its way.
    let moves = [
        (980, 300_000, false),
        (950, 100_000, false),
        (910, 500_000, false),
        (910, 300_000, false),
        (980, 10_000, false),
        (20, 300_000, false),
        (90, 500_000, false),
        (1_000, 0, false),
        (1_000, 0, true),
        (980, 300_000, true),
        (910, 300_000, true),
    ];
    for (from, shift, sleeps) in moves {
        let (mut wakeups, mut due, mut overruns) = (Vec::new(), MS, 0);
        for cycle in 0..1_000_u64 {
            due += if cycle == from { shift } else { 0 };
            let work = if cycle % 10 == 5 { 1_300_000 } else { 200_000 };
            overruns += u64::from(work > MS);
            wakeups.push((due, work));
            if sleeps {
                wakeups.push((due + LATE + work + 20_000 + cycle * 3_001 % 40_000, 50_000));
            }
            due += (LATE + work).div_ceil(MS) * MS;
        }
        let found = counted(MS, &wakeups).map(|count| (count.cycles, count.overruns));
        // With sleeps on the way, nothing tells which timers off the grid begin a cycle.
        let expected = (!sleeps || from == 1_000).then_some((1_000, overruns));
        assert_eq!(found, expected, "from {from} on by {shift} ns, {sleeps}");
    }
}
