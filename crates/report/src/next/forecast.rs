//! After a forecast.

use super::host::{took_late, with_host};
use super::longer::{FIRST_STEP_S, first_step, is_of, longer_name, with_buffers};
use super::measurement::as_threshold;
use super::options::{exact_time, load_option, own_options_every, period_in};
use super::{NextStep, after_refusal, few};
use crate::layout::shell_word;
use punctual_device::OnMiss;
use punctual_forecast::{
    Answer as Forecast, DeviceAnswer, Group, Outcome, Stage, ZERO_EVENTS, format_seconds, under_load,
};
use punctual_recording::{Document, printable_path};
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
    /// What they hold; empty if that could not be read.
    pub documents: &'a [Document],
    /// The options that measure the same once more ([`crate::own_options`]); `None` if `punctual record` cannot.
    pub again: Option<&'a str>,
}

/// A device under one load.
type Judged<'a> = (&'a Group, &'a DeviceAnswer);

/// After a forecast: who delays the device that fails, under each load under which it does, what would be enough for it,
/// or a recording that tells more.
pub fn after_forecast(forecast: &Forecast, asked: &ForecastAsked<'_>, known_loads: &[&str]) -> Vec<NextStep> {
    let devices = || forecast.groups.iter().flat_map(|group| group.devices.iter().map(move |device| (group, device)));
    let mut failing: Vec<Judged<'_>> =
        devices().filter(|(_, device)| device.underruns.outcome == Outcome::Fails).collect();
    // The load under which it fails most often is where to look first.
    let slack = |device: &DeviceAnswer| device.device.usable_slack_ns().unwrap_or(u64::MAX);
    let every_s = |device: &DeviceAnswer| device.underruns.mttf_s.value.unwrap_or(f64::INFINITY);
    failing.sort_by(|(_, one), (_, other)| {
        slack(one).cmp(&slack(other)).then_with(|| every_s(one).total_cmp(&every_s(other)))
    });
    let mut delays = what_delays(&failing, asked, known_loads).into_iter();
    let mut steps: Vec<NextStep> = delays.next().into_iter().collect();
    steps.extend(failing.first().and_then(|(_, device)| how_many_buffers(device, asked)));
    if asked.advises {
        let enough = failing.iter().filter_map(|&(group, device)| {
            let advice = device.advice.as_ref()?;
            let further_s = advice.measure_further_s?;
            // What it has just failed with is not what takes longer to be shown.
            let buffers = advice.never_exceeded.as_ref().filter(|_| !device.device.is_loop());
            let buffers = buffers.map(|variant| variant.device.buffers);
            let what = match buffers {
                Some(buffers) => format!("{buffers} buffers are"),
                None => "the advised period is".to_owned(),
            };
            let need = format!("it takes to tell whether {what} enough for {}", group.called(device));
            measured((group, device), (further_s, buffers), &need, asked, known_loads)
        });
        // Who asks how many buffers do gets the measurement that shows it, after what to look into where it is worst.
        steps.extend(one_of_each_load(enough));
    }
    // Without that question, what is late now is mended first: only then is it worth a long recording.
    steps.extend(delays);
    let mut unknown: Vec<(Judged<'_>, f64)> = devices()
        .filter(|(_, device)| device.underruns.outcome == Outcome::Unknown)
        .filter_map(|judged| Some((judged, judged.1.underruns.measure_further_s?)))
        .collect();
    unknown.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let needed = unknown.into_iter().filter_map(|(judged, further_s)| {
        let need = format!("{} still needs", judged.0.called(judged.1));
        measured(judged, (further_s, None), &need, asked, known_loads)
    });
    steps.extend(one_of_each_load(needed));
    with_host(few(steps), failing.first().is_some_and(|judged| is_the_hosts(*judged, asked)))
}

/// Whether the host took most of what was too late for the device that fails, under the load under which it does.
fn is_the_hosts((group, device): Judged<'_>, asked: &ForecastAsked<'_>) -> bool {
    let Ok(slack_ns) = device.device.usable_slack_ns() else { return false };
    let mut of_load = asked.documents.iter().filter(|document| document.load_beside() == group.load);
    device.stage == Stage::Total && of_load.any(|document| took_late(document, slack_ns))
}

/// The first step of each load.
fn one_of_each_load<'a>(steps: impl Iterator<Item = (&'a str, NextStep)>) -> Vec<NextStep> {
    let mut loads: Vec<&str> = Vec::new();
    let mut first = Vec::new();
    for (load, step) in steps {
        if !loads.contains(&load) {
            loads.push(load);
            first.push(step);
        }
    }
    first
}

