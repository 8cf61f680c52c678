//! Modems of facsimile, which send one way: V.27ter, V.29 and V.17.

use crate::exchange::{Shared, get_bit, put_bit};
use crate::library::{Free, Library, Power, Receive, ReceiverInit, SenderInit, State, Transmit};
use punctual_modem::end::{Pump, PumpStatus};

/// The power that makes what is sent as strong as what our own datapump sends, dBm0.
const POWER: f32 = -11.9;
/// What is weaker is no carrier, dBm0.
const CARRIER: f32 = -20.0;

/// A recommendation for facsimile, at its highest rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OneWay {
    /// 8 phases at 1,600 a second: 4,800 bit/s.
    V27ter,
    /// 16 points at 2,400 a second: 9,600 bit/s.
    V29,
    /// 128 points at 2,400 a second, of which a trellis code allows a half at a time: 14,400 bit/s.
    V17,
}

impl OneWay {
    /// All of them, the slowest first.
    pub const ALL: [OneWay; 3] = [OneWay::V27ter, OneWay::V29, OneWay::V17];

    /// Bits a second.
    pub fn bits_per_second(self) -> u32 {
        match self {
            OneWay::V27ter => 4_800,
            OneWay::V29 => 9_600,
            OneWay::V17 => 14_400,
        }
    }

    fn sends(self, library: &Library) -> (SenderInit, Transmit, Power, Free) {
        match self {
            OneWay::V27ter => {
                (library.v27ter_tx_init, library.v27ter_tx, library.v27ter_tx_power, library.v27ter_tx_free)
            }
            OneWay::V29 => (library.v29_tx_init, library.v29_tx, library.v29_tx_power, library.v29_tx_free),
            OneWay::V17 => (library.v17_tx_init, library.v17_tx, library.v17_tx_power, library.v17_tx_free),
        }
    }

    fn receives(self, library: &Library) -> (ReceiverInit, Receive, Power, Free) {
        match self {
            OneWay::V27ter => {
                (library.v27ter_rx_init, library.v27ter_rx, library.v27ter_rx_signal_cutoff, library.v27ter_rx_free)
            }
            OneWay::V29 => (library.v29_rx_init, library.v29_rx, library.v29_rx_signal_cutoff, library.v29_rx_free),
            OneWay::V17 => (library.v17_rx_init, library.v17_rx, library.v17_rx_signal_cutoff, library.v17_rx_free),
        }
    }
}

/// The end that trains the other and then sends.
#[derive(Debug)]
pub struct Sender {
    // Dropped after the modem, which knows its address.
    shared: Shared,
    state: State,
    transmit: Transmit,
    free: Free,
    bits_per_second: u32,
}

impl Sender {
    /// One that begins with its first sample; `None`: the library has no memory for it.
    pub fn new(library: &Library, kind: OneWay) -> Option<Sender> {
        let (init, transmit, power, free) = kind.sends(library);
        let (shared, bits_per_second) = (Shared::new(), kind.bits_per_second());
        // SAFETY: without a state the library allocates one; the function takes the address of this exchange, which lives
        // until after the state is freed.
        let state = unsafe { init(std::ptr::null_mut(), bits_per_second.cast_signed(), 0, get_bit, shared.address()) };
        if state.is_null() {
            return None;
        }
        // SAFETY: the state was just made.
        unsafe { power(state, POWER) };
        Some(Sender { shared, state, transmit, free, bits_per_second })
    }
}

impl Pump for Sender {
    fn process(
        &mut self,
        _received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        _push_bit: &mut dyn FnMut(bool),
    ) {
        self.shared.store(sent.len(), next_bit);
        sent.fill(0);
        // SAFETY: the state is alive and only here; the block is as long as said, and far shorter than 2^31.
        unsafe { (self.transmit)(self.state, sent.as_mut_ptr(), sent.len() as i32) };
    }

    fn status(&self) -> PumpStatus {
        let is_connected = self.shared.asked();
        let bits_per_second = if is_connected { self.bits_per_second } else { 0 };
        PumpStatus { is_connected, bits_per_second, retrains: 0 }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // SAFETY: the state is alive, and nobody uses it after this.
        unsafe { (self.free)(self.state) };
    }
}

/// The end that only listens.
#[derive(Debug)]
pub struct Receiver {
    // Dropped after the modem, which knows its address.
    shared: Shared,
    state: State,
    receive: Receive,
    free: Free,
    bits_per_second: u32,
}

impl Receiver {
    /// One that listens from its first sample on; `None`: the library has no memory for it.
    pub fn new(library: &Library, kind: OneWay) -> Option<Receiver> {
        let (init, receive, carrier, free) = kind.receives(library);
        let (shared, bits_per_second) = (Shared::new(), kind.bits_per_second());
        // SAFETY: as for a sender.
        let state = unsafe { init(std::ptr::null_mut(), bits_per_second.cast_signed(), put_bit, shared.address()) };
        if state.is_null() {
            return None;
        }
        // SAFETY: the state was just made.
        unsafe { carrier(state, CARRIER) };
        Some(Receiver { shared, state, receive, free, bits_per_second })
    }
}

impl Pump for Receiver {
    fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        _next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    ) {
        sent.fill(0);
        // SAFETY: the state is alive and only here; the block is as long as said, and far shorter than 2^31.
        unsafe { (self.receive)(self.state, received.as_ptr(), received.len() as i32) };
        self.shared.hand_on(push_bit);
    }

    fn status(&self) -> PumpStatus {
        let is_connected = self.shared.is_trained();
        let bits_per_second = if is_connected { self.bits_per_second } else { 0 };
        PumpStatus { is_connected, bits_per_second, retrains: self.shared.retrains() }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // SAFETY: the state is alive, and nobody uses it after this.
        unsafe { (self.free)(self.state) };
    }
}
