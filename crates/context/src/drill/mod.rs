//! Fire drills: known causes of lateness, injected for a bounded time, with a log of the truth.
//!
//! A [`DrillPlan`] says what to inject, for how long and how often; [`run`] does so, on each CPU with a thread of its
//! own (`worker`), and hands out each [`Injection`] with its start and end, stamped where the CPU was being kept.
//!
//! | drill | who keeps whom from what |
//! |---|---|
//! | irq, softirq | a BPF program in interrupt or softirq context keeps the CPU (`kernel_burn`) |
//! | irq-off | a BPF program in a system call keeps interrupts off (`irq_off`) |
//! | fifo, same-priority | a real-time thread spins (`spinner`) |
//! | lock | a normal thread holds a mutex that a victim wants (`lock`) |
//! | page-fault | a victim touches pages that are not there (`page_fault`) |
//! | throttle | a victim uses up its reservation (`throttle`) |
//! | migrate | a victim is moved from CPU to CPU (`migrate`) |
//!
//! Everything lives in this process and in what its descriptors hold: nothing outlives it, however it ends.

mod availability;
mod injection;
mod irq_off;
mod kernel_burn;
mod kind;
mod lock;
mod migrate;
mod page_fault;
mod plan;
mod run;
mod schedule;
mod spinner;
mod stop;
mod throttle;
mod victim;
mod worker;

pub use availability::{Available, availability};
pub use injection::{Injection, VictimActivation};
pub use kind::{DrillKind, UnknownDrill};
pub use plan::{DrillPlan, Lengths, MAX_DURATION_NS, MAX_NS, Pages, PlanError};
pub use run::{DrillError, DrillOutcome, DrillProgress, run};