/// Who delays the device that fails: the answer where it was recorded, otherwise the recording, once for each load.
fn what_delays(failing: &[Judged<'_>], asked: &ForecastAsked<'_>, known_loads: &[&str]) -> Vec<NextStep> {
    let Some(&(group, device)) = failing.first() else { return Vec::new() };
    if let Some(path) = asked.explained {
        let purpose = format!("says what delayed {}", group.called(device));
        return vec![NextStep::new(&purpose, format!("punctual why {}", shell_word(&printable_path(path))))];
    }
    if asked.documents.iter().any(|document| document.why_without_causes().is_some()) {
        return vec![after_refusal()];
    }
    let loads_differ = failing.iter().any(|(other, _)| other.load != group.load);
    one_of_each_load(failing.iter().filter_map(|&(group, device)| {
        let (again, slack) = (asked.measuring((group, device))?, device.device.usable_slack_ns().ok()?);
        let load = load_option(&group.load, known_loads);
        let under = if loads_differ { format!(" {}", under_load(&group.load)) } else { String::new() };
        let purpose = format!("records what delays {} beyond its slack{under}", group.called(device));
        let stage = if device.stage == Stage::Response { " --why-stage response" } else { "" };
        let command = format!("sudo punctual record --why {}{stage}{again}{load}", as_threshold(slack));
        Some((group.load.as_str(), NextStep::new(&purpose, command)))
    }))
}

/// How many buffers a player needs, where that was not asked.
fn how_many_buffers(device: &DeviceAnswer, asked: &ForecastAsked<'_>) -> Option<NextStep> {
    let spec = asked.named(device)?;
    if device.device.on_miss != OnMiss::DummyBuffer || asked.advises {
        return None;
    }
    let recordings: Vec<String> = asked.recordings.iter().map(|path| shell_word(&printable_path(path))).collect();
    let (recordings, options) = (recordings.join(" "), asked.options);
    let command = format!("punctual forecast {recordings} --device {}{options} --want 1/day", shell_word(spec));
    Some(NextStep::new("says how many buffers would do", command))
}

/// The recording that takes this much longer, s, or its first hour, with what that shows by itself; and its load. What it is
/// then asked may be about another number of buffers.
fn measured<'a>(
    (group, device): Judged<'a>,
    (further_s, buffers): (f64, Option<u32>),
    need: &str,
    asked: &ForecastAsked<'_>,
    known_loads: &[&str],
) -> Option<(&'a str, NextStep)> {
    let (again, load) = (asked.measuring((group, device))?, load_option(&group.load, known_loads));
    let purpose = if further_s <= 2.0 * FIRST_STEP_S {
        format!("measures for as long as {need}").replace("for as long as it takes", "long enough")
    } else {
        let (fails, events) = if device.device.is_loop() { ("is late", "overruns") } else { ("runs dry", "underruns") };
        let apart = format_seconds(FIRST_STEP_S * group.compression / ZERO_EVENTS) + group.of_use();
        format!(
            "measures the first hour of the {} that {need} (if nothing {fails} in it, {events} are {apart} apart or more)",
            format_seconds(further_s)
        )
    };
    let longer = asked.longer(&group.load);
    let purpose =
        format!("{purpose}; then run `{}`", asked.question(&longer, buffers.map(|buffers| (device, buffers))));
    let command = format!("sudo punctual record -D {}{again}{load} -o {longer}", first_step(further_s));
    Some((group.load.as_str(), NextStep::new(&purpose, command)))
}

impl<'a> ForecastAsked<'a> {
    /// The options that measure the same once more: at the period of a device that was asked for, where these recordings are
    /// coarser than that.
    fn measuring(&self, (group, device): Judged<'_>) -> Option<String> {
        let again = self.again?;
        let period_ns = device.device.period_ns;
        let is_coarser = group.period_ns.is_some_and(|recorded_ns| period_ns < recorded_ns);
        let is_to_match = is_coarser && device.device.has_measurable_period();
        let of_device = self.named(device).zip(self.documents.first()).filter(|_| is_to_match);
        let matching = of_device.and_then(|(spec, document)| {
            let period = period_in(spec, period_ns).map_or_else(|| exact_time(period_ns), str::to_owned);
            own_options_every(document, Some(&period))
        });
        Some(matching.unwrap_or_else(|| again.to_owned()))
    }

