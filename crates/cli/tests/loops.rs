//! `punctual report` and `punctual forecast` of other programs' loops that catch up or skip periods, as whole commands, on made-up
//! recordings.

mod support;

use punctual_recording::*;
use std::path::Path;
use support::{code, json, run, stderr, stdout};

const MS: u64 = 1_000_000;
/// How long a cycle executes, ns.
const WORK: u64 = 210_000;

/// A minute of a loop of 1 kHz that a command ran under load. Once a second it comes 4.9 ms late, and once a second a wakeup
/// is not seen, so that two cycles look like one of 1.32 ms.
fn write(path: &Path, run_id: &str, catches_up: bool) {
    let command = vec!["./my-loop".to_owned(), "60".to_owned()];
    let load = LoadInfo {
        name: "mixed+./my-loop 60".into(),
        commands: vec![vec!["stress-ng".to_owned()], command],
        ..LoadInfo::default()
    };
    let provenance = Provenance { run_id: run_id.into(), started_ns: 1_000 * MS, load, ..Provenance::default() };
    let measure = "my-loop fifo:80".into();
    let task = Task { measure, tid: 7, cpu: None, period_ns: 0, counters: Counters::default() };
    let mut writer = Writer::create(path, provenance, vec![task]).unwrap();
    writer.followed_mut().period_ns = Some(MS);
    writer.followed_mut().asked = vec![Asked::Command.to_string()];
    writer.followed_mut().wakers = vec![Waker { kind: WakerKind::Timer, name: "sleep".into(), id: None }];
    let (mut cycle, mut unseen) = (0, 0);
    while cycle < 60_000 {
        // How late, how long until it sleeps, how long it executes, and how many periods pass.
        let (late, work, executed, missed) = match cycle % 1_000 {
            500 if catches_up => (4_900_000, 7 * WORK, 7 * WORK, 6),
            500 => (4_900_000, WORK, WORK, 5),
            700 => (30_000, MS + WORK + 80_000, 2 * WORK, 1),
            _ => (30_000, WORK, WORK, 0),
        };
        unseen += u64::from(cycle % 1_000 == 700);
        let wakeup = Wakeup {
            tid: 7,
            expected_ns: (1_000 + cycle) * MS,
            total_ns: late,
            work_ns: Some(work),
            executed_ns: Some(executed),
            woken_by: Some(0),
            ..Wakeup::default()
        };
        writer.push(0, &wakeup);
        cycle += 1 + missed;
    }
    writer.set_thread_counts(0, 0, unseen, 0);
    let end = Ended { reason: EndReason::Completed, detail: None, at_ns: 61_000 * MS };
    writer.finish(end, Vec::new()).unwrap();
}

