//! `punctual compare` on made-up recordings of inputs to a program.

use crate::support::{code, json, run, stderr, stdout};
use punctual_recording::*;
use serde_json::Value;
use std::path::Path;

const MS: u64 = 1_000_000;
const MINUTE_NS: u64 = 60_000 * MS;
/// Keys and Enters of a run, in turn.
const INPUTS: u32 = 48;

/// Which inputs wait for the disk.
#[derive(Clone, Copy, PartialEq)]
enum Waits {
    Enter,
    KeyA,
}

/// Writes a run in which every second input is an Enter, and those that wait do so for a disk, for this long.
fn write(path: &Path, run_id: &str, started_ns: u64, (waits, disk_ns): (Waits, u64)) {
    let provenance = Provenance { run_id: run_id.into(), started_ns, ..Provenance::default() };
    let mut recording = Writer::create_of(RecordingKind::Interaction, path, provenance, Vec::new()).unwrap();
    let mut writer = InteractionWriter::create(recording.directory()).unwrap();
    for number in 0..INPUTS {
        let is_enter = number % 2 == 1;
        // Not all alike, and not the same in every run.
        let own = MS + u64::from(number * 37 % 11) * 40_000 + started_ns / MINUTE_NS * 10_000;
        let is_a = !is_enter && number / 2 % 2 == 0;
        let waits = if waits == Waits::Enter { is_enter } else { is_a };
        let disk = if waits { disk_ns + disk_ns / 100 * u64::from(number % 7) } else { 0 };
        let begin_ns = started_ns + u64::from(number) * 100 * MS;
        writer.push(&Interaction {
            number,
            kind: if is_enter { "enter" } else { "key" }.into(),
            label: if is_enter { "enter" } else { ["a", "b"][number as usize / 2 % 2] }.into(),
            repeat: number / 2 + 1,
            begin_ns,
            injected_ns: begin_ns + 1_000,
            end_ns: begin_ns + 100 * MS,
            seen_ns: Some(begin_ns + own + disk),
            outcome: Some(Outcome::Seen),
            ..Interaction::default()
        });
        for (kind, name, ns) in [("own", "editor", own), ("io", "vda", disk)] {
            if ns > 0 {
                let part = InteractionPart { number, kind: kind.into(), name: name.into(), ns, ..Default::default() };
                writer.push_part(&part);
            }
        }
    }
    let summary = InteractionDocument {
        schema: INTERACTIONS_SCHEMA.into(),
        via: "pty".into(),
        pace: "human".into(),
        program: vec!["editor".into()],
        script: "lines".into(),
        followed: true,
        inputs: INPUTS.into(),
        ..InteractionDocument::default()
    };
    writer.finish(&summary).unwrap();
    let at_ns = started_ns + 100 * MS * u64::from(INPUTS);
    recording.flush().unwrap();
    recording.finish(Ended { reason: EndReason::Completed, detail: None, at_ns }, Vec::new()).unwrap();
}

/// Runs of both sides in turn.
fn write_in_turn(directory: &Path, runs: u64, disk_ns: [u64; 2]) {
    write_that_wait(directory, runs, Waits::Enter, disk_ns);
}

fn write_that_wait(directory: &Path, runs: u64, waits: Waits, disk_ns: [u64; 2]) {
    for (side, (name, disk_ns)) in (0u64..).zip(["before", "after"].into_iter().zip(disk_ns)) {
        std::fs::create_dir(directory.join(name)).unwrap();
        for number in 0..runs {
            let turn = 1 + 2 * number + (side + number) % 2;
            let path = directory.join(name).join(format!("{number}.punctual"));
            write(&path, &format!("{name}{number}"), turn * MINUTE_NS, (waits, disk_ns));
        }
    }
}

