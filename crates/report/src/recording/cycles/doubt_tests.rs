//! What is said of loops whose wakeups do not show how many cycles they had.

use super::*;

fn loops(count: CycleCount) -> LoopCycles {
    let count = CycleCount { cycles: 200, longest_ns: 600_000, longest_single_ns: 600_000, ..count };
    LoopCycles {
        period_ns: 1_000_000,
        by_name: [("arm fifo:80".to_owned(), count)].into(),
        wakeups_as: BTreeMap::new(),
        of: None,
    }
}

/// The sentence about a limit of so many us, and whether it was exceeded; `None` where it cannot be judged.
fn judged(loops: &LoopCycles, limit_us: u64) -> (Option<bool>, String) {
    let limit = loops.judge(limit_us * 1_000);
    (limit.found_ns.map(|_| limit.exceeded), loops.over_limit(&limit))
}

#[test]
fn what_may_be_waits_within_cycles_keeps_no_limit() {
    let waits = CycleCount { waits: 20, longest_waited_ns: 900_000, ..CycleCount::default() };
    let within = " 20 wakeups came at other times than usual: they begin cycles of their own, or end waits within cycles that then took up to";
    assert_eq!(
        loops(waits).verdict(),
        format!("No cycle of at least 180 took longer than 1.00 ms; the longest took 600 us.{within} 900 us.")
    );
    let longer = loops(CycleCount { longest_waited_ns: 1_700_000, waited_periods: 20, ..waits });
    assert_eq!(
        longer.verdict(),
        format!(
            "arm fifo:80 took longer than 1.00 ms in 0 to 20 or more of at least 180 cycles, the longest from 600 us to 1.70 ms.{within} 1.70 ms."
        )
    );
    assert_eq!(judged(&longer, 1_700), (Some(false), String::new()));
    assert_eq!(
        judged(&longer, 1_600),
        (
            None,
            " The limit on the cycles cannot be judged: a cycle took 1.70 ms if wakeups at other times than usual ended waits within it."
                .to_owned()
        )
    );
    assert_eq!(judged(&longer, 500).0, Some(true));
}

#[test]
fn of_a_thread_that_was_hardly_seen_no_limit_is_kept() {
    let rare = loops(CycleCount { rare_periods: 1_000, ..CycleCount::default() });
    assert_eq!(
        rare.verdict(),
        "No cycle of 200 that were seen took longer than 1.00 ms; the longest took 600 us. Fewer than half of about 1,000 periods began with a \
         wakeup, and nothing shows what the thread did in the others: it does not sleep where it yields a deadline reservation, and one wakeup may \
         be for several cycles."
    );
    let (exceeded, words) = judged(&rare, 900);
    assert_eq!(exceeded, None);
    assert!(words.contains("fewer than half of the periods began with a wakeup"), "{words}");
    assert_eq!(judged(&rare, 500).0, Some(true));
}

#[test]
fn what_wakes_too_often_is_said_to() {
    let often = CycleCount { untold: 1, too_often: 1, cycles: 0, ..CycleCount::default() };
    let often = LoopCycles { by_name: [("arm fifo:80".to_owned(), often)].into(), ..loops(CycleCount::default()) };
    assert_eq!(
        often.verdict(),
        "The cycles of arm fifo:80 cannot be counted: it wakes more often than once in 1.00 ms, and nothing shows which wakeups begin one."
    );
}

#[test]
fn periods_that_a_loop_slept_through_did_not_begin_before_a_cycle_had_ended() {
    let overran =
        CycleCount { overruns: 2, certain: 2, on_grid: 200, periods: 250, not_woken: 50, ..CycleCount::default() };
    let slept = loops(CycleCount { asleep: 48, ..overran }).verdict();
    let words =
        "Of 250 periods 2 began before the previous cycle had ended; 48 more passed in sleeps that began before them.";
    assert!(slept.contains(words), "{slept}");
}

/// As films are shown on a screen of 60 Hz, for two and three of its frames in turn.
#[test]
fn two_uneven_cycles_in_a_row_are_no_long_one() {
    let row = CycleCount { overruns: 9, certain: 9, longest_ns: 1_900_000, longest_missed: 1, ..CycleCount::default() };
    let mut uneven = loops(row);
    uneven.by_name.values_mut().for_each(|count| (count.longest_ns, count.longest_single_ns) = (1_900_000, 950_000));
    let said = "up to 2 cycles in a row took 1.90 ms without a wait in between, and";
    let (exceeded, words) = judged(&uneven, 1_000);
    assert_eq!(exceeded, None, "{words}");
    let cannot = format!(
        " The limit on the cycles cannot be judged: {said} the longest cycle at least 950 us; 1.00 ms is allowed."
    );
    assert_eq!(words, cannot);
    // One of two cycles takes half of the time at least.
    let over = format!(" Over the limit: {said} one of them at least 950 us; 900 us is allowed.");
    assert_eq!(judged(&uneven, 900), (Some(true), over));
    // Where the periods are known, the second was not due before the first had taken longer.
    uneven.by_name.values_mut().for_each(|count| count.on_grid_overruns = 9);
    let over = format!(" Over the limit: {said} one of them more than 1.00 ms; 1.00 ms is allowed.");
    assert_eq!(judged(&uneven, 1_000), (Some(true), over));
}

#[test]
fn a_thread_that_changed_its_policy_is_said_to_have() {
    let mut loops = loops(CycleCount::default());
    let wakeups = |others: u64| [("arm fifo:80".to_owned(), 355), ("arm other".to_owned(), others)].into();
    loops.wakeups_as = [("arm fifo:80".to_owned(), wakeups(157))].into();
    assert_eq!(
        loops.verdict(),
        "No cycle of 200 took longer than 1.00 ms; the longest took 600 us. arm fifo:80 ran as arm (SCHED_OTHER) for 157 of 512 wakeups."
    );
    let rows = serde_json::to_value(CyclesRow::all(std::slice::from_ref(&loops))).unwrap();
    assert_eq!(rows[0]["wakeups_as"]["arm other"], 157, "{rows}");
    // What it was before it took its policy tells nothing of its loop.
    loops.wakeups_as = [("arm fifo:80".to_owned(), wakeups(3))].into();
    assert!(!loops.verdict().contains("ran as"), "{}", loops.verdict());
}
