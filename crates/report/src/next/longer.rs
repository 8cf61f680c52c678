//! Measuring on, until what was too early to say can be said.

use super::NextStep;
use super::options::{every_value, load_option, own_options};
use crate::layout::shell_word;
use crate::{Measurement, load_name};
use punctual_device::written_buffers;
use punctual_forecast::{JudgedDevice, Outcome, format_seconds};
use punctual_recording::{Document, NO_LOAD, printable, printable_path};
use std::path::PathBuf;

/// Nobody starts a recording of days to learn whether it was worth it: of more than two hours the first one, s, is the
/// next step.
pub(super) const FIRST_STEP_S: f64 = 3_600.0;

/// What to measure next of a number of seconds, in whole minutes: no less than all of it, or the first hour.
pub(super) fn first_step(seconds: f64) -> String {
    if seconds > 2.0 * FIRST_STEP_S { "1h".to_owned() } else { format!("{}m", (seconds / 60.0).ceil().max(1.0) as u64) }
}

/// A name for the longer recording under a load, which none of these recordings has.
pub(super) fn longer_name(recordings: &[PathBuf], load: &str) -> String {
    let load = if load == NO_LOAD { "idle" } else { load };
    // Loads are also commands and files.
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_+".contains(character);
    let load: String = load.chars().map(|character| if is_plain(character) { character } else { '-' }).collect();
    let is_taken =
        |name: &String| recordings.iter().any(|path| path.file_name().is_some_and(|own| own == name.as_str()));
    let numbered = (2_u32..).map(|number| format!("longer-{load}-{number}.punctual"));
    let mut names = std::iter::once(format!("longer-{load}.punctual")).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// The recording that tells whether a device holds, or its first hour, where none of those asked about, as these options,
/// was late and it is too early to say of one.
pub(super) fn until_told(measurement: &Measurement, devices: &str, known_loads: &[&str]) -> Option<NextStep> {
    let rows = &measurement.devices;
    if !devices.contains("--device") || rows.iter().any(|row| row.late_wakeups > 0) {
        return None;
    }
    let open = rows.iter().filter(|row| row.answer.underruns.outcome == Outcome::Unknown);
    let open = open.filter_map(|row| Some((row, row.answer.underruns.measure_further_s?)));
    let (row, further_s) = open.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let (_, document) = measurement.parts.iter().find(|(_, document)| load_name(document) == row.load)?;
    step((row, further_s), document, &paths(measurement), devices, known_loads)
}

/// The recording that shows whether the buffers with which a missed device would not have run dry are enough, or its first hour,
/// under the load of this document. `options` is what else was asked of the devices.
pub(super) fn until_shown(
    measurement: &Measurement,
    document: &Document,
    options: &str,
    known_loads: &[&str],
) -> Option<NextStep> {
    let specs = every_value(&document.provenance.command_line, "--device");
    let own = |row: &&JudgedDevice| row.load == load_name(document) && row.late_wakeups > 0;
    let players = measurement.devices.iter().filter(own).filter(|row| !row.answer.device.is_loop());
    let advised = players.filter_map(|row| {
        let advice = row.answer.advice.as_ref()?;
        Some((row, advice.measure_further_s?, advice.never_exceeded.as_ref()?.device.buffers))
    });
    let (row, further_s, buffers) = advised.max_by_key(|(.., buffers)| *buffers)?;
    if specs.is_empty() {
        return None;
    }
    let recordings = paths(measurement);
    let (command, longer) = measuring(further_s, document, &row.load, &recordings, known_loads)?;
    let device = row.answer.device.id.as_str();
    let devices = specs.iter().map(|spec| match is_of(spec, device) {
        true => format!(" --device {}", shell_word(&printable(&with_buffers(spec, buffers)))),
        false => format!(" --device {}", shell_word(&printable(spec))),
    });
    let devices: String = devices.collect();
    let length = match further_s > 2.0 * FIRST_STEP_S {
        true => format!("the first hour of the {} that it takes", format_seconds(further_s)),
        false => "long enough".to_owned(),
    };
    let purpose = format!(
        "measures {length} to tell whether {buffers} buffers are enough for {device}; then run `{}`",
        forecast_of(&recordings, &longer, &(devices + options))
    );
    Some(NextStep::new(&purpose, command))
}

/// Whether a specification is of the device with this id.
pub(super) fn is_of(spec: &str, id: &str) -> bool {
    spec.split_whitespace().next() == Some(id)
}

/// A specification with another number of buffers.
pub(super) fn with_buffers(spec: &str, buffers: u32) -> String {
    let is_number = |word: &str| written_buffers(word).is_some_and(|number| number.parse::<u32>().is_ok());
    // The first word is the id, whatever it looks like.
    let kept = spec.split_whitespace().enumerate().filter(|(place, word)| *place == 0 || !is_number(word));
    let kept: Vec<&str> = kept.map(|(_, word)| word).collect();
    format!("{} x{buffers}", kept.join(" "))
}

fn paths(measurement: &Measurement) -> Vec<PathBuf> {
    measurement.parts.iter().map(|(path, _)| path.clone()).collect()
}

/// The command that measures this much longer, s, or its first hour, under a load, and the recording that it makes; `None` if the
/// same cannot be measured again.
fn measuring(
    further_s: f64,
    document: &Document,
    load: &str,
    recordings: &[PathBuf],
    known_loads: &[&str],
) -> Option<(String, String)> {
    let option = load_option(load, known_loads);
    // A load without a name cannot be asked for again.
    if option.is_empty() && load != NO_LOAD {
        return None;
    }
    let (again, longer) = (own_options(document)?, longer_name(recordings, load));
    let command = format!("sudo punctual record -D {}{again}{option} -o {longer}", first_step(further_s));
    Some((command, longer))
}

/// The command that asks these recordings and the longer one together, with such options.
fn forecast_of(recordings: &[PathBuf], longer: &str, options: &str) -> String {
    let recordings: String = recordings.iter().map(|path| format!(" {}", shell_word(&printable_path(path)))).collect();
    format!("punctual forecast{recordings} {longer}{options}")
}

fn step(
    (row, further_s): (&JudgedDevice, f64),
    document: &Document,
    recordings: &[PathBuf],
    devices: &str,
    known_loads: &[&str],
) -> Option<NextStep> {
    let (command, longer) = measuring(further_s, document, &row.load, recordings, known_loads)?;
    let device = &row.answer.device.id;
    let length = match further_s > 2.0 * FIRST_STEP_S {
        true => format!("the first hour of the {}", format_seconds(further_s)),
        false => "for as long as".to_owned(),
    };
    let that = if further_s > 2.0 * FIRST_STEP_S { " that" } else { "" };
    let question = forecast_of(recordings, &longer, devices);
    let purpose = format!("measures {length}{that} {device} still needs; then run `{question}`");
    Some(NextStep::new(&purpose, command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_device::Catalogue;
    use punctual_forecast::{Question, answer};

    #[test]
    fn what_is_too_early_to_say_is_measured_on() {
        let text = include_str!("../../../cli/tests/golden/check/loaded.punctual/recording.json");
        let document: Document = serde_json::from_str(text).unwrap();
        let device = Catalogue::shipped().parse_spec("audio 64@48kHz").unwrap();
        let question = Question { devices: vec![device], ..Question::default() };
        let answered = answer(&[input(0, 0)], &question).unwrap().groups.remove(0).devices.remove(0);
        let said = |outcome: Outcome, further_s: f64, late_wakeups: u64, devices: &str| {
            let mut answered = answered.clone();
            (answered.underruns.outcome, answered.underruns.measure_further_s) = (outcome, Some(further_s));
            let row = JudgedDevice {
                load: load_name(&document).to_owned(),
                measure: "fifo:80".to_owned(),
                answer: answered,
                late_wakeups,
                late_wakeups_on_worst_cpu: late_wakeups,
            };
            let measurement = Measurement {
                parts: vec![(PathBuf::from("a/loaded.punctual"), document.clone())],
                devices: vec![row],
                ..Measurement::default()
            };
            until_told(&measurement, devices, &["mixed"])
        };
        let asked = " --device 'audio 64@48kHz'";
        let long = said(Outcome::Unknown, 50_000.0, 0, asked).expect("it is too early to say");
        assert!(long.command.starts_with("sudo punctual record -D 1h"), "{long}");
        assert!(long.command.ends_with(" --load mixed -o longer-mixed.punctual"), "{long}");
        let question = "then run `punctual forecast a/loaded.punctual longer-mixed.punctual --device 'audio 64@48kHz'`";
        assert!(
            long.purpose.starts_with("measures the first hour of the ") && long.purpose.ends_with(question),
            "{long}"
        );
        let short = said(Outcome::Unknown, 600.0, 0, asked).expect("it is too early to say");
        assert!(short.command.starts_with("sudo punctual record -D 10m"), "{short}");
        assert!(short.purpose.starts_with("measures for as long as audio still needs; then run"), "{short}");
        for (outcome, late, devices) in
            [(Outcome::Fails, 0, asked), (Outcome::Unknown, 3, asked), (Outcome::Unknown, 0, "")]
        {
            assert_eq!(said(outcome, 600.0, late, devices), None, "{outcome:?} {late} {devices}");
        }
    }

    #[test]
    fn buffers_that_are_not_shown_to_be_enough_are_measured_under_the_load_that_decides() {
        let text = include_str!("../../../cli/tests/golden/check/loaded.punctual/recording.json");
        let mut document: Document = serde_json::from_str(text).unwrap();
        let said = |document: &Document, stalls: u64, advise: bool| {
            let device = Catalogue::shipped().parse_spec("audio 64@48kHz").unwrap().with_want(10 * 86_400);
            let question = Question { devices: vec![device], advise, ..Question::default() };
            let answer = answer(&[input(stalls, 0)], &question).unwrap().groups.remove(0).devices.remove(0);
            let load = load_name(document).to_owned();
            let (late_wakeups, late_wakeups_on_worst_cpu) = (stalls, stalls);
            let row =
                JudgedDevice { load, measure: "fifo:80".to_owned(), answer, late_wakeups, late_wakeups_on_worst_cpu };
            let parts = vec![(PathBuf::from("a/loaded.punctual"), document.clone())];
            let measurement = Measurement { parts, devices: vec![row], ..Measurement::default() };
            until_shown(&measurement, document, " --want 1/week", &["mixed"])
        };
        assert_eq!(said(&document, 3_000, true), None, "nobody asked about a device");
        document.provenance.command_line.extend(["--device", "audio 64@48kHz x2"].map(str::to_owned));
        let step = said(&document, 3_000, true).expect("10 buffers are not shown to be enough");
        assert!(step.command.starts_with("sudo punctual record -D 1h"), "{step}");
        assert!(step.command.ends_with(" --load mixed -o longer-mixed.punctual"), "{step}");
        let question = "to tell whether 10 buffers are enough for audio; then run `punctual forecast a/loaded.punctual \
                        longer-mixed.punctual --device 'audio 64@48kHz x10' --want 1/week`";
        assert!(
            step.purpose.starts_with("measures the first hour of the ") && step.purpose.ends_with(question),
            "{step}"
        );
        assert_eq!(said(&document, 3_000, false), None, "what would be enough was not asked");
        assert_eq!(said(&document, 0, true), None, "nothing was late");
    }
}
