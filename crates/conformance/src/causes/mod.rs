//! Causes of lateness that `punctual why` was not built with, and what it says of each.
//!
//! A cause is a scene: a victim, one or several culprits, each a process of its own. The culprits write down when they
//! kept the victim (`board`), the victim when it was due and through; `examine` records the victim meanwhile, and
//! `judge` holds what `why --json` says against both logs. `first` is the list of causes, each with what counts as right;
//! `second` to `fifth` were chosen before any answer to them was seen. [`all`] are all five.
//!
//! `scripts/causes` is its command line.

mod board;
mod cause;
mod competition;
mod examine;
mod fifth;
mod first;
mod fourth;
mod group;
mod judge;
mod locks;
mod memory;
mod primitives;
mod scene;
mod second;
mod servers;
mod sleep;
mod stops;
mod storage;
mod system;
mod table;
mod third;
mod unplug;

pub use cause::{Accepted, Cause, Sense, Set, Stage};
pub use examine::{Examined, Examiner, SCENE, play, sweep};
pub use judge::Tally;
pub use table::{heading, json, markdown, rewrite, text};

/// All lists.
pub fn all() -> impl Iterator<Item = &'static Cause> {
    first::CAUSES.iter().chain(second::CAUSES).chain(third::CAUSES).chain(fourth::CAUSES).chain(fifth::CAUSES)
}
