//! How figures, names and tables look in text, whatever they speak of.

mod table;
mod words;

pub(crate) use table::indented;
pub use table::table;
pub use words::microseconds;
pub(crate) use words::{grouped, shortened, thousandths};
