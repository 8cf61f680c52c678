//! What a task asks of a processor.

/// A task as seen by its demand, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// The longest computing time, ns.
    pub compute_ns: u64,
    /// The least time between activations, ns.
    pub period_ns: u64,
    /// The time from release to deadline, less the jitter of the release, ns.
    pub deadline_ns: u64,
}
