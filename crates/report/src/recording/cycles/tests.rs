//! What is said of loops.

use super::*;

pub(super) fn loops(counts: &[(&str, u64, u64, u64)]) -> LoopCycles {
    let one = |(name, cycles, overruns, longest_ns): &(&str, u64, u64, u64)| {
        let (cycles, overruns, longest_ns) = (*cycles, *overruns, *longest_ns);
        (
            (*name).to_owned(),
            CycleCount {
                cycles,
                overruns,
                certain: overruns,
                on_grid_overruns: overruns,
                longest_ns,
                untold: u64::from(cycles == 0),
                ..CycleCount::default()
            },
        )
    };
    LoopCycles {
        period_ns: 1_000_000,
        by_name: counts.iter().map(one).collect(),
        wakeups_as: BTreeMap::new(),
        of: None,
    }
}

#[test]
fn the_verdict_names_who_ran_over_or_says_that_nobody_did() {
    let kept = loops(&[("arm fifo:80", 59_998, 0, 312_000), ("log other", 60, 0, 500_000)]);
    assert_eq!(kept.verdict(), "No cycle of 60,058 took longer than 1.00 ms; the longest took 500 us.");
    let over = loops(&[("arm fifo:80", 59_998, 3, 2_310_000), ("log other", 1, 0, 500)]);
    assert_eq!(over.verdict(), "arm fifo:80 took longer than 1.00 ms in 3 of 59,998 cycles, 2.31 ms at most.");
    assert_eq!(
        loops(&[]).verdict(),
        "No cycle of 1.00 ms was seen to end: one ends with a sleep, and a loop that is always behind never sleeps."
    );
    let mut doubtful = over.clone();
    let arm = doubtful.by_name.get_mut("arm fifo:80").unwrap();
    (arm.unseen, arm.certain, arm.periods, arm.not_woken) = (1, 1, 60_010, 12);
    assert_eq!(
        doubtful.verdict(),
        "arm fifo:80 took longer than 1.00 ms in 2 to 11 or more of at least 59,998 cycles, the longest seen 2.31 ms. Of 60,010 periods 11 began before the \
         previous cycle had ended; 1 more began without a wakeup that was seen. If the loop skips missed periods, each run of them is one \
         overrun. If it catches up, each is an overrun. In 1 overrun the thread slept within its cycle: for something, such as a lock, or in a control \
         group that was frozen, which looks the same. If it was recorded with --why, `punctual why` says which."
    );
    let mut held = over.clone();
    held.by_name.get_mut("arm fifo:80").unwrap().held = 2;
    assert!(
        held.verdict().ends_with(
            "2.31 ms at most. 2 cycles were due while the sleeping thread was stopped, frozen or kept from every CPU."
        ),
        "{}",
        held.verdict()
    );
    let mut ended = over.clone();
    let arm = ended.by_name.get_mut("arm fifo:80").unwrap();
    (arm.ending, arm.certain) = (1, 2);
    assert!(
        ended.verdict().contains("in 2 to 3 of 59,998 cycles (1 as its thread ended), 2.31 ms at most"),
        "{}",
        ended.verdict()
    );
    let lines = over.text();
    assert!(lines.lines().nth(1).is_some_and(|line| line.starts_with("arm fifo:80")), "{lines}");
    assert!(!lines.contains("not told"), "{lines}");
}

