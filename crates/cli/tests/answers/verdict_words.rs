//! What the sentences of `forecast` and `compare` rest on, as whole commands on the golden recordings.

use crate::support::{code, copy_golden, golden, json, run, stderr, stdout};

/// What a command answers in the directory of the golden recordings.
fn said(words: &[&str]) -> String {
    let output = run(&golden(), words);
    assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_time_of_use_stands_beside_what_it_assumes() {
    let words = ["forecast", "check", "--device", "sdr", "--compression", "5"];
    let text = said(&words);
    let first = text.lines().next().unwrap_or_default();
    let expected =
        "sdr under mixed fails about every 6.00 ms of use, if an hour under mixed stands for 5 hours of use. ";
    assert!(first.starts_with(expected), "{first}");
    assert!(text.contains(" losses a day of use, "), "{text}");
    // How many buffers it needs is for a want that is counted in the same hours.
    let text = said(&[&words[..], &["--want", "1/day"]].concat());
    assert!(text.contains(" buffers of 369 samples to run dry at most once in 24.0 h of use under mixed"), "{text}");
    // Hours that were measured need no word.
    let text = said(&words[..4]);
    assert!(text.starts_with("sdr under mixed fails about every 1.20 ms. "), "{text}");
    assert!(!text.contains(" of use, if ") && text.contains(" losses a day, "), "{text}");
}

/// Stalls, and how often a device runs dry, are the same numbers in both commands, under the same names.
#[test]
fn a_comparison_counts_as_the_forecasts_of_its_sides_do() {
    let sides = ["check/idle.punctual", "check/loaded.punctual"];
    let words = ["compare", sides[0], sides[1], "--device", "sdr", "--device", "modem"];
    let compared = json(&run(&golden(), &[&words[..], &["--json"]].concat()));
    let mut met = 0;
    for device in compared["devices"].as_array().unwrap() {
        let id = device["device"].as_str().unwrap();
        for (side, name) in sides.iter().zip(["a", "b"]) {
            let forecast = json(&run(&golden(), &["forecast", side, "--device", id, "--json"]));
            for count in ["over", "ran_dry"] {
                assert_eq!(device[count][name], forecast["devices"][0][count], "{id} {side} {count}");
                met += 1;
            }
        }
    }
    assert_eq!(met, 8, "{compared}");
    let text = said(&words);
    let row = text.lines().find(|line| line.starts_with("Software radio ")).unwrap_or_else(|| panic!("{text}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[2..8], ["369", "us", "0", "2", "0", "833"], "{text}");
    assert!(text.contains("a device may run dry several times in one"), "{text}");
    assert!(text.contains("No stall on either side beyond the slack of modem (14.0 ms)\n"), "{text}");
    assert!(!text.contains("Soft modem"), "{text}");
}

/// Whoever ran a device asks about it first, whatever else the catalogue has.
#[test]
fn the_device_that_was_measured_stands_first() {
    let answer = json(&run(&golden(), &["forecast", "device.punctual", "--json"]));
    let mut met = 0;
    for group in answer["groups"].as_array().unwrap() {
        let devices = answer["devices"].as_array().unwrap().iter().filter(|row| row["measure"] == group["measure"]);
        let devices: Vec<(&str, &str)> =
            devices.map(|row| (row["device"].as_str().unwrap(), row["origin"].as_str().unwrap())).collect();
        assert_eq!(devices[0], ("v90", "named"), "{devices:?}");
        assert_eq!(devices.iter().filter(|(id, _)| *id == "v90").count(), 1, "{devices:?}");
        let mut origins: Vec<&str> = devices.iter().map(|(_, origin)| *origin).collect();
        origins.dedup();
        assert_eq!(origins, ["named", "today", "papers"]);
        met += 1;
    }
    assert_eq!(met, 2, "{answer}");
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.contains("too early to say whether v90 at fifo:95 and "), "{verdict}");
    let text = said(&["forecast", "device.punctual"]);
    let mut lines = text.lines().map(str::trim_start).skip_while(|line| *line != "yours:").skip(1);
    assert!(lines.next().is_some_and(|line| line.starts_with("v90 ")), "{text}");
}

/// Two devices of one profile are named with what the user made differ, wherever they stand.
#[test]
fn two_devices_of_one_profile_are_told_apart() {
    let devices = ["--device", "audio 64@48kHz", "--device", "audio 256@48kHz x3"];
    let text = said(&[&["forecast", "check"][..], &devices].concat());
    let expected = "It is too early to say whether audio 64@48kHz x2 and audio 256@48kHz x3 hold, either ";
    assert!(text.starts_with(expected), "{text}");
    for name in ["audio 64@48kHz x2", "audio 256@48kHz x3"] {
        // Under both loads: a row of the table, and what its slack and its work are.
        assert_eq!(text.lines().filter(|line| line.trim_start().starts_with(name)).count(), 6, "{name}: {text}");
    }
    let text = said(&[&["compare", "check/idle.punctual", "check/loaded.punctual"][..], &devices].concat());
    let expected =
        "No stall on either side beyond the slack of audio 64@48kHz x2 (1.20 ms), audio 256@48kHz x3 (10.1 ms)\n";
    assert!(text.contains(expected), "{text}");
}

/// Devices that nobody named are told by whose they are, in text, in JSON and on the page; those that somebody named need no word.
#[test]
fn compared_devices_say_whose_they_are() {
    let words = ["compare", "check/idle.punctual", "check/loaded.punctual"];
    let quiet = |text: &str| {
        let found = text.lines().find(|line| line.starts_with("No stall on either side ")).map(str::to_owned);
        found.unwrap_or_else(|| panic!("{text}"))
    };
    let text = quiet(&said(&words));
    assert!(text.contains("the slack of today's: audio64 (") && text.contains("; the papers': adsl ("), "{text}");
    let origins = |words: &[&str]| {
        let answer = json(&run(&golden(), &[words, &["--json"]].concat()));
        let devices = answer["devices"].as_array().unwrap().clone();
        let mut origins: Vec<String> = devices.iter().map(|row| row["origin"].as_str().unwrap().to_owned()).collect();
        origins.dedup();
        origins
    };
    assert_eq!(origins(&words), ["today", "papers"]);
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("a.html");
    said(&[&words[..], &["--html", page.to_str().unwrap()]].concat());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(">whose<") && page.contains(">today's<"), "no column for whose a device is");
    let named = [&words[..], &["--device", "modem", "--device", "audio"]].concat();
    let text = quiet(&said(&named));
    assert!(text.contains("the slack of modem (14.0 ms), audio ("), "{text}");
    assert_eq!(origins(&named), ["named"]);
}

/// What became of a device's blocks is compared, as the cycles of loops are, and comes first; the wakeups beside it follow.
#[test]
fn underruns_of_devices_are_compared_with_limits() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        copy_golden("device.punctual", &directory.path().join(name));
    }
    let found = json(&run(directory.path(), &["compare", "a", "b", "--json"]));
    let row = &found["counts"][0];
    assert_eq!(
        (&row["kind"], &row["name"], &row["limit_ns"]),
        (&"underruns".into(), &"v90".into(), &().into()),
        "{row}"
    );
    for side in ["a", "b"] {
        assert_eq!((&row[side]["events"], &row[side]["blocks"]), (&1.into(), &26.into()), "{row}");
    }
    assert!(row["low"].as_f64().unwrap() < 0.5 && row["high"].as_f64().unwrap() > 2.0, "{row}");
    let output = run(directory.path(), &["compare", "a", "b"]);
    let text = stdout(&output);
    let first = "These runs show no difference in underruns of v90: 1 of 26 blocks on B, 1 of 26 blocks on A (1.00 times as often, ";
    assert!(text.starts_with(first) && text.contains(" Wakeup latency: these two runs "), "{text}");
    assert!(text.contains("note: the wakeups are those of the threads beside the devices; "), "{text}");
    // What measures both sides in turn measures no devices.
    let again = "next: `sudo punctual device run -o A/$(date +%s).punctual v90 --context thread:other -D 300ms -a 1` ";
    assert!(text.contains(again) && !text.contains("--repeat"), "{text}");
}

