//! Pages say in words what the text says.

use crate::browser::{between, data_of};
use crate::recordings::write;
use crate::support::{self, json, punctual, run, skip, stderr};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_page_that_cannot_be_written_is_one_line_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", "none", 1);
    let output = punctual().current_dir(directory.path()).args(["report", "a", "--html", "no/such/page.html"]).output();
    let output = output.unwrap();
    assert_eq!(support::code(&output), 1);
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("cannot write no/such/page.html") || said.contains("Node.js"), "{said}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// The page of a device's run says what its text says, and the page of followed threads mentions no stage that they do
/// not have.
#[test]
fn pages_of_devices_and_followed_threads_say_what_is_there() {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let page = |recording: &str| {
        let page = directory.path().join(format!("{recording}.html"));
        let words = ["report", recording, "--json", "--html"];
        let output = punctual().current_dir(&golden).args(words).arg(&page).output().unwrap();
        let written = std::fs::read_to_string(&page).unwrap_or_default();
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), written)
    };
    let (answer, device) = page("device.punctual");
    let (_, followed) = page("comm.punctual");
    if device.is_empty() {
        return skip("pages of devices", "the program was built without the script of the pages");
    }
    assert!(device.contains(answer["verdict"].as_str().unwrap()), "{}", answer["verdict"]);
    for said in ["does not keep up</strong>", "Whether the devices kept up", "PC 99", "the control, fifo:99,"] {
        assert!(device.contains(said), "{said}");
    }
    assert!(device.contains(answer["next"][0]["command"].as_str().unwrap()));
    assert!(followed.contains("response is both") && !followed.contains("first five stages"));
}

