//! The event log: what is in it, in order; what is not, counted; and what it leaves behind: nothing.

#[path = "../support/event_log.rs"]
mod event_log;

use crate::requires;
use crate::support::compiled::compiled;
use crate::support::nobody::Nobody;
use crate::support::{self, MAX_ATTEMPTS, code, json, number, run, start, stderr, stdout, wait_until};
use event_log::{HOSTILE, assert_sound, log, marking_program, marks_name, position, rows, start_log};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// A program that corrupts its memory ends its own marks, and is named; nobody else loses any, and none are counted
/// that were not made. The same recording shows that a damaged log or a wrong request gets one clear line.
#[test]
fn a_hostile_program_ends_only_its_own_marks() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("hostile.c");
    std::fs::write(&source, HOSTILE).unwrap();
    let Some(program) = compiled("log hostile marks", directory.path(), &source) else { return };
    let words = ["-q", "--events", "mark", "-D", "60s", "-o", "a.punctual", "--json"];
    let log = start_log(directory.path(), &words);
    assert!(wait_until(|| directory.path().join("a.punctual/events/log.json").exists()));
    let marks = |mode: &str| {
        let mut command = Command::new(&program);
        command.arg(mode).env("PUNCTUAL_MARKS", marks_name()).spawn().unwrap()
    };
    let mut good = marks("0");
    let bad: Vec<Child> = ["1", "2", "3", "4", "5"].into_iter().map(marks).collect();
    let first: Vec<u32> = bad.iter().map(Child::id).collect();
    for mut bad in bad {
        assert!(bad.wait().unwrap().success());
    }
    assert!(good.wait().unwrap().success());
    support::signal(&log, libc::SIGINT);
    let output = log.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = assert_sound(directory.path());
    let told = &answer["marks"];
    let of = |key: &str| number(&told[key]);
    assert_eq!((of("library"), of("broken"), of("dropped"), of("refused"), of("unserved")), (50, 5, 0, 0, 0), "{told}");
    assert!(first.contains(&(number(&told["first_broken"]["process"]) as u32)), "{told}");
    assert!(answer["verdict"].as_str().unwrap().contains("corrupted the memory"), "{answer}");
    // Shown for any CPU and class.
    let holes = rows(directory.path(), &["--events", "sched"]);
    assert_eq!(holes.iter().filter(|row| row["kind"] == "dropped").count(), 5);

    let show = |words: &[&str]| {
        let words: Vec<&str> = ["log", "show", "a.punctual"].into_iter().chain(words.iter().copied()).collect();
        let output = run(directory.path(), &words);
        (code(&output), stderr(&output).lines().count(), stderr(&output))
    };
    for wrong in [["--from", "5s", "--to", "1s"].as_slice(), &["--cpu", "4095"]] {
        let (code, lines, said) = show(wrong);
        assert_eq!((code, lines), (129, 1), "{said}");
    }
    assert_eq!(show(&["--perfetto", "none/a.pftrace"]).0, 1);
    let path = directory.path().join("a.punctual/events/log.json");
    let whole = std::fs::read_to_string(&path).unwrap();
    for (pointer, also) in
        [("/skipped", "/marks/dropped"), ("/marks/dropped", "/skipped"), ("/counts/0/count", "/skipped")]
    {
        let mut value: Value = serde_json::from_str(&whole).unwrap();
        *value.pointer_mut(also).unwrap() = 5.into();
        *value.pointer_mut(pointer).unwrap() = u64::MAX.into();
        std::fs::write(&path, value.to_string()).unwrap();
        for words in [["report", "a.punctual"].as_slice(), &["log", "show", "a.punctual"]] {
            let output = run(directory.path(), words);
            let is_clear = stdout(&output).contains("were dropped") || stderr(&output).starts_with("error: ");
            assert!(code(&output) < 2 && is_clear, "{pointer}: {}", stderr(&output));
        }
    }
}

