//! One late wakeup, from its events to its parts.

mod alike;
pub(crate) mod asked;
pub(crate) mod chain;
pub(crate) mod classify;
pub(crate) mod detail;
mod disks;
pub(crate) mod findings;
pub(crate) mod groups;
mod idle;
pub(crate) mod index;
pub(crate) mod nesting;
pub(crate) mod piece;
pub(crate) mod priorities;
mod programs;
pub(crate) mod replay;
pub(crate) mod sampling;
mod shared;
pub(crate) mod sightings;
pub(crate) mod sockets;
mod span;
pub(crate) mod split;
mod story;
mod subject;
pub(crate) mod summary;
pub(crate) mod threads;
mod waits;
mod words;
