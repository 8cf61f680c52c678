//! `punctual compare` and `punctual report --interarrival` on made-up recordings.

#[path = "../support/two_sides.rs"]
mod two_sides;

use crate::support::{self, code, json, run, stderr, stdout};
use punctual_recording::{ACTIVATIONS_SCHEMA, ActivationDocument, DeviceSummary, RecorderSummary, RequestTimes, Stage};
use std::path::Path;
use two_sides::{MS, Made, PLAIN, write};

fn ratio(answer: &serde_json::Value, stage: &str) -> f64 {
    let stages = answer["stages"].as_array().unwrap();
    stages.iter().find(|row| row["stage"] == stage).unwrap()["ratio"]["estimate"].as_f64().unwrap()
}

/// Runs of each side in directories of their own, made in the order A B B A.
fn write_in_turn<const SIDES: usize>(directory: &Path, names: [&str; SIDES], runs: u64, made: [&Made<'_>; SIDES]) {
    let sides = SIDES as u64;
    for (index, (name, made)) in names.into_iter().zip(made).enumerate() {
        std::fs::create_dir(directory.join(name)).unwrap();
        for number in 0..runs {
            let turn = sides * number + (index as u64 + number) % sides;
            let run_id = format!("{name}{number}");
            let started_ns = PLAIN.started_ns + turn * 60_000 * MS;
            write(
                &directory.join(name).join(format!("{number}.punctual")),
                &Made { run_id: &run_id, started_ns, ..*made },
            );
        }
    }
}

#[test]
fn one_run_a_side_is_no_verdict_of_the_systems() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write(&at("a"), &PLAIN);
    write(&at("later"), &Made { run_id: "later", scale: 300, ..PLAIN });
    write(&at("a-little-later"), &Made { run_id: "little", scale: 130, ..PLAIN });
    let found = json(&run(directory.path(), &["compare", "a", "later", "--json"]));
    assert_eq!(
        (&found["outcome"], &found["standing"], &found["these_runs"]),
        (&"no verdict".into(), &"too few runs".into(), &"worse".into())
    );
    assert_eq!((&found["more_runs_a"], &found["more_runs_b"]), (&2.into(), &2.into()));
    let verdict = found["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("B is later in these two runs: its p"), "{verdict}");
    assert!(verdict.contains("takes at least 2 more runs of each, measured in turn"), "{verdict}");
    assert!(!verdict.contains("Worse") && !verdict.contains("Better"), "{verdict}");
    let little = json(&run(directory.path(), &["compare", "a", "a-little-later", "--json"]));
    let verdict = little["verdict"].as_str().unwrap();
    assert_eq!(little["these_runs"], "no difference", "{verdict}");
    assert!(
        little["runs_needed"].as_u64().unwrap() > 3 && verdict.contains("to find a difference of this size"),
        "{verdict}"
    );
}

#[test]
fn sides_that_were_made_one_after_the_other_are_no_verdict() {
    let directory = tempfile::tempdir().unwrap();
    for (side, from, scale) in [("a", 0, 100), ("b", 3, 300)] {
        std::fs::create_dir(directory.path().join(side)).unwrap();
        for number in 0..3 {
            let started_ns = PLAIN.started_ns + (from + number) * 60_000 * MS;
            let run_id = format!("{side}{number}");
            let path = directory.path().join(side).join(format!("{number}.punctual"));
            write(&path, &Made { run_id: &run_id, scale, started_ns, seconds: 5, ..PLAIN });
        }
    }
    let found = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    assert_eq!(
        (&found["outcome"], &found["standing"], &found["these_runs"]),
        (&"no verdict".into(), &"one side after the other".into(), &"worse".into())
    );
    assert!(found["verdict"].as_str().unwrap().starts_with("B is later in these runs:"), "{}", found["verdict"]);
}

#[test]
fn a_machine_with_itself_and_with_a_later_one() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write(&at("alone"), &PLAIN);
    write_in_turn(directory.path(), ["a", "same"], 3, [&PLAIN; 2]);
    let later = Made { load: "mixed", scale: 300, swappiness: 10, ..PLAIN };
    write_in_turn(directory.path(), ["before", "later"], 3, [&PLAIN, &later]);

    let same = json(&run(directory.path(), &["compare", "a", "same", "--json"]));
    assert_eq!(same["schema"], "punctual.compare/1");
    assert_eq!((&same["outcome"], &same["exit_code"]), (&"no difference".into(), &0.into()), "{same}");
    assert!(same["verdict"].as_str().unwrap().starts_with("No detectable difference: "));
    assert!(
        same["verdict"].as_str().unwrap().contains(" or more would be detected (80 % power)"),
        "{}",
        same["verdict"]
    );
    assert!(same["stages"].as_array().unwrap().iter().all(|stage| stage["verdict"] == "no difference"));

    let worse = json(&run(directory.path(), &["compare", "before", "later", "--json"]));
    assert_eq!((&worse["outcome"], &worse["standing"]), (&"worse".into(), &"systems".into()));
    assert!(worse["verdict"].as_str().unwrap().starts_with("Worse: "), "{}", worse["verdict"]);
    assert!((ratio(&worse, "total") - 3.0).abs() < 0.2);
    let total = worse["stages"].as_array().unwrap().iter().find(|row| row["stage"] == "total").unwrap();
    for name in ["p50_ns", "p99_ns", "p99_9_ns", "max_ns"] {
        assert!(total["a"][name].as_u64() < total["b"][name].as_u64(), "{total}");
    }
    for ratio in total["ratios"].as_array().unwrap() {
        let [low, estimate, high] = ["low", "estimate", "high"].map(|name| ratio[name].as_f64().unwrap());
        assert!(low < 3.0 && 3.0 < high && low < estimate && estimate < high, "{ratio}");
    }
    // The quantiles of a single run are those of the recording.
    let report = json(&run(directory.path(), &["report", "alone", "--json"]));
    let own = report["stages"].as_array().unwrap().iter().find(|row| row["stage"] == "total").unwrap();
    let itself = json(&run(directory.path(), &["compare", "alone", "alone", "--json"]));
    let total = itself["stages"].as_array().unwrap().iter().find(|row| row["stage"] == "total").unwrap();
    assert_eq!(own["p99_ns"], total["b"]["p99_ns"]);
    // What differs is listed, and nothing else is.
    let differences = worse["differences"].as_array().unwrap();
    assert!(differences.iter().any(|row| row["what"] == "vm.swappiness" && row["a"] == "60" && row["b"] == "10"));
    assert!(differences.iter().any(|row| row["area"] == "load" && row["b"] == "mixed"));
    assert_eq!(differences.len(), 2, "{differences:?}");

    let better = json(&run(directory.path(), &["compare", "later", "before", "--json"]));
    assert_eq!(better["outcome"], "better");
    assert!((ratio(&better, "total") * ratio(&worse, "total") - 1.0).abs() < 1e-9);

    let text = stdout(&run(directory.path(), &["compare", "before", "later"]));
    assert!(text.starts_with("Worse: ") && text.contains("vm.swappiness") && text.contains("total"), "{text}");
    let itself = stdout(&run(directory.path(), &["compare", "alone", "alone"]));
    assert!(
        itself.starts_with("These two runs show no difference") && itself.contains("same run is on both sides"),
        "{itself}"
    );
}

