//! What somebody who uses a program has to wait for.
//!
//! * `interaction`, `outcome`: an input, where its time went, and what happened to it; `files`: their tables.
//! * `waits`: how long they were waited for; `stretches`: when, by the state machine of 1996.
//! * `counters`: what the kernel and the processor counted meanwhile; `events`: what the program's toolkit passed on.
//! * `code`: which code was at work for them.

pub(crate) mod code;
pub(crate) mod counters;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod interaction;
pub(crate) mod outcome;
pub(crate) mod stretches;
pub(crate) mod waits;
