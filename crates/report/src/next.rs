//! What to run next: at most two steps behind an answer.

use crate::layout::shell_word;
use crate::{Measurement, load_name};
use punctual_comparison::{Comparison, MIN_RUNS, Outcome as Difference, Standing};
use punctual_forecast::{Answer as Forecast, Outcome};
use punctual_recording::{Document, NO_LOAD, Stage, printable_path};
use serde::Serialize;
use std::fmt::{Display, Formatter, Result, Write};

/// More nobody follows.
const MAX_STEPS: usize = 2;
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
    if document.recorder.is_some() {
        steps.push(NextStep::new("says who made it late", format!("punctual why {recording}")));
    } else if let Some(threshold) = total_of(document, WORTH_ASKING).filter(|_| document.followed.is_none()) {
        let load = load_option(load_name(document), known_loads);
        let command = format!("sudo punctual record --why {}us{load}", rounded_us(threshold));
        steps.push(NextStep::new("records who makes the worst 1 % late", command));
    } else {
        let purpose = "on the same command records who makes its threads late";
        steps.push(NextStep::new(purpose, "sudo punctual record --why p99".to_owned()));
    }
    if document.followed.is_none() {
        let all: Vec<String> = measurement.parts.iter().map(|(path, _)| shell_word(&printable_path(path))).collect();
        steps.push(NextStep::new("says how often it will be too late", format!("punctual forecast {}", all.join(" "))));
    }
    few(steps)
}

/// After a forecast: who keeps the device that fails, or a recording long enough to tell.
pub fn after_forecast(forecast: &Forecast, known_loads: &[&str]) -> Vec<NextStep> {
    let devices = || forecast.groups.iter().flat_map(|group| group.devices.iter().map(move |device| (group, device)));
    let failing = devices().filter(|(_, device)| device.underruns.outcome == Outcome::Fails);
    let tightest = failing.min_by_key(|(_, device)| device.device.usable_slack_ns().unwrap_or(u64::MAX));
    let mut steps = Vec::new();
    if let Some((group, device)) = tightest
        && let Ok(slack) = device.device.usable_slack_ns()
    {
        let load = load_option(&group.load, known_loads);
        let purpose = format!("records who keeps {} longer than its slack", device.device.id);
        steps.push(NextStep::new(&purpose, format!("sudo punctual record --why {}us{load}", rounded_us(slack))));
    }
    if devices().any(|(_, device)| device.underruns.outcome == Outcome::Unknown) {
        let purpose = "measures longer, so that more can be told; the devices' lines say how long";
        steps.push(NextStep::new(purpose, "sudo punctual record -D 1h".to_owned()));
    }
    few(steps)
}

/// After a comparison: runs made in turn where these cannot tell, else what the later side has more of.
pub fn after_comparison(comparison: &Comparison) -> Vec<NextStep> {
    if comparison.standing != Standing::Systems || comparison.outcome == Difference::NoDifference {
        let runs = comparison.runs_needed.unwrap_or(MIN_RUNS).max(MIN_RUNS);
        let command = format!("sudo punctual compare --repeat {runs} --a COMMAND --b COMMAND");
        let purpose = "sets and measures both sides in turn, often enough for a difference of this size";
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
    let total = document.distributions.sum(|key| key.stage == Stage::Total);
    if quantile < 1.0 { total.quantile(quantile) } else { total.max() }
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
    fn there_are_never_more_than_two_lines() {
        let step = NextStep::new("says who made it late", "punctual why a.punctual".to_owned());
        let text = next_text(&[step.clone(), step.clone(), step]);
        assert_eq!(text.lines().count(), MAX_STEPS);
        assert_eq!(text.lines().next(), Some("next: `punctual why a.punctual` says who made it late"));
    }
}