#[test]
fn nobody_is_told_to_measure_two_machines_in_turn_on_one() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("d")).unwrap();
    let recordings =
        [("a", "here"), ("b", "there"), ("c", "here"), ("d/1.punctual", "here"), ("d/2.punctual", "there")];
    for (name, id) in recordings {
        let path = directory.path().join(name);
        write(&path, &Made { run_id: name, ..PLAIN });
        let path = path.join("recording.json");
        let mut document: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        document["provenance"]["host"]["id"] = id.into();
        std::fs::write(&path, document.to_string()).unwrap();
    }
    // One side may be of two machines itself.
    for (other, is_told) in [("b", false), ("c", true), ("d", false)] {
        let answer = json(&run(directory.path(), &["compare", "a", other, "--json"]));
        let next = answer["next"][0].to_string();
        assert_eq!(next.contains("--repeat"), is_told, "{next}");
        assert_eq!(answer["verdict"].as_str().unwrap().contains("--repeat"), is_told, "{}", answer["verdict"]);
    }
}

#[test]
fn stages_that_one_side_has_not_are_left_out_in_one_line() {
    let golden = support::golden();
    let text = stdout(&run(&golden, &["compare", "record.punctual", "no-bpf.punctual"]));
    let notes: Vec<&str> = text.lines().filter(|line| line.contains("left out")).collect();
    assert_eq!(notes, ["note: not seen in every run, so left out: irq, wake, thread, user, thread_latency"], "{text}");
}

