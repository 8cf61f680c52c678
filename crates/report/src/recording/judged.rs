//! The devices of a check, the heading of their table, and how much use it stands for.

use punctual_device::Profile;
use punctual_forecast::JudgedDevice;
use punctual_recording::Document;

/// What the table of devices shows, to be followed by what stands in parentheses.
pub(crate) const LATE_WAKEUPS: &str = "Wakeups that came later than each device's slack, on all CPUs together, and how often it would run \
                                       dry on its worst CPU, where each wait counts once, however many wakeups it delays";

/// The devices that were judged, each once, in the order of the question.
pub(crate) fn judged_devices(rows: &[JudgedDevice]) -> Vec<&Profile> {
    let mut devices: Vec<&Profile> = Vec::new();
    for row in rows {
        if !devices.contains(&&row.answer.device) {
            devices.push(&row.answer.device);
        }
    }
    devices
}

/// How much use a recording stands for, s.
pub(crate) fn use_s(document: &Document) -> f64 {
    let thousandths = document.provenance.load.compression_thousandths.unwrap_or(1_000);
    document.measured_ns() as f64 / 1e9 * thousandths as f64 / 1e3
}
