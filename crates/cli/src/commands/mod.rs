//! One file a subcommand.

pub(crate) mod capabilities;
pub(crate) mod check;
pub(crate) mod forecast;
pub(crate) mod generate;
pub(crate) mod hidden;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod schedulability;
pub(crate) mod timers;

use crate::args::ThreadArguments;
use crate::output::Usage;
use punctual_probe::{Plan, Policy, Via};
use std::path::{Path, PathBuf};

/// The plan of the options that all measurements share.
fn plan(threads: &ThreadArguments, policy: Policy) -> Result<Plan, Usage> {
    let has_priority = matches!(policy, Policy::Fifo | Policy::RoundRobin);
    if !has_priority && !threads.priority.is_empty() {
        return Err(Usage(format!("--priority goes with --policy fifo or rr, not with {}", policy.name())));
    }
    let mut priorities = threads.priority.clone();
    priorities.dedup();
    if priorities.is_empty() {
        priorities.push(80);
    }
    Ok(Plan {
        interval_ns: threads.interval,
        duration_ns: None,
        policy,
        priorities,
        cpus: threads.cpus.as_ref().map(|cpus| cpus.0.clone()),
        via: Via::Timer,
        bpf: !threads.no_bpf,
        power_request: !threads.no_power_request,
        break_ns: None,
        limits: Vec::new(),
        output: PathBuf::new(),
        load: Default::default(),
        command_line: std::env::args().collect(),
    })
}

/// A name with the date and time that nothing has yet, in the current directory, or where that cannot be written in,
/// in the directory for temporary files.
fn fresh_name(before: &str, after: &str) -> PathBuf {
    let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let here = Path::new(".");
    let writable = tempfile_in(here);
    let base = if writable { PathBuf::new() } else { std::env::temp_dir() };
    let named = |number: u32| {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        base.join(format!("{before}{stamp}{suffix}{after}"))
    };
    (0..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}

/// Whether a file can be made in a directory.
fn tempfile_in(directory: &Path) -> bool {
    let probe = directory.join(format!(".punctual-{}", std::process::id()));
    let made = std::fs::File::options().write(true).create_new(true).open(&probe).is_ok();
    let _ = std::fs::remove_file(probe);
    made
}
