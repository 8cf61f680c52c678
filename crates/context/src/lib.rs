//! Runs work in a context: interrupt, softirq, thread, reservation.
//!
//! * [`interrupt`]: the interrupt: a timer that expires on one CPU, in hard interrupt context, where a BPF program runs.
//! * [`drill`]: known causes of lateness, injected for a bounded time, with a log of the truth.
//! * [`Context`]: where a device's work runs, as people write it.
//! * [`modem`], [`dsl`], [`radio`]: datapumps of modems and the baseband of a radio as BPF programs.
//! * [`own`]: a user's own work for a device, in C or as a BPF object.
//! * [`rialto`]: a scheduler that serves reservations by slots.
//! * [`device`]: soft devices: their line, their datapump, in each context, beside competitors.

mod claim;
mod context;
pub mod device;
pub mod drill;
pub mod dsl;
pub mod interrupt;
pub mod modem;
pub mod own;
pub mod radio;
pub mod rialto;
mod trials;

pub use context::{Context, Form, Reservation};
pub use trials::{other_trials, trials};
