//! The call trees of what worked for an input: of a program that computes in two functions, three parts to one
//! (`examples/interact_truth.rs`), and of the process that it asks.

use crate::requires;
use crate::support::interact::{example, script};
use crate::support::{self, code, json, run, stderr, stdout};
use serde_json::Value;
use std::path::Path;

/// How often each key comes.
const ROUNDS: usize = 12;
/// At least so many samples must have seen the two functions.
const MIN_SAMPLES: u64 = 100;

/// Types at the program with these further options; `None` if the machine was too busy to follow it.
fn typed(directory: &Path, options: &[&str]) -> Option<Value> {
    let scratch = directory.display().to_string();
    let log = directory.join("log").display().to_string();
    std::fs::write(directory.join("code.toml"), script("ha".chars(), 2 * ROUNDS)).unwrap();
    let program = example("interact_truth").display().to_string();
    let words = ["interact", "-q", "--json", "-o", "a.punctual", "--script", "code.toml"];
    let _ = std::fs::remove_dir_all(directory.join("a.punctual"));
    let output = run(directory, &[&words[..], options, &["--", &program, &log, &scratch]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["followed"], true, "{}", stderr(&output));
    (answer["counts"]["records_lost"] == 0).then_some(answer)
}

/// The code of all parts of inputs with this label, of this kind and name.
fn code_of<'a>(answer: &'a Value, label: &str, kind: &str, name: &str) -> Vec<&'a Value> {
    let inputs = answer["inputs"].as_array().unwrap().iter().filter(|input| input["label"] == label);
    let parts = inputs.filter_map(|input| input["parts"].as_array()).flatten();
    parts.filter(|part| part["kind"] == kind && part["name"] == name).map(|part| &part["code"]).collect()
}

/// How many samples saw a function, or what it called.
fn seen(calls: &Value, function: &str) -> u64 {
    let each = calls.as_array().into_iter().flatten();
    each.map(|call| match call["name"].as_str().unwrap().contains(function) {
        true => call["count"].as_u64().unwrap(),
        false => seen(&call["children"], function),
    })
    .sum()
}

#[test]
fn functions_that_work_are_named_with_their_shares() {
    requires!("interact truth", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut heavy, mut light, mut all, mut of_server) = (0, 0, 0, 0);
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let Some(answer) = typed(directory.path(), &[]) else { continue };
        assert_eq!(answer["sampling"]["rate"], 1_000);
        assert!(answer["sampling"]["clock"].is_string(), "{}", answer["blind"]);
        for tree in code_of(&answer, "h", "own", "truth") {
            all += tree["samples"].as_u64().unwrap_or(0);
            heavy += seen(&tree["calls"], "compute_heavily");
            light += seen(&tree["calls"], "compute_lightly");
        }
        let asked = code_of(&answer, "a", "wait", "truth-server");
        of_server += asked.iter().filter_map(|tree| tree["samples"].as_u64()).sum::<u64>();
        // The recording says the same again.
        let again = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
        assert_eq!(code_of(&again, "h", "own", "truth"), code_of(&answer, "h", "own", "truth"));
        if heavy + light >= MIN_SAMPLES {
            break;
        }
    }
    let named = heavy + light;
    eprintln!("{heavy} heavy, {light} light, of {all} samples; {of_server} of the server");
    assert!(named >= MIN_SAMPLES && of_server > 0, "{named} of {all}, {of_server} of the server");
    assert!(named <= all && named * 10 >= all * 8, "{named} of {all}: nothing else works");
    // Four standard deviations of a share of three quarters, and a little for what begins and ends within a period.
    let (share, off) = (heavy as f64 / named as f64, 4.0 * (0.75 * 0.25 / named as f64).sqrt() + 0.02);
    assert!((share - 0.75).abs() <= off, "{share:.3} of {named}, within {off:.3}");
    let text = stdout(&run(directory.path(), &["report", "a.punctual"]));
    assert!(text.contains("compute_heavily") && text.contains("at work for inputs"), "{text}");
}

#[test]
fn without_samples_there_are_no_call_trees_and_that_is_said() {
    requires!("interact truth", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let Some(answer) = typed(directory.path(), &["--sample-rate", "0"]) else { continue };
        assert_eq!((&answer["sampling"]["rate"], &answer["sampling"]["clock"]), (&0.into(), &Value::Null));
        assert!(code_of(&answer, "h", "own", "truth").iter().all(|tree| tree.is_null()), "{answer}");
        assert!(!directory.path().join("a.punctual/interaction_code").exists());
        let text = stdout(&run(directory.path(), &["report", "a.punctual"]));
        assert!(text.contains("code: no stacks were sampled (none were asked for)"), "{text}");
        break;
    }
}