    /// The command that asks the same of these recordings and the longer one together, or of a device with another number
    /// of buffers.
    fn question(&self, longer: &str, other: Option<(&DeviceAnswer, u32)>) -> String {
        let recordings = self.recordings.iter().map(|path| printable_path(path)).chain([longer.to_owned()]);
        let recordings: String = recordings.map(|name| format!(" {}", shell_word(&name))).collect();
        let (mut devices, mut options) = (self.devices.to_vec(), self.options.to_owned());
        if let Some((device, buffers)) = other {
            let id = device.device.id.as_str();
            // `--buffers` outweighs the number in a specification.
            let own = format!(" --buffers {}", device.device.buffers);
            if options.contains(&own) {
                options = options.replace(&own, &format!(" --buffers {buffers}"));
            } else if let Some(spec) = devices.iter_mut().find(|spec| is_of(spec, id)) {
                *spec = with_buffers(spec, buffers);
            } else {
                devices.push(with_buffers(id, buffers));
            }
        }
        let devices: String = devices.iter().map(|spec| format!(" --device {}", shell_word(spec))).collect();
        format!("punctual forecast{recordings}{devices}{options}")
    }

    /// A name for the longer recording under a load, which none of these recordings has.
    fn longer(&self, load: &str) -> String {
        longer_name(self.recordings, load)
    }

