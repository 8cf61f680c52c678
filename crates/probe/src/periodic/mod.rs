//! Periodic threads of punctual's own, woken by the clock, each wakeup followed through the kernel.
//!
//! * `session`: carries out a plan.
//! * `thread`: the measuring thread, and the queue (`sample`) that it fills.
//! * `stage_tracer`, `slots`: the BPF programs that stamp each stage, and the memory in which they do so.
//! * `softirq_wait`: how a softirq callback wakes a thread; `chain`: whether all callbacks came.

mod chain;
mod sample;
mod session;
mod slots;
mod softirq_wait;
mod stage_tracer;
mod thread;

pub(crate) use session::run;
pub use stage_tracer::{StageTracer, object_bytes};
pub use thread::recording_cost_ns;
