//! `punctual compare --repeat` against the running kernel. Asserts counts and names, never how fast the machine is.

use crate::requires;
use crate::support::{self, code, is_alive, json, run, start, stderr, wait_until};
use punctual_recording::Recording;
use std::path::Path;

#[test]
fn sides_are_set_up_measured_in_turn_and_accounted_for() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["compare", "--repeat", "2", "-D", "600ms", "-q", "-o", "both", "--json"];
    let settings = ["--a", "echo a >> order", "--b", "echo b >> order", "--while-b", "sleep 30"];
    let output = run(directory.path(), &[&words[..], &settings[..]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    // Pair by pair, in a random order.
    let order = std::fs::read_to_string(directory.path().join("order")).unwrap();
    assert!(["a\nb\n", "b\na\n"].contains(&&order[..4]) && ["a\nb\n", "b\na\n"].contains(&&order[4..]), "{order}");
    assert_eq!((&answer["a"]["runs"], &answer["b"]["runs"]), (&2.into(), &2.into()));
    assert_eq!((&answer["a"]["load"], &answer["b"]["load"]), (&"none".into(), &"sleep 30".into()));
    assert_eq!(answer["in_turn"], true);
    for side in ["a", "b"] {
        let mut wakeups = 0;
        for number in ["01", "02"] {
            let path = directory.path().join("both").join(side).join(format!("{number}.punctual"));
            wakeups += Recording::open(path).unwrap().document().counters.wakeups;
        }
        assert_eq!(answer[side]["wakeups"], wakeups);
        assert!(wakeups > 0);
    }
    // The same from disk.
    let again = json(&run(directory.path(), &["compare", "both/a", "both/b", "--json"]));
    assert_eq!((&again["stages"], &again["outcome"]), (&answer["stages"], &answer["outcome"]));
}

#[test]
fn sides_may_have_options_of_their_own() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["compare", "--repeat", "2", "-D", "400ms", "-q", "-o", "both", "--json", "-p", "70"];
    let settings = ["--a", "-p 90 -a 0", "--b", "-p 60,50", "--b", "echo b >> order", "--all-repeats"];
    let output = run(directory.path(), &[&words[..], &settings[..]].concat());
    // Sides with two priorities and a side with one have nothing in common.
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let configured = |side: &str| {
        let path = directory.path().join("both").join(side).join("02.punctual");
        let configuration = Recording::open(path).unwrap().document().provenance.configuration.clone();
        (configuration.priorities, configuration.cpus)
    };
    assert_eq!(configured("a"), (vec![90], vec![0]));
    assert_eq!(configured("b").0, [60, 50]);
    assert_eq!(std::fs::read_to_string(directory.path().join("order")).unwrap(), "b\nb\n");

    let words = ["compare", "--repeat", "1", "-D", "400ms", "-q", "-o", "one", "--json", "--b", "-p 60"];
    let answer = json(&run(directory.path(), &words));
    assert!(answer["b"]["name"].as_str().unwrap().ends_with("(-p 60)"), "{}", answer["b"]["name"]);
    // The next step is the command that was run, with enough repeats and a new directory.
    let next = answer["next"][0]["command"].as_str().unwrap();
    let (before, after) = (next.find("--repeat ").unwrap(), " -D 400ms -q --json --b '-p 60'");
    assert!(next[..before] == *"sudo punctual compare " && next.ends_with(after), "{next}");
    assert_eq!(answer["stages"].as_array().unwrap().last().unwrap()["measure"], "fifo:80 -> fifo:60");
}

