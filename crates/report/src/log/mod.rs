//! The event log.

pub mod lines;
mod text;
pub mod trace;

pub use text::*;
