//! `punctual drill`.

use super::values::{Cpus, cpus, duration, priority};
use clap::{Args, ValueEnum};
use punctual_context::drill::{DrillKind, Lengths, Pages, UnknownDrill};
use punctual_recording::{BareUnit, format_ns, parse_duration};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct DrillArguments {
    /// What to inject: irq, softirq, irq-off, fifo, same-priority, lock, page-fault, throttle or migrate; or list, to see
    /// which of them are available here
    #[arg(value_name = "DRILL", value_parser = wanted)]
    pub(crate) wanted: Wanted,
    /// How long each injection lasts, up to 50ms; 200us..5ms for random lengths
    #[arg(long = "for", value_name = "TIME", default_value = "2ms", value_parser = lengths)]
    pub(crate) lengths: Lengths,
    /// How far apart injections begin on each CPU, on average; each begins at a random point in the first quarter of its interval
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = every)]
    pub(crate) every: u64,
    /// How long to keep going, up to 10 minutes
    #[arg(short = 'D', long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub(crate) duration: u64,
    /// End after this many injections on all CPUs together, unless the time is up first
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// CPUs to inject on: 0 or 0-3,6 [default: all this process may use; the victim of lock and page-fault on the first]
    #[arg(short = 'a', long, value_name = "CPUS", value_parser = cpus)]
    pub(crate) cpus: Option<Cpus>,
    /// Real-time priority of the spinning thread or of the victim, 1 to 99 [default: fifo 95, same-priority 80, victims 70]
    #[arg(short, long, value_name = "PRIORITY", value_parser = priority)]
    pub(crate) priority: Option<u32>,
    /// Repeat the same random lengths and starts [default: different ones each time]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Which pages the victim of page-fault touches
    #[arg(long, value_enum, default_value = "fresh")]
    pub(crate) pages: PagesName,
    /// Agree to injections that take more than a quarter of a CPU, up to half of it
    #[arg(long)]
    pub(crate) yes: bool,
    /// Write each injection to a file as soon as it is over, one line of JSON each
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PagesName {
    /// Memory given back to the kernel
    Fresh,
    /// A mapped file that is not in memory
    File,
}

impl PagesName {
    pub(crate) fn pages(self) -> Pages {
        match self {
            PagesName::Fresh => Pages::Fresh,
            PagesName::File => Pages::File,
        }
    }
}

/// What to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    List,
    Inject(DrillKind),
}

/// A word that is neither a drill nor `list`.
#[derive(Debug, thiserror::Error)]
#[error("{0}; or list")]
pub(crate) struct NoDrill(pub(crate) UnknownDrill);

fn wanted(text: &str) -> Result<Wanted, NoDrill> {
    if text == "list" {
        return Ok(Wanted::List);
    }
    text.parse().map(Wanted::Inject).map_err(NoDrill)
}

fn lengths(text: &str) -> Result<Lengths, String> {
    text.parse()
}

/// With less time between injections, arming the next one would be most of the work.
const MIN_EVERY_NS: u64 = 2_000_000;

fn every(text: &str) -> Result<u64, String> {
    let every = parse_duration(text, BareUnit::Refused)?;
    if (MIN_EVERY_NS..=60_000_000_000).contains(&every) {
        return Ok(every);
    }
    Err(format!("`{text}` is out of range: give {} to 1 min, such as 500ms", format_ns(MIN_EVERY_NS)))
}
