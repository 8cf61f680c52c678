//! Two sides held against each other.

mod answer;
mod page;
mod several;
mod text;

pub use answer::CompareAnswer;
pub use page::comparison_page;
pub use several::{CompareSidesAnswer, several_text};
pub use text::*;
