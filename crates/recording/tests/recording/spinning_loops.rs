//! Loops that wake before a cycle is due and wait on their CPU until it is, as games do, and loops that merely look like them.

use punctual_recording::{CycleCount, Cycles, Wakeup};

const MS: u64 = 1_000_000;
/// How late a thread begins to run, and how long a usual cycle works, ns.
const LATE: u64 = 30_000;
const WORK: u64 = 100_000;

/// What a loop of 1 kHz does when its next cycle is due already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    CatchesUp,
    Skips,
}

/// Counts a loop that sleeps until `lead` before each cycle is due, ns, and then waits on its CPU; and how many of its cycles ended after
/// the next was due, and the longest, ns, from when it was due. `work` says how long the cycle of each number works, ns.
fn play(lead: u64, kind: Kind, work: impl Fn(u64) -> u64) -> (CycleCount, u64, u64) {
    let (mut cycles, mut overruns, mut longest) = (Cycles::new(MS), 0, 0);
    let (mut due, mut number) = (2 * MS, 0);
    while number < 2_000 {
        let timer = due - lead;
        let began = timer + LATE;
        let mut now = began;
        loop {
            now = now.max(due) + work(number);
            longest = longest.max(now - due);
            overruns += u64::from(now > due + MS);
            (due, number) = (due + MS, number + 1);
            if kind == Kind::Skips {
                due += (now.saturating_sub(due - lead)).div_ceil(MS) * MS;
            }
            if now < due - lead {
                break;
            }
        }
        let (work_ns, executed_ns) = (Some(now - began), Some(now - began));
        let wakeup = Wakeup { tid: 7, expected_ns: timer, total_ns: LATE, work_ns, executed_ns, ..Wakeup::default() };
        cycles.take(&wakeup, true);
    }
    let count = cycles.finish(|_| 0).next().unwrap().1;
    (count, overruns, longest)
}

/// Each 25th works so long, ns.
fn each(long: u64) -> impl Fn(u64) -> u64 {
    move |number| if number % 25 == 3 { long } else { WORK + number * 137 % 2_000 }
}

#[test]
fn what_follows_at_its_exact_time_is_no_certain_overrun() {
    for (lead, long) in [(120_000, 920_000), (300_000, 800_000), (600_000, 700_000)] {
        let (count, overruns, longest) = play(lead, Kind::CatchesUp, each(long));
        assert_eq!(overruns, 0);
        let found = count.overrun_count();
        assert_eq!((found.least, found.most, count.spun), (0, 80, 80), "{lead}: {count:?}");
        assert!(found.may_be_more_cycles && count.overran_beyond_wakeups(), "{lead}: {count:?}");
        // Cycles count from when the thread was to be woken.
        let (least, longest, most) = (count.longest_at_least_ns(MS), lead + longest, count.longest_ns);
        assert!(least <= longest && longest <= most && most > MS, "{least} <= {longest} <= {most}: {count:?}");
    }
    // Some of them do take too long.
    let both = |number: u64| if number % 40 == 7 { 1_300_000 } else { each(920_000)(number) };
    let (count, overruns, _) = play(120_000, Kind::CatchesUp, both);
    let found = count.overrun_count();
    assert!(found.least <= overruns && overruns <= found.most && found.least > 20, "{overruns}: {found:?} {count:?}");
}

#[test]
fn what_is_late_ends_at_any_time() {
    for kind in [Kind::CatchesUp, Kind::Skips] {
        for long in [1_050_000, 1_200_000, 1_400_000, 2_300_000] {
            let (count, overruns, _) = play(0, kind, each(long));
            let found = count.overrun_count();
            assert_eq!(count.spun, 0, "{kind:?}, {long}: {count:?}");
            assert!(
                found.least <= overruns && overruns <= found.most && found.least >= 79,
                "{kind:?}, {long}: {found:?}"
            );
        }
        // A few end by chance when others do.
        let spread = |number: u64| if number % 25 == 3 { 1_010_000 + number * 7_919 % 900_000 } else { WORK };
        let (count, overruns, _) = play(0, kind, spread);
        let found = count.overrun_count();
        assert!(found.least <= overruns && overruns <= found.most && count.spun == 0, "{kind:?}: {found:?} {count:?}");
        assert!(count.certain >= 79, "{kind:?}: {count:?}");
    }
}
