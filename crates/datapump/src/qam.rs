//! A modem's datapump.

use crate::bits;
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

/// Samples a second, received as well as sent.
pub const SAMPLE_RATE: u32 = 7_200;
/// Symbols a second: one is three samples.
pub const SYMBOL_RATE: u32 = 2_400;
/// Taps in a bank of the echo canceller.
pub const ECHO_BANK: u32 = 128;
/// How many banks the echo canceller may have: so many that a processor four times as fast as the one that most of this was
/// measured on still computes for a sixth of the time.
pub const MAX_ECHO_BANKS: u32 = 512;
/// The root mean square of what a pump sends, of 32,767.
pub const NOMINAL_LEVEL: i16 = 4_096;

const SINES: usize = 1_024;
const TAPS: usize = 64;
const SYNC: usize = 64;
const TRAINING: usize = 64;
const WINDOW: usize = 256;
const BITS_WORDS: usize = 64;
/// `enum qam_stage` of `c/qam.h`.
const CONNECTED: u32 = 5;
const ECHO: usize = (ECHO_BANK * MAX_ECHO_BANKS) as usize;
/// How many samples to process before bits are passed again: at 6 bits a symbol, a quarter of the ring.
const PORTION: usize = 240;

unsafe extern "C" {
    fn punctual_qam_init(state: *mut QamState);
    fn punctual_qam_run(state: *mut QamState, received: *const i16, sent: *mut i16, samples: u64);
    #[cfg(test)]
    fn punctual_qam_size() -> u64;
}

/// Which end of a call a pump is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It called: listens first.
    Calling,
    /// It was called: sends first.
    Answering,
}

/// The bit rate: bits in each of 2,400 symbols a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rate {
    /// 4-QAM: 4,800 bits a second.
    Two,
    /// 16-QAM: 9,600 bits a second.
    Four,
    /// 64-QAM: 14,400 bits a second.
    Six,
}

impl Rate {
    /// Every rate, the lowest first.
    pub const ALL: [Rate; 3] = [Rate::Two, Rate::Four, Rate::Six];

    /// Bits a symbol.
    pub fn bits_per_symbol(self) -> u32 {
        match self {
            Rate::Two => 2,
            Rate::Four => 4,
            Rate::Six => 6,
        }
    }

    /// Bits a second.
    pub fn bits_per_second(self) -> u32 {
        self.bits_per_symbol() * SYMBOL_RATE
    }
}

/// What a pump may do, and how much it computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QamOptions {
    /// The rate below which it does not go.
    pub min_rate: Rate,
    /// The rate that it begins with if the line allows.
    pub max_rate: Rate,
    /// Banks of 128 taps of the echo canceller, 1 to [`MAX_ECHO_BANKS`]: how much it computes. One is enough for the
    /// echo of a hybrid; the others cost as much, learn slowly, and leave the bits as they are.
    pub echo_banks: u32,
    /// Samples between one that is sent and the first that may contain its echo: what buffers between pump and line
    /// hold, up to 8,192.
    pub echo_delay: u32,
    /// Whether it asks for a retrain by itself when its error is too large.
    pub retrain: bool,
}

impl Default for QamOptions {
    fn default() -> QamOptions {
        QamOptions { min_rate: Rate::Two, max_rate: Rate::Six, echo_banks: 1, echo_delay: 0, retrain: true }
    }
}

/// The state of a call at one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Sends nothing and takes nothing.
    Silent,
    /// Waits for the other end's training sequence.
    Listening,
    /// Sends its own training sequence and learns its echo.
    Sending,
    /// Trains its equalizer and carrier on the other end's training sequence.
    Training,
    /// Reads the rate signal.
    ReadingRate,
    /// Data goes in both directions.
    Connected,
}

/// How a pump is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// The state of the call.
    pub phase: Phase,
    /// The agreed rate; `None` while not connected.
    pub rate: Option<Rate>,
    /// The mean square error of the newest 128 symbols, as a share of their power: 0.001 is 30 dB below it.
    pub mean_square_error: f64,
    /// Connections that were given up to train again, by either end.
    pub retrains: u32,
    /// Start-ups that failed and began again.
    pub failures: u32,
    /// Samples processed so far.
    pub samples: u64,
}

