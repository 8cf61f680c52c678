//! What a fire drill did.

mod answer;
mod text;

pub use answer::{DrillAnswer, DrillListAnswer};
pub use text::*;
