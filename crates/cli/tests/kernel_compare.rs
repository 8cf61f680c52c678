//! `punctual compare --repeat` against the running kernel. Asserts counts and names, never how fast the machine is.

mod support;

use punctual_recording::Recording;
use support::{code, json, run, stderr};

#[test]
fn sides_are_set_up_measured_in_turn_and_accounted_for() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["compare", "--repeat", "2", "-D", "600ms", "-q", "-o", "both", "--json"];
    let settings = ["--a", "echo a >> order", "--b", "echo b >> order", "--while-b", "sleep 30"];
    let output = run(directory.path(), &[&words[..], &settings[..]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(std::fs::read_to_string(directory.path().join("order")).unwrap(), "a\nb\nb\na\n");
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
fn a_command_that_fails_is_one_line_and_what_was_measured_stays() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["compare", "--repeat", "1", "-D", "200ms", "-q", "-o", "both", "--b", "echo no such knob >&2; exit 3"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("ended with code 3: no such knob"), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(Recording::open(directory.path().join("both/a/01.punctual")).is_ok());
}

#[test]
fn what_was_measured_before_a_command_failed_is_compared() {
    requires!("compare", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    // In the order A B B A the last is the second A.
    let fails_twice = "echo >> times; test $(wc -l < times) -lt 2";
    let words = ["compare", "--repeat", "2", "-D", "300ms", "-q", "-o", "both", "--json", "--a", fails_twice];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!((&answer["schema"], &answer["exit_code"]), (&"punctual.compare/1".into(), &1.into()));
    assert_eq!((&answer["a"]["runs"], &answer["b"]["runs"]), (&1.into(), &2.into()));
    assert!(answer["notes"][0].as_str().unwrap().contains("ended with code 1"), "{}", answer["notes"]);
}
