//! What if a device ran on this machine: a simulated machine with the measured interference.

mod answer;
#[cfg(test)]
mod chance;
mod context;
mod interval;
mod memory;
mod question;
mod spread;

pub use answer::Answer;
pub use context::Context;
pub use interval::Interval;
pub use memory::When;
pub use question::{RingSize, WhatIf};
