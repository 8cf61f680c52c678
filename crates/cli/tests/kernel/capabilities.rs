//! What `punctual capabilities` promises, against the running kernel; and what it says when something is hidden.

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::{self, code, is_root, json, run, signal, start, stderr, stdout};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Rows that load BPF programs.
const TRIED: [&str; 7] =
    ["stages", "softirq path", "followed threads", "flight recorder", "event log", "idle causes", "terminal"];

fn rows(answer: &Value) -> Vec<Value> {
    answer["capabilities"].as_array().expect("a list").clone()
}

fn row(answer: &Value, name: &str) -> Value {
    rows(answer).into_iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row `{name}`"))
}

/// Runs a shell command in namespaces of its own, with the program under test as its `$0`.
fn apart(options: &[&str], directory: &Path, command: &str) -> Output {
    let mut unshare = Command::new("unshare");
    unshare.args(options).args(["sh", "-c", command, env!("CARGO_BIN_EXE_punctual")]).current_dir(directory);
    unshare.output().expect("unshare starts")
}

/// Contains no words of the BPF library, the verifier or the C library.
fn is_plain(text: &str) -> bool {
    let raw = ["libbpf", "processed ", "os error", "insns", "R0", "-- BEGIN", "btf_vmlinux", "unknown#"];
    raw.iter().all(|word| !text.contains(word))
}

#[test]
fn what_is_promised_can_be_had() {
    requires!("what capabilities promises", "BPF");
    let directory = tempfile::tempdir().unwrap();
    let answer = json(&run(directory.path(), &["capabilities", "--json"]));
    for name in TRIED {
        let row = row(&answer, name);
        assert!(row["since"].as_str().is_some_and(|since| since.contains('.')), "{row}");
        assert!(is_plain(&row.to_string()), "{row}");
    }
    let commands: [(&str, &[&str]); 5] = [
        ("stages", &["record", "-q", "-D", "300ms", "--json", "-o", "stages"]),
        ("softirq path", &["record", "-q", "-D", "300ms", "--json", "--via", "softirq", "-o", "softirq"]),
        ("followed threads", &["record", "-q", "-D", "300ms", "--json", "--comm", ".", "-o", "followed"]),
        ("event log", &["log", "-q", "-D", "300ms", "--json", "-o", "log"]),
        ("idle causes", &["idle", "-q", "-D", "300ms", "--json", "-o", "idle"]),
    ];
    let mut promised = 0;
    for (name, words) in commands {
        let row = row(&answer, name);
        let output = run(directory.path(), words);
        if row["available"] == "no" {
            let fallbacks = json(&output)["fallbacks"].as_array().map_or(0, Vec::len);
            assert!(code(&output) != 0 || fallbacks > 0, "{name} is not there and nothing was said: {row}");
            continue;
        }
        promised += 1;
        assert_eq!(code(&output), 0, "{name}: {row}\n{}", stderr(&output));
        let fallbacks = json(&output)["fallbacks"].to_string();
        assert!(!fallbacks.contains("not split") && !fallbacks.contains("not attributed"), "{name}: {fallbacks}");
    }
    let rest = json(&run(directory.path(), &["capabilities", "--json", "BTF"]));
    assert_eq!(rows(&rest).len(), 1, "{rest}");
    assert_eq!(code(&run(directory.path(), &["capabilities", "nothing"])), 129);
    assert!(promised >= 3, "only {promised} of 5 were promised: {answer:#}");
}

