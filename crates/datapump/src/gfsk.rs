//! A Bluetooth receiver's baseband, and a sender for it.

/// Complex samples a bit: 4,000,000 a second.
pub const GFSK_SAMPLES_A_BIT: usize = 4;
/// Complex samples of a unit: 62.5 us.
pub const GFSK_UNIT: usize = 250;
/// Bits of a packet's payload, 16 of which are its check.
pub const GFSK_PAYLOAD: usize = 240;

const TAPS: usize = 4;
const CODE: usize = 64;
const BITS_WORDS: usize = 64;
/// The access code of the signals here: half of its bits are set.
const ACCESS_CODE: u64 = 0x9a3b_7c15_d28a_4f61;
/// The initial state of the whitener and the checks: the clock and the address of the sending device.
const WHITENING: u32 = 0x55;
const CHECK: u32 = 0x47;

unsafe extern "C" {
    fn punctual_gfsk_modulate(bits: *const u8, count: u64, samples: *mut i16);
    fn punctual_gfsk_run(state: *mut GfskState, samples: *const i16, count: u64);
}

/// `struct gfsk` of `c/gfsk.h`: everything that a receiver knows.
#[derive(Clone, PartialEq, Eq)]
#[repr(C)]
pub struct GfskState {
    samples: u64,
    bits_received: u64,
    packets: u64,
    bad_headers: u64,
    bad_payloads: u64,
    right: u64,
    code: u64,
    seen: [u64; 4],
    sums: [[i64; 4]; 3],
    best: i64,
    carrier: [i64; 2],
    receive: u32,
    wait: u32,
    index: u32,
    whitening: u32,
    whitening_begin: u32,
    check_begin: u32,
    check: u32,
    votes: u32,
    times: u32,
    position: u32,
    taps: [i32; TAPS],
    input: [i32; 4 * TAPS],
    filtered: [i32; 8],
    turns: [i32; 2 * CODE * GFSK_SAMPLES_A_BIT],
    ring: [u32; BITS_WORDS],
}

/// How a receiver is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GfskStatus {
    /// Packets whose access code was found.
    pub packets: u64,
    /// Those of them whose header's check was wrong.
    pub bad_headers: u64,
    /// Those of them whose payload's check was wrong.
    pub bad_payloads: u64,
    /// Those of them whose payload's check was right.
    pub right: u64,
}

impl GfskState {
    /// A receiver that has heard nothing yet.
    pub fn new() -> GfskState {
        // SAFETY: every field is a number or an array of numbers, of which zero is one.
        let mut state: GfskState = unsafe { std::mem::zeroed() };
        // The mean of the samples of a bit.
        state.taps = [4_096 / TAPS as i32; TAPS];
        (state.code, state.whitening_begin, state.check_begin) = (ACCESS_CODE, WHITENING, CHECK);
        state
    }

    /// How it is doing.
    pub fn status(&self) -> GfskStatus {
        let GfskState { packets, bad_headers, bad_payloads, right, .. } = *self;
        GfskStatus { packets, bad_headers, bad_payloads, right }
    }

    /// Payload bits so far.
    pub fn bits_received(&self) -> u64 {
        self.bits_received
    }

    /// The bit with this number, one of the newest 2,048.
    pub fn bit(&self, index: u64) -> bool {
        crate::bits::bit_at(&self.ring, index)
    }

    /// Passes on the bits from this number on, of the newest 2,048.
    pub fn bits_since(&self, from: u64, received_bit: &mut impl FnMut(bool)) {
        (from..self.bits_received).for_each(|index| received_bit(self.bit(index)));
    }

    /// Sets the filter's taps to zero: a control.
    pub fn clear_taps(&mut self) {
        self.taps = [0; TAPS];
    }
}

impl Default for GfskState {
    fn default() -> GfskState {
        GfskState::new()
    }
}

