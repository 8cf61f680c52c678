//! What was simulated.

mod figures;
pub mod page;
pub mod plane;
pub mod sweep;
mod text;
pub mod timeline;

pub use text::*;