#[test]
fn without_type_information_no_word_of_the_library_is_heard_unless_asked_for() {
    if !is_root() {
        support::skip("hidden type information", "only root may mount");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let hide = "mount -t tmpfs none /sys/kernel/btf &&";
    let output = apart(&["-m"], directory.path(), &format!("{hide} $0 capabilities --json"));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let answer = json(&output);
    for name in TRIED {
        let row = row(&answer, name);
        assert_eq!(row["available"], "no", "{row}");
        assert!(is_plain(&row.to_string()) && row["detail"].to_string().contains("BTF"), "{row}");
    }
    let output = apart(&["-m"], directory.path(), &format!("{hide} $0 record -q -D 200ms --json -o a"));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(is_plain(&stderr(&output)) && is_plain(&stdout(&output)), "{}{}", stderr(&output), stdout(&output));
    assert!(json(&output)["fallbacks"].to_string().contains("only the total"));
    let output = apart(&["-m"], directory.path(), &format!("{hide} $0 -v record -q -D 200ms -o b"));
    assert!(stderr(&output).contains("libbpf: "), "{}", stderr(&output));
}

#[test]
fn in_a_pid_namespace_idle_knows_its_own_loops() {
    requires!("idle in a PID namespace", "idle causes");
    let directory = tempfile::tempdir().unwrap();
    // On a busy machine, loops of the lowest priority may not run within a second.
    let causes = ["1s", "5s", "25s"].into_iter().find_map(|length| {
        let command = format!("$0 idle -q -D {length} --threshold 5us --json -o idle-{length}");
        let output = apart(&["-pf", "--mount-proc"], directory.path(), &command);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = json(&output);
        assert_eq!(answer["followed"], true, "{}", answer["fallbacks"]);
        answer["causes"].as_array().cloned().filter(|causes| !causes.is_empty())
    });
    let causes = causes.expect("something else runs within 25 s");
    let own = causes.iter().filter(|cause| cause["name"].as_str().is_some_and(|name| name.starts_with("idle-")));
    assert_eq!(own.count(), 0, "{causes:#?}");
}

#[test]
fn without_privilege_every_row_has_a_reason_and_nothing_is_raw() {
    let Some(nobody) = Nobody::of("capabilities without privilege") else { return };
    let output = nobody.run(&["capabilities", "--json"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    for row in rows(&json(&output)) {
        assert!(is_plain(&row.to_string()), "{row}");
        assert!(row["available"] != "no" || !row["detail"].as_str().unwrap().is_empty(), "{row}");
    }
}

/// The objects that come with the program, by the names under which they are loaded, without those of drills.
const EVERY_OBJECT: [&str; 13] = [
    "timer", "softirq", "foreign", "recorder", "log", "idle", "terminal", "toolkit", "device", "modem", "dsl", "radio",
    "rialto",
];

#[test]
fn every_program_stays_within_its_verifier_budget() {
    requires!("the verifier budget", "stages");
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["verifier-budget", "--json"]);
    let answer = json(&output);
    let programs = answer["programs"].as_array().expect("programs");
    assert!(programs.len() > 50, "only {} programs were measured", programs.len());
    assert!(programs.iter().all(|program| program["instructions"].as_u64() > Some(0)), "{programs:#?}");
    assert!(programs.iter().any(|program| program["stack"].as_u64() > Some(0)), "no program has a stack");
    assert_eq!((answer["over_budget"].as_u64(), code(&output)), (Some(0), 0), "{answer:#}");
    let objects = answer["objects"].as_array().expect("objects");
    assert!(objects.len() >= 3, "only {} objects were measured", objects.len());
    for object in objects {
        assert!(["bytes", "relocations", "load_ns"].iter().all(|of| object[*of].as_u64() > Some(0)), "{object}");
    }
    // What this kernel or this user refuses is said; nothing else is left out.
    let refused = answer["refused"].as_array().expect("what was refused");
    let has = |name: &&str| objects.iter().any(|object| object["object"] == *name);
    let lacking: Vec<&str> = EVERY_OBJECT.into_iter().filter(|name| !has(name)).collect();
    assert!(!refused.is_empty() || lacking.is_empty(), "{lacking:?} were not loaded, and nothing was refused");
    let brief = stdout(&run(directory.path(), &["verifier-budget", "--brief"]));
    for object in objects {
        assert!(brief.contains(object["object"].as_str().unwrap()), "{object} is not in\n{brief}");
    }
    eprintln!("{} programs measured", programs.len());
}

#[test]
fn a_recording_of_causes_ends_soon_after_it_is_asked_to_whatever_it_does() {
    requires!("ending a recording of causes", "flight recorder");
    let directory = tempfile::tempdir().unwrap();
    // What a short run takes here from its beginning to its end: a machine that is held up needs more time for an end, too.
    let began = Instant::now();
    run(directory.path(), &["record", "-q", "--why", "1us", "-i", "200us", "-D", "100ms", "-o", "whole"]);
    // A second is usual.
    let bound = Duration::from_secs(2).max(began.elapsed() * 2);
    let mut cases = 0;
    // While the programs load, while the kernel's symbols are read, and during the measurement.
    for after_ms in [20, 100, 250, 400, 700, 1_000, 1_500] {
        // A host may come between once; what a program waits for, it waits for each time.
        let mut all = Vec::new();
        let is_soon = (0..3).any(|attempt| {
            all.push(time_to_end(directory.path(), &format!("a{after_ms}-{attempt}"), after_ms));
            all.last().is_some_and(|took| *took < bound)
        });
        assert!(is_soon, "{all:?} after a signal at {after_ms} ms, where a whole run allows {bound:?}");
        cases += 1;
    }
    assert_eq!(cases, 7);
}

/// How soon a recording of causes ends after a signal that comes this long after its beginning.
fn time_to_end(directory: &Path, name: &str, after_ms: u64) -> Duration {
    let mut child = start(directory, &["record", "-q", "--why", "1us", "-i", "200us", "-D", "60s", "-o", name]);
    std::thread::sleep(Duration::from_millis(after_ms));
    let asked = Instant::now();
    signal(&child, libc::SIGTERM);
    let status = child.wait().unwrap();
    let took = asked.elapsed();
    // Before the program handles it, the signal ends the program itself.
    assert!(status.code().is_none_or(|code| code <= 1), "{status:?}");
    took
}
