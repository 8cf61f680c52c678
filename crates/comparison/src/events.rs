//! Events that are counted: of a side, and of one of its runs.

/// A side's events, over all its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventCount {
    /// How many there were at most.
    pub events: u64,
    /// How many there were at least: fewer if some wakeups were not seen, or if it is unknown whether a loop catches up.
    pub least: u64,
    /// Out of how many cycles, periods, blocks or requests; or, where not every run of both sides counted its requests, in
    /// how much time, ns. 0 if they could not be counted.
    pub exposure: u64,
    /// Out of how many requests, if that was counted in every run; `None` for others.
    pub all: Option<u64>,
    /// In how much time, ns, where `exposure` is a number of requests; `None` for others.
    pub watched_ns: Option<u64>,
}

/// One run's events.
#[derive(Debug, Clone, Default)]
pub(crate) struct OfRun {
    pub(crate) count: EventCount,
    /// How many came in each stretch of time, as far as their times are known.
    pub(crate) in_time: Vec<f64>,
}
