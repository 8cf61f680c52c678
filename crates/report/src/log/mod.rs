//! The event log.

mod answer;
pub mod lines;
mod text;
pub mod trace;

pub use answer::{EventRow, HeaderAnswer, LogAnswer};
pub use text::*;
