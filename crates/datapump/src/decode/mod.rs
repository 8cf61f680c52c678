//! Devices that decode a signal that was made beforehand, and count what is wrong with it.
//!
//! What they have in common is `c/decode.h`; what works on a unit of a signal is a [`Receiver`].

mod counts;
mod decoder;
mod receiver;
mod signal;

pub use counts::DecodingCounts;
pub use decoder::Decoder;
pub use receiver::{DecodeUnits, DecoderState, DmtEnd, Receiver};
pub use signal::{Brought, Signal, SignalUnit};
