//! Two sides, compared.

mod answer;
mod causes;
pub(crate) mod counts;
mod devices;
mod page;
mod ratios;
mod several;
mod several_page;
pub(crate) mod sides;
mod text;
pub(crate) mod words;

pub use answer::CompareAnswer;
pub(crate) use answer::{DifferenceRow, RatioRow};
pub use page::comparison_page;
pub(crate) use page::{blind, context, differences_block};
pub(crate) use ratios::{ratio_picture, ratio_section, row_of};
pub use several::{CompareSidesAnswer, several_text};
pub use several_page::several_page;
pub use text::*;
pub(crate) use words::{factor, measure, outcome};