impl Status {
    /// The agreed rate, in bits a second; 0 while not connected.
    pub fn bits_per_second(&self) -> u32 {
        self.rate.map_or(0, Rate::bits_per_second)
    }
}

/// `struct qam` of `c/qam.h`: everything that a pump knows. It contains no address, so that it can be in memory shared
/// with a BPF program.
#[derive(PartialEq, Eq)]
#[repr(C)]
pub struct QamState {
    samples: u64,
    echo_sum: i64,
    error_sum: u64,
    sync_best: u64,
    bits_sent: u64,
    bits_given: u64,
    bits_received: u64,
    bits_taken: u64,
    role: u32,
    banks: u32,
    echo_delay: u32,
    min_bits: u32,
    max_bits: u32,
    may_retrain: u32,
    stage: u32,
    timer: u32,
    cap: u32,
    bits_lost: u32,
    bits: u32,
    retrains: u32,
    failures: u32,
    own_retrains: u32,
    calm: u32,
    sender: [u32; 11],
    echo: [u32; 3],
    receive: u32,
    receiver: [u32; 17],
    mean_square_error: u32,
    decisions: [u32; 16],
    symbol_clock: [i32; 3],
    alignment: [u32; 4],
    sine: [i32; SINES],
    shape: [i32; 48],
    matched: [i32; TAPS],
    sync_i: [i32; SYNC],
    sync_q: [i32; SYNC],
    root: [u32; 64],
    own_training: [u32; TRAINING],
    far_training: [u32; TRAINING],
    symbols_i: [i32; 32],
    symbols_q: [i32; 32],
    window: [i32; 2 * WINDOW],
    taps_i: [i32; TAPS],
    taps_q: [i32; TAPS],
    send_bits: [u32; BITS_WORDS],
    receive_bits: [u32; BITS_WORDS],
    echo_line: [i32; 2 * ECHO],
    echo_taps: [i32; ECHO],
}

/// One end's datapump: samples to bits and back, both directions at once on two wires.
///
/// It speaks a start-up of its own, in the manner of V.32: two of these understand each other, and nobody else.
///
/// ```
/// use punctual_datapump::{Phase, Qam, QamOptions, Role};
///
/// let mut calling = Qam::new(Role::Calling, QamOptions::default());
/// let mut answering = Qam::new(Role::Answering, QamOptions::default());
/// let (mut there, mut back) = ([0; 72], [0; 72]);
/// let mut received = 0;
/// // Two seconds over four wires that do nothing to the signal.
/// for _ in 0..200 {
///     let heard = back;
///     calling.process(&heard, &mut there, &mut || Some(false), &mut |_| ());
///     answering.process(&there, &mut back, &mut || None, &mut |bit| received += u32::from(!bit));
/// }
/// assert_eq!(answering.status().phase, Phase::Connected);
/// assert!(received > 1_000);
/// ```
pub struct Qam {
    state: Box<QamState>,
}

impl Clone for Qam {
    fn clone(&self) -> Qam {
        let mut state = QamState::zeroed();
        // SAFETY: both are whole states, and numbers alone, which may be copied; the copy is nobody else's yet.
        unsafe { std::ptr::copy_nonoverlapping(&raw const *self.state, &raw mut *state, 1) }
        Qam { state }
    }
}

impl std::fmt::Debug for Qam {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Qam").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Qam {
    /// A pump that begins a call with the first sample that it processes. Options out of range are moved into it: at
    /// least one bank, a highest rate not below the lowest.
    pub fn new(role: Role, options: QamOptions) -> Qam {
        let mut state = QamState::zeroed();
        state.role = match role {
            Role::Calling => 0,
            Role::Answering => 1,
        };
        state.banks = options.echo_banks.clamp(1, MAX_ECHO_BANKS);
        state.echo_delay = options.echo_delay.min(ECHO as u32 / 2);
        state.min_bits = options.min_rate.bits_per_symbol();
        state.max_bits = options.max_rate.max(options.min_rate).bits_per_symbol();
        state.may_retrain = options.retrain.into();
        // SAFETY: the layouts are the same, as a test of sizes and places checks; the function touches nothing else.
        unsafe { punctual_qam_init(&raw mut *state) }
        Qam { state }
    }

