//! The arguments of `punctual log`.

use super::values::{Cpus, cpus, duration, time, with_nearest};
use clap::{Args, Subcommand};
use punctual_load::Source;
use punctual_recording::EventClass;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LogArguments {
    #[command(subcommand)]
    pub(crate) command: Option<LogCommand>,
    #[command(flatten)]
    pub(crate) record: LogRecordArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Show a log line by line, in time order across CPUs
    #[command(
        after_help = "Examples:\n  punctual log show a.punctual --limit 100\n  punctual log show a.punctual --from 1.2s --to 1.25s --cpu 1\n  punctual log show a.punctual --comm '^ffmpeg' --events sched,mark\n  punctual log show a.punctual --csv > a.csv\n  punctual log show a.punctual --perfetto a.pftrace     to look at in Perfetto\n\nA bare number is seconds since the beginning for --from and --to."
    )]
    Show(Box<LogShowArguments>),
    /// Print punctual.h, which lets C and C++ programs make marks
    #[command(after_help = "Example:\n  punctual log header > punctual.h")]
    Header,
}

#[derive(Debug, Args)]
pub(crate) struct LogRecordArguments {
    /// How long to log [default: 10s, or as long as the command runs]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,
    /// What to log: sched, irq, softirq, timer, work, fault, lock, futex, process, mark; the default is all of these
    /// except fault, lock and futex
    ///
    /// A class named here that this kernel refuses is an error. Of `all` and of the default it is left out, and a note
    /// says so.
    #[arg(long, value_name = "CLASS,...", default_value = "default", value_parser = classes)]
    pub(crate) events: Classes,
    /// The recording to write [default: log-DATE-TIME.punctual in the current directory]
    #[arg(short, long, value_name = "NAME.punctual")]
    pub(crate) output: Option<PathBuf>,
    /// Also render an HTML report, as `punctual report --html` does from the recording
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Keep the machine busy while logging: a name from `punctual load list`, or a load file; separate several with commas
    #[arg(long, value_name = "LOAD", value_delimiter = ',')]
    pub(crate) load: Vec<Source>,
    /// Exit with 0 even if a command of the load failed
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Run this command, and log for as long as it runs
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) program: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LogShowArguments {
    /// A recording made with `punctual log`
    #[arg(value_name = "RECORDING")]
    pub(crate) recording: PathBuf,
    /// Only events from this time on, counted from the beginning
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<u64>,
    /// Only events up to this time, counted from the beginning
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) to: Option<u64>,
    /// Only events on these CPUs: 0 or 0-3,6
    #[arg(short = 'a', long, value_name = "CPUS", value_parser = cpus)]
    pub(crate) cpu: Option<Cpus>,
    /// Only events of these classes
    #[arg(long, value_name = "CLASS,...", value_parser = classes)]
    pub(crate) events: Option<Classes>,
    /// Only events of threads, or about threads, whose name contains a match for this regular expression
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new)]
    pub(crate) comm: Option<regex::Regex>,
    /// Only events of these threads, or about them
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) tid: Vec<u32>,
    /// At most this many events
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Print a table for spreadsheets
    #[arg(long, conflicts_with_all = ["json", "export_markdown"])]
    pub(crate) csv: bool,
    /// Write these events as a Perfetto trace instead: threads, interrupts, softirqs and marks of each CPU
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    pub(crate) perfetto: Option<PathBuf>,
}

/// Classes of events, as one value.
#[derive(Debug, Clone)]
pub(crate) struct Classes {
    pub(crate) list: Vec<EventClass>,
    /// Whether the user named each of them, and so wants each.
    pub(crate) by_name: bool,
}

/// Words for several classes, of which some may not be to be had.
const SEVERAL: [&str; 2] = ["all", "default"];

fn classes(text: &str) -> Result<Classes, String> {
    let by_name = !text.split(',').any(|word| SEVERAL.contains(&word.trim()));
    EventClass::parse_list(text).map(|list| Classes { list, by_name }).map_err(|wrong| {
        let names = EventClass::CHOICES.map(EventClass::name);
        let is_known = |word: &&str| names.contains(word) || SEVERAL.contains(word);
        let unknown = text.split(',').map(str::trim).find(|word| !is_known(word));
        with_nearest(&wrong, unknown.unwrap_or(text), &names)
    })
}
