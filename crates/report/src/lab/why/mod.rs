//! A late wakeup of a guest, seen from outside.

mod answer;
mod model;
mod page;
mod text;

pub use answer::OutsideAnswer;
pub use model::{Arrival, ClassRow, FunctionRow, OutsideReport, Stretch, StretchKind};
pub use page::outside_page;
pub use text::outside_text;
