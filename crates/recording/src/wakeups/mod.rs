//! Wakeups: one activation in stages, and counts of many.

pub(crate) mod buckets;
pub(crate) mod cycles;
pub(crate) mod distribution;
mod grid;
pub(crate) mod rebuilt;
pub(crate) mod sums;
pub(crate) mod tail;
pub(crate) mod wakeup;
