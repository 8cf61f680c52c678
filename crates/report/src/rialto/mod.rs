//! What a command with a reservation of Rialto/NT's was given.

mod answer;
mod text;

pub use answer::{RialtoAnswer, RialtoReport};
pub use text::text;
