//! `punctual record --why --why-stage response` on drills that bring their own victim and share its time with it, or take
//! little of it: the cause is among the parts. What takes the victim's time alone is held to more in `kernel_why_truth`.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use support::{code, json, run, start, stderr, wait_until};

/// A shorter overlap proves nothing, ns.
const MET_NS: u64 = 200_000;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// What a victim's drill and its recording brought.
struct Truth {
    answer: Value,
    injections: Vec<Value>,
}

/// Follows the victims of a drill; `None` where this machine cannot do it.
fn follow_victims(drill: &str) -> Option<Truth> {
    let directory = tempfile::tempdir().unwrap();
    let list = json(&run(directory.path(), &["drill", "list", "--json"]));
    let line = list["drills"].as_array().unwrap().iter().find(|line| line["kind"] == drill).unwrap().clone();
    if line["available"] == "no" {
        support::skip(&format!("why drill {drill}"), line["detail"].as_str().unwrap_or_default());
        return None;
    }
    let truth = ["drill", drill, "--for", "500us..4ms", "--every", "50ms", "-D", "7s", "-o", "t", "--json"];
    let child = start(directory.path(), &truth);
    assert!(wait_until(|| std::fs::metadata(directory.path().join("t")).is_ok_and(|file| file.len() > 0)));
    let words = ["record", "-q", "-D", "3s", "--comm", "^drill-victim", "--why", "300us", "--why-stage", "response"];
    let output = run(directory.path(), &[&words[..], &["-o", "a.punctual"]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let _ = child.wait_with_output();
    let answer = json(&run(directory.path(), &["why", "a.punctual", "--json"]));
    let log = std::fs::read_to_string(directory.path().join("t")).unwrap();
    let injections = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Some(Truth { answer, injections })
}

/// In every activation of a victim that an injection met for long there is a part of that kind and name.
fn victims_are_blamed(drill: &str, blame: &str) {
    requires!("why victims", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let Some(Truth { answer, injections }) = follow_victims(drill) else { return };
    let mut confusion: BTreeMap<String, u64> = BTreeMap::new();
    let (mut met, mut named) = (0, 0);
    for episode in answer["episodes"].as_array().unwrap().iter().filter(|episode| episode["void"] == false) {
        assert_eq!(episode["stage"], "response");
        let sum: u64 = episode["parts"].as_array().unwrap().iter().map(|part| number(&part["ns"])).sum();
        assert_eq!(sum, number(&episode["total_ns"]), "{episode}");
        for injection in injections.iter().filter(|injection| injection["victim"]["tid"] == episode["victim"]["tid"]) {
            let (from, to) = (number(&injection["start_ns"]), number(&injection["end_ns"]));
            let mut blamed: BTreeMap<String, u64> = BTreeMap::new();
            for piece in episode["pieces"].as_array().unwrap() {
                let begin = number(&piece["start_ns"]);
                let ns = (begin + number(&piece["ns"])).min(to).saturating_sub(begin.max(from));
                let owner = format!("{} {}", piece["kind"].as_str().unwrap(), piece["name"].as_str().unwrap());
                *blamed.entry(owner).or_default() += ns;
            }
            if blamed.values().sum::<u64>() <= MET_NS {
                continue;
            }
            met += 1;
            named += u64::from(blamed.get(blame).is_some_and(|ns| *ns > 0));
            let (largest, _) = blamed.into_iter().max_by_key(|(_, ns)| *ns).unwrap();
            *confusion.entry(largest).or_default() += 1;
        }
    }
    eprintln!("{drill}: {met} met, {named} named, most blamed: {confusion:?}");
    if met < 5 {
        support::skip(&format!("why drill {drill}"), "too few injections met their victim");
        return;
    }
    assert!(named * 10 >= met * 9, "{drill}: of {met} injections {named} were named: {confusion:?}");
}

#[test]
fn page_faults_are_blamed() {
    victims_are_blamed("page-fault", "fault drill-victim");
}

#[test]
fn moves_between_cpus_are_blamed_on_the_mover() {
    victims_are_blamed("migrate", "migration drill-mover");
}
