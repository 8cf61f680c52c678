//! Runs work in a context: interrupt, softirq, thread, reservation.
//!
//! * [`interrupt`]: the interrupt: a timer that expires on one CPU, in hard interrupt context, where a BPF program runs.
//! * [`drill`]: known causes of lateness, injected for a bounded time, with a log of the truth.

pub mod drill;
pub mod interrupt;