#[test]
fn the_exit_code_says_what_the_verdict_does_if_asked_to() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("alone"), &PLAIN);
    let sides = [&Made { seconds: 10, ..PLAIN }, &Made { seconds: 10, scale: 300, ..PLAIN }];
    write_in_turn(directory.path(), ["a", "later"], 3, sides);
    let exit = |words: &[&str]| code(&run(directory.path(), &[&["compare"][..], words].concat()));
    assert_eq!(exit(&["a", "later"]), 0);
    assert_eq!(exit(&["a", "later", "--exit-code"]), 2);
    assert_eq!(exit(&["later", "a", "--exit-code"]), 0);
    // Two runs give no verdict, which does not mean that nothing is worse.
    assert_eq!(exit(&["alone", "alone", "--exit-code"]), 1);
    let answer = json(&run(directory.path(), &["compare", "a", "later", "--exit-code", "--json"]));
    assert_eq!((&answer["outcome"], &answer["exit_code"]), (&"worse".into(), &2.into()));
}

#[test]
fn directories_of_repeats_made_in_turn_are_paired() {
    let directory = tempfile::tempdir().unwrap();
    for side in ["a", "b"] {
        std::fs::create_dir(directory.path().join(side)).unwrap();
    }
    for number in 0..3u64 {
        for (side, index, scale) in [("a", 0, 100), ("b", 1, 160)] {
            let path = directory.path().join(side).join(format!("{number}.punctual"));
            let run_id = format!("{side}{number}");
            // A machine that gets slower and slower.
            let scale = scale * (100 + 30 * number) / 100;
            let started_ns = PLAIN.started_ns + (2 * number + index) * 60_000 * MS;
            write(&path, &Made { run_id: &run_id, scale, started_ns, seconds: 10, ..PLAIN });
        }
    }
    let answer = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    assert_eq!((&answer["a"]["runs"], &answer["in_turn"]), (&3.into(), &true.into()), "{answer}");
    assert_eq!(answer["outcome"], "worse", "{}", answer["verdict"]);
    assert!((ratio(&answer, "total") - 1.6).abs() < 0.1);
    // The same joined by commas.
    let listed =
        run(directory.path(), &["compare", "a/0.punctual,a/1.punctual", "b/0.punctual,b/1.punctual", "--json"]);
    assert_eq!(json(&listed)["b"]["runs"], 2);
    let twice = run(directory.path(), &["compare", "a/0.punctual,a/0.punctual", "b"]);
    assert!(code(&twice) == 1 && stderr(&twice).contains("the same run is given twice"), "{}", stderr(&twice));
}

