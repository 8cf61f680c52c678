//! `punctual drill` against the running kernel: a recording beside it shows what it injects, it keeps to its bounds,
//! and it leaves nothing behind. Asserts orders, sums, counts and names, never how fast the machine is.

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::{self, code, json, run, start, stderr, wait_until};
use punctual_recording::{Recording, Wakeup};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The drills disturb each other: one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the machine allows the drill; says so loudly if not.
fn can(kind: &str) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let list = json(&run(directory.path(), &["drill", "list", "--json"]));
    let drills = list["drills"].as_array().unwrap();
    let line = drills.iter().find(|line| line["kind"] == kind).unwrap_or_else(|| panic!("no drill {kind}"));
    if line["available"] == "no" {
        support::skip(&format!("drill {kind}"), line["detail"].as_str().unwrap_or_default());
    }
    line["available"] != "no"
}

/// An injection from the log.
#[derive(Debug)]
struct Injection {
    cpu: u32,
    asked_ns: u64,
    start_ns: u64,
    end_ns: u64,
    victim: Value,
    whole: Value,
}

/// Checks what must hold for every drill; returns its injections.
fn injections(answer: &Value, kind: &str) -> Vec<Injection> {
    assert_eq!(answer["schema"], "punctual.drill/1");
    assert_eq!(answer["kind"], kind);
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"));
    let (start_ns, end_ns) = (number(&answer["start_ns"]), number(&answer["end_ns"]));
    let found: Vec<Injection> = answer["injections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| Injection {
            cpu: number(&one["cpu"]) as u32,
            asked_ns: number(&one["asked_ns"]),
            start_ns: number(&one["start_ns"]),
            end_ns: number(&one["end_ns"]),
            victim: one["victim"].clone(),
            whole: one.clone(),
        })
        .collect();
    assert!(!found.is_empty(), "{answer}");
    for one in &found {
        assert!(one.start_ns >= start_ns && one.end_ns <= end_ns, "outside the run: {one:?}");
        assert!(one.end_ns - one.start_ns >= one.asked_ns, "too short: {one:?}");
        assert!(one.asked_ns <= 50_000_000);
        assert_eq!(one.whole["name"], answer["name"]);
    }
    // Steal and other threads lengthen some, but not most.
    let kept = found.iter().filter(|one| one.end_ns - one.start_ns < one.asked_ns + 5_000_000).count();
    assert!(kept * 2 > found.len(), "{found:?}");
    for cpu in 0..1024 {
        let own: Vec<&Injection> = found.iter().filter(|one| one.cpu == cpu).collect();
        assert!(own.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns), "{own:?}");
    }
    found
}

/// Injections and wakeups that coincided.
#[derive(Default)]
struct Meetings {
    injections: usize,
    met: usize,
    /// Of those that met: the host stole nothing, and the drill's own stage had most of the lateness.
    unstolen: usize,
    own: usize,
}

/// If more than this was stolen from a wakeup's lateness, its stages say nothing, ns.
const STEAL_NS: u64 = 20_000;
/// At least this many wakeups are judged.
const MIN_JUDGED: usize = 20;

/// Runs a drill beside a recording of FIFO 80 threads. Every observed wakeup that was due within an injection on its
/// CPU must have had at least the rest of the injection in the stages that `held` adds up.
fn delays(kind: &str, held: fn(&Wakeup) -> Option<u64>, own: fn(&Wakeup) -> Option<u64>) {
    let mut all = Meetings::default();
    for _ in 0..support::MAX_ATTEMPTS {
        meet(&mut all, kind, held, own);
        // If there are few, a single one says nothing.
        if all.unstolen >= MIN_JUDGED && all.own * 4 >= all.unstolen * 3 && all.met * 2 >= all.injections {
            break;
        }
    }
    let Meetings { injections, met, unstolen, own } = all;
    eprintln!(
        "{kind}: {met} wakeups met {injections} injections; of {unstolen} beside no steal {own} in its own stage"
    );
    // About two periods fall into an injection.
    assert!(met * 2 >= injections, "{met} wakeups met {injections} injections");
    assert!(unstolen >= MIN_JUDGED, "{unstolen} of {met} wakeups beside no steal are too few");
    // The stage that the drill targets had most of it, unless something else came in between.
    assert!(own * 4 >= unstolen * 3, "{own} of {unstolen} in the stage of {kind}");
}

