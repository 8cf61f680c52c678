//! Following other programs' threads, against the running kernel: counts, names and orders, never how fast it is.

#[path = "../support/followed.rs"]
pub(crate) mod followed;

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::{self, code, json, run, start, stderr, stdout};
use followed::{PAIR, Program, SLEEPER, assert_slept, ended, follow_to_the_end, open, record, slept, woken_by};
use punctual_recording::{EndReason, Recording, Stage, WakerKind};
use std::io::Read;
use std::process::Output;
use std::time::Duration;

#[test]
fn a_process_is_followed_until_it_ends() {
    requires!("following a process", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(SLEEPER, &["400", "0.002", "sleeper-a"]);
    program.ready();
    let output = follow_to_the_end(directory.path(), &mut program);
    let (recording, wakeups) = open(directory.path());
    assert_slept(&recording, &wakeups, "sleeper-a", slept(&program.said(), "sleeper-a", 400));
    assert_eq!(ended(&recording), EndReason::ThreadsEnded);
    let document = recording.document();
    let followed = document.followed.as_ref().unwrap();
    assert!(followed.threads.iter().any(|thread| thread.ended_ns.is_some() && thread.process == program.0.id()));
    assert!(followed.cost_ns > 0 && document.counters.cpu_ns > 0);
    assert_eq!(document.provenance.configuration.interval_ns, 0);
    let works = document.distributions.sum(|key| key.stage == Stage::Work).count();
    assert!(works + 2 >= document.counters.wakeups, "{works} of {}", document.counters.wakeups);
    assert!(stdout(&output).contains("sleeper-a other"), "{}", stdout(&output));

    // What reads recordings reads this one.
    let report = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    let stages = report["stages"].as_array().unwrap();
    assert!(stages.iter().any(|row| row["stage"] == "response" && row["measure"] == "sleeper-a other"));
    assert!(report["missed"].is_null() && report["cost"]["cpu_ns_per_wakeup"].as_u64().is_some());
    assert!(stdout(&run(directory.path(), &["report", "a.punctual", "--csv"])).contains("sleeper-a other,work"));
    let forecast = run(directory.path(), &["forecast", "a.punctual"]);
    assert_eq!(code(&forecast), 1);
    assert!(stderr(&forecast).contains("period"), "{}", stderr(&forecast));
}

#[test]
fn a_recording_to_which_nothing_comes_says_what_its_thread_does() {
    requires!("following a thread", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(SLEEPER, &["1", "0.002", "sleeper-w"]);
    program.ready();
    support::signal(&program.0, libc::SIGSTOP);
    let tid = program.0.id().to_string();
    // Longer than the patience of 5 s; where others want the CPUs, it takes longer.
    let mut all = Vec::new();
    let is_told = ["8s", "12s"].into_iter().any(|duration| {
        let output = run(directory.path(), &["record", "-D", duration, "-o", duration, "--tid", &tid]);
        let said = stderr(&output);
        let is_told = said.contains("note: no wakeup") && said.contains(&format!("is stopped: `kill -CONT {tid}`"));
        all.push(said);
        is_told
    });
    assert!(is_told, "{all:?}");
}

/// The program that a thread becomes runs under the id of the process's first thread. That one waits for the interpreter's
/// lock meanwhile, and by default a timer wakes it from that every 5 ms, as from a sleep.
const BECOMES: &str = "\
import os, sys, threading
sys.setswitchinterval(60)
print('here', flush=True)
sys.stdin.read(1)
words = [sys.executable, '-c', sys.argv[1], '200', '0.002', 'sleeper-e']
threading.Thread(target=lambda: os.execv(sys.executable, words)).start()
threading.Event().wait()
";

#[test]
fn a_process_is_followed_when_another_thread_than_its_first_becomes_a_program() {
    requires!("following an exec", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(BECOMES, &[SLEEPER]);
    program.ready();
    follow_to_the_end(directory.path(), &mut program);
    let (recording, wakeups) = open(directory.path());
    assert_slept(&recording, &wakeups, "sleeper-e", slept(&program.said(), "sleeper-e", 200));
    assert_eq!(ended(&recording), EndReason::ThreadsEnded);
    let slept = wakeups.iter().filter(|wakeup| wakeup.tid == program.0.id()).count();
    assert!(slept >= 100, "{slept} wakeups under the id of the process");
}

#[test]
fn names_are_followed_whoever_takes_them_and_whenever() {
    requires!("following names", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let names = ["one-", "two-", "other-"].map(support::own_name);
    let mut early = Program::start(SLEEPER, &["300", "0.002", &names[0]]);
    early.ready();
    let child = record(directory.path(), &["--comm", &format!("^({}|{})$", names[0], names[1])]);
    let mut late = Program::start(SLEEPER, &["200", "0.002", &names[1]]);
    let mut other = Program::start(SLEEPER, &["200", "0.002", &names[2]]);
    late.ready();
    other.ready();
    // Names are checked every 20 ms, by a thread that may have to wait for a CPU.
    std::thread::sleep(Duration::from_secs(2));
    for program in [&mut early, &mut late, &mut other] {
        program.go();
        program.0.wait().unwrap();
    }
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, wakeups) = open(directory.path());
    // It waits for the next thread of this name.
    assert_eq!(ended(&recording), EndReason::Interrupted);
    assert_slept(&recording, &wakeups, &names[0], slept(&early.said(), &names[0], 300));
    assert_slept(&recording, &wakeups, &names[1], slept(&late.said(), &names[1], 200));
    let measures = recording.document().distributions.measures();
    assert!(measures.iter().all(|measure| names[..2].iter().any(|name| measure.starts_with(name))), "{measures:?}");
}

#[test]
fn a_command_and_its_children_are_followed_from_their_first_wakeup() {
    requires!("following a command", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("sleeper.py"), SLEEPER).unwrap();
    let sleep = |count, name| format!("python3 sleeper.py {count} 0.002 {name} < /dev/null");
    let script = format!("{} & {}; wait", sleep(100, "sleeper-c1"), sleep(150, "sleeper-c2"));
    let words = ["record", "-q", "-o", "a.punctual", "--follow", "--load-command", "sleep 30", "--", "sh", "-c"];
    let output = run(directory.path(), &[&words[..], &[script.as_str()]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, wakeups) = open(directory.path());
    assert_eq!(ended(&recording), EndReason::CommandEnded);
    // What a command prints goes to standard error: standard output belongs to the answer.
    for (name, count) in [("sleeper-c1", 100), ("sleeper-c2", 150)] {
        assert_slept(&recording, &wakeups, name, slept(&stderr(&output), name, count));
    }
    assert!(recording.document().followed.iter().flat_map(|all| &all.threads).all(|thread| !thread.is_context));
    // Nobody else is followed: neither the other load nor the process that started the command.
    let followed = recording.document().followed.as_ref().unwrap();
    let known = ["sh", "bash", "dash", "python3", "sleeper-c1", "sleeper-c2"];
    let mut names = followed.threads.iter().map(|thread| thread.name.as_str());
    assert!(names.all(|name| known.iter().any(|known| name.starts_with(known)) || helper(name)), "{followed:?}");
    assert!(!followed.threads.iter().any(|thread| thread.name == "sleep" || thread.name == "load-guard"));
}

/// Whether it is a program that python3 calls before it becomes the interpreter, where python3 is a shell script.
fn helper(name: &str) -> bool {
    // Its parts are programs too, such as pyenv-hooks: they show only when one has to wait for the disk.
    name.starts_with("pyenv")
        || ["basename", "readlink", "dirname", "env", "sed", "cat", "head", "grep", "cut"].contains(&name)
}

#[test]
fn a_ping_pong_is_woken_by_the_other_thread() {
    requires!("ping-pong", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(PAIR, &["3000"]);
    let said = program.ready();
    let pong = said.split_whitespace().nth(1).unwrap().to_owned();
    let child = record(directory.path(), &["--tid", &format!("{},{pong}", program.id())]);
    program.go();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, wakeups) = open(directory.path());
    assert_eq!(ended(&recording), EndReason::ThreadsEnded);
    let pong: u32 = pong.parse().unwrap();
    for (tid, own, other) in [(program.0.id(), "ping", "pong"), (pong, "pong", "ping")] {
        let task = recording.document().tasks.iter().find(|task| task.measure == format!("{own} other")).unwrap();
        assert_eq!(task.tid, tid);
        let woken = woken_by(&recording, &wakeups, tid, WakerKind::Thread, other);
        // A byte that is already there wakes nobody. The child's end wakes its parent; apart from the input, nothing
        // else does.
        assert!(woken > 0 && woken <= 3_001, "{woken}");
        let rest = wakeups.iter().filter(|wakeup| wakeup.tid == tid).count() as u64 - woken;
        assert!(
            rest <= 2 + woken / 10,
            "{rest} woken otherwise, {woken} by {other}: {:?}",
            recording.document().followed
        );
    }
    // If a thread wakes another, the known part begins there.
    let by_thread = wakeups.iter().filter(|wakeup| wakeup.irq_ns.is_none() && wakeup.wake_ns.is_none());
    assert!(by_thread.clone().count() > 0 && by_thread.clone().all(|wakeup| wakeup.thread_ns == Some(wakeup.total_ns)));
}

#[test]
fn of_a_command_only_the_threads_with_the_names_asked_for_are_held_to_the_period() {
    requires!("following a command", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("sleeper.py"), SLEEPER).unwrap();
    let [judged, helper] = ["keeps-", "helps-"].map(support::own_name);
    let sleep = |count, seconds, name: &str| format!("python3 sleeper.py {count} {seconds} {name} < /dev/null");
    let script = format!("{} & {}; wait", sleep(100, 0.02, &judged), sleep(20, 0.1, &helper));
    let name = format!("^{judged}$");
    let words = [
        "record",
        "-q",
        "-o",
        "a.punctual",
        "--follow",
        "--comm",
        name.as_str(),
        "--period",
        "20ms",
        "--limit",
        "max=1h",
    ];
    let output = run(directory.path(), &[&words[..], &["--json", "--", "sh", "-c", script.as_str()]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (recording, _) = open(directory.path());
    let threads = &recording.document().followed.as_ref().unwrap().threads;
    let is_context = |name: &str| threads.iter().find(|thread| thread.name == name).map(|thread| thread.is_context);
    assert_eq!((is_context(&judged), is_context(&helper)), (Some(false), Some(true)), "{threads:?}");
    let cycles = json(&output)["cycles"].as_array().unwrap().clone();
    let counted: Vec<&str> = cycles.iter().filter_map(|row| row["measure"].as_str()).collect();
    assert_eq!(counted, [format!("{judged} other")], "{cycles:?}");
}

#[test]
fn new_threads_of_a_process_are_followed() {
    requires!("new threads", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let script = "\
import sys, threading, time
print('here', flush=True)
sys.stdin.read(1)
def sleep():
    for _ in range(50): time.sleep(0.002)
threads = [threading.Thread(target=sleep) for _ in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
";
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(script, &[]);
    program.ready();
    follow_to_the_end(directory.path(), &mut program);
    let (recording, wakeups) = open(directory.path());
    let document = recording.document();
    assert_eq!(document.tasks.len(), 6, "{:?}", document.tasks);
    // One name, one line.
    assert_eq!(document.distributions.measures().len(), 1);
    for task in document.tasks.iter().filter(|task| task.tid != program.0.id()) {
        let slept = woken_by(&recording, &wakeups, task.tid, WakerKind::Timer, "sleep");
        // A sleep whose end has passed before it begins, as on a busy machine, is none.
        assert!(slept <= 50 && slept + task.counters.unobserved + task.counters.lost >= 45, "{task:?}");
    }
}

#[test]
fn a_limit_on_the_total_is_judged_and_a_break_ends_it() {
    requires!("limits on followed threads", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    for (words, reason) in
        [(["--limit", "max=1ns"], EndReason::ThreadsEnded), (["--break", "1us"], EndReason::LimitExceeded)]
    {
        let directory = tempfile::tempdir().unwrap();
        let mut program = Program::start(SLEEPER, &["100", "0.002", "sleeper-d"]);
        program.ready();
        let child = record(directory.path(), &[&["--pid", &program.id()], &words[..]].concat());
        program.go();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert_eq!(ended(&open(directory.path()).0), reason);
    }
}

/// A loop that sleeps for 21 ms and, every tenth time, computes for longer than that.
const LOOP: &str = "\
import sys, time
open('/proc/self/comm', 'w').write('loop-o')
print('here', flush=True)
sys.stdin.read(1)
for turn in range(60):
    time.sleep(0.021)
    until = time.monotonic() + (0.03 if turn % 10 == 9 else 0)
    while time.monotonic() < until: pass
";

/// Records that loop by its period and limits on its response and its cycles, as `a.punctual` in a directory of its own.
fn loop_held_to_limits() -> (tempfile::TempDir, Output, serde_json::Value) {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(LOOP, &[]);
    program.ready();
    let options =
        ["--pid", &program.id(), "--period", "20ms", "--limit", "max=1h,response:max=20ms,cycle:max=5ms", "--json"];
    let child = record(directory.path(), &options);
    program.go();
    let output = child.wait_with_output().unwrap();
    let answer = json(&output);
    (directory, output, answer)
}

#[test]
fn a_loop_is_held_to_its_period_and_its_response_to_a_limit() {
    requires!("cycles of followed threads", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    // On a busy machine, wakeups near its long turns may not have been seen: then the limit on the cycles is open.
    let found = support::attempts(support::MAX_ATTEMPTS).find_map(|_| {
        let (directory, output, answer) = loop_held_to_limits();
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        let limits = answer["limits"].as_array().unwrap();
        let exceeded: Vec<(Option<&str>, bool)> =
            limits.iter().map(|limit| (limit["stage"].as_str(), limit["exceeded"] == true)).collect();
        let is_open = answer["verdict"].as_str().unwrap().contains(" The limit on the cycles cannot be judged");
        assert_eq!(exceeded, [(None, false), (Some("response"), true), (Some("cycle"), !is_open)], "{answer}");
        // Periods without a wakeup that was seen are the only reason.
        let without = ["unseen", "not_woken"].map(|name| answer["cycles"][0][name].as_u64().unwrap());
        assert!(!is_open || without.iter().sum::<u64>() > 0, "{answer}");
        (!is_open).then_some((directory, answer))
    });
    let (directory, answer) = found.expect("no recording could judge the limit on the cycles");
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(
        verdict.contains("Over the limit: max of the response is ")
            && verdict.contains(" took longer than 20.0 ms in ")
    );
    let row = answer["cycles"].as_array().unwrap().iter().find(|row| row["measure"] == "loop-o other").unwrap();
    let count = |name: &str| row[name].as_u64().unwrap();
    // Every tenth turn computes for longer than the period; other threads may have made more turns long, and a few may
    // not have been seen by anybody. On a busy machine, the recording began after a few turns.
    assert!(count("overruns") + count("unseen") >= count("cycles") / 10 && count("overruns") >= 1, "{row}");
    assert!(count("overruns") <= count("cycles") && count("cycles") <= 61, "{row}");
    assert!(count("longest_ns") > 20_000_000, "{row}");
    // The recording knows its period, and can be compared with another one.
    let again = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
    assert_eq!(again["cycles"], answer["cycles"]);
    // The proposed next step works.
    let steps = again["next"].as_array().unwrap();
    if steps.iter().any(|step| step["command"] == "punctual forecast a.punctual") {
        let forecast = run(directory.path(), &["forecast", "a.punctual"]);
        assert_eq!(code(&forecast), 0, "{}", stderr(&forecast));
    }
    let kept = run(directory.path(), &["report", "a.punctual", "--limit", "cycle:max=1h"]);
    let broken = run(directory.path(), &["report", "a.punctual", "--limit", "cycle:max=5ms"]);
    // A cycle that began with a wakeup that nobody saw, or before the recording, may have taken any time: the limit is kept, or
    // the answer says that.
    let may_be_longer = count("unseen") + row["late_seen_ns"].as_u64().unwrap_or(0) > 0;
    let is_open = stdout(&kept).contains(" The limit on the cycles cannot be judged") && may_be_longer;
    assert_eq!((code(&kept), code(&broken)), (i32::from(is_open), 2), "{} {}", stdout(&kept), stdout(&broken));
    // Several cycles in a row, if it did not wait in between, or one.
    let said = stdout(&broken);
    assert!(said.contains("Over the limit: ") && said.contains(" took "), "{said}");
    let hour = json(&run(directory.path(), &["report", "a.punctual", "--period", "1h", "--json"]));
    assert_eq!(hour["cycles"][0]["overruns"], 0);
}

/// A loop of 10 ms at real-time priority, by timers to the nanosecond: each tenth turn takes 12 ms, until it is killed.
const OVERRUNS: &str = "\
import ctypes, os, time
open('/proc/self/comm', 'w').write('loop-r')
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))
class Time(ctypes.Structure): _fields_ = [('s', ctypes.c_long), ('ns', ctypes.c_long)]
nanosleep = ctypes.CDLL(None).clock_nanosleep
print('here', flush=True)
due, turn = time.monotonic_ns(), 0
while True:
    due, turn = due + 10000000, turn + 1
    nanosleep(1, 1, ctypes.byref(Time(due // 1000000000, due % 1000000000)), None)
    until = due + (12000000 if turn % 10 == 9 else 0)
    while time.monotonic_ns() < until: pass
";

#[test]
fn how_often_a_loop_will_overrun_is_forecast() {
    requires!(
        "overruns of followed loops",
        "BPF",
        "BTF",
        "kernel's thread ids",
        "unshifted clock",
        "real-time priority"
    );
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(OVERRUNS, &[]);
    program.ready();
    let options = ["record", "-q", "--pid", &program.id(), "--period", "10ms", "-D", "2s", "-o", "a.punctual"];
    let output = run(directory.path(), &options);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let cycles = json(&run(directory.path(), &["report", "a.punctual", "--json"]))["cycles"][0].clone();
    let forecast = json(&run(directory.path(), &["forecast", "a.punctual", "--json"]));
    let verdict = forecast["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("A cycle of loop-r fifo:40 takes longer than 10.0 ms about every "), "{verdict}");
    let misses = forecast["devices"][0]["misses"].as_f64().unwrap();
    // About 20 in two seconds; where the loop catches up, or may, each period that it missed is one.
    let most = cycles["overruns"].as_f64().unwrap() + cycles["not_woken"].as_f64().unwrap();
    assert!((2.0..=most).contains(&misses), "{misses} of {cycles}");
    let other = run(directory.path(), &["forecast", "a.punctual", "--device", "audio"]);
    assert_eq!(code(&other), 129);
    assert!(
        stderr(&other).contains("--device is for recordings of punctual's own periodic threads"),
        "{}",
        stderr(&other)
    );
}

#[test]
fn a_loop_that_hangs_until_the_end_breaks_its_limit() {
    requires!("a loop that hangs", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let hangs = "\
import sys, time
print('here', flush=True)
sys.stdin.read(1)
# Until it is followed, however busy the machine is.
time.sleep(3)
time.sleep(0.01)
while True: pass
";
    let mut program = Program::start(hangs, &[]);
    program.ready();
    let words = ["-D", "7s", "--pid", &program.id(), "--period", "20ms", "--limit", "response:max=100ms", "--json"];
    let child = start(directory.path(), &[&["record", "-q", "-o", "a.punctual"], &words[..]].concat());
    support::wait_until_it_measures(&directory.path().join("a.punctual"));
    program.go();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 2, "{}{}", stdout(&output), stderr(&output));
    let answer = json(&output);
    // On a busy machine, the turn before it may be too long as well.
    let overruns = answer["cycles"][0]["overruns"].as_u64();
    assert!([Some(1), Some(2)].contains(&overruns), "{}", answer["cycles"]);
    let (_, wakeups) = open(directory.path());
    let last = wakeups.last().unwrap();
    assert!(last.executed_ns.is_some() && last.stage(Stage::Response) > Some(100_000_000), "{last:?}");
}

/// Thirty cycles of 0.1 s, and then a wait for something that does not come.
const WAITS: &str = "\
import signal, sys, time
print('here', flush=True)
sys.stdin.read(1)
for _ in range(30): time.sleep(0.1)
signal.pause()
";

#[test]
fn a_loop_that_is_killed_as_it_waits_was_not_seen_at_its_end() {
    requires!("killing a thread", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(WAITS, &[]);
    program.ready();
    let words = ["-q", "-D", "60s", "--pid", &program.id(), "--period", "100ms", "--json", "-o", "a.punctual"];
    let child = start(directory.path(), &[&["record"], &words[..]].concat());
    support::wait_until_it_measures(&directory.path().join("a.punctual"));
    program.go();
    // Three seconds of cycles, and two in which it hangs.
    std::thread::sleep(Duration::from_secs(5));
    support::signal(&program.0, libc::SIGKILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let cycles = json(&output)["cycles"][0].clone();
    assert!(cycles["silent_ns"].as_u64() > Some(1_000_000_000), "{cycles}");
    assert_eq!(cycles["may_be_more"], true, "{cycles}");
}

#[test]
fn a_stop_in_a_sleep_is_no_work_of_the_cycle_before() {
    requires!("stopping a thread", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    // On a busy machine it is seldom asleep, and fewer than half of the stops fall into a sleep.
    let mut all = Vec::new();
    let is_held = support::attempts(support::MAX_ATTEMPTS).any(|_| {
        let directory = tempfile::tempdir().unwrap();
        let mut program = Program::start(SLEEPER, &["600", "0.01", "sleeper-s"]);
        program.ready();
        let child = record(directory.path(), &["--pid", &program.id(), "--period", "10ms", "--json"]);
        program.go();
        for _ in 0..16 {
            std::thread::sleep(Duration::from_millis(200));
            support::signal(&program.0, libc::SIGSTOP);
            std::thread::sleep(Duration::from_millis(50));
            support::signal(&program.0, libc::SIGCONT);
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        // It hardly does anything but sleep.
        let cycles = json(&output)["cycles"][0].clone();
        let is_held = cycles["held"].as_u64() >= Some(4);
        all.push(cycles);
        is_held
    });
    assert!(is_held, "{all:#?}");
}

fn one_line(output: &Output, wanted: u8, words: &str) {
    assert_eq!(code(output), i32::from(wanted), "{}", stderr(output));
    let text = stderr(output);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("hint:")).collect();
    assert!(lines.len() == 1 && lines[0].contains(words), "{text}");
}

#[test]
fn who_is_not_there_and_what_does_not_go_together_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| run(directory.path(), &[&["record", "-o", "a.punctual"], words].concat());
    one_line(&run(&["--comm", "("]), 129, "not a regular expression");
    one_line(&run(&["--pid", "1", "-p", "80"]), 129, "cannot be used with");
    one_line(&run(&["--comm", "x", "-i", "1ms"]), 129, "cannot be used with");
    one_line(&run(&["--follow"]), 129, "COMMAND");
    one_line(&run(&["--tid", "0"]), 129, "0");
    one_line(&run(&["--pid", "1", "--limit", "cycle:max=1ms"]), 129, "--period");
    one_line(&run(&["--pid", "1", "--period", "1ms", "--limit", "cycle:p99=1ms"]), 129, "cycle:max=1ms");
    assert!(!directory.path().join("a.punctual").exists());
    requires!("absent threads", "kernel's thread ids", "unshifted clock");
    one_line(&run(&["--tid", "4194303"]), 1, "there is no such thread");
    one_line(&run(&["--pid", "4194303"]), 1, "there is no such process");
    one_line(&run(&["--pid", "4194303", "--load", "cpu"]), 1, "there is no such process");
    assert!(!directory.path().join("a.punctual").exists());
}

#[test]
fn without_privilege_it_is_one_line() {
    let Some(nobody) = Nobody::of("following without privilege") else { return };
    one_line(&nobody.run(&["record", "-q", "-o", "a.punctual", "--tid", "1"]), 1, "BPF");
    assert!(!nobody.directory().join("a.punctual").exists());
}

#[test]
fn what_it_follows_is_left_as_it_was() {
    requires!("leaving threads alone", "BPF", "BTF", "kernel's thread ids", "unshifted clock");
    let directory = tempfile::tempdir().unwrap();
    // Longer than this test takes, however busy the machine is.
    let mut program = Program::start(SLEEPER, &["60000", "0.002", "sleeper-e"]);
    program.ready();
    let look = |program: &Program| {
        let read = |name: &str| {
            let mut text = String::new();
            let file = std::fs::File::open(format!("/proc/{}/{name}", program.id()));
            file.unwrap().read_to_string(&mut text).unwrap();
            text
        };
        let affinity: Vec<String> =
            read("status").lines().filter(|line| line.starts_with("Cpus_allowed")).map(str::to_owned).collect();
        // From the scheduler's file, only the lines that are set from outside.
        let policy: Vec<String> = read("sched")
            .lines()
            .filter(|line| line.starts_with("policy") || line.starts_with("prio"))
            .map(str::to_owned)
            .collect();
        (affinity, policy, read("timerslack_ns"))
    };
    let before = look(&program);
    let child = record(directory.path(), &["--pid", &program.id()]);
    program.go();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(look(&program), before);
    // Killed in the middle, it leaves a recording that opens, and the program keeps running.
    support::signal(&child, libc::SIGKILL);
    child.wait_with_output().unwrap();
    assert_eq!(look(&program), before);
    assert!(Recording::open(directory.path().join("a.punctual")).unwrap().is_cut());
    assert!(support::is_alive(&program.id()));
}
