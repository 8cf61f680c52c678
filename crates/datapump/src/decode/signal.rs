//! A signal in units, and what is known of each.

/// Words of 32 bits for the bits of a unit: `UNIT_WORDS` of `c/decode.h`.
const UNIT_WORDS: usize = 32;
/// The most numbers of a unit: samples, or twice as many as there are complex samples.
const UNIT_SAMPLES: usize = 544;

/// `struct signal_unit` of `c/decode.h`: samples that are received together, and what they bring.
#[derive(Clone)]
#[repr(C)]
pub struct SignalUnit {
    bits: u32,
    pub(super) before: u32,
    frames: u32,
    frames_before: u32,
    known: [u32; UNIT_WORDS],
    samples: [i16; UNIT_SAMPLES],
}

impl SignalUnit {
    /// A unit of these samples, as many as fit, without bits.
    pub fn new(samples: &[i16]) -> SignalUnit {
        let mut unit = SignalUnit {
            bits: 0,
            before: 0,
            frames: 0,
            frames_before: 0,
            known: [0; UNIT_WORDS],
            samples: [0; UNIT_SAMPLES],
        };
        for (place, sample) in unit.samples.iter_mut().zip(samples) {
            *place = *sample;
        }
        unit
    }
}

/// What a unit brings to an error-free receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brought {
    /// Its bits, at most 1,024.
    pub bits: Vec<bool>,
    /// Frames that end in it: superframes of a DSL, packets of a radio.
    pub frames: u32,
}

/// A signal: a start-up, and a part that is repeated after it without end.
#[derive(Clone)]
pub struct Signal {
    pub(super) units: Vec<SignalUnit>,
    pub(super) start_up: usize,
    pub(super) known_bits: u64,
    pub(super) known_frames: u64,
}

impl Signal {
    /// A signal of these units, the first of which are the start-up, with what each of the others brings.
    ///
    /// # Panics
    /// If the number of known units differs from the number of repeated ones, if there are none, or if one has more
    /// than 1,024 bits.
    pub fn new(mut units: Vec<SignalUnit>, start_up: usize, brought: &[Brought]) -> Signal {
        assert!(
            !brought.is_empty() && units.len() == start_up + brought.len(),
            "what each unit brings that is repeated"
        );
        let (mut known_bits, mut known_frames) = (0u32, 0u32);
        for (unit, Brought { bits, frames }) in units[start_up..].iter_mut().zip(brought) {
            assert!(bits.len() <= 32 * UNIT_WORDS, "{} bits in a unit", bits.len());
            (unit.before, unit.frames_before) = (known_bits, known_frames);
            (unit.bits, unit.frames) = (bits.len() as u32, *frames);
            known_bits += unit.bits;
            known_frames += frames;
            for (index, bit) in bits.iter().enumerate() {
                unit.known[index / 32] |= u32::from(*bit) << (index % 32);
            }
        }
        Signal { units, start_up, known_bits: known_bits.into(), known_frames: known_frames.into() }
    }

    /// Its units.
    pub fn units(&self) -> &[SignalUnit] {
        &self.units
    }

    /// Bits of the repeated part.
    pub fn known_bits(&self) -> u64 {
        self.known_bits
    }

    /// Frames that end in the repeated part.
    pub fn known_frames(&self) -> u64 {
        self.known_frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_c_source() {
        assert_eq!(size_of::<SignalUnit>(), 1_232);
    }
}
