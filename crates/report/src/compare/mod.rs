//! Two sides, compared.

mod answer;
mod causes;
pub(crate) mod counts;
mod devices;
mod page;
mod several;
mod several_page;
pub(crate) mod sides;
mod text;
pub(crate) mod words;

pub use answer::CompareAnswer;
pub(crate) use answer::{DifferenceRow, RatioRow};
pub use page::comparison_page;
pub(crate) use page::{SHOWS_A_DIFFERENCE, blind, context, differences_block, row_of};
pub use several::{CompareSidesAnswer, several_text};
pub use several_page::several_page;
pub use text::*;
pub(crate) use words::{factor, measure, outcome};