#[test]
fn where_requests_were_recorded_they_are_said_not_to_be_compared() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let recorder = RecorderSummary { stage: Stage::Request, ..RecorderSummary::default() };
    write(&at("a"), &Made { seconds: 5, requests: Some(&recorder), ..PLAIN });
    write(&at("b"), &Made { run_id: "b", seconds: 5, ..PLAIN });
    let text = stdout(&run(directory.path(), &["compare", "a", "b"]));
    assert!(
        text.contains("note: requests were not compared, since not all recordings have the same fixed threshold"),
        "{text}"
    );
    let text = stdout(&run(directory.path(), &["compare", "b", "b"]));
    assert!(!text.contains("requests"), "{text}");
    // One word has two meanings, which is said once.
    let recorder = RecorderSummary { stage: Stage::Response, ..RecorderSummary::default() };
    let response = Made { run_id: "c", seconds: 5, requests: Some(&recorder), ..PLAIN };
    write(&at("c"), &response);
    write(&at("d"), &Made { run_id: "d", ..response });
    let text = stdout(&run(directory.path(), &["compare", "c", "d"]));
    assert_eq!(text.matches("note: in tables and limits, `response` and `work` end where ").count(), 1, "{text}");
}

#[test]
fn a_side_whose_requests_were_not_recognised_is_not_better() {
    let directory = tempfile::tempdir().unwrap();
    let threshold = RecorderSummary {
        stage: Stage::Request,
        threshold: "20.0 ms".to_owned(),
        threshold_ns: Some(20 * MS),
        armed_ns: 5_000 * MS,
        ..RecorderSummary::default()
    };
    let counted = [(1_000, 400, 0), (0, 0, 0), (1_000, 4, 3)].map(|(requests, late, cut_requests)| RecorderSummary {
        requests: Some(requests),
        late,
        cut_requests,
        request_times: Some(RequestTimes { sure: requests, ..RequestTimes::default() }),
        ..threshold.clone()
    });
    let made = counted.each_ref().map(|recorder| Made { seconds: 5, requests: Some(recorder), ..PLAIN });
    write_in_turn(directory.path(), ["a", "b", "c"], 3, made.each_ref());
    let text = stdout(&run(directory.path(), &["compare", "a", "b"]));
    let untold =
        "Requests slower than 20.0 ms: these could not be counted on both A and B: a run of B recognised none.";
    assert!(text.contains(untold) && text.contains("not countable"), "{text}");
    let answer = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    let row = &answer["counts"][0];
    assert_eq!((&row["verdict"], &row["b"]["untold"]), (&"not countable".into(), &"none recognised".into()), "{row}");
    assert!(row["high"].is_null() && row["a"]["untold"].is_null(), "{row}");
    // What was cut may have been slow.
    let text = stdout(&run(directory.path(), &["compare", "a", "c"]));
    assert!(text.contains("at most 0.70 % (12 to 21 of 3,009 in 15.0 s) on B"), "{text}");
}

#[test]
fn what_was_set_on_the_command_line_and_of_devices_is_listed() {
    let directory = tempfile::tempdir().unwrap();
    for (name, context) in [("a", "thread:80"), ("b", "irq")] {
        let path = directory.path().join(name);
        write(&path, &Made { run_id: name, seconds: 2, ..PLAIN });
        let document = path.join("recording.json");
        let mut made: serde_json::Value = serde_json::from_slice(&std::fs::read(&document).unwrap()).unwrap();
        made["kind"] = "activations".into();
        made["provenance"]["command_line"] =
            serde_json::json!(["punctual", "device", "run", "sdr x2", "-c", context, "-D", "2s", "-o", name]);
        std::fs::write(&document, made.to_string()).unwrap();
        let device = DeviceSummary { device: "sdr".into(), context: context.into(), ..DeviceSummary::default() };
        let activations = ActivationDocument {
            schema: ACTIVATIONS_SCHEMA.to_owned(),
            devices: vec![device],
            ..ActivationDocument::default()
        };
        std::fs::write(path.join("activations.json"), serde_json::to_string(&activations).unwrap()).unwrap();
    }
    let found = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    let rows: Vec<String> = found["differences"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let row = |area: &str, what: &str, a: &str, b: &str| {
        serde_json::json!({"area": area, "what": what, "a": a, "b": b}).to_string()
    };
    assert_eq!(
        rows,
        [row("program", "options", "-c thread:80", "-c irq"), row("device", "context", "thread:80", "irq")],
        "{found}"
    );
}

#[test]
fn where_devices_were_recorded_they_are_said_not_to_be_compared() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        write(&directory.path().join(name), &Made { run_id: name, ..PLAIN });
    }
    let is_said = || {
        let output = run(directory.path(), &["compare", "a", "b"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output).contains("note: devices were not compared: ")
    };
    assert!(!is_said());
    let path = directory.path().join("b/recording.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"kind\":\"wakeups\"", "\"kind\":\"activations\"", 1)).unwrap();
    assert!(is_said());
}