/// A receiver.
///
/// ```
/// use punctual_datapump::{Gfsk, gfsk_packet, gfsk_payload};
///
/// let payload = gfsk_payload((0..224).map(|bit| bit % 3 == 0));
/// let mut receiver = Gfsk::new();
/// let mut received = Vec::new();
/// receiver.process(&gfsk_packet(&payload), &mut |bit| received.push(bit));
/// assert_eq!(received, payload);
/// ```
#[derive(Clone, Default)]
pub struct Gfsk {
    state: Box<GfskState>,
}

impl std::fmt::Debug for Gfsk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gfsk").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Gfsk {
    /// A receiver that has heard nothing yet.
    pub fn new() -> Gfsk {
        Gfsk::default()
    }

    /// A receiver whose filter taps are all 0: a control.
    pub fn without_taps() -> Gfsk {
        let mut receiver = Gfsk::new();
        receiver.state.clear_taps();
        receiver
    }

    /// Takes complex samples, real parts first, and passes on the bits of payloads.
    ///
    /// # Panics
    /// If the last sample has no imaginary part.
    pub fn process(&mut self, samples: &[i16], received_bit: &mut impl FnMut(bool)) {
        assert_eq!(samples.len() % 2, 0, "whole complex samples");
        for part in samples.chunks(2 * GFSK_UNIT) {
            let from = self.state.bits_received;
            // SAFETY: the layouts are the same, as the C source asserts; the function reads two numbers a sample.
            unsafe { punctual_gfsk_run(&raw mut *self.state, part.as_ptr(), part.len() as u64 / 2) }
            self.state.bits_since(from, received_bit);
        }
    }

    /// How it is doing.
    pub fn status(&self) -> GfskStatus {
        self.state.status()
    }

    /// Everything it knows.
    pub fn state(&self) -> &GfskState {
        &self.state
    }
}

/// The payload of a packet with these 224 bits: the bits and their check.
pub fn gfsk_payload(data: impl Iterator<Item = bool>) -> Vec<bool> {
    let mut payload: Vec<bool> = data.take(GFSK_PAYLOAD - 16).collect();
    payload.resize(GFSK_PAYLOAD - 16, false);
    let mut check = CHECK << 8;
    for bit in &payload {
        let out = (check >> 15 ^ u32::from(*bit)) & 1;
        check = (check << 1 & 0xffff) ^ (out * 0x1021);
    }
    payload.extend((0..16).rev().map(|place| check >> place & 1 == 1));
    payload
}

/// A packet with this payload, as on the air: preamble, access code, trailer, a header three times, whitened with the
/// payload. Complex samples, four a bit and 12 more, real parts first, of a level of 8,192.
pub fn gfsk_packet(payload: &[bool]) -> Vec<i16> {
    let alternating = (0..4).map(|bit| bit & 1);
    let mut bits: Vec<u8> = alternating.clone().collect();
    bits.extend((0..CODE).rev().map(|place| (ACCESS_CODE >> place & 1) as u8));
    bits.extend(alternating);
    let header: [u32; 10] = [1, 0, 0, 0, 1, 1, 0, 1, 0, 1];
    let mut check = CHECK;
    for bit in header {
        let out = (check >> 7 ^ bit) & 1;
        check = (check << 1 & 0xff) ^ (out * 0xa7);
    }
    let mut whitener = WHITENING;
    let mut whiten = |bit: u32| {
        let out = whitener >> 6 & 1;
        whitener = (whitener << 1 & 0x7f) ^ (out * 0x11);
        (bit ^ out) as u8
    };
    for bit in header.into_iter().chain((0..8).rev().map(|place| check >> place & 1)) {
        bits.extend([whiten(bit); 3]);
    }
    bits.extend(payload.iter().map(|bit| whiten(u32::from(*bit))));
    let mut samples = vec![0; 2 * (GFSK_SAMPLES_A_BIT * bits.len() + 12)];
    // SAFETY: there are as many samples as the function writes for so many bits.
    unsafe { punctual_gfsk_modulate(bits.as_ptr(), bits.len() as u64, samples.as_mut_ptr()) }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_c_source() {
        // As the C source asserts.
        assert_eq!(size_of::<GfskState>(), 2_664);
    }
}
