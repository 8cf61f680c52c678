//! Wakeups: one activation in stages, and counts of many.

pub(crate) mod buckets;
mod catch_up;
mod catch_up_evidence;
pub(crate) mod cycle_count;
pub(crate) mod cycles;
pub(crate) mod distribution;
mod grid;
pub(crate) mod rebuilt;
mod series;
pub(crate) mod sums;
pub(crate) mod tail;
pub(crate) mod wakeup;
