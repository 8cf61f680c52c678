//! Pages say in words what the text says.

use crate::recordings::write;
use crate::support::{self, punctual, skip, stderr};
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
    let said = format!("of {} late wakeups 114 left no evidence", late + 114);
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
