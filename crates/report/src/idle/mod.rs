//! Gaps of the idle loop.

mod answer;
mod page;
mod text;
pub mod validation;

pub use answer::IdleAnswer;
pub use page::{GapPictures, idle_page};
pub use text::*;
