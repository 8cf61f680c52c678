//! What a right result is, for each command.

use super::answer::{Counted, json, list};
use super::budget;
use super::cell::Printed;
use punctual_recording::{
    Outcome, Recording, Stage, count_log_rows, for_each_interaction_part, read_activation_document, read_gap_document,
    read_interaction_document, read_interactions, read_log_document,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The checks of `matrix.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    /// `capabilities --json`.
    Capabilities,
    /// Wakeups of one of punctual's own threads.
    Recording,
    /// The same, where the thread falls so far behind that it arms timers for times that have passed.
    #[serde(rename = "recording armed late")]
    ArmedLate,
    /// The same, woken by a softirq.
    #[serde(rename = "softirq recording")]
    SoftirqRecording,
    /// The same, where interrupts were held up for longer than a thread waits for them.
    #[serde(rename = "softirq recording held up")]
    HeldUp,
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
    /// Inputs to a program.
    Inputs,
    /// An answer in JSON that has something wherever the entry says.
    Answer,
    /// `verifier-budget --json`.
    #[serde(rename = "verifier budget")]
    Budget,
    /// Any text.
    Text,
}

/// One in a hundred wakeups may have come without the kernel's events.
const UNOBSERVED: u64 = 100;
/// How many wakeups may have found the thread awake, on its way to sleep: one in this many; where the guest's clock is
/// the host's, which may take the CPU away just then, ...
const AWAKE: u64 = 100;
/// ... one in this many.
const AWAKE_BY_HOST: u64 = 4;

/// No more of a value is shown, characters.
const MAX_SHOWN: usize = 40;

impl Check {
    /// Checks a result, whose answer must have something at each of `told`; without `whole`, only what must be there all
    /// the same. `by_host`: the guest's clock is the host's.
    pub(super) fn look(
        self,
        printed: &Printed,
        recording: Option<&Path>,
        told: &[String],
        whole: bool,
        by_host: bool,
    ) -> Counted {
        let path = recording.unwrap_or(Path::new(""));
        let awake = if by_host { AWAKE_BY_HOST } else { AWAKE };
        let followed = |stages| Some(Followed { stages, awake });
        let through_timer = || followed(&[Stage::Irq, Stage::Wake]).filter(|_| whole);
        match self {
            Check::Capabilities => capabilities(printed),
            Check::Recording => wakeups(path, through_timer(), true),
            Check::ArmedLate if !whole => wakeups(path, None, true),
            Check::ArmedLate => armed_late(path),
            Check::SoftirqRecording => wakeups(path, followed(&[Stage::Irq, Stage::Softirq, Stage::Wake]), true),
            Check::HeldUp => held_up(path),
            Check::FollowedRecording => wakeups(path, followed(&[]), false),
            Check::Log => log(printed, path),
            Check::Gaps => gaps(path, whole),
            Check::Timers => timers(printed),
            Check::Device => device(path, by_host),
            Check::Inputs => inputs(path, whole),
            Check::Budget => budget::check(printed),
            Check::BothRecordings => {
                let both = [path.join("idle.punctual"), path.join("loaded.punctual")];
                let one = |path| wakeups(path, through_timer(), true);
                let counts: Result<Vec<String>, String> = both.iter().map(|path| one(path)).collect();
                Ok(counts?.join(", "))
            }
            Check::Answer => answer(printed, told),
            Check::Text if printed.stdout.trim().is_empty() => Err("it prints nothing".to_owned()),
            Check::Text => Ok(format!("{} lines", printed.stdout.lines().count())),
        }
    }
}

/// Whether a value says something: it is neither nothing, nor no, nor 0.
fn is_told(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_so) => *is_so,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// An answer with a verdict, and with something wherever its command must have something to tell.
fn answer(printed: &Printed, told: &[String]) -> Counted {
    let answer = json(printed)?;
    if !is_told(&answer["verdict"]) {
        return Err("the answer has no verdict".to_owned());
    }
    let mut counted = Vec::new();
    for pointer in told {
        match answer.pointer(pointer) {
            Some(value) if is_told(value) => counted.push(short(pointer, value)),
            Some(value) => return Err(format!("{pointer} is {value}: {}", answer["verdict"])),
            None => return Err(format!("the answer has no {pointer}")),
        }
    }
    Ok(counted.join(", "))
}

/// A value in a few words, under the last name on the way to it.
fn short(pointer: &str, value: &Value) -> String {
    let is_name = |part: &&str| !part.bytes().all(|byte| byte.is_ascii_digit());
    let name = pointer.rsplit('/').find(is_name).unwrap_or(pointer);
    match value {
        Value::Array(list) => format!("{} of {name}", list.len()),
        Value::Object(_) => name.to_owned(),
        value => format!("{name} {}", value.to_string().chars().take(MAX_SHOWN).collect::<String>()),
    }
}

/// Every line that says no also says why.
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

/// How wakeups should have been followed.
#[derive(Clone, Copy)]
struct Followed {
    /// The stages before the thread's own switch.
    stages: &'static [Stage],
    /// One in this many may lack the switch, because the thread had not left its CPU yet.
    awake: u64,
}

/// Wakeups that add up, nearly all of them followed. With a `grid`, none of them may be missing.
fn wakeups(path: &Path, followed: Option<Followed>, grid: bool) -> Counted {
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
    if let Some(Followed { stages, awake: one_in }) = followed {
        let (mut without, mut awake, mut never_slept) = (0, 0, 0u64);
        let count = |wakeup: &punctual_recording::Wakeup| {
            let lacks = |stage: &Stage| wakeup.stage(*stage).is_none();
            // A timer that was due when it was armed: no interrupt came, and nothing woke the thread.
            if wakeup.is_observed() && !stages.is_empty() && stages.iter().all(lacks) {
                never_slept += 1;
            } else if stages.iter().any(lacks) {
                without += 1;
            } else if lacks(&Stage::Thread) {
                awake += 1;
            }
        };
        recording.for_each_wakeup(count).map_err(sum)?;
        let unseen = counters.unobserved.max(without + never_slept.saturating_sub(counters.armed_late.unwrap_or(0)));
        if unseen * UNOBSERVED > counters.wakeups {
            return Err(format!("of {} wakeups {unseen} were not followed through the kernel", counters.wakeups));
        }
        if awake * one_in > counters.wakeups {
            return Err(format!("of {} wakeups {awake} found the thread awake", counters.wakeups));
        }
    }
    Ok(format!("{} wakeups", counters.wakeups))
}

/// Wakeups by timers that were armed too late: the kernel's events must be followed on them all the same.
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

/// A thread checks for its interrupt this long after it was due, ns.
const TIME_LIMIT_NS: u64 = 1_000_000;

/// Wakeups by callbacks that came later than the thread's own time limit, with everything that the kernel did for them.
fn held_up(path: &Path) -> Counted {
    let recording = Recording::open(path).map_err(|error| format!("the recording: {error}"))?;
    let (mut late, mut followed) = (0, 0);
    let count = |wakeup: &punctual_recording::Wakeup| {
        if wakeup.irq_ns.is_none_or(|irq| irq > TIME_LIMIT_NS) && wakeup.total_ns > TIME_LIMIT_NS {
            late += 1;
            followed += u64::from(wakeup.softirq_ns.is_some() && wakeup.wake_ns.is_some());
        }
    };
    recording.for_each_wakeup(count).map_err(|error| format!("the recording: {error}"))?;
    if late < 10 || followed * 10 < late * 9 {
        return Err(format!("{late} wakeups whose interrupt was held up, {followed} of them followed"));
    }
    Ok(format!("{followed} of {late} held up"))
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

/// Every way has callbacks, or says why it is absent.
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

/// Blocks arrived, and nearly all of them were processed; with the host's clock, as many as came in time.
fn device(path: &Path, by_host: bool) -> Counted {
    let document = read_activation_document(path).map_err(|error| format!("the activations: {error}"))?;
    let document = document.ok_or("there are no activations in the recording")?;
    let Some(device) = document.devices.first() else { return Err("no device".to_owned()) };
    let taken = device.processed + device.dropped + device.lost + device.refused;
    if device.arrived < 50
        || device.processed * 10 < device.arrived * if by_host { 1 } else { 8 }
        || taken > device.arrived
    {
        return Err(format!("{} of {} blocks were processed", device.processed, device.arrived));
    }
    Ok(format!("{} blocks", device.processed))
}

/// Inputs were seen. If the program was followed, each was taken, and its time was split into parts that add up.
fn inputs(path: &Path, whole: bool) -> Counted {
    let said = |error| format!("the inputs: {error}");
    let document = read_interaction_document(path).map_err(said)?.ok_or("there are no inputs in the recording")?;
    let inputs = read_interactions(path).map_err(said)?;
    let mut parts: BTreeMap<u32, u64> = BTreeMap::new();
    for_each_interaction_part(path, |part| *parts.entry(part.number).or_default() += part.ns).map_err(said)?;
    // A key that was taken together with the one before it has no time of its own.
    let seen: Vec<_> = inputs.iter().filter(|input| input.outcome == Some(Outcome::Seen)).collect();
    let merged = inputs.iter().filter(|input| input.outcome == Some(Outcome::Merged)).count();
    if document.not_put_in > 0 || seen.len() < 10 || (seen.len() + merged) * 10 < inputs.len() * 9 {
        return Err(format!("of {} inputs {} were seen, {} not put in", inputs.len(), seen.len(), document.not_put_in));
    }
    if !whole {
        return Ok(format!("{} inputs", inputs.len()));
    }
    if !document.followed || document.not_split > 0 || document.records_lost > 0 {
        let (split, lost) = (document.not_split, document.records_lost);
        return Err(format!("followed: {}, {split} inputs not split, {lost} records lost", document.followed));
    }
    let adds_up = |number: u32, latency: Option<u64>| latency.is_some() && parts.get(&number).copied() == latency;
    if let Some(input) = seen.iter().find(|input| !adds_up(input.number, input.latency_ns())) {
        return Err(format!("the parts of input {} ({}) do not add up", input.number, input.label));
    }
    if let Some(input) = seen.iter().find(|input| input.got_ns.is_none() && input.kind != "start") {
        return Err(format!("it is not known when input {} ({}) was taken", input.number, input.label));
    }
    Ok(format!("{} inputs", inputs.len()))
}

#[cfg(test)]
mod tests {
    use super::{Printed, answer};

    fn look(stdout: &str, told: &[&str]) -> Result<String, String> {
        let (stdout, stderr) = (stdout.to_owned(), String::new());
        let printed = Printed { stdout, stderr, code: 0, kernel_log: String::new() };
        answer(&printed, &told.iter().map(|pointer| (*pointer).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn an_answer_must_tell_what_its_entry_names() {
        let said = r#"{"verdict": "It fits.", "rows": [{"count": 7, "late": 0, "exact": true, "why": null}]}"#;
        assert_eq!(look(said, &["/rows/0/count", "/rows/0/exact", "/rows"]).unwrap(), "count 7, exact true, 1 of rows");
        for untold in ["/rows/0/late", "/rows/0/why", "/rows/1/count", "/rows/0/nothing"] {
            assert!(look(said, &[untold]).is_err(), "{untold}");
        }
        assert!(look(r#"{"verdict": "", "rows": [1]}"#, &["/rows"]).is_err());
        assert!(look("It fits.\n", &[]).is_err());
    }
}
