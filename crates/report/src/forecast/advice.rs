//! What a device would have to be like, in words.

use super::text::interval_text;
use super::units::{counted_units, is_loop};
use punctual_device::Profile;
use punctual_forecast::{Advice, DeviceAnswer, Variant, format_seconds};
use punctual_recording::format_ns;

/// What was asked.
pub(super) fn asked(answer: &DeviceAnswer) -> String {
    let fails = if is_loop(&answer.device) { "be late" } else { "run dry" };
    format!("{}, to {fails} at most once in {}", answer.device.id, format_seconds(answer.device.want_s as f64))
}

/// What would do, or what nothing exceeded: one sentence each.
pub(super) fn advised(answer: &DeviceAnswer, advice: &Advice) -> Vec<String> {
    let is_loop = is_loop(&answer.device);
    let mut lines = Vec::new();
    if let Some(variant) = &advice.buffers {
        let mttf = interval_text(&variant.underruns.mttf_s, false);
        lines.push(match is_loop {
            true => format!("{}: {mttf}", longer_cycle(&variant.device)),
            false => format!(
                "{}, {} in all: {mttf}",
                buffers_words(&variant.device),
                format_ns(variant.device.tolerance_ns())
            ),
        });
    }
    // A loop has the two buffers that it needs and no others: its longer period stands there already.
    if let Some(variant) = advice.period.as_ref().filter(|_| !is_loop || advice.buffers.is_none()) {
        let mttf = interval_text(&variant.underruns.mttf_s, false);
        lines.push(match is_loop {
            true => format!("a period of {}: {mttf}", format_ns(variant.device.period_ns)),
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
        let tried = if is_loop { "cycle" } else { "buffering" };
        lines.push(format!("no {tried} that was tried is enough"));
    }
    lines
}

/// So many buffers, and the longer period beside them: many drivers have only a few buffers, but long ones.
fn not_exceeded(device: &Profile, longer: Option<&Variant>) -> String {
    match longer {
        _ if is_loop(device) => format!("{}, but that is not", longer_cycle(device)),
        None => format!("{}, but that is not", buffers_words(device)),
        Some(Variant { device: longer, .. }) => format!(
            "{}, nor a period of {} with {} buffers, but neither is",
            buffers_words(device),
            period_words(longer),
            longer.buffers
        ),
    }
}

/// What so many buffers are to a loop, which has none to spare: a period as long as they last, for the same work.
fn longer_cycle(variant: &Profile) -> String {
    format!("a period of {}", format_ns(variant.tolerance_ns()))
}

fn buffers_words(variant: &Profile) -> String {
    format!("{} buffers of {}", variant.buffers, period_words(variant))
}

/// A period, in time and in what its users set it in.
fn period_words(device: &Profile) -> String {
    let time = format_ns(device.period_ns);
    match (device.unit, device.rate_millihertz, device.in_units(device.period_ns)) {
        (Some(unit), Some(_), Some(units)) => format!("{time} ({})", counted_units(units, unit)),
        _ => time,
    }
}
