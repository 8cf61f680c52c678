//! Measures how late wakeups run: periodic threads of its own, followed through the kernel stage by stage.
//!
//! A [`Plan`] says what to measure; [`run`] measures it and writes a recording.
//! The measuring threads neither allocate, lock, log nor fault: they sleep to an absolute time, read the clock,
//! copy the stamps that BPF programs left for them in one cache line of shared memory, and push 64 bytes
//! to a preallocated queue. The calling thread does everything else.

mod calibrated;
mod came;
mod control;
pub mod echo;
mod follow;
mod foreign;
mod idle;
mod idle_loop;
mod idle_trace;
mod left_out;
pub mod log;
mod overwriting;
mod plan;
mod ring;
mod sample;
mod session;
mod slots;
mod thread;
mod trials;
pub mod ways;
pub mod why;

pub use calibrated::{BINS_EACH, Calibration, DURATION_BINS};
pub use follow::{Follower, object_bytes};
pub use foreign::{Programs, Selection};
pub use idle::{IdlePlan, IdleSession, LoopTotals, Taken};
pub use idle_loop::{RawGap, Ticker};
pub use idle_trace::{Ran, TraceEntry};
pub use plan::{Plan, PlanError, Policy, Via};
pub use session::{Observation, Outcome, RunError, Step, run};
pub use thread::recording_cost_ns;
pub use trials::trials;