/// However much happens, and however long the reading takes.
#[test]
fn the_log_is_as_long_as_it_was_asked_to_be() {
    requires!("log length", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let child = start_log(directory.path(), &["-q", "-D", "700ms", "--events", "all", "-o", "a.punctual"]);
    let (mut to, mut from) = std::io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
    let writing = std::thread::spawn(move || {
        use std::io::Write;
        while to.write_all(&[0]).is_ok() {}
    });
    let reading = std::thread::spawn(move || {
        use std::io::Read;
        let until = std::time::Instant::now() + Duration::from_secs(2);
        while std::time::Instant::now() < until && from.read_exact(&mut [0]).is_ok() {}
    });
    let output = child.wait_with_output().unwrap();
    reading.join().unwrap();
    writing.join().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = assert_sound(directory.path());
    assert_eq!(number(&answer["length_ns"]), 700_000_000);
    let end = number(&answer["started_ns"]) + 700_000_000;
    assert!(answer["events"].as_array().unwrap().iter().all(|row| number(&row["time_ns"]) <= end));
}

/// Logs a command until nothing is missing, and returns what there is. Without a CPU a log drops events, and gives a
/// program no memory for its marks within the tenth of a second that this waits; it counts both.
fn logged_whole(directory: &Path, words: &[&str]) -> Value {
    let logged = || {
        let _ = std::fs::remove_dir_all(directory.join("a.punctual"));
        let output = log(directory, words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).starts_with("Logged "), "{}", stdout(&output));
        assert_sound(directory)
    };
    let mut answer = logged();
    for _ in 1..MAX_ATTEMPTS {
        let missing = [number(&answer["dropped"]), number(&answer["marks"]["unserved"])];
        if missing == [0, 0] {
            break;
        }
        eprintln!("events dropped and programs without memory for marks: {missing:?}");
        answer = logged();
    }
    answer
}

