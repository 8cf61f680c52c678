//! What somebody who uses a program has to wait for.

pub(crate) mod counters;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod interaction;
pub(crate) mod outcome;
