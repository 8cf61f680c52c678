//! One late wakeup, from its events to its parts.

pub(crate) mod chain;
pub(crate) mod classify;
mod disks;
pub(crate) mod groups;
pub(crate) mod nesting;
pub(crate) mod replay;
mod shared;
pub(crate) mod split;
mod story;
mod subject;
pub(crate) mod summary;
mod waits;
