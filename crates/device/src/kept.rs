//! Whether a device kept up: the one verdict that everything says of a run.

use punctual_recording::DeviceSummary;

/// Whether a device kept up: it had no underruns except those that the machine explains, and what came to it was
/// served. `None` if nothing came to it, or if punctual itself caused what it did not do; what came to a device that
/// never got a turn was dropped.
pub fn keeps_up(device: &DeviceSummary) -> Option<bool> {
    if device.processed == 0 && device.underruns == 0 {
        return (device.dropped > 0).then_some(false);
    }
    let own = device.underruns.saturating_sub(device.underruns_outside);
    if own > kept_from(device) || !device.served_but_for(device.underruns_outside as f64) {
        return Some(false);
    }
    let is_most = device.processed.saturating_mul(2) >= device.arrived;
    (own == 0 && is_most).then_some(true)
}

/// Blocks that punctual kept from the device, or gave up after the longest time that it may take in the kernel, to leave
/// others their share of the CPU. If a user's own work took longer than its budget, that is the work's own doing.
pub fn kept_from(device: &DeviceSummary) -> u64 {
    let is_over = device.own.as_ref().is_some_and(|own| own.over > 0);
    if is_over { 0 } else { device.refused.saturating_add(device.cut) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::OwnSummary;

    #[test]
    fn only_the_devices_own_underruns_count_against_it() {
        let mut device = DeviceSummary::default();
        assert_eq!(keeps_up(&device), None);
        device.dropped = 7;
        assert_eq!(keeps_up(&device), Some(false));
        (device.processed, device.dropped) = (10, 0);
        assert_eq!(keeps_up(&device), Some(true));
        (device.underruns, device.underruns_outside) = (3, 2);
        assert_eq!(keeps_up(&device), Some(false));
        device.underruns_outside = 3;
        assert_eq!(keeps_up(&device), Some(true));
        // A device that was woken twice for two hundred blocks was late twice because of the machine, and served next
        // to nothing.
        (device.arrived, device.buffers) = (200, 2);
        assert_eq!(keeps_up(&device), Some(false));
        device.processed = 196;
        assert_eq!(keeps_up(&device), Some(true));
    }

    #[test]
    fn what_punctual_kept_from_a_device_does_not_count_against_it() {
        let device = DeviceSummary { buffers: 2, arrived: 1_000, ..DeviceSummary::default() };
        let limited = DeviceSummary { processed: 960, refused: 40, underruns: 38, ..device.clone() };
        assert_eq!(keeps_up(&limited), None);
        // More were late than that explains.
        assert_eq!(keeps_up(&DeviceSummary { underruns: 41, ..limited.clone() }), Some(false));
        // One that it gave up is neither the device's failure nor the machine's.
        let given_up = DeviceSummary { processed: 1_000, refused: 0, cut: 1, underruns: 1, ..limited.clone() };
        assert_eq!(keeps_up(&given_up), None);
        assert_eq!(keeps_up(&DeviceSummary { underruns: 2, ..given_up.clone() }), Some(false));
        assert_eq!(keeps_up(&DeviceSummary { underruns: 0, cut: 0, ..given_up }), Some(true));
        // A user's own work that takes too long keeps itself from blocks.
        let own = OwnSummary { over: 1, ..OwnSummary::default() };
        assert_eq!(keeps_up(&DeviceSummary { own: Some(own), ..limited }), Some(false));
        // Few came to be processed.
        assert_eq!(keeps_up(&DeviceSummary { processed: 17, unobserved: 983, ..device }), None);
    }
}
