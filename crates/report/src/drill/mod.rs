//! What a fire drill did.

mod text;

pub use text::*;
