//! How a device's data come: in blocks of samples, through a ring.

use crate::Profile;

/// Samples in a block and in the ring of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Samples that come with each interrupt.
    pub samples: u32,
    /// Samples that the ring holds.
    pub ring: u32,
}

/// The ring of the soft modem (Jones and Saroiu, MSR-TR-2000-88, section 4).
const MODEM_RING: u32 = 512;
/// Samples in a block of a device that has no real ones.
const NOMINAL: u32 = 16;

impl Sampling {
    /// How a profile runs unless asked otherwise: in whole units if it decodes a signal.
    pub fn of(profile: &Profile) -> Sampling {
        let Some(signal) = profile.signal else { return Sampling::filtered(profile) };
        let samples = signal.units_in(profile.period_ns).saturating_mul(signal.unit_samples());
        Sampling { samples, ring: samples.saturating_mul(profile.buffers) }
    }

    /// How a profile runs if it has a telephone line's 8,000 samples a second, whatever its own are.
    pub fn telephone(profile: &Profile) -> Sampling {
        let samples = u128::from(profile.period_ns) * 8_000 / 1_000_000_000;
        let samples = u32::try_from(samples).unwrap_or(u32::MAX).clamp(1, 1 << 16);
        Sampling { samples, ring: samples.saturating_mul(profile.buffers) }
    }

    /// Whether a block of a profile is not as long as the device's own: what is filtered only has to be samples.
    pub fn is_nominal(profile: &Profile) -> bool {
        profile.signal.is_none() && !has_real_ones(&profile.id)
    }

    /// For a profile whose samples are filtered: what the field's papers and practice say about the known ones, and for all others 16
    /// samples in a block and as many blocks as there are buffers.
    pub fn filtered(profile: &Profile) -> Sampling {
        let per_period = |rate: u64| {
            let samples = (u128::from(profile.period_ns) * u128::from(rate) + 500_000_000) / 1_000_000_000;
            u32::try_from(samples).unwrap_or(u32::MAX).clamp(1, 1 << 16)
        };
        let buffered = |samples: u32| Sampling { samples, ring: samples.saturating_mul(profile.buffers) };
        match profile.id.as_str() {
            // 90 samples every 12.5 ms at 7.2 kHz (section 4).
            "v90" => Sampling { samples: per_period(7_200), ring: MODEM_RING.max(per_period(7_200) * 2) },
            "modem" => Sampling { samples: per_period(8_000), ring: MODEM_RING.max(per_period(8_000) * 2) },
            id if has_real_ones(id) => buffered(per_period(48_000)),
            _ => buffered(NOMINAL),
        }
    }
}

/// Whether it is known how many samples come with an interrupt of a device that decodes no signal.
fn has_real_ones(id: &str) -> bool {
    matches!(id, "v90" | "modem" | "rt-audio") || id.starts_with("audio")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn the_papers_modem_and_everything_else() {
        let of = |spec: &str| Sampling::of(&Catalogue::shipped().parse_spec(spec).unwrap());
        assert_eq!(of("v90"), Sampling { samples: 90, ring: 512 });
        assert_eq!(of("v90 2.5ms compute=100us"), Sampling { samples: 18, ring: 512 });
        assert_eq!(of("modem"), Sampling { samples: 64, ring: 512 });
        let line = |spec: &str| Sampling::telephone(&Catalogue::shipped().parse_spec(spec).unwrap()).samples;
        assert_eq!(["modem", "v90", "audio 64@48kHz", "modem 120us compute=1us"].map(line), [64, 100, 10, 1]);
        assert_eq!(of("adsl"), Sampling { samples: 16 * 272, ring: 48 * 272 });
        assert_eq!(of("dsl 1ms"), Sampling { samples: 4 * 544, ring: 12 * 544 });
        assert_eq!(of("dsl 100us"), Sampling { samples: 544, ring: 3 * 544 });
        assert_eq!(of("bluetooth"), Sampling { samples: 5 * 250, ring: 10 * 250 });
        assert_eq!(of("bluetooth 625us"), Sampling { samples: 10 * 250, ring: 20 * 250 });
        assert_eq!(of("wifi"), Sampling { samples: 3 * 264, ring: 6 * 264 });
        assert_eq!(of("wifi 96ms x3"), Sampling { samples: 1_000 * 264, ring: 3_000 * 264 });
        assert_eq!(of("audio64"), Sampling { samples: 64, ring: 128 });
        let is_nominal = |spec: &str| Sampling::is_nominal(&Catalogue::shipped().parse_spec(spec).unwrap());
        assert_eq!(
            ["sdr 1024@2.4MS/s", "5g-slot", "v90", "wifi", "audio64"].map(is_nominal),
            [true, true, false, false, false]
        );
        for profile in Catalogue::shipped().profiles() {
            let sampling = Sampling::of(profile);
            assert!(sampling.samples >= 1 && sampling.ring >= sampling.samples * 2, "{}", profile.id);
        }
    }
}
