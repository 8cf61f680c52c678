//! `punctual report` and `punctual forecast` of other programs' loops that catch up or skip periods, as whole commands, on made-up
//! recordings.

use crate::support::{code, json, run, stderr, stdout};
use punctual_recording::*;
use std::path::Path;

const MS: u64 = 1_000_000;
/// How long a cycle executes, ns.
const WORK: u64 = 210_000;

/// Begins the recording of a loop of 1 kHz that a command ran under load.
fn begin(path: &Path, run_id: &str) -> Writer {
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
    writer
}

/// Ends it at this time, ns, after so many wakeups that were not seen.
fn end(mut writer: Writer, unseen: u64, at_ns: u64) {
    writer.set_thread_counts(0, 0, unseen, 0);
    let end = Ended { reason: EndReason::Completed, detail: None, at_ns };
    writer.finish(end, Vec::new()).unwrap();
}

/// A wakeup of the loop by its own timer, that was due then, ran so late, slept again after so long and executed so much, ns.
fn wakeup(due_ns: u64, late_ns: u64, work_ns: u64, executed_ns: u64) -> Wakeup {
    Wakeup {
        tid: 7,
        expected_ns: due_ns,
        total_ns: late_ns,
        work_ns: Some(work_ns),
        executed_ns: Some(executed_ns),
        woken_by: Some(0),
        ..Wakeup::default()
    }
}

/// A minute of a loop that, once a second, comes 4.9 ms late, and once a second a wakeup is not seen, so that two cycles look
/// like one of 1.32 ms.
fn write(path: &Path, run_id: &str, catches_up: bool) {
    let mut writer = begin(path, run_id);
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
        writer.push(0, &wakeup((1_000 + cycle) * MS, late, work, executed));
        cycle += 1 + missed;
    }
    end(writer, unseen, 61_000 * MS);
}

/// Ten thousand cycles of a loop that ten times comes 4.4 ms late, drops what it missed and starts over from there.
fn write_starting_over(path: &Path) {
    let mut writer = begin(path, "3");
    let mut due_ns = 1_000 * MS;
    for cycle in 0..10_000 {
        let (late_ns, next_ns) = if cycle % 1_000 == 500 { (4_400_000, 5_437_001) } else { (30_000, MS) };
        writer.push(0, &wakeup(due_ns, late_ns, WORK, WORK));
        due_ns += next_ns;
    }
    end(writer, 0, due_ns);
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

/// A loop is no device, but a limit on its cycles says whether so many buffers would do.
#[test]
fn whoever_asks_for_a_device_of_a_loop_is_told_what_to_do_instead() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", true);
    // The longest cycles took 6.37 ms.
    for (options, limit, expected) in [
        (&["--device", "audio 1ms x3"][..], "2000us", 2),
        (&["--device", "audio 1ms x16"][..], "15000us", 0),
        (&["--device", "audio 1ms", "--buffers", "4"][..], "3000us", 2),
    ] {
        let refused = run(directory.path(), &[&["forecast", "a"][..], options].concat());
        let limit = format!("cycle:max={limit}");
        assert_eq!(code(&refused), 129, "{options:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains(&format!("`punctual report a --limit {limit}`")), "{}", stderr(&refused));
        let judged = run(directory.path(), &["report", "a", "--limit", &limit]);
        assert_eq!(code(&judged), expected, "{}", stdout(&judged));
    }
}

/// What a player drops is what is heard.
#[test]
fn periods_that_a_loop_drops_before_it_starts_over_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    write_starting_over(&directory.path().join("a"));
    let text = stdout(&run(directory.path(), &["report", "a"]));
    for words in [
        "took longer than 1.00 ms in 10 of 10,000 cycles, ",
        " Of about 10,040 periods 40 began without a wakeup: dropped, ",
        "cycles       periods  without a wakeup  over 1.00 ms",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let cycles = &json(&run(directory.path(), &["report", "a", "--json"]))["cycles"][0];
    for (name, expected) in
        [("cycles", 10_000), ("periods", 0), ("estimated_periods", 10_040), ("estimated_not_woken", 40)]
    {
        assert_eq!(cycles[name].as_u64(), Some(expected), "{name}: {cycles}");
    }
    let compared = stdout(&run(directory.path(), &["compare", "a", "a"]));
    assert!(compared.contains(", about 40 of about 10,040 periods without a wakeup, unobserved 0"), "{compared}");
    let side = &json(&run(directory.path(), &["compare", "a", "a", "--json"]))["b"];
    assert_eq!((side["periods"].as_u64(), side["not_woken"].as_u64()), (Some(10_040), Some(40)), "{side}");
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
        "my-loop fifo:80 took longer than 1.00 ms in 360 or more of at least 59,940 cycles, the longest stretch without a wait that was seen 6.37 ms, 7 cycles \
         in a row.",
        "360 began before the previous cycle had ended; 60 more began without a wakeup that was seen. The loop was seen to catch up",
        "Over the limit: 7 cycles in a row took 6.37 ms without a wait in between that was seen",
        "Command ./my-loop 60, load mixed: ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let text = stdout(&run(directory.path(), &["forecast", "a"]));
    for words in [
        "my-loop fifo:80 every 1.00 ms under mixed: watched for 60 s\n",
        "an hour of `mixed` stands for",
        "; the longest stretch without a wait that was seen: 6.37 ms, 7 cycles in a row",
        "want (assumed)",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// The command was started for its threads, which are followed by name.
#[test]
fn a_command_that_was_started_while_threads_were_followed_is_no_load() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = begin(&directory.path().join("a"), "1");
    writer.followed_mut().asked = vec![Asked::Named("^my-loop").to_string()];
    (0..2_000).for_each(|cycle| writer.push(0, &wakeup((1_000 + cycle) * MS, 30_000, WORK, WORK)));
    end(writer, 0, 61_000 * MS);
    let text = stdout(&run(directory.path(), &["report", "a"]));
    for words in ["with the command (./my-loop 60) running under load (mixed)", "Command ./my-loop 60, load mixed: "] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("Load mixed+") && !text.contains("(mixed+"), "{text}");
}

/// 12 s of a loop that is in time wherever it was seen. A dozen wakeups were not, and after three of these another period has
/// none.
fn write_unseen(path: &Path) {
    let mut writer = begin(path, "4");
    for cycle in (0..12_000).filter(|cycle| cycle % 1_000 != 700 && ![701, 1_701, 2_701].contains(cycle)) {
        writer.push(0, &wakeup((1_000 + cycle) * MS, 30_000, WORK, WORK));
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
    let overruns = "took longer than 1.00 ms in 0 to 3 or more of at least 11,985 cycles, the longest seen 240 us.";
    let unjudged = "The limit on the cycles cannot be judged: 12 wakeups were not seen";
    said(&["report", "a", "--limit", "cycle:max=1ms"], &[overruns, unjudged], 1);
    // The thread was seen to wake again before: at most two periods in a row have no wakeup.
    said(&["report", "a", "--limit", "cycle:max=4ms"], &[overruns], 0);
    said(
        &["forecast", "a"],
        &["0 to 3 or more of at least 11,985 cycles took too long", "12 wakeups were not seen"],
        0,
    );
    said(&["why", "a"], &["done, but 12 wakeups were not seen, and may have."], 0);
    assert_eq!(json(&run(directory.path(), &["why", "a", "--json"]))["unseen"], 12);
}
