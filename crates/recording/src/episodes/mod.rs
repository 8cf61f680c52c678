//! Episodes: late wakeups with the evidence around them.

mod check;
pub(crate) mod episode;
pub(crate) mod files;
mod line;
pub(crate) mod lock_waking;
