//! After a forecast.

use super::measurement::as_threshold;
use super::options::load_option;
use super::{NextStep, few};
use crate::forecast::units::called;
use crate::layout::shell_word;
use punctual_device::OnMiss;
use punctual_forecast::{Answer as Forecast, DeviceAnswer, Outcome, Stage};
use punctual_recording::printable_path;
use std::path::PathBuf;

/// The question of a forecast.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForecastAsked<'a> {
    /// The recordings.
    pub recordings: &'a [PathBuf],
    /// The devices, as the user named them; none for the whole catalogue.
    pub devices: &'a [String],
    /// What else was asked of the devices, or of a loop, as options.
    pub options: &'a str,
    /// Whether the user asked what would be enough.
    pub advises: bool,
    /// A recording of them with evidence of late wakeups, if there is one.
    pub explained: Option<&'a PathBuf>,
    /// The options that measure the same once more ([`crate::own_options`]); `None` if `punctual record` cannot.
    pub again: Option<&'a str>,
}

/// After a forecast: who delays the device that fails, what would be enough for it, or a recording long enough to tell.
pub fn after_forecast(forecast: &Forecast, asked: &ForecastAsked<'_>, known_loads: &[&str]) -> Vec<NextStep> {
    let devices = || forecast.groups.iter().flat_map(|group| group.devices.iter().map(move |device| (group, device)));
    let failing = devices().filter(|(_, device)| device.underruns.outcome == Outcome::Fails);
    // The load under which it fails most often is where to look.
    let slack = |device: &DeviceAnswer| device.device.usable_slack_ns().unwrap_or(u64::MAX);
    let every_s = |device: &DeviceAnswer| device.underruns.mttf_s.value.unwrap_or(f64::INFINITY);
    let tightest = failing.min_by(|(_, one), (_, other)| {
        slack(one).cmp(&slack(other)).then_with(|| every_s(one).total_cmp(&every_s(other)))
    });
    let mut steps = Vec::new();
    if let (Some((group, device)), Some(path)) = (tightest, asked.explained) {
        let purpose = format!("says what delayed {}", called(group, device));
        steps.push(NextStep::new(&purpose, format!("punctual why {}", shell_word(&printable_path(path)))));
    } else if let (Some((group, device)), Some(again)) = (tightest, asked.again)
        && let Ok(slack) = device.device.usable_slack_ns()
    {
        let load = load_option(&group.load, known_loads);
        let purpose = format!("records what delays {} beyond its slack", called(group, device));
        let stage = if device.stage == Stage::Response { " --why-stage response" } else { "" };
        let command = format!("sudo punctual record --why {}{stage}{again}{load}", as_threshold(slack));
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
    if asked.advises
        && let Some((group, device)) = tightest
        && let Some(further_s) = device.advice.as_ref().and_then(|advice| advice.measure_further_s)
        && let Some(again) = asked.again
    {
        let load = load_option(&group.load, known_loads);
        let (id, question) = (called(group, device), asked.question());
        let purpose = format!(
            "measures until it is known whether what nothing exceeded is enough for {id}; then give both recordings to `{question}`"
        );
        steps.push(NextStep::new(&purpose, format!("sudo punctual record -D {}{again}{load}", at_least(further_s))));
    }
    let unknown = devices().filter(|(_, device)| device.underruns.outcome == Outcome::Unknown);
    let takes = |device: &DeviceAnswer| device.underruns.measure_further_s;
    let soonest = unknown
        .filter_map(|(group, device)| Some((group, device, takes(device)?)))
        .min_by(|(.., one), (.., other)| one.total_cmp(other));
    if let (Some((group, device, further_s)), Some(again)) = (soonest, asked.again) {
        let load = load_option(&group.load, known_loads);
        let (id, question) = (called(group, device), asked.question());
        let purpose = format!("measures for as long as {id} still needs; then give both recordings to `{question}`");
        steps.push(NextStep::new(&purpose, format!("sudo punctual record -D {}{again}{load}", at_least(further_s))));
    }
    few(steps)
}

impl<'a> ForecastAsked<'a> {
    /// The command that asks the same of other recordings, but for their names.
    fn question(&self) -> String {
        let devices: String = self.devices.iter().map(|spec| format!(" --device {}", shell_word(spec))).collect();
        format!("punctual forecast{devices}{}", self.options)
    }

    /// How the user named a device; `None` where all were asked about.
    fn named(&self, device: &DeviceAnswer) -> Option<&'a String> {
        let id = device.device.id.as_str();
        self.devices.iter().find(|spec| spec.split_whitespace().next() == Some(id))
    }
}

/// A number of seconds as a duration that is no shorter, in whole minutes, hours or days.
fn at_least(seconds: f64) -> String {
    let up = |length: f64| (seconds / length).ceil().max(1.0) as u64;
    match seconds {
        seconds if seconds > 2.0 * 86_400.0 => format!("{}d", up(86_400.0)),
        seconds if seconds > 2.0 * 3_600.0 => format!("{}h", up(3_600.0)),
        _ => format!("{}m", up(60.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_measured_is_never_shorter_than_what_it_takes() {
        let said = [30.0, 60.5, 7_200.0, 22_700.0, 172_800.5].map(at_least);
        assert_eq!(said, ["1m", "2m", "120m", "7h", "3d"]);
    }

    #[test]
    fn both_recordings_are_asked_what_one_was() {
        let devices = ["audio 64@48kHz".to_owned(), "modem".to_owned()];
        let asked = ForecastAsked { devices: &devices, options: " --want 1/day", ..ForecastAsked::default() };
        assert_eq!(asked.question(), "punctual forecast --device 'audio 64@48kHz' --device modem --want 1/day");
        assert_eq!(ForecastAsked::default().question(), "punctual forecast");
    }
}
