//! A reservation that was found, tried and proven.

mod answer;
mod applied;
pub(crate) mod counts;
mod later;
mod model;
mod needless;
mod none;
mod page;
mod phases;
mod plane;
mod spinners;
mod standing;
pub(crate) mod text;
mod together;
mod together_page;
#[cfg(test)]
mod together_tests;
pub(crate) mod words;

pub use answer::{ReserveAnswer, RunAnswer, UndoAnswer};
pub use applied::{AppliedAnswer, AppliedRow, applied_text};
pub use later::Later;
pub use model::{OtherThread, ProofReport, PutBackRow, ReserveEnd, ReserveReport, SetRow, SpinnersReport};
pub use page::html;
pub use phases::{PhaseRow, PhasesAnswer, PhasesReport, phases_html, phases_text};
pub use text::{run_text, text, undo_text};
pub use together::{TogetherAnswer, TogetherDevice, TogetherReport, together_text};
pub use together_page::together_html;
