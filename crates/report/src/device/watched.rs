//! What the wakeups in a recording of devices are of: threads that watched beside the devices, not the devices.

use punctual_recording::{ActivationDocument, DeviceSummary, printable, printable_path};
use std::path::Path;

/// Says that a forecast from a recording of devices is one of the threads beside them; `None` if no device ran.
pub fn only_watched(path: &Path, activations: &ActivationDocument) -> Option<String> {
    let devices = &activations.devices;
    let first = devices.first()?;
    let named = |device: &DeviceSummary| format!("{} in {}", printable(&device.device), printable(&device.context));
    let others = match devices.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let watched = priority(&activations.bystander);
    // A thread without a real-time priority is below all that have one.
    let is_below = |device: &DeviceSummary| {
        device.context.starts_with("thread:") && priority(&device.context).unwrap_or(0) < watched.unwrap_or(u32::MAX)
    };
    let so = if devices.iter().all(is_below) {
        "a lower priority fares worse"
    } else {
        "what runs elsewhere may fare otherwise"
    };
    Some(format!(
        "the wakeups are of the threads that watched ({} and {}), not of {}{others}: {so}; `punctual report {}` says what became of the \
         device itself",
        activations.bystander,
        activations.control,
        named(first),
        crate::layout::shell_word(&printable_path(path))
    ))
}

/// The priority at the end of a measure or a context, if it has one.
fn priority(name: &str) -> Option<u32> {
    name.rsplit(':').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(contexts: &[&str]) -> Option<String> {
        let device = |context: &&str| DeviceSummary {
            device: "sdr".to_owned(),
            context: (*context).to_owned(),
            ..DeviceSummary::default()
        };
        let activations = ActivationDocument {
            devices: contexts.iter().map(device).collect(),
            bystander: "fifo:95".to_owned(),
            control: "fifo:99".to_owned(),
            ..ActivationDocument::default()
        };
        only_watched(Path::new("t1.punctual"), &activations)
    }

    #[test]
    fn a_device_below_the_threads_that_watched_fares_worse() {
        for below in [&["thread:fifo:80"][..], &["thread:other"], &["thread:fifo:80", "thread:idle"]] {
            let said = said(below).unwrap();
            assert!(said.contains("a lower priority fares worse"), "{said}");
            assert!(said.contains("(fifo:95 and fifo:99), not of sdr in thread:"), "{said}");
            assert!(said.contains("`punctual report t1.punctual`"), "{said}");
        }
        for elsewhere in [&["irq"][..], &["reservation:2ms/8ms"], &["thread:fifo:97"], &["thread:fifo:80", "softirq"]] {
            let said = said(elsewhere).unwrap();
            assert!(said.contains("may fare otherwise"), "{said}");
        }
        assert_eq!(said(&[]), None);
    }
}
