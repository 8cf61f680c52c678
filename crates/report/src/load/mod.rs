//! Loads, and what they got done.

mod text;

pub use text::*;
