//! What the threads at one terminal do: when they run, get input, sleep until there is some, put something out and wake
//! one another.
//!
//! * `programs`: the programs in the kernel, and the rings that they write.
//! * `cost`: what they cost.
//! * `seen`: what such a record says.
//! * [`stretches`]: what the flight recorder saw of the time that somebody waited.

mod cost;
mod programs;
mod seen;
pub mod stretches;

pub use cost::TerminalCost;
pub use programs::TerminalWatch;
pub(crate) use programs::{NEEDED, try_out};
pub use seen::Seen;
