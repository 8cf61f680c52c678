//! Soft devices: their line, their datapump, in each context, beside competitors.
//!
//! A [`Rig`] runs [`DeviceSetup`]s, each on its CPU. In interrupt and softirq context the work is a BPF program; user space
//! says every so often that it is alive, and without that the programs do nothing. Everything ends with the process:
//! programs and timers go with its descriptors, threads with itself.
//!
//! * `setup`, `check`, `phase`: what a device is asked to be, what is impossible, and how its line changes meanwhile.
//! * `job`, `work`, `calibrate`: what its work is, how it is worked off, and how much of it a compute time is worth.
//! * `kernel_side`, with `memory`, `decoder_memory` and `own_memory`: its BPF programs, and what they share with this process.
//! * `guest`: work that other crates bring for a thread.
//! * `worker`, `arrivals`, `control`: its work in a thread, how that learns of blocks, and what it tells the rest.
//! * `signal`: what devices decode; `competitor`: what they compete with; `rig`: all of it at work on one CPU.

mod arrivals;
mod calibrate;
mod check;
mod competitor;
mod control;
mod decoder_memory;
mod guest;
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
pub use guest::{Guest, MakeGuest};
pub use job::Job;
pub use kernel_side::KernelCounts;
pub(crate) use kernel_side::{Mode, try_out, try_out_decoding};
pub use memory::{Activation, CUT, RESTED, UNOBSERVED};
pub use phase::Phase;
pub use punctual_datapump::{DecodingCounts, DmtSize};
pub use rig::{DeviceCounts, Rig};
pub use setup::{DeviceSetup, MAX_KERNEL_WORK_NS, MIN_PERIOD_NS, Wake};
pub use signal::Decodes;
pub use worker::enter;
