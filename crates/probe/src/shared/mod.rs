//! What several instruments use.
//!
//! * `plan`, `error`: what to measure, and why it is not done.
//! * `observation`: how a run goes, and how it is closed.
//! * `beside`: loading programs while something else takes its time.
//! * `control`: how a process and its measuring threads talk to each other, and the watchdog of both.
//! * `event_ring`: the rings of `bpf/event_ring.h`, the flight recorder's and a log's.
//! * `helper_calls`: how often programs call the kernel, for tests.
//! * `lossy_ring`: rings that programs in the kernel write without waiting for their reader.
//! * `left_out`: what is not seen if a program could not be loaded.
//! * `names`: names from the kernel.
//! * `namespaces`: when programs in the kernel and this process do not mean the same thing.
//! * `recent`: what was found last for a key.
//! * `source_numbers`: numbers that the programs' sources state too, for tests.
//! * `trials`: whatever needs BPF programs, tried out.

pub(crate) mod beside;
pub(crate) mod control;
pub(crate) mod error;
pub(crate) mod event_ring;
#[cfg(test)]
pub(crate) mod helper_calls;
pub(crate) mod left_out;
pub(crate) mod lossy_ring;
pub(crate) mod names;
pub(crate) mod namespaces;
pub(crate) mod observation;
pub(crate) mod plan;
pub(crate) mod recent;
#[cfg(test)]
pub(crate) mod source_numbers;
pub(crate) mod trials;
