//! What to run next: at most two steps behind an answer.

use crate::layout::shell_word;
use crate::{Measurement, load_name};
use punctual_comparison::{Comparison, MIN_RUNS, Outcome as Difference, Standing};
use punctual_device::OnMiss;
use punctual_forecast::{Answer as Forecast, DeviceAnswer, Outcome};
use punctual_recording::{Asked, Document, Followed, NO_LOAD, RecorderSummary, Stage, printable, printable_path};
use serde::Serialize;
use std::fmt::{Display, Formatter, Result, Write};
use std::path::PathBuf;

/// More nobody follows.
const MAX_STEPS: usize = 2;
/// A command in a line of text is at most so long, characters, where it can be shorter.
const MAX_COMMAND: usize = 72;
/// What `punctual record` measures when nothing else is asked for.
const DEFAULT_INTERVAL_NS: u64 = 1_000_000;
const DEFAULT_PRIORITY: u32 = 80;
/// The policy of threads that only a simulated machine had.
const SIMULATED: &str = "simulated";
/// The quantile of the total above which one asks who it was.
const WORTH_ASKING: f64 = 0.99;

/// A step: what it is good for, and the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NextStep {
    /// What one learns by it, as the end of a sentence.
    pub purpose: String,
    /// The command, as a shell takes it.
    pub command: String,
}

impl NextStep {
    pub(crate) fn new(purpose: &str, command: String) -> NextStep {
        NextStep { purpose: purpose.to_owned(), command }
    }
}

impl Display for NextStep {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(formatter, "next: `{}` {}", self.command, self.purpose)
    }
}

/// At most as many steps as anybody follows.
fn few(mut steps: Vec<NextStep>) -> Vec<NextStep> {
    steps.truncate(MAX_STEPS);
    steps
}

/// The steps as lines.
pub fn next_text(steps: &[NextStep]) -> String {
    let mut text = String::new();
    for step in steps.iter().take(MAX_STEPS) {
        let _ = writeln!(text, "{step}");
    }
    text
}

/// After a measurement: who made it late, and how often that will be too late. The loads that are known by name are those
/// of the command line.
pub fn after_measurement(measurement: &Measurement, known_loads: &[&str]) -> Vec<NextStep> {
    let latest = measurement.parts.iter().max_by_key(|(_, document)| total_of(document, 1.0));
    let Some((path, document)) = latest.filter(|(_, document)| document.counters.wakeups > 0) else {
        return Vec::new();
    };
    let recording = shell_word(&printable_path(path));
    let mut steps = Vec::new();
    if document.recorder.as_ref().is_some_and(|recorder| recorder.kept > 0) {
        steps.push(NextStep::new("says who made it late", format!("punctual why {recording}")));
    }
    if document.recorder.as_ref().is_none_or(keeps_what_does_not_matter)
        && let Some(command) = why_command(document, known_loads)
    {
        steps.push(NextStep::new("records who makes the worst 1 % late", command));
    }
    if document.followed.is_none() {
        let all: Vec<String> = measurement.parts.iter().map(|(path, _)| shell_word(&printable_path(path))).collect();
        steps.push(NextStep::new("says how often it will be too late", format!("punctual forecast {}", all.join(" "))));
    }
    few(steps)
}

/// Whether a recorder's threshold kept nothing, or so much that the budget was spent on what came first.
fn keeps_what_does_not_matter(recorder: &RecorderSummary) -> bool {
    recorder.kept == 0 || recorder.over_budget > 0
}

