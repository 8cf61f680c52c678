//! What a device would have to be like, in words.

use super::interval::interval_text;
use super::units::{counted_units, in_frames};
use punctual_device::Profile;
use punctual_forecast::{Advice, DeviceAnswer, Group, MAX_BUFFERS, Variant, format_seconds};
use punctual_recording::format_ns;

/// What is left to change where a standard sets the period.
const FIXED: &str = "its standard says how long a slot lasts: what can change is its priority, what else its CPU runs, and how long its work takes";

/// What was asked.
pub(super) fn asked(group: &Group, answer: &DeviceAnswer) -> String {
    let fails = if answer.device.is_loop() { "be late" } else { "run dry" };
    let want = format_seconds(answer.device.want_s as f64) + group.of_use();
    format!("{}, to {fails} at most once in {want}", group.called(answer))
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
        // What the verdict on the device as it is says already, is not said again.
        let is_said = |further: &f64| {
            let own = answer.underruns.measure_further_s.map(format_seconds);
            own.is_some_and(|own| own == format_seconds(*further))
        };
        let further = advice.measure_further_s.filter(|further| !is_said(further));
        let further = further.map_or(String::new(), |further| format!(": measure {} more", format_seconds(further)));
        lines.push(format!("nothing exceeded {enough} shown to be enough{further}"));
    }
    if lines.is_empty() {
        lines.push(match is_loop {
            true if answer.device.has_fixed_period() => FIXED.to_owned(),
            true => "no cycle that was tried is enough".to_owned(),
            false => format!(
                "no buffering that was tried is enough, up to {MAX_BUFFERS} buffers of {}",
                period_words(&answer.device)
            ),
        });
    }
    lines
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
        let slot = Catalogue::shipped().parse_spec("5g-slot").unwrap();
        assert_eq!(said(slot, 10 * 86_400), FIXED);
        // It ran dry in these ten hours: only here it is said how long to measure.
        let audio = Catalogue::shipped().parse_spec("audio 64@48kHz").unwrap();
        let measured = said(audio, 10 * 86_400);
        assert!(measured.contains(" shown to be enough: measure "), "{measured}");
        let plain = said(Profile::of_loop(1_333_333), 10 * 86_400);
        assert!(plain.starts_with("nothing exceeded a period of 12.0 ms, but that is not "), "{plain}");
    }

    /// Nothing was late in ten hours that stand for a hundred, and a month is wanted: the row of the device says how long that takes.
    #[test]
    fn how_long_to_measure_is_said_once() {
        let devices = vec![Catalogue::shipped().parse_spec("audio 64@48kHz").unwrap().with_want(30 * 86_400)];
        let question = Question { devices, advise: true, ..Question::default() };
        let found = answer(&[input(0, 0)], &question).unwrap();
        let device = &found.groups[0].devices[0];
        let advice = device.advice.as_ref().unwrap();
        assert!(advice.measure_further_s.is_some() && device.underruns.measure_further_s.is_some(), "{advice:?}");
        let lines = advised(device, advice);
        assert!(lines.len() == 1 && lines[0].ends_with(" shown to be enough"), "{lines:?}");
    }
}
