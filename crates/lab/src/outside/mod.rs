//! Looks at a guest from outside, without one instruction more in it.
//!
//! The emulator's clock counts instructions, and the same guest runs the same instructions again. So it can be booted a second time with a
//! plugin of QEMU's that writes down what ran, block by block, in a window of a few milliseconds: also where interrupts are off, where
//! nothing in the guest can look.
//!
//! * [`Plugin`]: the plugin, and what it is told; [`Trace`]: what it wrote.
//! * [`Clock`]: the guest's clock beside the count of instructions. Each time that a guest writes down is a reading of its clock, and the
//!   plugin knows at which instructions the clock was read.
//! * [`Symbols`]: the kernel's functions, as the guest lists them.
//! * [`Story`]: who ran when, from due to running.

mod clock;
mod plugin;
mod seen;
mod story;
mod symbols;
mod teller;
mod trace;

pub use clock::Clock;
pub use plugin::Plugin;
pub use seen::{Delivery, FunctionTime, Place, Segment, Story, Switches};
pub use story::story;
pub use symbols::Symbols;
pub use trace::{MAX_RECORDS, Record, RecordKind, Trace};
