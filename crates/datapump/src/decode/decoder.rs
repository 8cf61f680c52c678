//! A device that decodes, with any receiver.

use super::counts::{Decoding, DecodingCounts};
use super::receiver::{DecoderState, Receiver};
use super::signal::{Signal, SignalUnit};
use std::sync::Arc;

unsafe extern "C" {
    fn punctual_begin_block(decoding: *mut Decoding, signal: *const SignalUnit, block: u64);
}

/// A state with an unspecified receiver.
trait AnyState: Send {
    fn decoding(&mut self) -> &mut Decoding;
    fn counts(&self) -> DecodingCounts;
    fn bytes(&self) -> &[u8];
    fn copy(&self) -> Box<dyn AnyState>;
    fn clear_taps(&mut self);
    fn set_echo_banks(&mut self, banks: u32);

    /// # Safety
    /// The place that the state expects and all that follow must lie within the signal.
    unsafe fn run(&mut self, signal: *const SignalUnit, units: u64);
}

impl<R: Receiver> AnyState for DecoderState<R> {
    fn decoding(&mut self) -> &mut Decoding {
        &mut self.decoding
    }

    fn counts(&self) -> DecodingCounts {
        self.decoding.counts
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: numbers without gaps, as every receiver promises.
        unsafe { std::slice::from_raw_parts((&raw const *self).cast(), size_of_val(self)) }
    }

    fn copy(&self) -> Box<dyn AnyState> {
        Box::new(self.clone())
    }

    fn clear_taps(&mut self) {
        self.receiver.clear_taps();
    }

    fn set_echo_banks(&mut self, banks: u32) {
        self.receiver.set_echo_banks(banks);
    }

    unsafe fn run(&mut self, signal: *const SignalUnit, units: u64) {
        // SAFETY: as the caller promises.
        unsafe { R::DECODE(self, signal, units) }
    }
}

/// A device that decodes a signal, in the processor's own code.
pub struct Decoder {
    state: Box<dyn AnyState>,
    signal: Arc<Signal>,
}

impl Clone for Decoder {
    fn clone(&self) -> Decoder {
        Decoder { state: self.state.copy(), signal: Arc::clone(&self.signal) }
    }
}

impl Decoder {
    /// A device that goes on from here, at the repeated part of this signal; nothing has been counted yet.
    pub fn new<R: Receiver>(state: DecoderState<R>, signal: Arc<Signal>) -> Decoder {
        let mut decoder = Decoder { state: Box::new(state), signal };
        decoder.expect_blocks(1);
        decoder
    }

    /// From now on it expects the repeated part of the signal, this many units of it in each block; nothing has been
    /// counted yet.
    pub fn expect_blocks(&mut self, units_a_block: u32) {
        let Signal { ref units, start_up, known_bits, known_frames } = *self.signal;
        *self.state.decoding() = Decoding {
            known_bits,
            known_frames,
            place: start_up as u32,
            start_up: start_up as u32,
            length: units.len() as u32,
            units_a_block,
            ..Decoding::default()
        };
    }

    /// The signal.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Sets how many banks of 64 taps its echo canceller has, if it has one.
    pub fn set_echo_banks(&mut self, banks: u32) {
        self.state.set_echo_banks(banks);
    }

    /// Sets the taps through which everything is received to 0, and keeps them there: a control.
    pub fn clear_taps(&mut self) {
        self.state.clear_taps();
    }

    /// The block with this number comes next: what is in between is gone.
    #[inline]
    pub fn begin_block(&mut self, block: u64) {
        // SAFETY: the layouts are the same; every place that is looked up lies within the signal, as `expect_blocks` set it
        // and the function keeps it.
        unsafe { punctual_begin_block(self.state.decoding(), self.signal.units.as_ptr(), block) }
    }

    /// Processes this many units.
    #[inline]
    pub fn run(&mut self, units: u64) {
        // SAFETY: as for `begin_block`.
        unsafe { self.state.run(self.signal.units.as_ptr(), units) }
    }

    /// The result of the signal so far.
    #[inline]
    pub fn counts(&self) -> DecodingCounts {
        self.state.counts()
    }

    /// Everything that it knows except the signal, as it is in memory shared with a BPF program; [`DecodingCounts`] are
    /// the first.
    pub fn bytes(&self) -> &[u8] {
        self.state.bytes()
    }
}
