//! Runs drills beside a recording on this machine; `punctual_conformance::truth` judges what is blamed.

use crate::support::{code, json, run, signal, start, stderr, wait_until};
pub(crate) use punctual_conformance::truth::{CULPRITS, Culprit, Score, confusion_table};
use punctual_conformance::truth::{culprit, injections, judge};
use punctual_recording::{Episode, for_each_episode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

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
    let mut drills = Vec::new();
    for (position, (drill, cpu, every)) in trial.drills.iter().enumerate() {
        let log = format!("truth-{position}");
        let mut words =
            vec!["drill", drill, "--for", trial.length, "--every", every, "-D", "1m", "--yes", "-o", &log, "--json"];
        // A reservation cannot be bound to a CPU.
        if *drill != "throttle" {
            words.extend(["-a", cpu]);
        }
        drills.push((drill, start(directory, &words), log));
    }
    for (_, _, log) in &drills {
        let has_begun = || std::fs::metadata(directory.join(log)).is_ok_and(|file| file.len() > 0);
        assert!(wait_until(has_begun), "a drill does not begin");
    }
    let words = ["record", "-q", "-D", trial.duration, "--why", "150us", "-o", "a.punctual"];
    let measured: &[&str] = match trial.drills.iter().any(|(drill, ..)| culprit(drill).brings_victim) {
        true => &["--comm", "^drill-victim", "--why-stage", "response"],
        false => &["-a", trial.cpus],
    };
    let words: Vec<&str> = words.iter().chain(measured).chain(trial.words).copied().collect();
    let output = run(directory, &words);
    for (_, child, _) in &drills {
        signal(child, libc::SIGINT);
    }
    let mut logs = Vec::new();
    for (drill, child, log) in drills {
        let _ = child.wait_with_output();
        logs.push((*drill, injections(&directory.join(log)).unwrap()));
    }
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&run(directory, &["why", "a.punctual", "--json"]));
    let mut evidence = BTreeMap::new();
    for_each_episode(&directory.join("a.punctual"), |episode| {
        evidence.insert(episode.id, episode);
    })
    .unwrap();
    let scores = logs.iter().map(|(drill, log)| judge(culprit(drill), log, &answer, &evidence)).collect();
    Truth { scores, answer, evidence }
}