    /// Takes received samples and fills the same number to send.
    ///
    /// While connected, it asks `bit_to_send` for the bits of the symbols that begin here and up to 30 ms later, in
    /// portions of 240 samples; if that has none, the pump sends ones, as modems do. `received_bit` gets each received
    /// bit, from the moment on from which the other end may send data; ones come first.
    ///
    /// # Panics
    /// If the blocks differ in length.
    pub fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        bit_to_send: &mut impl FnMut() -> Option<bool>,
        received_bit: &mut impl FnMut(bool),
    ) {
        assert_eq!(received.len(), sent.len(), "as many samples are sent as received");
        for (received, sent) in received.chunks(PORTION).zip(sent.chunks_mut(PORTION)) {
            self.state.give_bits(received.len(), bit_to_send);
            // SAFETY: the layouts are the same; both blocks are as long as said.
            unsafe {
                punctual_qam_run(&raw mut *self.state, received.as_ptr(), sent.as_mut_ptr(), received.len() as u64);
            }
            self.state.take_bits(received_bit);
        }
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        self.state.status()
    }

    /// Everything it knows.
    pub fn state(&self) -> &QamState {
        &self.state
    }
}

impl QamState {
    /// Nothing but zeros, made where it stays: it is too large for the stacks of threads.
    fn zeroed() -> Box<QamState> {
        let layout = Layout::new::<QamState>();
        // SAFETY: the layout has a size; every field is a number or an array of numbers, of which zero is one; a box frees what it
        // holds with the same layout.
        unsafe {
            let place = alloc_zeroed(layout).cast::<QamState>();
            if place.is_null() {
                handle_alloc_error(layout);
            }
            Box::from_raw(place)
        }
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        let phase = self.phase();
        let rate = (phase == Phase::Connected).then_some(match self.bits {
            6 => Rate::Six,
            4 => Rate::Four,
            _ => Rate::Two,
        });
        Status {
            phase,
            rate,
            mean_square_error: f64::from(self.mean_square_error) / f64::from(1 << 24),
            retrains: self.retrains,
            failures: self.failures,
            samples: self.samples,
        }
    }

    fn phase(&self) -> Phase {
        match (self.stage, self.receive) {
            (CONNECTED, _) => Phase::Connected,
            (_, 3) => Phase::Training,
            (_, 4) => Phase::ReadingRate,
            (0, _) => Phase::Silent,
            (2, _) => Phase::Sending,
            _ => Phase::Listening,
        }
    }

    /// While connected, puts the bits of this many next samples into the ring. More than 1,000 samples at 6 bits a
    /// symbol do not fit.
    pub fn give_bits(&mut self, samples: usize, bit_to_send: &mut impl FnMut() -> Option<bool>) {
        if self.stage != CONNECTED {
            return;
        }
        let needed = (samples as u64 / 3 + 1) * u64::from(self.bits);
        bits::give_bits(&mut self.send_bits, &mut self.bits_given, self.bits_sent, needed, bit_to_send);
    }

    /// Takes the received bits out of their ring.
    pub fn take_bits(&mut self, received_bit: &mut impl FnMut(bool)) {
        bits::take_bits(&self.receive_bits, &mut self.bits_taken, self.bits_received, received_bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_layout_is_that_of_the_c_source() {
        // SAFETY: it returns a constant.
        assert_eq!(size_of::<QamState>() as u64, unsafe { punctual_qam_size() });
        // Where the C source asserts them to be.
        assert_eq!(offset_of!(QamState, role), 64);
        assert_eq!(offset_of!(QamState, receive), 180);
        assert_eq!(offset_of!(QamState, mean_square_error), 252);
        assert_eq!(offset_of!(QamState, sine), 348);
        assert_eq!(offset_of!(QamState, echo_line), 9_500);
    }
}
