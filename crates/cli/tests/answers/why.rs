//! `punctual why` on made-up recordings, damaged and hostile ones among them.

use crate::preempted::preempted;
use crate::support::{code, json, run, stderr, stdout};
use punctual_blame::{Kind, VOID_PAGE_TEXT};
use punctual_recording::episode::{Frame, StackSample};
use punctual_recording::*;
use std::path::Path;
use std::process::Command;

const BEGAN_NS: u64 = 1_000_000_000;

/// An episode in which another thread had the CPU for the whole lateness.
fn episode(id: u64) -> Episode {
    let expected_ns = BEGAN_NS + id * 10_000_000;
    Episode {
        sample_period_ns: 1_000_000,
        frames: vec![Frame { function: "function".into(), module: "kernel".into() }],
        samples: vec![StackSample {
            at_ns: expected_ns + 100_000,
            cpu: 0,
            tid: 9,
            context: 0,
            at_late_interrupt: false,
            name: 1,
            frames: vec![0],
        }],
        ..preempted(id, expected_ns, "other")
    }
}

/// Writes a recording with this many episodes.
fn write(path: &Path, episodes: u64, summary: &RecorderSummary, ended: Option<Ended>) {
    let provenance = Provenance { started_ns: BEGAN_NS, ..Provenance::default() };
    let mut writer = Writer::create(path, provenance, Vec::new()).unwrap();
    writer.flush().unwrap();
    let mut evidence = EpisodeWriter::create(writer.directory()).unwrap();
    for id in 1..=episodes {
        evidence.push(&episode(id)).unwrap();
    }
    write_recorder_summary(writer.directory(), summary).unwrap();
    write_handler_sums(writer.directory(), &[]).unwrap();
    if let Some(ended) = ended {
        writer.finish(ended, Vec::new()).unwrap();
    }
}

fn summary(late: u64, kept: u64) -> RecorderSummary {
    let threshold_ns = Some(100_000);
    RecorderSummary { threshold: "100us".into(), threshold_ns, late, kept, cpus: 2, ..RecorderSummary::default() }
}

fn completed() -> Option<Ended> {
    Some(Ended { reason: EndReason::Completed, detail: None, at_ns: BEGAN_NS })
}

/// Changes the line of the first episode.
fn change(recording: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = recording.join("events/episodes.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut line = serde_json::from_str(first).unwrap();
    change(&mut line);
    std::fs::write(&path, format!("{line}\n{rest}")).unwrap();
}

fn assert_one_line(output: &std::process::Output, telling: &str) {
    assert_eq!(code(output), 1, "{}", stderr(output));
    assert_eq!(stderr(output).lines().count(), 1, "{}", stderr(output));
    assert!(stderr(output).contains(telling), "{}", stderr(output));
    assert_eq!(stdout(output), "");
}

#[test]
fn a_recording_that_failed_counts_what_stands_there_and_says_why_it_ended() {
    let directory = tempfile::tempdir().unwrap();
    let detail = Some("a.punctual: cannot write: no space left on the device".to_owned());
    let failed = Ended { reason: EndReason::Failed, detail, at_ns: 0 };
    write(&directory.path().join("a.punctual"), 3, &summary(0, 0), Some(failed));
    let text = stdout(&run(directory.path(), &["why", "a.punctual", "--all"]));
    assert!(text.starts_with("Cut short. 3 wakeups were later than 100 us"), "{text}");
    assert!(
        text.lines().next().unwrap().ends_with("It failed: a.punctual: cannot write: no space left on the device.")
    );
    assert!(text.contains("flight recorder, cut short, counts at least: late 3   kept 3 (0 of them void)"), "{text}");
    let answer = json(&run(directory.path(), &["why", "a.punctual", "--json"]));
    assert_eq!((&answer["cut"], &answer["recorder"]["late"]), (&true.into(), &3.into()));
    // If the disk had no room for the recording's end, the recorder's end may say so.
    let failure = Some("a: cannot write: no space left on the device".to_owned());
    write(&directory.path().join("c.punctual"), 3, &RecorderSummary { failure, ..summary(5, 3) }, None);
    let text = stdout(&run(directory.path(), &["why", "c.punctual"]));
    let verdict = text.lines().next().unwrap();
    assert!(verdict.ends_with("It failed: a: cannot write: no space left on the device."), "{verdict}");
    // A recording that ended in order is believed.
    write(&directory.path().join("b.punctual"), 3, &summary(9, 3), completed());
    let answer = json(&run(directory.path(), &["why", "b.punctual", "--json"]));
    assert_eq!((&answer["cut"], &answer["recorder"]["late"]), (&false.into(), &9.into()));
}

#[test]
fn where_no_wakeup_was_measured_it_does_not_say_that_none_was_late() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a.punctual"), 0, &summary(0, 0), completed());
    let text = stdout(&run(directory.path(), &["why", "a.punctual"]));
    assert!(text.starts_with("No wakeup was measured, so nothing can be said of late ones."), "{text}");
}

