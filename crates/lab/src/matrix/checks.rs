//! What a right result is, by command.

use super::cell::Printed;
use punctual_recording::{
    Recording, Stage, count_log_rows, read_activation_document, read_gap_document, read_log_document,
};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// The checks of `matrix.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    /// `capabilities --json`.
    Capabilities,
    /// Wakeups of a thread of punctual's.
    Recording,
    /// Such, where the thread falls so far behind that it arms timers for times that have passed.
    #[serde(rename = "recording armed late")]
    ArmedLate,
    /// Such, woken by a softirq.
    #[serde(rename = "softirq recording")]
    SoftirqRecording,
    /// Wakeups of somebody else's threads.
    #[serde(rename = "followed recording")]
    FollowedRecording,
    /// Events.
    Log,
    /// The gaps of an idle loop.
    Gaps,
    /// Ways to get a callback, as JSON.
    Timers,
    /// A soft device.
    Device,
    /// The two recordings of `check`.
    #[serde(rename = "check")]
    BothRecordings,
    /// Something was printed.
    Text,
}

/// One in a hundred wakeups may have come without the kernel's events.
const UNOBSERVED: u64 = 100;

type Counted = Result<String, String>;

impl Check {
    /// Looks at a result; with less than `whole`, only at what must be there all the same.
    pub(super) fn look(self, printed: &Printed, recording: Option<&Path>, whole: bool) -> Counted {
        let path = recording.unwrap_or(Path::new(""));
        match self {
            Check::Capabilities => capabilities(printed),
            Check::Recording => wakeups(path, whole.then_some(&[Stage::Irq, Stage::Wake, Stage::Thread][..]), true),
            Check::ArmedLate if !whole => wakeups(path, None, true),
            Check::ArmedLate => armed_late(path),
            Check::SoftirqRecording => {
                wakeups(path, Some(&[Stage::Irq, Stage::Softirq, Stage::Wake, Stage::Thread]), true)
            }
            Check::FollowedRecording => wakeups(path, Some(&[Stage::Thread]), false),
            Check::Log => log(printed, path),
            Check::Gaps => gaps(path, whole),
            Check::Timers => timers(printed),
            Check::Device => device(path),
            Check::BothRecordings => {
                let both = [path.join("idle.punctual"), path.join("loaded.punctual")];
                let stages = whole.then_some(&[Stage::Irq, Stage::Wake, Stage::Thread][..]);
                let counts: Result<Vec<String>, String> = both.iter().map(|path| wakeups(path, stages, true)).collect();
                Ok(counts?.join(", "))
            }
            Check::Text if printed.stdout.trim().is_empty() => Err("it prints nothing".to_owned()),
            Check::Text => Ok(format!("{} lines", printed.stdout.lines().count())),
        }
    }
}

fn json(printed: &Printed) -> Result<Value, String> {
    serde_json::from_str(&printed.stdout).map_err(|error| format!("it answers no JSON: {error}"))
}

fn list<'a>(answer: &'a Value, name: &str) -> Result<&'a Vec<Value>, String> {
    let list = answer[name].as_array().filter(|list| !list.is_empty());
    list.ok_or_else(|| format!("the answer has nothing under {name}"))
}

/// Every line that says no says why.
fn capabilities(printed: &Printed) -> Counted {
    let answer = json(printed)?;
    let lines = list(&answer, "capabilities")?;
    for line in lines {
        if line["detail"].as_str().is_none_or(str::is_empty) {
            return Err(format!("nothing is said of {}", line["name"]));
        }
    }
    Ok(format!("{} lines", lines.len()))
}

/// What `capabilities` says of something: whether it is to be had.
pub(super) fn promises(printed: &Printed, name: &str) -> Result<bool, String> {
    let answer = json(printed)?;
    let line = list(&answer, "capabilities")?.iter().find(|line| line["name"] == name).cloned();
    let line = line.ok_or_else(|| format!("capabilities has no line `{name}`"))?;
    Ok(line["available"] != "no")
}