#[test]
fn a_disk_that_enter_waits_for_is_named() {
    let directory = tempfile::tempdir().unwrap();
    write_in_turn(directory.path(), 3, [0, 9 * MS]);
    let found = json(&run(directory.path(), &["compare", "before", "after", "--json"]));
    assert_eq!((&found["schema"], &found["exit_code"]), (&"punctual.compare-interact/1".into(), &0.into()));
    assert_eq!(
        (&found["outcome"], &found["standing"], &found["in_turn"]),
        (&"worse".into(), &"systems".into(), &true.into())
    );
    let verdict = found["verdict"].as_str().unwrap();
    assert!(
        verdict.starts_with("Worse: enter is slower: ") && verdict.contains("because of input or output: vda"),
        "{verdict}"
    );
    let kinds = found["kinds"].as_array().unwrap();
    let told: Vec<(&str, &str)> =
        kinds.iter().map(|kind| (kind["kind"].as_str().unwrap(), kind["verdict"].as_str().unwrap())).collect();
    assert_eq!(told, [("enter", "worse"), ("key", "no difference")]);
    let parts = &kinds[0]["figures"][0]["parts"];
    let sum = |side: &str| -> i64 {
        let causes = parts["causes"].as_array().unwrap().iter();
        causes.map(|cause| cause[side].as_i64().unwrap()).sum::<i64>() + parts[format!("rest_{side}")].as_i64().unwrap()
    };
    assert_eq!((sum("a_ns"), sum("b_ns")), (parts["a_ns"].as_i64().unwrap(), parts["b_ns"].as_i64().unwrap()));
    // Both keys were typed often enough, and Enter is the only one of its kind.
    let labels: Vec<&str> =
        found["labels"].as_array().unwrap().iter().map(|label| label["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["a", "b"]);

    let back = json(&run(directory.path(), &["compare", "after", "before", "--json"]));
    assert_eq!(back["outcome"], "better");
    let [there, back] = [&found, &back].map(|answer| answer["kinds"][0]["figures"][0]["difference"].clone());
    assert_eq!(
        [there["low"].as_i64(), there["estimate"].as_i64(), there["high"].as_i64()],
        ["high", "estimate", "low"].map(|limit| back[limit].as_i64().map(|value| -value))
    );

    let text = stdout(&run(directory.path(), &["compare", "before", "after", "--html", "p.html"]));
    assert!(text.starts_with("Worse: enter is slower") && text.contains("By what was typed"), "{text}");
    let page = std::fs::read_to_string(directory.path().join("p.html"));
    assert!(page.is_ok_and(|page| page.contains("What the middle half of enter took")));
}

#[test]
fn one_run_a_side_is_no_verdict_of_the_programs() {
    let directory = tempfile::tempdir().unwrap();
    write_in_turn(directory.path(), 1, [0, 9 * MS]);
    let found = json(&run(directory.path(), &["compare", "before", "after", "--json"]));
    assert_eq!((&found["outcome"], &found["these_runs"]), (&"no verdict".into(), &"no verdict".into()));
    let verdict = found["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("In these two runs the median of enter is "), "{verdict}");
    assert!(verdict.contains("takes at least 2 more runs of each, measured in turn"), "{verdict}");
    let text = stdout(&run(directory.path(), &["compare", "before", "after", "--html", "p.html"]));
    for claimed in ["Worse", "slower", "95 %", "limits hold", "because of"] {
        assert!(!verdict.contains(claimed) && !text.contains(claimed), "{claimed}: {text}");
    }
    for kind in found["kinds"].as_array().unwrap() {
        assert_eq!(kind["verdict"], "no verdict");
        let figure = &kind["figures"][0];
        let (difference, ratio) = (&figure["difference"], &figure["ratio"]);
        assert!(difference["low"].is_null() && difference["estimate"].is_i64() && ratio.is_null(), "{figure}");
    }
    let page = std::fs::read_to_string(directory.path().join("p.html")).unwrap();
    assert!(!page.contains("95 % probability") && page.contains("By kind of input"));
}

#[test]
fn a_key_that_is_slower_is_said_where_its_kind_is_not() {
    let directory = tempfile::tempdir().unwrap();
    // Half of the keys wait: the median of all of them is left open.
    write_that_wait(directory.path(), 4, Waits::KeyA, [0, 12 * MS]);
    let found = json(&run(directory.path(), &["compare", "before", "after", "--json"]));
    let verdict = found["verdict"].as_str().unwrap();
    assert_eq!(found["outcome"], "no difference", "{verdict}");
    assert!(verdict.starts_with("No kind of input differs"), "{verdict}");
    assert!(verdict.contains("; but by itself key a is slower: ") && !verdict.contains("key b"), "{verdict}");
    assert!(verdict.contains("because of input or output: vda"), "{verdict}");
}

#[test]
fn a_program_that_a_signal_ended_is_said_before_all_else() {
    let directory = tempfile::tempdir().unwrap();
    write_in_turn(directory.path(), 3, [0, 0]);
    for run in 0..3 {
        let place = directory.path().join(format!("after/{run}.punctual/interactions.json"));
        let mut summary: Value = serde_json::from_str(&std::fs::read_to_string(&place).unwrap()).unwrap();
        (summary["ended_early"], summary["not_put_in"], summary["exit_code"]) = (true.into(), 33.into(), Value::Null);
        std::fs::write(&place, summary.to_string()).unwrap();
    }
    let found = json(&run(directory.path(), &["compare", "before", "after", "--json"]));
    let verdict = found["verdict"].as_str().unwrap();
    let first = "B was ended by a signal in 3 of 3 runs, with 99 inputs not put in. ";
    assert!(verdict.starts_with(first), "{verdict}");
}

#[test]
fn inputs_with_holes_in_their_evidence_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    write_in_turn(directory.path(), 1, [0, 0]);
    let place = directory.path().join("after/0.punctual/interactions.json");
    let mut summary: Value = serde_json::from_str(&std::fs::read_to_string(&place).unwrap()).unwrap();
    summary["with_holes"] = 3.into();
    std::fs::write(&place, summary.to_string()).unwrap();
    let said = "a part of the evidence is missing for 3 inputs";
    let report = json(&run(directory.path(), &["report", "after/0.punctual", "--json"]));
    assert!(report["counts"]["with_holes"] == 3 && report["warnings"].to_string().contains(said), "{report}");
    let found = json(&run(directory.path(), &["compare", "before", "after", "--json"]));
    let notes = found["notes"].to_string();
    assert!(notes.contains(&format!("B: {said}")) && !notes.contains("A: a part"), "{notes}");
}

#[test]
fn what_is_missing_of_a_recording_is_said_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    write_in_turn(directory.path(), 3, [0, 9 * MS]);
    std::fs::remove_dir_all(at("after/2.punctual/interaction_parts")).unwrap();
    let found = json(&run(directory.path(), &["compare", "before", "after", "--json"]));
    let notes = found["notes"].to_string();
    assert!(notes.contains("B: what the time went to is missing in 1 recording (interaction_parts/)"), "{notes}");
    assert!(!found["verdict"].as_str().unwrap().contains("because of"), "{found}");

    std::fs::remove_dir_all(at("after/1.punctual/interactions")).unwrap();
    let missing = "1.punctual: the table of its 48 inputs is missing (interactions/)";
    // As when the disk was full at the end.
    std::fs::remove_file(at("before/0.punctual/interactions.json")).unwrap();
    let broke_off = "before/0.punctual: broke off before the summary of its inputs (interactions.json) was written, as on a full \
                     disk or when killed in its first second";
    let cases: [(&[&str], &str); 4] = [
        (&["compare", "before/1.punctual", "after/1.punctual"], missing),
        (&["compare", "before", "after"], broke_off),
        (&["report", "before/0.punctual"], broke_off),
        (&["report", "before/0.punctual", "--json"], broke_off),
    ];
    for (words, expected) in cases {
        let output = run(directory.path(), words);
        let said = if words.contains(&"--json") { json(&output)["error"].to_string() } else { stderr(&output) };
        assert!(code(&output) == 1 && said.contains(expected) && said.lines().count() == 1, "{words:?}: {said}");
    }
}

#[test]
fn what_cannot_be_compared_is_said_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    write_in_turn(directory.path(), 1, [0, 0]);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/record.punctual");
    let cases: [(&[&str], u8, &str); 5] = [
        (&["before", golden], 1, "before/0.punctual holds inputs to a program and "),
        (&[golden, "after"], 1, "only recordings of the same kind can be compared"),
        (&["before", "after", "before"], 129, "3 sides: recordings of inputs to a program are compared two at a time"),
        (&["before", "after", "--device", "modem"], 129, "recordings of inputs to a program have none"),
        (&["before/0.punctual,before/0.punctual", "after"], 1, "the same run is given twice"),
    ];
    for (sides, expected, words) in cases {
        let output = run(directory.path(), &[&["compare"], sides].concat());
        let said = stderr(&output);
        assert_eq!(code(&output), i32::from(expected), "{said}");
        assert!(said.contains(words) && said.lines().count() == 1 && stdout(&output).is_empty(), "{said}");
    }
    // The answer is not lost when the page cannot be written.
    let output = run(directory.path(), &["compare", "before", "after", "--html", "/dev/full", "--json"]);
    assert!(code(&output) != 0 && json(&output)["schema"] == "punctual.compare-interact/1");
}
