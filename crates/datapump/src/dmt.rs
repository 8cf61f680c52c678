//! A DSL modem's datapump.

use crate::Phase;
use crate::bits;

/// How many banks of 64 taps the echo canceller may have.
pub const MAX_DMT_BANKS: u32 = 8;

const SIZE: usize = 512;
const TONES: usize = SIZE / 2;
const SAMPLES: usize = 1_024;
const WINDOW: usize = 2_048;
const BITS_WORDS: usize = 2_048;
const ECHO: usize = 8_192;
const BANK: u32 = 64;
/// `enum dmt_stage` and `enum dmt_sending` of `c/dmt.h`.
const CONNECTED: u32 = 5;
const SEND_DATA: u32 = 6;

unsafe extern "C" {
    fn punctual_dmt_init(state: *mut DmtState);
    fn punctual_dmt_run(state: *mut DmtState, received: *const i16, sent: *mut i16);
    #[cfg(test)]
    fn punctual_dmt_size() -> u64;
}

/// Which end of a DSL line a pump is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the exchange: sends first, on the upper tones (downstream).
    Office,
    /// At home: listens first, sends on 25 lower tones (upstream).
    Remote,
}

/// How many tones a line has, 4,312.5 Hz apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmtSize {
    /// 128 tones of 1,104,000 samples a second, as G.lite has; downstream 33 to 127.
    Lite,
    /// 256 tones of 2,208,000 samples a second, as full-rate DSL has; downstream 33 to 255.
    Full,
}

impl DmtSize {
    /// Both sizes.
    pub const ALL: [DmtSize; 2] = [DmtSize::Lite, DmtSize::Full];

    /// Samples of a symbol with its prefix: 272 or 544, 246.4 us.
    pub fn symbol_samples(self) -> usize {
        match self {
            DmtSize::Lite => 272,
            DmtSize::Full => 544,
        }
    }

    /// Samples a second.
    pub fn sample_rate(self) -> u32 {
        match self {
            DmtSize::Lite => 1_104_000,
            DmtSize::Full => 2_208_000,
        }
    }
}

/// What a pump may do, and how much it computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmtOptions {
    /// How many tones there are. Both ends must have the same number.
    pub size: DmtSize,
    /// Banks of 64 taps of the echo canceller, 0 to [`MAX_DMT_BANKS`]: how much it computes. One is enough for the echo of
    /// a hybrid; without any, four wires are needed.
    pub echo_banks: u32,
    /// Samples between one that is sent and the first that may contain its echo: what buffers between pump and line
    /// hold, up to 7,680.
    pub echo_delay: u32,
    /// The most bits of a tone: 2, 4, 6, 8 or 10.
    pub max_bits: u32,
    /// Bits of each tone that this end receives, whatever it can carry; for measuring errors.
    pub fixed_bits: Option<u32>,
    /// Whether it trains again by itself when the checks of 12 superframes in a row are wrong.
    pub retrain: bool,
    /// Whether the equalizer learns. Otherwise all its taps stay zero, and nothing is received: a control.
    pub equalizer: bool,
}

impl Default for DmtOptions {
    fn default() -> DmtOptions {
        DmtOptions {
            size: DmtSize::Lite,
            echo_banks: 1,
            echo_delay: 0,
            max_bits: 10,
            fixed_bits: None,
            retrain: true,
            equalizer: true,
        }
    }
}

/// How a pump is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DmtStatus {
    /// The state of the connection.
    pub phase: Phase,
    /// Bits of a symbol that is sent while connected; 0 before.
    pub send_bits: u32,
    /// Bits of a symbol that is received while connected; 0 before.
    pub receive_bits: u32,
    /// The mean square error of the newest 1,024 decisions, as a share of a tone's power.
    pub mean_square_error: f64,
    /// Received superframes.
    pub superframes: u64,
    /// Those of them whose check was wrong.
    pub bad_superframes: u64,
    /// Connections that were given up to train again, by either end.
    pub retrains: u32,
    /// Start-ups that failed and began again.
    pub failures: u32,
    /// Symbols processed so far.
    pub symbols: u64,
}

impl DmtStatus {
    /// Bits received a second: 68 of 69 symbols are data, of which 16 bits a superframe are the check. A superframe takes
    /// 17 ms.
    pub fn received_bits_per_second(&self) -> u32 {
        (68 * self.receive_bits).saturating_sub(16) * 1_000 / 17
    }
}

