//! Values that several commands take.

use punctual_context::Context;
use punctual_device::{did_you_mean, nearest, parse_period};
use punctual_recording::{BareUnit, LimitSpec, Stage, format_ns, parse_duration, parse_list};
use punctual_reserve::Reservation;

/// A list of CPUs, as one value.
#[derive(Debug, Clone)]
pub(crate) struct Cpus(pub(crate) Vec<u32>);

/// A list of limits, as one value.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) of_wakeups: Vec<LimitSpec>,
    /// The longest that a cycle of a followed loop may take, ns, each of which is judged.
    pub(crate) of_cycles_ns: Vec<u64>,
}

/// The longest period worth measuring, and the shortest that the clock can resolve.
const INTERVALS_NS: std::ops::RangeInclusive<u64> = 1_000..=3_600_000_000_000;

/// Nothing is measured for longer, ns: studies take many times as long, and count that in the same numbers.
const MAX_TIME_NS: u64 = 366 * 86_400 * 1_000_000_000;

pub(super) fn duration(text: &str) -> Result<u64, String> {
    match time(text)? {
        0 => Err("a measurement must take some time: give a duration above 0, such as 10s".to_owned()),
        duration => Ok(duration),
    }
}

pub(super) fn time(text: &str) -> Result<u64, String> {
    let time = parse_duration(text, BareUnit::Seconds)?;
    if time > MAX_TIME_NS {
        return Err(format!("`{text}` is longer than a year: nothing is measured for so long"));
    }
    Ok(time)
}

/// An interval of an option that cyclictest has too, where a bare number is microseconds.
fn interval(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if is_written_as_period(text) {
        return period(text);
    }
    in_range(text, parse_duration(text, BareUnit::Microseconds)?)
}

/// The same of any other option, where a bare number is refused.
pub(super) fn length(text: &str) -> Result<u64, String> {
    in_range(text, parse_duration(text, BareUnit::Refused)?)
}

/// A time that may be 0, where a bare number is refused.
pub(super) fn any_length(text: &str) -> Result<u64, String> {
    parse_duration(text, BareUnit::Refused)
}

/// Whether a time is written as a musician has it, frames at a rate, or as a control loop has it, a frequency.
fn is_written_as_period(text: &str) -> bool {
    text.contains(['@', '/']) || text.to_ascii_lowercase().ends_with("hz")
}

/// A time to compare others with, ns: with its unit, or written as a period.
pub(super) fn threshold_time(text: &str) -> Result<u64, String> {
    let text = text.trim();
    match is_written_as_period(text) {
        true => parse_period(text).map_err(|error| error.to_string()),
        false => parse_duration(text, BareUnit::Refused),
    }
}

fn in_range(text: &str, interval: u64) -> Result<u64, String> {
    if INTERVALS_NS.contains(&interval) {
        return Ok(interval);
    }
    let (shortest, longest) = (format_ns(*INTERVALS_NS.start()), "1 h");
    Err(format!("`{text}` is out of range: give {shortest} to {longest}, such as 1ms"))
}

/// CPU time and period.
pub(super) fn reservation(text: &str) -> Result<Reservation, String> {
    reserved("reservation", text)
}

/// The same in slots, where a bare number is milliseconds, of which slots are whole numbers.
pub(super) fn slots(text: &str) -> Result<Reservation, String> {
    reserved("slots", text)
}

fn reserved(form: &str, text: &str) -> Result<Reservation, String> {
    match Context::parse(&format!("{form}:{text}")) {
        Ok(Context::Reservation(found)) => Ok(Reservation { budget_ns: found.runtime_ns, period_ns: found.period_ns }),
        Err(error) if text.contains('/') => Err(error.replace(&format!("{form}:"), "")),
        _ => Err(format!("`{text}` is not a reservation: write CPU time and period, such as 2ms/8ms")),
    }
}

/// The period of a loop or of a device: a time with its unit, a frequency, or frames at a rate.
pub(super) fn period(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if is_written_as_period(text) {
        return in_range(text, parse_period(text).map_err(|error| error.to_string())?);
    }
    length(text)
}

