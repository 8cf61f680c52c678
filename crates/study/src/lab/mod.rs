//! The same command of punctual on several kernels, each in a guest whose clock counts instructions.
//!
//! * [`System`]: a kernel and its parameters; [`cells`]: a system with a seed, one guest each, in the order in which they run.
//! * [`Driver`]: a module that each of them loads first.
//! * [`run`]: boots those that do not exist yet, a few at a time. Each cell is stored when it has run, so that a run
//!   that was ended continues where it stopped.
//! * [`why`]: boots one of them again and looks at a late wakeup from outside.
//!
//! # Where things are
//!
//! In the caller's directory, in one with the name of each system: `seed-3.punctual` is the recording, `seed-3.txt`
//! what the command printed, `seed-3.kernel-log` the kernel's log, `seed-3/` what else the command left in `/out`, and
//! `seed-3.json`, which is written last, says that all this is whole and what it came from.

mod driver;
mod error;
mod grid;
mod run;
mod store;
mod system;
mod why;

pub use driver::Driver;
pub use error::LabError;
pub use grid::{Cell, cells};
pub use run::{Bootable, CellEnd, LabPlan, LabProgress, RECORDING, run};
pub use store::Ran;
pub use system::{ONE_CPU, System};
pub use why::{Outside, WhyError, WhyStep, why};
