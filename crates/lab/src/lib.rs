//! The lab: other kernels, booted in QEMU, and what punctual does on them.
//!
//! * [`table`]: which kernels, and which version of each was taken last; [`apt`], [`cache`], [`image`]: how they are had.
//! * [`guest`]: boots one, runs a command in it, hands files out. With one CPU a guest's clock counts instructions, so
//!   that a run gives the same bytes however busy the host is.
//! * [`truth`]: what a recording blames, held against what fire drills injected.
//! * [`causes`]: the same for causes that `why` was not built with.
//! * [`matrix`]: every command on every kernel, and what is to come of it.
//!
//! `scripts/kernels` and `scripts/causes` are its command lines.

pub mod apt;
pub mod cache;
pub mod causes;
mod cpio;
pub mod guest;
pub mod image;
pub mod matrix;
pub mod table;
pub mod truth;
pub mod userland;

pub use cpio::Archive;
