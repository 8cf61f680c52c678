//! What processes the units of a signal, one kind for each signal.

use super::counts::Decoding;
use super::signal::SignalUnit;
use crate::dmt::DmtState;
use crate::dsss::DsssState;
use crate::gfsk::GfskState;

unsafe extern "C" {
    fn punctual_dmt_decode(decoder: *mut DecoderState<DmtEnd>, signal: *const SignalUnit, units: u64);
    fn punctual_gfsk_decode(decoder: *mut DecoderState<GfskState>, signal: *const SignalUnit, units: u64);
    fn punctual_dsss_decode(decoder: *mut DecoderState<DsssState>, signal: *const SignalUnit, units: u64);
}

/// Processes this many units of a signal.
pub type DecodeUnits<R> = unsafe extern "C" fn(*mut DecoderState<R>, *const SignalUnit, u64);

/// What receives a signal. A new one takes an implementation of this, `NAME_decode.h` and `NAME_decoder.h` in C, and
/// `device_NAME.h` for BPF.
///
/// # Safety
/// It has the layout of the C source's state, contains only numbers, without addresses and without gaps between them,
/// and [`Receiver::DECODE`] works on a decoder with such a state.
pub unsafe trait Receiver: Clone + PartialEq + Send + 'static {
    /// The C source.
    const DECODE: DecodeUnits<Self>;

    /// Bits received so far.
    fn received_bits(&self) -> u64;

    /// The received bit with this number, one of the newest 2,048.
    fn received_bit(&self, index: u64) -> bool;

    /// Frames so far whose check was right.
    fn right_frames(&self) -> u64;

    /// Sets the taps through which everything is received to 0, and keeps them there: a control.
    fn clear_taps(&mut self);

    /// Sets how many banks of taps its echo canceller has, if it has one.
    fn set_echo_banks(&mut self, _banks: u32) {}
}

/// The end of a DSL at home: its datapump, and the echo of what it sends.
#[derive(Clone, PartialEq, Eq)]
#[repr(C)]
pub struct DmtEnd {
    last_sent: i32,
    hybrid: u32,
    pump: DmtState,
}

impl DmtEnd {
    /// An end with this pump, over two wires or four.
    pub fn new(pump: &DmtState, two_wires: bool) -> DmtEnd {
        DmtEnd { last_sent: 0, hybrid: two_wires.into(), pump: pump.clone() }
    }

    /// Its pump.
    pub fn pump(&self) -> &DmtState {
        &self.pump
    }
}

// SAFETY: the layouts are the same, as tests of sizes, places and outputs check; all are numbers, each at the end of the
// one before.
unsafe impl Receiver for DmtEnd {
    const DECODE: DecodeUnits<DmtEnd> = punctual_dmt_decode;

    fn received_bits(&self) -> u64 {
        self.pump.received_bits()
    }

    fn received_bit(&self, index: u64) -> bool {
        self.pump.received_bit(index)
    }

    fn right_frames(&self) -> u64 {
        self.pump.right_superframes()
    }

    fn clear_taps(&mut self) {
        self.pump.clear_taps();
    }

    /// Without any, over four wires.
    fn set_echo_banks(&mut self, banks: u32) {
        self.pump.set_echo_banks(banks);
        self.hybrid = u32::from(banks > 0);
    }
}

/// For a radio's receiver, which has its bits, frames and taps itself.
macro_rules! radio {
    ($state:ty, $decode:expr) => {
        // SAFETY: as for the end of a DSL.
        unsafe impl Receiver for $state {
            const DECODE: DecodeUnits<$state> = $decode;

            fn received_bits(&self) -> u64 {
                <$state>::bits_received(self)
            }

            fn received_bit(&self, index: u64) -> bool {
                <$state>::bit(self, index)
            }

            fn right_frames(&self) -> u64 {
                self.status().right
            }

            fn clear_taps(&mut self) {
                <$state>::clear_taps(self);
            }
        }
    };
}

radio!(GfskState, punctual_gfsk_decode);
radio!(DsssState, punctual_dsss_decode);

/// `struct NAME_decoder` of `c/NAME_decoder.h`: everything that such a device knows except the signal itself.
#[derive(Clone, PartialEq, Eq)]
#[repr(C)]
pub struct DecoderState<R> {
    pub(super) decoding: Decoding,
    pub(super) receiver: R,
}

impl<R: Receiver> DecoderState<R> {
    /// A device with this receiver. It expects the first unit of a signal about which nothing is known.
    pub fn new(receiver: R) -> DecoderState<R> {
        DecoderState { decoding: Decoding { length: u32::MAX, ..Decoding::default() }, receiver }
    }

    /// Its receiver.
    pub fn receiver(&self) -> &R {
        &self.receiver
    }

    /// Processes one unit that is not part of a signal yet, and passes on the bits that it brought; returns how many
    /// frames ended with a right check.
    pub fn hear(&mut self, unit: &SignalUnit, received_bit: &mut impl FnMut(bool)) -> u32 {
        self.decoding.place = 0;
        let (from, right) = (self.receiver.received_bits(), self.receiver.right_frames());
        // SAFETY: the signal is one unit, and the first is the one that is expected.
        unsafe { R::DECODE(self, unit, 1) }
        for index in from..self.receiver.received_bits() {
            received_bit(self.receiver.received_bit(index));
        }
        (self.receiver.right_frames() - right) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_layouts_are_those_of_the_c_source() {
        assert_eq!(offset_of!(DecoderState<DmtEnd>, receiver) + offset_of!(DmtEnd, pump), 144);
        assert_eq!(offset_of!(DecoderState<GfskState>, receiver), 136);
        assert_eq!(offset_of!(DecoderState<DsssState>, receiver), 136);
    }
}
