//! Episodes: late wakeups with the evidence around them.
//!
//! * `episode`: one; `lock_waking`: what a waking in it says of the sleep that it ends.
//! * `files`, `place`: where a recording has them, and how they are written; `summary`: the recorder's settings and counts.
//! * `line`, `plain`: an episode as a line, with a parser of JSON and, for what punctual writes, without one; `check`: the
//!   bounds that it must keep.
//! * `read`, `in_parallel`: all of them in order, on one CPU or on several.

mod check;
pub(crate) mod episode;
pub(crate) mod files;
pub(crate) mod in_parallel;
mod line;
pub(crate) mod lock_waking;
mod place;
mod plain;
pub(crate) mod read;
pub(crate) mod summary;
