//! What a program's user waits for.

mod account;
mod answer;
mod code;
pub mod compare;
mod counters;
mod events;
mod hardware;
mod histogram;
mod key_rows;
mod keys;
mod learned;
mod model;
mod over_time;
mod page;
mod spent;
pub(crate) mod sums;
mod text;
mod think_wait;
mod toolkit;
mod trace;

pub use answer::InteractAnswer;
pub use learned::{EndedBy, LearnAnswer, NotLearned, Session};
pub use model::InteractReport;
pub use page::interact_page;
pub use sums::{KindLimit, Patience, USUAL_PATIENCE_NS};
pub use text::text;
pub use trace::interact_trace;