fn meet(all: &mut Meetings, kind: &str, held: fn(&Wakeup) -> Option<u64>, own: fn(&Wakeup) -> Option<u64>) {
    let directory = tempfile::tempdir().unwrap();
    let recording = start(directory.path(), &["record", "-q", "-D", "60s", "-p", "80", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/recording.json").exists()));
    let words = ["drill", kind, "--for", "500us..3ms", "--every", "60ms", "-D", "1200ms", "-q", "--json", "-o", "log"];
    let output = run(directory.path(), &words);
    support::signal(&recording, libc::SIGINT);
    let recorded = recording.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(code(&recorded), 0, "{}", stderr(&recorded));
    let answer = json(&output);
    let injections = injections(&answer, kind);
    // The log has the same injections, one line each.
    let log = std::fs::read_to_string(directory.path().join("log")).unwrap();
    let mut logged: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    logged.sort_by_key(|one| one["start_ns"].as_u64());
    assert_eq!(Value::Array(logged), answer["injections"]);

    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    all.injections += injections.len();
    recording
        .for_each_wakeup(|wakeup| {
            let due = wakeup.expected_ns;
            let within = |one: &&Injection| one.cpu == wakeup.cpu && one.start_ns < due && due + 100_000 < one.end_ns;
            let Some(one) = injections.iter().find(within) else { return };
            let Some(held) = held(wakeup) else { return };
            // To within 2 us, because clock readings may disagree.
            assert!(due + held + 2_000 >= one.end_ns, "{kind}: {wakeup:?} was due within {one:?}");
            all.met += 1;
            if wakeup.steal_ns.unwrap_or(0) <= STEAL_NS {
                all.unstolen += 1;
                all.own += usize::from(own(wakeup).is_some_and(|own| own * 2 > one.end_ns - due));
            }
        })
        .unwrap();
}

fn until_handler(wakeup: &Wakeup) -> Option<u64> {
    wakeup.irq_ns
}

fn until_switched_in(wakeup: &Wakeup) -> Option<u64> {
    Some(wakeup.irq_ns? + wakeup.wake_ns? + wakeup.thread_ns?)
}

fn thread(wakeup: &Wakeup) -> Option<u64> {
    wakeup.thread_ns
}

macro_rules! delaying {
    ($($test:ident: $kind:literal, $held:ident, $own:ident;)+) => {
        $(#[test]
        fn $test() {
            let _alone = alone();
            requires!($kind, "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
            if can($kind) {
                delays($kind, $held, $own);
            }
        })+
    };
}

delaying! {
    work_in_interrupt_context_delays_interrupts: "irq", until_handler, until_handler;
    interrupts_off_delay_interrupts: "irq-off", until_handler, until_handler;
    work_in_softirq_context_delays_threads: "softirq", until_switched_in, thread;
    a_thread_of_higher_priority_delays_threads: "fifo", until_switched_in, thread;
    a_thread_of_the_same_priority_delays_threads: "same-priority", until_switched_in, thread;
}

/// Runs a drill with a victim of its own and injections of this length.
fn with_victim(kind: &str, length: &str, words: &[&str]) -> Vec<Injection> {
    let directory = tempfile::tempdir().unwrap();
    let words = [&["drill", kind, "--for", length, "--every", "60ms", "-D", "1s", "-q", "--json"], words].concat();
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    injections(&json(&output), kind)
}

fn of_victim(one: &Injection, key: &str) -> Option<u64> {
    one.victim[key].as_u64()
}

/// The injections that met their victim.
fn met(found: &[Injection]) -> Vec<&Injection> {
    found.iter().filter(|one| one.victim.is_object()).collect()
}

/// Those that met their victim while the mutex was held, so that it waited for as long.
fn waited(met: &[&Injection]) -> usize {
    met.iter().filter(|one| of_victim(one, "done_ns").unwrap() >= one.end_ns).count()
}

/// Whether enough of them met their victim, and enough of those made it suffer.
fn suffices(kind: &str, found: &[Injection]) -> bool {
    let met = met(found);
    let did_suffer = match kind {
        "lock" => waited(&met) * 4 >= met.len() * 3,
        "migrate" => met.iter().any(|one| of_victim(one, "delayed_ns").unwrap() > 0),
        _ => true,
    };
    met.len() * 2 >= found.len() && did_suffer
}

#[test]
fn a_count_ends_a_drill() {
    let _alone = alone();
    requires!("drill count", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["drill", "fifo", "--for", "300us", "--every", "20ms", "-D", "60s", "--count", "7", "-q", "--json"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(injections(&answer, "fifo").len(), 7);
    assert_eq!(answer["interrupted"], false);
}

#[test]
fn drills_with_a_victim_of_their_own_make_it_suffer() {
    let _alone = alone();
    for kind in ["lock", "page-fault", "throttle", "migrate"] {
        if !can(kind) {
            continue;
        }
        let mut found = with_victim(kind, "2ms", &[]);
        // A host that takes the CPU makes victims miss injections. If there are few, some of them say nothing.
        for _ in 1..support::MAX_ATTEMPTS {
            if suffices(kind, &found) {
                break;
            }
            found.extend(with_victim(kind, "2ms", &[]));
        }
        let met = met(&found);
        assert!(met.len() * 2 >= found.len(), "{kind}: {found:?}");
        for one in &met {
            let time = |key| of_victim(one, key).unwrap();
            assert!(time("due_ns") <= time("first_ns") && time("first_ns") <= time("done_ns"), "{one:?}");
            assert!(time("due_ns") < one.end_ns && time("done_ns") > one.start_ns, "{one:?}");
            assert!(time("delayed_ns") <= time("done_ns") - time("first_ns"), "{one:?}");
        }
        match kind {
            // Whoever asked for the mutex while it was held got it after it was free.
            "lock" => {
                assert!(waited(&met) * 4 >= met.len() * 3, "{met:?}");
            }
            "page-fault" => {
                assert!(met.iter().all(|one| one.whole["faults"].as_u64() > Some(0)), "{met:?}");
                assert!(met.iter().all(|one| of_victim(one, "delayed_ns").unwrap() >= one.asked_ns));
            }
            "throttle" => assert!(met.iter().all(|one| of_victim(one, "delayed_ns").unwrap() >= one.asked_ns)),
            _ => {
                assert!(met.iter().all(|one| one.whole["moves"].as_u64() > Some(0)), "{met:?}");
                assert!(met.iter().any(|one| of_victim(one, "delayed_ns").unwrap() > 0));
            }
        }
    }
}

#[test]
fn pages_of_a_file_are_read_again() {
    let _alone = alone();
    let found = with_victim("page-fault", "2ms", &["--pages", "file"]);
    // On a file system in memory, nothing has to be read: these are plain faults.
    assert!(found.iter().all(|one| one.whole["faults"].as_u64() > Some(0)), "{found:?}");
}

/// The kernel's ids of the BPF programs that a process holds.
fn programs_of(child: &Child) -> Vec<u32> {
    let directory = std::fs::read_dir(format!("/proc/{}/fdinfo", child.id()));
    let texts = directory.into_iter().flatten().flatten().filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let numbers = texts.filter_map(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("prog_id:").map(str::to_owned))?;
        line.trim().parse().ok()
    });
    numbers.collect()
}

fn are_loaded(programs: &[u32]) -> bool {
    libbpf_rs::query::ProgInfoIter::default().any(|program| programs.contains(&program.id))
}

fn threads_of(child: &Child) -> Vec<String> {
    let directory = std::fs::read_dir(format!("/proc/{}/task", child.id()));
    let names = directory.into_iter().flatten().flatten();
    names
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .map(|name| name.trim().to_owned())
        .collect()
}

#[test]
fn a_kill_leaves_no_program_and_no_thread_and_a_log() {
    let _alone = alone();
    let before = complaints();
    for (kind, thread) in [
        ("irq", "drill-arm"),
        ("softirq", "drill-arm"),
        ("irq-off", "drill-irq-off"),
        ("fifo", "drill-fifo"),
        ("throttle", "drill-victim"),
    ] {
        if !can(kind) {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let words = ["drill", kind, "--for", "40ms", "--every", "160ms", "-D", "60s", "-q", "-o", "log"];
        let child = start(directory.path(), &words);
        let lines = |path: &Path| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
        assert!(wait_until(|| lines(&log) >= 2), "{kind}");
        assert!(threads_of(&child).iter().any(|name| name == thread), "{kind}: {:?}", threads_of(&child));
        let programs = programs_of(&child);
        assert_eq!(programs.is_empty(), !["irq", "softirq", "irq-off"].contains(&kind), "{kind}");
        support::signal(&child, libc::SIGKILL);
        let pid = child.id();
        child.wait_with_output().unwrap();
        assert!(wait_until(|| !are_loaded(&programs)), "{kind}");
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        // Every line of the log is whole.
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(text.ends_with('\n') && text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{text}");
    }
    // The log may have forgotten its oldest lines since.
    let new: Vec<String> = complaints().difference(&before).cloned().collect();
    assert!(new.is_empty(), "the kernel complained: {new:#?}");
}

/// Lines in the kernel's log about a CPU that did not answer, each with its time; none if it may not be read.
fn complaints() -> BTreeSet<String> {
    let output = std::process::Command::new("dmesg").output().ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).to_lowercase()).unwrap_or_default();
    // Not what is installed.
    let is_one = |line: &&str| [" stall", "lockup", "hung task"].iter().any(|word| line.contains(word));
    text.lines().filter(is_one).map(str::to_owned).collect()
}

#[test]
fn an_interrupt_ends_a_drill_with_what_was_injected() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let kind = if can("irq") { "irq" } else { "page-fault" };
    let child = start(directory.path(), &["drill", kind, "--every", "50ms", "-D", "60s", "-q", "--json", "-o", "log"]);
    let log = directory.path().join("log");
    assert!(wait_until(|| std::fs::read_to_string(&log).is_ok_and(|text| text.lines().count() >= 3)));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["interrupted"], true);
    assert!(injections(&answer, kind).len() >= 3);
    assert_eq!(answer["injections"].as_array().unwrap().len(), std::fs::read_to_string(&log).unwrap().lines().count());
}

#[test]
fn the_same_seed_asks_for_the_same_lengths() {
    let _alone = alone();
    // By number: an injection that came too late is left out.
    let asked = |seed: &str| -> Vec<(u64, u64)> {
        let found = with_victim("page-fault", "200us..5ms", &["--seed", seed]);
        found.iter().map(|one| (one.whole["number"].as_u64().unwrap(), one.asked_ns)).collect()
    };
    let (first, again, other) = (asked("5"), asked("5"), asked("6"));
    let same = |left: &[(u64, u64)], right: &[(u64, u64)]| {
        let both = left.iter().filter_map(|one| right.iter().find(|two| two.0 == one.0).map(|two| (one.1, two.1)));
        both.map(|(one, two)| one == two).collect::<Vec<bool>>()
    };
    let equal = same(&first, &again);
    assert!(!equal.is_empty() && equal.iter().all(|&same| same), "{first:?} {again:?}");
    assert!(same(&first, &other).iter().all(|&same| !same), "{first:?} {other:?}");
}

#[test]
fn a_log_overwrites_nothing_and_one_that_cannot_be_written_is_named() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let drill = |log: &str| {
        let words = ["drill", "page-fault", "--for", "200us", "--every", "20ms", "-D", "300ms", "-q", "-o", log];
        run(directory.path(), &words)
    };
    std::fs::write(&log, "mine").unwrap();
    let output = drill("log");
    assert_eq!((code(&output), std::fs::read_to_string(&log).unwrap().as_str()), (1, "mine"));
    assert!(stderr(&output).starts_with("error: log: already exists"), "{}", stderr(&output));
    let output = drill("/dev/full");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).starts_with("error: /dev/full: cannot write: no space left"), "{}", stderr(&output));
    assert!(stderr(&output).contains("\nhint: what was written until then was kept"), "{}", stderr(&output));
    assert_eq!(code(&drill("new")), 0);
    assert!(std::fs::read_to_string(directory.path().join("new")).unwrap().lines().count() > 0);
}

