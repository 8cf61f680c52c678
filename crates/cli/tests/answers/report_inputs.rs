//! `punctual report` on made-up recordings of inputs to a program.

use crate::support::{code, json, run};
use punctual_recording::*;
use std::path::Path;

const MS: u64 = 1_000_000;

/// An input of a kind, begun at a time and seen after another one, ms.
fn input(number: u32, kind: &str, begin_ms: u64, seen_ms: Option<u64>, outcome: Outcome) -> Interaction {
    let begin_ns = begin_ms * MS;
    Interaction {
        number,
        kind: kind.into(),
        label: "a".into(),
        repeat: number + 1,
        begin_ns,
        injected_ns: begin_ns + 1_000,
        end_ns: begin_ns + 100 * MS,
        seen_ns: seen_ms.map(|seen_ms| begin_ns + seen_ms * MS),
        outcome: Some(outcome),
        ..Interaction::default()
    }
}

/// Writes a recording of inputs to an editor.
fn write(path: &Path, inputs: &[Interaction]) {
    write_with(path, inputs, &[]);
}

/// The same with where their time went.
fn write_with(path: &Path, inputs: &[Interaction], parts: &[InteractionPart]) {
    write_with_code(path, inputs, parts, &[], None);
}

/// The same with the code that worked for them, by input.
fn write_with_code(
    path: &Path,
    inputs: &[Interaction],
    parts: &[InteractionPart],
    code: &[Vec<InputCode>],
    about: Option<CodeDocument>,
) {
    let mut recording = Writer::create_of(RecordingKind::Interaction, path, Provenance::default(), Vec::new()).unwrap();
    let mut writer = InteractionWriter::create(recording.directory()).unwrap();
    inputs.iter().for_each(|input| writer.push(input));
    parts.iter().for_each(|part| writer.push_part(part));
    assert!(code.iter().all(|rows| writer.push_code(rows)));
    let summary = InteractionDocument {
        schema: INTERACTIONS_SCHEMA.into(),
        via: "pty".into(),
        pace: "human".into(),
        program: vec!["editor".into()],
        followed: true,
        inputs: inputs.len() as u64,
        code: about,
        ..InteractionDocument::default()
    };
    writer.finish(&summary).unwrap();
    recording.flush().unwrap();
    let ended = Ended { reason: EndReason::Completed, detail: None, at_ns: 100_000 * MS };
    recording.finish(ended, Vec::new()).unwrap();
}

#[test]
fn how_long_inputs_follow_one_another_leaves_out_those_whose_beginning_is_not_known() {
    let directory = tempfile::tempdir().unwrap();
    let mut inputs: Vec<Interaction> =
        (0..6).map(|number| input(number, "key", 1_000 * u64::from(number + 1), Some(200), Outcome::Seen)).collect();
    inputs.push(input(6, START, 100, Some(900), Outcome::Seen));
    inputs.push(input(7, BEGAN_BEFORE, 500, Some(900), Outcome::Seen));
    write(&directory.path().join("a.punctual"), &inputs);
    let found = json(&run(directory.path(), &["report", "a.punctual", "--interarrival", "100ms", "--json"]));
    let events = &found["interarrival"][0];
    assert!(events["events"] == 6 && events["late"] == 6, "{found}");
    // Their number, their mean distance and its deviation, as in the paper's Table 2.
    assert!(events["mean_ns"] == 1_000_000_000_u64 && events["deviation_ns"] == 0, "{found}");
}

#[test]
fn keys_that_are_taken_together_are_one_seen_end_and_said_so() {
    let directory = tempfile::tempdir().unwrap();
    // Two keys while the program works, and the one whose output shows all three.
    let merged = |number: u32, begin_ms, into| Interaction {
        merged_into: Some(into),
        ..input(number, "key", begin_ms, None, Outcome::Merged)
    };
    let all = [merged(0, 1_000, 1), merged(1, 1_150, 2), input(2, "key", 1_300, Some(50), Outcome::Seen)];
    write(&directory.path().join("a.punctual"), &all);
    let found = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    assert!(found["counts"]["merged"] == 2 && found["counts"]["seen"] == 1, "{found}");
    let said = "2 inputs were taken together with a later one, which was seen up to 350 ms after them";
    assert!(found["warnings"].to_string().contains(said), "{}", found["warnings"]);
    // A limit is for all three.
    for (limit, exceeded) in [("max=349ms", true), ("max=351ms", false)] {
        let output = run(directory.path(), &["report", "a.punctual", "--limit", limit, "--json"]);
        let answer = json(&output);
        let judged = &answer["limits"][0];
        assert_eq!(code(&output), if exceeded { 2 } else { 0 }, "{judged}");
        assert!(judged["found_ns"] == 350_000_000 && judged["exceeded"] == exceeded, "{judged}");
    }
}

