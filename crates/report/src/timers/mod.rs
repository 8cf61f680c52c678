//! The ways to ask for periodic callbacks.

mod text;

pub use text::*;
