//! `punctual compare` of recordings with evidence of who made their wakeups late.

use crate::preempted::preempted;
use crate::support::{self, json, run, stdout};
use punctual_recording::*;
use serde_json::Value;
use std::path::Path;

const MS: u64 = 1_000_000;
const RUN_NS: u64 = 20_000 * MS;
const PERIOD_NS: u64 = 10 * MS;
/// One wakeup in so many is late.
const LATE_EVERY: u64 = 10;

/// Writes a run in which one wakeup in [`LATE_EVERY`] is late: 140 for an indexer, if it runs, and 60 for a logger.
fn write(path: &Path, started_ns: u64, has_indexer: bool, threshold: (&str, u64)) {
    let provenance = Provenance {
        run_id: started_ns.to_string(),
        started_ns,
        configuration: Configuration { interval_ns: PERIOD_NS, policy: "fifo".into(), ..Configuration::default() },
        ..Provenance::default()
    };
    let counters = Counters { missed: Some(0), ..Counters::default() };
    let task = Task { measure: "fifo:80".into(), tid: 7, cpu: Some(0), period_ns: PERIOD_NS, counters };
    let mut writer = Writer::create(path, provenance, vec![task]).unwrap();
    writer.flush().unwrap();
    let mut evidence = EpisodeWriter::create(writer.directory()).unwrap();
    let mut late = 0;
    for index in 0..RUN_NS / PERIOD_NS {
        let expected = started_ns + index * PERIOD_NS;
        let is_slot = index.is_multiple_of(LATE_EVERY);
        let is_indexer = index / LATE_EVERY % 10 < 7;
        let is_late = is_slot && (has_indexer || !is_indexer);
        let took = if is_late { 400_000 } else { 40_000 + index * 7_919 % 9_973 };
        let stamps = Stamps {
            expected,
            irq: expected + 5_000,
            softirq: 0,
            waking: expected + 5_500,
            switch_in: expected + took - 1_000,
            user: expected + took,
        };
        writer.push(0, &Wakeup::from_stamps(&stamps, 0, 7));
        if is_late {
            late += 1;
            evidence.push(&preempted(late, expected, if is_indexer { "indexer" } else { "logger" })).unwrap();
        }
    }
    writer.flush().unwrap();
    let (threshold, threshold_ns) = threshold;
    writer.set_recorder(RecorderSummary {
        threshold: threshold.to_owned(),
        threshold_ns: Some(threshold_ns),
        late,
        kept: late,
        armed_ns: RUN_NS,
        cpus: 1,
        ..RecorderSummary::default()
    });
    writer
        .finish(Ended { reason: EndReason::Completed, detail: None, at_ns: started_ns + RUN_NS }, Vec::new())
        .unwrap();
}

const THRESHOLD: (&str, u64) = ("100 us", 100_000);

/// Three runs of each side in turn, of which only those of A have the indexer.
fn write_sides(directory: &Path, of_b: (&str, u64)) {
    for name in ["a", "b"] {
        std::fs::create_dir(directory.join(name)).unwrap();
    }
    for number in 0..3 {
        let began = |turn: u64| (1 + 60 * (2 * number + turn)) * 1_000 * MS;
        write(&directory.join(format!("a/{number}.punctual")), began(0), true, THRESHOLD);
        write(&directory.join(format!("b/{number}.punctual")), began(1), false, of_b);
    }
}

