//! Two sides, compared.

mod answer;
mod causes;
mod counts;
mod devices;
mod page;
mod several;
mod several_page;
mod text;
mod words;

pub use answer::CompareAnswer;
pub(crate) use answer::{DifferenceRow, RatioRow};
pub use page::comparison_page;
pub(crate) use page::{SHOWS_A_DIFFERENCE, blind, context, differences_block, row_of};
pub use several::{CompareSidesAnswer, several_text};
pub use several_page::several_page;
pub use text::*;
pub(crate) use words::{factor, outcome};
