//! Of a check of devices: whether each holds on this machine.

use super::forecast::buffering;
use super::recording::{conditions, end_in_words, not_idle, of_threads, recording_verdict, rested, times, total, when};
use crate::Measurement;
use crate::forecast::so_much_more;
use crate::forecast::units::{expected_in_words, work_in_words};
use crate::layout::{load_name, spoken_duration};
use crate::recording::judged::{judged_devices, use_s};
use punctual_device::{Profile, Source};
use punctual_forecast::{DeviceAnswer, JudgedDevice, Outcome, format_seconds};
use punctual_recording::{Document, format_ns};

/// The verdict of a check of devices, one sentence each, after what has to be known first.
pub fn devices_verdict(measurement: &Measurement) -> String {
    devices_verdict_lines(measurement).join(" ")
}

/// The same, one of its sentences a line: a page lists them.
pub fn devices_verdict_lines(measurement: &Measurement) -> Vec<String> {
    let documents: Vec<&Document> = measurement.parts.iter().map(|(_, document)| document).collect();
    if documents.iter().all(|document| total(document).count() == 0) {
        return vec![recording_verdict(&documents)];
    }
    let devices = judged_devices(&measurement.devices);
    let mut sentences: Vec<String> = devices
        .iter()
        .map(|device| sentence(&named(device, &devices), device, &documents, &measurement.devices))
        .collect();
    let worst: Vec<String> = documents
        .iter()
        .filter_map(|document| Some(format!("{} late {}", format_ns(total(document).max()?), when(document))))
        .collect();
    sentences.push(format!("The worst wakeup{} ran {}.", of_threads(&documents), worst.join(" and ")));
    sentences.extend(documents.iter().filter_map(|document| drift(document, &measurement.devices)));
    sentences.extend(documents.iter().filter_map(|document| end_in_words(document)));
    if let Some(first) = sentences.first_mut() {
        first.insert_str(0, &conditions(&documents));
    }
    if let Some(last) = sentences.last_mut() {
        *last += &format!("{}{}", not_idle(&documents), rested(&documents));
    }
    sentences
}

/// How the machine drifted during a part, if that is no chance: what is said of its devices is of all of it.
fn drift(document: &Document, rows: &[JudgedDevice]) -> Option<String> {
    let mut own = rows.iter().filter(|row| row.load == load_name(document));
    let words = own.find_map(|row| row.answer.underruns.drift_in_words.as_ref())?;
    Some(format!("The machine drifts {}: stalls are {words}.", when(document)))
}

/// The name of a device: its profile, and what tells it from another one of the same profile.
fn named(device: &Profile, all: &[&Profile]) -> String {
    device.id_among(all.iter().copied())
}

/// What would have happened to one device in each part, on the CPU where most would have happened, and what that says
/// about it.
fn sentence(name: &str, device: &Profile, documents: &[&Document], rows: &[JudgedDevice]) -> String {
    let of = |document: &Document| {
        let load = load_name(document);
        let own = rows.iter().filter(|row| row.answer.device == *device && row.load == load);
        own.max_by_key(|row| row.ran_dry())
    };
    let parts: Vec<(&Document, &JudgedDevice)> =
        documents.iter().filter_map(|document| Some((*document, of(document)?))).collect();
    let is_late = |(_, row): &&(&Document, &JudgedDevice)| row.ran_dry() > 0;
    let late: Vec<String> = (parts.iter().filter(is_late))
        .map(|(document, row)| {
            let most = if row.answer.underruns.is_upper_count { "at most " } else { "" };
            let on = row.answer.underruns.where_worst();
            format!("{most}{}{on} in {} {}", times(row.ran_dry()), spoken_duration(document), when(document))
        })
        .collect();
    let Some((document, judged)) =
        parts.iter().min_by_key(|(_, row)| (rank(&row.answer), std::cmp::Reverse(row.ran_dry())))
    else {
        return format!("{name} could not be judged.");
    };
    let fails = if device.is_loop() { "begun too late" } else { "run dry" };
    let met = match &late[..] {
        [] => {
            let lengths: Vec<String> =
                parts.iter().map(|(document, _)| format!("{} {}", spoken_duration(document), when(document))).collect();
            format!("{name} would not have {fails} in {}", lengths.join(" and "))
        }
        late => format!("{name} would have {fails} {}", late.join(" and ")),
    };
    let work = work_in_words(device).map(|work| format!(", with {work}")).unwrap_or_default();
    let met = device.beginning(met);
    let answers: Vec<(&DeviceAnswer, &str)> =
        parts.iter().map(|(document, row)| (&row.answer, when(document))).collect();
    // Who gives a want asks what it takes, even if nothing ran dry.
    let is_asked = device.sources.want == Source::User;
    let is_short = !late.is_empty() || judged.answer.underruns.outcome == Outcome::Fails;
    let needed = buffering(&answers).filter(|_| is_asked || is_short);
    let needed = needed.map(|needed| format!(" {needed}")).unwrap_or_default();
    let of_use = of_use(document);
    let day = if of_use.is_empty() { "a day" } else { "a day of use" };
    let when = if parts.len() > 1 { format!(" {}", when(document)) } else { String::new() };
    let expected = expected_in_words(&judged.answer, use_s(document), [day, &when, &spoken_duration(document)]);
    let expected = expected.map(|expected| format!(" {expected}")).unwrap_or_default();
    format!("{met}{work}; {}.{expected}{needed}", outcome(&judged.answer, !late.is_empty(), &of_use))
}

