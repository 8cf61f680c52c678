//! One file per subcommand.

pub(crate) mod artifacts;
mod asked_devices;
mod bare_interval;
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
mod install;
pub(crate) mod interact;
pub(crate) mod lab;
pub(crate) mod load;
pub(crate) mod log;
mod looked_after;
pub(crate) mod markdown_file;
pub(crate) mod modem;
mod modem_apart;
mod modem_experiment;
mod modem_judge;
mod modem_study;
mod modem_taps;
mod modem_transfer;
mod passed_on;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod reserve;
pub(crate) mod rialto;
pub(crate) mod schedulability;
pub(crate) mod sim;
pub(crate) mod timers;
mod unread;
pub(crate) mod why;

use crate::args::log::LogCommand;
use crate::args::{Command, ThreadArguments};
use crate::output::{Output, Usage};
use punctual_kernel::memory_bound::keep_memory_below;
use punctual_probe::{Plan, Policy};
use punctual_recording::bounds::MAX_READER_BYTES;
use punctual_recording::input;
use punctual_recording::{Document, Limit, Place, printable_path, without_error_number};
use punctual_report::answer::Failure;
use punctual_report::shell_word;
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
    plan.interval_ns = threads.interval.unwrap_or(plan.interval_ns);
    plan.cpus = threads.cpus.as_ref().map(|cpus| cpus.0.clone());
    plan.bpf = !threads.no_bpf;
    plan.power_request = !threads.no_power_request;
    plan.command_line = command_line();
    Ok(plan)
}

/// The words of the command line; what is not text is shown as well as possible.
fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Recordings by path: a directory of recordings, such as a check leaves, stands for all of them, and a
/// `recording.json` for its directory.
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

/// So many recordings of a directory are named.
const MAX_NAMED: usize = 8;

/// The one recording at this path, which may be a directory that holds it; `asker` is the command that needs it, as a user
/// writes it.
///
/// # Errors
/// [`Usage`] with the names of the recordings there and the command for one of them, if there are several.
fn one_of(named: &Path, asker: &str) -> Result<PathBuf, Usage> {
    match expand(&[named.to_owned()]).as_slice() {
        [one] => Ok(one.clone()),
        several => {
            let names = several.iter().take(MAX_NAMED).map(|path| printable_path(path)).collect::<Vec<_>>().join(", ");
            let more = several.len().saturating_sub(MAX_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            // One with events answers these commands.
            let example = several.iter().find(|path| path.join("events").is_dir()).or_else(|| several.first());
            let example = example.map_or_else(String::new, |path| {
                format!(", as in `punctual {asker} {}`", shell_word(&printable_path(path)))
            });
            let (path, many) = (printable_path(named), several.len());
            Err(Usage(format!("{path}: holds {many} recordings: name one of them{example}: {names}{more}")))
        }
    }
}

/// Reads a text that a person wrote.
fn read_text(path: &Path) -> anyhow::Result<String> {
    input::read_text(path)
        .map_err(|error| anyhow::anyhow!("cannot read {}: {}", path.display(), without_error_number(&error)))
}

/// Bounds the memory of a command that only reads: whatever its files hold, the command ends with one line.
pub(crate) fn bound_reader(command: &Command, output: Output) {
    let files: Vec<&PathBuf> = match command {
        Command::Report(report) => report.recordings.iter().collect(),
        Command::Why(why) => why.recording.iter().collect(),
        Command::Forecast(forecast) => forecast.recordings.iter().collect(),
        Command::Schedulability(tasks) => std::iter::once(&tasks.tasks).chain(&tasks.latency).collect(),
        Command::Log(log) => match &log.command {
            Some(LogCommand::Show(show)) => vec![&show.recording],
            _ => return,
        },
        Command::Compare(compare) if !compare.sides.is_empty() => compare.sides.iter().collect(),
        _ => return,
    };
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let max = MAX_READER_BYTES / 1_000_000;
    let message = format!(
        "{}: reading this needs more than {max} MB of memory, the most that punctual uses: it is damaged, or holds more than a \
         measurement writes",
        files.join(", ")
    );
    let failure = Failure::new(&message, None, 1);
    let words = if output.json { crate::output::pretty(&failure) } else { failure.text() };
    keep_memory_below(MAX_READER_BYTES, output.json, format!("{words}\n"));
    crate::reading::show_reading();
}

/// 2 if a limit was exceeded; 1 if there was nothing to judge, which is not the same as keeping the limit.
fn limits_exit_code(limits: &[Limit]) -> u8 {
    if limits.iter().any(|limit| limit.exceeded) {
        2
    } else if limits.iter().any(|limit| limit.found_ns.is_none()) {
        1
    } else {
        0
    }
}

/// 1 if a command of a load failed, because then the load was not the one asked for.
fn load_exit_code<'a>(documents: impl IntoIterator<Item = &'a Document>, ignore_failure: bool) -> u8 {
    let failed = documents.into_iter().any(|document| document.provenance.load.failure.is_some());
    u8::from(failed && !ignore_failure)
}

/// Why a library's datapump works in threads only.
const NO_LIBRARY_IN_KERNEL: &str = "a library's datapump is code for user space, which no interrupt can run";

/// An unused name with the date and time, in the current directory or, if that is not writable,
/// in the directory for temporary files.
fn fresh_name(before: &str, after: &str) -> PathBuf {
    let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let writable = Place::of(Path::new(".")).and_then(|place| place.try_to_write()).is_ok();
    let base = if writable { PathBuf::new() } else { std::env::temp_dir() };
    unused_name(&base, &format!("{before}{stamp}"), after)
}

/// A name that nothing has in a directory, not even a link that leads nowhere.
fn unused_name(base: &Path, before: &str, after: &str) -> PathBuf {
    let named = |number: u32| {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        base.join(format!("{before}{suffix}{after}"))
    };
    (0..).map(named).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| named(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_somebody_has_taken_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        assert_eq!(unused_name(directory.path(), "a", ".punctual"), at("a.punctual"));
        std::fs::create_dir(at("a.punctual")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("a-1.punctual")).unwrap();
        assert_eq!(unused_name(directory.path(), "a", ".punctual"), at("a-2.punctual"));
    }
}