#[test]
fn what_was_lost_to_slow_writing_is_counted_apart() {
    let directory = tempfile::tempdir().unwrap();
    let counted = RecorderSummary { over_budget: 4, writing_behind: 5, ..summary(10, 1) };
    write(&directory.path().join("a.punctual"), 1, &counted, completed());
    let text = stdout(&run(directory.path(), &["why", "a.punctual", "--all"]));
    assert!(text.contains("without evidence 9 (5 of them not written)"), "{text}");
    assert!(text.contains("4 of 10 late wakeups left no evidence because the budget was used up"), "{text}");
    assert!(text.contains("5 of 10 late wakeups left no evidence because it could not be written"), "{text}");
    // The page says everything that the text says about what is missing.
    assert_eq!(code(&run(directory.path(), &["why", "a.punctual", "--html", "a.html"])), 0);
    let page = std::fs::read_to_string(directory.path().join("a.html")).unwrap();
    let notes: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("note: ")).collect();
    assert!(notes.len() >= 2 && notes.iter().all(|note| page.contains(note)), "{notes:?}");
    let answer = json(&run(directory.path(), &["why", "a.punctual", "--json"]));
    assert_eq!(answer["recorder"]["writing_behind"], 5);
}

/// The first line and the table give the same count of what is left out.
#[test]
fn what_is_left_out_is_counted_once() {
    let directory = tempfile::tempdir().unwrap();
    let told = |name: &str, summary: RecorderSummary, episodes: u64, ended: Option<Ended>| {
        write(&directory.path().join(name), episodes, &summary, ended);
        stdout(&run(directory.path(), &["why", name, "--all"]))
    };
    for (name, ended) in [("a.punctual", None), ("b.punctual", completed())] {
        let text = told(name, summary(25, 5), 5, ended);
        assert!(
            text.lines()
                .next()
                .unwrap()
                .contains("Left out of these shares: 20 without evidence. So 20 of 25 late wakeups are not explained."),
            "{text}"
        );
        assert!(text.contains("late 25   kept 5 (0 of them void)   without evidence 20   "), "{text}");
        assert!(text.contains("20 of 25 late wakeups had no evidence yet when this was counted"), "{text}");
    }
    // The last count is older than the episodes, though the recording ended.
    let text = told("c.punctual", RecorderSummary { over_budget: 1, ..summary(10, 4) }, 19, completed());
    assert!(text.contains("late 20   kept 19 (0 of them void)   without evidence 1   "), "{text}");
    let first = text.lines().next().unwrap();
    assert!(
        first.contains("Left out of these shares: 1 without evidence.") && !first.contains("not explained"),
        "{text}"
    );
}

