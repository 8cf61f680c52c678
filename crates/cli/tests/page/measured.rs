//! Faults of pages that take a long time or a machine to make: each is made once and checked in every way.

use crate::browser::browser;
use crate::faults::{Page, axe, barriers_of, layout_of};
use crate::support::{allows, code, guests, json, punctual, skip, stderr};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs a command in the directory that makes the page at the given path, and looks for the page's faults.
fn look_at(name: &str, page_name: &str, made_by: impl Fn(&Path) -> Command) {
    let Some(browser) = browser() else { return skip(name, "there is no chromium") };
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join(format!("{page_name}.html"));
    let output = made_by(&page).current_dir(directory.path()).output().unwrap();
    if stderr(&output).contains("Node.js") {
        return skip(name, "the program was built without the script of the pages");
    }
    assert!(page.exists(), "{page_name}: {}", stderr(&output));
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("<h1") && text.contains("<a href=\"#"), "{text:.3000}");
    let faults = faults_of(&browser, &[(page_name, page)]);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Faults of pages: of layout and, if axe-core is there, of accessibility.
pub(crate) fn faults_of(browser: &Path, pages: &[Page<'_>]) -> Vec<String> {
    let mut faults = layout_of(browser, pages);
    let axe = axe();
    faults.extend(axe.iter().flat_map(|axe| barriers_of(browser, axe, pages)));
    let barriers = if axe.is_some() { ", and for barriers in both themes" } else { "" };
    let names: Vec<&str> = pages.iter().map(|(name, _)| *name).collect();
    eprintln!("{}: looked at both widths{barriers}", names.join(", "));
    faults
}

/// The program with these words, and the page's path in place of `PAGE`.
fn words(command: &mut Command, words: &[&str], page: &Path) {
    for word in words {
        match *word {
            "PAGE" => command.arg(page),
            word => command.arg(word),
        };
    }
}

fn made_by(arguments: &'static [&'static str]) -> impl Fn(&Path) -> Command {
    move |page| {
        let mut command = punctual();
        words(&mut command, arguments, page);
        command
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
    assert!(answer["fitted"].as_array().unwrap().iter().all(|fitted| fitted["range"].as_array().unwrap().len() > 1));
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
    look_at(NAME, "study", |page| {
        let mut command = Command::new("timeout");
        command.args(["-s", "INT", "6"]).arg(punctual().get_program());
        words(&mut command, &["device", "study", "-q", "-D", "40s", "-o", "study", "--html", "PAGE"], page);
        command
    });
}

/// The search for a device's reservation; a short one, because the page is the same.
#[test]
fn machine_the_page_of_a_reservation_has_no_faults() {
    const NAME: &str = "machine_the_page_of_a_reservation_has_no_faults";
    if let Some(missing) = ["BPF", "deadline reservation"].iter().find_map(|name| allows(name).err()) {
        return skip(NAME, &missing);
    }
    const WORDS: [&str; 17] = [
        "reserve",
        "-q",
        "v90",
        "-o",
        "d",
        "--html",
        "PAGE",
        "--measure",
        "700ms",
        "--attempts",
        "1",
        "--attempt",
        "500ms",
        "--rounds",
        "1",
        "--round",
        "500ms",
    ];
    look_at(NAME, "reserve", made_by(&WORDS));
}

/// Guests side by side.
#[test]
fn machine_the_page_of_guests_has_no_faults() {
    const NAME: &str = "machine_the_page_of_guests_has_no_faults";
    if let Err(missing) = guests::kernel("6.12") {
        return skip(NAME, &missing);
    }
    const WORDS: [&str; 14] = [
        "lab", "run", "-q", "--kernel", "6.12", "--seeds", "1", "-o", "guests", "--html", "PAGE", "--", "record",
        "-D1s",
    ];
    look_at(NAME, "lab", made_by(&WORDS));
}
