//! Programs that do a known thing for each key and log it, and what the split of an input says about them.

use super::punctual;
use punctual_recording::InteractionPart;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The path of one of this crate's examples, which cargo builds with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("this test");
    let program = own.ancestors().nth(2).expect("target/debug").join("examples").join(name);
    assert!(program.is_file(), "cargo builds examples with tests: {}", program.display());
    program
}

/// Runs the program in a directory where whatever it starts is at home: editors keep drafts there, and open them again.
pub(crate) fn run_at_home(directory: &Path, words: &[&str]) -> Output {
    let home = directory.join("home");
    std::fs::create_dir_all(&home).expect("a home");
    let mut command = punctual();
    for elsewhere in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        command.env_remove(elsewhere);
    }
    command.current_dir(directory).env("HOME", home).args(words).output().expect("the program starts")
}

/// A line of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) key: char,
    pub(crate) begin_ns: u64,
    pub(crate) part_ns: u64,
    /// When the program had finished with it; with a window, when the server had drawn it.
    pub(crate) finished_ns: Option<u64>,
}

pub(crate) fn done(log: &Path) -> Vec<Done> {
    let text = std::fs::read_to_string(log).expect("the program wrote its log");
    let line = |line: &str| {
        let mut words = line.split(' ');
        let key = words.next()?.chars().next()?;
        let mut number = || words.next().and_then(|word| word.parse().ok());
        Some(Done { key, begin_ns: number()?, part_ns: number()?, finished_ns: number() })
    };
    text.lines().map(|one| line(one).expect("a whole line")).collect()
}

/// A script that types this many of these keys, over and over.
pub(crate) fn script(keys: impl Iterator<Item = char> + Clone, count: usize) -> String {
    let keys: String = keys.cycle().take(count).collect();
    format!("name = \"truth\"\n[pace]\nmedian = \"70ms\"\nspread = 0.1\n[[step]]\ntype = \"{keys}\"\n")
}

/// How much of an input was a disturbance, which says nothing about the split.
pub(crate) fn disturbed_ns(parts: &[InteractionPart]) -> u64 {
    const OTHERS: [&str; 10] = [
        "steal",
        "blind",
        "same_priority",
        "higher_priority",
        "lower_priority",
        "irq",
        "softirq",
        "irq_off",
        "kernel",
        "migration",
    ];
    // The kernel's worker needs microseconds to pass on a key: for the rest, it waits for a CPU.
    // What the sampling clock takes comes at each input alike.
    let is_sampler = |part: &InteractionPart| part.kind == "irq" && part.name.starts_with("take_sample");
    let is_others = |part: &&InteractionPart| {
        !is_sampler(part) && OTHERS.contains(&part.kind.as_str())
            || part.kind == "wait" && part.name.starts_with("kworker/")
    };
    parts.iter().filter(is_others).map(|part| part.ns).sum()
}

/// A directory for the log of a program that does known things: a busy disk would hold up the program between its keys.
pub(crate) fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

/// The parts of a kind and a name.
pub(crate) fn named(parts: &[InteractionPart], kind: &str, name: &str) -> u64 {
    parts.iter().filter(|part| part.kind == kind && part.name.contains(name)).map(|part| part.ns).sum()
}
