//! Who made wakeups late.

mod advice;
mod answer;
mod apart;
mod call_rows;
pub mod cost;
mod ends;
pub(crate) mod explain;
mod flame;
pub mod handlers;
mod handlers_answer;
mod model;
mod notes;
pub mod page;
mod preemption;
mod processes;
mod remedy;
pub(crate) mod request_times;
mod requests;
mod screen;
mod sockets;
mod steps;
mod text;
pub mod trace;
pub mod tree;
mod verdict;
mod void;
mod waits;
mod without_host;
mod words;

pub use answer::WhyAnswer;
pub use explain::ExplainAnswer;
pub use handlers_answer::HandlersAnswer;
pub use model::{EpisodeView, FollowedLoops, OnlyThread, WhyReport};
pub use screen::text;
pub use text::{episode_text, whole_text};
pub use verdict::failure;

/// The name and version of the JSON.
const SCHEMA: &str = "punctual.why/1";

#[cfg(test)]
mod tests;
