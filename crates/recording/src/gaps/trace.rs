//! What ran on a CPU during a gap, as the kernel reported it. It is not kept: a gap keeps only its attribution.

/// What ran on a CPU instead of its loop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ran {
    /// An interrupt, by its class (`local_timer`, `reschedule`, ...) or, for a device's, its handler's name.
    Interrupt(String),
    /// A softirq, by its name (`timer`, `net_rx`, ...).
    Softirq(String),
    /// A thread, by its name.
    Thread(String),
}

/// An interval in which something else ran on a CPU. Times are ns of `CLOCK_MONOTONIC`. Threads may contain softirqs
/// and interrupts, and softirqs interrupts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEntry {
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The host's steal counter of this CPU at the end, ns; `None` where it cannot be read.
    pub steal_ns: Option<u64>,
    /// How much of the interval the host stole, ns.
    pub stolen_ns: u64,
    /// What ran.
    pub ran: Ran,
}
