//! What lateness and underruns mean to whoever has the device: frames and dropouts for audio, cycles and overruns for a
//! control loop, samples and slots for radio.

use crate::layout::{counted, grouped, percent};
use punctual_device::{OnMiss, Profile, Source, Unit};
use punctual_forecast::{DeviceAnswer, Estimate, Group, Outcome, are_too_wide, format_seconds, may_be_too_many};
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
        let latency = playing_latency(device).map_or_else(String::new, |latency| format!(", {latency}"));
        format!("{} buffers of {}{at}{latency}; ", device.buffers, plural(device.in_units(device.period_ns)?))
    };
    let slack = plural(device.in_units(device.usable_slack_ns().ok()?)?);
    let longest = longest_ns(group, answer);
    let worst = longest.and_then(|longest| device.in_units(longest));
    if answer.stage.holds_work() {
        let row = group
            .cycles
            .zip(longest)
            .and_then(|(cycles, longest_ns)| Some((cycles.without_waiting(), cycles.row_of_in_words(longest_ns)?)));
        let worst = match (longest, row) {
            (Some(longest), Some((waiting, row))) => {
                format!("; the longest stretch {waiting}: {}, {row}", format_ns(longest))
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

/// The longest of what a device is judged by, on all CPUs, ns.
fn longest_ns(group: &Group, answer: &DeviceAnswer) -> Option<u64> {
    group.worst.iter().find(|worst| worst.stage == answer.stage)?.longest_ns
}

/// How long it takes until what a program computes is heard, which is a period more than is buffered; `None` for a device that
/// plays nothing.
pub(crate) fn playing_latency(device: &Profile) -> Option<String> {
    Some(format!("{} of playing latency", format_ns(device.playing_latency_ns()?)))
}

/// How long a device is taken to work on each buffer, and whether somebody said so; `None` for one that does not work.
pub(crate) fn work_in_words(device: &Profile) -> Option<String> {
    if device.compute_ns == 0 {
        return None;
    }
    let percent = percent(device.compute_ns, device.period_ns);
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
pub(crate) fn counted_units(units: f64, unit: Unit) -> String {
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
    let share = answer.underruns.mttf_s.value.and_then(|seconds| one_of(&answer.device, seconds));
    let share = share.map_or_else(String::new, |share| format!(", {share}"));
    let day = format!("a day{}", group.of_use());
    let each_time = each_time(&answer.device, &day, &share);
    let worst = worst_cost(group, answer)
        .map_or_else(String::new, |cost| format!("; the worst wakeup would have cost at least {cost}"));
    Some(format!("{}: {about} {each_time}{worst}", group.called(answer)))
}

/// What the worst wakeup costs a device that goes on after it, where that is several buffers: those that it does not begin in time,
/// even if it leaves out what is too late already. `None` for other programs' loops, whose cycles are counted one by one.
fn worst_cost(group: &Group, answer: &DeviceAnswer) -> Option<String> {
    let device = &answer.device;
    let goes_on = matches!(device.on_miss, OnMiss::DummyBuffer | OnMiss::Drop);
    let longest_ns = longest_ns(group, answer).filter(|_| goes_on && !answer.stage.holds_work())?;
    let beyond_ns = longest_ns.saturating_sub(device.usable_slack_ns().ok()?);
    let buffers = beyond_ns.div_ceil(device.period_ns.max(1));
    let of_loop = device.unit.filter(|_| device.is_loop());
    (buffers > 1).then(|| counted(buffers, of_loop.map_or("buffer", Unit::name)))
}

/// An interval that reaches beyond this share of all periods has no upper limit that would tell anything.
const MAX_SHARE: f64 = 0.5;

/// How often a day something happens that can happen once in a period, ns; `None` if not even a lower limit is known.
fn about(day: &Estimate, period_ns: u64) -> Option<String> {
    let high = upper_limit(day, period_ns);
    let low = often(day.low?);
    Some(match (day.value, high) {
        (Some(value), Some(high)) => match magnitudes(day.low?, high) {
            Some(magnitudes) => format!("about {} ({magnitudes})", often(value)),
            None => format!("about {} ({low} to {})", often(value), often(high)),
        },
        (Some(value), None) if day.high.is_some() => {
            format!("about {} (at least {low}; no upper limit can be told)", often(value))
        }
        _ => format!("at least {low}"),
    })
}

/// The orders of magnitude between which limits lie that are too far apart for digits to tell anything; `None` for others.
fn magnitudes(low: f64, high: f64) -> Option<String> {
    const NAMES: [&str; 9] = [
        "tens",
        "hundreds",
        "thousands",
        "tens of thousands",
        "hundreds of thousands",
        "millions",
        "tens of millions",
        "hundreds of millions",
        "billions",
    ];
    let name = |times: f64| NAMES[(times.log10() as usize).clamp(1, NAMES.len()) - 1];
    (low >= 10.0 && are_too_wide(low, high)).then(|| format!("{} to {}", name(low), name(high)))
}

/// The upper limit of how often a day something happens that can happen once in a period, ns, if it tells anything.
fn upper_limit(day: &Estimate, period_ns: u64) -> Option<f64> {
    let most = DAY_S * 1e9 / period_ns.max(1) as f64;
    day.high.filter(|high| *high <= MAX_SHARE * most)
}

/// How often a device is to be expected to run dry in a day of use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Expected {
    /// About so often; `None` if it was not seen to, or more was counted than there is.
    pub(crate) about: Option<f64>,
    /// So often at most.
    pub(crate) at_most: f64,
}

/// How often a device is to be expected to run dry, as far as a recording of so much use, s, limits that: `None` where the forecast has
/// no upper limit that tells anything, be it that it is more than half of all periods, that far more may have come unseen than independent
/// events would, or that the limits are too far apart.
pub(crate) fn expected(answer: &DeviceAnswer, use_s: f64) -> Option<Expected> {
    let day = per_day(answer);
    let at_most = upper_limit(&day, answer.device.period_ns)?;
    let says_nothing = match (day.value, day.low) {
        (None, _) => may_be_too_many(at_most * use_s / DAY_S),
        (Some(_), low) => low.is_some_and(|low| are_too_wide(low, at_most)),
    };
    let about = day.value.filter(|_| !answer.underruns.is_upper_count);
    (!says_nothing).then_some(Expected { about, at_most })
}

/// The same as a sentence, in what the device's users call it; `day` is a day, or one of use, and `when` under what load, if that has to
/// be said. What is not decided is said to be as far as a recording of this length, in words, can show.
pub(crate) fn expected_in_words(answer: &DeviceAnswer, use_s: f64, [day, when, length]: [&str; 3]) -> Option<String> {
    let Expected { about, at_most } = expected(answer, use_s)?;
    let device = &answer.device;
    let [one, several] = called(device);
    let between_s = DAY_S / at_most;
    let limit = if at_most < 1.0 {
        format!("at most one {one} in {}", format_seconds(between_s))
    } else {
        let about = about.map_or_else(String::new, |about| format!("about {} and ", often(about)));
        let share = one_of(device, between_s).map_or_else(String::new, |share| format!(" ({share})"));
        format!("{about}at most {} {several} {day}{share}", often(at_most))
    };
    let is_open = answer.underruns.outcome == Outcome::Unknown;
    let shown = if is_open { format!(", as far as {length} can show") } else { String::new() };
    Some(format!("Expect {limit}{when}{shown}."))
}

/// How many slots or cycles there are for each one that is lost.
fn one_of(device: &Profile, seconds: f64) -> Option<String> {
    let unit = device.unit.filter(|_| device.is_loop())?;
    let units = device.in_units((seconds * 1e9) as u64)?;
    Some(format!("one {} in {}", unit.name(), grouped(units.round().max(1.0) as u64)))
}

/// The name of such events in a day, with their share where that is known, and the effect of each: one wait may cost
/// several buffers, and counts once.
fn each_time(device: &Profile, day: &str, share: &str) -> String {
    let period = format_ns(device.period_ns);
    let effect = match device.on_miss {
        OnMiss::DummyBuffer => format!(", each at least {period} of silence or stuffing"),
        OnMiss::Drop if has_none_to_spare(device) => format!(", each leaving at least {period} without a result"),
        OnMiss::Drop => format!(", each the data of {period} or more"),
        OnMiss::Slip => format!(", each moves all that follows by {period} or more"),
        OnMiss::Fault => format!(": after a cycle of {period} that ends too late it must be started again"),
        OnMiss::Retrain => ", each some seconds until it is back".to_owned(),
    };
    let [_, several] = called(device);
    format!("{several} {day}{share}{effect}")
}

/// What its users call it if a device runs dry: once, and several times.
pub(crate) fn called(device: &Profile) -> [&'static str; 2] {
    match device.on_miss {
        OnMiss::DummyBuffer => ["dropout", "dropouts"],
        OnMiss::Drop if has_none_to_spare(device) => ["overrun", "overruns"],
        OnMiss::Drop => ["loss", "losses"],
        OnMiss::Slip => ["slip", "slips"],
        OnMiss::Fault => ["fault", "faults"],
        OnMiss::Retrain => ["lost connection", "lost connections"],
    }
}

/// Two buffers leave none to spare: one period's work must be done before the next begins.
fn has_none_to_spare(device: &Profile) -> bool {
    device.buffers == 2
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
    use crate::forecast::tests_support::input;
    use punctual_device::Catalogue;
    use punctual_forecast::{Question, answer};

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
    fn a_player_is_heard_after_all_its_buffers() {
        let said = |spec: &str| playing_latency(&Catalogue::shipped().parse_spec(spec).unwrap());
        assert_eq!(said("audio 1024@48kHz x3").as_deref(), Some("64.0 ms of playing latency"));
        assert_eq!(said("audio 64@48kHz").as_deref(), Some("2.67 ms of playing latency"));
        assert_eq!(["modem", "ros2-control", "5g-slot", "sdr"].map(said), [None, None, None, None]);
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
        // Limits that are a thousandfold apart have no digits to be read.
        assert_eq!(said(Some(9_000.0), Some(3.1e6), 1_000_000).as_deref(), Some("about 9,000 (3,100 to 3,100,000)"));
        assert_eq!(
            said(Some(9_000.0), most, 1_000_000).as_deref(),
            Some("about 9,000 (thousands to tens of millions)")
        );
        // Beyond half of all periods.
        assert_eq!(
            said(Some(9_000.0), Some(43_300_000.0), 1_000_000).as_deref(),
            Some("about 9,000 (at least 3,100; no upper limit can be told)")
        );
        assert_eq!(
            said(Some(9_000.0), every, 1_000_000).as_deref(),
            Some("about 9,000 (at least 3,100; no upper limit can be told)")
        );
        // Of a shorter period it is some.
        assert_eq!(said(Some(9_000.0), every, 100_000).as_deref(), Some("about 9,000 (thousands to tens of millions)"));
        let named = [(2.0, 1e6), (10.0, 9_999.0), (99.0, 1e5), (1_234.0, 1.8e7), (1e8, 1e12)]
            .map(|(low, high)| magnitudes(low, high));
        let named: Vec<&str> = named.iter().map(|named| named.as_deref().unwrap_or("-")).collect();
        assert_eq!(
            named,
            [
                "-",
                "-",
                "tens to hundreds of thousands",
                "thousands to tens of millions",
                "hundreds of millions to billions"
            ]
        );
        assert_eq!(said(None, every, 1_000_000).as_deref(), Some("at least 3,100"));
        assert_eq!(said(Some(9_000.0), None, 1_000_000).as_deref(), Some("at least 3,100"));
        assert_eq!(about(&Estimate { low: None, value: Some(1.0), high: None }, 1_000_000), None);
    }

    fn judged(stalls: u64, spec: &str, want_s: u64) -> DeviceAnswer {
        let devices = vec![Catalogue::shipped().parse_spec(spec).unwrap().with_want(want_s)];
        let question = Question { devices, ..Question::default() };
        answer(&[input(stalls, 0)], &question).unwrap().groups.remove(0).devices.remove(0)
    }

    /// Ten hours that stand for a hundred of use.
    const USE_S: f64 = 360_000.0;

    /// The longest of 3,000 takes 10.7 ms, which is 3.7 ms more than eight buffers of 1 ms allow: four that come meanwhile are late.
    #[test]
    fn one_wait_may_cost_several_buffers() {
        let said = |spec: &str| {
            let devices = vec![Catalogue::shipped().parse_spec(spec).unwrap().with_want(10 * 86_400)];
            let question = Question { devices, ..Question::default() };
            let group = answer(&[input(3_000, 0)], &question).unwrap().groups.remove(0);
            in_units(&group, &group.devices[0]).unwrap_or_default()
        };
        for (spec, ending) in [
            (
                "sdr 1ms x8 compute=0%",
                ", each the data of 1.00 ms or more; the worst wakeup would have cost at least 4 buffers",
            ),
            ("5g-slot", " without a result; the worst wakeup would have cost at least 21 slots"),
            ("audio 8ms", ", each at least 8.00 ms of silence or stuffing"),
            ("ethercat1ms", ": after a cycle of 1.00 ms that ends too late it must be started again"),
        ] {
            let words = said(spec);
            assert!(words.ends_with(ending), "{spec}: {words}");
        }
    }

    fn between(low: Option<f64>, value: Option<f64>, high: Option<f64>) -> DeviceAnswer {
        let mut answer = judged(0, "audio 64@48kHz", 3_600);
        answer.underruns.mttf_s = Estimate { low, value, high };
        answer
    }

    #[test]
    fn what_is_to_be_expected_is_an_upper_limit_in_the_words_of_the_users() {
        let said = |answer: &DeviceAnswer| {
            expected_in_words(answer, USE_S, ["a day of use", " under load", "10.0 h"]).unwrap_or_default()
        };
        // 3,000 in a hundred hours of use are 720 in a day of it.
        let control = said(&judged(3_000, "ros2-control", 3_600));
        assert!(control.starts_with("Expect about 720 and at most "), "{control}");
        assert!(control.contains(" overruns a day of use (one cycle in "), "{control}");
        assert!(control.ends_with(") under load."), "{control}");
        let audio = said(&judged(3_000, "audio 64@48kHz", 3_600));
        assert!(audio.starts_with("Expect about ") && audio.ends_with(" dropouts a day of use under load."), "{audio}");
        // Nothing was seen, and it is too early to say whether that is enough.
        let quiet = said(&judged(0, "audio 64@48kHz", 30 * 86_400));
        assert!(quiet.starts_with("Expect at most "), "{quiet}");
        assert!(quiet.ends_with(" under load, as far as 10.0 h can show."), "{quiet}");
        let seldom = said(&between(Some(3.0 * DAY_S), None, None));
        assert!(seldom.starts_with("Expect at most one dropout in 3.0 days under load"), "{seldom}");
    }

    #[test]
    fn nothing_is_expected_of_a_limit_that_tells_nothing() {
        let seen = |low: f64, high: f64| expected(&between(Some(low), Some((low * high).sqrt()), Some(high)), USE_S);
        // Once in ten periods; in nearly every one; with limits more than a thousandfold apart.
        assert!(seen(0.0133, 1.0).is_some_and(|found| found.about.is_some()));
        assert_eq!((seen(0.001_34, 1.0), seen(10.0, 20_000.0)), (None, None));
        // Thirty may have gone unseen, and nothing at all is known.
        let unseen = |low: Option<f64>| expected(&between(low, None, None), USE_S);
        assert!(unseen(Some(USE_S / 29.0)).is_some_and(|found| found.about.is_none()));
        assert_eq!((unseen(Some(USE_S / 31.0)), unseen(None)), (None, None));
        // Wakeups that may share a wait are more than there are waits.
        let mut upper = judged(3_000, "ros2-control", 3_600);
        upper.underruns.is_upper_count = true;
        let found = expected(&upper, USE_S).unwrap();
        assert!(found.about.is_none() && found.at_most > 720.0, "{found:?}");
    }

    #[test]
    fn each_device_has_the_words_of_its_users() {
        let catalogue = Catalogue::shipped();
        let said = |id: &str| each_time(catalogue.find(id).unwrap(), "a day", "");
        assert_eq!(said("ros2-control"), "overruns a day, each leaving at least 1.00 ms without a result");
        let control = catalogue.find("ros2-control").unwrap();
        let share = format!(", {}", one_of(control, 0.909).unwrap());
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