/// The command that records who makes the worst of the same threads late; `None` where nobody was late enough to ask.
fn why_command(document: &Document, known_loads: &[&str]) -> Option<String> {
    let stage = document.recorder.as_ref().map_or(Stage::Total, |recorder| recorder.stage);
    // Requests are not measured, only recorded: they take at least as long as the response.
    let measured = if stage == Stage::Request { Stage::Response } else { stage };
    let threshold = quantile_of(document, measured, WORTH_ASKING)?;
    let of_stage = if stage == Stage::Total { String::new() } else { format!(" --why-stage {}", stage.name()) };
    let why = format!("sudo punctual record --why {}us{of_stage}", rounded_us(threshold));
    let Some(followed) = &document.followed else {
        return Some(why + &own_options(document)? + &load_option(load_name(document), known_loads));
    };
    let (options, command) = same_threads(followed, &document.provenance.load.commands);
    let whole = format!("{why}{options}{command}");
    // The reader has the command, and a line is not broken within one.
    let is_short = command.is_empty() || whole.chars().count() <= MAX_COMMAND;
    Some(if is_short { whole } else { format!("{why}{options} -- COMMAND") })
}

/// The options with which `punctual record` measures threads of its own as these were, but for the load; `None` where another
/// command measured or simulated them.
pub fn own_options(document: &Document) -> Option<String> {
    let configuration = &document.provenance.configuration;
    let words = &document.provenance.command_line;
    let command = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let is_of_record = command.is_none_or(|command| ["record", "check", "compare"].contains(&command.as_str()));
    if configuration.policy == SIMULATED || !is_of_record {
        return None;
    }
    let mut options = String::new();
    let interval = configuration.interval_ns;
    if let Some(written) = value_of(words, "-i", "--interval") {
        // As it was written: 256@48kHz is no whole number of anything else.
        let _ = write!(options, " -i {}", shell_word(&printable(written)));
    } else if interval != 0 && interval != DEFAULT_INTERVAL_NS {
        let (number, unit) = match interval {
            interval if interval % 1_000_000 == 0 => (interval / 1_000_000, "ms"),
            interval if interval % 1_000 == 0 => (interval / 1_000, "us"),
            interval => (interval, "ns"),
        };
        let _ = write!(options, " -i {number}{unit}");
    }
    if !matches!(configuration.policy.as_str(), "" | "fifo") {
        let _ = write!(options, " --policy {}", shell_word(&configuration.policy));
    }
    if !matches!(configuration.priorities[..], [] | [DEFAULT_PRIORITY]) {
        let _ = write!(options, " -p {}", listed(&configuration.priorities));
    }
    if let Some(written) = value_of(words, "-a", "--cpus") {
        let _ = write!(options, " -a {}", shell_word(&printable(written)));
    }
    if configuration.via == "softirq" {
        options.push_str(" --via softirq");
    }
    Some(options)
}

/// The value of an option on a command line, up to the command behind it.
fn value_of<'a>(words: &'a [String], short: &str, long: &str) -> Option<&'a str> {
    let own: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    own.iter().enumerate().find_map(|(index, word)| match word.strip_prefix(long) {
        Some("") => own.get(index + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None if *word == short => own.get(index + 1).copied(),
        None => word.strip_prefix(short),
    })
}

fn listed(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}

/// The options that follow the same threads once more, and the command behind them.
fn same_threads(followed: &Followed, commands: &[Vec<String>]) -> (String, String) {
    let (mut options, mut command) = (String::new(), String::new());
    for asked in followed.asked.iter().filter_map(|words| Asked::parse(words)) {
        match (asked, commands.last()) {
            (Asked::Named(name), _) => options += &format!(" --comm {}", shell_word(name)),
            (Asked::Process(process), _) => options += &format!(" --pid {process}"),
            (Asked::Thread(thread), _) => options += &format!(" --tid {thread}"),
            (Asked::Command, Some(words)) => {
                let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
                options.push_str(" --follow");
                command = format!(" -- {}", words.join(" "));
            }
            (Asked::Command, None) => {}
        }
    }
    (options, command)
}

/// What a forecast was asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForecastAsked<'a> {
    /// The recordings.
    pub recordings: &'a [PathBuf],
    /// The devices, as they were named; none for the whole catalogue.
    pub devices: &'a [String],
    /// What else was asked of the devices, as options.
    pub options: &'a str,
    /// Whether it was asked what would be enough.
    pub advises: bool,
    /// The options that measure the same once more ([`own_options`]); `None` where `punctual record` cannot.
    pub again: Option<&'a str>,
}

