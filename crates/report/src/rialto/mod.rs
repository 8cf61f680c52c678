//! What Rialto/NT's reservations and time constraints delivered.

mod answer;
mod constraints;
mod text;

pub use answer::{RialtoAnswer, RialtoReport};
pub use constraints::{ConstraintRow, ConstraintsAnswer, ConstraintsReport, constraints_text};
pub use text::text;
