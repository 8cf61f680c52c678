//! A modem for both directions at once: V.22bis.

use crate::exchange::{Shared, get_bit, put_bit};
use crate::library::{Library, State};
use punctual_modem::end::{Pump, PumpStatus};

/// The power that makes what is sent as strong as what our own datapump sends, dBm0 as this modem counts them.
const POWER: f32 = -13.44;
/// What is weaker is no carrier, dBm0: 16 dB below what is sent, as our line weakens nothing. At -43 it takes noise 22 dB
/// below the signal for a carrier. At -25 it begins to look for the other end's offer of 2,400 bit/s so late
/// that it misses that in half of the calls, and stays at 1,200.
const CARRIER: f32 = -28.0;

/// An end of a call by V.22bis: 2,400 bit/s in both directions, each in a band of its own.
#[derive(Debug)]
pub struct V22bis {
    library: &'static Library,
    // Dropped after the modem, which knows its address.
    shared: Shared,
    state: State,
}

impl V22bis {
    /// An end that begins a call with the first sample; `None`: the library has no memory for it.
    pub fn new(library: &'static Library, calls: bool) -> Option<V22bis> {
        V22bis::hearing(library, calls, CARRIER)
    }

    /// One to which only what is stronger than this is a carrier, dBm0.
    pub fn hearing(library: &'static Library, calls: bool, carrier: f32) -> Option<V22bis> {
        let shared = Shared::new();
        let address = shared.address();
        // SAFETY: without a state the library allocates one; both functions take the address of this exchange, which lives
        // until after the state is freed.
        let state = unsafe {
            (library.v22bis_init)(std::ptr::null_mut(), 2_400, 0, calls.into(), get_bit, address, put_bit, address)
        };
        if state.is_null() {
            return None;
        }
        // SAFETY: the state was just made.
        unsafe {
            (library.v22bis_tx_power)(state, POWER);
            (library.v22bis_rx_signal_cutoff)(state, carrier);
        }
        Some(V22bis { library, shared, state })
    }
}

impl Pump for V22bis {
    fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    ) {
        self.shared.store(sent.len(), next_bit);
        sent.fill(0);
        // SAFETY: the state is alive and only here; both blocks are as long as said, and a block is far shorter than 2^31.
        unsafe {
            (self.library.v22bis_rx)(self.state, received.as_ptr(), received.len() as i32);
            (self.library.v22bis_tx)(self.state, sent.as_mut_ptr(), sent.len() as i32);
        }
        self.shared.hand_on(push_bit);
    }

    fn status(&self) -> PumpStatus {
        // SAFETY: the state is alive; the function only reads it.
        let rate = unsafe { (self.library.v22bis_get_current_bit_rate)(self.state) };
        let is_connected = self.shared.is_trained();
        let bits_per_second = if is_connected { rate.unsigned_abs() } else { 0 };
        PumpStatus { is_connected, bits_per_second, retrains: self.shared.retrains() }
    }
}

impl Drop for V22bis {
    fn drop(&mut self) {
        // SAFETY: the state is alive, and nobody uses it after this.
        unsafe { (self.library.v22bis_free)(self.state) };
    }
}