#[test]
fn slack_is_exceeded_more_often_while_throughput_hardly_changes() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write(&at("a"), &Made { stall_every_ms: 5_000, score: Some(1_000), load: "render", ..PLAIN });
    write(&at("b"), &Made { run_id: "b", stall_every_ms: 50, score: Some(900), load: "render", ..PLAIN });
    let answer = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    let devices = answer["devices"].as_array().unwrap();
    let audio = devices.iter().find(|device| device["device"] == "audio64").unwrap();
    assert_eq!((&audio["over"]["a"], &audio["over"]["b"]), (&4.into(), &400.into()), "{audio}");
    assert!((audio["ratio"]["estimate"].as_f64().unwrap() - 100.0).abs() < 1e-6);
    assert!(audio["ratio"]["low"].as_f64().unwrap() > 30.0, "{audio}");
    let score = &answer["throughput"][0];
    assert_eq!((&score["a_per_s_thousandths"], &score["b_per_s_thousandths"]), (&50_000.into(), &45_000.into()));
    assert!((score["ratio"].as_f64().unwrap() - 0.9).abs() < 1e-9);
    let text = stdout(&run(directory.path(), &["compare", "a", "b"]));
    assert!(
        text.starts_with("B is later in these two runs:")
            && text.contains("B's load did 0.90 times as much work as A's."),
        "{text}"
    );
}

