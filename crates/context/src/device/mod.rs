//! Soft devices: their line, their datapump, in each context, beside competitors.
//!
//! A [`Rig`] runs [`DeviceSetup`]s on one CPU. In interrupt and softirq context the work is a BPF program; user space
//! says every so often that it is alive, and without that the programs do nothing. Everything ends with the process:
//! programs and timers go with its descriptors, threads with itself.

mod arrivals;
mod calibrate;
mod competitor;
mod control;
mod kernel_side;
mod memory;
mod phase;
mod rig;
mod worker;

pub use calibrate::Speed;
pub use competitor::{Competing, Competitor};
pub use kernel_side::KernelCounts;
pub(crate) use kernel_side::{Mode, try_out};
pub use memory::{Activation, CUT, UNOBSERVED};
pub use phase::Phase;
pub use rig::{DeviceCounts, DeviceSetup, MAX_KERNEL_WORK_NS, MIN_PERIOD_NS, Rig, Wake};
pub use worker::enter;