#[test]
fn the_overruns_of_a_loop_are_those_that_it_would_count_itself() {
    for (catches_up, overruns, after, every, words) in [
        (
            true,
            720,
            "catches-up",
            "167 ms",
            "was seen to catch up: 720 periods began before the previous cycle had ended, and each is",
        ),
        (
            false,
            120,
            "skips",
            "1.00 s",
            "was seen to skip periods that it missed: 600 periods began before the previous cycle had ended",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        write(&directory.path().join("a"), "1", catches_up);
        write(&directory.path().join("b"), "2", catches_up);
        let output = run(directory.path(), &["forecast", "a", "b", "--json"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = json(&output);
        let verdict = answer["verdict"].as_str().unwrap();
        let begin = format!("A cycle of my-loop fifo:80 takes longer than 1.00 ms about every {every}. ");
        assert!(verdict.starts_with(&begin) && verdict.contains(words), "{verdict}");
        assert_eq!(verdict.matches("began before").count(), 1, "{verdict}");
        let group = &answer["groups"][0];
        assert_eq!((group["overruns"].as_u64(), group["after_overrun"].as_str()), (Some(overruns), Some(after)));
        assert_eq!(answer["devices"][0]["misses"].as_f64(), Some(overruns as f64), "{}", answer["devices"][0]);
        // The command was measured, and is no load.
        assert_eq!(group["load"], "mixed");
    }
}

#[test]
fn the_periods_that_a_loop_overran_are_compared_whatever_it_does_about_them() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", true);
    write(&directory.path().join("b"), "2", false);
    let found = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    let row = &found["counts"][0];
    assert_eq!((&row["kind"], &row["name"]), (&"periods".into(), &"my-loop".into()), "{row}");
    for (side, overran) in [("a", 360), ("b", 300)] {
        let report = json(&run(directory.path(), &["report", side, "--json"]));
        assert_eq!(row[side]["periods"], report["cycles"][0]["periods"], "{row}");
        assert_eq!((&row[side]["events"], &row[side]["least"]), (&overran.into(), &overran.into()), "{row}");
    }
    let text = stdout(&run(directory.path(), &["compare", "a", "b"]));
    assert!(
        text.starts_with(
            "These runs show no difference in periods of 1.00 ms that my-loop overran: 300 or more of 60,0"
        ),
        "{text}"
    );
}

#[test]
fn a_row_of_cycles_is_reported_as_one() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", true);
    let output = run(directory.path(), &["report", "a", "--limit", "cycle:max=1ms"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let text = stdout(&output);
    for words in [
        "of the command (./my-loop 60) under load (mixed), ",
        "my-loop fifo:80 took longer than 1.00 ms in 360 or more of 59,940 cycles, the longest stretch without waiting at least 6.37 ms, 7 cycles \
         in a row.",
        "360 began before the previous cycle had ended; 60 more began without a wakeup that was seen. The loop was seen to catch up",
        "Over the limit: 7 cycles in a row took 6.37 ms without a wait in between",
        "Command ./my-loop 60, load mixed: ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let text = stdout(&run(directory.path(), &["forecast", "a"]));
    for words in [
        "my-loop fifo:80 every 1.00 ms under mixed: watched for 60 s\n",
        "an hour of `mixed` stands for",
        "; the longest stretch without waiting: 6.37 ms, 7 cycles in a row",
        "want (assumed)",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// 12 s of a loop that is in time wherever it was seen. A dozen wakeups were not, and after three of these another period has
/// none.
fn write_unseen(path: &Path) {
    let task =
        Task { measure: "my-loop fifo:80".into(), tid: 7, cpu: None, period_ns: 0, counters: Counters::default() };
    let provenance = Provenance { started_ns: 1_000 * MS, ..Provenance::default() };
    let mut writer = Writer::create(path, provenance, vec![task]).unwrap();
    writer.followed_mut().period_ns = Some(MS);
    writer.followed_mut().wakers = vec![Waker { kind: WakerKind::Timer, name: "sleep".into(), id: None }];
    for cycle in (0..12_000).filter(|cycle| cycle % 1_000 != 700 && ![701, 1_701, 2_701].contains(cycle)) {
        let wakeup = Wakeup {
            tid: 7,
            expected_ns: (1_000 + cycle) * MS,
            total_ns: 30_000,
            work_ns: Some(WORK),
            executed_ns: Some(WORK),
            woken_by: Some(0),
            ..Wakeup::default()
        };
        writer.push(0, &wakeup);
    }
    writer.set_thread_counts(0, 0, 12, 0);
    EpisodeWriter::create(writer.directory()).unwrap();
    let recorder = RecorderSummary {
        threshold: "1ms".into(),
        threshold_ns: Some(MS),
        stage: Stage::Response,
        armed_ns: 12_000 * MS,
        cpus: 2,
        ..RecorderSummary::default()
    };
    write_recorder_summary(writer.directory(), &recorder).unwrap();
    write_handler_sums(writer.directory(), &[]).unwrap();
    let end = Ended { reason: EndReason::Completed, detail: None, at_ns: 13_000 * MS };
    writer.finish(end, Vec::new()).unwrap();
}

#[test]
fn overruns_that_nobody_saw_are_none_that_did_not_happen() {
    let directory = tempfile::tempdir().unwrap();
    write_unseen(&directory.path().join("a"));
    let said = |words: &[&str], expected: &[&str], exit_code: i32| {
        let output = run(directory.path(), words);
        let text = stdout(&output);
        assert_eq!(code(&output), exit_code, "{words:?}: {text} {}", stderr(&output));
        expected.iter().for_each(|part| assert!(text.contains(part), "{words:?}: {part}: {text}"));
    };
    let overruns = "took longer than 1.00 ms in 0 to 3 or more of 11,985 cycles, the longest seen 240 us.";
    let unjudged = "The limit on the cycles cannot be judged: 12 wakeups were not seen";
    said(&["report", "a", "--limit", "cycle:max=1ms"], &[overruns, unjudged], 1);
    // The thread woke again long before.
    said(&["report", "a", "--limit", "cycle:max=20ms"], &[overruns], 0);
    said(&["forecast", "a"], &["0 to 3 or more of 11,985 cycles took too long", "12 wakeups were not seen"], 0);
    said(&["why", "a"], &["sleep, but 12 wakeups were not seen, and may have."], 0);
    assert_eq!(json(&run(directory.path(), &["why", "a", "--json"]))["unseen"], 12);
}
