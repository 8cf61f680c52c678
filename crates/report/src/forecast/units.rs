//! What an underrun is to whoever has the device: overruns a day for a control loop, dropouts for audio, lost slots for radio.

use punctual_device::{OnMiss, Profile};
use punctual_forecast::{DeviceAnswer, Estimate, Outcome};
use punctual_recording::format_ns;

const DAY_S: f64 = 86_400.0;

/// How often a device runs dry in a day of use: 24 hours of it, not what a person does in a day.
pub(crate) fn per_day(answer: &DeviceAnswer) -> Estimate {
    let mttf = &answer.underruns.mttf_s;
    let often = |seconds: Option<f64>| seconds.filter(|seconds| *seconds > 0.0).map(|seconds| DAY_S / seconds);
    Estimate { low: often(mttf.high), value: often(mttf.value), high: often(mttf.low) }
}

/// For a device that fails: how often a day, and what each time costs its user.
pub(super) fn in_units(answer: &DeviceAnswer) -> Option<String> {
    if answer.underruns.outcome != Outcome::Fails {
        return None;
    }
    let day = per_day(answer);
    let about = match (day.value, day.low, day.high) {
        (Some(value), Some(low), Some(high)) => format!("about {} ({} to {})", often(value), often(low), often(high)),
        (_, Some(low), _) => format!("at least {}", often(low)),
        _ => return None,
    };
    Some(format!("{}: {about} {}", answer.device.id, each_time(&answer.device)))
}

/// What they are called in a day, and what each does.
fn each_time(device: &Profile) -> String {
    let period = format_ns(device.period_ns);
    // With two buffers there is none to spare: one period's work must be done before the next begins.
    let is_loop = device.buffers == 2;
    match device.on_miss {
        OnMiss::DummyBuffer => format!("dropouts a day, each {period} of silence or stuffing"),
        OnMiss::Drop if is_loop => format!("overruns a day, each {period} without its result"),
        OnMiss::Drop => format!("losses a day, each the data of {period}"),
        OnMiss::Slip => format!("slips a day, each moves all that follows by {period}"),
        OnMiss::Fault => format!("faults a day: after a cycle of {period} that ends too late it must be started again"),
        OnMiss::Retrain => "lost connections a day, each some seconds until it is back".to_owned(),
    }
}

/// Two digits are all that such a count tells.
fn often(times: f64) -> String {
    match times {
        times if times >= 100.0 => {
            let unit = 10_u64.pow((times.log10() as u32).saturating_sub(1));
            crate::layout::grouped((times / unit as f64).round() as u64 * unit)
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
    fn each_device_has_the_words_of_its_users() {
        let catalogue = Catalogue::shipped();
        let said = |id: &str| each_time(catalogue.find(id).unwrap());
        assert_eq!(said("ros2-control"), "overruns a day, each 1.00 ms without its result");
        assert_eq!(said("audio64"), "dropouts a day, each 1.33 ms of silence or stuffing");
        assert_eq!(said("5g-slot"), "overruns a day, each 500 us without its result");
        assert!(said("ethercat1ms").starts_with("faults a day") && said("v90").contains("lost connections"));
        assert_eq!([0.04, 9.96, 10.0, 123.0, 12_345.6].map(often), ["0.04", "10.0", "10", "120", "12,000"]);
    }
}
