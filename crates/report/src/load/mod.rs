//! Loads, and what they got done.

mod answer;
mod text;

pub(crate) use answer::ScoreRow;
pub use answer::{LoadInstalledAnswer, LoadListAnswer, LoadRunAnswer};
pub use text::*;
