//! One file a subcommand.

pub(crate) mod beside;
pub(crate) mod budget;
pub(crate) mod capabilities;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod device;
pub(crate) mod drill;
pub(crate) mod forecast;
pub(crate) mod generate;
pub(crate) mod hidden;
pub(crate) mod idle;
pub(crate) mod load;
pub(crate) mod log;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod schedulability;
pub(crate) mod sim;
pub(crate) mod timers;
pub(crate) mod why;

use crate::args::ThreadArguments;
use crate::output::Usage;
use punctual_probe::{Plan, Policy};
use punctual_recording::{Document, Limit};
use std::path::{Path, PathBuf};

/// The plan of the options that all measurements share.
fn plan(threads: &ThreadArguments, policy: Policy) -> Result<Plan, Usage> {
    let has_priority = matches!(policy, Policy::Fifo | Policy::RoundRobin);
    if !has_priority && !threads.priority.is_empty() {
        return Err(Usage(format!("--priority goes with --policy fifo or rr, not with {}", policy.name())));
    }
    let mut plan = Plan::new("");
    if !threads.priority.is_empty() {
        plan.priorities = threads.priority.clone();
        plan.priorities.dedup();
    }
    plan.policy = policy;
    plan.interval_ns = threads.interval;
    plan.cpus = threads.cpus.as_ref().map(|cpus| cpus.0.clone());
    plan.bpf = !threads.no_bpf;
    plan.power_request = !threads.no_power_request;
    plan.command_line = command_line();
    Ok(plan)
}

/// The words of the command line; what is not text is shown as well as it can be.
fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Recordings by path: a directory that holds recordings, such as a check leaves, stands for those,
/// and a `recording.json` for the directory it is in.
fn expand(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut expanded = Vec::new();
    for path in paths {
        if path.file_name().is_some_and(|name| name == "recording.json") {
            expanded.push(path.parent().map_or_else(|| path.clone(), Path::to_owned));
            continue;
        }
        let inside = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut inside: Vec<PathBuf> = inside.filter(|inner| inner.join("recording.json").exists()).collect();
        inside.sort();
        if path.join("recording.json").exists() || inside.is_empty() {
            expanded.push(path.clone());
        } else {
            expanded.extend(inside);
        }
    }
    expanded
}

/// 2 where a limit was exceeded, 1 where there was nothing to judge, which is not the same as having kept it.
fn limits_exit_code(limits: &[Limit]) -> u8 {
    if limits.iter().any(|limit| limit.exceeded) {
        2
    } else if limits.iter().any(|limit| limit.found_ns.is_none()) {
        1
    } else {
        0
    }
}

/// 1 where a command of a load failed, so that it was not the load that was asked for.
fn load_exit_code<'a>(documents: impl IntoIterator<Item = &'a Document>, ignore_failure: bool) -> u8 {
    let failed = documents.into_iter().any(|document| document.provenance.load.failure.is_some());
    u8::from(failed && !ignore_failure)
}

/// A name with the date and time that nothing has yet, in the current directory, or where that cannot be written in,
/// in the directory for temporary files.
fn fresh_name(before: &str, after: &str) -> PathBuf {
    let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let here = Path::new(".");
    let writable = made_in(here).is_ok();
    let base = if writable { PathBuf::new() } else { std::env::temp_dir() };
    let named = |number: u32| {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        base.join(format!("{before}{stamp}{suffix}{after}"))
    };
    (0..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}

/// Makes a file in a directory and removes it.
fn made_in(directory: &Path) -> std::io::Result<()> {
    let probe = directory.join(format!(".punctual-{}", std::process::id()));
    std::fs::File::options().write(true).create_new(true).open(&probe)?;
    std::fs::remove_file(probe)
}