#[test]
fn periods_without_a_wakeup_are_counted_although_no_grid_shows_them() {
    let mut dropped = loops(&[("synth fifo:80", 6_268, 65, 2_310_000), ("log other", 60, 0, 500_000)]);
    let synth = dropped.by_name.get_mut("synth fifo:80").unwrap();
    (synth.estimated_periods, synth.estimated_not_woken) = (7_483, 1_215);
    let verdict = dropped.verdict();
    let sentence = "Of about 7,483 periods 1,215 began without a wakeup: dropped, unless the loop made up for them without \
                    sleeping. They are estimated from the time between cycles, since no grid of timers shows them.";
    assert!(verdict.ends_with(&format!("in 65 of 6,268 cycles, 2.31 ms at most. {sentence}")), "{verdict}");
    let lines = dropped.text();
    let rows: Vec<Vec<&str>> =
        lines.lines().map(|line| line.split("  ").filter(|cell| !cell.is_empty()).collect()).collect();
    let cells = |row: usize| rows[row].iter().map(|cell| cell.trim()).collect::<Vec<_>>();
    assert_eq!(cells(0)[..4], ["threads", "cycles", "periods", "without a wakeup"], "{lines}");
    assert_eq!(cells(1)[..5], ["synth fifo:80", "6,268", "about 7,483", "about 1,215", "65"], "{lines}");
    assert_eq!(cells(2)[..5], ["log other", "60", "-", "-", "0"], "{lines}");
    // So they are where every cycle kept its period, and where some wakeups were not seen.
    let mut kept = loops(&[("synth fifo:80", 6_985, 0, 994_000)]);
    let synth = kept.by_name.get_mut("synth fifo:80").unwrap();
    (synth.estimated_periods, synth.estimated_not_woken, synth.unseen) = (7_000, 15, 15);
    let verdict = kept.verdict();
    assert!(verdict.ends_with(" 994 us. Of about 7,000 periods 15 began without a wakeup that was seen."), "{verdict}");
    kept.by_name.get_mut("synth fifo:80").unwrap().unseen = 5;
    let verdict = kept.verdict();
    let expected = "15 began without a wakeup that was seen (5 wakeups were not): dropped, unless ";
    assert!(verdict.contains(expected), "{verdict}");
}

#[test]
fn cycles_that_nobody_saw_are_no_cycles_that_were_kept() {
    let mut kept = loops(&[("arm fifo:80", 6_985, 0, 994_000)]);
    kept.by_name.get_mut("arm fifo:80").unwrap().unseen = 15;
    assert_eq!(
        kept.verdict(),
        "No cycle of 6,985 that were seen took longer than 1.00 ms, and 15 were not seen; the longest took 994 us."
    );
}

#[test]
fn periods_that_unseen_wakeups_leave_over_are_no_cycles_that_were_kept() {
    let mut hidden = loops(&[("arm fifo:80", 11_984, 0, 860_000), ("log other", 20, 0, 500_000)]);
    let arm = hidden.by_name.get_mut("arm fifo:80").unwrap();
    (arm.unseen, arm.periods, arm.not_woken, arm.on_grid) = (13, 12_000, 16, 11_984);
    assert_eq!(
        hidden.verdict(),
        "arm fifo:80 took longer than 1.00 ms in 0 to 3 or more of at least 11,984 cycles, the longest seen 860 us. Of 12,000 periods 16 began \
         without a wakeup that was seen; unseen wakeups account for all but 3, during which a cycle may have gone on."
    );
    assert!(hidden.text().contains(" 0 to 3 or more "), "{}", hidden.text());
    let unjudged = hidden.judge(1_000_000);
    assert_eq!((unjudged.found_ns, unjudged.exceeded), (None, false));
    assert_eq!(
        hidden.over_limit(&unjudged),
        " The limit on the cycles cannot be judged: 13 wakeups were not seen, and their cycles may have taken longer; the longest seen took \
         860 us."
    );
    // The thread was always seen to run again after 3.4 ms at most.
    hidden.by_name.get_mut("arm fifo:80").unwrap().longest_gap_ns = 3_400_000;
    assert_eq!(hidden.judge(3_399_999).found_ns, None);
    assert_eq!(hidden.judge(3_400_000).found_ns, Some(860_000));
    // What was seen breaks a limit all the same.
    assert_eq!(hidden.judge(859_999).found_ns, Some(860_000));
}

/// What is said of the periods in the row of cycles.
const MISSED: &str =
    "Of 7,000 periods 6 began before the previous cycle had ended; 3 more began without a wakeup that was seen.";

/// A loop with one long stretch, of whose periods these were made up for, skipped or made up for in part.
fn with_a_row(made_up: u64, skipped: u64, limited: u64) -> LoopCycles {
    let count = CycleCount {
        cycles: 6_991,
        overruns: 1,
        certain: 1,
        on_grid_overruns: 1,
        longest_ns: 6_800_000,
        longest_missed: 6,
        periods: 7_000,
        not_woken: 9,
        unseen: 3,
        made_up,
        skipped,
        limited,
        limit: 3 * limited,
        ..CycleCount::default()
    };
    LoopCycles {
        period_ns: 1_000_000,
        by_name: [("arm fifo:80".to_owned(), count)].into(),
        wakeups_as: BTreeMap::new(),
        of: None,
    }
}

