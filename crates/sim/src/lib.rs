//! A simulated machine of the kind the Windows latency papers measured, deterministic to the picosecond.
//!
//! * [`machine`]: interrupts over deferred procedures over threads, under several schedulers; [`Engine`] runs one.
//! * [`experiment`]: experiments as TOML: a machine, what is measured, what the paper says.
//! * [`ledger`]: every table and figure of the papers beside what comes out ([`ledger::papers`]).
//! * [`modem`], [`link`]: a sampling device, and a file over it.
//! * [`whatif`], [`interference`]: a device on a machine that is taken as it was measured to be.
//! * [`recorded`]: wakeups for a recording, slices for a timeline.
//! * [`sweep`], [`swept`]: grids of questions, in shards, and what came out. [`theory`]: what is known beforehand.
//!
//! Nothing here does I/O. Time is whole picoseconds, random numbers are whole numbers from a seed: a run is the
//! same everywhere.

#![forbid(unsafe_code)]

mod calendar;
pub mod cost;
mod error;
pub mod experiment;
pub mod interference;
pub mod ledger;
pub mod link;
pub mod machine;
pub mod modem;
pub mod observe;
mod parallel;
pub mod random;
pub mod recorded;
pub mod sweep;
pub mod swept;
pub mod theory;
pub mod time;
pub mod whatif;

pub use error::{Error, Result};
pub use machine::Engine;
