//! `punctual interact --releases`: the press and the release of a key are inputs of their own, on programs that draw for both
//! (`examples/interact_window.rs`) and on those that draw for the press alone.

use crate::requires;
use crate::support::interact::{Done, done, example};
use crate::support::interact_window::{needs, was_put_in_late};
use crate::support::{self, code, json, run, stderr};
use punctual_recording::{Interaction, Outcome, read_interactions};
use std::path::Path;

/// How many keys are typed.
const KEYS: usize = 40;
/// The server may tell the typist before or after it answers the program.
const AROUND_NS: u64 = 2_000_000;

/// Types keys at an example with their releases, and returns what was put in, but not the start.
fn typed(via: &str, program: &[&str], directory: &Path) -> Vec<Interaction> {
    let text =
        format!("name = \"x\"\n[pace]\nmedian = \"160ms\"\nspread = 0.1\n[[step]]\ntype = \"{}\"\n", "c".repeat(KEYS));
    std::fs::write(directory.join("x.toml"), text).unwrap();
    let words = ["interact", "-q", "--json", "--releases", "--via", via, "--script", "x.toml", "-o", "a.punctual"];
    let words = [&words[..], &["--limit", "press:max=1h", "--"], program].concat();
    let output = run(directory, &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let kinds: Vec<(&str, u64)> = answer["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| (kind["kind"].as_str().unwrap(), kind["inputs"].as_u64().unwrap()))
        .filter(|(kind, _)| *kind != "start")
        .collect();
    assert!(kinds.contains(&("press", KEYS as u64)) && kinds.contains(&("release", KEYS as u64)), "{kinds:?}");
    let inputs = read_interactions(&directory.join("a.punctual")).unwrap();
    let inputs: Vec<Interaction> = inputs.into_iter().filter(|input| input.kind != "start").collect();
    for pair in inputs.chunks(2) {
        assert_eq!((pair[0].kind.as_str(), pair[1].kind.as_str()), ("press", "release"));
        let held_ns = pair[1].begin_ns - pair[0].injected_ns;
        assert!((20_000_000..2_000_000_000).contains(&held_ns), "held for {held_ns} ns");
    }
    inputs
}

#[test]
fn a_press_and_its_release_are_each_seen_when_their_own_picture_is_drawn() {
    requires!("interact releases", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact releases", "Xvfb");
    let (mut met, mut seen) = (0, 0);
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (program, log) = (example("interact_window"), directory.path().join("log"));
        let (program, log_word) = (program.display().to_string(), log.display().to_string());
        let inputs = typed("x11", &[&program, &log_word, "releases"], directory.path());
        let done = done(&log);
        assert_eq!(inputs.len(), done.len(), "what was put in was done");
        let judged = inputs.iter().zip(&done).filter(|(input, done)| {
            done.key != '-' && input.outcome != Some(Outcome::Merged) && !was_put_in_late(input)
        });
        let is_in_time = |input: &Interaction, done: &Done| {
            let drawn_ns = done.finished_ns.expect("it draws") + AROUND_NS;
            input.seen_ns.is_some_and(|at| at + 1_000 >= done.begin_ns + done.part_ns && at <= drawn_ns)
        };
        for (input, done) in judged {
            met += 1;
            seen += usize::from(is_in_time(input, done));
            if !is_in_time(input, done) {
                eprintln!("not seen in time: {input:?} {done:?}");
            }
        }
        eprintln!("{seen} of {met} presses and releases were seen in time");
        if met >= 50 && seen * 100 >= met * 97 {
            break;
        }
    }
    assert!(met >= 50 && seen * 100 >= met * 97, "{seen} of {met}");
}

/// What nobody draws for is no answer to a press that was seen before it: a window that asks for no releases is told of none.
#[test]
fn a_release_for_which_nothing_is_drawn_takes_nothing_from_its_press() {
    requires!("interact silent releases", "terminal", "kernel's thread ids", "unshifted clock");
    for (via, server, name, outcome) in [
        ("x11", "Xvfb", "interact_window", Outcome::Unread),
        ("wayland", "sway", "interact_surface", Outcome::Unanswered),
    ] {
        if !support::interact_window::is_installed(server) {
            support::skip("interact silent releases", &format!("{server} is not installed (scripts/setup --test)"));
            continue;
        }
        let (mut pressed, mut silent) = (0, 0);
        for _ in support::attempts(support::MAX_ATTEMPTS) {
            let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let (program, log) = (example(name).display().to_string(), directory.path().join("log"));
            let inputs = typed(via, &[&program, &log.display().to_string()], directory.path());
            let count = |kind: &str, outcome| {
                inputs.iter().filter(|input| input.kind == kind && input.outcome == Some(outcome)).count()
            };
            (pressed, silent) = (count("press", Outcome::Seen), count("release", outcome));
            eprintln!("{via}: of {KEYS} keys {pressed} presses were seen, {silent} releases {}", outcome.name());
            if pressed * 10 >= KEYS * 9 && silent * 10 >= KEYS * 9 {
                break;
            }
        }
        assert!(pressed * 10 >= KEYS * 9 && silent * 10 >= KEYS * 9, "{via}: {pressed} and {silent} of {KEYS}");
    }
}