#[test]
fn a_row_of_cycles_is_not_called_one() {
    let begin = "arm fifo:80 took longer than 1.00 ms in";
    for (loops, cycles, longest, meaning, over, head) in [
        (
            with_a_row(1, 0, 0),
            "6 or more of at least 6,997",
            "the longest stretch without a wait that was seen 6.80 ms, 7 cycles in a row",
            "The loop was seen to catch up: each of these is an overrun.",
            "7 cycles in a row took 6.80 ms without a wait in between that was seen, and one of them more than 1.00 ms",
            "longest without a wait us",
        ),
        (
            with_a_row(0, 0, 0),
            "1 to 6 or more of at least 6,991",
            "the longest stretch without a wait that was seen 6.80 ms, up to 7 cycles in a row",
            "If the loop skips missed periods, each run of them is one overrun. If it catches up, each is an overrun.",
            "up to 7 cycles in a row took 6.80 ms without a wait in between that was seen, and one of them more than 1.00 ms",
            "longest without a wait us",
        ),
        (
            with_a_row(0, 0, 1),
            "1 to 6 or more of at least 6,991",
            "the longest stretch without a wait that was seen 6.80 ms, up to 7 cycles in a row",
            "The loop was seen to make up for about 3 periods in a row, or more, and to drop others: each run of them is at least one overrun.",
            "up to 7 cycles in a row took 6.80 ms without a wait in between that was seen, and one of them more than 1.00 ms",
            "longest without a wait us",
        ),
        (
            with_a_row(0, 1, 0),
            "1 or more of at least 6,991",
            "the longest seen 6.80 ms",
            "The loop was seen to skip these: each run of them is one overrun.",
            // In which wakeups may have been unseen.
            "the longest cycle took more than 1.00 ms",
            "longest us",
        ),
    ] {
        assert_eq!(loops.verdict(), format!("{begin} {cycles} cycles, {longest}. {MISSED} {meaning}"));
        let said = loops.over_limit(&loops.judge(1_000_000));
        assert_eq!(said, format!(" Over the limit: {over}; 1.00 ms is allowed."));
        assert!(loops.text().lines().next().is_some_and(|line| line.ends_with(head)), "{}", loops.text());
    }
}

#[test]
fn a_limit_between_the_longest_cycle_and_the_longest_stretch_cannot_be_judged() {
    let mut over = loops(&[("arm fifo:80", 6_991, 10, 6_800_000)]);
    let mut check = |change: &dyn Fn(&mut CycleCount), limit_ns: u64, found: (Option<u64>, bool), said: &str| {
        change(over.by_name.get_mut("arm fifo:80").unwrap());
        let limit = over.judge(limit_ns);
        assert_eq!(((limit.found_ns, limit.exceeded), over.over_limit(&limit).as_str()), (found, said), "{limit_ns}");
    };
    let row = |count: &mut CycleCount| (count.longest_missed, count.longest_single_ns) = (6, 4_900_000);
    let longest = Some(6_800_000);
    check(&row, 6_800_000, (longest, false), "");
    let between = " The limit on the cycles cannot be judged: up to 7 cycles in a row took 6.80 ms without a wait in between, and the longest \
                   cycle at least 4.90 ms; ";
    check(&row, 6_700_000, (None, false), &format!("{between}6.70 ms is allowed."));
    check(&row, 4_900_000, (None, false), &format!("{between}4.90 ms is allowed."));
    let beyond = " Over the limit: up to 7 cycles in a row took 6.80 ms without a wait in between, and one of them ";
    check(&row, 4_800_000, (longest, true), &format!("{beyond}at least 4.90 ms; 4.80 ms is allowed."));
    // An overrun is longer than the period, however long the cycles in a row were.
    let work = |count: &mut CycleCount| count.longest_single_ns = 240_000;
    check(&work, 1_000_000, (longest, true), &format!("{beyond}more than 1.00 ms; 1.00 ms is allowed."));
    check(
        &work,
        2_000_000,
        (None, false),
        " The limit on the cycles cannot be judged: up to 7 cycles in a row took 6.80 ms without a wait in between, and the longest cycle more \
         than 1.00 ms; 2.00 ms is allowed.",
    );
    // A loop that skips periods has no cycles in a row; but a sleep in what looks like one may have been the end of it.
    let skips = |count: &mut CycleCount| (count.skipped, count.longest_skipping_ns) = (10, 6_800_000);
    let one = " Over the limit: the longest cycle took 6.80 ms; 2.00 ms is allowed.";
    check(&skips, 2_000_000, (longest, true), one);
    let stopped = |count: &mut CycleCount| (count.longest_slept, count.longest_skipping_ns) = (true, 5_800_000);
    check(
        &stopped,
        5_700_000,
        (longest, true),
        " Over the limit: the longest cycle took at least 5.80 ms; 5.70 ms is allowed.",
    );
    check(
        &stopped,
        6_000_000,
        (None, false),
        " The limit on the cycles cannot be judged: in what took 6.80 ms its thread slept, maybe after its cycle, and the longest cycle at least \
         5.80 ms; 6.00 ms is allowed.",
    );
    // Nor is it known where wakeups were not seen.
    let slept = |count: &mut CycleCount| {
        (count.unseen, count.longest_slept, count.longest_skipping_ns) = (4, false, 2_000_000);
    };
    check(
        &slept,
        2_000_000,
        (None, false),
        " The limit on the cycles cannot be judged: what took 6.80 ms may be several cycles, between which wakeups were not seen, and the \
         longest cycle at least 2.00 ms; 2.00 ms is allowed.",
    );
}