/// What fails first decides.
fn rank(answer: &DeviceAnswer) -> u8 {
    match answer.underruns.outcome {
        Outcome::Fails => 0,
        Outcome::Unknown => 1,
        Outcome::HoldsAsRecorded => 2,
        Outcome::Holds => 3,
    }
}

/// What follows a target that is counted in hours of use: for how many an hour of the load stands, which is assumed.
fn of_use(document: &Document) -> String {
    let thousandths = document.provenance.load.compression_thousandths.filter(|thousandths| *thousandths != 1_000);
    thousandths.map_or_else(String::new, |hours| {
        format!(" of use, and an hour under {} stands for {}", load_name(document), crate::layout::thousandths(hours))
    })
}

fn outcome(answer: &DeviceAnswer, was_late: bool, of_use: &str) -> String {
    let found = &answer.underruns;
    let every = every(answer.device.want_s);
    let wanted = format!("(the target is at most one {} {every}{of_use})", event(&answer.device));
    match (found.outcome, found.measure_further_s) {
        (Outcome::Holds, _) => format!("it holds {wanted}"),
        (Outcome::HoldsAsRecorded, _) => format!("it holds while conditions stay as recorded {wanted}"),
        (Outcome::Fails, _) => format!("it fails {wanted}"),
        (Outcome::Unknown, Some(further)) => {
            let asked = if was_late { "how often it will" } else { "whether it holds" };
            format!("it is too early to say {asked} {wanted}: measure {}", so_much_more(found, further))
        }
        (Outcome::Unknown, None) => format!("whether it holds {wanted} cannot be told"),
    }
}

/// What a device's users count.
fn event(device: &Profile) -> &'static str {
    if device.is_loop() { "overrun" } else { "underrun" }
}

