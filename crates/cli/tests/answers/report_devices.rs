//! `punctual report` of several recordings of devices.

use crate::support::{code, copy_golden, json, run, stderr, stdout};

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

/// Of a second of each half: nothing that ran dry, too little to limit what comes by the slot with nothing added, and what fails.
#[test]
fn a_check_says_how_often_a_day_its_devices_are_to_be_expected_to_run_dry() {
    let directory = tempfile::tempdir().unwrap();
    copy_golden("check", &directory.path().join("c"));
    for part in ["idle", "loaded"] {
        let path = directory.path().join(format!("c/{part}.punctual/recording.json"));
        let mut made: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let words = ["punctual", "check", "--device", "audio 64@48kHz", "--device", "sdr", "--device", "5g-slot"];
        made["provenance"]["command_line"] = serde_json::json!(words);
        std::fs::write(&path, made.to_string()).unwrap();
    }
    let answer = json(&run(directory.path(), &["report", "c", "--json"]));
    let verdict = answer["verdict"].as_str().unwrap();
    for said in [
        "Expect at most 980,000 dropouts a day with no load added, as far as 995 ms can show.",
        "Expect about 72,000,000 and at most 260,000,000 losses a day under load.",
        "Expect about 2,600,000 and at most 7,700,000 overruns a day (one slot in 22) under load.",
    ] {
        assert!(verdict.contains(said), "{said}: {verdict}");
    }
    let expected = |device: &str, load: &str| {
        let rows = answer["devices"].as_array().unwrap().iter();
        let own: Vec<&serde_json::Value> =
            rows.filter(|row| row["device"] == device && row["load"] == load).map(|row| &row["expected"]).collect();
        assert_eq!(own.len(), 1, "{device} {load}: {answer}");
        own[0].clone()
    };
    let slot = expected("5g-slot", "mixed");
    assert_eq!(slot["of"], "overruns", "{slot}");
    let limits =
        ["about_per_day", "at_most_per_day"].map(|name| slot[name].as_f64().map(|often| often as u64 / 100_000));
    assert_eq!(limits, [Some(25), Some(77)], "{slot}");
    let audio = expected("audio", "none");
    assert!(audio["about_per_day"].is_null() && audio["at_most_per_day"].is_number(), "{audio}");
    // A thousand may have gone unseen: that says nothing.
    assert!(expected("sdr", "none").is_null(), "{answer}");
}