#[test]
fn a_loop_that_did_not_always_catch_up_overran_between_so_often() {
    let mut over = loops(&[("arm fifo:80", 6_991, 10, 6_800_000)]);
    let arm = over.by_name.get_mut("arm fifo:80").unwrap();
    (arm.certain, arm.made_up, arm.skipped, arm.not_made_up) = (10, 9, 1, 4);
    (arm.periods, arm.not_woken, arm.longest_missed, arm.on_grid) = (7_021, 30, 6, 6_991);
    assert_eq!(
        over.verdict(),
        "arm fifo:80 took longer than 1.00 ms in 26 to 30 of at least 7,016 cycles, the longest stretch without waiting 6.80 ms, up to 7 cycles in a row. \
         Of 7,021 periods 30 began before the previous cycle had ended. The loop was seen to catch up: those of these that it made up for are overruns."
    );
}

#[test]
fn loops_that_do_not_do_the_same_are_told_one_by_one() {
    let mut both = loops(&[("a fifo:60", 2_210, 38, 12_800_000), ("b fifo:60", 2_232, 32, 8_720_000)]);
    for (name, made_up, skipped) in [("a fifo:60", 9, 0), ("b fifo:60", 0, 9)] {
        let count = both.by_name.get_mut(name).unwrap();
        (count.periods, count.not_woken, count.made_up, count.skipped) = (2_300, 95, made_up, skipped);
    }
    let said = both.verdict();
    assert!(
        said.ends_with(
            " a fifo:60 was seen to catch up: each of these is an overrun. b fifo:60 was seen to skip these: each run of them is one overrun."
        ),
        "{said}"
    );
    both.by_name.get_mut("b fifo:60").unwrap().skipped = 0;
    let said = both.verdict();
    assert!(said.contains(" If b fifo:60 skips missed periods, each run of them is one overrun."), "{said}");
}

