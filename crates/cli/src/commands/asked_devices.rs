//! The devices that a check is asked about, or was when it made its recordings.

use crate::output::{self, Usage};
use punctual_device::{Catalogue, Origin, Profile, parse_want};
use punctual_forecast::JudgedDevice;
use punctual_recording::Document;
use punctual_report::{Measurement, devices_verdict_lines, every_value};
use std::path::PathBuf;

/// No more devices than this are taken from a recording: a file may name any number.
const MAX_TAKEN: usize = 16;

/// The devices of these specifications, as `check` judges them.
///
/// # Errors
/// [`Usage`] for one that does not exist, or could not work.
pub(super) fn parsed(
    catalogue: &Catalogue,
    specs: &[&str],
    want: Option<&str>,
    compute: Option<&str>,
) -> Result<Vec<Profile>, Usage> {
    let want_s = want.map(parse_want).transpose().map_err(|error| Usage(error.to_string()))?;
    let parse = |spec: &&str| -> Result<Profile, Usage> {
        let mut device = catalogue.parse_spec(spec).map_err(|error| Usage(error.to_string()))?;
        device.origin = Origin::Named;
        if let Some(want_s) = want_s {
            device = device.with_want(want_s);
        }
        let Some(compute) = compute else { return Ok(device) };
        let device = device.with_written_compute(compute).map_err(|error| Usage(error.to_string()))?;
        device.usable_slack_ns().map_err(|error| Usage(error.to_string()))?;
        Ok(device)
    };
    specs.iter().map(parse).collect()
}

/// The devices that the check was asked about that made all of these recordings. Empty if there were none or it was another
/// command, or if a file described them, which this machine may not have.
pub(super) fn of_recordings(parts: &[(PathBuf, Document)]) -> Vec<Profile> {
    let mut lines = parts.iter().map(|(_, document)| &document.provenance.command_line);
    let Some(words) = lines.next() else { return Vec::new() };
    if lines.any(|other| other != words) { Vec::new() } else { of_words(words) }
}

fn of_words(words: &[String]) -> Vec<Profile> {
    let command = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let specs = every_value(words, "--device");
    let is_taken = command.is_some_and(|command| command == "check") && every_value(words, "--profiles").is_empty();
    if !is_taken || specs.len() > MAX_TAKEN {
        return Vec::new();
    }
    let one = |name: &str| every_value(words, name).first().copied();
    let devices = parsed(Catalogue::shipped(), &specs, one("--want"), one("--compute")).unwrap_or_default();
    let can_be_judged = |device: &Profile| device.validate().is_ok() && device.usable_slack_ns().is_ok();
    if devices.iter().all(can_be_judged) { devices } else { Vec::new() }
}

/// What devices would have met, and what would be enough for them if that is asked. A recording that cannot support a forecast
/// still makes a page.
pub(super) fn judged(document: &Document, paths: &[PathBuf], asked: &[Profile], advises: bool) -> Vec<JudgedDevice> {
    let judged =
        super::forecast::inputs(paths).and_then(|inputs| Ok(punctual_study::judge(document, &inputs, asked, advises)?));
    match judged {
        Ok(judged) => judged,
        Err(error) => {
            output::note(&format!("no forecast for devices: {error:#}"));
            Vec::new()
        }
    }
}

/// The answer about several devices, one sentence a line: in one paragraph they are a wall of text on a small screen.
pub(super) fn listed(measurement: &Measurement) -> Option<String> {
    let one = &measurement.devices.first()?.answer.device;
    if measurement.devices.iter().all(|row| row.answer.device == *one) {
        return None;
    }
    let lines = devices_verdict_lines(measurement);
    let rest = measurement.verdict.strip_prefix(&lines.join(" "))?;
    Some(lines.join("\n") + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_tells_the_devices_that_its_check_was_asked_about() {
        let asked = |line: &[&str]| {
            let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
            let devices = of_words(&words).into_iter();
            devices.map(|device| (device.id.clone(), device.buffers, device.want_s)).collect::<Vec<_>>()
        };
        let two = ["punctual", "-q", "check", "--device", "audio 64@48kHz x3", "--device=modem", "--want", "1/day"];
        assert_eq!(asked(&two), [("audio".to_owned(), 3, 86_400), ("modem".to_owned(), 3, 86_400)]);
        for other in [
            &["punctual", "check", "-D", "2s"][..],
            &["punctual", "record", "--device", "audio"],
            &["punctual", "check", "--device", "audio", "--profiles", "own.txt"],
            &["punctual", "check", "--device", "no such device"],
            &[],
        ] {
            assert!(asked(other).is_empty(), "{other:?}");
        }
    }
}
