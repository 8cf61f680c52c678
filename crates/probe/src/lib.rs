//! Measures how late wakeups run: periodic threads of its own, followed through the kernel stage by stage.
//!
//! A [`Plan`] says what to measure; [`run`] measures it and writes a recording.
//! The measuring threads neither allocate, lock, log nor fault: they sleep to an absolute time, read the clock,
//! copy the stamps that BPF programs left for them in one cache line of shared memory, and push 64 bytes
//! to a preallocated queue. The calling thread does everything else.
//!
//! One room for each instrument:
//!
//! * `periodic`: threads of its own, woken by the clock.
//! * `followed`: the wakeups of other people's threads.
//! * `stamped`: what a driver's kernel module says about itself.
//! * [`recorder`]: the flight recorder, which keeps the evidence of late wakeups.
//! * [`eventlog`]: chosen classes of events, all of them.
//! * [`idle`]: the loop that looks for gaps, and what the kernel says about them.
//! * [`terminal`]: what the threads at one terminal do.
//! * [`toolkit`]: which events a program's toolkit hands on to it.
//! * [`timers`]: the ways to ask for periodic callbacks.
//! * `shared`: what several of these use.

pub mod eventlog;
mod followed;
pub mod idle;
mod periodic;
pub mod recorder;
mod run;
mod shared;
mod stamped;
pub mod terminal;
pub mod timers;
pub mod toolkit;

pub use followed::{Programs, Selection, name_expression, nearest_name};
pub use periodic::{StageTracer, object_bytes, recording_cost_ns};
pub use run::run;
pub use shared::error::{PlanError, RunError};
pub use shared::observation::{Observation, Outcome, Step, Waiting};
pub use shared::plan::{Plan, Policy, Via};
pub use shared::trials::{other_trials, trials};
