//! Uses a program as a person does, and finds out how long each input took and what was waited for.
//!
//! * [`script`]: what is typed, and at which pace.
//! * `terminal`: a pseudo-terminal, and a program at it.
//! * [`track`]: pure: what was put in, what threads did and what came out; inputs and their ends out of that.
//! * [`machine`]: pure: the machine of 1996 that tells thinking from waiting.
//! * `split`: what the time was spent on, by `punctual-blame`.
//! * [`interact()`]: all of it, into a recording.

#![forbid(unsafe_code)]

pub mod machine;
mod processes;
mod run;
pub mod script;
mod split;
mod terminal;
pub mod track;

pub use run::{InteractError, InteractPlan, InteractProgress, PaceMode, interact};
