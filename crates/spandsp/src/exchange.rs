//! What a modem of the library and this program hand to each other, bit by bit.
//!
//! The callbacks take bits from a store and put them into one, and call nothing that a user of this crate gave. Nothing unwinds
//! into the library: a panic in an `extern "C"` function ends the process.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// `SIG_STATUS_...` of `spandsp/async.h`: what stands in place of a bit.
const CARRIER_DOWN: c_int = -1;
const TRAINING_SUCCEEDED: c_int = -4;
const TRAINING_FAILED: c_int = -5;
const RETRAIN_OCCURRED: c_int = -13;

/// Bits on their way, and what the modem has said of itself.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    to_send: VecDeque<bool>,
    received: Vec<bool>,
    asked: bool,
    is_trained: bool,
    trainings: u32,
    retrains: u32,
}

impl Exchange {
    /// Takes what came in place of a bit.
    fn take(&mut self, bit: c_int) {
        match bit {
            0.. => self.received.push(bit & 1 == 1),
            TRAINING_SUCCEEDED => {
                self.is_trained = true;
                self.trainings += 1;
            }
            TRAINING_FAILED | CARRIER_DOWN => self.is_trained = false,
            RETRAIN_OCCURRED => self.retrains += 1,
            _ => {}
        }
    }
}

/// An exchange at an address that the library keeps.
#[derive(Debug)]
pub(crate) struct Shared(NonNull<Exchange>);

impl Shared {
    pub(crate) fn new() -> Shared {
        Shared(NonNull::from(Box::leak(Box::default())))
    }

    /// What the library is to hand back to [`get_bit`] and [`put_bit`].
    pub(crate) fn address(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    fn exchange(&self) -> &Exchange {
        // SAFETY: it lives until this is dropped. The library changes it only within calls that need the modem's owner
        // mutably, and through it this.
        unsafe { self.0.as_ref() }
    }

    fn exchange_mut(&mut self) -> &mut Exchange {
        // SAFETY: as above, and nobody else has a reference.
        unsafe { self.0.as_mut() }
    }

    /// Puts bits in store until there are enough for so many samples, at two bits a sample or less.
    pub(crate) fn store(&mut self, samples: usize, next_bit: &mut dyn FnMut() -> bool) {
        let exchange = self.exchange_mut();
        while exchange.to_send.len() < 2 * samples + 64 {
            exchange.to_send.push_back(next_bit());
        }
    }

    /// Hands on the bits that have come.
    pub(crate) fn hand_on(&mut self, push_bit: &mut dyn FnMut(bool)) {
        self.exchange_mut().received.drain(..).for_each(push_bit);
    }

    /// Whether the modem has begun to send data.
    pub(crate) fn asked(&self) -> bool {
        self.exchange().asked
    }

    /// Whether the receiver has trained and still hears its carrier.
    pub(crate) fn is_trained(&self) -> bool {
        self.exchange().is_trained
    }

    /// Trainings after the first, and retrains that the modem reports as such.
    pub(crate) fn retrains(&self) -> u32 {
        let exchange = self.exchange();
        exchange.retrains.max(exchange.trainings.saturating_sub(1))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and the modem that had its address is gone: it is dropped first.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The next bit to send; ones if there is none in store, as modems do.
///
/// # Safety
/// The address is that of [`Shared::address`], and nothing else uses the exchange meanwhile.
pub(crate) unsafe extern "C" fn get_bit(address: *mut c_void) -> c_int {
    // SAFETY: the caller says so.
    let exchange = unsafe { &mut *address.cast::<Exchange>() };
    exchange.asked = true;
    exchange.to_send.pop_front().unwrap_or(true).into()
}

/// Takes a received bit, or what the modem says of itself.
///
/// # Safety
/// As for [`get_bit`].
pub(crate) unsafe extern "C" fn put_bit(address: *mut c_void, bit: c_int) {
    // SAFETY: the caller says so.
    unsafe { &mut *address.cast::<Exchange>() }.take(bit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_go_through_in_order_and_words_between_them_are_counted() {
        let mut shared = Shared::new();
        let mut bit = false;
        shared.store(1, &mut || {
            bit = !bit;
            bit
        });
        let address = shared.address();
        // SAFETY: the address is this exchange's, which nothing else uses.
        let sent: Vec<c_int> = (0..68).map(|_| unsafe { get_bit(address) }).collect();
        assert_eq!(sent[..4], [1, 0, 1, 0]);
        assert_eq!(sent[66..], [1, 1], "ones when nothing is in store");
        assert!(shared.asked() && !shared.is_trained());
        for word in [-2, -3, -4, 1, 0, -13, -4, 1, -1] {
            // SAFETY: as above.
            unsafe { put_bit(address, word) };
        }
        let mut received = Vec::new();
        shared.hand_on(&mut |bit| received.push(bit));
        assert_eq!(received, [true, false, true]);
        assert_eq!((shared.is_trained(), shared.retrains()), (false, 1));
    }
}
