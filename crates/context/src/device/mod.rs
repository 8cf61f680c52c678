//! Soft devices: their line, their datapump, in each context, beside competitors.

mod kernel_side;
mod memory;

pub use kernel_side::KernelCounts;
pub use memory::{Activation, CUT};
