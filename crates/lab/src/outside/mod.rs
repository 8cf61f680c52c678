//! Watches a guest from outside, without a single additional instruction in it.
//!
//! The emulator's clock counts instructions, and the same guest runs the same instructions again. So it can be booted a
//! second time with a QEMU plugin that writes down what ran, block by block, in a window of a few milliseconds: even
//! where interrupts are off and nothing in the guest can look.
//!
//! * [`Plugin`]: the plugin, and what it is told; [`Trace`]: what it wrote.
//! * [`Clock`]: the guest's clock in relation to the instruction count. Each time that a guest writes down is a reading
//!   of its clock, and the plugin knows at which instructions the clock was read.
//! * [`Symbols`]: the kernel's functions, as the guest lists them.
//! * [`Story`]: who ran when, from due to running; `teller` follows the blocks from one to the next, and `flags` infers
//!   whether interrupts were on.

mod clock;
mod flags;
mod plugin;
mod seen;
mod sizes;
mod story;
mod symbols;
mod teller;
mod trace;

pub use clock::Clock;
pub use plugin::Plugin;
pub use seen::{Delivery, FunctionTime, NOT_WRITTEN, OffAtLast, Place, Segment, Story, Switches};
pub use story::story;
pub use symbols::Symbols;
pub use trace::{MAX_RECORDS, Record, RecordKind, Trace};
