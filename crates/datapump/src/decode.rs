//! A device that decodes a signal that was made beforehand, and counts what is wrong with it.

use crate::dmt::DmtState;
use std::sync::Arc;

/// Words of 32 bits for the bits of a unit: `UNIT_WORDS` of `c/decode.h`.
const UNIT_WORDS: usize = 32;
/// The most samples of a unit.
const UNIT_SAMPLES: usize = 544;

unsafe extern "C" {
    fn punctual_dmt_decode(decoder: *mut DmtDecoderState, signal: *const SignalUnit, units: u64);
    fn punctual_dmt_begin_block(decoder: *mut DmtDecoderState, signal: *const SignalUnit, block: u64);
}

/// `struct signal_unit` of `c/decode.h`: samples that are received together, and the bits that they bring.
#[derive(Clone)]
#[repr(C)]
pub struct SignalUnit {
    bits: u32,
    before: u32,
    known: [u32; UNIT_WORDS],
    samples: [i16; UNIT_SAMPLES],
}

impl SignalUnit {
    /// A unit of these samples, of which as many as fit are kept, and of no bits.
    pub fn new(samples: &[i16]) -> SignalUnit {
        let mut unit = SignalUnit { bits: 0, before: 0, known: [0; UNIT_WORDS], samples: [0; UNIT_SAMPLES] };
        for (place, sample) in unit.samples.iter_mut().zip(samples) {
            *place = *sample;
        }
        unit
    }
}

/// A signal: a start-up, and what is repeated behind it without an end.
#[derive(Clone)]
pub struct Signal {
    units: Vec<SignalUnit>,
    start_up: usize,
    known_bits: u64,
}

impl Signal {
    /// A signal of these units, of which so many are the start-up, and of the bits that each of the others brings.
    ///
    /// # Panics
    /// If there are not as many lists of bits as units to be repeated, none at all, or more than 1,024 bits in one.
    pub fn new(mut units: Vec<SignalUnit>, start_up: usize, bits: &[Vec<bool>]) -> Signal {
        assert!(!bits.is_empty() && units.len() == start_up + bits.len(), "bits of each unit that is repeated");
        let mut known_bits = 0u32;
        for (unit, bits) in units[start_up..].iter_mut().zip(bits) {
            assert!(bits.len() <= 32 * UNIT_WORDS, "{} bits in a unit", bits.len());
            unit.before = known_bits;
            unit.bits = bits.len() as u32;
            known_bits += unit.bits;
            for (index, bit) in bits.iter().enumerate() {
                unit.known[index / 32] |= u32::from(*bit) << (index % 32);
            }
        }
        Signal { units, start_up, known_bits: known_bits.into() }
    }

    /// Its units.
    pub fn units(&self) -> &[SignalUnit] {
        &self.units
    }

    /// Units before the part that is repeated.
    pub fn start_up(&self) -> usize {
        self.start_up
    }

    /// Bits of the part that is repeated.
    pub fn known_bits(&self) -> u64 {
        self.known_bits
    }
}

/// What came of a signal so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DecodingCounts {
    /// Units that were worked on.
    pub units: u64,
    /// Those of them during which data came.
    pub connected: u64,
    /// Bits that were known of the units worked on.
    pub bits: u64,
    /// Bits received that are not those known, or of which none was known.
    pub wrong: u64,
    /// Bits known that were not received, those of units that nobody worked on included.
    pub missing: u64,
    /// Units that nobody worked on.
    pub skipped: u64,
    /// Connections that were lost.
    pub restarts: u64,
}

/// `struct decoding` of `c/decode.h`: how far a device has come with its signal, and what came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
struct Decoding {
    counts: DecodingCounts,
    next_block: u64,
    known_bits: u64,
    place: u32,
    start_up: u32,
    length: u32,
    units_a_block: u32,
    left_of_block: u32,
    pad: u32,
    compare_from: u64,
    known_from: u32,
    compare: u32,
}

/// `struct dmt_decoder` of `c/dmt_decoder.h`: everything that such a device knows but the signal itself.
#[derive(Clone, PartialEq, Eq)]
#[repr(C)]
pub struct DmtDecoderState {
    decoding: Decoding,
    last_sent: i32,
    hybrid: u32,
    pump: DmtState,
}

