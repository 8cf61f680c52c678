//! A simulated machine of the kind the Windows latency papers measured, deterministic to the picosecond.

#![forbid(unsafe_code)]

mod calendar;
pub mod cost;
mod error;
pub mod machine;
pub mod observe;
pub mod random;
pub mod time;

pub use error::{Error, Result};