/// The code of a program's own work is below its part, and summed up for all inputs but the start.
#[test]
fn code_that_worked_is_told_by_input_and_for_all_together() {
    let directory = tempfile::tempdir().unwrap();
    let inputs = [
        input(0, "key", 1_000, Some(24), Outcome::Seen),
        input(1, "key", 1_200, Some(3), Outcome::Seen),
        input(2, START, 100, Some(50), Outcome::Seen),
    ];
    let own = |number: u32, ms: u64| InteractionPart {
        number,
        kind: "own".into(),
        name: "editor".into(),
        ns: ms * MS,
        ..InteractionPart::default()
    };
    let row = |number: u32, depth: u32, samples: u64, function: &str| {
        let [kind, name] = ["own", "editor"].map(str::to_owned);
        InputCode { number, depth, samples, kind, name, function: function.to_owned() }
    };
    let code = [
        vec![row(0, 0, 0, "main"), row(0, 1, 1, "on_key"), row(0, 2, 17, "wrap"), row(0, 2, 6, "draw")],
        vec![row(1, 0, 0, "main"), row(1, 1, 3, "save")],
        vec![row(2, 0, 40, "load")],
    ];
    let about = CodeDocument {
        sample_rate: 1_000,
        sample_clock: Some("cpu-clock".into()),
        samples: 67,
        unnamed: 3,
        without_names: vec!["/usr/bin/editor".into()],
        ..CodeDocument::default()
    };
    let path = directory.path().join("a.punctual");
    write_with_code(&path, &inputs, &[own(0, 24), own(1, 3), own(2, 50)], &code, Some(about));
    let found = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    let tree = &found["inputs"][0]["parts"][0]["code"];
    assert_eq!((&tree["samples"], &tree["calls"][0]["name"]), (&24.into(), &"main".into()), "{tree}");
    assert_eq!(tree["calls"][0]["children"][0]["children"][0]["name"], "wrap", "the largest is first: {tree}");
    assert_eq!(found["longest"][0]["parts"][0]["code"], *tree);
    // The start is in no cause.
    assert_eq!((&found["causes"][0]["code"]["samples"], &found["sampling"]["samples"]), (&27.into(), &67.into()));
    let text = String::from_utf8(run(directory.path(), &["report", "a.punctual"]).stdout).unwrap();
    for line in [
        "24 samples: 71 % wrap, 25 % draw, 4 % on_key",
        "mostly main > on_key > wrap",
        "code of the work of editor, 27 samples: 63 % wrap, 22 % draw, 11 % save",
        "code: 67 samples at work for inputs, 1,000 a second on each CPU by cpu-clock; 3 of them without a function's name \
         (/usr/bin/editor)",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    // A recording that was cut short has no trees; the rest is shown.
    std::fs::remove_dir_all(path.join("interaction_code")).unwrap();
    let bare = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    assert_eq!(
        (&bare["inputs"][0]["parts"][0]["code"], &bare["verdict"]),
        (&serde_json::Value::Null, &found["verdict"])
    );
}

/// The thread that types takes a CPU from the program: that much of the waiting is nobody's.
#[test]
fn what_punctual_took_itself_is_told_and_taken_out() {
    let directory = tempfile::tempdir().unwrap();
    let part = |number: u32, kind: &str, name: &str, ms: u64| InteractionPart {
        number,
        kind: kind.into(),
        name: name.into(),
        ns: ms * MS,
        ..InteractionPart::default()
    };
    let inputs = [input(0, "key", 1_000, Some(5), Outcome::Seen), input(1, "key", 1_200, Some(3), Outcome::Seen)];
    let own = part(0, "same_priority", "punctual (this recording)", 2);
    write_with(
        &directory.path().join("a.punctual"),
        &inputs,
        &[part(0, "own", "editor", 3), own, part(1, "own", "editor", 3)],
    );
    let found = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    let waiting = &found["waiting"];
    assert_eq!((&waiting["own_work_ns"], &waiting["without_own_work_ns"]), (&(2 * MS).into(), &(6 * MS).into()));
    assert_eq!([0, 1].map(|at: usize| found["inputs"][at]["own_work_ns"].as_u64()), [Some(2 * MS), Some(0)]);
    let text = String::from_utf8(run(directory.path(), &["report", "a.punctual"]).stdout).unwrap();
    assert!(text.contains("punctual's own work: 2.00 ms of that (25.0 %); without it 6.00 ms"), "{text}");
}

/// A key that a signal answers, or nobody: whoever asks for a limit is told that it may be broken.
#[test]
fn what_may_be_an_answer_keeps_no_limit() {
    let directory = tempfile::tempdir().unwrap();
    let perhaps = |input: Interaction, ms: u64| Interaction { perhaps_ns: Some(input.begin_ns + ms * MS), ..input };
    let all = [
        input(0, "key", 1_000, Some(5), Outcome::Seen),
        perhaps(input(1, "key", 1_200, Some(1), Outcome::Seen), 30),
        perhaps(input(2, "key", 1_400, None, Outcome::Unsure), 40),
    ];
    write(&directory.path().join("a.punctual"), &all);
    for (limit, kept) in [("max=41ms", true), ("max=39ms", false), ("max=4ms", false)] {
        let output = run(directory.path(), &["report", "a.punctual", "--limit", limit, "--json"]);
        let answer = json(&output);
        let (judged, verdict) = (&answer["limits"][0], answer["verdict"].as_str().unwrap());
        let exceeded = limit == "max=4ms";
        assert_eq!(code(&output), if exceeded { 2 } else { u8::from(!kept).into() }, "{answer}");
        assert!(judged["exceeded"] == exceeded && judged["perhaps_exceeded"] == !kept, "{judged}");
        let doubt = "After 2 inputs something came out whose cause is not known, up to 40.0 ms after one: if that was the answer, it took so long.";
        assert!(verdict.contains(doubt), "{verdict}");
        assert_eq!(
            verdict.contains("Whether max of all keeps to 39.0 ms is not known."),
            limit == "max=39ms",
            "{verdict}"
        );
    }
    write(&directory.path().join("b.punctual"), &all[2..]);
    let verdict = json(&run(directory.path(), &["report", "b.punctual", "--json"]))["verdict"].to_string();
    assert!(
        verdict.contains("editor answered none of 1 input for certain. After 1 input something came out"),
        "{verdict}"
    );
}

#[test]
fn a_program_that_hangs_is_said_to_and_nothing_counts_as_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let said = |name: &str, outcomes: &[Outcome]| {
        let seen = |outcome: Outcome| (outcome == Outcome::Seen).then_some(1);
        let one = |(number, &outcome): (u32, &Outcome)| {
            input(number, "key", 1_000 + 150 * u64::from(number), seen(outcome), outcome)
        };
        let inputs: Vec<Interaction> = (0..).zip(outcomes).map(one).collect();
        write(&directory.path().join(name), &inputs);
        let output = run(directory.path(), &["report", name, "--json"]);
        (code(&output), json(&output)["verdict"].as_str().unwrap().to_owned())
    };
    let (hangs, verdict) = said("a.punctual", &[Outcome::Seen, Outcome::Unfinished, Outcome::Unread, Outcome::Unread]);
    let words = " It was still at work on key a when the script was through, and 2 inputs after that were not taken.";
    assert!(hangs == 1 && verdict.contains(words), "{verdict}");
    let (hangs, verdict) = said("b.punctual", &[Outcome::Unfinished, Outcome::Unread]);
    assert!(hangs == 1 && verdict.contains("answered none of 2 inputs. It was still at work on key a"), "{verdict}");
    // The last one of all may take its time, and a window may ignore what it likes.
    for (name, last) in [("c.punctual", Outcome::Unfinished), ("d.punctual", Outcome::Seen)] {
        let (hangs, verdict) = said(name, &[Outcome::Seen, Outcome::Unread, last]);
        assert!(hangs == 0 && !verdict.contains("still at work"), "{verdict}");
    }
}

