//! Devices that decode a signal made beforehand, and count what is wrong with it.
//!
//! They share `c/decode.h`; a [`Receiver`] processes a unit of a signal.

mod counts;
mod decoder;
mod receiver;
mod signal;

pub use counts::DecodingCounts;
pub use decoder::Decoder;
pub use receiver::{DecodeUnits, DecoderState, DmtEnd, Receiver};
pub use signal::{Brought, Signal, SignalUnit};
