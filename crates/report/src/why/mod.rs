//! Who made wakeups late.

pub mod cost;
pub mod handlers;
pub mod page;
mod text;
pub mod trace;
pub mod tree;

pub use text::*;