#[test]
fn what_was_typed_without_pauses_is_not_taken_for_what_a_person_meets() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a.punctual"), &[input(0, "key", 1_000, Some(1), Outcome::Seen)]);
    let said = "typed without any pause: no person meets this";
    let warnings = || json(&run(directory.path(), &["report", "a.punctual", "--json"]))["warnings"].to_string();
    assert!(!warnings().contains(said), "{}", warnings());
    let place = directory.path().join("a.punctual/interactions.json");
    let text = std::fs::read_to_string(&place).unwrap();
    std::fs::write(&place, text.replace("\"human\"", "\"full\"")).unwrap();
    assert!(warnings().contains(said), "{}", warnings());
}

#[test]
fn a_limit_on_a_quantile_of_few_inputs_says_that_it_judged_the_longest() {
    let directory = tempfile::tempdir().unwrap();
    let verdict = |inputs: u32| {
        let one = |number: u32| input(number, "key", 1_000 + 150 * u64::from(number), Some(1), Outcome::Seen);
        let (name, inputs) = (format!("{inputs}.punctual"), (0..inputs).map(one).collect::<Vec<_>>());
        write(&directory.path().join(&name), &inputs);
        let answer = json(&run(directory.path(), &["report", &name, "--limit", "p99=16ms", "--json"]));
        answer["verdict"].as_str().unwrap().to_owned()
    };
    let said = " It takes 100 inputs to tell p99 of all from the longest, so the longest of 40 inputs was judged.";
    let (few, many) = (verdict(40), verdict(100));
    assert!(few.ends_with(said) && !many.contains("It takes"), "{few} {many}");
}
