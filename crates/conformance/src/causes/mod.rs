//! Causes of lateness that `punctual why` was not built for, and what it says about each.
//!
//! A cause is a scene: a victim, and one or more culprits, each a process of its own. The culprits log when they kept
//! the victim (`board`), and the victim logs when it was due and when it was done; `examine` records the victim
//! meanwhile, and `judge` compares what `why --json` says with both logs. `first` is the list of causes, each with what
//! counts as right; `second` to `fifth` were chosen before anybody saw an answer to them. [`all`] are all five.
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
mod mounts;
mod primitives;
mod ring;
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
