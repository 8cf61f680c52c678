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
    let within = " 20 wakeups came at other times or from others than usual: they begin cycles of their own, or end waits within cycles that then took up to";
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
            " The limit on the cycles cannot be judged: a cycle took 1.70 ms if wakeups at other times or from others than usual ended waits within it."
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
fn sleeps_that_may_be_pauses_are_said_and_keep_no_limit() {
    let mut paused = super::tests::loops(&[("arm fifo:80", 4_620, 192, 1_800_000)]);
    let arm = paused.by_name.get_mut("arm fifo:80").unwrap();
    (arm.certain, arm.paused, arm.paused_periods, arm.longest_paused_ns) = (189, 3, 1_500, 1_000_000_000);
    (arm.periods, arm.not_woken, arm.on_grid, arm.skipped) = (6_500, 1_812, 4_620, 9);
    assert_eq!(
        paused.verdict(),
        "arm fifo:80 took longer than 1.00 ms in 189 to 192 of 4,620 cycles, 1.80 ms at most. Of 6,500 periods 312 began before the previous \
         cycle had ended. The loop was seen to skip these: each run of them is one overrun. 1,500 periods began in sleeps of more than two \
         periods: pauses between cycles, or part of cycles that then took up to 1.00 s."
    );
    let judged = |limit_ns: u64| (paused.judge(limit_ns).found_ns, paused.judge(limit_ns).exceeded);
    assert_eq!((judged(1_700_000), judged(1_000_000_000)), ((Some(1_800_000), true), (Some(1_800_000), false)));
    let open = paused.judge(2_000_000);
    assert_eq!((open.found_ns, open.exceeded), (None, false));
    assert_eq!(
        paused.over_limit(&open),
        " The limit on the cycles cannot be judged: a cycle took 1.00 s if a sleep of more than two periods was part of it and not a pause."
    );
}

#[test]
fn a_loop_that_was_seen_no_more_before_the_recording_ended_keeps_no_limit() {
    let mut hung = super::tests::loops(&[("arm fifo:80", 87, 0, 900_000)]);
    let arm = hung.by_name.get_mut("arm fifo:80").unwrap();
    (arm.periods, arm.on_grid, arm.silent_ns) = (87, 87, 9_130_000);
    assert_eq!(hung.may_have_hung(), None);
    assert_eq!(
        hung.verdict(),
        "No cycle of 87 that were seen took longer than 1.00 ms; the longest took 900 us. The last cycle that was seen to begin was due 9.13 ms before its \
         thread or the recording ended, and the loop was not seen to go on after it: it may not have ended by then, or the next have been kept from its CPU, \
         unless the loop had stopped."
    );
    hung.by_name.get_mut("arm fifo:80").unwrap().silent_ns = 3_130_000_000;
    let begins = "arm fifo:80 may have hung: its loop was not seen to go on after the cycle that was due 3.13 s before its thread ended. That cycle had not ended, \
                  the next was kept from its CPU, or the loop had stopped or goes on by other wakeups than before.";
    assert_eq!(hung.may_have_hung().as_deref(), Some(begins));
    assert_eq!(hung.verdict(), "No cycle of 87 that were seen took longer than 1.00 ms; the longest took 900 us.");
    assert!(hung.section().lead.starts_with(begins), "{}", hung.section().lead);
    let judged = |limit_ns: u64| (hung.judge(limit_ns).found_ns, hung.judge(limit_ns).exceeded);
    assert_eq!(judged(800_000), (Some(900_000), true));
    assert_eq!((judged(3_000_000_000), judged(4_000_000_000)), ((None, false), (Some(900_000), false)));
    assert_eq!(
        hung.over_limit(&hung.judge(2_000_000)),
        " The limit on the cycles cannot be judged: the last cycle took 3.13 s or more if it had not ended when its thread or the recording did."
    );
    // In a recording that ended before its thread did it may have gone on for any time.
    let arm = hung.by_name.get_mut("arm fifo:80").unwrap();
    arm.unended_ns = arm.silent_ns;
    assert!(hung.may_have_hung().is_some_and(|begins| begins.contains(" was due 3.13 s before the recording ended. ")));
    assert_eq!(hung.judge(4_000_000_000).found_ns, None);
    assert_eq!(
        hung.over_limit(&hung.judge(4_000_000_000)),
        " The limit on the cycles cannot be judged: the last cycle was due 3.13 s before the recording ended, and was not seen to end."
    );
    assert!(hung.judge(800_000).exceeded);
}

