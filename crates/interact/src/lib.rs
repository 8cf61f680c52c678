//! Uses a program as a person does, and finds out how long each input took and what the person waited for.
//!
//! * [`script`]: what is typed, and at which pace.
//! * `place`: where a program is used: `terminal`, a pseudo-terminal and a program at it; `display`, an X server of its
//!   own or the user's; `compositor`, a Wayland compositor of its own; the last two share `screen`.
//! * `delivered`: inputs to a display that others use too.
//! * [`track`]: pure: it makes inputs and their ends out of what was put in, what threads did and what came out.
//! * [`think_wait`]: pure: the state machine of 1996 that tells thinking from waiting.
//! * `kernel_tracing`: what looks into the kernel meanwhile.
//! * `split`: what the time was spent on, by `punctual-blame`.
//! * [`learn()`], [`learn_in_window()`]: make a script of what somebody types at a program, or does in its windows.
//! * [`attach()`]: a person's own use of a program that runs already, at a terminal or in a window.
//! * `ledger`: the outcomes of inputs, written down as they end.
//! * `code`: the functions that were at work for them.
//! * `processes`: what the program's processes have spent; `typist`: the typist's own place on the CPUs.
//! * [`interact()`]: all of it, into a recording.

#![forbid(unsafe_code)]

mod attach;
mod code;
mod compositor;
mod delivered;
mod display;
mod kernel_tracing;
mod learn;
mod ledger;
mod place;
mod plan;
mod processes;
mod run;
mod screen;
pub mod script;
mod split;
mod terminal;
pub mod think_wait;
pub mod track;
mod typist;

pub use attach::{AttachPlan, Target, attach};
pub use learn::{LearnEnd, Learned, NotLearned, learn, learn_attached, learn_in_window};
pub use place::Via;
pub use plan::{InteractError, InteractPlan, InteractProgress, PaceMode};
pub use run::interact;
