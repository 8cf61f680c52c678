//! Whom `punctual record` follows instead of its own threads.

use super::values::{id, period};
use clap::Args;

/// Options that only concern punctual's own threads.
pub(crate) const OWN: [&str; 7] = ["priority", "interval", "policy", "via", "cpus", "no_bpf", "no_power_request"];

#[derive(Debug, Args)]
#[group(skip)]
#[command(group(clap::ArgGroup::new("followed").args(["pid", "tid", "comm", "follow"]).multiple(true)))]
pub(crate) struct FollowArguments {
    /// Follow all threads of these processes, including those that they start later; adds to --tid and --comm
    #[arg(long, value_name = "PID", value_delimiter = ',', conflicts_with_all = OWN, value_parser = id)]
    pub(crate) pid: Vec<u32>,
    /// Follow these threads
    #[arg(long, value_name = "TID", value_delimiter = ',', conflicts_with_all = OWN, value_parser = id)]
    pub(crate) tid: Vec<u32>,
    /// Follow threads whose name contains a match for this regular expression, including those that start later; may be
    /// repeated
    #[arg(long, value_name = "REGEX", conflicts_with_all = OWN)]
    pub(crate) comm: Vec<String>,
    /// Follow the command's threads, and those of everything it starts; with --comm, only threads with these names are judged by
    /// --period, --limit and --why, but all of them with --why-stage request
    #[arg(long, requires = "program", conflicts_with_all = OWN)]
    pub(crate) follow: bool,
    /// The cycle time of the followed threads' loops: counts the cycles that took longer
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) period: Option<u64>,
}
