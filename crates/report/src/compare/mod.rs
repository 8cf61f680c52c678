//! Two sides held against each other.

mod answer;
mod page;
mod text;

pub use answer::CompareAnswer;
pub use page::comparison_page;
pub use text::*;
