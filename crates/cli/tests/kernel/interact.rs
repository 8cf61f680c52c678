//! `punctual interact` on a program that does a known thing for each key and logs it (`examples/interact_truth.rs`):
//! each input's largest part must be that thing, by kind and name, and as long as the log says.

use crate::requires;
use crate::support::interact::{done, example, in_memory, script};
use crate::support::interact_truth::{KEYS, Tally, judge, judge_by_1996, judge_over_time};
use crate::support::{self, code, json, run, stderr, stdout};
use punctual_recording::{
    Interaction, InteractionPart, Outcome, for_each_interaction_part, read_interaction_document, read_interactions,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often each key comes.
const ROUNDS: usize = 11;
/// At least this many must be judged.
const MIN_MET: usize = 50;
/// On a busy machine nearly all of a run is set apart; as many as there is time for.
const MAX_RUNS: usize = 20;

#[test]
fn each_input_was_waited_for_because_of_what_the_program_did() {
    requires!("interact truth", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    let (mut tally, mut blinks) = (Tally::default(), 0);
    for _ in support::attempts(MAX_RUNS) {
        let (directory, memory) = (tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), in_memory());
        let (log, script_file) = (memory.path().join("log"), directory.path().join("truth.toml"));
        std::fs::write(&script_file, script(KEYS.iter().map(|(key, _)| *key), KEYS.len() * ROUNDS)).unwrap();
        let (program, log_word) = (example("interact_truth").display().to_string(), log.display().to_string());
        let scratch = directory.path().display().to_string();
        let words = ["interact", "-q", "--json", "-o", "a.punctual", "--script", "truth.toml", "--"];
        let output = run(directory.path(), &[&words[..], &[&program, &log_word, &scratch]].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = json(&output);
        assert_eq!(answer["followed"], true, "{}", stderr(&output));
        let recording = directory.path().join("a.punctual");
        let summary = read_interaction_document(&recording).unwrap().unwrap();
        assert_eq!(summary.inputs as usize, KEYS.len() * ROUNDS);
        if summary.records_lost > 0 {
            eprintln!("{} records lost: nobody had a CPU to read them", summary.records_lost);
            continue;
        }
        // On a busy machine, keys may be typed all the time while the program still works for others.
        blinks += summary.background_outputs;
        let inputs = read_interactions(&recording).unwrap();
        let mut parts: BTreeMap<u32, Vec<InteractionPart>> = BTreeMap::new();
        for_each_interaction_part(&recording, |part| parts.entry(part.number).or_default().push(part)).unwrap();
        let done = done(&log);
        // The first input is the program's start; the program logs in the order of the keys.
        let typed: Vec<&Interaction> = inputs.iter().filter(|input| input.kind != "start").collect();
        if typed.len() != done.len() {
            // On a machine that stops for a while, keys are typed before the program takes them from its terminal.
            eprintln!("{} keys, of which the program saw {}: set apart", typed.len(), done.len());
            tally.disturbed += typed.len();
            continue;
        }
        judge_over_time(&mut tally, &answer, &typed, &done);
        let befores = std::iter::once(None).chain(done.iter().copied().map(Some));
        for ((input, done), before) in typed.iter().zip(&done).zip(befores) {
            if done.key == '-' || input.outcome == Some(Outcome::Merged) {
                tally.disturbed += 1;
                continue;
            }
            assert_eq!(input.label.chars().next(), Some(done.key));
            if input.outcome != Some(Outcome::Seen) {
                tally.wrong.push(format!("{input:?} {done:?}"));
                continue;
            }
            judge_by_1996(&mut tally, input, *done);
            match parts.get(&input.number) {
                Some(parts) => judge(&mut tally, input, parts, (before, *done)),
                // Counted as such.
                None => assert!(summary.not_split > 0, "{input:?}"),
            }
        }
        eprintln!("{}", tally.told());
        // If there are few, a single wrong one says nothing; and on a busy machine one run may have little of its own time:
        // gather more first.
        let met = tally.met();
        let is_plain = tally.wrong.len() * 100 <= met && tally.unknown.len() * 50 <= met;
        if is_plain && blinks > 0 && reproach(&tally).is_none() {
            break;
        }
    }
    if let Some(why) = reproach(&tally) {
        panic!("{why}");
    }
    assert!(blinks > 0, "the cursor blinks: {tally:?}");
}

/// What is wrong with what was met: too little of it, or too much of that wrong or unknown.
fn reproach(tally: &Tally) -> Option<String> {
    let met = tally.met();
    let (by_1996, wrong_by_1996) = (tally.by_1996, &tally.wrong_by_1996);
    let (wrong, unknown, all_ns) = (&tally.wrong, &tally.unknown, tally.all_ns);
    if met < MIN_MET || by_1996 < met {
        return Some(format!("too few: {tally:?}"));
    }
    if wrong_by_1996.len() > 1 + by_1996 / 50 {
        return Some(format!("{} of {by_1996} wrong by 1996: {wrong_by_1996:#?}", wrong_by_1996.len()));
    }
    if wrong.len() > 1 + met / 50 {
        return Some(format!("{} of {met} wrong: {wrong:#?}", wrong.len()));
    }
    if unknown.len() * 10 > met {
        return Some(format!("{} unknown beside {met}: {unknown:#?}", unknown.len()));
    }
    if !tally.over_time.differs() {
        return Some(format!("over time: {:?}", tally.over_time));
    }
    if tally.unknown_ns * 100 > all_ns {
        return Some(format!("unknown {} of {all_ns} ns", tally.unknown_ns));
    }
    (tally.not_run_ns * 5 > all_ns).then(|| format!("not run {} of {all_ns} ns", tally.not_run_ns))
}

/// Each of the processor's counters counts for the keys, or has a reason and counts for none.
fn holds_for_the_processors_counters(answer: &Value) {
    let hardware = &answer["hardware_counters"];
    let counted = hardware["counted"].as_array().unwrap();
    let absent = hardware["absent"].as_array().unwrap();
    assert_eq!(counted.len() + absent.len(), 6, "{hardware}");
    let keys = || answer["inputs"].as_array().unwrap().iter().filter(|input| input["kind"] == "key");
    for one in absent {
        let name = one["counter"].as_str().unwrap();
        assert!(!one["because"].as_str().unwrap().is_empty(), "{one}");
        assert!(keys().all(|key| key["counters"]["hardware"][name].is_null()), "{name} is absent, and no key has it");
    }
    for name in counted {
        let name = name.as_str().unwrap();
        assert!(keys().any(|key| key["counters"]["hardware"][name].as_u64() > Some(0)), "{name} counts");
    }
    assert!(keys().count() > 0);
    eprintln!("{} counted, {} absent: {}", counted.len(), absent.len(), absent.first().unwrap_or(&Value::Null));
}

#[test]
fn without_privilege_there_are_latencies_and_what_is_missing_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let text = "name = \"few\"\n[pace]\nmedian = \"60ms\"\n[[step]]\ntype = \"abcdefgh\"\n[[step]]\nkey = \"enter\"\n";
    std::fs::write(directory.path().join("few.toml"), text).unwrap();
    let words =
        ["interact", "-q", "--json", "--no-bpf", "-o", "a.punctual", "--script", "few.toml", "--", "bash", "--norc"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["followed"], false);
    assert!(answer["blind"].to_string().contains("what the program was waiting for"), "{}", answer["blind"]);
    let inputs = answer["inputs"].as_array().unwrap();
    let is_told = ["io", "children"].iter().all(|name| Path::new("/proc/thread-self").join(name).is_file());
    // Its start, eight letters, Enter.
    assert_eq!(inputs.len(), 10);
    for input in inputs.iter().filter(|input| input["kind"] == "key") {
        assert!(input["seen_ns"].as_u64().is_some() || input["outcome"] == "merged", "{input}");
        assert!(input["got_ns"].is_null() && input["think_1996_ns"].is_null(), "{input}");
        // Counters need no privilege either: the program reads the letter and echoes it.
        let counters = &input["counters"];
        if is_told && input["outcome"] == "seen" && input["label"] != "enter" {
            assert!(counters["reads"].as_u64() >= Some(1) && counters["written_bytes"].as_u64() >= Some(1), "{input}");
            assert!(counters["waits"].as_u64() >= Some(1) && counters["minor_faults"].is_u64(), "{input}");
        }
    }
    assert!(inputs[0]["kind"] == "start" && inputs[0]["counters"].is_null(), "{}", inputs[0]);
    holds_for_the_processors_counters(&answer);
    // And again, from the recording.
    let again = run(directory.path(), &["report", "a.punctual"]);
    let is_accounted = |input: &Value| input["cpu_ns"].is_u64() && input["run_delay_ns"].is_u64();
    let says_it = stdout(&again).contains("by the kernel's account:");
    assert_eq!(says_it, inputs[1..].iter().any(is_accounted), "{}", stdout(&again));
    assert!(
        code(&again) == 0 && stdout(&again).contains("ms from input to seen"),
        "{}{}",
        stdout(&again),
        stderr(&again)
    );
}

/// Does something beside threads that wake one another all the time: the recorder's rings are full in a fraction of a
/// second.
fn beside_wakings<T>(work: impl FnOnce() -> T) -> T {
    let is_over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (mut one, mut other) = UnixStream::pair().unwrap();
            let mut byte = [0];
            scope.spawn(move || {
                let mut asks = || one.write_all(&byte).and_then(|()| one.read_exact(&mut byte)).is_ok();
                while !is_over.load(Ordering::Relaxed) && asks() {}
            });
            scope.spawn(move || while other.read_exact(&mut byte).and_then(|()| other.write_all(&byte)).is_ok() {});
        }
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

#[test]
fn an_input_keeps_its_evidence_through_the_pause_after_it() {
    requires!("interact pauses", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let steps = "[[step]]\ntype = \"a\"\n[[step]]\nthink = \"3s\"\n".repeat(6);
    std::fs::write(directory.path().join("x.toml"), format!("name = \"x\"\n{steps}")).unwrap();
    let words = ["interact", "-q", "--json", "--script", "x.toml", "-o", "a.punctual", "--", "bash", "--norc"];
    let output = beside_wakings(|| run(directory.path(), &words));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let count = |name: &str| answer["counts"][name].as_u64().unwrap();
    let (seen, holes, not_split) = (count("seen"), count("with_holes"), count("not_split"));
    eprintln!("{seen} keys were seen; of {holes} inputs evidence is missing, {not_split} were not split");
    // The start counts among those with holes, and a key or two may have been disturbed.
    assert!(seen >= 4 && holes * 2 < seen, "{}", answer["counts"]);
}

#[test]
fn limits_scripts_and_programs_that_are_not_there_have_their_exit_codes() {
    let directory = tempfile::tempdir().unwrap();
    let at = |words: &[&str]| run(directory.path(), words);
    let script = "name = \"x\"\n[pace]\nmedian = \"40ms\"\n[[step]]\ntype = \"ab\"\n";
    std::fs::write(directory.path().join("x.toml"), script).unwrap();
    let limited = |limit: &str, name: &str| {
        at(&["interact", "-q", "--no-bpf", "--script", "x.toml", "--limit", limit, "-o", name, "--", "bash", "--norc"])
    };
    let exceeded = limited("key:max=1ns", "a.punctual");
    assert_eq!(code(&exceeded), 2, "{}", stderr(&exceeded));
    assert!(stdout(&exceeded).contains("Over the limit: "), "{}", stdout(&exceeded));
    assert_eq!(code(&limited("key:max=1h", "b.punctual")), 0);
    assert_eq!(code(&limited("page:max=1h", "c.punctual")), 1, "nothing to judge");
    std::fs::write(directory.path().join("wrong.toml"), script.replace("type", "tipe")).unwrap();
    let wrong = at(&["interact", "-q", "--script", "wrong.toml", "--", "true"]);
    assert!(
        code(&wrong) == 129 && stderr(&wrong).contains("wrong.toml:5:1: unknown field `tipe`"),
        "{}",
        stderr(&wrong)
    );
    let missing =
        at(&["interact", "-q", "--no-bpf", "--script", "x.toml", "-o", "d.punctual", "--", "/no/such/program"]);
    assert!(code(&missing) == 1 && stderr(&missing).contains("/no/such/program"), "{}", stderr(&missing));
    assert_eq!(stderr(&missing).lines().count(), 1, "{}", stderr(&missing));
    assert!(!directory.path().join("d.punctual").exists(), "a program that never ran left a recording");
    let paces = ["interact", "-q", "--no-bpf", "--pace", "human,full", "-o", "both", "--", "/no/such/program"];
    assert!(code(&at(&paces)) == 1 && !directory.path().join("both").exists(), "directories of no recordings are left");
    // A program that ends at once: whatever is known about it is kept and reported.
    let ended = at(&["interact", "-q", "--no-bpf", "--script", "x.toml", "-o", "e.punctual", "--", "true"]);
    assert!(stdout(&ended).contains("the program ended with code 0 before the script did"), "{}", stdout(&ended));
}

#[test]
fn at_two_paces_the_same_is_typed_in_turn_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    let script =
        "name = \"few\"\n[pace]\nmedian = \"60ms\"\n[[step]]\ntype = \"abcdefghij\"\n[[step]]\nkey = \"enter\"\n";
    std::fs::write(directory.path().join("few.toml"), script).unwrap();
    let words =
        ["interact", "-q", "--json", "--no-bpf", "--pace", "human,full", "--repeat", "2", "--script", "few.toml"];
    let output = run(directory.path(), &[&words[..], &["-o", "both", "--", "bash", "--norc"]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!((&answer["schema"], &answer["standing"]), (&"punctual.compare-interact/1".into(), &"other pace".into()));
    assert_eq!((&answer["directory"], &answer["outcome"]), (&"both".into(), &"no verdict".into()));
    for (side, pace) in [("a", "human"), ("b", "full")] {
        let told = &answer[side];
        assert_eq!((&told["pace"], &told["runs"], &told["inputs"]), (&pace.into(), &2.into(), &22.into()), "{told}");
        assert!(told["waited_per_input_ns"].as_u64() > Some(0), "{told}");
        let runs: Vec<Value> = ["01", "02"]
            .iter()
            .map(|number| {
                let recording = format!("both/{pace}/{number}.punctual");
                let report = run(directory.path(), &["report", &recording, "--json"]);
                assert_eq!(code(&report), 0, "{}", stderr(&report));
                json(&report)
            })
            .collect();
        assert!(runs.iter().all(|run| run["pace"] == pace), "{pace}");
        // Other pauses each time, and the same at both paces.
        assert_eq!(runs.iter().map(|run| run["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    }
    // The same from the directories.
    let again = run(directory.path(), &["compare", "both/human", "both/full", "--json"]);
    let again = json(&again);
    assert!(again["directory"].is_null() && again["verdict"] == answer["verdict"], "{again}");
    assert_eq!((&again["kinds"], &again["a"]), (&answer["kinds"], &answer["a"]));
    let there = run(directory.path(), &[&words[..], &["-o", "both", "--", "bash", "--norc"]].concat());
    assert!(code(&there) == 1 && json(&there)["error"].to_string().contains("already exists"), "{}", stdout(&there));
}

#[test]
fn nothing_of_the_program_is_left_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let script = "name = \"x\"\n[[step]]\nthink = \"30s\"\n[[step]]\ntype = \"a\"\n";
    std::fs::write(directory.path().join("x.toml"), script).unwrap();
    // It ignores a hangup and leaves its session.
    let hides = "trap '' HUP TERM; echo $$ > shell; setsid sh -c 'trap \"\" HUP TERM; echo $$ > hidden; sleep 1000' & sleep 1000";
    let words = ["interact", "-q", "--no-bpf", "--script", "x.toml", "-o", "a.punctual", "--", "sh", "-c", hides];
    let mut child = support::start(directory.path(), &words);
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap_or_default().trim().to_owned();
    assert!(support::wait_until(|| !read("shell").is_empty() && !read("hidden").is_empty()), "it did not start");
    support::signal(&child, libc::SIGKILL);
    let _ = child.wait();
    assert!(support::wait_until(|| !support::is_alive(&read("shell")) && !support::is_alive(&read("hidden"))));
    // The begun recording opens.
    let report = run(directory.path(), &["report", "a.punctual"]);
    assert!(code(&report) <= 1, "{}", stderr(&report));
}