/// Below this, a bare time is refused: someone who writes `1` may mean a millisecond, and no machine keeps up with a
/// microsecond.
const MIN_BARE_INTERVAL_US: f64 = 20.0;

/// The same for the `-i` and `-b` that cyclictest has too, where a bare number is microseconds.
pub(super) fn own_period(text: &str) -> Result<u64, String> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number < MIN_BARE_INTERVAL_US => {
            Err(format!("`{text}` would be {text} us: write {text}us, or {text}ms if you mean that"))
        }
        _ => interval(text),
    }
}

/// The id of a process or thread.
pub(super) fn id(text: &str) -> Result<u32, String> {
    // The kernel's largest id.
    let id = text.trim().parse().ok().filter(|id| (1..=4_194_304).contains(id));
    id.ok_or_else(|| {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            format!("`{text}` is not an id: ids go from 1 to 4194304")
        } else {
            format!("`{text}` is a name, not an id: follow threads by name with --comm, or give what `pidof` prints")
        }
    })
}

pub(super) fn priority(text: &str) -> Result<u32, String> {
    let priority = text.parse().ok().filter(|priority| (1..=99).contains(priority));
    priority.ok_or_else(|| format!("`{text}` is not a real-time priority: give 1 to 99, such as 80"))
}

pub(super) fn stage(text: &str) -> Result<Stage, String> {
    let stages = || Stage::ALL.into_iter().filter(|stage| stage.is_of_a_wakeup());
    let names: Vec<&str> = stages().map(Stage::name).collect();
    let found = stages().find(|stage| stage.name() == text);
    found.ok_or_else(|| {
        with_nearest(&format!("there is no stage `{text}`: give one of {}", names.join(", ")), text, &names)
    })
}

/// What contexts begin with.
const CONTEXTS: [&str; 5] = ["irq", "softirq", "thread", "reservation", "slots"];

pub(crate) fn context(text: &str) -> Result<Context, String> {
    Context::parse(text).map_err(|wrong| with_nearest_context(&wrong, text))
}

/// What is wrong with a context, and which is meant, if one begins nearly so.
pub(crate) fn with_nearest_context(wrong: &str, text: &str) -> String {
    let word = text.split(':').next().unwrap_or(text);
    match meant_context(text) {
        Some(meant) => format!("{wrong}{}", did_you_mean(Some(&meant))),
        None if CONTEXTS.contains(&word) => wrong.to_owned(),
        None => {
            let named = nearest(word, &CONTEXTS);
            // What stands behind the name was meant, too.
            let whole = named.as_ref().map(|name| format!("{name}{}", &text[word.len()..]));
            let meant = whole.filter(|whole| Context::parse(whole).is_ok()).or(named);
            format!("{wrong}{}", did_you_mean(meant.as_deref()))
        }
    }
}

/// The context that goes by another name elsewhere, or of which only a part was given.
fn meant_context(text: &str) -> Option<String> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let priority = if rest.is_empty() { "80" } else { rest };
    let meant = match word.to_ascii_lowercase().as_str() {
        "interrupt" | "hardirq" | "isr" | "int" => "irq".to_owned(),
        "dpc" | "tasklet" | "bh" => "softirq".to_owned(),
        "thread" if rest.is_empty() => "thread:80".to_owned(),
        "fifo" => format!("thread:{priority}"),
        "rr" => format!("thread:rr:{priority}"),
        "other" | "normal" => "thread:other".to_owned(),
        "idle" => "thread:idle".to_owned(),
        _ => return None,
    };
    // No advice that would be refused in its turn.
    Context::parse(&meant).is_ok().then_some(meant)
}

/// What is wrong with a name, and which of these names is meant, if one is like it.
pub(super) fn with_nearest(wrong: &str, name: &str, names: &[&str]) -> String {
    format!("{wrong}{}", did_you_mean(nearest(name, names).as_deref()))
}

pub(super) fn cpus(text: &str) -> Result<Cpus, String> {
    parse_list(text).map(Cpus)
}