#[test]
fn a_cause_that_is_gone_is_said_below_the_verdict_and_is_none() {
    let directory = tempfile::tempdir().unwrap();
    write_sides(directory.path(), THRESHOLD);
    let answer = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    let causes = &answer["causes"];
    assert_eq!((&causes["stage"], &causes["limit_ns"]), (&"total".into(), &100_000.into()), "{answer}");
    for (side, late) in [("a", 600), ("b", 180)] {
        let expected = serde_json::json!({"watched_ns": 3 * RUN_NS, "late": late, "whole": late});
        assert_eq!(causes[side], expected, "{answer}");
    }
    let rows = causes["rows"].as_array().unwrap();
    let found = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {answer}"));
        let kind = row["kind"].as_str().unwrap();
        (kind, row["a"]["episodes"].as_u64(), row["b"]["episodes"].as_u64(), row["change"].as_str().unwrap())
    };
    assert_eq!(found("indexer"), ("same_priority", Some(420), Some(0), "less"), "{answer}");
    assert_eq!(found("logger"), ("same_priority", Some(180), Some(180), "not shown"), "{answer}");
    // 420 in a minute.
    let a = &rows[0]["a"];
    assert_eq!(a["episodes_per_hour"].as_f64().map(f64::round), Some(25_200.0), "{a}");
    assert_eq!(a["total_ns"].as_u64(), Some(420 * 399_000), "{a}");
    // The causes of each side add up to what was late.
    for (side, late) in [("a", 600), ("b", 180)] {
        let total_ns: u64 = rows.iter().map(|row| row[side]["total_ns"].as_u64().unwrap()).sum();
        assert_eq!(total_ns, late * 400_000, "{answer}");
    }
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(!verdict.contains("indexer"), "{verdict}");
    let text = stdout(&run(directory.path(), &["compare", "a", "b"]));
    let heading = "\nCauses in these runs, which decide nothing: episodes of wakeups later than 100 us, and how many (and how much of \
                   their time) there are in an hour, from 60.0 s watched on A and 60.0 s on B\n";
    assert!(text.contains(heading), "{text}");
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    let words: Vec<&str> = line(" indexer ").split_whitespace().collect();
    let expected =
        ["same_priority", "indexer", "420", "->", "0", "25,200", "(10.1", "s)", "0", "less", "often", "(at", "most"];
    assert_eq!(words[..expected.len()], expected, "{text}");
    assert!(line(" logger ").contains("no change shown (1.00 times as often, "), "{text}");
    let markdown = stdout(&run(directory.path(), &["compare", "a", "b", "--markdown"]));
    assert!(markdown.lines().any(|line| line.starts_with("| same\\_priority | indexer |")), "{markdown}");
    let page = directory.path().join("c.html");
    run(directory.path(), &["compare", "a", "b", "--html", "c.html"]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("id=\"causes\"") && page.contains("less often (at most"), "there is no section of causes");
}

#[test]
fn evidence_of_other_thresholds_is_not_compared_and_a_note_says_so() {
    let directory = tempfile::tempdir().unwrap();
    write_sides(directory.path(), ("200 us", 200_000));
    let text = stdout(&run(directory.path(), &["compare", "a", "b"]));
    let note =
        "note: causes were not compared, since not all recordings have the same stage and the same fixed threshold";
    assert!(text.contains(note) && text.contains(": these have 100 us (total), 200 us (total)"), "{text}");
    assert!(!text.contains("indexer"), "{text}");
    let answer = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    assert_eq!(answer.get("causes"), None, "{answer}");
    std::fs::remove_file(directory.path().join("b/1.punctual/events/episodes.jsonl")).unwrap();
    let text = stdout(&run(directory.path(), &["compare", "a", "b"]));
    let note = "note: B: causes were not compared: a recording has no evidence that can be read\n";
    assert!(text.contains(note), "{text}");
}

/// Changes the document of a recording.
fn change(recording: &Path, change: impl FnOnce(&mut Value)) {
    let path = recording.join("recording.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut document);
    std::fs::write(&path, document.to_string()).unwrap();
}

/// The golden recording kept evidence of 2 of 33 late wakeups. As if these had been all, it can be compared with its first one.
#[test]
fn causes_of_a_real_recording_add_up_to_what_was_late() {
    let directory = tempfile::tempdir().unwrap();
    for (name, episodes) in [("a", 2), ("b", 1)] {
        let path = directory.path().join(name);
        support::copy_golden("why.punctual", &path);
        change(&path, |document| {
            document["provenance"]["run_id"] = name.into();
            for (count, value) in [("late", episodes), ("kept", episodes), ("over_budget", 0)] {
                document["recorder"][count] = value.into();
            }
        });
        let evidence = path.join("events/episodes.jsonl");
        let text = std::fs::read_to_string(&evidence).unwrap();
        let kept: String = text.split_inclusive('\n').take(episodes).collect();
        std::fs::write(&evidence, kept).unwrap();
    }
    let answer = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    let rows = answer["causes"]["rows"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let sum = |side: &str| rows.iter().map(|row| row[side]["total_ns"].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("a"), sum("b")), (144_946, 71_177), "{answer}");
    assert!(rows.iter().all(|row| row["change"] == "too few"), "{answer}");
    let text = stdout(&run(directory.path(), &["compare", "a", "b"]));
    let first = text.lines().find(|line| line.starts_with("blind ")).unwrap_or_else(|| panic!("{text}"));
    assert!(first.contains("outside this kernel") && first.ends_with("too few to tell"), "{text}");
    // Six of seven have a row.
    assert!(rows.len() == 7 && text.contains("\n1 further cause with --json or --html\n"), "{text}");
}
