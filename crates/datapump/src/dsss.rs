//! An 802.11b receiver's baseband, and a sender for it.

/// Complex samples of a unit: 12 us, two a chip.
pub const DSSS_UNIT: usize = 264;

/// Complex samples of a preamble with its header, and of a microsecond.
const HEADER: usize = 192 * MICROSECOND;
const MICROSECOND: usize = 22;
const PLACES: usize = 22;
const LINE: usize = 32;
const BITS_WORDS: usize = 64;
/// Octets of the longest frame, and of its check.
const MAX_OCTETS: usize = 2_346;
const CHECK: usize = 4;

unsafe extern "C" {
    fn punctual_dsss_init(state: *mut DsssState);
    fn punctual_dsss_run(state: *mut DsssState, samples: *const i16, count: u64);
    fn punctual_dsss_modulate(frame: *const u8, octets: u64, rate: u32, samples: *mut i16) -> u64;
}

/// The rate of a packet's frame; its preamble and header are always at the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DsssRate {
    /// 1 Mbit/s: the Barker code, turned by a half or not.
    One,
    /// 2 Mbit/s: the Barker code, turned by quarters.
    Two,
    /// 5.5 Mbit/s: one of four complementary codes, turned by quarters.
    FiveAndAHalf,
    /// 11 Mbit/s: one of 64 complementary codes, turned by quarters.
    Eleven,
}

impl DsssRate {
    /// All of them, the lowest first.
    pub const ALL: [DsssRate; 4] = [DsssRate::One, DsssRate::Two, DsssRate::FiveAndAHalf, DsssRate::Eleven];

    /// Bits a second.
    pub fn bits_per_second(self) -> u32 {
        100_000 * self.code()
    }

    /// Its code in a header.
    fn code(self) -> u32 {
        match self {
            DsssRate::One => 10,
            DsssRate::Two => 20,
            DsssRate::FiveAndAHalf => 55,
            DsssRate::Eleven => 110,
        }
    }
}

/// `struct dsss` of `c/dsss.h`: everything that a receiver knows.
#[derive(Clone, PartialEq, Eq)]
#[repr(C)]
pub struct DsssState {
    samples: u64,
    bits_received: u64,
    packets: u64,
    bad_headers: u64,
    bad_frames: u64,
    right: u64,
    header: u64,
    seen: [u64; PLACES],
    sums: [[i64; PLACES]; 3],
    best: i64,
    carrier: [i64; 2],
    last: [i64; 2],
    now: [i64; 2],
    power: i64,
    receiving: [u32; 14],
    taps: [i32; 2],
    input: [i32; 2],
    raw: [u32; PLACES],
    before: [[i32; PLACES]; 2],
    line: [[i32; 2 * LINE]; 2],
    chips: [[i32; 16]; 2],
    pairs: [[i32; 16]; 2],
    cosine: [i32; 256],
    angles: [i32; 16],
    ring: [u32; BITS_WORDS],
}

/// How a receiver is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DsssStatus {
    /// Packets whose preamble was found.
    pub packets: u64,
    /// Those of them whose header was wrong; nothing more of them was received.
    pub bad_headers: u64,
    /// Those of them whose frame's check was wrong.
    pub bad_frames: u64,
    /// Those of them whose frame's check was right.
    pub right: u64,
}

impl DsssState {
    /// A receiver that has heard nothing yet.
    pub fn new() -> DsssState {
        // SAFETY: every field is a number or an array of numbers, of which zero is one.
        let mut state: DsssState = unsafe { std::mem::zeroed() };
        // The mean of the samples of a chip.
        state.taps = [2_048; 2];
        // SAFETY: the layouts are the same, as the C source asserts.
        unsafe { punctual_dsss_init(&raw mut state) }
        state
    }

    /// How it is doing.
    pub fn status(&self) -> DsssStatus {
        let DsssState { packets, bad_headers, bad_frames, right, .. } = *self;
        DsssStatus { packets, bad_headers, bad_frames, right }
    }

