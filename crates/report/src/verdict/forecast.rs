//! Of forecasts: how many buffers a device needs. What holds, what fails and what cannot be told yet is worded in
//! `forecast/src/answer/verdict.rs`.

use crate::forecast::units::{counted_units, playing_latency};
use punctual_device::Profile;
use punctual_forecast::{Advice, Answer, DeviceAnswer, Group, MAX_BUFFERS, Outcome, format_seconds, under_load};
use punctual_recording::format_ns;

/// A sentence names no more than these.
const MAX_NAMED: usize = 4;

/// How many buffers each device that fails needs, one sentence each, to stand before the verdict on those that it has;
/// nothing if that was not asked.
pub fn needed_buffers(answer: &Answer) -> String {
    let loads_differ = answer.groups.iter().any(|group| group.load != answer.groups[0].load);
    let failing = answer.groups.iter().flat_map(|group| group.devices.iter().map(move |device| (group, device)));
    let failing = failing.filter(|(_, device)| {
        device.underruns.outcome == Outcome::Fails && !device.device.is_loop() && !device.stage.holds_work()
    });
    let sentence = |(group, device): (&Group, &DeviceAnswer)| {
        let advice = device.advice.as_ref()?;
        let under = if loads_differ { format!(" {}", under_load(&group.load)) } else { String::new() };
        let (number, limit) = match (&advice.buffers, &advice.never_exceeded) {
            (Some(variant), _) => (variant.device.buffers.to_string(), String::new()),
            (None, Some(variant)) => (
                variant.device.buffers.to_string(),
                format!(", as far as {} can show", format_seconds(group.exposure_s)),
            ),
            (None, None) => (format!("more than {MAX_BUFFERS}"), String::new()),
        };
        let buffers = format!("{number} buffers of {}", in_its_unit(&device.device));
        // Hours of use are what the want counts, and not those of the recording.
        let want = match group.of_use() {
            "" => String::new(),
            of_use => format!(" to run dry at most once in {}{of_use}", format_seconds(device.device.want_s as f64)),
        };
        Some(device.device.beginning(format!("{} needs {buffers}{want}{under}{limit}. ", group.called(device))))
    };
    failing.filter_map(sentence).take(MAX_NAMED).collect()
}

/// How many buffers a device would have needed in all of these answers about it, each with the load under which it is, as a
/// sentence to follow its verdict: also as a longer period, and which load decides. `None` for one that has no buffers to
/// choose, or if that was not asked.
pub(crate) fn buffering(answers: &[(&DeviceAnswer, &str)]) -> Option<String> {
    let (first, _) = answers.first().filter(|(first, _)| !first.device.is_loop() && !first.stage.holds_work())?;
    let device = &first.device;
    let advice: Vec<(&Advice, &str)> =
        answers.iter().filter_map(|(answer, when)| Some((answer.advice.as_ref()?, *when))).collect();
    let found: Vec<(&Profile, &Advice, &str)> = (advice.iter())
        .filter_map(|(advice, when)| {
            let variant = advice.buffers.as_ref().or(advice.never_exceeded.as_ref())?;
            Some((&variant.device, *advice, *when))
        })
        .collect();
    if found.len() < advice.len() {
        return Some(format!(
            "Not even {MAX_BUFFERS} buffers of {} would have kept it from running dry.",
            in_its_unit(device)
        ));
    }
    let &(most, deciding, when) = found.iter().max_by_key(|(variant, ..)| variant.buffers)?;
    let is_alone = found.iter().all(|(variant, ..)| variant.buffers == most.buffers);
    let decided = if is_alone { String::new() } else { format!(", for the stalls {when}") };
    let heard = |device: &Profile| playing_latency(device).map_or_else(String::new, |latency| format!(", {latency}"));
    let buffers = format!(
        "{} buffers of {} ({} of buffering{}{decided})",
        most.buffers,
        in_its_unit(most),
        format_ns(most.tolerance_ns()),
        heard(most)
    );
    let are_shown = advice.iter().all(|(advice, _)| advice.buffers.is_some());
    let longer = if are_shown { &deciding.period } else { &deciding.longer_never_exceeded };
    let longer = longer.as_ref().map(|variant| &variant.device).filter(|longer| longer.period_ns > device.period_ns);
    let longer = longer.map(|longer| {
        let (period, lasts) = (in_its_unit(longer), format_ns(longer.tolerance_ns()));
        format!(" or {} of {period} ({lasts}{})", longer.buffers, heard(longer))
    });
    let buffers = buffers + &longer.unwrap_or_default();
    if are_shown {
        return Some(format!("It needs {buffers}."));
    }
    // A number from a short measurement reads as the answer: it is where to begin.
    let further_s = advice.iter().filter_map(|(advice, _)| advice.measure_further_s).max_by(f64::total_cmp);
    let sure = further_s.map_or_else(
        || "that these are enough takes longer to show".to_owned(),
        |further_s| format!("to be sure that these are enough, measure {} more", format_seconds(further_s)),
    );
    Some(format!("Begin with {buffers}, with which it would not have run dry here; {sure}."))
}

