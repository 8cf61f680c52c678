//! Pages written by commands that measure: they are the same that `report` makes from the same recordings.

use crate::support::{code, json, punctual, run, skip, stderr, stdout};
use std::path::Path;

/// A command that measures, with what it records and what `report` is asked for.
const MEASURED: [(&str, &str, &str); 4] = [
    ("record -D 1 --quiet -o a.punctual", "a.punctual", "a.punctual"),
    ("check -D 2 --quiet --load cpu -o checked", "checked", "checked/idle.punctual checked/loaded.punctual"),
    ("idle -D 1 --quiet -o i.punctual", "i.punctual", "i.punctual"),
    ("log -D 1 --quiet -o l.punctual", "l.punctual", "l.punctual"),
];

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn a_page_that_is_asked_for_at_once_is_that_of_report() {
    const NAME: &str = "a_page_that_is_asked_for_at_once_is_that_of_report";
    let directory = tempfile::tempdir().unwrap();
    let mut met = 0;
    for (command, recording, reported) in MEASURED {
        let output = run(directory.path(), &[&words(command)[..], &["--html", "now.html", "--json"]].concat());
        if stdout(&output).contains("Node.js") {
            return skip(NAME, "the program was built without the script of the pages");
        }
        if !directory.path().join(recording).exists() {
            skip(NAME, &format!("{command}: {}", stdout(&output)));
            continue;
        }
        assert_eq!(code(&output), 0, "{command}: {}{}", stdout(&output), stderr(&output));
        assert!(stderr(&output).contains("written: now.html"), "{command}: {}", stderr(&output));
        assert!(json(&output)["error"].is_null());
        let later = run(directory.path(), &[&["report"], &words(reported)[..], &["--html", "later.html"]].concat());
        assert_eq!(code(&later), 0, "{command}: {}", stderr(&later));
        let page = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        let (now, later) = (page("now.html"), page("later.html"));
        assert!(now.contains("<h2 id=\"provenance\">") && now == later, "{command}: the pages differ");
        met += 1;
    }
    assert!(met >= 3, "only {met} commands measured");
}

/// So has the report of its recordings: the command that made them tells which devices the user asked about.
#[test]
fn the_page_of_a_check_of_a_device_has_the_verdict_of_its_answer() {
    const NAME: &str = "the_page_of_a_check_of_a_device_has_the_verdict_of_its_answer";
    let directory = tempfile::tempdir().unwrap();
    let command = "check -D 2 --quiet --load cpu --device audio64 -o checked --html now.html --json";
    let output = run(directory.path(), &words(command));
    if stdout(&output).contains("Node.js") {
        return skip(NAME, "the program was built without the script of the pages");
    }
    if !directory.path().join("now.html").exists() {
        return skip(NAME, &stdout(&output));
    }
    let answer = json(&output);
    let verdict = answer["verdict"].as_str().unwrap();
    let beginning: Vec<&str> = verdict.split(' ').take(4).collect();
    let page = std::fs::read_to_string(directory.path().join("now.html")).unwrap();
    assert!(page.contains(&beginning.join(" ")), "{verdict}");
    let report = json(&run(directory.path(), &words("report checked --json")));
    let said = report["verdict"].as_str().unwrap();
    assert!(said.starts_with(&beginning.join(" ")), "{said}\n{verdict}");
}

#[test]
fn a_page_that_cannot_be_written_stops_a_measurement_before_it_begins() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("d")).unwrap();
    let mut met = 0;
    for (command, ..) in MEASURED {
        for (target, said) in [("none/x.html", "there is no directory none"), ("d", "it is a directory")] {
            let output =
                punctual().current_dir(directory.path()).args(words(command)).args(["--html", target]).output();
            let output = output.unwrap();
            assert_eq!(code(&output), 1, "{command}");
            let error = stderr(&output);
            assert!(error.lines().count() == 1 && (error.contains(said) || error.contains("Node.js")), "{error}");
            met += 1;
        }
    }
    assert_eq!(met, 8);
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["d"], "something was measured");
    assert_eq!(std::fs::read_dir(directory.path().join("d")).unwrap().count(), 0);
    assert!(!Path::new("none").exists());
}
