//! Two sides held against each other.

mod page;
mod text;

pub use page::comparison_page;
pub use text::*;