/// After a forecast: who keeps the device that fails, what would be enough for it, or a recording long enough to tell.
pub fn after_forecast(forecast: &Forecast, asked: &ForecastAsked<'_>, known_loads: &[&str]) -> Vec<NextStep> {
    let devices = || forecast.groups.iter().flat_map(|group| group.devices.iter().map(move |device| (group, device)));
    let failing = devices().filter(|(_, device)| device.underruns.outcome == Outcome::Fails);
    let tightest = failing.min_by_key(|(_, device)| device.device.usable_slack_ns().unwrap_or(u64::MAX));
    let mut steps = Vec::new();
    if let (Some((group, device)), Some(again)) = (tightest, asked.again)
        && let Ok(slack) = device.device.usable_slack_ns()
    {
        let load = load_option(&group.load, known_loads);
        let purpose = format!("records who keeps {} longer than its slack", device.device.id);
        let command = format!("sudo punctual record --why {}us{again}{load}", rounded_us(slack));
        steps.push(NextStep::new(&purpose, command));
    }
    if let Some((_, device)) = tightest
        && let Some(spec) = asked.named(device)
        && device.device.on_miss == OnMiss::DummyBuffer
        && !asked.advises
    {
        let recordings: Vec<String> = asked.recordings.iter().map(|path| shell_word(&printable_path(path))).collect();
        let (recordings, options) = (recordings.join(" "), asked.options);
        let command = format!("punctual forecast {recordings} --device {}{options} --want 1/day", shell_word(spec));
        steps.push(NextStep::new("says how many buffers would do", command));
    }
    let unknown = devices().filter(|(_, device)| device.underruns.outcome == Outcome::Unknown);
    let takes = |device: &DeviceAnswer| device.underruns.measure_further_s;
    let soonest = unknown
        .filter_map(|(group, device)| Some((group, device, takes(device)?)))
        .min_by(|(.., one), (.., other)| one.total_cmp(other));
    if let (Some((group, device, further_s)), Some(again)) = (soonest, asked.again) {
        let load = load_option(&group.load, known_loads);
        let purpose = format!(
            "measures as long as {} still takes; then give `punctual forecast` both recordings",
            device.device.id
        );
        steps.push(NextStep::new(&purpose, format!("sudo punctual record -D {}{again}{load}", at_least(further_s))));
    }
    few(steps)
}

impl<'a> ForecastAsked<'a> {
    /// How the user named a device; `None` where all were asked about.
    fn named(&self, device: &DeviceAnswer) -> Option<&'a String> {
        let id = device.device.id.as_str();
        self.devices.iter().find(|spec| spec.split_whitespace().next() == Some(id))
    }
}

/// So many seconds as a duration that is not shorter, in whole minutes, hours or days.
fn at_least(seconds: f64) -> String {
    let up = |length: f64| (seconds / length).ceil().max(1.0) as u64;
    match seconds {
        seconds if seconds > 2.0 * 86_400.0 => format!("{}d", up(86_400.0)),
        seconds if seconds > 2.0 * 3_600.0 => format!("{}h", up(3_600.0)),
        _ => format!("{}m", up(60.0)),
    }
}

/// After a comparison: runs made in turn where these cannot tell, else what the later side has more of. `again` is the command
/// that measured both sides, with another number of repeats; `None` where recordings were compared.
pub fn after_comparison(comparison: &Comparison, again: Option<&dyn Fn(usize) -> String>) -> Vec<NextStep> {
    if comparison.standing != Standing::Systems || comparison.outcome == Difference::NoDifference {
        let runs = comparison.runs_needed.unwrap_or(MIN_RUNS).max(MIN_RUNS);
        let (purpose, command) = match again {
            Some(again) => ("measures both sides in turn, often enough for a difference of this size", again(runs)),
            None if comparison.follows() => (
                "takes directories: record these threads in turn before and after the change, at least 3 recordings in each",
                "punctual compare before after".to_owned(),
            ),
            None => (
                "measures both sides in turn, often enough for a difference of this size; COMMAND sets a side: a shell command, or \
                 options such as '-p 90'",
                format!("sudo punctual compare --repeat {runs} --a COMMAND --b COMMAND"),
            ),
        };
        return vec![NextStep::new(purpose, command)];
    }
    let later = if comparison.outcome == Difference::Worse { "B" } else { "A" };
    let purpose = format!("on side {later} records who makes it late");
    vec![NextStep::new(&purpose, "sudo punctual record --why p99".to_owned())]
}

