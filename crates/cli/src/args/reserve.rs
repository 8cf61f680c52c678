//! The arguments of `punctual reserve`.

use super::device::WorkName;
use super::load::BusyArguments;
use super::values::{context, duration, period, priority, reservation};
use clap::{Args, Subcommand};
use punctual_context::Context;
use punctual_context::device::{Competitor, Phase};
use punctual_kernel::scheduling::Scheduling;
use punctual_probe::name_expression;
use punctual_reserve::Reservation;
use regex::Regex;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ReserveArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ReserveCommand>,
    #[command(flatten)]
    pub(crate) find: FindArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReserveCommand {
    /// Run a command with a reservation for its threads
    ///
    /// Threads that start later get it too.
    #[command(
        after_help = "Examples:\n  sudo punctual reserve run 2.2ms/10ms -- ./control-loop\n  sudo punctual reserve run 1ms/4ms --thread '^data-loop' -- pipewire\n\nIt ends with the command, passes signals on to it and exits with its code. If the program changes a thread's scheduling, the thread gets its reservation back. Whatever a thread with a reservation starts is an ordinary thread, unless --thread names it."
    )]
    Run(ReserveRunArguments),
    /// List threads that --apply gave a reservation
    #[command(after_help = "Example:\n  sudo punctual reserve list")]
    List,
    /// Restore threads that --apply gave a reservation
    #[command(after_help = "Example:\n  sudo punctual reserve undo")]
    Undo,
}

#[derive(Debug, Args)]
pub(crate) struct ReserveRunArguments {
    /// CPU time and period: 2.2ms/10ms
    #[arg(value_name = "X/Y", value_parser = reservation)]
    pub(crate) reservation: Reservation,
    /// The threads whose name contains a match for this regular expression [default: the command's first thread]
    #[arg(long, value_name = "REGEX", value_parser = name)]
    pub(crate) thread: Option<Regex>,
    /// Of those only this one, in the order in which the program started them, from 1 [default: all of them]
    #[arg(long, value_name = "NUMBER", requires = "thread", value_parser = nth)]
    pub(crate) nth: Option<usize>,
    /// Exit with 0 if the command did, even if no thread got the reservation
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// Say nothing about threads
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) program: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FindArguments {
    /// A soft device instead of a program, such as v90 or `audio 64@48kHz x3`; several, separated by commas, work at once
    #[arg(value_name = "DEVICE", conflicts_with_all = ["pid", "program", "thread", "deadline"])]
    pub(crate) device: Option<String>,
    /// What competes with the device: spin:normal, spin:50 (a FIFO priority) or walk; may be repeated
    #[arg(long, value_name = "COMPETITOR", requires = "device", value_parser = Competitor::parse)]
    pub(crate) competitor: Vec<Competitor>,
    /// Add as many spin:normal as make every attempt with the device as it is fail, up to this many on a CPU, 1 to 64
    #[arg(long, value_name = "NUMBER", requires = "device", conflicts_with = "phases",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) spinners: Option<u32>,
    /// How the device's thread is scheduled without a reservation: thread:other, or thread:80 for a FIFO priority
    #[arg(long, value_name = "CONTEXT", default_value = "thread:other", value_parser = scheduling)]
    pub(crate) context: Scheduling,
    /// What the device does: decode or filter [default: decode where `punctual device show` names a signal, else filter]
    #[arg(long, value_name = "WORK", requires = "device", value_parser = super::device::work)]
    pub(crate) work: Option<WorkName>,
    /// How the device's line changes, as samples@rate:time, to find a reservation for each phase: 18@7200Hz:2s,90@7200Hz:9s
    #[arg(long, value_name = "PHASES", requires = "device", value_delimiter = ',', value_parser = super::device::phase)]
    pub(crate) phases: Vec<Phase>,
    /// Your own profiles, in TOML (see `device list --help`)
    #[arg(long, value_name = "FILE", requires = "device")]
    pub(crate) profiles: Option<PathBuf>,
    /// A process that is already running, instead of a command; several, separated by commas, get their reservations together
    #[arg(long, value_name = "PID", value_delimiter = ',', conflicts_with = "program",
          value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pub(crate) pid: Vec<u32>,
    /// The thread whose name contains a match for this regular expression [default: the periodic one that takes the most CPU
    /// time]; may be repeated, for several threads of a process, or one for each process
    #[arg(long, value_name = "REGEX", value_parser = name)]
    pub(crate) thread: Vec<Regex>,
    /// How long after its release a job must be done: a time, or a period such as 64@48kHz [default: its period]
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) deadline: Option<u64>,
    #[command(flatten)]
    pub(crate) busy: BusyArguments,
    /// Leave a proven reservation in place for a program's thread, not a DEVICE (for several threads, all or none); `punctual
    /// reserve undo` restores them
    #[arg(long)]
    pub(crate) apply: bool,
    /// How long to watch the program's threads first
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = duration)]
    pub(crate) measure: u64,
    /// How many times to try each setting
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    /// How long each attempt takes, at least 20 periods
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub(crate) attempt: u64,
    /// The real-time priority to try as an alternative to reservations
    #[arg(short, long, value_name = "PRIORITY", default_value_t = 50, value_parser = priority)]
    pub(crate) priority: u32,
    /// Try every reservation of the grid, to see the whole plane of period and budget
    #[arg(long)]
    pub(crate) full: bool,
    /// How many times to measure again without and with the reservation, in turn; 0 for no proof
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub(crate) rounds: u32,
    /// How long each of these measurements takes, at least 20 periods
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) round: u64,
    /// The seed of the order of the trials
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The directory for the recordings [default: reserve-DATE-TIME in the current directory]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Render an HTML report with the plane of period and budget, in one self-contained file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The command
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) program: Vec<String>,
}

fn scheduling(text: &str) -> Result<Scheduling, String> {
    match context(text) {
        Ok(Context::Thread(scheduling)) => Ok(scheduling),
        Ok(_) => Err(format!("`{text}` is not a thread: write thread:other or thread:80")),
        Err(error) => Err(error),
    }
}

/// The place of a thread among those of its name.
fn nth(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=4_096).contains(number));
    number.ok_or_else(|| format!("`{text}` is no such place: give 1 for the first, up to 4096"))
}

fn name(text: &str) -> Result<Regex, String> {
    name_expression(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use crate::args::{Arguments, Command};
    use clap::Parser as _;

    #[test]
    fn a_deadline_is_a_time_or_written_as_a_period() {
        for (written, expected) in [("64@48kHz", 1_333_333), ("1kHz", 1_000_000), ("2ms", 2_000_000)] {
            let parsed = Arguments::try_parse_from(["punctual", "reserve", "--pid", "1", "--deadline", written]);
            let command = parsed.unwrap_or_else(|error| panic!("{written}: {error}")).command;
            let Command::Reserve(arguments) = command else { panic!("{written}: another command") };
            assert_eq!(arguments.find.deadline, Some(expected), "{written}");
        }
    }
}
