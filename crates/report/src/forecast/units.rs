//! What lateness and underruns mean to whoever has the device: frames and dropouts for audio, cycles and overruns for a
//! control loop, samples and slots for radio.

use crate::layout::{counted, grouped};
use punctual_device::{OnMiss, Profile, Source, Unit};
use punctual_forecast::{DeviceAnswer, Estimate, Group, Outcome, format_seconds};
use punctual_recording::format_ns;

const DAY_S: f64 = 86_400.0;

/// How often a device runs dry in a day of use: 24 hours of use, not what a person does in a day.
pub(crate) fn per_day(answer: &DeviceAnswer) -> Estimate {
    let mttf = &answer.underruns.mttf_s;
    let often = |seconds: Option<f64>| seconds.filter(|seconds| *seconds > 0.0).map(|seconds| DAY_S / seconds);
    Estimate { low: often(mttf.high), value: often(mttf.value), high: often(mttf.low) }
}

/// The head of a column of wants: whether all of them are assumed.
pub(super) fn want_head(answers: &[DeviceAnswer]) -> &'static str {
    if all_wants_are_assumed(answers) { "want (assumed)" } else { "want" }
}

/// What a device's users want, for such a column.
pub(super) fn want_words(answer: &DeviceAnswer, answers: &[DeviceAnswer]) -> String {
    let assumed = answer.device.want_is_assumed() && !all_wants_are_assumed(answers);
    format_seconds(answer.device.want_s as f64) + if assumed { " (assumed)" } else { "" }
}

fn all_wants_are_assumed(answers: &[DeviceAnswer]) -> bool {
    answers.iter().all(|answer| answer.device.want_is_assumed())
}

/// How late the device's work may begin and the worst work began, in what its users count in; `None` where that is time.
pub(super) fn slack_in_units(group: &Group, answer: &DeviceAnswer) -> Option<String> {
    let device = &answer.device;
    let unit = device.unit?;
    let plural = |units: f64| counted_units(units, unit);
    let at = device.rate_millihertz.map(|rate| format!(" of {}", rate_words(rate))).unwrap_or_default();
    let has = if device.is_loop() {
        // Two buffers leave none to spare: nobody calls that buffering.
        String::new()
    } else {
        format!("{} buffers of {}{at}; ", device.buffers, plural(device.in_units(device.period_ns)?))
    };
    let slack = plural(device.in_units(device.usable_slack_ns().ok()?)?);
    let longest = group.worst.iter().find(|worst| worst.stage == answer.stage).and_then(|worst| worst.longest_ns);
    let worst = longest.and_then(|longest| device.in_units(longest));
    if answer.stage.holds_work() {
        let row = group.cycles.zip(longest).and_then(|(cycles, longest_ns)| cycles.row_of_in_words(longest_ns));
        let worst = match (longest, row) {
            (Some(longest), Some(row)) => {
                format!("; the longest stretch without waiting: {}, {row}", format_ns(longest))
            }
            _ => worst.map(|worst| format!("; the longest took as long as {}", plural(worst))).unwrap_or_default(),
        };
        let frames = in_frames(device, device.period_ns).map(|frames| format!(" ({frames}{at})"));
        return Some(format!(
            "{}: from when it was due a cycle may take {}{}{worst}",
            group.called(answer),
            format_ns(device.period_ns),
            frames.unwrap_or_default()
        ));
    }
    let worst = worst.map(|worst| format!("; the worst wakeup came {} late", plural(worst))).unwrap_or_default();
    Some(format!("{}: {has}its work may begin {slack} late{worst}", group.called(answer)))
}

/// How long a device is taken to work on each buffer, and whether somebody said so; `None` for one that does not work.
pub(crate) fn work_in_words(device: &Profile) -> Option<String> {
    if device.compute_ns == 0 {
        return None;
    }
    let percent = device.compute_ns as f64 * 100.0 / device.period_ns.max(1) as f64;
    let percent = if percent < 9.5 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    let assumed = if matches!(device.sources.compute, Source::Assumption(_)) { ", assumed" } else { "" };
    Some(format!("{} ({} %{assumed}) of work each", format_ns(device.compute_ns), percent.trim_end_matches(".0")))
}