#[test]
fn hostile_episodes_are_one_clear_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path, 2, &summary(2, 2), completed());
    let sound = std::fs::read(path.join("events/episodes.jsonl")).unwrap();
    let forms: [&[&str]; 3] = [&[], &["--folded"], &["--html", "why.html"]];
    let all = |telling: &str| {
        for form in forms {
            assert_one_line(&run(directory.path(), &[&["why", "a.punctual"], form].concat()), telling);
        }
        std::fs::write(path.join("events/episodes.jsonl"), &sound).unwrap();
    };
    change(&path, |line| line["samples"][0][6] = vec![0; 20_000].into());
    all("line 1 is damaged");
    change(&path, |line| line["total_ns"] = (1_u64 << 62).into());
    all("line 1 is damaged");
    change(&path, |line| line["sample_period_ns"] = u64::MAX.into());
    all("line 1 is damaged");
    // As deep and as late as a reader believes at all.
    change(&path, |line| {
        let deep = punctual_recording::episode::MAX_FRAMES as u32;
        line["samples"][0][6] = (0..deep).collect();
        line["frames"] =
            (0..deep).map(|depth| serde_json::json!({"function": format!("f{depth}"), "module": "m"})).collect();
        line["total_ns"] = (30 * 24 * 3_600_000_000_000_u64).into();
    });
    for form in forms.into_iter().chain([&["--json"][..], &["--episode", "1"]]) {
        let output = run(directory.path(), &[&["why", "a.punctual"], form].concat());
        assert_eq!(code(&output), 0, "{form:?} {}", stderr(&output));
    }
}

#[test]
fn names_cannot_make_lines_or_turn_them_around() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path, 1, &summary(1, 1), completed());
    change(&path, |line| {
        line["victim"]["name"] = "victim\nEpisode 9: nobody".into();
        line["names"][1] = "\u{202e}other\u{1b}[2J".into();
    });
    for words in [&["why", "a.punctual"][..], &["why", "a.punctual", "--json"], &["why", "a.punctual", "--folded"]] {
        let text = stdout(&run(directory.path(), words));
        assert!(text.contains("other") && !text.contains(['\u{202e}', '\u{1b}']), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("Episode 9")), "{text}");
    }
}

#[test]
fn pipes_in_the_place_of_files_are_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for (number, file) in ["recording.json", "events/recorder.json", "events/episodes.jsonl"].into_iter().enumerate() {
        let name = format!("{number}.punctual");
        let path = directory.path().join(&name);
        write(&path, 1, &summary(1, 1), completed());
        std::fs::remove_file(path.join(file)).unwrap();
        assert!(Command::new("mkfifo").arg(path.join(file)).status().unwrap().success());
        let output = run(directory.path(), &["why", &name]);
        assert_one_line(&output, "it is a pipe, a socket or a device, not a file");
        assert!(stderr(&output).contains(file), "{}", stderr(&output));
    }
}

#[test]
fn nothing_is_written_into_the_recording() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path, 1, &summary(1, 1), completed());
    let document = std::fs::read(path.join("recording.json")).unwrap();
    for command in ["why", "report"] {
        let output = run(directory.path(), &[command, "a.punctual", "--html", "a.punctual/recording.json"]);
        assert_one_line(&output, "it is inside the recording");
    }
    let output = run(directory.path(), &["why", "a.punctual", "--perfetto", "a.punctual/events/new"]);
    assert_one_line(&output, "it is inside the recording");
    assert_eq!(std::fs::read(path.join("recording.json")).unwrap(), document);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_in_the_answer_too() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a.punctual"), 1, &summary(1, 1), completed());
    for option in ["--html", "--perfetto"] {
        let output = run(directory.path(), &["why", "a.punctual", "--json", option, "/dev/full"]);
        let answer = json(&output);
        assert_eq!((code(&output), &answer["exit_code"]), (1, &1.into()));
        assert_eq!(answer["error"], "cannot write /dev/full: no space left on the disk");
        assert_eq!(answer["episodes"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn episodes_that_are_gone_or_never_were_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path, 1, &summary(1, 1), completed());
    let output = run(directory.path(), &["why", "a.punctual", "--episode", "2"]);
    assert_eq!(code(&output), 129);
    assert!(stderr(&output).contains("there is one, number 1"), "{}", stderr(&output));
    std::fs::write(path.join("events/episodes.jsonl"), "").unwrap();
    assert_one_line(
        &run(directory.path(), &["why", "a.punctual", "--episode", "1"]),
        "the evidence of episode 1 is gone",
    );
    let text = stdout(&run(directory.path(), &["why", "a.punctual"]));
    assert!(
        text.starts_with("1 wakeup was later than 100 us, and the evidence of the one that was kept is gone"),
        "{text}"
    );
}

#[test]
fn what_the_recorder_counted_is_read_before_anything_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path, 1, &summary(1, 1), completed());
    let answer = json(&run(directory.path(), &["why", "a.punctual", "--all-handlers", "--json"]));
    assert_eq!(answer["recorder"]["late"], 1);
    std::fs::write(path.join("events/recorder.json"), "{").unwrap();
    assert_one_line(&run(directory.path(), &["why", "a.punctual", "--all-handlers"]), "recorder.json");
    let output = run(directory.path(), &["why", "a.punctual", "--all-handlers", "--json"]);
    assert!(code(&output) == 1 && json(&output)["error"].is_string(), "{}", stdout(&output));
}

