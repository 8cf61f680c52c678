//! Soft devices: their line, their datapump, in each context, beside competitors.
//!
//! A [`Rig`] runs [`DeviceSetup`]s, each on its CPU. In interrupt and softirq context the work is a BPF program; user space
//! says every so often that it is alive, and without that the programs do nothing. Everything ends with the process:
//! programs and timers go with its descriptors, threads with itself.

mod arrivals;
mod calibrate;
mod check;
mod competitor;
mod control;
mod decoder_memory;
mod job;
mod kernel_side;
mod memory;
mod own_memory;
mod phase;
mod rig;
mod setup;
mod signal;
mod work;
mod worker;

pub use calibrate::Speed;
pub use competitor::{Competing, Competitor};
pub use job::Job;
pub use kernel_side::KernelCounts;
pub(crate) use kernel_side::{Mode, try_out};
pub use memory::{Activation, CUT, RESTED, UNOBSERVED};
pub use phase::Phase;
pub use punctual_datapump::{DecodingCounts, DmtSize};
pub use rig::{DeviceCounts, Rig};
pub use setup::{DeviceSetup, MAX_KERNEL_WORK_NS, MIN_PERIOD_NS, Wake};
pub use signal::Decodes;
pub use worker::enter;
