//! How a device's line changes while it runs.

use crate::context::Reservation;

/// A stretch of a run in which blocks of one size come at one rate, as a modem changes them while it connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// The time between two interrupts, ns.
    pub period_ns: u64,
    /// Samples in a block.
    pub samples: u32,
    /// How long it lasts, ns; the last one lasts to the end.
    pub length_ns: u64,
    /// What the device's thread has reserved in this phase; `None`: what it had before.
    pub reservation: Option<Reservation>,
}