    /// How the user named a device; `None` where all were asked about.
    fn named(&self, device: &DeviceAnswer) -> Option<&'a String> {
        self.devices.iter().find(|spec| is_of(spec, &device.device.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_device::Catalogue;
    use punctual_forecast::{Input, Question, answer};

    #[test]
    fn what_is_to_be_measured_is_all_of_it_or_the_first_hour() {
        let said = [30.0, 60.5, 7_200.0, 7_200.5, 172_800.5].map(first_step);
        assert_eq!(said, ["1m", "2m", "120m", "1h", "1h"]);
    }

    /// Ten hours of office with so many stalls of 2 ms and more, then of nothing with half as many.
    fn steps(stalls: u64, advise: bool) -> Vec<String> {
        let device = Catalogue::shipped().parse_spec("audio 64@48kHz").unwrap().with_want(10 * 86_400);
        let question = Question { devices: vec![device], advise, ..Question::default() };
        let idle = Input { load: "none".to_owned(), ..input(stalls / 2, 0) };
        let found = answer(&[idle, input(stalls, 0)], &question).unwrap();
        let devices = ["audio 64@48kHz".to_owned()];
        let asked =
            ForecastAsked { devices: &devices, advises: advise, again: Some(" -p 95"), ..ForecastAsked::default() };
        let steps = after_forecast(&found, &asked, &["none", "office"]);
        steps.iter().map(|step| format!("{} {}", step.command, step.purpose)).collect()
    }

    #[test]
    fn where_it_fails_is_looked_into_and_what_would_do_is_measured() {
        // Under the load that delays it most often, whichever was recorded first.
        let delays = "sudo punctual record --why 1.2ms -p 95 --load office records what delays audio beyond its slack under office";
        let said = steps(3_000, true);
        assert_eq!((said.len(), said[0].as_str()), (2, delays), "{said:?}");
        assert!(
            said[1].starts_with("sudo punctual record -D ")
                && said[1].contains(" -p 95 --load office -o longer-office.punctual ")
                && said[1].contains(" buffers are enough for "),
            "{said:?}"
        );
        // Who has not asked how many buffers would do is told how to ask.
        let said = steps(3_000, false);
        assert_eq!((said.len(), said[0].as_str()), (2, delays), "{said:?}");
        assert!(
            said[1].starts_with("punctual forecast ") && said[1].ends_with("how many buffers would do"),
            "{said:?}"
        );
    }

    #[test]
    fn what_is_not_known_is_measured_for_an_hour_under_each_load() {
        let said = steps(0, false);
        assert_eq!(said.len(), 2, "{said:?}");
        for (load, name, apart) in [("", "idle", "3.3 h of use"), (" --load office", "office", "3.3 h of use")] {
            let expected = format!(
                "sudo punctual record -D 1h -p 95{load} -o longer-{name}.punctual measures the first hour of the "
            );
            let shows =
                format!("(if nothing runs dry in it, underruns are {apart} apart or more); then run `punctual ");
            let is_said = |step: &&String| step.starts_with(&expected) && step.contains(&shows);
            assert_eq!(said.iter().filter(is_said).count(), 1, "{load}: {said:?}");
        }
    }

    /// Recorded every millisecond: only a device of a shorter period has a finer one to match, if threads can be measured at it.
    #[test]
    fn a_device_for_which_a_recording_is_too_coarse_is_measured_at_its_own_period() {
        let text = include_str!("../../../cli/tests/golden/record.punctual/recording.json");
        let documents: [Document; 1] = [serde_json::from_str(text).unwrap()];
        for (spec, expected) in [
            ("5g-slot", "--why 250us -i 500us -a 1 "),
            ("audio 24@48kHz", "--why 450us -i 24@48kHz -a 1 "),
            ("audio 64@48kHz", "--why 1.2ms -i 5ms -a 1 "),
            ("sdr", "--why 360us -i 5ms -a 1 "),
        ] {
            let device = Catalogue::shipped().parse_spec(spec).unwrap();
            let question = Question { devices: vec![device], ..Question::default() };
            let found = answer(&[input(3_000, 0)], &question).unwrap();
            let devices = [spec.to_owned()];
            let asked = ForecastAsked {
                devices: &devices,
                documents: &documents,
                again: Some(" -i 5ms -a 1"),
                ..ForecastAsked::default()
            };
            let steps = after_forecast(&found, &asked, &["office"]);
            let command = &steps[0].command;
            assert!(command.starts_with(&format!("sudo punctual record {expected}")), "{spec}: {command}");
        }
    }

    #[test]
    fn all_recordings_together_are_asked_what_some_were() {
        let devices = ["audio 64@48kHz".to_owned(), "modem".to_owned()];
        let recordings = ["a b", "d/longer-mixed.punctual"].map(PathBuf::from);
        let asked = ForecastAsked {
            recordings: &recordings,
            devices: &devices,
            options: " --want 1/day",
            ..ForecastAsked::default()
        };
        assert_eq!(
            asked.question("c", None),
            "punctual forecast 'a b' d/longer-mixed.punctual c --device 'audio 64@48kHz' --device modem --want 1/day"
        );
        assert_eq!(ForecastAsked::default().question("c", None), "punctual forecast c");
        // A recording that is there is not written again.
        assert_eq!(
            ["none", "office", "mixed", "a/b.sh 7"].map(|load| asked.longer(load)),
            ["idle", "office", "mixed-2", "a-b-sh-7"].map(|name| format!("longer-{name}.punctual"))
        );
    }

    /// Ten hours with 3,000 stalls of 2 ms and more: ten buffers are what nothing exceeded.
    #[test]
    fn a_longer_recording_is_asked_about_the_buffers_that_were_advised() {
        for (spec, options, expected) in [
            ("audio 64@48kHz x3", " --want 1/week", "--device 'audio 64@48kHz x10' --want 1/week"),
            ("audio 64@48kHz", " --buffers 3 --want 1/week", "--device 'audio 64@48kHz' --buffers 10 --want 1/week"),
        ] {
            let device = Catalogue::shipped().parse_spec(spec).unwrap().with_buffers(3).with_want(10 * 86_400);
            let question = Question { devices: vec![device], advise: true, ..Question::default() };
            let found = answer(&[input(3_000, 0)], &question).unwrap();
            let devices = [spec.to_owned()];
            let asked = ForecastAsked {
                devices: &devices,
                options,
                advises: true,
                again: Some(""),
                ..ForecastAsked::default()
            };
            let steps = after_forecast(&found, &asked, &["office"]);
            let said = &steps.last().unwrap().purpose;
            assert!(said.contains("tell whether 10 buffers are enough for audio"), "{said}");
            let whole = format!("then run `punctual forecast longer-office.punctual {expected}`");
            assert!(said.ends_with(&whole), "{said}");
        }
        let said = ["x3 x4 10ms want=1/day", "sdr", "sdr buffers=8 1ms"].map(|spec| with_buffers(spec, 5));
        assert_eq!(said, ["x3 10ms want=1/day x5", "sdr x5", "sdr 1ms x5"]);
    }
}
