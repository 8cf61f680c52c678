//! The machine: interrupts over deferred procedures over threads, on one or more CPUs.
//!
//! Time advances from event to event. An event is an interrupt raised, a piece of work done, a boundary of a slot, the
//! end of a quantum or of a budget, a release, a replenishment. All state lives in arrays made when the machine is
//! built; an event changes some of it and decides again what each CPU concerned runs.

mod account;
mod arrivals;
mod check;
mod engine;
mod locks;
mod mechanism;
mod migrate;
mod ready;
mod slots;
mod source;
mod specification;
mod thread;
mod threads;
mod timers;
mod units;

pub use engine::{CpuTime, Engine};
pub use mechanism::Mechanism;
pub use ready::{LEVEL_DEADLINE, LEVEL_EDF, LEVEL_KERNEL, LEVEL_RATE_MONOTONIC, LEVEL_SLOT};
pub use slots::{MAX_UNITS, Refused, Request, SlotPlan};
pub use specification::{
    Activity, Arrival, ClockSpec, ConstraintSpec, Hold, LateWork, MachineSpec, PhaseSpec, Phases, Policy, Raise,
    SourceSpec, ThreadSpec, TimerRule, WorkContext,
};

/// No thread, no source.
pub(crate) const NONE: u32 = u32::MAX;
