//! A late wakeup of a guest, looked at from outside.

mod answer;
mod model;
mod text;

pub use answer::OutsideAnswer;
pub use model::{Arrival, ClassRow, FunctionRow, OutsideReport, Stretch, StretchKind};
pub use text::outside_text;
