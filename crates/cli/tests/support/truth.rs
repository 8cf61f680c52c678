//! Runs drills beside a recording on this machine; `punctual_conformance::truth` judges what is blamed.

use crate::support::{code, json, run, signal, start, stderr, wait_until, wait_until_it_measures};
pub(crate) use punctual_conformance::truth::{CULPRITS, Culprit, Score, confusion_table};
use punctual_conformance::truth::{culprit, injections, judge};
use punctual_recording::{Episode, for_each_episode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// What runs at once.
pub(crate) struct Trial<'a> {
    /// Drills, their CPUs, and how far apart their injections begin: two at the same distance would never meet, or
    /// always.
    pub(crate) drills: &'a [(&'a str, &'a str, &'a str)],
    /// `--for` of the drills.
    pub(crate) length: &'a str,
    /// The measured CPUs.
    pub(crate) cpus: &'a str,
    /// How long to measure: `3s`.
    pub(crate) duration: &'a str,
    /// More words for `record`.
    pub(crate) words: &'a [&'a str],
}

/// What became of it.
pub(crate) struct Truth {
    /// One for each drill.
    pub(crate) scores: Vec<Score>,
    /// The answer of `why --json`.
    pub(crate) answer: Value,
    /// The evidence by the number of the episode.
    pub(crate) evidence: BTreeMap<u64, Episode>,
}

/// Why this machine cannot do a drill, if it cannot.
pub(crate) fn refusal(drill: &str) -> Option<String> {
    let list = json(&run(Path::new("/"), &["drill", "list", "--json"]));
    let line = list["drills"].as_array().unwrap().iter().find(|line| line["kind"] == drill).unwrap();
    (line["available"] == "no").then(|| line["detail"].as_str().unwrap_or_default().to_owned())
}

/// Runs drills beside a recording, and judges each.
pub(crate) fn measure(directory: &Path, trial: &Trial<'_>) -> Truth {
    let drills: Vec<Child> = (0..trial.drills.len()).map(|position| begin(directory, trial, position)).collect();
    (0..drills.len()).for_each(|position| wait_for_injections(directory, position));
    let output = run(directory, &recording(trial));
    for child in &drills {
        signal(child, libc::SIGINT);
    }
    for child in drills {
        let _ = child.wait_with_output();
    }
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    judged(directory, trial)
}

/// Runs drills one after another beside one recording, each for this long, and judges each.
pub(crate) fn measure_in_turn(directory: &Path, trial: &Trial<'_>, each: Duration) -> Truth {
    let mut recorder = None;
    for position in 0..trial.drills.len() {
        let child = begin(directory, trial, position);
        wait_for_injections(directory, position);
        // Beside the first, so that whoever is to be followed is there.
        if recorder.is_none() {
            recorder = Some(start(directory, &recording(trial)));
            wait_until_it_measures(&directory.join("a.punctual"));
        }
        std::thread::sleep(each);
        signal(&child, libc::SIGINT);
        let _ = child.wait_with_output();
    }
    let recorder = recorder.expect("a drill");
    signal(&recorder, libc::SIGINT);
    let output = recorder.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    judged(directory, trial)
}

/// The name of a drill's log.
fn log(position: usize) -> String {
    format!("truth-{position}")
}

/// Starts a drill.
fn begin(directory: &Path, trial: &Trial<'_>, position: usize) -> Child {
    let (log, (drill, cpu, every)) = (log(position), trial.drills[position]);
    let mut words =
        vec!["drill", drill, "--for", trial.length, "--every", every, "-D", "1m", "--yes", "-o", &log, "--json"];
    // A reservation cannot be bound to a CPU.
    if drill != "throttle" {
        words.extend(["-a", cpu]);
    }
    start(directory, &words)
}

fn wait_for_injections(directory: &Path, position: usize) {
    let has_begun = || std::fs::metadata(directory.join(log(position))).is_ok_and(|file| file.len() > 0);
    assert!(wait_until(has_begun), "a drill does not begin");
}

/// The words of the recording.
fn recording<'a>(trial: &Trial<'a>) -> Vec<&'a str> {
    let words = ["record", "-q", "-D", trial.duration, "--why", "150us", "-o", "a.punctual"];
    let measured = match trial.drills.iter().any(|(drill, ..)| culprit(drill).brings_victim) {
        true => vec!["--comm", "^drill-victim", "--why-stage", "response"],
        false => vec!["-a", trial.cpus],
    };
    words.into_iter().chain(measured).chain(trial.words.iter().copied()).collect()
}

/// Judges the recording by the logs of the drills.
fn judged(directory: &Path, trial: &Trial<'_>) -> Truth {
    let answer = json(&run(directory, &["why", "a.punctual", "--json"]));
    let mut evidence = BTreeMap::new();
    for_each_episode(&directory.join("a.punctual"), |episode| {
        evidence.insert(episode.id, episode);
    })
    .unwrap();
    let score = |(position, (drill, ..)): (usize, &(&str, &str, &str))| {
        let log = injections(&directory.join(log(position))).unwrap();
        judge(culprit(drill), &log, &answer, &evidence)
    };
    let scores = trial.drills.iter().enumerate().map(score).collect();
    Truth { scores, answer, evidence }
}
