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
