//! The arguments of `punctual idle`.

use super::values::{Cpus, cpus, duration};
use clap::{Args, ValueEnum};
use punctual_recording::{BareUnit, parse_duration};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct IdleArguments {
    /// How long to measure
    #[arg(short = 'D', long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub(crate) duration: u64,
    /// CPUs to measure, one loop on each: 0 or 0-3,6 [default: all this process may use]
    #[arg(short = 'a', long, value_name = "CPUS", value_parser = cpus)]
    pub(crate) cpus: Option<Cpus>,
    /// Keep only gaps longer than this
    #[arg(long, value_name = "TIME", default_value = "5us", value_parser = threshold)]
    pub(crate) threshold: u64,
    /// How the loops compete: idle gets what nobody else wants, fifo runs before all normal threads
    #[arg(long, value_enum, default_value = "idle")]
    pub(crate) policy: IdlePolicy,
    /// Count to a fixed number between two readings, as the 2014 paper does; counting is calibrated to take this long (1ms if
    /// left out)
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "1ms", value_parser = calibrated)]
    pub(crate) calibrated: Option<u64>,
    /// Compare how the loop, a program on a pseudo-terminal and the kernel see the same keystrokes (II.c of that paper)
    #[arg(long, conflicts_with_all = ["duration", "calibrated", "policy"])]
    pub(crate) validate: bool,
    /// How many keystrokes, for --validate
    #[arg(long, value_name = "NUMBER", default_value = "100", requires = "validate", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) keystrokes: u64,
    /// How long the program computes for each keystroke, for --validate
    #[arg(long, value_name = "TIME", default_value = "7420us", requires = "validate", value_parser = compute)]
    pub(crate) compute: u64,
    /// Do not trace inside the kernel what takes the CPU: gaps have no causes
    #[arg(long)]
    pub(crate) no_bpf: bool,
    /// The recording to write [default: idle-DATE-TIME.punctual in the current directory]
    #[arg(short, long, value_name = "NAME.punctual")]
    pub(crate) output: Option<PathBuf>,
    /// Also render an HTML report, as `punctual report --html` does from the recording
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IdlePolicy {
    /// SCHED_IDLE
    Idle,
    /// SCHED_FIFO 1, for 90 of every 100 ms
    Fifo,
}

/// Below this, the loop's own readings count as gaps; above it, hardly anything does.
const THRESHOLDS_NS: std::ops::RangeInclusive<u64> = 500..=1_000_000_000;

fn threshold(text: &str) -> Result<u64, String> {
    let threshold = parse_duration(text, BareUnit::Refused)?;
    if THRESHOLDS_NS.contains(&threshold) {
        return Ok(threshold);
    }
    Err(format!("`{text}` is out of range: give 500ns to 1s, such as 5us"))
}

/// Shorter counts cannot be told from the readings between them; longer ones merge everything into one gap.
const CALIBRATED_NS: std::ops::RangeInclusive<u64> = 5_000..=100_000_000;

fn calibrated(text: &str) -> Result<u64, String> {
    let target = parse_duration(text, BareUnit::Refused)?;
    if CALIBRATED_NS.contains(&target) {
        return Ok(target);
    }
    Err(format!("`{text}` is out of range: give 5us to 100ms, such as 1ms"))
}

/// How long a keystroke may take, ns.
const COMPUTE_NS: std::ops::RangeInclusive<u64> = 10_000..=500_000_000;

fn compute(text: &str) -> Result<u64, String> {
    let compute = parse_duration(text, BareUnit::Refused)?;
    if COMPUTE_NS.contains(&compute) {
        return Ok(compute);
    }
    Err(format!("`{text}` is out of range: give 10us to 500ms, such as 2ms"))
}
