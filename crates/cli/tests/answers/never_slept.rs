//! Loops that start a thread for each job: no answer says that their limits were kept, as no wakeup shows how long a job took.

use crate::support::{code, json, run, stderr, stdout};
use punctual_recording::*;
use std::path::Path;

const MS: u64 = 1_000_000;

/// 801 cycles of a loop of 100 Hz in time, and as many threads of its process that never slept and ran for up to 12 ms.
fn write(path: &Path, run_id: &str, threads: u64) {
    let provenance = Provenance { run_id: run_id.into(), started_ns: 1_000 * MS, ..Provenance::default() };
    let task = Task { measure: "ticks other".into(), tid: 41, cpu: None, period_ns: 0, counters: Counters::default() };
    let mut writer = Writer::create(path, provenance, vec![task]).unwrap();
    let followed = writer.followed_mut();
    followed.period_ns = Some(10 * MS);
    followed.asked = vec![Asked::Process(40).to_string()];
    followed.wakers = vec![Waker { kind: WakerKind::Timer, name: "posix timer".into(), id: None }];
    followed.threads = vec![FollowedThread { tid: 41, process: 40, name: "ticks".into(), ..FollowedThread::default() }];
    if threads > 0 {
        followed.without_sleep = vec![WithoutSleep {
            process: 40,
            name: "ticks".into(),
            threads,
            longest_executed_ns: 12 * MS,
            last_ended_ns: 9_000 * MS,
            is_context: false,
        }];
    }
    for cycle in 0..801 {
        let (expected_ns, woken_by) = ((1_000 + cycle * 10) * MS, Some(0));
        let (work_ns, executed_ns) = (Some(60_000), Some(60_000));
        let wakeup =
            Wakeup { tid: 41, expected_ns, total_ns: 20_000, work_ns, executed_ns, woken_by, ..Wakeup::default() };
        writer.push(0, &wakeup);
    }
    let end = Ended { reason: EndReason::Completed, detail: None, at_ns: 9_010 * MS };
    writer.finish(end, Vec::new()).unwrap();
}

const REPORT: [&str; 5] = ["report", "a.punctual", "--limit", "cycle:max=10ms", "--period=10ms"];

#[test]
fn a_limit_is_not_kept_by_what_only_starts_the_work() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a.punctual"), "1", 800);
    let said = run(directory.path(), &REPORT);
    let text = stdout(&said);
    assert_eq!(code(&said), 1, "{text}{}", stderr(&said));
    assert!(text.contains("never slept 800 threads (12.0 ms on a CPU at most)"), "{text}");
    assert!(
        text.contains("No cycle of 801 that were seen took longer than 10.0 ms; the longest took 80.0 us."),
        "{text}"
    );
    assert!(text.contains(" The limit on the cycles cannot be judged: 800 threads "), "{text}");
    let answer = json(&run(directory.path(), &[&REPORT[..], &["--json"]].concat()));
    assert_eq!(answer["exit_code"], 1);
    let limit = &answer["limits"][0];
    assert!(limit["stage"] == "cycle" && limit["found_ns"].is_null() && limit["exceeded"] == false, "{limit}");
    let row = &answer["cycles"][0];
    assert_eq!((&row["without_sleep"], &row["longest_without_sleep_ns"]), (&800.into(), &(12 * MS).into()), "{row}");
    assert_eq!(row["may_be_more"], true, "{row}");
    assert_eq!(answer["parts"][0]["followed"]["without_sleep"][0]["threads"], 800);
    // The loop itself was over this.
    let over = run(directory.path(), &["report", "a.punctual", "--limit", "cycle:max=50us"]);
    assert_eq!(code(&over), 2, "{}", stdout(&over));
    let forecast = run(directory.path(), &["forecast", "a.punctual"]);
    let told = format!("{}{}", stdout(&forecast), stderr(&forecast));
    assert!(told.contains("800 threads that ticks"), "{told}");
}

#[test]
fn a_recording_without_such_threads_is_judged_as_before() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a.punctual"), "1", 0);
    let said = run(directory.path(), &REPORT);
    let text = stdout(&said);
    assert_eq!(code(&said), 0, "{text}{}", stderr(&said));
    assert!(text.contains("No cycle of 801 took longer than 10.0 ms; the longest took 80.0 us."), "{text}");
    assert!(!text.contains("never slept"), "{text}");
}

#[test]
fn a_comparison_says_which_side_may_have_had_more() {
    let directory = tempfile::tempdir().unwrap();
    for (name, threads) in [("a", 800), ("b", 0)] {
        write(&directory.path().join(format!("{name}.punctual")), name, threads);
    }
    let said = run(directory.path(), &["compare", "a.punctual", "b.punctual"]);
    let text = stdout(&said);
    assert!(text.contains("none seen on A or B"), "{text}{}", stderr(&said));
    assert!(text.contains("ended without ever sleeping (800 on A)"), "{text}");
}
