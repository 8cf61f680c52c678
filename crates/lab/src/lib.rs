//! The lab: other kernels, booted in QEMU, with punctual in them.
//!
//! * [`table`]: which kernels, and which version of each was last fetched; [`apt`], [`package`], [`cache`], [`image`]: how to get
//!   them.
//! * [`hypervisor`]: Xen, for a kernel that runs on it.
//! * [`headers`], [`module`]: a driver built for one of them, with the distribution's headers and the machine's compiler.
//! * [`userland`]: what a guest starts from: a shell, a few tools, the program and the command.
//! * [`guest`]: boots one, runs a command in it, hands files out. With one CPU a guest's clock counts instructions, so
//!   that a run gives the same bytes however busy the host is. [`left`]: what comes out of it; [`kept`]: what guests left need
//!   not run again; [`parameters`]: which of its own the kernel did not take.
//! * [`outside`]: watches a guest without a single additional instruction in it: what ran between two moments, block by block.

#![forbid(unsafe_code)]

pub mod apt;
pub mod cache;
mod cpio;
pub mod guest;
pub mod headers;
pub mod hypervisor;
pub mod image;
pub mod kept;
pub mod left;
pub mod module;
pub mod outside;
mod own_place;
pub mod package;
pub mod parameters;
pub mod table;
pub mod userland;

pub use cpio::Archive;
