//! Faults of pages that take a long time or a machine to make: each is made once and checked in every way.

use crate::browser::browser;
use crate::faults::faults_of;
use crate::support::{
    allows, code, copy_golden, guests, json, punctual, run, signal, skip, start, stderr, stdout, wait_until,
};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// Runs what makes the page of the given name in the given directory, and looks for the page's faults.
fn look_at(name: &str, page_name: &str, made_by: impl Fn(&Path, &str) -> Output) {
    let Some(browser) = browser() else { return skip(name, "there is no chromium") };
    let directory = tempfile::tempdir().unwrap();
    let file = format!("{page_name}.html");
    let output = made_by(directory.path(), &file);
    let page = directory.path().join(&file);
    if stderr(&output).contains("Node.js") {
        return skip(name, "the program was built without the script of the pages");
    }
    assert!(page.exists(), "{page_name}: {}", stderr(&output));
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("<h1") && text.contains("<a href=\"#"), "{text:.3000}");
    let faults = faults_of(&browser, &[(page_name, page)]);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The program with these words, which are asked for a page too.
fn made_by(words: &'static str) -> impl Fn(&Path, &str) -> Output {
    move |directory, page| {
        let words = words.split_whitespace().chain(["--html", page]);
        run(directory, &words.collect::<Vec<_>>())
    }
}

/// In the answer about the papers every prediction holds, or is contradicted for a listed reason.
fn assert_predictions_hold(answer: &Value) {
    assert_eq!(answer["schema"], "punctual.papers/1");
    let rows = answer["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let class = row["class"].as_str().unwrap();
        let judged = matches!(class, "prediction" | "fitted");
        assert!(judged || row["why_not"].is_string(), "{row}");
        assert_eq!(judged, row["holds"].is_boolean(), "{row}");
        assert!(class != "prediction" || row["holds"] == true || row["contradicted"].is_string(), "{row}");
    }
    assert_eq!(answer["failing"], 0);
    let fitted = answer["fitted"].as_array().unwrap();
    assert!(fitted.len() >= 8, "{} fitted values", fitted.len());
    for value in fitted {
        let range = value["range"].as_array().unwrap();
        let is_empty = |moved: &Value| moved["rows"].as_array().is_none_or(Vec::is_empty);
        assert!(range.len() > 1 && !range.iter().any(is_empty), "{value}");
        let first = &range[0]["rows"];
        assert!(range.iter().any(|moved| moved["rows"] != *first), "it moves nothing, so it is not fitted: {value}");
    }
}

/// All experiments of the papers in one answer and on one page, which take most of a minute to compute.
#[test]
fn the_papers_hold_and_their_page_has_no_faults() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("papers.html");
    let output = punctual().args(["sim", "papers", "--json", "--html"]).arg(&page).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_predictions_hold(&json(&output));
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("<h1") && text.contains("<a href=\"#") && text.contains("<svg"), "{text:.3000}");
    assert!(!text.contains("http://") && !text.contains("https://"));
    let Some(browser) = browser() else {
        return skip("the_papers_hold_and_their_page_has_no_faults", "there is no chromium");
    };
    let faults = faults_of(&browser, &[("papers", page)]);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A study is measured; one that is ended early has the same page with less on it.
#[test]
fn machine_the_page_of_a_study_has_no_faults() {
    const NAME: &str = "machine_the_page_of_a_study_has_no_faults";
    if let Some(missing) = ["BPF", "real-time priority"].iter().find_map(|name| allows(name).err()) {
        return skip(NAME, &missing);
    }
    look_at(NAME, "study", |directory, page| {
        let words = ["device", "study", "-q", "-D", "40s", "-o", "study", "--html", page];
        let study = start(directory, &words);
        // Its first run is over once it has begun the second: on a busy machine that takes seconds.
        let begun = || std::fs::read_dir(directory.join("study")).map_or(0, Iterator::count);
        assert!(wait_until(|| begun() >= 2), "no second run");
        signal(&study, libc::SIGINT);
        study.wait_with_output().unwrap()
    });
}

/// The search for a device's reservation; a short one, because the page is the same.
#[test]
fn machine_the_page_of_a_reservation_has_no_faults() {
    const NAME: &str = "machine_the_page_of_a_reservation_has_no_faults";
    if let Some(missing) = ["BPF", "deadline reservation"].iter().find_map(|name| allows(name).err()) {
        return skip(NAME, &missing);
    }
    let words = "reserve -q v90 -o d --measure 600ms --attempts 1 --attempt 250ms --rounds 1 --round 300ms";
    look_at(NAME, "reserve", made_by(words));
}

/// A guest and who made its wakeups late: a script takes the place of the emulator, and hands out a recording.
#[test]
fn the_page_of_guests_has_no_faults() {
    const NAME: &str = "the_page_of_guests_has_no_faults";
    if let Some(missing) = guests::missing() {
        return skip(NAME, &missing);
    }
    look_at(NAME, "lab", |directory, page| {
        guests::put_emulator(directory, "tar -C left -cf - .");
        let left = guests::put_left(directory, "done\n", "");
        copy_golden("why.punctual", &left.join("recording.punctual"));
        let words = ["lab", "run", "-q", "--kernel", "./vmlinux", "--seeds", "1", "-o", "guests", "--html", page];
        let mut command = guests::beside_emulator(directory);
        let output = command.args(words).args(["--", "record", "-D", "1s", "--why", "100us"]).output().unwrap();
        let is_made = code(&output) == 0 || stderr(&output).contains("Node.js");
        assert!(is_made, "{}{}", stdout(&output), stderr(&output));
        output
    });
}
