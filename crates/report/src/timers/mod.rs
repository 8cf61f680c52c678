//! The ways to ask for periodic callbacks.

mod answer;
mod text;

pub use answer::TimersAnswer;
pub use text::*;
