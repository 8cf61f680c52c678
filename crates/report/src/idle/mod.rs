//! Gaps of the idle loop.

mod page;
mod text;
pub mod validation;

pub use page::{GapPictures, idle_page};
pub use text::*;
