//! `punctual report` of several recordings of devices.

mod support;

use support::{code, copy_golden, json, run, stderr, stdout};

#[test]
fn runs_beside_other_competitors_are_not_added_up() {
    let directory = tempfile::tempdir().unwrap();
    for (name, competitor) in [("a", "spin:normal"), ("b", "walk")] {
        copy_golden("device.punctual", &directory.path().join(name));
        let path = directory.path().join(name).join("activations.json");
        let mut made: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        made["competitors"] = serde_json::json!([competitor]);
        std::fs::write(&path, made.to_string()).unwrap();
    }
    let alone = json(&run(directory.path(), &["report", "a", "--by-cpu", "--json"]));
    let both = json(&run(directory.path(), &["report", "a", "b", "--json"]));
    let wakeups: Vec<&serde_json::Value> =
        both["parts"].as_array().unwrap().iter().map(|part| &part["wakeups"]).collect();
    assert_eq!(wakeups, [&alone["wakeups"]; 2], "{both}");
    // Nothing that was tested is another program.
    assert!(both["verdict"].as_str().unwrap().contains("beside the device, with no load added"), "{}", both["verdict"]);

    // What became of the devices is there for each run, as the report of that run alone has it.
    for (one, name) in both["device_runs"].as_array().unwrap().iter().zip(["a", "b"]) {
        let alone = json(&run(directory.path(), &["report", name, "--json"]));
        for member in ["recording", "verdict", "contexts"] {
            assert_eq!(one[member], alone[member], "{name}: {member}");
        }
    }
    assert_eq!(both["device_runs"].as_array().unwrap().len(), 2, "{both}");

    let output = run(directory.path(), &["report", "a", "b"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    for (name, competitor) in [("a", "spin:normal"), ("b", "walk")] {
        assert!(text.contains(&format!("recording: {name}\n")), "{text}");
        assert!(
            text.lines().any(|line| line.starts_with("v90 in ") && line.contains(&format!(" beside {competitor}"))),
            "{text}"
        );
    }

    // A page beside the text takes nothing from it, and says as much of each device.
    let output = run(directory.path(), &["report", "a", "b", "--html", "r.html"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), text);
    let page = std::fs::read_to_string(directory.path().join("r.html")).unwrap();
    let verdicts = both["device_runs"].as_array().unwrap().iter().map(|run| run["verdict"].as_str().unwrap());
    for verdict in verdicts {
        let whole = text.lines().filter(|line| *line == verdict).count();
        assert_eq!(whole, 1, "{verdict}: {text}");
        assert!(page.contains(verdict.split(':').next().unwrap()), "{verdict}");
    }
}