#[test]
fn three_sides_are_measured_in_turn_and_each_stands_beside_the_first() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["compare", "--repeat", "2", "-D", "400ms", "-q", "-o", "all", "--json"];
    let settings = ["--a", "echo a >> order", "--b", "echo b >> order", "--c", "-p 60", "--c", "echo c >> order"];
    let output = run(directory.path(), &[&words[..], &settings[..]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let order = std::fs::read_to_string(directory.path().join("order")).unwrap();
    for round in [&order[..6], &order[6..]] {
        let mut sides: Vec<&str> = round.lines().collect();
        sides.sort_unstable();
        assert_eq!(sides, ["a", "b", "c"], "{order}");
    }
    let labels: Vec<&str> =
        (answer["comparisons"].as_array().unwrap().iter()).map(|beside| beside["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["B", "C"]);
    assert_eq!(answer["comparisons"][1]["comparison"]["b"]["runs"], 2);
    // The next step is the command that was run, with enough repeats.
    let next = answer["next"][0]["command"].as_str().unwrap();
    assert!(next.starts_with("sudo punctual compare --repeat 4 ") && next.contains(" --c '-p 60'"), "{next}");
    // The same from disk.
    let again = json(&run(directory.path(), &["compare", "all/a", "all/b", "all/c", "--json"]));
    let stages = |answer: &serde_json::Value| answer["comparisons"][1]["comparison"]["stages"].clone();
    assert_eq!(stages(&again), stages(&answer));

    let left_out = run(directory.path(), &["compare", "--repeat", "1", "-D", "400ms", "--b", "-p 70", "--d", "-p 60"]);
    assert_eq!((code(&left_out), stderr(&left_out).lines().count()), (129, 1), "{}", stderr(&left_out));
    assert!(stderr(&left_out).contains("--c is missing"), "{}", stderr(&left_out));
    let left_out = run(directory.path(), &["compare", "--repeat", "1", "-D", "400ms", "--c", "-p 60"]);
    assert!(code(&left_out) == 129 && stderr(&left_out).contains("--b is missing"), "{}", stderr(&left_out));
}

#[test]
fn a_command_that_fails_is_one_line_and_what_was_measured_stays() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["compare", "--repeat", "1", "-D", "200ms", "-q", "-o", "both", "--b", "echo no such knob >&2; exit 3"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("ended with code 3: no such knob"), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    // If B came first, A has no recording yet.
    let a = directory.path().join("both/a/01.punctual");
    assert!(!a.exists() || Recording::open(a).is_ok());
}

#[test]
fn what_was_measured_before_a_command_failed_is_compared() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    // Whichever side comes first in the second pair, both have a recording by then.
    let fails_twice = "echo >> times; test $(wc -l < times) -lt 2";
    let words = ["compare", "--repeat", "2", "-D", "300ms", "-q", "-o", "both", "--json", "--a", fails_twice];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!((&answer["schema"], &answer["exit_code"]), (&"punctual.compare/1".into(), &1.into()));
    let runs_of_b = answer["b"]["runs"].as_u64().unwrap();
    assert!(answer["a"]["runs"] == 1 && (1..=2).contains(&runs_of_b), "{answer}");
    assert!(answer["notes"][0].as_str().unwrap().contains("ended with code 1"), "{}", answer["notes"]);
}

/// A run that was cut does not count when the directories are compared again.
#[test]
fn a_run_that_was_cut_is_left_out_of_later_comparisons() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["compare", "--repeat", "3", "-D", "2s", "-q", "-o", "all", "--json", "--b", "-p 70", "--c", "-p 60"];
    let child = start(directory.path(), &words);
    // The second round has begun.
    let is_there = |side: &str| directory.path().join("all").join(side).join("02.punctual/recording.json").exists();
    assert!(wait_until(|| ["a", "b", "c"].into_iter().any(is_there)));
    // SAFETY: sends a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    let answer = json(&output);
    let left_out = std::fs::read_dir(directory.path().join("all/left-out")).unwrap().count();
    assert_eq!(left_out, 1, "{answer}");
    let again = json(&run(directory.path(), &["compare", "all/a", "all/b", "all/c", "--json"]));
    for pair in 0..2 {
        let runs = |answer: &serde_json::Value| {
            ["a", "b"].map(|side| answer["comparisons"][pair]["comparison"][side]["runs"].as_u64().unwrap())
        };
        assert_eq!((runs(&answer), runs(&again)), ([1, 1], [1, 1]), "{answer}");
    }
}

/// A command for `--a` that starts something and waits for it, and writes down its own ids.
const WAITS: &str = "echo $PPID > guard; echo $$ > shell; sleep 1000 & echo $! > inner; wait";

fn noted(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap_or_default().trim().to_owned()
}

#[test]
fn what_a_command_started_ends_with_the_program_whatever_ends_that() {
    requires!("compare ended", "real-time priority");
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGINT] {
        let directory = tempfile::tempdir().unwrap();
        let words = ["compare", "--repeat", "1", "-D", "200ms", "-q", "-o", "both", "--a", WAITS];
        let child = start(directory.path(), &words);
        assert!(wait_until(|| !noted(directory.path(), "inner").is_empty()));
        support::signal(&child, signal);
        let output = child.wait_with_output().unwrap();
        if signal != libc::SIGKILL {
            assert_eq!(code(&output), 1);
            assert!(stderr(&output).contains("interrupted before both sides"), "{}", stderr(&output));
        }
        for name in ["shell", "inner", "guard"] {
            let pid = noted(directory.path(), name);
            assert!(wait_until(|| !is_alive(&pid)), "{name} outlived the program after signal {signal}");
        }
        let scratch = format!("punctual-load-{}-0", noted(directory.path(), "guard"));
        assert!(!std::env::temp_dir().join(scratch).exists());
    }
}

#[test]
fn a_page_that_cannot_be_written_costs_neither_measurement_nor_verdict() {
    requires!("compare page", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("pages")).unwrap();
    let words = ["compare", "--repeat", "1", "-D", "200ms", "-q", "-o", "both", "--html", "pages/x.html"];
    let output = run(directory.path(), &[&words[..], &["--b", "rmdir pages", "--json"]].concat());
    if stderr(&output).contains("built without") {
        support::skip("compare page", "built without the script that draws");
        return;
    }
    assert_eq!(code(&output), 1);
    assert_eq!(stderr(&output), "error: cannot write pages/x.html: no such file or directory\n");
    let answer = json(&output);
    assert_eq!((&answer["exit_code"], &answer["a"]["runs"]), (&1.into(), &1.into()));
    assert!(Recording::open(directory.path().join("both/b/01.punctual")).is_ok());
    // The next time, this is known before anything is measured.
    let output = run(directory.path(), &words);
    assert_eq!(stderr(&output), "error: cannot write pages/x.html: there is no directory pages\n");
}

#[test]
fn what_a_command_leaves_running_stays() {
    requires!("compare stays", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let leaves = "sleep 1000 & echo $! > left";
    let words = ["compare", "--repeat", "1", "-D", "200ms", "-q", "-o", "both", "--a", leaves];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let left = noted(directory.path(), "left");
    assert!(is_alive(&left));
    // SAFETY: ends the process that this test started and that nobody has waited for.
    unsafe { libc::kill(left.parse().unwrap(), libc::SIGKILL) };
}
