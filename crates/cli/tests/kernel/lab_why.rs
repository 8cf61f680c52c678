//! A late wakeup of a guest, looked at from outside.

use crate::support::guests::kernel;
use crate::support::{code, json, number, run, skip, stderr, stdout, tests_all};
use serde_json::Value;
use std::path::Path;

/// Looks at a kernel's guest and checks what holds for every answer: stretches and classes are the whole, and each of
/// the guest's times is a reading of its clock at a known instruction.
fn looked(directory: &Path, kernel: &str, more: &[&str], record: &[&str]) -> Value {
    let ask = |place: &str| {
        let mut words = vec!["lab", "why", "-q", "--json", "--kernel", kernel, "-o", place, "--html", "page.html"];
        words.extend(more);
        words.extend(["--", "record"]);
        words.extend(record);
        run(directory, &words)
    };
    // A guest that did not run the same way again is refused with that reason: once is no failure.
    let is_refused =
        |output: &std::process::Output| json(output)["error"].to_string().contains("other bytes than before");
    let mut output = ask("a");
    if code(&output) == 1 && is_refused(&output) {
        eprintln!("{kernel}: refused: {}", stdout(&output));
        output = ask("b");
    }
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let answer = json(&output);
    let page = std::fs::read_to_string(directory.join("page.html")).unwrap_or_default();
    let missing: Vec<&str> = ["id=\"stretches\"", "id=\"functions\"", "Inside beside outside", "id=\"provenance\""]
        .into_iter()
        .filter(|words| !page.contains(words))
        .collect();
    assert!(missing.is_empty(), "the page lacks {missing:?}: {} bytes", page.len());
    let total = number(&answer["total_ns"]);
    assert_eq!(sum(&answer, &|_| true), total, "stretches are the whole: {answer:#}");
    for side in ["inside_ns", "outside_ns"] {
        let classes = answer["classes"].as_array().unwrap();
        assert_eq!(classes.iter().map(|class| number(&class[side])).sum::<u64>(), total, "{side}: {classes:?}");
    }
    assert_eq!((&answer["cut"], &answer["times_found"]), (&Value::Bool(false), &answer["times"]), "{answer:#}");
    assert!(number(&answer["instructions"]).abs_diff(total / 4) <= 4, "4 ns each: {answer:#}");
    assert!(number(&answer["same_files"]) >= 5, "{answer:#}");
    let stretches = answer["stretches"].as_array().unwrap().len();
    eprintln!("{kernel}: {stretches} stretches, {} times of the guest's on their instructions", answer["times"]);
    answer
}

fn sum(answer: &Value, of: &dyn Fn(&Value) -> bool) -> u64 {
    let stretches = answer["stretches"].as_array().unwrap().iter();
    stretches.filter(|stretch| of(stretch)).map(|stretch| number(&stretch["ns"])).sum()
}

#[test]
fn what_ran_before_a_late_wakeup_is_seen_block_by_block_and_changes_nothing() {
    let kernel = match kernel("6.12") {
        Ok(kernel) => kernel,
        Err(reason) => return skip("lab why", &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let record = ["-D", "100ms", "--why", "15us"];
    // What a lab has left is looked at, and not recorded again.
    let words = ["lab", "run", "-q", "--kernel", &kernel, "--seeds", "1", "-o", "a", "--", "record"];
    let first = run(directory.path(), &[&words[..], &record].concat());
    assert_eq!(code(&first), 0, "{}{}", stdout(&first), stderr(&first));
    let beginning: Vec<String> = stdout(&first).lines().take(2).map(str::to_owned).collect();
    assert!(beginning[0].contains("wakeup") && beginning[1].contains("counts instructions"), "{beginning:?}");
    let stored = directory.path().join("a").join(&kernel).join("seed-1.json");
    let stored_at = || stored.metadata().and_then(|file| file.modified()).unwrap();
    let before = stored_at();
    let answer = looked(directory.path(), &kernel, &[], &record);
    assert_eq!(stored_at(), before, "it was recorded again");
    let last = answer["stretches"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["kind"], &last["thread"]), (&"user".into(), &answer["victim"]), "in the end it runs: {answer:#}");
    assert_eq!(last["tid"], answer["victim_tid"], "by its number, too: {answer:#}");

    let mut words =
        vec!["lab", "why", "-q", "--json", "--kernel", &kernel, "-o", "a", "--episode", "99999", "--", "record"];
    words.extend(record);
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 1);
    assert!(json(&output)["error"].to_string().contains("there is no episode 99999"), "{}", stdout(&output));
}

/// A drill keeps interrupts off for 1 ms each time, when nothing in the guest can look; from outside, all of it is
/// visible.
#[test]
fn code_with_interrupts_off_is_seen_from_outside() {
    if !tests_all() {
        return skip("lab why with interrupts off", "it takes long: ./test --all has it");
    }
    let kernel = match kernel("newest") {
        Ok(kernel) => kernel,
        Err(reason) => return skip("lab why with interrupts off", &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let drill = "(punctual drill irq-off --for 1ms --every 40ms -D 60s -q >/dev/null 2>&1 &) ; sleep 1";
    let answer = looked(directory.path(), &kernel, &["--before", drill], &["-D", "400ms", "--why", "500us"]);
    let arrival = &answer["arrival"];
    assert_eq!(arrival["kind"], "interrupts_off", "{answer:#}");
    let off = arrival["on_after_ns"].as_i64().unwrap() - arrival["off_from_ns"].as_i64().unwrap();
    assert!((990_000..1_050_000).contains(&off), "for 1 ms: {off}");
    let of_the_drill = sum(&answer, &|stretch| stretch["thread"] == "drill-irq-off" && stretch["kind"] == "kernel");
    assert!(of_the_drill * 10 > number(&answer["total_ns"]) * 6, "the drill had the CPU: {answer:#}");
}
