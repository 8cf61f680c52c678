//! Who made wakeups late.

pub(crate) mod advice;
mod answer;
mod apart;
pub(crate) mod call_rows;
pub mod cost;
pub(crate) mod ends;
pub(crate) mod explain;
mod flame;
pub mod handlers;
mod handlers_answer;
mod leading;
mod left_out;
pub(crate) mod model;
mod notes;
pub mod page;
mod preemption;
mod processes;
mod remedy;
pub(crate) mod request_times;
mod screen;
mod sockets;
mod steps;
mod text;
pub mod trace;
pub mod tree;
mod void;
mod waits;
mod without_host;
pub(crate) mod words;

pub use crate::verdict::why::failure;
pub use answer::WhyAnswer;
pub use explain::ExplainAnswer;
pub use handlers_answer::HandlersAnswer;
pub use model::{EpisodeView, FollowedLoops, OnlyThread, WhyReport};
pub use screen::text;
pub use text::{one_episode, whole_text};

/// The name and version of the JSON.
const SCHEMA: &str = "punctual.why/1";

#[cfg(test)]
pub(crate) mod tests;
