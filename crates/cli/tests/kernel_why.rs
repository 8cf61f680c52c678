//! `punctual record --why` and `punctual why` against the running kernel and known causes. The machine may be as noisy
//! as it likes: what is asserted is that injected causes are named, that parts add up, and that nothing stays behind.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use support::{code, json, run, start, stderr, stdout, wait_until};

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// What must hold for every answer.
fn assert_sound(answer: &Value) {
    assert_eq!(answer["schema"], "punctual.why/1");
    let mut late = 0;
    for episode in answer["episodes"].as_array().unwrap() {
        let parts = episode["parts"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| number(&part["ns"])).sum();
        assert_eq!(sum, number(&episode["total_ns"]), "{episode}");
        let pieces = episode["pieces"].as_array().unwrap();
        let mut reached = number(&episode["expected_ns"]);
        for piece in pieces {
            assert_eq!(number(&piece["start_ns"]), reached, "{episode}");
            reached += number(&piece["ns"]);
        }
        assert_eq!(reached, number(&episode["expected_ns"]) + sum);
        assert_eq!(episode["void"], !episode["void_reason"].is_null());
        late += if episode["void"] == true { 0 } else { sum };
    }
    assert_eq!(number(&answer["late_ns"]), late);
    let causes = answer["causes"].as_array().unwrap();
    assert_eq!(causes.iter().map(|cause| number(&cause["total_ns"])).sum::<u64>(), late);
}

fn overlap(piece: &Value, from: u64, to: u64) -> u64 {
    let start = number(&piece["start_ns"]);
    (start + number(&piece["ns"])).min(to).saturating_sub(start.max(from))
}