#[test]
fn no_number_is_exact_where_more_may_have_overrun() {
    let said = |change: &dyn Fn(&mut CycleCount)| {
        let mut over = loops(&[("arm fifo:80", 213, 34, 694_000_000)]);
        let arm = over.by_name.get_mut("arm fifo:80").unwrap();
        arm.certain = 34;
        change(arm);
        over.verdict()
    };
    let starved = |count: &mut CycleCount| (count.starved, count.longest_missed, count.made_up) = (1, 69, 9);
    assert_eq!(
        said(&starved),
        "arm fifo:80 took longer than 1.00 ms in 34 or more of at least 213 cycles, the longest stretch without waiting 694 ms, up to 70 \
         cycles in a row. Fewer than half of the periods of 1 thread began with a wakeup: cycles between which it does not sleep cannot be told apart, and \
         count as one."
    );
    // Its worst number is of periods: it has few cycles because it is so often late.
    let known = said(&|count: &mut CycleCount| {
        starved(count);
        (count.starved_periods, count.starved_within) = (3_000, 2_400);
    });
    assert!(
        known.contains(
            " cycles in a row. Of 3,000 periods 2,400 began before the previous cycle had ended. If the loop skips missed periods, each run of \
             them is one overrun. If it catches up, each is an overrun. Fewer than half "
        ),
        "{known}"
    );
    // One that skips periods has one overrun in each stretch, but a wakeup that nobody saw may hide one.
    let skips = |count: &mut CycleCount| (count.periods, count.not_woken, count.skipped) = (300, 87, 9);
    assert!(said(&skips).contains(" in 34 of 213 cycles"), "{}", said(&skips));
    let unseen = |count: &mut CycleCount| {
        skips(count);
        count.unseen = 2;
    };
    assert!(said(&unseen).contains(" in 34 or more of at least 213 cycles"), "{}", said(&unseen));
    let perhaps = |count: &mut CycleCount| (count.overruns, count.certain, count.unseen) = (1, 0, 2);
    assert!(said(&perhaps).contains(" in 0 to 1 or more of at least 213 cycles"), "{}", said(&perhaps));
    // More periods had no wakeup than wakeups were unseen.
    let once = |count: &mut CycleCount| {
        perhaps(count);
        (count.periods, count.not_woken) = (300, 87);
    };
    assert!(said(&once).contains(" in 1 to 85 or more of at least 213 cycles"), "{}", said(&once));
    assert!(!said(&once).contains("slept within its cycle"), "it may as well be long by itself: {}", said(&once));
}

/// The verdict, the table, the page and JSON say of one count the same.
#[test]
fn every_answer_says_the_same_number_of_overruns() {
    // As `CycleCount` counts them: stretches, those that one wakeup shows, unseen wakeups, periods, those without a wakeup.
    for (overruns, certain, unseen, periods, not_woken, words, json) in [
        (116, 15, 108, 0, 0, "15 to 116 or more", (15, 116, true)),
        (22, 22, 65, 0, 0, "22 or more", (22, 22, true)),
        (3, 3, 24, 12_560, 35, "11 or more", (11, 11, true)),
        (3, 3, 0, 12_560, 35, "35", (35, 35, false)),
    ] {
        let mut over = loops(&[("arm fifo:80", 12_525, overruns, 6_800_000)]);
        let arm = over.by_name.get_mut("arm fifo:80").unwrap();
        (arm.certain, arm.unseen, arm.periods, arm.not_woken) = (certain, unseen, periods, not_woken);
        arm.made_up = periods;
        let (cycles, own_cycles) = (arm.overrun_count().out_of(), arm.own_cycles());
        assert_eq!(cycles.starts_with("at least "), unseen > 0, "{cycles}");
        let verdict = over.verdict();
        assert!(verdict.contains(&format!(" in {words} of {cycles} cycles, ")), "{words}: {verdict}");
        let text = over.text();
        let row: Vec<&str> =
            text.lines().nth(1).unwrap().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        // Before the longest; between it and the cycles may be the periods.
        assert_eq!([row[0], row[1], row[row.len() - 2]], ["arm fifo:80", cycles.as_str(), words], "{text}");
        let all = [over];
        let [found] = &CyclesRow::all(&all)[..] else { panic!("one row") };
        assert_eq!((found.least_overruns, found.most_overruns, found.may_be_more), json, "{words}");
        assert_eq!((found.own_cycles, found.may_be_more_cycles), (own_cycles, unseen > 0), "{words}");
        let Block::Table(page) = &all[0].section().blocks[0] else { panic!("a table") };
        let number = |value: &Value| match value {
            Value::Count(Some(count)) => grouped(*count),
            Value::Text(text) => text.clone(),
            _ => panic!("neither words nor a count"),
        };
        assert_eq!(
            [number(&page.rows[0][1]), number(&page.rows[0][page.rows[0].len() - 3])],
            [cycles, words.to_owned()]
        );
    }
}

#[test]
fn what_cannot_be_told_is_said_beside_what_can() {
    let both = loops(&[("arm fifo:80", 59_998, 0, 312_000), ("log other", 0, 0, 0)]);
    assert_eq!(
        both.verdict(),
        "No cycle of 59,998 took longer than 1.00 ms; the longest took 312 us. The cycles of log (SCHED_OTHER) cannot be counted: nothing shows \
         which wakeups begin one."
    );
    assert!(both.text().contains("not told"), "{}", both.text());
    let none = loops(&[("a", 0, 0, 0), ("b", 0, 0, 0), ("c", 0, 0, 0), ("d", 0, 0, 0)]);
    assert!(none.verdict().starts_with("The cycles of a, b, c and 1 other name cannot"), "{}", none.verdict());
}

