//! The numbers of docs/promises.md: memory and disk, by command.

use crate::requires;
use crate::support;
use crate::support::measured::{Fence, measured};
use punctual_recording::Recording;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Runs the program; returns its exit code and the most memory that it had at a time, bytes.
fn run_measured(directory: &Path, words: &[&str]) -> (i32, u64) {
    let mut command = support::punctual();
    command.current_dir(directory).args(words);
    let ran = measured(command, Fence::None);
    (support::code(&ran.output), ran.peak_bytes)
}

fn size(path: &Path) -> u64 {
    let about = path.symlink_metadata().unwrap();
    if !about.is_dir() {
        return about.len();
    }
    std::fs::read_dir(path).unwrap().map(|entry| size(&entry.unwrap().path())).sum()
}

/// Each command, and what it may use: this many MiB, and this many more for each CPU.
const MEASURING: [(&[&str], u64, u64); 7] = [
    (&["record", "-q", "-D", "3s", "-i", "100us", "-o", "a.punctual"], 128, 32),
    (&["record", "-q", "-D", "3s", "--why", "p99", "-o", "b.punctual"], 192, 48),
    (&["log", "-q", "-D", "3s", "-o", "c.punctual"], 128, 32),
    (&["idle", "-q", "-D", "3s", "-o", "d.punctual"], 96, 32),
    (&["timers", "-q", "-D", "2s"], 96, 8),
    (&["drill", "fifo", "-q", "-D", "1s"], 64, 8),
    (&["device", "run", "audio64", "-q", "-D", "2s", "-o", "e.punctual"], 128, 16),
];

/// The commands that read what the others have written.
const READING: [(&[&str], u64, u64); 2] =
    [(&["report", "a.punctual"], 300, 0), (&["log", "show", "c.punctual"], 300, 0)];

#[test]
fn every_command_keeps_to_its_memory() {
    requires!("memory by command", "BPF", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let keeps = |(words, fixed, each): &(&[&str], u64, u64)| {
        let (code, most) = run_measured(directory.path(), words);
        let bound = (fixed + each * cpus) * MIB;
        eprintln!("{:4} MiB of at most {}: {}", most / MIB, bound / MIB, words.join(" "));
        assert_eq!(code, 0, "{words:?}");
        assert!(most <= bound, "{words:?}: {} MiB", most / MIB);
    };
    // The measuring commands run at once, which saves time and takes as much memory.
    std::thread::scope(|scope| {
        for command in &MEASURING {
            scope.spawn(|| keeps(command));
        }
    });
    READING.iter().for_each(keeps);
}

#[test]
fn memory_is_flat_and_a_wakeup_takes_few_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let of = |name: &str, duration: &str| {
        let words = ["record", "-q", "-D", duration, "-i", "100us", "--no-bpf", "-o", name];
        let (code, most) = run_measured(directory.path(), &words);
        assert_eq!(code, 0);
        most
    };
    // Within 8 s the tail is full and a row group of the joined table, of which there is one at a time; on a busy machine, which
    // lets fewer threads wake up, within 16. Both at once: that is sooner, and how long they take does not matter.
    let both = |names: [&str; 2], durations: [&str; 2]| {
        std::thread::scope(|scope| {
            let short = scope.spawn(|| of(names[0], durations[0]));
            let long = of(names[1], durations[1]);
            (short.join().unwrap(), long)
        })
    };
    let (mut short, mut long) = both(["short", "long"], ["8s", "20s"]);
    if long > short + 16 * MIB {
        eprintln!("{} MiB in 8 s, {} MiB in 20 s", short / MIB, long / MIB);
        (short, long) = both(["twice as long", "four times as long"], ["16s", "40s"]);
    }
    let path = directory.path().join("long");
    let wakeups = Recording::open(&path).unwrap().document().counters.wakeups;
    let bytes = size(&path) as f64 / wakeups as f64;
    eprintln!(
        "{} MiB, and {} MiB in a longer run; {bytes:.1} bytes on disk for each of {wakeups} wakeups",
        short / MIB,
        long / MIB
    );
    assert!(long <= short + 16 * MIB);
    assert!(wakeups > 10_000 && bytes < 40.0);
}
