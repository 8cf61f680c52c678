//! What real-time threads leave to others, however many run, and whoever is below all of them (`docs/promises.md`).
//! These tests have the machine to themselves: they report how long a thread was kept from a CPU, and threads of other
//! tests would keep it from there too.

use crate::requires;
use crate::support::limited::{ends_in_time, run_limited};
use crate::support::measured::Measured;
use crate::support::{self, code, stderr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Reports the longest time (us) for which a thread below all of our real-time threads was kept from a CPU, while it
/// runs for this long (s). It comes before ordinary threads, so that the time they take from one another does not count
/// as ours, and leaves the CPU to them.
const BELOW: &str = "\
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
end, last, longest = time.monotonic() + float(sys.argv[2]), time.monotonic(), 0
while last < end:
    time.sleep(0.001)
    now = time.monotonic()
    longest = max(longest, now - last)
    last = now
print(int(longest * 1e6))
";

/// Runs something that takes all of a CPU at real-time priority; returns how long the thread below it was kept waiting.
fn longest_starvation(directory: &Path, cpu: u32, seconds: u32, words: &[&str]) -> (Duration, Measured) {
    let mut below = Command::new("python3");
    below.args(["-c", BELOW, &cpu.to_string(), &(seconds + 2).to_string()]).stdout(Stdio::piped());
    let below = below.spawn().unwrap();
    let cost = run_limited(directory, words);
    let output = below.wait_with_output().unwrap();
    let micros: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    eprintln!("kept waiting for up to {} ms", micros / 1_000);
    (Duration::from_micros(micros), cost)
}

/// The threads of devices whose work never ends rest every other time, on a machine whose host has time for it. In two seconds
/// they do so several times.
const MAX_STARVATION: Duration = Duration::from_millis(400);

/// A host keeps the thread from its CPU now and then, for as long as it likes; threads that do not rest keep it from
/// there each time.
const MAX_TRIES: usize = 3;

/// Measures, each time in a directory of its own, until the thread below was kept waiting for less than this.
fn leaves_others_their_part(bound: Duration, longest_of: impl Fn(&Path) -> Duration) {
    let mut all = Vec::new();
    for _ in support::attempts(MAX_TRIES) {
        let directory = tempfile::tempdir().unwrap();
        let longest = longest_of(directory.path());
        all.push(longest);
        if longest < bound {
            return;
        }
    }
    panic!("kept waiting for {all:?}, {bound:?} or more each time");
}

#[test]
fn many_short_periods_leave_others_their_part() {
    requires!("short periods", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let words = ["record", "-q", "-D", "2s", "-i", "2us", "-p", "80,70,60", "-a", "1", "-o", "a.punctual"];
    // Every tenth of a second, and at the beginning once later.
    leaves_others_their_part(Duration::from_millis(250), |directory| {
        let (longest, cost) = longest_starvation(directory, 1, 2, &words);
        ends_in_time(&cost, 2);
        longest
    });
}

#[test]
fn competitors_above_everybody_end_in_time_and_leave_others_their_part() {
    requires!("competitors", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let words = ["device", "run", "modem", "-q", "-D", "2s", "--competitor", "spin:99", "--competitor", "spin:99"];
    let words: Vec<&str> = words.into_iter().chain(["-a", "1", "-o", "a.punctual"]).collect();
    leaves_others_their_part(MAX_STARVATION, |directory| {
        let (longest, cost) = longest_starvation(directory, 1, 2, &words);
        ends_in_time(&cost, 2);
        assert_eq!(code(&cost.output), 0, "{}", stderr(&cost.output));
        longest
    });
}

/// Each of them alone would take all of the CPU, and they rest at the same times.
#[test]
fn several_runs_at_once_leave_others_their_part() {
    requires!("several runs", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    leaves_others_their_part(MAX_STARVATION, beside_several_runs);
}

fn beside_several_runs(directory: &Path) -> Duration {
    std::fs::write(directory.join("file"), [b'x'; 60_000]).unwrap();
    let beside: [&[&str]; 3] = [
        &["device", "mix", "audio64,modem", "-q", "--context", "thread:90", "-D", "4s", "-a", "1", "-o", "b.punctual"],
        &["record", "-q", "-D", "4s", "-i", "50us", "-p", "85", "-a", "1", "-o", "c.punctual"],
        &[
            "modem",
            "transfer",
            "file",
            "-q",
            "--attempts",
            "1",
            "--context",
            "thread:80",
            "--cpu",
            "1",
            "--competitor",
            "spin:95",
        ],
    ];
    let mut beside: Vec<_> = beside.iter().map(|words| support::start(directory, words)).collect();
    let words = ["device", "run", "modem", "-q", "-D", "2s", "--competitor", "spin:99", "-a", "1", "-o", "a.punctual"];
    let (longest, cost) = longest_starvation(directory, 1, 2, &words);
    // The transfer would go on for a minute.
    support::signal(&beside[2], libc::SIGTERM);
    let ended = beside.iter_mut().map(|child| child.wait().unwrap().code());
    let ended: Vec<_> = ended.collect();
    assert_eq!(ended[..2], [Some(0), Some(0)]);
    ends_in_time(&cost, 2);
    assert_eq!(code(&cost.output), 0, "{}", stderr(&cost.output));
    longest
}

/// Each one waits at times, so that none of them takes everything by itself; together they do.
#[test]
fn devices_that_take_all_of_a_cpu_only_together_leave_others_their_part() {
    requires!("two devices", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    let profile = "[[device]]\nid = \"heavy\"\nname = \"Heavy\"\nwhat = \"three quarters of a CPU\"\nperiod = \"2500us\"\n\
                   buffers = 2\ncompute = \"1850us\"\non_miss = \"dummy_buffer\"\n";
    let words = ["device", "mix", "heavy,heavy", "--profiles", "heavy.toml", "-q", "--context", "thread:90"];
    let words: Vec<&str> = words.into_iter().chain(["-D", "4s", "-a", "1", "-o", "a.punctual"]).collect();
    leaves_others_their_part(MAX_STARVATION, |directory| {
        std::fs::write(directory.join("heavy.toml"), profile).unwrap();
        let (longest, cost) = longest_starvation(directory, 1, 4, &words);
        assert_eq!(code(&cost.output), 0, "{}", stderr(&cost.output));
        longest
    });
}

/// The ones above keep their grids, so that none of them has to notice anything; the ones below get what is left, in
/// turn.
#[test]
fn runs_of_many_priorities_at_once_leave_others_their_part() {
    requires!("many runs", "BPF", "BTF", "kernel's thread ids", "real-time priority");
    leaves_others_their_part(MAX_STARVATION, |directory| {
        let mut beside = Vec::new();
        for priority in ["99", "9", "8", "7", "6", "5"] {
            let output = format!("{priority}.punctual");
            let words =
                ["record", "-q", "-D", "7s", "--no-bpf", "-i", "10us", "-a", "1", "-p", priority, "-o", &output];
            beside.push(support::start(directory, &words));
        }
        let words = ["record", "-q", "-D", "3s", "--no-bpf", "-i", "10us", "-a", "1", "-p", "4", "-o", "a.punctual"];
        let (longest, cost) = longest_starvation(directory, 1, 3, &words);
        let ended: Vec<_> = beside.iter_mut().map(|child| child.wait().unwrap().code()).collect();
        assert!(ended.iter().all(|code| *code == Some(0)), "{ended:?}");
        ends_in_time(&cost, 3);
        longest
    });
}