/// How often that may be.
fn every(want_s: u64) -> String {
    match want_s {
        3_600 => "an hour".to_owned(),
        86_400 => "a day".to_owned(),
        604_800 => "a week".to_owned(),
        other => format!("in {}", format_seconds(other as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_device::Catalogue;
    use punctual_forecast::{Question, answer};

    #[test]
    fn what_fails_is_told_from_what_nobody_can_tell() {
        let devices =
            ["audio 64@48kHz", "rt-video"].map(|spec| Catalogue::shipped().parse_spec(spec).unwrap()).to_vec();
        let said = |stalls: u64| {
            let question = Question { devices: devices.clone(), ..Question::default() };
            let found = answer(&[input(stalls, 0)], &question).unwrap();
            found.groups[0].devices.iter().map(|device| outcome(device, stalls > 0, "")).collect::<Vec<_>>()
        };
        let late = said(3_000);
        assert_eq!(late[0], "it fails (the target is at most one underrun an hour)");
        let quiet = said(0);
        assert!(quiet.iter().all(|words| !words.contains("fails")), "{quiet:?}");
    }

    /// 3,000 waits on the worst CPU, whatever number of wakeups they made late.
    #[test]
    fn a_device_runs_dry_as_often_as_its_forecast_counts() {
        let device = Catalogue::shipped().parse_spec("ros2-control").unwrap();
        let question = Question { devices: vec![device.clone()], ..Question::default() };
        let found = answer(&[input(3_000, 0)], &question).unwrap();
        let text = include_str!("../../../cli/tests/golden/check/loaded.punctual/recording.json");
        let document: Document = serde_json::from_str(text).unwrap();
        let row = JudgedDevice {
            load: "mixed".to_owned(),
            measure: "fifo:80".to_owned(),
            answer: found.groups[0].devices[0].clone(),
            late_wakeups: 5_000,
            late_wakeups_on_worst_cpu: 4_000,
        };
        let rows = [row];
        let said = sentence("ros2-control", &device, &[&document], &rows);
        assert!(said.contains("). Expect about ") && said.contains(" overruns a day (one cycle in "), "{said}");
        assert!(said.starts_with("ros2-control would have begun too late 3,000 times in "), "{said}");
        assert!(said.contains(" overrun an hour)"), "{said}");
        // A drift is said once, of the part that shows it.
        assert_eq!(drift(&document, &rows), None);
        let mut drifting = rows[0].clone();
        drifting.answer.underruns.drift_in_words = Some("twice as frequent at the end".to_owned());
        let expected = format!("The machine drifts {}: stalls are twice as frequent at the end.", when(&document));
        assert_eq!(drift(&document, &[rows[0].clone(), drifting.clone()]), Some(expected));
        drifting.load = "none".to_owned();
        assert_eq!(drift(&document, &[drifting]), None);
        // Where CPUs differ, it says which one that is of.
        let mut on_one = rows[0].clone();
        (on_one.answer.underruns.alike, on_one.answer.underruns.cpu) = (Some(false), Some(3));
        let said = sentence("ros2-control", &device, &[&document], &[on_one]);
        assert!(said.starts_with("ros2-control would have begun too late 3,000 times on CPU 3 in "), "{said}");
        // A target in hours of use says what an hour of the load stands for.
        let mut scaled = document.clone();
        scaled.provenance.load.compression_thousandths = Some(5_000);
        let said = sentence("ros2-control", &device, &[&scaled], &rows);
        assert!(said.contains(" overrun an hour of use, and an hour under mixed stands for 5)"), "{said}");
        assert!(said.contains(" overruns a day of use (one cycle in "), "{said}");
    }

    #[test]
    fn whoever_gives_a_want_is_told_how_many_buffers_it_takes() {
        let text = include_str!("../../../cli/tests/golden/check/loaded.punctual/recording.json");
        let document: Document = serde_json::from_str(text).unwrap();
        let said = |spec: &str, stalls: u64| {
            let device = Catalogue::shipped().parse_spec(spec).unwrap();
            let question = Question { devices: vec![device.clone()], advise: true, ..Question::default() };
            let found = answer(&[input(stalls, 0)], &question).unwrap();
            let row = JudgedDevice {
                load: "mixed".to_owned(),
                measure: "fifo:80".to_owned(),
                answer: found.groups[0].devices[0].clone(),
                late_wakeups: stalls,
                late_wakeups_on_worst_cpu: stalls,
            };
            sentence("audio", &device, &[&document], &[row])
        };
        let buffers = " buffers of 64 frames (";
        for (spec, stalls, is_told) in [
            ("audio 64@48kHz", 3_000, true),
            ("audio 64@48kHz want=1/year", 0, true),
            ("audio 64@48kHz", 0, false),
            ("ros2-control want=1/year", 3_000, false),
        ] {
            let said = said(spec, stalls);
            assert_eq!(said.contains(buffers), is_told, "{spec}, {stalls}: {said}");
        }
    }

    #[test]
    fn two_of_a_profile_are_told_apart() {
        let parse = |spec| Catalogue::shipped().parse_spec(spec).unwrap();
        let devices = [parse("audio 64@48kHz"), parse("audio 2ms x3"), parse("modem")];
        let all: Vec<&Profile> = devices.iter().collect();
        let names: Vec<String> = all.iter().map(|device| named(device, &all)).collect();
        assert_eq!(names, ["audio 64@48kHz x2", "audio 96@48kHz x3", "modem"]);
    }
}