    /// Bits of frames so far.
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
        self.taps = [0; 2];
    }
}

impl Default for DsssState {
    fn default() -> DsssState {
        DsssState::new()
    }
}

/// A receiver.
///
/// ```
/// use punctual_datapump::{Dsss, DsssRate, dsss_frame, dsss_packet};
///
/// let frame = dsss_frame(b"eleven million bits a second");
/// let mut receiver = Dsss::new();
/// let mut received = vec![0; frame.len()];
/// let mut place = 0;
/// // The last symbols come out with what follows them.
/// let air = [dsss_packet(&frame, DsssRate::Eleven), vec![0; 128]].concat();
/// receiver.process(&air, &mut |bit| {
///     received[place / 8] |= u8::from(bit) << (place % 8);
///     place += 1;
/// });
/// assert_eq!(received, frame);
/// assert_eq!(receiver.status().right, 1);
/// ```
#[derive(Clone, Default)]
pub struct Dsss {
    state: Box<DsssState>,
}

impl std::fmt::Debug for Dsss {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Dsss").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Dsss {
    /// A receiver that has heard nothing yet.
    pub fn new() -> Dsss {
        Dsss::default()
    }

    /// A receiver whose filter taps are all 0: a control.
    pub fn without_taps() -> Dsss {
        let mut receiver = Dsss::new();
        receiver.state.clear_taps();
        receiver
    }

    /// Takes complex samples, real parts first, and passes on the bits of frames, the lowest of an octet first.
    ///
    /// # Panics
    /// If the last sample has no imaginary part.
    pub fn process(&mut self, samples: &[i16], received_bit: &mut impl FnMut(bool)) {
        assert_eq!(samples.len() % 2, 0, "whole complex samples");
        for part in samples.chunks(2 * DSSS_UNIT) {
            let from = self.state.bits_received;
            // SAFETY: the layouts are the same, as the C source asserts; the function reads two numbers a sample.
            unsafe { punctual_dsss_run(&raw mut *self.state, part.as_ptr(), part.len() as u64 / 2) }
            self.state.bits_since(from, received_bit);
        }
    }

    /// How it is doing.
    pub fn status(&self) -> DsssStatus {
        self.state.status()
    }

    /// Everything it knows.
    pub fn state(&self) -> &DsssState {
        &self.state
    }
}

/// A frame with these octets and their check: at most 2,342, the rest is left out.
pub fn dsss_frame(octets: &[u8]) -> Vec<u8> {
    let octets = &octets[..octets.len().min(MAX_OCTETS - CHECK)];
    let check = octets.iter().fold(u32::MAX, |check, octet| {
        (0..8).fold(check, |check, bit| {
            let out = (check ^ u32::from(octet >> bit)) & 1;
            check >> 1 ^ (out * 0xedb8_8320)
        })
    });
    [octets, &(!check).to_le_bytes()].concat()
}

/// A packet with this frame, at most 2,346 octets of it: the long preamble and the header at 1 Mbit/s, the frame at this rate.
/// Complex samples, two a chip, real parts first, of a level of 8,192.
pub fn dsss_packet(frame: &[u8], rate: DsssRate) -> Vec<i16> {
    let frame = &frame[..frame.len().min(MAX_OCTETS)];
    // At 1 Mbit/s a bit is a microsecond, and no rate takes longer.
    let mut samples = vec![0; 2 * (HEADER + 8 * MICROSECOND * frame.len())];
    // SAFETY: there is room for as many samples as the function writes for so many octets at any rate.
    let count =
        unsafe { punctual_dsss_modulate(frame.as_ptr(), frame.len() as u64, rate.code(), samples.as_mut_ptr()) };
    samples.truncate(2 * count as usize);
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_c_source() {
        // As the C source asserts.
        assert_eq!(size_of::<DsssState>(), 3_272);
    }
}
