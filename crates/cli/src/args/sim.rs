//! The arguments of `punctual sim`.

use super::values::{duration, time};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct SimArguments {
    #[command(subcommand)]
    pub(crate) command: SimCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// List the experiments that come with the program
    List,
    /// Run an experiment and print the paper's numbers beside the simulated ones
    #[command(
        after_help = "Examples:\n  punctual sim run nt-timers-table3\n  punctual sim run mine.toml --json\n  punctual sim run soft-modem-table3 --sweep device.policy.reservation.runtime=1..8 --sweep device.policy.reservation.period=4..20 --html plane.html\n  punctual sim run soft-modem-callbacks --case control -o control.punctual\n  punctual sim run soft-modem-dialup --set machine.quantum=20ms\n  punctual sim run soft-modem-rialto --set duration=1h --set runs=1\n\nExit code 2: a prediction fails, and the file does not say why it may."
    )]
    Run(SimRunArguments),
    /// Run all built-in experiments: every table and figure of four papers beside the simulation; exits with 2 if a
    /// prediction fails
    #[command(
        after_help = "Examples:\n  punctual sim papers --html papers.html\n  punctual sim papers --json | jq '.rows[] | select(.contradicted)'\n  punctual sim papers --mutations"
    )]
    Papers {
        /// Render an HTML report with the papers' figures redrawn from the simulation
        #[arg(long, value_name = "FILE.html")]
        html: Option<PathBuf>,
        /// Break each mechanism of the machine in turn and say which predictions no longer hold; takes minutes
        #[arg(long)]
        mutations: bool,
    },
    /// Show who ran when, at which level, in a short stretch of a run
    #[command(
        after_help = "Examples:\n  punctual sim timeline soft-modem-dialup --case 'THR 24' --from 24s --to 24.05s --html t.html\n  punctual sim timeline soft-modem-dialup --perfetto t.pftrace\n\nA bare number is seconds for --from and --to."
    )]
    Timeline(SimTimelineArguments),
    /// Ask how a device would fare on a machine like the recorded one
    #[command(
        after_help = "Examples:\n  punctual sim whatif --device 'audio 64@48kHz' --interference a.punctual --context thread:80\n  punctual sim whatif --device 'audio 64@48kHz' --interference a.punctual --interference b.punctual -D 1m\n  punctual sim whatif --device modem $(printf -- '--interference %s ' round-*.punctual) --at next -D 1m\n  punctual sim whatif --device modem --context reservation:2ms/8ms --competitor spin:90\n  punctual sim whatif --device modem --context slots:1/4 --sweep period=4..20 --sweep runtime=1..8 -o plane.parquet\n\nA bare number is seconds for -D, milliseconds in slots:1/4."
    )]
    Whatif(SimWhatifArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SimRunArguments {
    /// A file, or the name of an experiment that comes with the program
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: String,
    /// Set a key to another value in every case, such as machine.quantum=20ms; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Run one case at every point of a grid instead: KEY=4..20, KEY=20ms..100ms:20ms or KEY=irq,dpc; may be repeated
    #[arg(long, value_name = "KEY=VALUES", conflicts_with = "output")]
    pub(crate) sweep: Vec<String>,
    /// Render an HTML report with its points and pictures
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Run only this case [default: all; the first for -o and --sweep]
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Option<String>,
    /// Write the wakeups of one case as a recording
    #[arg(short, long, value_name = "NAME.punctual")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SimTimelineArguments {
    /// A file, or the name of an experiment that comes with the program
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: String,
    /// The case [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Option<String>,
    /// From this simulated time
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub(crate) from: u64,
    /// To this simulated time, at most 10 s later [default: 50 ms later]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) to: Option<u64>,
    /// Render it as an HTML page
    #[arg(long, value_name = "FILE.html", required_unless_present = "perfetto")]
    pub(crate) html: Option<PathBuf>,
    /// Write it as a trace for Perfetto
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SimWhatifArguments {
    /// The device, such as modem or `audio 64@48kHz x3`
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: String,
    /// Where its work runs: irq, softirq, thread:80, reservation:2ms/8ms (floating budget) or slots:2/8 (fixed, ms)
    #[arg(long, value_name = "CONTEXT", default_value = "thread:80")]
    pub(crate) context: String,
    /// A recording of the machine: what made wakeups late there takes the CPU here; may be repeated, so that the
    /// interval includes how the machine changes from one recording to the next
    #[arg(long, value_name = "RECORDING")]
    pub(crate) interference: Vec<PathBuf>,
    /// When the run takes place, if there are several recordings: next (right after the last of them), or a time such
    /// as 2026-11-26T14:03:20Z. Recordings close to that time then count for more, as far as the machine stays as it
    /// was
    #[arg(long, value_name = "next|TIME", requires = "interference", conflicts_with = "sweep")]
    pub(crate) at: Option<String>,
    /// A thread of this priority that never stops computing; may be repeated
    #[arg(long, value_name = "spin:PRIORITY")]
    pub(crate) competitor: Vec<String>,
    /// The priority of a thread that only wakes every 1 ms, to see what the device does to others
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(crate) bystander: Option<u8>,
    /// How much time to simulate
    #[arg(short = 'D', long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) duration: u64,
    /// The seed of all random numbers
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,
    /// Ask at every point of a grid: period=4..20 and runtime=1,2,4 (ms), priority, buffers, compute (us); may be repeated
    #[arg(long, value_name = "NAME=VALUES")]
    pub(crate) sweep: Vec<String>,
    /// Compute only this part of the grid: 1/4 is the first of four
    #[arg(long, value_name = "I/N", requires = "sweep")]
    pub(crate) shard: Option<String>,
    /// Render an HTML report with a picture of the grid
    #[arg(long, value_name = "FILE.html", requires = "sweep")]
    pub(crate) html: Option<PathBuf>,
    /// Write a row for each point of the grid as Parquet; points already in the file are not computed again
    #[arg(short, long, value_name = "FILE.parquet", requires = "sweep")]
    pub(crate) output: Option<PathBuf>,
}