#[test]
fn each_of_several_limits_is_judged() {
    let loops = super::tests::loops(&[("arm fifo:80", 87, 0, 900_000)]);
    let limits = |loops: &LoopCycles, limits_us: [u64; 3]| {
        let limits = limits_us.map(|us| loops.judge(us * 1_000));
        (limits.clone().map(|limit| limit.found_ns.map(|_| limit.exceeded)), loops.over_limits(&limits))
    };
    let (found, said) = limits(&loops, [500, 1_000, 800]);
    assert_eq!(found, [Some(true), Some(false), Some(true)]);
    assert_eq!(
        said,
        " Over the limit: the longest cycle took 900 us; 500 us is allowed. Over the limit: the longest cycle took 900 us; 800 us is allowed."
    );
    let mut hung = loops;
    hung.by_name.values_mut().for_each(|count| count.silent_ns = 3_130_000_000);
    let (found, said) = limits(&hung, [800, 1_000, 2_000]);
    assert_eq!(found, [Some(true), None, None]);
    let [second, third] = ["1.00 ms", "2.00 ms"].map(|limit| {
        format!(
            " The limit of {limit} on the cycles cannot be judged: the last cycle took 3.13 s or more if it had not ended when its thread or the recording did."
        )
    });
    assert_eq!(said, format!(" Over the limit: the longest cycle took 900 us; 800 us is allowed.{second}{third}"));
}

#[test]
fn a_loop_that_was_first_seen_long_after_the_recording_began_keeps_no_limit() {
    let mut late = super::tests::loops(&[("arm fifo:80", 182, 0, 900_000)]);
    let arm = late.by_name.get_mut("arm fifo:80").unwrap();
    (arm.periods, arm.on_grid, arm.late_seen_ns) = (182, 182, 2_160_000_000);
    assert_eq!(
        late.verdict(),
        "No cycle of 182 that were seen took longer than 1.00 ms; the longest took 900 us. The first wakeup that was seen came 2.16 s after the recording had \
         begun: a cycle may have gone on until then, unless the loop did nothing."
    );
    // It may have begun any time before the recording did.
    for limit_ns in [2_000_000, 3_000_000_000] {
        assert_eq!(late.judge(limit_ns).found_ns, None, "{limit_ns}");
        assert_eq!(
            late.over_limit(&late.judge(limit_ns)),
            " The limit on the cycles cannot be judged: a cycle took 2.16 s or more if one went on until its thread was first seen."
        );
    }
    assert!(late.judge(800_000).exceeded);
}

#[test]
fn a_loop_that_only_signals_woke_for_long_keeps_no_limit() {
    let mut hung = super::tests::loops(&[("arm fifo:80", 800, 0, 900_000)]);
    let arm = hung.by_name.get_mut("arm fifo:80").unwrap();
    (arm.periods, arm.on_grid, arm.signalled_ns) = (800, 800, 2_160_000_000);
    assert_eq!(
        hung.verdict(),
        "No cycle of 800 that were seen took longer than 1.00 ms; the longest took 900 us. For up to 2.16 s only timers that send signals woke a thread that \
         otherwise waits for its next cycle: their handlers may have run while a cycle went on."
    );
    assert_eq!((hung.judge(2_000_000).found_ns, hung.judge(3_000_000_000).found_ns), (None, Some(900_000)));
    assert_eq!(
        hung.over_limit(&hung.judge(2_000_000)),
        " The limit on the cycles cannot be judged: a cycle took up to 2.16 s if it went on while only timers that send signals woke its thread."
    );
}

#[test]
fn a_stretch_in_which_a_loop_may_have_been_stopped_is_at_most_so_long() {
    let mut over = super::tests::loops(&[("arm fifo:80", 6_991, 10, 6_800_000)]);
    let arm = over.by_name.get_mut("arm fifo:80").unwrap();
    (arm.periods, arm.not_woken, arm.longest_missed, arm.longest_slept) = (7_021, 30, 6, true);
    let said = over.verdict();
    assert!(
        said.contains(" cycles, the longest stretch lasting at most 6.80 ms, up to 7 cycles in a row. Of 7,021 "),
        "{said}"
    );
    over.by_name.get_mut("arm fifo:80").unwrap().unseen = 2;
    let said = over.verdict();
    assert!(
        said.contains(" cycles, the longest stretch seen lasting at most 6.80 ms, up to 7 cycles in a row. "),
        "{said}"
    );
}