/// A time in frames, for a loop whose period was written in frames.
pub(super) fn in_frames(device: &Profile, nanoseconds: u64) -> Option<String> {
    let frames = device.at_its_rate(nanoseconds).filter(|_| device.unit == Some(Unit::Cycle))?;
    Some(counted_units(frames, Unit::Frame))
}

/// A number of units: whole ones if there are many.
pub(super) fn counted_units(units: f64, unit: Unit) -> String {
    if units >= 9.95 {
        return counted(units.round() as u64, unit.name());
    }
    let units = format!("{units:.2}");
    let short = units.trim_end_matches('0').trim_end_matches('.');
    format!("{short} {}{}", unit.name(), if short == "1" { "" } else { "s" })
}

fn rate_words(millihertz: u64) -> String {
    let (number, unit) = match millihertz {
        rate if rate >= 1_000_000_000 => (rate as f64 / 1e9, "MHz"),
        rate if rate >= 1_000_000 => (rate as f64 / 1e6, "kHz"),
        rate => (rate as f64 / 1e3, "Hz"),
    };
    format!("{number} {unit}")
}

/// For a device that fails: how often a day, and what each time costs its user.
pub(super) fn in_units(group: &Group, answer: &DeviceAnswer) -> Option<String> {
    if answer.underruns.outcome != Outcome::Fails {
        return None;
    }
    let day = per_day(answer);
    let about = about(&day, answer.device.period_ns)?;
    let share = answer.underruns.mttf_s.value.and_then(|seconds| one_of(&answer.device, seconds)).unwrap_or_default();
    let day = if group.compression == 1.0 { "a day" } else { "a day of use" };
    Some(format!("{}: {about} {}", group.called(answer), each_time(&answer.device, day, &share)))
}

/// An interval that reaches as far as this share of all periods has no upper limit that would tell anything.
const ALL: f64 = 0.95;

/// How often a day something happens that can happen once in a period, ns; `None` if not even a lower limit is known.
fn about(day: &Estimate, period_ns: u64) -> Option<String> {
    let most = DAY_S * 1e9 / period_ns.max(1) as f64;
    let high = day.high.filter(|high| *high < ALL * most);
    let low = often(day.low?);
    Some(match (day.value, high) {
        (Some(value), Some(high)) => format!("about {} ({low} to {})", often(value), often(high)),
        (Some(value), None) if day.high.is_some() => {
            format!("about {} (at least {low}; no upper limit can be told)", often(value))
        }
        _ => format!("at least {low}"),
    })
}

/// How many slots or cycles there are for each one that is lost, to follow what they are called.
fn one_of(device: &Profile, seconds: f64) -> Option<String> {
    let unit = device.unit.filter(|_| device.is_loop())?;
    let units = device.in_units((seconds * 1e9) as u64)?;
    Some(format!(", one {} in {}", unit.name(), grouped(units.round().max(1.0) as u64)))
}

/// The name of such events in a day, with their share where that is known, and the effect of each: one wait may cost
/// several buffers, and counts once.
fn each_time(device: &Profile, day: &str, share: &str) -> String {
    let period = format_ns(device.period_ns);
    // Two buffers leave none to spare: one period's work must be done before the next begins.
    let is_loop = device.buffers == 2;
    match device.on_miss {
        OnMiss::DummyBuffer => format!("dropouts {day}{share}, each at least {period} of silence or stuffing"),
        OnMiss::Drop if is_loop => format!("overruns {day}{share}, each leaving at least {period} without a result"),
        OnMiss::Drop => format!("losses {day}{share}, each the data of {period} or more"),
        OnMiss::Slip => format!("slips {day}{share}, each moves all that follows by {period} or more"),
        OnMiss::Fault => {
            format!("faults {day}{share}: after a cycle of {period} that ends too late it must be started again")
        }
        OnMiss::Retrain => format!("lost connections {day}{share}, each some seconds until it is back"),
    }
}

