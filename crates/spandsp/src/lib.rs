//! The modems of the library [spandsp](https://packages.debian.org/libspandsp2) as datapumps, where it is installed: V.22bis
//! in both directions, and V.27ter, V.29 and V.17 in one. It is loaded at run time ([`Library::load`]), and nothing of it is
//! needed to build.
//!
//! They were written by others, who knew nothing of ours, and real modems understand them. So they say whether our
//! [line](punctual_line) is one that a modem can live with, and how ours fares beside them
//! ([`punctual_modem::judge`]).

mod candidate;
mod duplex;
mod exchange;
mod library;
mod one_way;
mod resampler;
mod steady;

pub use candidate::Theirs;
pub use duplex::V22bis;
pub use library::{Library, Missing};
pub use one_way::{OneWay, Receiver, Sender};
pub use resampler::Resampled;
pub use steady::SteadyCall;
