//! The V.22bis of the library spandsp as a device's work: a call, whose calling end is the device. The device's thread also computes
//! the line and the other end.

use punctual_context::device::{DecodingCounts, Guest};
use punctual_recording::counted;
use punctual_spandsp::{Library, SteadyCall};

/// What the signal is called.
pub(super) const SIGNAL: &str = "spandsp's V.22bis";
/// Bits that come with so many samples: 2,400 a second with 8,000.
const BITS: u64 = 3;
const SAMPLES: u64 = 10;

struct AtCall {
    call: SteadyCall,
    /// In a block.
    samples: u64,
    /// Samples that it worked on, those of them while it was connected, and those that it missed.
    worked: u64,
    connected: u64,
    missed: u64,
}

/// Makes the call; the library must have been installed.
pub(super) fn make(samples: u32) -> Result<Box<dyn Guest>, String> {
    let library = Library::load().map_err(|missing| missing.to_string())?;
    let call = SteadyCall::connected(library, samples as usize);
    let call = call.ok_or_else(|| format!("{SIGNAL} did not connect in blocks of {}", counted(samples, "sample")))?;
    Ok(Box::new(AtCall { call, samples: samples.into(), worked: 0, connected: 0, missed: 0 }))
}

impl Guest for AtCall {
    fn work(&mut self) {
        self.call.work();
        self.worked += self.samples;
        self.connected += if self.call.status().is_connected { self.samples } else { 0 };
    }

    fn skip(&mut self, blocks: u64) {
        (0..blocks).for_each(|_| self.call.miss());
        self.missed += blocks * self.samples;
    }

    fn counts(&self) -> DecodingCounts {
        let bits = |samples: u64| samples * BITS / SAMPLES;
        // While it trains, what would have come is missing.
        let not_received = bits(self.worked - self.connected);
        DecodingCounts {
            units: self.worked,
            connected: self.connected,
            bits: self.call.came() + not_received,
            wrong: self.call.wrong(),
            missing: not_received + bits(self.missed),
            skipped: self.missed,
            restarts: self.call.status().retrains.into(),
            ..DecodingCounts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_misses_is_missing_and_what_it_gets_is_right() {
        let mut guest = match make(64) {
            Ok(guest) => guest,
            Err(missing) => {
                assert!(missing.contains("libspandsp2"), "{missing}");
                return punctual_testing::skip("a device's work by spandsp", missing);
            }
        };
        (0..100).for_each(|_| guest.work());
        let whole = guest.counts();
        assert_eq!((whole.units, whole.connected, whole.missing, whole.skipped), (6_400, 6_400, 0, 0), "{whole:?}");
        assert!(whole.bits > 1_800, "{whole:?}");
        guest.skip(5);
        let after = guest.counts();
        assert_eq!((after.units, after.skipped, after.missing), (6_400, 320, 96), "{after:?}");
    }
}