/// Such a count deserves two digits.
fn often(times: f64) -> String {
    match times {
        times if times >= 100.0 => {
            let unit = 10_u64.pow((times.log10() as u32).saturating_sub(1));
            grouped((times / unit as f64).round() as u64 * unit)
        }
        times if times >= 10.0 => format!("{times:.0}"),
        times if times < 0.1 => format!("{times:.2}"),
        times => format!("{times:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_device::Catalogue;

    #[test]
    fn units_have_as_many_digits_as_tell_anything() {
        let said = |units| counted_units(units, Unit::Frame);
        assert_eq!(
            [0.5, 1.0, 9.94, 9.96, 230.4, 11_336.2].map(said),
            ["0.5 frames", "1 frame", "9.94 frames", "10 frames", "230 frames", "11,336 frames"]
        );
        assert_eq!([48_000_000, 30_720_000_000, 60_000].map(rate_words), ["48 kHz", "30.72 MHz", "60 Hz"]);
    }

    #[test]
    fn what_is_assumed_of_the_work_is_said() {
        let audio = Catalogue::shipped().parse_spec("audio 64@48kHz").unwrap();
        let said = |written: &str| work_in_words(&audio.with_written_compute(written).unwrap());
        assert_eq!(work_in_words(&audio).as_deref(), Some("133 us (10 %, assumed) of work each"));
        assert_eq!(said("50%").as_deref(), Some("667 us (50 %) of work each"));
        assert_eq!(said("12us").as_deref(), Some("12.0 us (0.9 %) of work each"));
        assert_eq!(said("0%"), None);
    }

    #[test]
    fn an_interval_up_to_every_cycle_has_no_upper_limit() {
        let said = |value, high, period_ns| about(&Estimate { low: Some(3_100.0), value, high }, period_ns);
        let [every, most] = [86_400_000.0, 40_000_000.0].map(Some);
        assert_eq!(said(Some(9_000.0), most, 1_000_000).as_deref(), Some("about 9,000 (3,100 to 40,000,000)"));
        assert_eq!(
            said(Some(9_000.0), every, 1_000_000).as_deref(),
            Some("about 9,000 (at least 3,100; no upper limit can be told)")
        );
        // Of a shorter period it is some.
        assert_eq!(said(Some(9_000.0), every, 100_000).as_deref(), Some("about 9,000 (3,100 to 86,000,000)"));
        assert_eq!(said(None, every, 1_000_000).as_deref(), Some("at least 3,100"));
        assert_eq!(said(Some(9_000.0), None, 1_000_000).as_deref(), Some("at least 3,100"));
        assert_eq!(about(&Estimate { low: None, value: Some(1.0), high: None }, 1_000_000), None);
    }

    #[test]
    fn each_device_has_the_words_of_its_users() {
        let catalogue = Catalogue::shipped();
        let said = |id: &str| each_time(catalogue.find(id).unwrap(), "a day", "");
        assert_eq!(said("ros2-control"), "overruns a day, each leaving at least 1.00 ms without a result");
        let control = catalogue.find("ros2-control").unwrap();
        let share = one_of(control, 0.909).unwrap();
        assert_eq!(
            each_time(control, "a day of use", &share),
            "overruns a day of use, one cycle in 909, each leaving at least 1.00 ms without a result"
        );
        assert_eq!(said("audio64"), "dropouts a day, each at least 1.33 ms of silence or stuffing");
        assert_eq!(said("5g-slot"), "overruns a day, each leaving at least 500 us without a result");
        assert!(said("ethercat1ms").starts_with("faults a day") && said("v90").contains("lost connections"));
        assert_eq!([0.04, 9.96, 10.0, 123.0, 12_345.6].map(often), ["0.04", "10.0", "10", "120", "12,000"]);
    }
}