#[test]
fn several_sides_stand_beside_the_first_and_share_the_error_rate() {
    let directory = tempfile::tempdir().unwrap();
    let short = Made { seconds: 5, ..PLAIN };
    let later = Made { scale: 300, ..short };
    write_in_turn(directory.path(), ["plain", "same", "later"], 4, [&short, &short, &later]);
    let words = ["compare", "plain", "same", "slow=later"];
    let found = json(&run(directory.path(), &[&words[..], &["--json"]].concat()));
    assert_eq!(found["schema"], "punctual.compare-sides/1");
    let sides = found["sides"].as_array().unwrap();
    let named: Vec<(&str, &str, u64)> = sides
        .iter()
        .map(|side| (side["label"].as_str().unwrap(), side["name"].as_str().unwrap(), side["runs"].as_u64().unwrap()))
        .collect();
    assert_eq!(named, [("A", "plain", 4), ("B", "same", 4), ("C", "slow", 4)]);
    let rows = found["comparisons"].as_array().unwrap();
    let of = |row: usize, name: &str| rows[row]["comparison"][name].as_str().unwrap().to_owned();
    assert_eq!((of(0, "outcome"), of(1, "outcome")), ("no difference".to_owned(), "worse".to_owned()));
    // The difference that shows most is judged with half of the error rate of one in twenty, the one that is left with
    // all of it.
    let number = |row: usize, name: &str| rows[row][name].as_f64().unwrap();
    assert!((number(1, "confidence") - 0.975).abs() < 1e-9 && (number(0, "confidence") - 0.95).abs() < 1e-9);
    assert!(number(1, "p_of_all") <= 0.05 && number(0, "p_of_all") > 0.05, "{rows:?}");
    let text = stdout(&run(directory.path(), &words));
    assert!(text.starts_with("Worse than A: C, its "), "{text}");
    assert!(text.contains("No detectable difference from A: B."), "{text}");
    assert!(text.contains("next: `punctual compare plain slow=later`"), "{text}");
    // Devices that the user asks for stand side by side, and the page says what the text does.
    let asked = [&words[..], &["--device", "audio64", "--device", "audio", "--html", "sides.html"]].concat();
    let text = stdout(&run(directory.path(), &asked));
    for (device, side) in [("Audio, 64 frames", "B"), ("Audio, 64 frames", "C"), ("Audio", "B"), ("Audio", "C")] {
        let is_of = |line: &str| {
            line.strip_prefix(device).is_some_and(|rest| rest.trim_start().starts_with(&format!("{side} ")))
        };
        assert!(text.lines().any(is_of), "{device} {side}: {text}");
    }
    let page = std::fs::read_to_string(directory.path().join("sides.html")).unwrap();
    assert!(page.contains(text.lines().next().unwrap().split(", its ").next().unwrap()), "{text}");
    assert!(page.contains("punctual.compare-sides/1") && page.contains("What this means for devices"));
    // Few runs give no verdict on the systems, however many sides there are.
    let few = ["compare", "plain/0.punctual", "same/0.punctual", "later/0.punctual"];
    let text = stdout(&run(directory.path(), &few));
    assert!(
        text.starts_with("Later in these runs: C")
            && text.contains("to say anything about the systems themselves (B, C)"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_compared_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write(&at("a"), &Made { seconds: 2, ..PLAIN });
    write(&at("interval"), &Made { run_id: "b", seconds: 2, interval_ns: 2 * MS, ..PLAIN });
    write(&at("via"), &Made { run_id: "c", seconds: 2, via: "softirq", ..PLAIN });
    write(&at("other"), &Made { run_id: "d", seconds: 2, measure: "fifo:50", ..PLAIN });
    std::fs::create_dir(at("empty")).unwrap();
    for (b, expected) in [
        ("interval", "only recordings with the same interval can be compared"),
        ("via", "only recordings of the same chain can be compared"),
        ("missing", "there is no such recording"),
        ("empty", "is not a recording"),
    ] {
        let output = run(directory.path(), &["compare", "a", b]);
        assert_eq!(code(&output), 1, "{b}: {}", stdout(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
    // With one measure on each side, the two are compared.
    let other = json(&run(directory.path(), &["compare", "a", "other", "--json"]));
    assert_eq!(other["stages"][0]["measure"], "fifo:80 -> fifo:50");
    for words in [
        &["compare"][..],
        &["compare", "a"],
        &["compare", "a", "via", "--repeat", "2"],
        &["compare", "a", "via", "--a", "true"],
    ] {
        assert_eq!(code(&run(directory.path(), words)), 129, "{words:?}");
    }
    let device = run(directory.path(), &["compare", "a", "a", "--device", "flux"]);
    assert_eq!(code(&device), 129, "{}", stderr(&device));
}

#[test]
fn late_wakeups_come_periodically_or_not() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), &Made { stall_every_ms: 500, ..PLAIN });
    let answer = json(&run(directory.path(), &["report", "a", "--interarrival", "1ms,10ms", "--json"]));
    let rows = answer["interarrival"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["events"], &rows[0]["arrival"]), (2, &40.into(), &"periodic".into()), "{rows:?}");
    assert!((rows[0]["period_ns"].as_f64().unwrap() / 5e8 - 1.0).abs() < 0.01, "{rows:?}");
    assert_eq!((&rows[0]["mean_ns"], &rows[0]["deviation_ns"]), (&500_000_000.into(), &0.into()));
    assert_eq!(
        (&rows[1]["events"], &rows[1]["arrival"], &rows[1]["mean_ns"]),
        (&0.into(), &"too few".into(), &().into())
    );
    let text = stdout(&run(directory.path(), &["report", "a", "--interarrival", "1ms"]));
    assert!(text.contains("periodically, every 500 ms (Rayleigh periodogram, p < 0.001)"), "{text}");
    let stage = json(&run(directory.path(), &["report", "a", "--interarrival", "1ms", "--stage", "irq", "--json"]));
    assert_eq!((&stage["interarrival"][0]["stage"], &stage["interarrival"][0]["events"]), (&"irq".into(), &40.into()));
    assert_eq!(code(&run(directory.path(), &["report", "a", "--interarrival", "1ms", "--stage", "x"])), 129);
}