#[test]
fn a_thread_that_is_no_loop_with_this_period_is_left_out_and_named() {
    let mut beside = loops(&[("arm fifo:80", 59_998, 0, 312_000), ("arm other", 0, 0, 0)]);
    let main = beside.by_name.get_mut("arm other").unwrap();
    (main.untold, main.left_out) = (0, 1);
    assert_eq!(
        beside.verdict(),
        "No cycle of 59,998 took longer than 1.00 ms; the longest took 312 us. Left out: arm (SCHED_OTHER), since it does not wake about once in \
         1.00 ms."
    );
    assert!(!beside.text().contains("arm other"), "{}", beside.text());
    assert_eq!(beside.judge(1_000_000).found_ns, Some(312_000));
    let rows = serde_json::to_value(CyclesRow::all(std::slice::from_ref(&beside))).unwrap();
    assert_eq!((&rows[0]["left_out"], &rows[1]["left_out"]), (&0.into(), &1.into()), "{rows}");
    beside.by_name.get_mut("arm fifo:80").unwrap().left_out = 2;
    let verdict = beside.verdict();
    assert!(
        verdict.ends_with(
            " Left out: 2 more threads of arm fifo:80, arm (SCHED_OTHER), since they do not wake about once in 1.00 ms."
        ),
        "{verdict}"
    );
}

#[test]
fn a_loop_that_ended_before_the_recording_is_said_to_have() {
    const SECOND_NS: u64 = 1_000_000_000;
    let text = include_str!("../../../../cli/tests/golden/comm.punctual/recording.json");
    let mut document: punctual_recording::Document = serde_json::from_str(text).unwrap();
    document.provenance.started_ns = 1_000 * SECOND_NS;
    document.ended.as_mut().unwrap().at_ns = 1_060 * SECOND_NS;
    let followed = loops(&[("rcu_preempt other", 9_000, 0, 312_000)]);
    assert_eq!(followed.ended_before(&document), "");
    let mut end_at = |ended_ns: u64| {
        let threads = &mut document.followed.as_mut().unwrap().threads;
        threads.iter_mut().find(|thread| thread.tid == 15).unwrap().ended_ns = Some(ended_ns);
        (followed.ended_before(&document), loops(&[("ksoftirqd/0 other", 9_000, 0, 9)]).ended_before(&document))
    };
    let (own, others) = end_at(1_010 * SECOND_NS);
    assert_eq!(
        (own.as_str(), others.as_str()),
        (" rcu_preempt (SCHED_OTHER) ended 50.0 s before the recording did.", "")
    );
    // At the same time, as far as anybody cares.
    assert_eq!(end_at(1_059 * SECOND_NS + SECOND_NS / 2).0, "");
}

#[test]
fn a_limit_is_not_kept_where_a_thread_s_cycles_cannot_be_counted() {
    let mut both = loops(&[("bash other", 32, 17, 14_100_000), ("python3 other", 0, 0, 0)]);
    let unjudged = both.judge(20_000_000);
    assert_eq!((unjudged.found_ns, unjudged.exceeded), (None, false));
    assert_eq!(
        both.over_limit(&unjudged),
        " The limit on the cycles cannot be judged for python3 (SCHED_OTHER); of those that were counted the longest took 14.1 ms."
    );
    let exceeded = both.judge(10_000_000);
    assert_eq!((exceeded.found_ns, exceeded.exceeded), (Some(14_100_000), true));
    assert!(both.over_limit(&exceeded).contains("Over the limit"), "{}", both.over_limit(&exceeded));
    // Some threads of a name were counted, others were not.
    both.by_name.get_mut("bash other").unwrap().untold = 2;
    assert!(
        both.verdict()
            .contains("The cycles of 2 more threads of bash (SCHED_OTHER), python3 (SCHED_OTHER) cannot be counted"),
        "{}",
        both.verdict()
    );
    let kept = loops(&[("arm fifo:80", 59_998, 0, 312_000)]);
    assert_eq!(kept.judge(1_000_000).found_ns, Some(312_000));
    let none = loops(&[("log other", 0, 0, 0)]);
    assert_eq!(none.over_limit(&none.judge(1_000_000)), " No limit on the cycles can be judged: none was counted.");
}
