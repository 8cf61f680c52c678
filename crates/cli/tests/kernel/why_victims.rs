//! `punctual record --why --why-stage response` on drills that bring their own victim and share its time with it, or
//! take little of it: the cause is among the parts. `why_truth` asks more of drills that alone take the victim's
//! time.

use crate::requires;
use crate::support::{self, code, json, number, run, start, stderr, wait_until};
use punctual_recording::episode::EventKind;
use punctual_recording::{Episode, for_each_episode};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A shorter overlap proves nothing, ns.
const MET_NS: u64 = 200_000;
/// Steal time within an injection that is shorter than this hides nothing, ns.
const STEAL_NS: u64 = 20_000;
/// At least this many injections are judged.
const MIN_JUDGED: u64 = 20;

/// What a victim's drill and its recording brought.
struct Truth {
    answer: Value,
    /// By the episode's number.
    evidence: BTreeMap<u64, Episode>,
    injections: Vec<Value>,
}

/// Follows the victims of a drill; `None` if this machine cannot do it.
fn follow_victims(drill: &str) -> Option<Truth> {
    let directory = tempfile::tempdir().unwrap();
    let list = json(&run(directory.path(), &["drill", "list", "--json"]));
    let line = list["drills"].as_array().unwrap().iter().find(|line| line["kind"] == drill).unwrap().clone();
    if line["available"] == "no" {
        support::skip(&format!("why drill {drill}"), line["detail"].as_str().unwrap_or_default());
        return None;
    }
    let truth = ["drill", drill, "--for", "500us..4ms", "--every", "30ms", "-D", "60s", "-o", "t", "--json"];
    let child = start(directory.path(), &truth);
    assert!(wait_until(|| std::fs::metadata(directory.path().join("t")).is_ok_and(|file| file.len() > 0)));
    let words = ["record", "-q", "-D", "2s", "--comm", "^drill-victim", "--why", "300us", "--why-stage", "response"];
    let output = run(directory.path(), &[&words[..], &["-o", "a.punctual"]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    // However long the recording took to begin, it was beside the drill.
    support::signal(&child, libc::SIGINT);
    let _ = child.wait_with_output();
    let answer = json(&run(directory.path(), &["why", "a.punctual", "--json"]));
    let log = std::fs::read_to_string(directory.path().join("t")).unwrap();
    let injections = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut evidence = BTreeMap::new();
    for_each_episode(&directory.path().join("a.punctual"), |episode| {
        evidence.insert(episode.id, episode);
    })
    .unwrap();
    Some(Truth { answer, evidence, injections })
}

/// Whether one of the kernel threads that do so moved the victim to another CPU meanwhile.
fn was_moved(episode: &Episode, from: u64, to: u64) -> bool {
    let movers: BTreeSet<u32> = (episode.events.iter())
        .filter(|event| event.kind == EventKind::Switch && episode.name(event.name).starts_with("migration/"))
        .map(|event| event.value as u32)
        .collect();
    episode.events.iter().any(|event| {
        event.kind == EventKind::Migrate
            && event.value == u64::from(episode.victim.tid)
            && movers.contains(&event.tid)
            && (from..=to).contains(&event.at_ns)
    })
}

/// What became of the injections that met an activation of their victim.
#[derive(Default)]
struct Tally {
    /// Neither for nor against: the part is missing, but the host stole time meanwhile.
    beside_steal: u64,
    /// Neither for nor against: nothing of the kind fell into the activation.
    absent: u64,
    judged: u64,
    named: u64,
    most_blamed: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, truth: &Truth, blame: &str, happened: &impl Fn(&Episode, u64, u64) -> bool) {
        let whole = truth.answer["episodes"].as_array().unwrap().iter().filter(|episode| episode["void"] == false);
        for episode in whole {
            assert_eq!(episode["stage"], "response");
            let sum: u64 = episode["parts"].as_array().unwrap().iter().map(|part| number(&part["ns"])).sum();
            assert_eq!(sum, number(&episode["total_ns"]), "{episode}");
            let evidence = &truth.evidence[&number(&episode["id"])];
            let victim = &episode["victim"]["tid"];
            for injection in truth.injections.iter().filter(|injection| injection["victim"]["tid"] == *victim) {
                self.add_injection(episode, injection, blame, &|from, to| happened(evidence, from, to));
            }
        }
    }

    fn add_injection(&mut self, episode: &Value, injection: &Value, blame: &str, happened: &dyn Fn(u64, u64) -> bool) {
        let (from, to) = (number(&injection["start_ns"]), number(&injection["end_ns"]));
        let mut blamed: BTreeMap<String, u64> = BTreeMap::new();
        for piece in episode["pieces"].as_array().unwrap() {
            let begin = number(&piece["start_ns"]);
            let ns = (begin + number(&piece["ns"])).min(to).saturating_sub(begin.max(from));
            let owner = format!("{} {}", piece["kind"].as_str().unwrap(), piece["name"].as_str().unwrap());
            *blamed.entry(owner).or_default() += ns;
        }
        let steal_ns = blamed.remove("steal the host").unwrap_or(0);
        if blamed.values().sum::<u64>() <= MET_NS {
            return;
        }
        let is_named = blamed.get(blame).is_some_and(|ns| *ns > 0);
        if !is_named && !happened(from.max(number(&episode["expected_ns"])), to) {
            self.absent += 1;
            return;
        }
        if !is_named && steal_ns > STEAL_NS {
            self.beside_steal += 1;
            return;
        }
        self.judged += 1;
        self.named += u64::from(is_named);
        let (largest, _) = blamed.into_iter().max_by_key(|(_, ns)| *ns).unwrap();
        *self.most_blamed.entry(largest).or_default() += 1;
    }
}

/// In nine out of ten activations of a victim that an injection met for long, there is a part of that kind and name, if
/// `happened` says so for the times between. Measures again until enough are judged.
fn victims_are_blamed(drill: &str, blame: &str, happened: impl Fn(&Episode, u64, u64) -> bool) {
    requires!("why victims", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let mut tally = Tally::default();
    for _ in 0..support::MAX_ATTEMPTS {
        let Some(truth) = follow_victims(drill) else { return };
        tally.add(&truth, blame, &happened);
        // If there are few, two or three say nothing.
        if tally.judged >= MIN_JUDGED && tally.named * 10 >= tally.judged * 9 {
            break;
        }
    }
    let Tally { judged, named, beside_steal, absent, most_blamed } = tally;
    let line = format!(
        "{drill}: {judged} judged, {named} of them named; apart: {beside_steal} beside steal, {absent} without one; \
         most blamed: {most_blamed:?}"
    );
    eprintln!("{line}");
    assert!(judged >= MIN_JUDGED, "too few: {line}");
    assert!(named * 10 >= judged * 9, "{line}");
}

#[test]
fn page_faults_are_blamed() {
    victims_are_blamed("page-fault", "fault drill-victim", |_, _, _| true);
}

#[test]
fn moves_between_cpus_are_blamed_on_the_mover() {
    victims_are_blamed("migrate", "migration drill-mover", was_moved);
}