#[test]
fn a_commands_life_is_in_the_log_in_order() {
    requires!("log processes", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let script = "sleep 0.05; exec /bin/cat /dev/null";
    // The log covers the whole machine, where others start shells too: this one has a name of its own.
    let named = directory.path().join("logged-shell");
    std::os::unix::fs::symlink("/bin/sh", &named).unwrap();
    let words = ["-q", "-o", "a.punctual", "--", named.to_str().unwrap(), "-c", script];
    logged_whole(directory.path(), &words);

    let all = rows(directory.path(), &[]);
    let shell = position(&all, 0, "the shell", |row| row["kind"] == "exec" && row["name"] == "logged-shell");
    let tid = number(&all[shell]["tid"]);
    let of = |row: &Value, kind: &str| row["kind"] == kind && number(&row["tid"]) == tid;
    let forked = position(&all, 0, "its fork", |row| row["kind"] == "fork" && number(&row["value"]) == tid);
    assert!(forked < shell);
    let child = position(&all, shell, "the fork of sleep", |row| of(row, "fork"));
    let sleep = number(&all[child]["value"]);
    let began = position(&all, child, "sleep", |row| row["kind"] == "exec" && number(&row["tid"]) == sleep);
    assert_eq!(all[began]["name"], "sleep");
    let slept = position(&all, began, "its sleep", |row| row["kind"] == "switch" && number(&row["tid"]) == sleep);
    let woken = position(&all, slept, "its waking", |row| row["kind"] == "waking" && number(&row["value"]) == sleep);
    let ended = position(&all, woken, "its end", |row| row["kind"] == "exit" && number(&row["tid"]) == sleep);
    let cat = position(&all, ended, "cat", |row| of(row, "exec"));
    assert_eq!(all[cat]["name"], "cat");
    let last = position(&all, cat, "the end of cat", |row| of(row, "exit"));
    assert_eq!((number(&all[last]["value"]), number(&all[last]["extra"])), (0, 1));

    // The process of this test's own thread is known.
    let summary = std::fs::read(directory.path().join("a.punctual/events/log.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    let own = u64::from(punctual_kernel::clock::thread_id());
    let threads = summary["threads"].as_array().unwrap();
    let found = threads.iter().find(|thread| number(&thread["tid"]) == own).expect("it was there as the log began");
    assert_eq!(number(&found["process"]), u64::from(std::process::id()));

    // The same by filters, as a table, as a trace, and counted.
    let tid = tid.to_string();
    let own = rows(directory.path(), &["--tid", &tid, "--events", "process"]);
    assert!(own.len() >= 4 && own.iter().all(|row| row["class"] == "process"), "{own:?}");
    assert!(rows(directory.path(), &["--comm", "^cat$"]).iter().any(|row| row["kind"] == "exit"));
    assert_eq!(rows(directory.path(), &["--limit", "3"]).len(), 3);
    let csv = stdout(&run(directory.path(), &["log", "show", "a.punctual", "--csv"]));
    assert_eq!(csv.lines().count(), all.len() + 1);
    let lines = stdout(&run(directory.path(), &["log", "show", "a.punctual", "--tid", &tid]));
    assert!(lines.contains("becomes cat"), "{lines}");
    assert_eq!(code(&run(directory.path(), &["log", "show", "a.punctual", "--perfetto", "a.pftrace"])), 0);
    assert!(std::fs::metadata(directory.path().join("a.pftrace")).unwrap().len() > 1_000);
    let report = stdout(&run(directory.path(), &["report", "a.punctual"]));
    assert!(report.starts_with("Logged ") && report.contains("process  exec"), "{report}");
    assert_eq!(code(&run(directory.path(), &["report", "a.punctual", "--csv"])), 129);
}

#[test]
fn marks_stand_between_the_events_around_them() {
    requires!("log marks", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let Some(program) = marking_program("log marks", directory.path()) else { return };
    let program = program.display().to_string();
    let words = ["-q", "--events", "sched,process,mark", "-o", "a.punctual", "--", &program];
    let answer = logged_whole(directory.path(), &words);
    assert_eq!(number(&answer["marks"]["library"]), 200, "{}", answer["marks"]);
    assert_eq!((number(&answer["marks"]["refused"]), number(&answer["marks"]["dropped"])), (0, 0));
    let all = rows(directory.path(), &[]);
    let mut at = position(&all, 0, "the program", |row| row["kind"] == "exec" && row["name"] == "mark");
    let tid = number(&all[at]["tid"]);
    let mut slept = 0;
    for block in 0..100 {
        let mark = |name: &'static str| {
            move |row: &Value| row["kind"] == "mark" && row["name"] == name && row["value"] == block
        };
        let begins = position(&all, at, "a beginning", mark("block begins"));
        assert_eq!((number(&all[begins]["tid"]), all[begins]["thread"].as_str()), (tid, Some("mark")));
        at = position(&all, begins, "an end", mark("block ends"));
        let between = &all[begins..at];
        let off = between.iter().any(|row| row["kind"] == "switch" && number(&row["tid"]) == tid);
        let woken = between.iter().any(|row| row["kind"] == "waking" && number(&row["value"]) == tid);
        slept += u32::from(off && woken);
    }
    // It sleeps in between. A virtual machine's host can hold the machine until the sleep is over, so that the thread
    // never leaves the CPU.
    assert!(slept >= 90, "{slept} of 100 blocks show the thread leave the CPU and wake");
    position(&all, at, "the program's end", |row| row["kind"] == "exit" && number(&row["tid"]) == tid);
}

/// Marks through the kernel's file, where tracefs is mounted and may be used.
#[test]
fn marks_by_trace_marker_stand_there_too() {
    requires!("log trace_marker", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..MAX_ATTEMPTS {
        let _ = std::fs::remove_dir_all(directory.path().join("a.punctual"));
        let Some(dropped) = two_marks_by_trace_marker(directory.path()) else { return };
        if dropped == 0 {
            break;
        }
        eprintln!("{dropped} events dropped: the log had no CPU");
    }
    let all = rows(directory.path(), &[]);
    let mark = |name: &'static str| move |row: &Value| row["kind"] == "mark" && row["name"] == name;
    let first = position(&all, 0, "the first", mark("first of two"));
    let tid = number(&all[first]["tid"]);
    let slept = position(&all, first, "a switch", |row| row["kind"] == "switch" && number(&row["tid"]) == tid);
    let woken = position(&all, slept, "a waking", |row| row["kind"] == "waking" && number(&row["value"]) == tid);
    position(&all, woken, "the second", mark("second of two"));
}

/// Logs two marks, and returns how many events are missing; `None`, loudly, without trace_marker.
fn two_marks_by_trace_marker(directory: &Path) -> Option<u64> {
    let child = start_log(directory, &["-D", "60s", "--events", "sched,process,mark", "-o", "a.punctual"]);
    let marker = || {
        let pid = child.id();
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mounted = mounts.lines().filter(|line| line.split(' ').nth(2) == Some("tracefs"));
        let instance = mounted.map(|line| format!("{}/instances/punctual-log-{pid}", line.split(' ').nth(1).unwrap()));
        instance.map(PathBuf::from).find(|path| path.is_dir())
    };
    assert!(wait_until(|| directory.join("a.punctual/events/log.json").exists()));
    let instance = marker();
    // Two writes by a thread that sleeps in between.
    if let Some(instance) = &instance {
        for text in ["first of two", "second of two"] {
            std::fs::write(instance.join("trace_marker"), text).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = assert_sound(directory);
    let Some(instance) = instance else {
        support::skip("log trace_marker", stderr(&output).lines().next().unwrap_or_default());
        return None;
    };
    assert!(!instance.exists(), "the instance is gone");
    Some(number(&answer["dropped"]))
}

/// Futex calls of a program whose threads wait for one another: the test program itself.
#[test]
fn futex_calls_are_logged_where_they_are_chosen() {
    requires!("log futex", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let child = start_log(directory.path(), &["-D", "60s", "-q", "--events", "futex", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/events/log.json").exists()));
    let (says, hears) = std::sync::mpsc::channel();
    let sleeper = move || {
        says.send(punctual_kernel::clock::thread_id()).unwrap();
        std::thread::park();
    };
    let name = support::own_name("sleeper-");
    let thread = std::thread::Builder::new().name(name.clone()).spawn(sleeper).unwrap();
    let path = format!("/proc/self/task/{}/stat", hears.recv().unwrap());
    // On a busy machine it may come to its wait late.
    let sleeps = || std::fs::read_to_string(&path).is_ok_and(|stat| stat.contains(") S "));
    assert!(wait_until(sleeps), "it does not sleep");
    std::thread::sleep(Duration::from_millis(100));
    thread.thread().unpark();
    thread.join().unwrap();
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_sound(directory.path());
    let comm = format!("^{name}$");
    let own = rows(directory.path(), &["--comm", &comm]);
    let begins = |row: &&Value| row["kind"] == "futex_begin";
    // It may meet a lock on its way.
    let waits = own.iter().enumerate().filter(|(_, row)| begins(row)).map(|(at, row)| {
        let back = position(&own, at, "the end of a wait", |row| row["kind"] == "futex_end");
        number(&own[back]["time_ns"]) - number(&row["time_ns"])
    });
    let slept = waits.max().expect("the wait is in the log");
    assert!(slept > 50_000_000, "{slept}");
    let line = stdout(&run(directory.path(), &["log", "show", "a.punctual", "--comm", &comm]));
    assert!(line.contains("futex wait"), "{line}");
}

/// Two threads that pass a byte back and forth as fast as they can, while the log is kept from reading.
#[test]
fn what_is_dropped_is_counted_and_told_where() {
    requires!("log drops", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let child = start_log(directory.path(), &["-D", "60s", "-q", "--events", "sched,timer", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/events/log.json").exists()));
    support::signal(&child, libc::SIGSTOP);
    let (mut to, mut from) = std::io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
    let (mut back, mut answer) = std::io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
    let cpu = *punctual_kernel::scheduling::allowed_cpus().last().unwrap();
    let second = std::thread::spawn(move || {
        use std::io::{Read, Write};
        punctual_kernel::scheduling::pin_to(cpu).unwrap();
        let mut byte = [0];
        while from.read_exact(&mut byte).is_ok() && back.write_all(&byte).is_ok() {}
    });
    let first = std::thread::spawn(move || {
        use std::io::{Read, Write};
        punctual_kernel::scheduling::pin_to(cpu).unwrap();
        // More than a CPU's ring holds: each way is a waking and two switches.
        for _ in 0..80_000 {
            to.write_all(&[0]).unwrap();
            answer.read_exact(&mut [0]).unwrap();
        }
    });
    first.join().unwrap();
    second.join().unwrap();
    support::signal(&child, libc::SIGINT);
    support::signal(&child, libc::SIGCONT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = assert_sound(directory.path());
    assert!(number(&answer["dropped"]) > 0, "{}", answer["drops"]);
    assert!(stdout(&output).contains("were dropped: the log has holes"), "{}", stdout(&output));
    assert!(stdout(&output).contains("note: dropped on CPU"), "{}", stdout(&output));
    let holes = rows(directory.path(), &["--events", "mark"]);
    assert!(holes.iter().any(|row| row["kind"] == "dropped"), "holes are shown whatever is chosen");
}

#[test]
fn a_kill_leaves_nothing_and_what_was_flushed_is_read() {
    requires!("log kill", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let mut child = start_log(directory.path(), &["-q", "-D", "60s", "-o", "a.punctual"]);
    let segments = directory.path().join("a.punctual/events/log");
    let is_whole = |file: std::fs::DirEntry| file.path().extension().is_some_and(|end| end == "parquet");
    assert!(wait_until(|| std::fs::read_dir(&segments).is_ok_and(|files| files.flatten().any(is_whole))));
    let name = marks_name();
    let sockets = || std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    assert!(sockets().contains(&name));
    assert!(!support::programs::of_this_test(&["process_forks"]).is_empty(), "its programs are not found");
    support::signal(&child, libc::SIGKILL);
    let pid = child.id();
    let _ = child.wait();
    let programs = || support::programs::of_this_test(&["process_forks"]);
    assert!(wait_until(|| programs().is_empty()), "a program of the log is still loaded");
    let instance = format!("punctual-log-{pid}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    for line in mounts.lines().filter(|line| line.split(' ').nth(2) == Some("tracefs")) {
        let path = Path::new(line.split(' ').nth(1).unwrap()).join("instances").join(&instance);
        assert!(wait_until(|| !path.exists()), "{} is still there", path.display());
    }
    assert!(wait_until(|| !sockets().contains(&name)), "the marks' socket is still there");
    let answer = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    assert_eq!(answer["cut"], true);
    assert!(number(&answer["rows"]) > 0);
    let shown = run(directory.path(), &["log", "show", "a.punctual", "--limit", "5"]);
    let events = stdout(&shown).lines().filter(|line| line.contains(" us  CPU ")).count();
    assert_eq!(events, 5, "{}", stdout(&shown));
}

#[test]
fn wrong_usage_and_wrong_recordings_are_one_clear_line() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["log", "--events", "sched,cake"]);
    assert_eq!(code(&output), 129);
    assert!(stderr(&output).contains("there is no class `cake`"), "{}", stderr(&output));
    let output = run(directory.path(), &["log", "show", "nothing.punctual"]);
    assert_eq!((code(&output), stderr(&output).lines().count()), (1, 1), "{}", stderr(&output));
    let words = ["record", "-q", "-D", "300ms", "--no-bpf", "--policy", "other", "-o", "a.punctual"];
    assert_eq!(code(&run(directory.path(), &words)), 0);
    let output = run(directory.path(), &["log", "show", "a.punctual"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("make one with `punctual log`"), "{}", stderr(&output));
    assert!(stdout(&run(directory.path(), &["log", "header"])).contains("punctual_mark"));
}

/// Programs' own marks need no privilege; everything else says in one line what it needs, and leaves nothing.
#[test]
fn without_privilege_there_are_marks_or_one_clear_line() {
    let Some(nobody) = Nobody::of("log without privilege") else { return };
    let unprivileged = |words: &[&str]| {
        let mut command = nobody.punctual(&[]);
        command.arg("log").args(words).env("PUNCTUAL_MARKS", marks_name());
        command.output().expect("the program starts")
    };
    let output = unprivileged(&["-q", "-D", "1s", "-o", "a.punctual"]);
    assert_eq!(code(&output), 1);
    let said = stderr(&output);
    // What was refused for lack of privilege says what would help.
    let hints: Vec<&str> = said.lines().skip(1).collect();
    assert!(matches!(hints[..], [hint] if hint.starts_with("hint: sudo")), "{said}");
    assert!(said.starts_with("error: ") && said.contains("permission denied"), "{said}");
    assert!(!nobody.directory().join("a.punctual").exists());
    let output = unprivileged(&["-q", "-D", "300ms", "--events", "mark", "-o", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).starts_with("Logged 0 events"), "{}", stdout(&output));
}

/// Ctrl-C keeps what was logged.
#[test]
fn an_interrupt_keeps_what_was_logged() {
    requires!("log interrupt", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["log", "-q", "-D", "60s", "--events", "sched", "-o", "a.punctual", "--json"]);
    assert!(wait_until(|| directory.path().join("a.punctual/events/log.json").exists()));
    std::thread::sleep(Duration::from_millis(300));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    let answer = json(&output);
    assert_eq!((code(&output), answer["cut"].as_bool()), (0, Some(false)));
    assert!(answer["verdict"].as_str().unwrap().contains("interrupted"), "{answer}");
    assert_sound(directory.path());
}
