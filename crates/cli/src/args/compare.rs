//! The arguments of `punctual compare`.

use super::threads::{PolicyName, ThreadArguments, ViaName};
use super::values::duration;
use clap::Args;
use punctual_load::Source;
use std::path::PathBuf;

/// What says how to measure and so means nothing for recordings that stand on disk.
const MEASURED: [&str; 9] =
    ["repeat", "duration", "policy", "via", "cpus", "interval", "priority", "no_bpf", "no_power_request"];

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Two sides: each a recording, a directory of repeats, or several recordings joined by commas
    #[arg(num_args = 2, value_names = ["A", "B"], required_unless_present = "repeat", conflicts_with_all = MEASURED)]
    pub(crate) sides: Vec<PathBuf>,
    /// Devices whose slack is compared, such as modem or `audio 64@48kHz x3`; may be repeated [default: those of check]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Vec<String>,
    /// Write a page with pictures, one file that needs nothing else
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Measure both sides so many times at most, in turn, and compare: a verdict takes 3, and from 4 on it ends
    /// as soon as it is clear
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=99), help_heading = "Measure and compare")]
    pub(crate) repeat: Option<u32>,
    #[command(flatten)]
    pub(crate) measuring: MeasuringArguments,
}

/// What `--repeat` measures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measure and compare")]
pub(crate) struct MeasuringArguments {
    /// A shell command that sets up side A; runs to its end before each of its measurements
    #[arg(long, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) a: Option<String>,
    /// The same for side B. Nothing is set back afterwards
    #[arg(long, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) b: Option<String>,
    /// A shell command that runs during each measurement of side A, ended with it
    #[arg(long, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) while_a: Vec<String>,
    /// The same for side B
    #[arg(long, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) while_b: Vec<String>,
    /// Keep the machine busy on both sides: a name from `punctual load list` or a load file; several with commas
    #[arg(long, value_name = "LOAD", value_delimiter = ',', conflicts_with = "sides")]
    pub(crate) load: Vec<Source>,
    /// Keep the machine busy on both sides with this shell command, ended with each measurement
    #[arg(long, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) load_command: Vec<String>,
    /// Measure all repeats, however clear it is before
    #[arg(long, conflicts_with = "sides")]
    pub(crate) all_repeats: bool,
    /// Exit with 0 although a command of the load failed
    #[arg(long, conflicts_with = "sides")]
    pub(crate) ignore_failure: bool,
    /// How long each measurement takes
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) duration: u64,
    /// Scheduling policy of the measured threads
    #[arg(long, value_enum, default_value = "fifo")]
    pub(crate) policy: PolicyName,
    /// What wakes the threads: the timer interrupt itself, or a softirq callback queued by it
    #[arg(long, value_enum, default_value = "timer")]
    pub(crate) via: ViaName,
    /// The directory for the recordings [default: compare-DATE-TIME in the current directory]
    #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "sides")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) threads: ThreadArguments,
}