/// `struct dmt` of `c/dmt.h`: everything that a pump knows. It contains no address, so that it can be in memory shared
/// with a BPF program.
#[derive(Clone, PartialEq, Eq)]
#[repr(C)]
pub struct DmtState {
    symbols: u64,
    bits_sent: u64,
    bits_given: u64,
    bits_received: u64,
    bits_taken: u64,
    superframes: u64,
    bad_superframes: u64,
    energy: u64,
    role: u32,
    order: u32,
    banks: u32,
    echo_delay: u32,
    max_bits: u32,
    fixed_bits: u32,
    may_retrain: u32,
    learns: u32,
    stage: u32,
    timer: u32,
    retrains: u32,
    failures: u32,
    bits_lost: u32,
    send_loaded: u32,
    receive_loaded: u32,
    send_used: u32,
    receive_used: u32,
    square_error: u32,
    size: u32,
    prefix: u32,
    length: u32,
    tones: [u32; 4],
    send_shift: u32,
    send: u32,
    sender: [u32; 11],
    echo: [u32; 3],
    receive: u32,
    receiver: [u32; 26],
    place_sum: i64,
    agreement: i64,
    best: i64,
    energy_sum: u64,
    error_total: u64,
    echo_sum: i64,
    cosine: [i32; SIZE],
    reversed: [u32; SIZE],
    threshold: [u32; 8],
    unit: [i32; 8],
    taps_re: [i32; TONES],
    taps_im: [i32; TONES],
    power: [u64; TONES],
    strength: [u32; TONES],
    point_re: [i32; TONES],
    point_im: [i32; TONES],
    error_sum: [u64; TONES],
    send_bits: [u32; TONES],
    receive_bits: [u32; TONES],
    re: [i32; SIZE],
    im: [i32; SIZE],
    correlation: [i64; SAMPLES],
    window: [i32; WINDOW],
    received: [i16; SAMPLES],
    sent: [i16; SAMPLES],
    send_ring: [u32; BITS_WORDS],
    receive_ring: [u32; BITS_WORDS],
    echo_taps: [i32; (BANK * MAX_DMT_BANKS) as usize],
    echo_line: [i32; 2 * ECHO],
}

/// One end's datapump: samples to bits and back, both directions at once on two wires, a symbol at a time.
///
/// It speaks a start-up of its own, in the manner of G.lite; two of these understand each other, and nobody else.
///
/// ```
/// use punctual_datapump::{Dmt, DmtOptions, End, Phase};
///
/// let mut office = Dmt::new(End::Office, DmtOptions::default());
/// let mut remote = Dmt::new(End::Remote, DmtOptions::default());
/// let (mut down, mut up) = ([0; 272], [0; 272]);
/// let mut received = 0;
/// // A second over four wires that do nothing to the signal.
/// for _ in 0..4_059 {
///     let heard = up;
///     office.process(&heard, &mut down, &mut || Some(false), &mut |_| ());
///     remote.process(&down, &mut up, &mut || None, &mut |bit| received += u32::from(!bit));
/// }
/// assert_eq!(remote.status().phase, Phase::Connected);
/// assert!(received > 100_000);
/// ```
#[derive(Clone)]
pub struct Dmt {
    state: Box<DmtState>,
}

impl std::fmt::Debug for Dmt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Dmt").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Dmt {
    /// A pump that begins with the first symbol that it processes. Options out of range are moved into it.
    pub fn new(end: End, options: DmtOptions) -> Dmt {
        // SAFETY: every field is a number or an array of numbers, of which zero is one.
        let mut state: Box<DmtState> = Box::new(unsafe { std::mem::zeroed() });
        let even = |bits: u32| (bits & !1).clamp(2, 10);
        state.role = (end == End::Office).into();
        state.order = match options.size {
            DmtSize::Lite => 8,
            DmtSize::Full => 9,
        };
        state.banks = options.echo_banks.min(MAX_DMT_BANKS);
        state.echo_delay = options.echo_delay.min(ECHO as u32 - BANK * MAX_DMT_BANKS);
        state.max_bits = even(options.max_bits);
        state.fixed_bits = options.fixed_bits.map_or(0, even);
        state.may_retrain = options.retrain.into();
        state.learns = options.equalizer.into();
        // SAFETY: the layouts are the same, as a test of sizes and places checks; the function touches nothing else.
        unsafe { punctual_dmt_init(&raw mut *state) }
        Dmt { state }
    }

    /// Takes received samples and fills the same number to send, whole symbols of both.
    ///
    /// While connected, it asks `bit_to_send` for the bits of each symbol; if that has none, the pump sends ones.
    /// `received_bit` gets each received bit.
    ///
    /// # Panics
    /// If the blocks differ in length or are not a whole number of symbols ([`DmtSize::symbol_samples`]).
    pub fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        bit_to_send: &mut impl FnMut() -> Option<bool>,
        received_bit: &mut impl FnMut(bool),
    ) {
        let length = self.state.symbol_samples();
        assert_eq!(received.len(), sent.len(), "as many samples are sent as received");
        assert_eq!(received.len() % length, 0, "whole symbols");
        for (received, sent) in received.chunks(length).zip(sent.chunks_mut(length)) {
            self.state.give_bits(1, bit_to_send);
            // SAFETY: the layouts are the same; both blocks are as long as a symbol of this pump.
            unsafe { punctual_dmt_run(&raw mut *self.state, received.as_ptr(), sent.as_mut_ptr()) }
            self.state.take_bits(received_bit);
        }
    }

    /// How it is doing.
    pub fn status(&self) -> DmtStatus {
        self.state.status()
    }

    /// Everything it knows.
    pub fn state(&self) -> &DmtState {
        &self.state
    }
}