impl DmtDecoderState {
    /// A device with this pump, over two wires or four. It expects the first unit of a signal of which nothing is known.
    pub fn new(pump: &DmtState, two_wires: bool) -> DmtDecoderState {
        let decoding = Decoding { length: u32::MAX, ..Decoding::default() };
        DmtDecoderState { decoding, last_sent: 0, hybrid: two_wires.into(), pump: pump.clone() }
    }

    /// What came of the signal so far.
    pub fn counts(&self) -> DecodingCounts {
        self.decoding.counts
    }

    /// The same of a state in shared memory, which a program may be changing: whole words.
    ///
    /// # Safety
    /// There must be a state, or memory that is as large and as aligned, which stays as long as this runs.
    pub unsafe fn shared_counts(state: *const DmtDecoderState) -> DecodingCounts {
        // SAFETY: as the caller promises; the field lies within the state.
        unsafe { (&raw const (*state).decoding.counts).read_volatile() }
    }

    /// Its pump.
    pub fn pump(&self) -> &DmtState {
        &self.pump
    }

    /// Works on one unit that is no part of a signal yet, and hands on the bits that it brought.
    pub fn hear(&mut self, unit: &SignalUnit, received_bit: &mut impl FnMut(bool)) {
        self.decoding.place = 0;
        let from = self.pump.received_bits();
        // SAFETY: the layouts are the same, as tests of sizes, places and outputs check; the signal is one unit, and the
        // first is the one that is expected.
        unsafe { punctual_dmt_decode(self, unit, 1) }
        for index in from..self.pump.received_bits() {
            received_bit(self.pump.received_bit(index));
        }
    }

    /// From now on it expects the part of this signal that is repeated, so many units of it in each block; nothing was counted
    /// yet.
    pub fn expect(&mut self, signal: &Signal, units_a_block: u32) {
        self.decoding = Decoding {
            known_bits: signal.known_bits,
            place: signal.start_up as u32,
            start_up: signal.start_up as u32,
            length: signal.units.len() as u32,
            units_a_block,
            ..Decoding::default()
        };
    }

    /// The same with so many banks of 64 taps of the echo canceller, [`crate::MAX_DMT_BANKS`] at most; without any, over four
    /// wires.
    pub fn set_echo_banks(&mut self, banks: u32) {
        self.pump.set_echo_banks(banks);
        self.hybrid = u32::from(banks > 0);
    }

    /// Sets the equalizer's taps to zero, and keeps them there: a control.
    pub fn clear_taps(&mut self) {
        self.pump.clear_taps();
    }
}

/// A device that decodes a DSL in the processor's own code.
#[derive(Clone)]
pub struct DmtDecoder {
    state: Box<DmtDecoderState>,
    signal: Arc<Signal>,
}

impl DmtDecoder {
    /// A device that goes on from here; the state is to expect this signal ([`DmtDecoderState::expect`]).
    ///
    /// # Panics
    /// If it expects another.
    pub fn new(state: Box<DmtDecoderState>, signal: Arc<Signal>) -> DmtDecoder {
        assert_eq!(state.decoding.length as usize, signal.units.len(), "the signal that is expected");
        assert!(state.decoding.place < state.decoding.length, "a place in the signal");
        DmtDecoder { state, signal }
    }

    /// The block with this number comes next: what lies between is gone.
    #[inline]
    pub fn begin_block(&mut self, block: u64) {
        // SAFETY: the layouts are the same; every place that is looked up lies within the signal, as `new` checked and the
        // function keeps.
        unsafe { punctual_dmt_begin_block(&raw mut *self.state, self.signal.units.as_ptr(), block) }
    }

    /// Works on so many units.
    #[inline]
    pub fn run(&mut self, units: u64) {
        // SAFETY: as for `begin_block`.
        unsafe { punctual_dmt_decode(&raw mut *self.state, self.signal.units.as_ptr(), units) }
    }

    /// Everything that it knows.
    pub fn state(&self) -> &DmtDecoderState {
        &self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_layouts_are_those_of_the_c_source() {
        assert_eq!(size_of::<SignalUnit>(), 1_224);
        assert_eq!(offset_of!(DmtDecoderState, pump), 120);
    }
}
