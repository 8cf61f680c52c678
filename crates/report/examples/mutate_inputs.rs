//! Tries every reader with changed inputs, on a stable compiler, and prints how many there were, how long they took,
//! how much memory they needed and what went wrong.
//!
//! ```text
//! cargo run --release -p punctual-report --example mutate_inputs -- COUNT [SEED] [READER ...]
//! cargo run -p punctual-report --example mutate_inputs -- write-seeds      makes the tables of fuzz/corpus anew
//! ```
//!
//! An input that makes a reader panic, or take a second of CPU time, stays in the working directory as
//! `fault-READER-NUMBER`; `try READER FILE ...` in place of COUNT makes a reader read it again, and says how long that
//! takes. Run it under `prlimit --data=300000000`, so that an input that needs more than a reader's bound ends the run:
//! the last input is in `/dev/shm/punctual-fuzz-PROCESS-READER`.

#![allow(clippy::print_stdout, reason = "it is a program")]

#[path = "../../../fuzz/src/readers.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the fuzz targets")]
mod readers;
#[path = "support/seeds.rs"]
mod seeds;

use readers::{READERS, Reader, place};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An input that takes more CPU time is a fault ...
const MAX_TIME: Duration = Duration::from_secs(1);
/// ... and so is one that takes longer by the clock: others may have the CPU, but a reader must not wait.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// The largest size of an input, bytes.
const MAX_BYTES: usize = 1 << 16;

/// A small generator of numbers that follow from a seed (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Numbers at which arithmetic, or trust in sizes, goes wrong.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1e999",
    "255",
    "65536",
    "2147483647",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "0.0000001",
    "nan",
];
/// What the grammars of the inputs are made of.
const WORDS: [&str; 14] =
    ["[", "]", "{", "}", "\"", "null", ",", ":", "=", "[[", "]]\n", "\n", "\u{202e}", "99999999999h"];

/// Changes an input in a few places.
fn change(bytes: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(4) {
        let at = numbers.below(bytes.len() + 1);
        let length = 1 + numbers.below(16);
        match numbers.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << numbers.below(8),
            1 if at < bytes.len() => bytes[at] = numbers.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + length).min(bytes.len()))),
            4 => {
                let part = bytes[at..(at + length * 8).min(bytes.len())].to_vec();
                for _ in 0..1 + numbers.below(8) {
                    bytes.splice(at..at, part.iter().copied());
                }
            }
            5 => drop(bytes.splice(at..at, WORDS[numbers.below(WORDS.len())].bytes())),
            6 => {
                // Replaces a number in the text with another.
                let digit = |byte: &u8| byte.is_ascii_digit();
                if let Some(begin) = bytes[at.min(bytes.len())..].iter().position(digit).map(|found| at + found) {
                    let end =
                        bytes[begin..].iter().position(|byte| !digit(byte)).map_or(bytes.len(), |end| begin + end);
                    bytes.splice(begin..end, NUMBERS[numbers.below(NUMBERS.len())].bytes());
                }
            }
            7 => {
                let from = numbers.below(other.len() + 1);
                let part = &other[from..(from + length * 16).min(other.len())];
                bytes.splice(at..at, part.iter().copied());
            }
            // A variable-length number that is as large as possible: counts and sizes in a table's description.
            _ => drop(bytes.splice(at..(at + 1).min(bytes.len()), [0xff, 0xff, 0xff, 0xff, 0x0f])),
        }
    }
    bytes.truncate(MAX_BYTES);
}

/// The most memory this process has had, bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

/// How a reader took an input.
struct Tried {
    panicked: bool,
    took: Duration,
    cpu: Duration,
}

impl Tried {
    fn is_fault(&self) -> bool {
        self.panicked || self.cpu > MAX_TIME || self.took > MAX_WAIT
    }
}

impl std::fmt::Display for Tried {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = if self.panicked { "panicked after" } else { "took" };
        write!(formatter, "{how} {:?}, {:?} of CPU time", self.took, self.cpu)
    }
}

/// The CPU time of this thread so far.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse().ok());
    ns.map_or(Duration::ZERO, Duration::from_nanos)
}

/// Asks for the CPU time only of inputs that took long: what is slow is slow again.
fn try_input(reader: Reader, place: &Path, input: &[u8]) -> Tried {
    let start = Instant::now();
    let panicked = std::panic::catch_unwind(|| reader(place, input)).is_err();
    let took = start.elapsed();
    let mut cpu = Duration::ZERO;
    if !panicked && took > MAX_TIME {
        let before = cpu_time();
        reader(place, input);
        cpu = cpu_time() - before;
    }
    Tried { panicked, took, cpu }
}

/// Makes a reader read files as they are; returns how many were faults.
fn try_files(name: &str, files: &[String]) -> u64 {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a reader of that name");
    let place = place(name);
    let mut faults = 0;
    for file in files {
        let input = std::fs::read(file).expect("a file");
        let tried = try_input(*reader, &place, &input);
        println!("{name}: {file} {tried}");
        faults += u64::from(tried.is_fault());
    }
    let _ = std::fs::remove_dir_all(&place);
    faults
}

/// Tries a reader; returns how many inputs were faults.
fn run(name: &str, reader: Reader, count: u64, seed: u64) -> u64 {
    let seeds = corpus(name);
    assert!(!seeds.is_empty(), "fuzz/corpus/{name} holds nothing");
    let place = place(name);
    let mut numbers = Numbers(seed | 1);
    let (begun, mut faults, mut longest) = (Instant::now(), 0, Duration::ZERO);
    for number in 0..count {
        let mut input = seeds[numbers.below(seeds.len())].clone();
        let other = &seeds[numbers.below(seeds.len())];
        change(&mut input, other, &mut numbers);
        let tried = try_input(reader, &place, &input);
        longest = longest.max(tried.took);
        if tried.is_fault() {
            faults += 1;
            let file = format!("fault-{name}-{number}");
            let _ = std::fs::write(&file, &input);
            println!("{name}: input {number} {tried}: {file}");
        }
    }
    let _ = std::fs::remove_dir_all(&place);
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{name}: {count} inputs in {seconds:.1} s, {faults} faults, longest {:.1} ms, peak so far {} MB",
        longest.as_secs_f64() * 1e3,
        peak() / 1_000_000
    );
    faults
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "write-seeds") {
        seeds::write(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"));
        return;
    }
    if let [first, reader, files @ ..] = &words[..]
        && first == "try"
    {
        std::process::exit(i32::from(try_files(reader, files) > 0));
    }
    let number = |index: usize| words.get(index).and_then(|word| word.parse().ok());
    let count = number(0).unwrap_or(1_000);
    let seed = number(1).unwrap_or(1);
    let wanted = words.get(2..).unwrap_or_default();
    // Catches panics and reports them in one line.
    std::panic::set_hook(Box::new(|panic| println!("{}", panic.to_string().replace('\n', ": "))));
    let chosen = READERS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| word == name));
    let faults: u64 = chosen.map(|(name, reader)| run(name, *reader, count, seed)).sum();
    std::process::exit(i32::from(faults > 0));
}