/// Nothing is said to be no difference that could not be compared.
#[test]
fn too_few_wakeups_are_no_verdict() {
    // Of two threads with nine or ten wakeups each.
    let text = said(&["compare", "follow.punctual", "follow.punctual"]);
    let first =
        "These two runs have too few wakeups to be compared: a comparison needs at least 16 of a thread in each. ";
    assert!(text.starts_with(first) && !text.contains("no difference as") && !text.contains("The total of"), "{text}");
    let rows = text.lines().filter(|line| line.starts_with("sh other ") || line.starts_with("sleep other "));
    let rows: Vec<&str> = rows.collect();
    assert!(rows.len() == 11 && rows.iter().all(|row| row.ends_with("too few wakeups")), "{text}");
    // The same of each of several sides.
    let text = said(&["compare", "follow.punctual", "follow.punctual", "follow.punctual"]);
    assert!(text.starts_with("Too few wakeups to compare with A: B, C.\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with("  too few wakeups")).count(), 2, "{text}");
    // Where one of several threads has enough, the sentence has its number.
    let text = said(&["compare", "comm.punctual", "comm.punctual"]);
    assert!(text.starts_with("These two runs show no difference: B's worst 10 % is 1.00 times A's ("), "{text}");
    assert_eq!(text.matches("The total of ").count(), 1, "{text}");
    assert!(text.contains("The total of rcu_preempt other: "), "{text}");
}
