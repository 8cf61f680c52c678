//! What a modem is above its datapump.
//!
//! * [`hdlc`], [`arq`] and both as a [`link`]: frames in a stream of bits, and damaged ones are sent again.
//! * [`bypass`]: characters with start and stop bits, without either.
//! * [`tones`]: dialling, and the exchange that understands it or does not.
//! * [`at`]: the commands of a terminal; [`serial`]: its bytes on the way; [`station`]: a modem with all of that.
//! * [`office`]: two such modems and the exchange between them; [`subscriber`]: what it knows of each; [`apart`]: a modem in
//!   another process than its exchange.
//! * [`end`]: a datapump and the link above it.
//! * [`adapter`]: what a late processor does to an end: underruns, overruns, lost samples.
//! * [`virtual_time`]: a call of two ends on a computed clock; [`transfer`]: what came of several.
//! * [`telephone`]: such a call with the real datapump over a telephone line.
//! * [`experiment`]: a file sent several times, and what stalls of different lengths do; [`tables`]: the paper's Tables 1 to 3.
//! * [`judge`]: this datapump and others' over one line.
//!
//! Nothing here does I/O or reads a clock. Time is that of the line: samples.

#![forbid(unsafe_code)]

pub mod adapter;
pub mod apart;
pub mod arq;
pub mod at;
pub mod bypass;
pub mod end;
pub mod experiment;
pub mod hdlc;
pub mod judge;
pub mod link;
pub mod office;
pub mod serial;
pub mod station;
pub mod subscriber;
pub mod tables;
pub mod telephone;
pub mod tones;
pub mod transfer;
pub mod virtual_time;

/// Samples a second on the line.
pub const SAMPLE_RATE: u64 = 7_200;
