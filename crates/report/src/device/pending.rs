//! What waits for a device, in blocks: its samples may stand for those of the real device.

use super::run::Run;
use crate::layout::grouped;
use punctual_device::{Catalogue, Unit};
use punctual_recording::DeviceSummary;

/// Samples in a block as the real device has them, and in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StandIn {
    own: u64,
    here: u64,
}

impl StandIn {
    /// `None` if the device has as many samples in a block as the run, or if it is not known how many it has.
    fn of(run: &Run<'_>, device: &DeviceSummary) -> Option<StandIn> {
        let profile = Catalogue::shipped().parse_spec(&run.written(device)).ok()?;
        // A radio whose period was given as a time has samples all the same.
        if profile.unit.is_some_and(|unit| !matches!(unit, Unit::Frame | Unit::Sample)) {
            return None;
        }
        let own = profile.at_its_rate(profile.period_ns)?.round() as u64;
        let here = u64::from(device.samples);
        (own != here && own > 0 && here > 0).then_some(StandIn { own, here })
    }
}

/// So many samples of the run as blocks.
pub(super) fn in_blocks(samples: Option<u64>, device: &DeviceSummary) -> String {
    let blocks = |samples: u64| format!("{:.1}", samples as f64 / f64::from(device.samples.max(1)));
    samples.map_or_else(|| "-".to_owned(), blocks)
}

/// Which samples those of a block stand for, to follow how many they are.
pub(super) fn stands_for(run: &Run<'_>, device: &DeviceSummary) -> String {
    let words = |stand_in: StandIn| format!(" (for the device's {})", grouped(stand_in.own));
    StandIn::of(run, device).map_or_else(String::new, words)
}

/// The most that waited in the device's own samples, where those of the run stand for them.
pub(super) fn most_in_own(run: &Run<'_>, device: &DeviceSummary) -> String {
    let words = |StandIn { own, here }: StandIn| {
        let most = u128::from(device.pending_max) * u128::from(own) / u128::from(here);
        format!(", at most {} of its samples pending", grouped(u64::try_from(most).unwrap_or(u64::MAX)))
    };
    StandIn::of(run, device).map_or_else(String::new, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::ActivationDocument;
    use std::path::Path;

    #[test]
    fn samples_that_stand_for_others_are_told_in_both() {
        let activations = ActivationDocument::default();
        for (spec, name, samples, stands, most) in [
            (
                "sdr 2400@2.4MS/s compute=400us x8",
                "sdr",
                16,
                " (for the device's 2,400)",
                ", at most 15,000 of its samples pending",
            ),
            (
                "sdr 1ms compute=300us x37",
                "sdr",
                16,
                " (for the device's 30,720)",
                ", at most 192,000 of its samples pending",
            ),
            ("audio 64@48kHz", "audio", 64, "", ""),
            ("v90", "v90", 90, "", ""),
        ] {
            let mut document = crate::device::run::tests::document();
            document.provenance.command_line = ["punctual", "device", "run", spec].map(str::to_owned).to_vec();
            let run = Run { path: Path::new("a"), document: &document, activations: &activations };
            let device =
                DeviceSummary { device: name.to_owned(), samples, pending_max: 100, ..DeviceSummary::default() };
            assert_eq!((stands_for(&run, &device).as_str(), most_in_own(&run, &device).as_str()), (stands, most));
        }
        let device = DeviceSummary { samples: 16, ..DeviceSummary::default() };
        assert_eq!([in_blocks(Some(100), &device), in_blocks(None, &device)], ["6.2", "-"]);
    }
}
