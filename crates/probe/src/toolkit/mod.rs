//! Which events a program's toolkit hands on to the program's own code.
//!
//! * `functions`: the functions that every event of a toolkit goes through, and what its numbers mean.
//! * `libraries`: where these are in what a process has mapped.
//! * `programs`: the programs in the kernel that are attached there, and what they saw.
//! * `stop`: what it costs a program to be stopped there.

mod functions;
mod libraries;
mod programs;
mod stop;

pub(crate) use programs::try_out;
pub use programs::{Attached, HandedOn, ToolkitWatch};