/// The option that asks for the same load; nothing for none, and for commands and files, whose names the command line does
/// not take.
fn load_option(name: &str, known_loads: &[&str]) -> String {
    let is_known = name != NO_LOAD && name.split('+').all(|part| known_loads.contains(&part));
    if is_known { format!(" --load {}", name.replace('+', ",")) } else { String::new() }
}

fn total_of(document: &Document, quantile: f64) -> Option<u64> {
    quantile_of(document, Stage::Total, quantile)
}

fn quantile_of(document: &Document, stage: Stage, quantile: f64) -> Option<u64> {
    let found = document.distributions.sum(|key| key.stage == stage);
    if quantile < 1.0 { found.quantile(quantile) } else { found.max() }
}

/// Two digits are enough for a threshold; at least 1 us.
fn rounded_us(nanoseconds: u64) -> u64 {
    let microseconds = (nanoseconds / 1_000).max(1);
    let unit = 10u64.pow(microseconds.ilog10().saturating_sub(1));
    microseconds / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_has_two_digits() {
        assert_eq!([0, 999, 9_900, 311_600, 12_345_678].map(rounded_us), [1, 1, 9, 310, 12_000]);
    }

    #[test]
    fn only_a_load_that_has_a_name_is_asked_for_by_it() {
        let option = |name| load_option(name, &["none", "mixed", "office"]);
        assert_eq!(["none", "make", "office+make"].map(option), ["", "", ""]);
        assert_eq!(["mixed", "office+mixed"].map(option), [" --load mixed", " --load office,mixed"]);
    }

    #[test]
    fn what_is_to_be_measured_is_never_shorter_than_what_it_takes() {
        let said = [30.0, 60.5, 7_200.0, 22_700.0, 172_800.5].map(at_least);
        assert_eq!(said, ["1m", "2m", "120m", "7h", "3d"]);
    }

    #[test]
    fn an_option_is_found_however_it_was_written() {
        let found = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            value_of(&words, "-i", "--interval").map(str::to_owned)
        };
        for line in ["record -i 1kHz", "record -i1kHz", "record --interval 1kHz", "record --interval=1kHz -- x -i 2"] {
            assert_eq!(found(line).as_deref(), Some("1kHz"), "{line}");
        }
        assert_eq!(found("record -D 1s -- x -i 2"), None);
    }

    #[test]
    fn the_same_threads_are_followed_again() {
        let asked = ["threads named ^worker|db$", "process 4711", "thread 12", "the command and all it starts"];
        let followed = Followed { asked: asked.map(str::to_owned).to_vec(), ..Followed::default() };
        let played = vec!["play".to_owned(), "a song.ogg".to_owned()];
        let (options, command) = same_threads(&followed, &[played]);
        assert_eq!(options, " --comm '^worker|db$' --pid 4711 --tid 12 --follow");
        assert_eq!(command, " -- play 'a song.ogg'");
    }

    #[test]
    fn there_are_never_more_than_two_lines() {
        let step = NextStep::new("says who made it late", "punctual why a.punctual".to_owned());
        let text = next_text(&[step.clone(), step.clone(), step]);
        assert_eq!(text.lines().count(), MAX_STEPS);
        assert_eq!(text.lines().next(), Some("next: `punctual why a.punctual` says who made it late"));
    }
}
