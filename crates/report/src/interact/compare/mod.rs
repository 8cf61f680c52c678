//! Two sides of inputs to a program, compared.

mod answer;
mod page;
mod text;
pub(crate) mod words;

pub use answer::CompareInteractAnswer;
pub use page::interact_comparison_page;
pub use text::interact_comparison_text;
