//! Runs the program under a memory limit, and holds it to its time.

use super::measured::{Fence, Measured, measured};
use super::stderr;
use std::path::Path;
use std::time::Duration;

/// The address space that a measurement may take, bytes: a fault then ends it, not the machine.
const MAX_ADDRESS_SPACE: u64 = 3 << 30;
/// A measurement ends this soon after its time.
const SLACK: Duration = Duration::from_secs(8);
/// Or this soon, if it took no more CPU time than it may take time: then others kept it from the CPUs.
const BUSY_SLACK: Duration = Duration::from_secs(40);

/// Runs the program under a memory limit.
pub(crate) fn run_limited(directory: &Path, words: &[&str]) -> Measured {
    run_limited_with(directory, words, &[])
}

/// The same with variables in its environment.
pub(crate) fn run_limited_with(directory: &Path, words: &[&str], variables: &[(&str, &str)]) -> Measured {
    let mut command = super::punctual();
    command.current_dir(directory).args(words).envs(variables.iter().copied());
    let cost = measured(command, Fence::Addresses(MAX_ADDRESS_SPACE));
    let (took, peak, said) = (cost.took.as_secs_f64(), cost.peak_bytes / 1_000_000, stderr(&cost.output));
    let cpu = cost.cpu_time.as_secs_f64();
    eprintln!("{}: {took:.1} s, {cpu:.1} s of CPU time, {peak} MB, {}", words.join(" "), said.trim());
    cost
}

/// A measurement this long ends within what is promised.
pub(crate) fn ends_in_time(cost: &Measured, seconds: u64) {
    let time = Duration::from_secs(seconds);
    let was_kept = cost.cpu_time < time + SLACK && cost.took < time + BUSY_SLACK;
    assert!(cost.took < time + SLACK || was_kept, "took {:?}, and {:?} of CPU time", cost.took, cost.cpu_time);
}
