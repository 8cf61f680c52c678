//! What a device would have to be like, in words.

use super::interval::interval_text;
use super::units::{counted_units, in_frames};
use punctual_device::Profile;
use punctual_forecast::{
    Advice, Answer, DeviceAnswer, Group, MAX_BUFFERS, Outcome, Variant, format_seconds, under_load,
};
use punctual_recording::format_ns;

/// What was asked.
pub(super) fn asked(group: &Group, answer: &DeviceAnswer) -> String {
    let fails = if answer.device.is_loop() { "be late" } else { "run dry" };
    format!("{}, to {fails} at most once in {}", group.called(answer), format_seconds(answer.device.want_s as f64))
}

/// What would be enough, or what nothing exceeded, one sentence each.
pub(super) fn advised(answer: &DeviceAnswer, advice: &Advice) -> Vec<String> {
    let is_loop = answer.device.is_loop();
    // Users who count in frames can set them by doubling, and no number in between.
    let by_doubling = in_frames(&answer.device, answer.device.period_ns).is_some() && advice.period.is_some();
    let mut lines = Vec::new();
    if let Some(variant) = advice.buffers.as_ref().filter(|_| !by_doubling) {
        let mttf = interval_text(&variant.underruns.mttf_s);
        lines.push(match is_loop {
            true => format!("{}: {mttf}", longer_cycle(&variant.device)),
            false => format!(
                "{}, {} in all: {mttf}",
                buffers_words(&variant.device),
                format_ns(variant.device.tolerance_ns())
            ),
        });
    }
    // A loop has the two buffers that it needs and no others: its longer period is already in the sentence.
    if let Some(variant) = advice.period.as_ref().filter(|_| !is_loop || lines.is_empty()) {
        let mttf = interval_text(&variant.underruns.mttf_s);
        lines.push(match is_loop {
            true => format!("{}: {mttf}", cycle_of(&variant.device, variant.device.period_ns)),
            false => {
                format!(
                    "or a period of {} with {} buffers: {mttf}",
                    period_words(&variant.device),
                    variant.device.buffers
                )
            }
        });
    }
    if let Some(variant) = &advice.never_exceeded {
        let enough = not_exceeded(&variant.device, advice.longer_never_exceeded.as_ref());
        let further = advice.measure_further_s;
        let further = further.map_or(String::new(), |further| format!(": measure {} more", format_seconds(further)));
        lines.push(format!("nothing exceeded {enough} shown to be enough{further}"));
    }
    if lines.is_empty() {
        lines.push(match is_loop {
            true => "no cycle that was tried is enough".to_owned(),
            false => format!(
                "no buffering that was tried is enough, up to {MAX_BUFFERS} buffers of {}",
                period_words(&answer.device)
            ),
        });
    }
    lines
}

/// A sentence names no more than these.
const MAX_NAMED: usize = 4;