#[test]
fn what_leaves_the_bounds_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["irq", "--for", "51ms"], "50.0 ms"),
        (&["irq", "--for", "5ms..1ms"], "backwards"),
        (&["irq", "--for", "5ms", "--every", "19ms"], "25 %"),
        (&["irq", "--for", "5ms", "--every", "9ms", "--yes"], "50 %"),
        (&["irq", "-D", "11m"], "10 min"),
        (&["irq", "-p", "5"], "--priority"),
        (&["irq", "-a", "60000"], "CPU 60000"),
        (&["throttle", "-a", "0"], "-a"),
        (&["migrate", "-a", "0"], "two"),
        (&["earthquake"], "the drills are"),
    ];
    for (words, telling) in cases {
        let output = run(directory.path(), &[&["drill"], *words].concat());
        assert_eq!(code(&output), 129, "{words:?}");
        assert!(stderr(&output).lines().next().unwrap().contains(telling), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).lines().count() <= 2);
    }
}

#[test]
fn a_user_without_privilege_is_told_what_is_missing() {
    let _alone = alone();
    let Some(nobody) = Nobody::of("drill without privilege") else { return };
    for kind in ["irq", "softirq", "irq-off", "fifo", "throttle", "lock"] {
        let output = nobody.run(&["drill", kind, "--every", "50ms", "-D", "1s", "-q"]);
        if kind == "lock" {
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            continue;
        }
        assert_eq!(code(&output), 1, "{kind}");
        let said = stderr(&output);
        assert!(said.starts_with(&format!("error: the drill {kind} is not available here: ")), "{said}");
        assert!(said.lines().count() <= 2, "{said}");
    }
}
