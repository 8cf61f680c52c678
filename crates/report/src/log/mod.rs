//! The event log.

mod answer;
pub mod lines;
mod page;
mod text;
pub mod trace;

pub use answer::{EventRow, HeaderAnswer, LogAnswer};
pub use page::{LogPictures, log_page};
pub use text::*;
