//! Soft devices in their contexts: whether they keep up, and what they do to everybody else.
//!
//! * [`run`]: one recording of one or more devices beside a bystander.
//! * [`outside`]: underruns that the machine explains, whatever the device does.

mod outside;
mod run;

pub use run::{DevicePart, DeviceRun, DeviceRunPlan, run};