/// The page of `why` says what is missing, as its text does.
#[test]
fn the_page_of_causes_says_what_left_no_evidence() {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-r").arg(golden.join("why.punctual")).arg(directory.path()).status();
    assert!(copied.unwrap().success());
    let file = directory.path().join("why.punctual/events/recorder.json");
    let mut summary: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let late = summary["late"].as_u64().unwrap();
    (summary["late"], summary["over_budget"]) = ((late + 114).into(), 114.into());
    std::fs::write(&file, summary.to_string()).unwrap();
    let output =
        punctual().current_dir(directory.path()).args(["why", "why.punctual", "--html", "a.html"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = format!("114 of {} late wakeups left no evidence", late + 114);
    assert!(text.contains(&said), "{text}{}", stderr(&output));
    let page = std::fs::read_to_string(directory.path().join("a.html")).unwrap();
    assert!(page.contains(&said));
    // The parts of each example are set as a list where a screen is narrow.
    let examples: Vec<&str> = page.split("<caption>The parts of episode ").skip(1).collect();
    assert!(!examples.is_empty(), "no example");
    for example in examples {
        let table = example.split("</table>").next().unwrap();
        assert!(table.contains("data-label=\"us\"") && table.contains(">total</th>"), "{table}");
    }
}

/// Commands that render a page, with the line above its heading.
const ABOVE: [(&str, &str); 16] = [
    ("report record.punctual", "punctual report · machine · 2026-11-22 17:24:05 UTC"),
    ("report comm.punctual", "punctual report · machine · 2026-11-22 17:24:20 UTC"),
    ("report idle.punctual", "punctual report · machine · 2026-11-22 17:24:25 UTC"),
    ("report validate.punctual", "punctual report · machine · 2026-11-22 17:24:26 UTC"),
    ("report timers.punctual", "punctual report · machine · 2026-11-22 17:24:36 UTC"),
    ("report device.punctual", "punctual report · machine · 2026-11-22 17:25:15 UTC"),
    ("report log.punctual", "punctual report · machine · 2026-11-22 17:26:27 UTC"),
    ("report check", "punctual report · machine · 2026-11-22 19:15:28 UTC"),
    ("report interact.punctual", "punctual interact · machine · 2026-11-23 04:19:38 UTC"),
    ("report sim.punctual", "punctual report"),
    ("why why.punctual", "punctual why · machine · 2026-11-22 17:25:13 UTC"),
    ("compare check/idle.punctual check/loaded.punctual", "punctual compare · machine · 2026-11-22 19:15:28 UTC"),
    ("compare interact.punctual interact.punctual", "punctual compare · machine · 2026-11-23 04:19:38 UTC"),
    ("sim run nt-timers-table3", "punctual sim run"),
    (
        "sim whatif --device modem --duration 10s --context slots:1/4 --sweep period=4..9 --sweep compute=1..4",
        "punctual sim whatif",
    ),
    ("forecast check", "punctual forecast · machine · 2026-11-22 19:15:28 UTC · watched for 2.00 s"),
];

/// All pages are of one family: above the heading stands which command made them, of which machine and when; below it the
/// answer, then links to the parts. The last part of a page of recordings says where they come from.
#[test]
fn every_page_says_what_it_is_about_and_leads_to_its_parts() {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("a.html");
    let place = page.to_str().unwrap();
    for (command, above) in ABOVE {
        let words: Vec<&str> = command.split(' ').chain(["--json", "--html", place]).collect();
        let output = run(&golden, &words);
        if support::stdout(&output).contains("Node.js") {
            return skip("pages of one family", "the program was built without the script of the pages");
        }
        let answer = json(&output);
        let html = std::fs::read_to_string(&page).unwrap();
        let header = between(&html, "<header>", "</header>");
        assert_eq!(between(header, "<p class=\"context\">", "</p>"), above, "{command}");
        assert!(header.contains("<h1>"), "{command}: {header}");
        // As far as no letter of it is written otherwise in HTML.
        let verdict = answer["verdict"].as_str().unwrap();
        let beginning = verdict.split(['`', '<', '>', '&', '"', '\'']).next().unwrap();
        assert!(beginning.len() > 20 && header.contains(beginning), "{command}: {verdict}");
        let links = between(&html, "<nav aria-label=\"Sections\">", "</nav>");
        let parts: Vec<&str> =
            links.split("href=\"#").skip(1).filter_map(|link| link.split_once('"')).map(|(part, _)| part).collect();
        assert!(parts.len() >= 2, "{command}: {links}");
        for part in &parts {
            assert_eq!(html.matches(&format!("<h2 id=\"{part}\"")).count(), 1, "{command}: {part}");
        }
        let is_of_recordings = ["report", "why", "compare"].iter().any(|name| command.starts_with(name));
        assert_eq!(parts.contains(&"provenance"), is_of_recordings, "{command}: {parts:?}");
        std::fs::remove_file(&page).unwrap();
    }
}

/// Ways to wait, or threads, are compared in one picture; each has pictures of its own below it. A caption names only the
/// lines that are drawn.
#[test]
fn what_was_measured_side_by_side_is_in_one_picture() {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("a.html");
    let place = page.to_str().unwrap();
    let mut lines_over_time = 0;
    for (recording, together) in [
        ("timers.punctual", Some(&["nanosleep-absolute", "timerfd"][..])),
        ("device.punctual", Some(&["fifo:95", "fifo:99"][..])),
        ("record.punctual", None),
        ("sim.punctual", None),
    ] {
        let output = run(&golden, &["report", recording, "--json", "--html", place]);
        if support::stdout(&output).contains("Node.js") {
            return skip("pictures of several measures", "the program was built without the script of the pages");
        }
        let data = data_of(&std::fs::read_to_string(&page).unwrap());
        let pictures = data["pictures"].as_array().unwrap();
        let names = |picture: &Value| -> Vec<String> {
            let lines = picture["lines"].as_array().unwrap().iter();
            lines.map(|line| line["name"].as_str().unwrap().to_owned()).collect()
        };
        let common = pictures.iter().find(|picture| picture["id"] == "share-measures").map(names);
        let common = common.map(|mut names| {
            names.sort();
            names
        });
        assert_eq!(common, together.map(|names| names.iter().map(|&name| name.to_owned()).collect()), "{recording}");
        // A colour means one thing on a page: no way to wait and no thread has that of a stage.
        let colours = |is_common: bool| -> Vec<u64> {
            let curves = pictures.iter().filter(|picture| picture["kind"] == "curve");
            let chosen = curves.filter(|picture| (picture["id"] == "share-measures") == is_common);
            let lines = chosen.flat_map(|picture| picture["lines"].as_array().unwrap());
            lines.map(|line| line["style"].as_u64().unwrap()).collect()
        };
        let (of_parts, of_stages) = (colours(true), colours(false));
        assert!(of_parts.iter().all(|colour| !of_stages.contains(colour)), "{recording}: {of_parts:?}, {of_stages:?}");
        assert!(!of_stages.is_empty(), "{recording}");
        for picture in pictures.iter().filter(|picture| picture["kind"] == "curve") {
            // Nothing can be hidden of a single line.
            let hides = picture["caption"].as_str().unwrap().contains(" in the legend hides its line");
            assert!(!hides || names(picture).len() > 1, "{recording}: {picture}");
        }
        for picture in pictures.iter().filter(|picture| picture["kind"] == "series") {
            let is_named = picture["caption"].as_str().unwrap().contains("99th percentile");
            assert_eq!(is_named, names(picture).contains(&"p99".to_owned()), "{recording}: {picture}");
            lines_over_time += 1;
        }
    }
    assert_eq!(lines_over_time, 6);
}