impl DmtState {
    /// How it is doing.
    pub fn status(&self) -> DmtStatus {
        let phase = self.phase();
        let connected = |bits: u32| if phase == Phase::Connected { bits } else { 0 };
        DmtStatus {
            phase,
            send_bits: connected(self.send_loaded),
            receive_bits: connected(self.receive_loaded),
            mean_square_error: f64::from(self.square_error) / f64::from(1 << 24),
            superframes: self.superframes,
            bad_superframes: self.bad_superframes,
            retrains: self.retrains,
            failures: self.failures,
            symbols: self.symbols,
        }
    }

    /// Samples of a symbol.
    pub fn symbol_samples(&self) -> usize {
        self.length as usize
    }

    /// The bits of each tone that this end receives, from tone 0 on.
    pub fn received_tones(&self) -> &[u32] {
        &self.receive_bits[..self.size as usize / 2]
    }

    fn phase(&self) -> Phase {
        match (self.stage, self.receive) {
            (CONNECTED, _) => Phase::Connected,
            (_, 3..=5) => Phase::Training,
            (_, 6) => Phase::ReadingRate,
            (0, _) => Phase::Silent,
            (2, _) => Phase::Sending,
            _ => Phase::Listening,
        }
    }

    /// Once data is sent, puts the bits of this many next symbols into the ring. At most 29 symbols of 2,230 bits fit.
    pub fn give_bits(&mut self, symbols: usize, bit_to_send: &mut impl FnMut() -> Option<bool>) {
        if self.send != SEND_DATA {
            return;
        }
        let needed = symbols as u64 * u64::from(self.send_loaded);
        bits::give_bits(&mut self.send_ring, &mut self.bits_given, self.bits_sent, needed, bit_to_send);
    }

    /// Puts the samples of a symbol where the pump takes them, as many as there is room for.
    pub fn put_received(&mut self, samples: &[i16]) {
        for (place, sample) in self.received.iter_mut().zip(samples) {
            *place = *sample;
        }
    }

    /// The samples of the newest sent symbol.
    pub fn sent(&self) -> &[i16] {
        &self.sent[..self.length as usize]
    }

    /// How many bits have been received so far.
    pub(crate) fn received_bits(&self) -> u64 {
        self.bits_received
    }

    /// The received bit with this number, one of the newest 65,536.
    pub(crate) fn received_bit(&self, index: u64) -> bool {
        bits::bit_at(&self.receive_ring, index)
    }

    /// Superframes so far whose check was right.
    pub(crate) fn right_superframes(&self) -> u64 {
        self.superframes - self.bad_superframes
    }

    pub(crate) fn set_echo_banks(&mut self, banks: u32) {
        self.banks = banks.min(MAX_DMT_BANKS);
    }

    pub(crate) fn clear_taps(&mut self) {
        (self.taps_re, self.taps_im, self.learns) = ([0; TONES], [0; TONES], 0);
    }

    /// Takes the received bits out of their ring.
    pub fn take_bits(&mut self, received_bit: &mut impl FnMut(bool)) {
        bits::take_bits(&self.receive_ring, &mut self.bits_taken, self.bits_received, received_bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_layout_is_that_of_the_c_source() {
        // SAFETY: it returns a constant.
        assert_eq!(size_of::<DmtState>() as u64, unsafe { punctual_dmt_size() });
        // Where the C source asserts them to be.
        assert_eq!(offset_of!(DmtState, role), 64);
        assert_eq!(offset_of!(DmtState, size), 136);
        assert_eq!(offset_of!(DmtState, receive), 228);
        assert_eq!(offset_of!(DmtState, cosine), 384);
        assert_eq!(offset_of!(DmtState, echo_line), 58_816);
    }
}
