//! How long it takes until something is there: `cargo bench --workspace --profile dev --bench start` as root.
//!
//! `PUNCTUAL_PROGRAM=target/release/punctual` has another build of the program measured. `-- report=DIRECTORY why=DIRECTORY` also
//! times what these commands take for recordings that are there, and how much memory; `-- wakeups=10000000 episodes=10000` does the
//! same for recordings of that size, which it makes up: that takes time, and room for temporary files.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod made_up;

use punctual_kernel::{bpf, clock};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

const ROUNDS: usize = 15;

fn program() -> OsString {
    std::env::var_os("PUNCTUAL_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_punctual").into())
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        return;
    }
    println!("{:<44} {:>7} (from to), {:>7}: medians of {ROUNDS}, ms", "", "passed", "CPU time of all");
    show("--version", || whole(&["--version"]));
    match bpf::may_load() {
        Err(refused) => println!("SKIPPED: what loads BPF programs ({refused})"),
        Ok(()) => {
            show("record --no-bpf: until it measures", || until_measured(&["record", "--no-bpf"]));
            show("record: until it measures", || until_measured(&["record"]));
            show("record --comm: until it measures", || until_measured(&["record", "--comm", "."]));
            show("record --why 50ms: until it measures", || until_measured(&["record", "--why", "50ms"]));
            show("log --events sched: until it logs", || until_measured(&["log", "--events", "sched"]));
        }
    }
    for (word, given) in words.iter().filter_map(|word| word.split_once('=')) {
        let directory = tempfile::tempdir().expect("a directory");
        let made = directory.path().join("made-up.punctual");
        let many = || given.parse::<u64>().expect("a number");
        match word {
            "wakeups" => made_up::wakeups(&made, many()),
            "episodes" => made_up::episodes(&made, many()),
            _ => {
                show_reading(word, Path::new(given), given);
                continue;
            }
        }
        show_reading(if word == "wakeups" { "report" } else { "why" }, &made, &format!("of {given} {word}"));
    }
}

/// What a command takes for a recording, which is called by these words.
fn show_reading(command: &str, recording: &Path, words: &str) {
    let recording = recording.to_str().expect("a path in UTF-8");
    show(&format!("{command} {words}"), || whole(&[command, recording]));
    println!("{:<44} {:>7} MB at most, of all that were run", "its memory", children().1);
}

fn show(what: &str, measure: impl Fn() -> f64) {
    let once = |_| {
        let before = children().0;
        let passed = measure();
        (passed, children().0 - before)
    };
    let (mut passed, mut cpu): (Vec<f64>, Vec<f64>) = (0..ROUNDS).map(once).unzip();
    passed.sort_by(f64::total_cmp);
    cpu.sort_by(f64::total_cmp);
    let (middle, least, most) = (passed[ROUNDS / 2], passed[0], passed[ROUNDS - 1]);
    println!("{what:<44} {middle:>7.1} ({least:.1} {most:.1}), {:>7.1}", cpu[ROUNDS / 2]);
}

/// From when a command is started to its end, ms.
fn whole(words: &[&str]) -> f64 {
    let began = clock::monotonic_ns();
    let output = Command::new(program()).args(words).stdin(Stdio::null()).output().expect("the program starts");
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    (clock::monotonic_ns() - began) as f64 / 1e6
}

/// From when a command is started to when its recording says that it began to measure, ms.
fn until_measured(words: &[&str]) -> f64 {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(program());
    command.args(words).args(["-D", "50ms", "--json", "-o"]).arg(directory.path().join("a"));
    let began = clock::monotonic_ns();
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
    let started = answer["started_ns"].as_u64().or_else(|| answer["provenance"]["started_ns"].as_u64());
    (started.expect("when it began") - began) as f64 / 1e6
}

/// CPU time of all children so far, ms, and the most memory that any of them has had, MB.
fn children() -> (f64, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: getrusage fills the structure it is given.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    (ms(usage.ru_utime) + ms(usage.ru_stime), usage.ru_maxrss as u64 / 1024)
}
