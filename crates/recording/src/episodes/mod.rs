//! Episodes: late wakeups with the evidence around them.

mod check;
pub mod episode;
pub(crate) mod files;
mod line;
mod lock_waking;