/// Wakeups that add up, and with `stages` almost all of them followed through these. Those of a `grid` are all there.
fn wakeups(path: &Path, stages: Option<&[Stage]>, grid: bool) -> Counted {
    let recording = Recording::open(path).map_err(|error| format!("the recording: {error}"))?;
    if recording.is_cut() {
        return Err("the recording is cut".to_owned());
    }
    let sum = |error| format!("the recording: {error}");
    let counters = recording.document().counters;
    let not_adding_up = recording.count_not_adding_up().map_err(sum)?;
    if not_adding_up > 0 {
        return Err(format!("of {} wakeups {not_adding_up} do not add up", counters.wakeups));
    }
    let least = if grid { 150 } else { 10 };
    let accounted = counters.wakeups + counters.missed.unwrap_or(0);
    if counters.wakeups == 0 || accounted < least {
        return Err(format!("only {} wakeups, {:?} missed", counters.wakeups, counters.missed));
    }
    if counters.lost > 0 {
        return Err(format!("{} wakeups lost", counters.lost));
    }
    if let Some(stages) = stages {
        let mut without = 0;
        let count = |wakeup: &punctual_recording::Wakeup| {
            without += u64::from(stages.iter().any(|stage| wakeup.stage(*stage).is_none()));
        };
        recording.for_each_wakeup(count).map_err(sum)?;
        let unseen = without.max(counters.unobserved);
        if unseen * UNOBSERVED > counters.wakeups {
            return Err(format!("of {} wakeups {unseen} were not followed through the kernel", counters.wakeups));
        }
    }
    Ok(format!("{} wakeups", counters.wakeups))
}

/// Wakeups by timers that were armed too late: the kernel's events are followed on them all the same.
fn armed_late(path: &Path) -> Counted {
    let counted = wakeups(path, None, true)?;
    let recording = Recording::open(path).map_err(|error| format!("the recording: {error}"))?;
    let counters = recording.document().counters;
    match counters.armed_late {
        None | Some(0) => Err(format!("of {} wakeups none by a timer that was armed late", counters.wakeups)),
        Some(_) if counters.unobserved * UNOBSERVED > counters.wakeups => {
            Err(format!("of {} wakeups {} were not followed", counters.wakeups, counters.unobserved))
        }
        Some(late) => Ok(format!("{counted}, {late} armed late")),
    }
}

fn log(printed: &Printed, path: &Path) -> Counted {
    let document = read_log_document(path).map_err(|error| format!("the log: {error}"))?;
    let document = document.ok_or("there is no log in the recording")?;
    let rows = count_log_rows(path).map_err(|error| format!("the log: {error}"))?;
    if rows != document.rows() || document.events() < 100 {
        return Err(format!("{rows} rows, {} by the document, {} events", document.rows(), document.events()));
    }
    if printed.stdout.lines().count() < 100 {
        return Err("log show does not show the events".to_owned());
    }
    Ok(format!("{} events", document.events()))
}

fn gaps(path: &Path, whole: bool) -> Counted {
    let document = read_gap_document(path).map_err(|error| format!("the gaps: {error}"))?;
    let document = document.ok_or("there are no gaps in the recording")?;
    let gaps: u64 = document.cpus.iter().map(|cpu| cpu.gaps).sum();
    if document.cpus.iter().any(|cpu| cpu.runtime_ns == 0 || cpu.iterations == 0) || gaps == 0 {
        return Err(format!("{gaps} gaps, or a loop that did not run"));
    }
    if whole && (!document.followed || document.causes.is_empty()) {
        return Err(format!("{gaps} gaps, put down to nothing"));
    }
    Ok(format!("{gaps} gaps, {} causes", document.causes.len()))
}

/// Every way has callbacks or says why it is absent.
fn timers(printed: &Printed) -> Counted {
    let answer = json(printed)?;
    let ways = list(&answer, "ways")?;
    let silent = |way: &&Value| way["callbacks"].as_u64().unwrap_or(0) == 0 && way["absent"].is_null();
    if let Some(way) = ways.iter().find(silent) {
        return Err(format!("{} has no callback and does not say why", way["way"]));
    }
    let present = ways.iter().filter(|way| way["absent"].is_null()).count();
    if present == 0 { Err("no way has a callback".to_owned()) } else { Ok(format!("{present} ways")) }
}

/// Blocks arrived, and nearly all of them were processed.
fn device(path: &Path) -> Counted {
    let document = read_activation_document(path).map_err(|error| format!("the activations: {error}"))?;
    let document = document.ok_or("there are no activations in the recording")?;
    let Some(device) = document.devices.first() else { return Err("no device".to_owned()) };
    let taken = device.processed + device.dropped + device.lost + device.refused;
    if device.arrived < 50 || device.processed * 10 < device.arrived * 8 || taken > device.arrived {
        return Err(format!("{} of {} blocks were processed", device.processed, device.arrived));
    }
    Ok(format!("{} blocks", device.processed))
}
