//! How many blocks came to a device.

use punctual_recording::DeviceSummary;

/// Blocks that nobody worked on: dropped for a newer one, overwritten, or kept from the device.
pub(crate) fn not_worked_on(device: &DeviceSummary) -> u64 {
    device.dropped + device.lost + device.refused
}

/// Blocks that still waited when the run ended, if they are more than its buffers hold.
pub(crate) fn waiting(device: &DeviceSummary) -> u64 {
    let waiting = device.arrived.saturating_sub(device.processed + not_worked_on(device));
    if waiting > u64::from(device.buffers) { waiting } else { 0 }
}

/// Blocks that came to the device: those that it worked on, those that nobody did, and those that waited at the end.
pub(crate) fn came(device: &DeviceSummary) -> u64 {
    device.processed + not_worked_on(device) + waiting(device)
}
