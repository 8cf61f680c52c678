//! What a block's work took beside what was asked for: calibration misses where the machine's speed changes after it.

use punctual_recording::{DeviceSummary, Document, format_ns};

/// Runs whose work is off by more than this share of what was asked for cannot be compared.
const BEARABLE: f64 = 0.1;
/// The median of fewer blocks says little.
const MIN_BLOCKS: u64 = 10;

/// What a block's work took, the median, ns, where it was calibrated to take as long as asked for. A signal and a
/// user's own work take what they take.
pub(crate) fn taken_ns(device: &DeviceSummary) -> Option<u64> {
    let is_calibrated = device.passes > 0 && device.compute_ns > 0 && device.executed.count() >= MIN_BLOCKS;
    device.executed.quantile(0.5).filter(|_| is_calibrated)
}

/// Whether a block's work took another time than was asked for.
pub(crate) fn is_off(device: &DeviceSummary) -> bool {
    taken_ns(device).is_some_and(|taken| off(taken, device).abs() > BEARABLE)
}

/// By which share of what was asked for it differs.
fn off(taken_ns: u64, device: &DeviceSummary) -> f64 {
    taken_ns as f64 / device.compute_ns as f64 - 1.0
}

/// Says what a block's work took, if that is not what was asked for. With phases, blocks are of several sizes.
pub(crate) fn miss(device: &DeviceSummary, document: &Document) -> Option<String> {
    let has_phases = document.provenance.command_line.iter().any(|word| word.starts_with("--phases"));
    let taken = taken_ns(device).filter(|_| is_off(device) && !has_phases)?;
    let off = off(taken, device);
    Some(format!(
        "{} a block, {:.0} % {} than the {} asked for",
        format_ns(taken),
        off.abs() * 100.0,
        if off > 0.0 { "more" } else { "less" },
        format_ns(device.compute_ns)
    ))
}

/// What a block's work took, to follow what was asked for.
pub(super) fn taken_words(device: &DeviceSummary) -> String {
    device.executed.quantile(0.5).map_or_else(String::new, |taken| format!(", {} taken (median)", format_ns(taken)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::run::tests::document;

    fn device(taken_ns: u64, blocks: u64) -> DeviceSummary {
        let mut device = DeviceSummary { passes: 800, compute_ns: 400_000, ..DeviceSummary::default() };
        (0..blocks).for_each(|_| device.executed.record(taken_ns));
        device
    }

    #[test]
    fn work_that_is_off_by_more_than_a_tenth_is_told() {
        let mut document = document();
        let told = |taken_ns, blocks| miss(&device(taken_ns, blocks), &document);
        for (taken_ns, words) in [(253_000, "37 % less"), (485_000, "21 % more")] {
            let said = told(taken_ns, 100).unwrap();
            assert!(said.contains(words) && said.ends_with("than the 400 us asked for"), "{said}");
        }
        assert_eq!([told(370_000, 100), told(430_000, 100), told(253_000, 9)], [None, None, None]);
        // What decodes a signal was not calibrated.
        assert_eq!(miss(&DeviceSummary { passes: 0, ..device(253_000, 100) }, &document), None);
        document.provenance.command_line.push("--phases=90@8kHz".to_owned());
        assert_eq!(miss(&device(253_000, 100), &document), None);
    }
}
