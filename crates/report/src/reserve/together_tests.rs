//! Tests of the answers about several devices or threads at once.

use super::ReserveEnd;
use super::together::{TogetherAnswer, TogetherDevice, TogetherReport, together_text};
use crate::encode::plain_page::tests::assert_well_formed;
use crate::reserve::together_html;
use punctual_reserve::{AttemptCounts, Job, Jobs, Reservation};
use std::path::Path;

fn device(device: &'static str, budget_ns: Option<u64>, late: u64) -> TogetherDevice<'static> {
    let counts =
        |late| AttemptCounts::new(Jobs { on_time: 400u64.saturating_sub(late), late, missing: 0 }, 0, 9_000_000);
    TogetherDevice {
        device,
        tid: None,
        spec: device,
        job: Job { period_ns: 12_500_000, work_ns: 1_840_000, deadline_ns: 12_500_000 },
        lateness_ns: 0,
        trials: &[],
        tried: 9,
        grid: 80,
        reservation: budget_ns.map(|budget_ns| Reservation { budget_ns, period_ns: 10_000_000 }),
        why: budget_ns.is_none().then_some("no room"),
        before: (counts(77), 147),
        with: (counts(late), 148),
    }
}

fn report(rows: Vec<TogetherDevice<'_>>) -> TogetherReport<'_> {
    TogetherReport {
        of_threads: false,
        of: rows.len(),
        rows,
        rounds: 2,
        raised: 1,
        end: ReserveEnd::Finished,
        comparison: Some(Ok("B is less late in these runs.".to_owned())),
        stays: false,
        notes: &[],
        cpus: 2,
        limit_thousandths: Some(950),
        beside: "spin:normal",
        directory: Path::new("r"),
        next: Vec::new(),
    }
}

#[test]
fn each_end_has_its_verdict_and_names_who_has_none() {
    let good = report(vec![device("v90", Some(2_000_000), 0), device("rt-audio", Some(1_500_000), 0)]);
    assert!(good.is_proven());
    assert_eq!(
        good.verdict(),
        "All 2 reservations hold at once: 35 % of a CPU of the 190 % that the kernel admits on 2 CPUs."
    );
    let refused =
        report(vec![device("v90", Some(2_000_000), 0), device("x", None, 3), device("y", Some(1_000_000), 4)]);
    assert!(!refused.is_proven());
    let verdict = refused.verdict();
    for part in ["1 of 3 reservations hold at once", "`x` has none: no room", "`y` had 4 of 400 jobs late"] {
        assert!(verdict.contains(part), "{part}: {verdict}");
    }
    let text = together_text(&refused);
    let compared = "Start latency of a bystander at fifo:95 (A as they were, B with their reservations): B is less late in these runs.";
    for part in ["beside spin:normal", "Made larger", "2.00 ms of every 10.0 ms", "77", compared] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = together_html(&refused, None);
    assert_well_formed(&page);
    for part in [
        "Reservations for 3 devices at once",
        "id=\"device-3\"",
        "2.00 ms of every 10.0 ms",
        "Made larger",
        "B is less late in these runs.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let answer = crate::answer::value(&TogetherAnswer::new(&refused));
    assert_eq!((&answer["devices"][1]["refused"], &answer["admitted_thousandths"]), (&"no room".into(), &1_900.into()));
    assert_eq!(
        (&answer["comparison"], &answer["not_compared"]),
        (&"B is less late in these runs.".into(), &serde_json::Value::Null)
    );
    let alone = TogetherReport { comparison: Some(Err("one run")), ..report(vec![device("v90", Some(2_000_000), 0)]) };
    assert!(together_text(&alone).contains("note: the two cannot be compared: one run"));
    let ended = TogetherReport { end: ReserveEnd::ProgramEnded, ..report(vec![device("v90", None, 0)]) };
    assert!(ended.verdict().starts_with("A program ended after 1 of 1 device:"), "{}", ended.verdict());
    let cut = TogetherReport { of: 3, end: ReserveEnd::Interrupted, ..report(vec![device("v90", Some(1), 0)]) };
    assert!(cut.verdict().starts_with("Interrupted after 1 of 3 devices"), "{}", cut.verdict());
    // One that came to be measured and not to be tried.
    let untried = TogetherDevice { tried: 0, why: Some("it was not tried"), ..device("y", None, 0) };
    let cut = TogetherReport { of: 3, end: ReserveEnd::Interrupted, ..report(vec![device("x", None, 0), untried]) };
    assert!(cut.verdict().starts_with("Interrupted after 1 of 3 devices"), "{}", cut.verdict());
    let reservations: Vec<String> = cut.found_table().1.into_iter().map(|row| row[3].clone()).collect();
    assert_eq!(reservations, ["none", "not tried"]);
    let unmeasured = TogetherReport { rounds: 0, ..report(vec![device("v90", Some(2_000_000), 0)]) };
    assert!(unmeasured.verdict().starts_with("Found, but not measured"), "{}", unmeasured.verdict());
}

#[test]
fn jobs_that_were_not_seen_leave_it_open() {
    let mut open = device("x", Some(1_000_000), 0);
    open.with.0 = open.with.0.with_unseen(12);
    let report = report(vec![device("v90", Some(2_000_000), 0), open]);
    assert!(!report.is_proven());
    let says = "`x` could not be judged among the others: 12 jobs were not seen, and may have been late.";
    assert!(report.verdict().ends_with(says), "{}", report.verdict());
    assert!(together_text(&report).contains("not seen"));
    assert_eq!(crate::answer::value(&TogetherAnswer::new(&report))["devices"][1]["with"]["unseen"], 12);
    let words = ["punctual", "reserve", "v90,x"].map(str::to_owned);
    let last = crate::after_reserve_together(&report, &[], &words).pop().map(|step| step.command);
    assert_eq!(last.as_deref(), Some("sudo punctual reserve v90,x --attempt 500ms --round 1s"));
}

#[test]
fn what_had_late_jobs_is_no_next_step() {
    let words = ["punctual", "reserve", "v90,x"].map(str::to_owned);
    let steps = |late| {
        let report = report(vec![device("v90", Some(2_000_000), 0), device("x", Some(1_000_000), late)]);
        crate::after_reserve_together(&report, &[], &words)
    };
    assert_eq!(steps(0)[0].purpose, "runs them with their reservations");
    let failed = steps(4);
    assert!(failed.len() == 1 && failed[0].purpose.starts_with("tries each setting more often"), "{failed:?}");
}

#[test]
fn threads_have_their_numbers_and_keep_what_is_proven_or_are_told_how() {
    let thread = |tid, late| TogetherDevice { tid: Some(tid), ..device("loop", Some(2_000_000), late) };
    let notes = ["thread 7 was not restored: it would not".to_owned()];
    let kept =
        TogetherReport { of_threads: true, stays: true, notes: &notes, ..report(vec![thread(7, 0), thread(8, 0)]) };
    assert_eq!(
        kept.verdict(),
        "All 2 reservations hold at once: 40 % of a CPU of the 190 % that the kernel admits on 2 CPUs. The threads keep \
         them."
    );
    let text = together_text(&kept);
    for part in ["note: thread 7 was not restored", "loop (7)", "loop (8)", "Start latency (A as they were"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = together_html(&kept, None);
    assert_well_formed(&page);
    for part in ["Reservations for 2 threads at once", "loop (8)", "thread 7 was not restored"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let answer = crate::answer::value(&TogetherAnswer::new(&kept));
    assert_eq!((&answer["stays"], &answer["devices"][1]["tid"]), (&true.into(), &8.into()));
    let failed = TogetherReport { of_threads: true, ..report(vec![thread(7, 0), thread(8, 3)]) };
    assert!(failed.verdict().contains("`loop` (8) had 3 of 400 jobs late"), "{}", failed.verdict());
}