/// How many buffers each device that fails needs, one sentence each, to stand before the verdict on those that it has;
/// nothing if that was not asked.
pub fn needed(answer: &Answer) -> String {
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
        let want = match group.compression == 1.0 {
            true => String::new(),
            false => format!(" to run dry at most once in {} of use", format_seconds(device.device.want_s as f64)),
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
    let buffers = format!(
        "{} buffers of {} ({} of buffering{decided})",
        most.buffers,
        in_its_unit(most),
        format_ns(most.tolerance_ns())
    );
    let are_shown = advice.iter().all(|(advice, _)| advice.buffers.is_some());
    let longer = if are_shown { &deciding.period } else { &deciding.longer_never_exceeded };
    let longer = longer.as_ref().map(|variant| &variant.device).filter(|longer| longer.period_ns > device.period_ns);
    let longer = longer.map(|longer| {
        let (period, lasts) = (in_its_unit(longer), format_ns(longer.tolerance_ns()));
        format!(" or {} of {period} ({lasts})", longer.buffers)
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

/// This many buffers, and the longer period beside them: many drivers have only a few buffers, but long ones.
fn not_exceeded(device: &Profile, longer: Option<&Variant>) -> String {
    match longer {
        Some(Variant { device: longer, .. }) if in_frames(device, device.period_ns).is_some() => {
            format!("{}, but that is not", cycle_of(longer, longer.period_ns))
        }
        _ if device.is_loop() => format!("{}, but that is not", longer_cycle(device)),
        None => format!("{}, but that is not", buffers_words(device)),
        Some(Variant { device: longer, .. }) => format!(
            "{}, nor a period of {} with {} buffers, but neither is",
            buffers_words(device),
            period_words(longer),
            longer.buffers
        ),
    }
}

/// What this many buffers mean to a loop, which has none to spare: a period as long as they last, for the same work.
fn longer_cycle(variant: &Profile) -> String {
    cycle_of(variant, variant.tolerance_ns())
}

fn cycle_of(device: &Profile, period_ns: u64) -> String {
    let frames = in_frames(device, period_ns).map(|frames| format!(" ({frames})"));
    format!("a period of {}{}", format_ns(period_ns), frames.unwrap_or_default())
}

fn buffers_words(variant: &Profile) -> String {
    format!("{} buffers of {}", variant.buffers, period_words(variant))
}

/// A period, in time and in the unit in which its users set it.
fn period_words(device: &Profile) -> String {
    let time = format_ns(device.period_ns);
    match (device.unit, device.rate_millihertz, device.in_units(device.period_ns)) {
        (Some(unit), Some(_), Some(units)) => format!("{time} ({})", counted_units(units, unit)),
        _ => time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_device::Catalogue;
    use punctual_forecast::{Question, Stage, answer};

    #[test]
    fn how_many_buffers_stands_first_where_it_fails() {
        let said = |stalls: u64, spec: &str, want_s: u64, advise: bool| {
            let devices = vec![Catalogue::shipped().parse_spec(spec).unwrap().with_want(want_s)];
            let question = Question { devices, advise, ..Question::default() };
            needed(&answer(&[input(stalls, 0)], &question).unwrap())
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
            alone.starts_with("Begin with 10 buffers of 64 frames (12.0 ms of buffering) or 2 of 1,024 frames ("),
            "{alone}"
        );
        let all = said(&[quiet, late]);
        let begins = "Begin with 10 buffers of 64 frames (12.0 ms of buffering, for the stalls under load) or 2 of 1,024 \
                      frames (21.3 ms), with which it would not have run dry here; to be sure that these are enough, measure ";
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

    #[test]
    fn a_player_is_advised_on_frames_by_doubling() {
        let mut input = input(3_000, 0);
        let total = input.stages[&Stage::Total].clone();
        input.stages.insert(Stage::Response, total);
        let said = |device: Profile, want_s: u64| {
            let (devices, device_stage) = (vec![device.with_want(want_s)], Stage::Response);
            let question = Question { devices, device_stage, advise: true, ..Question::default() };
            let found = answer(std::slice::from_ref(&input), &question).unwrap();
            let device = &found.groups[0].devices[0];
            advised(device, device.advice.as_ref().unwrap()).join("; ")
        };
        // The longest took 10.7 ms, and 512 frames are a little shorter than that.
        let player = Profile::of_loop(1_333_333).with_written_period("64@48kHz").unwrap();
        let short = said(player.clone(), 10 * 86_400);
        assert!(short.starts_with("nothing exceeded a period of 21.3 ms (1,024 frames), but that is not "), "{short}");
        let enough = said(player, 3_600);
        assert!(enough.starts_with("a period of ") && enough.contains(" frames): "), "{enough}");
        let plain = said(Profile::of_loop(1_333_333), 10 * 86_400);
        assert!(plain.starts_with("nothing exceeded a period of 12.0 ms, but that is not "), "{plain}");
    }
}
