//! The work of a sampling device, and the line that it serves: freestanding C, one source for this processor and for
//! BPF.
//!
//! * [`Pump`]: filters each sample of a ring by multiplying and accumulating (`c/pump.h`). It stands in for the signal
//!   processing of a soft device: the same to the bit wherever it runs, and as long as requested.
//! * [`Line`]: blocks of samples that arrive at a steady rate, whether or not anybody takes them (`c/line.h`).
//! * [`Qam`]: the datapump of a modem, for real (`c/qam.h` and its parts): samples of a telephone line to bits and back,
//!   with start-up, equalizer, echo canceller, carrier and timing recovery, retraining and fallback.
//! * [`Dmt`]: the datapump of a DSL modem, for real (`c/dmt.h` and its parts): transforms, tones that bear as many bits
//!   as the line lets them, an equalizer with one tap for each tone, echo canceller, superframes with a check,
//!   retraining.
//! * [`Gfsk`]: the baseband of a Bluetooth receiver, for real (`c/gfsk.h`): filter, access code, header, payload, checks.
//! * [`Dsss`]: the baseband of an 802.11b receiver, for real (`c/dsss.h` and its parts): Barker and complementary codes.
//! * [`Decoder`]: a device whose work is one of these three, on a signal that was made beforehand and whose bits are
//!   known (`c/decode.h`, `c/dmt_decode.h`, `c/gfsk_decode.h`, `c/dsss_decode.h`).
//!
//! All have a fixed layout, so that a BPF program and the process that loaded it can share them.

mod bits;
mod decode;
mod dmt;
mod dsss;
mod gfsk;
mod line;
mod pump;
mod qam;

pub use decode::{Brought, DecodeUnits, Decoder, DecoderState, DecodingCounts, DmtEnd, Receiver, Signal, SignalUnit};
pub use dmt::{Dmt, DmtOptions, DmtSize, DmtState, DmtStatus, End, MAX_DMT_BANKS};
pub use dsss::{DSSS_UNIT, Dsss, DsssRate, DsssState, DsssStatus, dsss_frame, dsss_packet};
pub use gfsk::{GFSK_PAYLOAD, GFSK_SAMPLES_A_BIT, GFSK_UNIT, Gfsk, GfskState, GfskStatus, gfsk_packet, gfsk_payload};
pub use line::Line;
pub use pump::{PUMP_RING, Pump, TAPS};
pub use qam::{
    ECHO_BANK, MAX_ECHO_BANKS, NOMINAL_LEVEL, Phase, Qam, QamOptions, QamState, Rate, Role, SAMPLE_RATE, SYMBOL_RATE,
    Status,
};
