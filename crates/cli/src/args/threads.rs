//! Which threads are measured, and how they are set up.

use super::values::{Cpus, cpus, own_period, priority};
use clap::{Args, ValueEnum};

/// How the measured threads are set up.
#[derive(Debug, Clone, Args)]
pub(crate) struct ThreadArguments {
    /// CPUs to measure, one thread on each: 0 or 0-3,6 [default: all this process may use]
    #[arg(short = 'a', long, value_name = "CPUS", value_parser = cpus)]
    pub(crate) cpus: Option<Cpus>,
    /// The period of each thread: 500us, 1kHz or 256@48kHz [default: 1ms]
    #[arg(short, long, value_name = "TIME", value_parser = own_period)]
    pub(crate) interval: Option<u64>,
    /// Real-time priority, 1 to 99; several, separated by commas, give each CPU a thread of each [default: 80]
    #[arg(short, long, value_name = "PRIORITY", value_delimiter = ',', value_parser = priority)]
    pub(crate) priority: Vec<u32>,
    /// Do not follow wakeups inside the kernel: only the total is measured
    #[arg(long)]
    pub(crate) no_bpf: bool,
    /// Let processors enter deep idle states
    #[arg(long)]
    pub(crate) no_power_request: bool,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// SCHED_FIFO
    Fifo,
    /// SCHED_RR
    Rr,
    /// SCHED_OTHER
    Other,
    /// SCHED_DEADLINE; such threads cannot be pinned
    Deadline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViaName {
    /// The timer interrupt wakes the thread
    Timer,
    /// The timer interrupt queues a softirq callback, which wakes the thread
    Softirq,
}