/// Runs a drill and a recording on one CPU, and holds what was blamed against the log of the truth.
fn drill_is_blamed(drill: &str, kind: &str, name: &str) {
    requires!("why", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let list = json(&run(directory.path(), &["drill", "list", "--json"]));
    let line = list["drills"].as_array().unwrap().iter().find(|line| line["kind"] == drill).unwrap().clone();
    if line["available"] == "no" {
        support::skip(&format!("why drill {drill}"), line["detail"].as_str().unwrap_or_default());
        return;
    }
    let cpu = allowed_cpu();
    let truth = ["drill", drill, "--for", "500us..4ms", "--every", "50ms", "-D", "6s", "-a", &cpu, "-o", "t", "--json"];
    let child = start(directory.path(), &truth);
    assert!(wait_until(|| std::fs::metadata(directory.path().join("t")).is_ok_and(|file| file.len() > 0)));
    let words = ["record", "-q", "-D", "3s", "-a", &cpu, "--why", "150us", "--sample-rate", "0", "-o", "a.punctual"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let _ = child.wait_with_output();
    let answer = json(&run(directory.path(), &["why", "a.punctual", "--json"]));
    assert_sound(&answer);
    let log = std::fs::read_to_string(directory.path().join("t")).unwrap();
    let injections: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut confusion: BTreeMap<String, u64> = BTreeMap::new();
    let (mut met, mut named, mut close, mut overlapped, mut unknown) = (0, 0, 0, 0u64, 0u64);
    for episode in answer["episodes"].as_array().unwrap().iter().filter(|episode| episode["void"] == false) {
        let pieces = episode["pieces"].as_array().unwrap();
        for injection in &injections {
            let (from, to) = (number(&injection["start_ns"]), number(&injection["end_ns"]));
            let inside = |kinds: &[&str]| {
                let of_kinds = pieces.iter().filter(|piece| kinds.contains(&piece["kind"].as_str().unwrap()));
                of_kinds.map(|piece| overlap(piece, from, to)).sum::<u64>()
            };
            let whole: u64 = pieces.iter().map(|piece| overlap(piece, from, to)).sum();
            // The log is by the clock: interrupts and softirqs that interrupted the culprit are not its own.
            let above: &[&str] = match kind {
                "irq" | "irq_off" => &[],
                "softirq" => &["irq", "kernel_wake"],
                _ => &["irq", "softirq", "kernel_wake"],
            };
            let overlap_ns = whole - inside(&["steal"]) - inside(above);
            if overlap_ns <= 100_000 {
                continue;
            }
            met += 1;
            overlapped += overlap_ns;
            unknown += inside(&["unknown"]);
            let mut blamed: BTreeMap<String, u64> = BTreeMap::new();
            for piece in pieces.iter().filter(|piece| piece["kind"] != "steal") {
                let key = format!("{} {}", piece["kind"].as_str().unwrap(), piece["name"].as_str().unwrap());
                *blamed.entry(key).or_default() += overlap(piece, from, to);
            }
            let (largest, ns) = blamed.into_iter().max_by_key(|(_, ns)| *ns).unwrap();
            let is_it = largest.starts_with(&format!("{kind} {name}"));
            named += u64::from(is_it);
            close += u64::from(is_it && overlap_ns.abs_diff(ns) <= (overlap_ns / 20).max(20_000));
            *confusion.entry(largest).or_default() += 1;
        }
    }
    let unknown_share = unknown as f64 / (overlapped.max(1) as f64) * 100.0;
    eprintln!(
        "{drill}: {met} met, {named} named, {close} within 5 % or 20 us, unknown {unknown_share:.2} %: {confusion:?}"
    );
    if met < 5 {
        support::skip(&format!("why drill {drill}"), "too few injections met a wakeup");
        return;
    }
    assert!(named * 10 >= met * 8, "{drill}: of {met} injections {named} were named: {confusion:?}");
    assert!(close * 2 >= met, "{drill}: of {met} injections {close} had their part: {confusion:?}");
}

/// The last CPU that this process may use.
fn allowed_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
    list.rsplit([',', '-']).next().unwrap().to_owned()
}

#[test]
fn an_interrupt_is_blamed() {
    drill_is_blamed("irq", "irq", "drill_irq");
}

#[test]
fn interrupts_off_are_blamed_on_the_thread() {
    drill_is_blamed("irq-off", "irq_off", "drill-irq-off");
}

#[test]
fn a_softirq_is_blamed_on_its_callback() {
    drill_is_blamed("softirq", "softirq", "drill_softirq");
}

#[test]
fn a_thread_of_higher_priority_is_blamed() {
    drill_is_blamed("fifo", "higher_priority", "drill-fifo");
}

#[test]
fn a_thread_of_the_same_priority_is_blamed() {
    drill_is_blamed("same-priority", "same_priority", "drill-same");
}

/// Every other form of the answer, from one recording of everything.
#[test]
fn a_recording_answers_in_all_forms_and_damage_is_one_clear_line() {
    requires!("why forms", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    // Every wakeup is later than a microsecond: the budget bounds what is kept, and says so.
    let output = run(directory.path(), &["record", "-q", "-D", "2s", "--why", "1us", "-o", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let why = |words: &[&str]| {
        let words: Vec<&str> = ["why", "a.punctual"].into_iter().chain(words.iter().copied()).collect();
        run(directory.path(), &words)
    };
    let answer = json(&why(&["--json"]));
    assert_sound(&answer);
    let recorder = &answer["recorder"];
    assert!(number(&recorder["kept"]) >= 60, "{recorder}");
    let episodes = answer["episodes"].as_array().unwrap();
    assert_eq!(number(&recorder["kept"]), episodes.len() as u64);
    assert_eq!(number(&recorder["late"]), number(&recorder["kept"]) + number(&recorder["over_budget"]), "{recorder}");
    let woken = |episode: &&Value| episode["chain"].as_array().unwrap().iter().any(|link| link["by"] == "interrupt");
    assert!(episodes.iter().filter(woken).count() * 2 > episodes.len(), "most are woken by a timer's interrupt");
    let whole = stdout(&why(&[]));
    assert!(whole.lines().next().unwrap().contains("later than 1.00 us"), "{whole}");
    assert!(whole.contains("left no evidence, for the budget was spent"), "{whole}");
    let one = stdout(&why(&["--episode", "2"]));
    assert!(one.contains("Episode 2: measure-") && one.contains("woken by:"), "{one}");
    let folded = stdout(&why(&["--folded"]));
    let weight: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(weight, number(&answer["late_ns"]), "a flame graph is as wide as the lateness");
    assert_eq!(code(&why(&["--perfetto", "a.pftrace"])), 0);
    assert!(std::fs::metadata(directory.path().join("a.pftrace")).unwrap().len() > 1_000);
    // It is a recording as any other.
    assert_eq!(code(&run(directory.path(), &["report", "a.punctual"])), 0);
    assert_eq!(code(&why(&["--episode", "99999"])), 129);

    damage(directory.path());
    let output = why(&[]);
    assert_eq!(code(&output), 1);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("line 1 is damaged"), "{}", stderr(&output));
}

fn damage(directory: &Path) {
    let path = directory.join("a.punctual/events/episodes.jsonl");
    let mut text = std::fs::read(&path).unwrap();
    text[10] = b'{';
    text[11] = b'{';
    std::fs::write(&path, text).unwrap();
}

#[test]
fn a_recording_without_evidence_says_how_to_make_one() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["record", "-q", "-D", "300ms", "--no-bpf", "--policy", "other", "-o", "a.punctual"];
    assert_eq!(code(&run(directory.path(), &words)), 0);
    let output = run(directory.path(), &["why", "a.punctual"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("record with --why"), "{}", stderr(&output));
}

/// The recorder's programs are gone after the hardest end.
#[test]
fn a_kill_while_armed_leaves_nothing() {
    requires!("why kill", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(directory.path(), &["record", "-q", "--why", "200us", "-D", "60s", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/events/recorder.json").exists()));
    support::signal(&child, libc::SIGKILL);
    let _ = child.wait();
    let left = || {
        libbpf_rs::query::ProgInfoIter::default()
            .any(|program| program.name.to_string_lossy().starts_with("note_switch"))
    };
    assert!(wait_until(|| !left()), "a program of the recorder is still loaded");
    let answer = json(&run(directory.path(), &["why", "a.punctual", "--json"]));
    assert_sound(&answer);
    assert_eq!(answer["cut"], true);
}