/// A period in the unit in which its users set it, or in time where they have none.
fn in_its_unit(device: &Profile) -> String {
    match (device.unit, device.rate_millihertz, device.in_units(device.period_ns)) {
        (Some(unit), Some(_), Some(units)) => counted_units(units, unit),
        _ => format_ns(device.period_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_device::Catalogue;
    use punctual_forecast::{Question, answer};

    #[test]
    fn how_many_buffers_stands_first_where_it_fails() {
        let said = |stalls: u64, spec: &str, want_s: u64, advise: bool| {
            let devices = vec![Catalogue::shipped().parse_spec(spec).unwrap().with_want(want_s)];
            let question = Question { devices, advise, ..Question::default() };
            needed_buffers(&answer(&[input(stalls, 0)], &question).unwrap())
        };
        // The longest stall of ten hours is 10.7 ms: a little longer than eight periods.
        let most = said(3_000, "audio 64@48kHz", 10 * 86_400, true);
        assert_eq!(
            most,
            "Audio needs 10 buffers of 64 frames to run dry at most once in 10.0 days of use, as far as 10.0 h can show. "
        );
        let enough = said(3_000, "audio 64@48kHz", 3_600, true);
        assert!(
            enough.starts_with("Audio needs ") && enough.ends_with(" of use. ") && !enough.contains(" show"),
            "{enough}"
        );
        let beyond = said(3_000, "modem 10us compute=1us", 3_600, true);
        assert!(
            beyond.starts_with("modem needs more than 256 buffers of 10.0 us to run dry at most once in "),
            "{beyond}"
        );
        let [quiet, unasked, slot] =
            [(0, "audio 64@48kHz", true), (3_000, "audio 64@48kHz", false), (3_000, "5g-slot", true)]
                .map(|(stalls, spec, advise)| said(stalls, spec, 10 * 86_400, advise));
        assert_eq!([quiet, unasked, slot], ["", "", ""]);
    }

    #[test]
    fn the_buffers_that_a_device_would_have_needed_are_those_of_its_worst_part() {
        let judged = |stalls: u64, spec: &str, want_s: u64, advise: bool| {
            let devices = vec![Catalogue::shipped().parse_spec(spec).unwrap().with_want(want_s)];
            let question = Question { devices, advise, ..Question::default() };
            answer(&[input(stalls, 0)], &question).unwrap().groups.remove(0).devices.remove(0)
        };
        let said = |answers: &[DeviceAnswer]| {
            let parts: Vec<(&DeviceAnswer, &str)> = answers.iter().zip(["with no load added", "under load"]).collect();
            buffering(&parts).unwrap_or_default()
        };
        let late = judged(3_000, "audio 64@48kHz", 10 * 86_400, true);
        let quiet = judged(0, "audio 64@48kHz", 10 * 86_400, true);
        let alone = said(std::slice::from_ref(&late));
        assert!(
            alone.starts_with("Begin with 10 buffers of 64 frames (12.0 ms of buffering, 13.3 ms of playing latency) or 2 of 1,024 frames ("),
            "{alone}"
        );
        let all = said(&[quiet, late]);
        let begins = "Begin with 10 buffers of 64 frames (12.0 ms of buffering, 13.3 ms of playing latency, for the stalls \
                      under load) or 2 of 1,024 frames (21.3 ms, 42.7 ms of playing latency), with which it would not have run dry here; to be sure that these are enough, measure ";
        assert!(all.starts_with(begins) && all.ends_with(" more."), "{all}");
        let enough = said(&[judged(3_000, "audio 64@48kHz", 3_600, true)]);
        assert!(enough.starts_with("It needs ") && enough.ends_with(")."), "{enough}");
        // 256 buffers of 10 us last less long than the longest stall.
        let short = said(&[judged(3_000, "modem 10us compute=1us", 3_600, true)]);
        assert_eq!(short, "Not even 256 buffers of 10.0 us would have kept it from running dry.");
        for (spec, advise) in [("5g-slot", true), ("audio 64@48kHz", false)] {
            assert_eq!(said(&[judged(3_000, spec, 3_600, advise)]), "", "{spec}");
        }
    }
}
