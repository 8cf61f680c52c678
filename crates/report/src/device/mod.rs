//! What soft devices met, and the study of one.

pub mod study;
mod text;

pub use text::*;
