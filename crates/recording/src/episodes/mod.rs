//! Episodes: late wakeups with the evidence around them.

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