/// What is wrong with a limit, and which stage is meant, if it is of none and one is like it.
fn with_nearest_limited(wrong: &str, limit: &str) -> String {
    let stages = Stage::ALL.into_iter().filter(|stage| stage.is_of_a_wakeup()).map(Stage::name);
    let names: Vec<&str> = stages.chain(["cycle"]).collect();
    match limit.split_once(':') {
        Some((stage, _)) if !names.contains(&stage.trim()) => with_nearest(wrong, stage.trim(), &names),
        _ => wrong.to_owned(),
    }
}

/// A limit of wakeups whose time is in ns if it was written as a period.
fn with_plain_time(limit: &str) -> Result<String, String> {
    match limit.split_once('=') {
        Some((what, time)) if is_written_as_period(time.trim()) => Ok(format!("{what}={}ns", threshold_time(time)?)),
        _ => Ok(limit.to_owned()),
    }
}

pub(super) fn limits(text: &str) -> Result<Limits, String> {
    let mut limits = Limits { of_wakeups: Vec::new(), of_cycles_ns: Vec::new() };
    for limit in text.split(',') {
        let Some(of_cycle) = limit.trim().strip_prefix("cycle:") else {
            let of_wakeups = LimitSpec::parse_list_of_stages(&with_plain_time(limit)?);
            limits.of_wakeups.extend(of_wakeups.map_err(|wrong| with_nearest_limited(&wrong, limit))?);
            continue;
        };
        let longest = of_cycle.trim().strip_prefix("max=").ok_or_else(|| {
            format!("`{limit}` is not a limit: for cycles, only the longest has one, such as cycle:max=1ms")
        })?;
        limits.of_cycles_ns.push(threshold_time(longest)?);
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_time_or_written_as_a_period() {
        for (text, expected) in [("64@48kHz", 1_333_333), (" 1kHz ", 1_000_000), ("500us", 500_000)] {
            assert_eq!((threshold_time(text), interval(text)), (Ok(expected), Ok(expected)), "{text}");
            let limits = limits(&format!("response:p99.9={text},max=2ms,cycle:max={text}")).unwrap();
            let expected_limits = LimitSpec::parse_list_of_stages(&format!("response:p99.9={expected}ns,max=2ms"));
            assert_eq!(Ok(limits.of_wakeups), expected_limits, "{text}");
            assert_eq!(limits.of_cycles_ns, [expected], "{text}");
        }
        assert_eq!(interval("64"), Ok(64_000));
        for wrong in ["64", "64@48", "0@48kHz", "64/48000"] {
            let said = threshold_time(wrong).unwrap_err();
            assert!(said.contains("write") || said.contains("is written"), "{wrong}: {said}");
        }
    }

    #[test]
    fn each_limit_on_the_cycles_is_read() {
        let limits = limits("cycle:max=11ms,max=2ms, cycle:max=600ms").unwrap();
        assert_eq!((limits.of_cycles_ns, limits.of_wakeups.len()), (vec![11_000_000, 600_000_000], 1));
    }

    #[test]
    fn a_misspelt_context_keeps_what_stands_behind_its_name() {
        for (text, meant) in [
            ("thrad:80", "`thread:80`"),
            ("reservaton:2ms/8ms", "`reservation:2ms/8ms`"),
            // What would be refused in its turn is not offered.
            ("thrad:soon", "`thread`"),
            ("softirk", "`softirq`"),
        ] {
            let said = context(text).unwrap_err();
            assert!(said.contains(&format!("did you mean {meant}?")), "{said}");
        }
    }

    #[test]
    fn a_measurement_takes_some_time_and_a_year_at_most() {
        let years = ["366d", "8784h"].map(duration);
        assert_eq!(years, [Ok(MAX_TIME_NS), Ok(MAX_TIME_NS)]);
        // Of the longest that parses a hundred would not add up.
        for too_long in ["366d1s", "367d", "584.5y", "213503d"] {
            assert!(duration(too_long).is_err() && time(too_long).is_err(), "{too_long}");
        }
        assert!(time("367d").unwrap_err().contains("longer than a year"));
        assert_eq!((duration("0s").is_err(), time("0s")), (true, Ok(0)));
        assert!(MAX_TIME_NS.checked_mul(500).is_some());
    }
}