/// Whose lateness it is depends on what was measured: the answer and its page say where that is not what was asked for.
#[test]
fn what_was_not_measured_as_it_was_asked_for_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path, 1, &summary(1, 1), completed());
    let document = path.join("recording.json");
    let text = std::fs::read_to_string(&document).unwrap();
    assert_eq!(text.matches("\"fallbacks\":[]").count(), 1);
    std::fs::write(&document, text.replace("\"fallbacks\":[]", &format!("\"fallbacks\":[\"{WAS_STOPPED}\"]"))).unwrap();
    let output = run(directory.path(), &["why", "a.punctual", "--html", "a.html"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains(&format!("\nnote: {WAS_STOPPED}\n")), "{}", stdout(&output));
    let page = std::fs::read_to_string(directory.path().join("a.html")).unwrap();
    assert!(page.contains("punctual itself was stopped meanwhile"), "{page}");
    assert_eq!(json(&run(directory.path(), &["why", "a.punctual", "--json"]))["conditions"][0], WAS_STOPPED);
}

#[test]
fn the_page_of_every_kind_is_printed_without_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    let mut printed = 0;
    for kind in Kind::ALL {
        let output = run(directory.path(), &["why", "--explain", kind.name()]);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{kind:?}");
        assert_eq!(stdout(&output), kind.page_text());
        // A table for people may call it something else.
        assert_eq!(stdout(&run(directory.path(), &["why", "--explain", kind.label()])), kind.page_text());
        let told = json(&run(directory.path(), &["why", "--explain", kind.name(), "--json"]));
        assert_eq!((told["kind"].as_str(), told["text"].as_str()), (Some(kind.name()), Some(kind.page_text())));
        assert_eq!(told["page"].as_str(), Some(kind.page().as_str()));
        printed += 1;
    }
    assert_eq!(printed, Kind::ALL.len());
}

#[test]
fn words_of_the_first_sentence_have_pages_too_whatever_recording_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let explained = |words: &[&str]| {
        let output = run(directory.path(), words);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{words:?}");
        stdout(&output)
    };
    for void in ["void", "without evidence"] {
        assert_eq!(explained(&["why", "--explain", void]), VOID_PAGE_TEXT);
    }
    for (word, kind) in [("out of sight", Kind::Blind), ("ordinary path", Kind::KernelWake), ("host", Kind::Steal)] {
        assert_eq!(explained(&["why", "--explain", word]), kind.page_text());
    }
    assert_eq!(explained(&["why", "a.punctual", "--explain", "wait"]), Kind::Wait.page_text());
    let told = json(&run(directory.path(), &["why", "--explain", "void", "--json"]));
    assert_eq!((told["kind"].as_str(), told["page"].as_str()), (Some("void"), Some("docs/void.md")));
}

#[test]
fn a_directory_of_several_recordings_is_refused_with_their_names() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["one.punctual", "two.punctual"] {
        let path = directory.path().join("runs").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, 1, &summary(1, 1), completed());
    }
    for command in [&["why", "runs"][..], &["log", "show", "runs"]] {
        let output = run(directory.path(), command);
        assert_eq!(code(&output), 129, "{command:?}");
        for name in ["holds 2 recordings", "one.punctual", "two.punctual"] {
            assert!(stderr(&output).contains(name), "{command:?}: {}", stderr(&output));
        }
        // The path can be copied, with the command.
        let example = format!("`punctual {} runs/", command[..command.len() - 1].join(" "));
        assert!(stderr(&output).contains(&example), "{command:?}: {}", stderr(&output));
    }
}