/// A loop that serves messages beside its timer looks like this, and so does one that waits within its cycles.
#[test]
fn overruns_in_which_a_thread_slept_are_not_certain() {
    let overran =
        CycleCount { overruns: 113, slept: 113, doubtful_periods: 145, on_grid: 200, ..CycleCount::default() };
    let mut slept = loops(CycleCount { periods: 700, not_woken: 149, asleep: 4, longest_missed: 4, ..overran });
    slept.by_name.values_mut().for_each(|count| {
        (count.longest_ns, count.longest_single_ns, count.longest_slept) = (4_660_000, 340_000, true);
    });
    assert_eq!(
        slept.verdict(),
        "arm fifo:80 took longer than 1.00 ms in 0 to 145 of at least 200 cycles, the longest stretch lasting at most 4.66 ms, up to 5 cycles in \
         a row. Of 700 periods 149 began without a wakeup, 145 of them in overruns that are not certain. 113 overruns are not certain: the \
         thread slept in each, within its cycle, as for a lock, or after it, until something other than its next cycle woke it, such as a \
         message. If it was recorded with --why, `punctual why` says which."
    );
    assert!(slept.text().lines().next().is_some_and(|head| head.ends_with("longest us")), "{}", slept.text());
    let cannot = " The limit on the cycles cannot be judged: in what took 4.66 ms its thread slept, maybe after its cycle, and the longest cycle at \
                  least 340 us; 1.00 ms is allowed.";
    assert_eq!(judged(&slept, 1_000), (None, cannot.to_owned()));
    let over = " Over the limit: the longest cycle took at least 340 us; 300 us is allowed.";
    assert_eq!(judged(&slept, 300), (Some(true), over.to_owned()));
    // Beside those that certainly began within a cycle.
    slept.by_name.values_mut().for_each(|count| (count.overruns, count.certain, count.not_woken) = (115, 2, 155));
    let said = slept.verdict();
    let words = " Of 700 periods 6 began before the previous cycle had ended; 145 more in overruns that are not certain; 4 more passed ";
    assert!(said.contains(words) && said.contains(" in 2 to 151 of at least 200 cycles"), "{said}");
    let all = [slept];
    let [row] = &CyclesRow::all(&all)[..] else { panic!("one row") };
    assert_eq!((row.slept, row.longest_ns, row.longest_at_least_ns), (113, Some(4_660_000), Some(340_000)));
}

#[test]
fn of_a_cycle_in_time_in_which_the_thread_slept_the_length_is_not_certain() {
    let mut slept = loops(CycleCount::default());
    slept
        .by_name
        .values_mut()
        .for_each(|count| (count.longest_ns, count.longest_single_ns, count.longest_slept) = (600_000, 250_000, true));
    assert_eq!(slept.verdict(), "No cycle of 200 took longer than 1.00 ms; the longest took 600 us at most.");
    assert_eq!((judged(&slept, 600).0, judged(&slept, 500).0, judged(&slept, 200).0), (Some(false), None, Some(true)));
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

/// As with a timer whose expiry starts a thread, or a process for each job.
#[test]
fn no_limit_is_kept_where_threads_that_never_slept_may_have_done_the_work() {
    let started = CycleCount { without_sleep: 198, longest_without_sleep_ns: 12_000_000, ..CycleCount::default() };
    let others = loops(started);
    assert_eq!(
        others.verdict(),
        "No cycle of 200 that were seen took longer than 1.00 ms; the longest took 600 us. 198 threads began meanwhile and ended without ever \
         sleeping, after up to 12.0 ms on a CPU: if the loop starts one for each of its jobs, the cycles are only of what starts them."
    );
    let cannot = " The limit on the cycles cannot be judged: 198 threads that the loop may have started ended without ever sleeping, after up \
                  to 12.0 ms on a CPU, and no wakeup shows how long what they did took; the longest cycle seen took 600 us.";
    assert_eq!(judged(&others, 100_000), (None, cannot.to_owned()));
    // A cycle that was seen to take longer did.
    let (exceeded, words) = judged(&others, 500);
    assert_eq!(
        (exceeded, words.as_str()),
        (Some(true), " Over the limit: the longest cycle took 600 us; 500 us is allowed.")
    );
    assert!(others.text().contains("none seen"), "{}", others.text());
    // Those of a process are counted for each of its loops, and are not added up.
    let mut both = others.clone();
    both.by_name
        .insert("leg fifo:80".to_owned(), CycleCount { without_sleep: 198, cycles: 9, ..CycleCount::default() });
    assert!(both.verdict().contains(" 198 threads began meanwhile"), "{}", both.verdict());
    // An overrun of the loop itself is one all the same.
    let over = CycleCount { overruns: 3, certain: 3, skipped: 3, without_sleep: 1, ..CycleCount::default() };
    let mut over = loops(over);
    over.by_name.values_mut().for_each(|count| count.longest_ns = 2_000_000);
    let said = over.verdict();
    assert!(said.starts_with("arm fifo:80 took longer than 1.00 ms in 3 or more of at least 200 cycles, "), "{said}");
    assert!(
        said.contains(" 1 thread began meanwhile and ended without ever sleeping, after up to 0 ns on a CPU: "),
        "{said}"
    );
}
