//! Devices: what must be served in time, and what it costs when it is not.
//!
//! A *device* is a periodic job with period *t*, compute time *c* and *n* buffers. While one buffer is
//! being consumed the others wait, so its work may begin (n-1)·t late before the data run out, its
//! **tolerance**, and must begin (n-1)·t - c late at most to be done by then, its **slack**
//! (Cota-Robles and Held, OSDI 1999, sections 1 and 5).
//!
//! * [`Profile`]: one device, with the source of each of its numbers, or the word *assumption*.
//! * [`Catalogue`]: the shipped profiles, and those that users add in the same notation.
//! * [`parse_period`], [`parse_want`] and [`Catalogue::parse_spec`]: `64@48kHz`, `1/day`,
//!   `audio 64@48kHz x3`.
//!
//! * [`Sampling`]: how a device's data come: samples in a block and in the ring.
//! * [`Judge`]: what a device did, block by block, turned into underruns and figures.
//! * [`keeps_up`]: the verdict about a run; [`used`]: how close it was.
//! * [`pc99`]: what PC 99 asks of drivers of soft modems.
//!
//! The crate does no I/O: whoever reads a user's file hands over its text.
//!
//! ```
//! use punctual_device::Catalogue;
//!
//! let audio = Catalogue::shipped().parse_spec("audio 64@48kHz x3")?;
//! assert_eq!(audio.period_ns, 1_333_333);
//! // While one buffer plays, two wait: that is how late the next one may be ready, and how late work on it may begin.
//! assert_eq!(audio.tolerance_ns(), 2 * audio.period_ns);
//! assert_eq!(audio.slack_ns(), (audio.tolerance_ns() - audio.compute_ns) as i64);
//! // More computing than there is time for is refused, in a sentence.
//! assert!(Catalogue::shipped().parse_spec("audio 64@48kHz compute=2ms").is_err());
//! # Ok::<(), punctual_device::Error>(())
//! ```

#![forbid(unsafe_code)]

mod apart;
mod catalogue;
mod error;
mod judge;
mod kept;
mod notation;
mod origin;
mod pc99;
mod profile;
mod room;
mod sampling;
mod signal;

pub use catalogue::{Catalogue, nearest};
pub use error::{Error, did_you_mean};
pub use judge::{Judge, Underrun};
pub use kept::{keeps_up, kept_from};
pub use notation::{parse_period, parse_want, written_buffers};
pub use origin::Origin;
pub use pc99::{Pc99, pc99};
pub use profile::{DEFAULT_WANT_S, OnMiss, Printed, Profile, Source, Sources, Unit};
pub use room::{MAX_USED, used};
pub use sampling::Sampling;
pub use signal::Signal;
