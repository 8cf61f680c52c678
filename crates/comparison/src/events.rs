//! Events that are counted: of a side, and of one of its runs.

/// Why nothing can be said of a run's slow requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold {
    /// No request was recognised.
    NoneRecognised,
    /// Of more than half of the requests that began it is not known how long they took.
    MostlyUnknown,
}

impl Untold {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Untold::NoneRecognised => "none recognised",
            Untold::MostlyUnknown => "mostly unknown",
        }
    }
}

/// A side's events, over all its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventCount {
    /// How many there were at most, by what was seen.
    pub events: u64,
    /// How many there were at least: fewer if some wakeups were not seen, if it is unknown whether a loop catches up, or how long
    /// some requests took.
    pub least: u64,
    /// Whether there may have been more, which nobody saw.
    pub may_be_more: bool,
    /// How many more there may have been at most, where that is so; `None` if nothing limits them.
    pub hidden: Option<u64>,
    /// Out of how many cycles, periods, blocks or requests; or, where not every run of both sides counted its requests, in
    /// how much time, ns. 0 if they could not be counted.
    pub exposure: u64,
    /// Threads that the loops may have started and that never slept: what they did may have taken too long; 0 for others than loops.
    pub without_sleep: u64,
    /// Runs at the end of which the loop may have hung; 0 for others than loops.
    pub hung_runs: u64,
    /// For how long at most it was not seen to go on then, ns.
    pub longest_hung_ns: u64,
    /// Whether the cycles may have been more: wakeups were not seen, or a stretch may hold cycles that the loop made up for.
    pub may_be_more_exposure: bool,
    /// Out of how many requests, those included whose end was not seen, if they were counted in every run; `None` for others.
    pub all: Option<u64>,
    /// In how much time, ns, where `exposure` is a number of requests; `None` for others.
    pub watched_ns: Option<u64>,
    /// Why requests could not be counted, of the first run in which that is so; `None` if they could, and for others.
    pub untold: Option<Untold>,
}

impl EventCount {
    /// The most that there can have been, seen or not; `None` if nothing limits them.
    pub fn at_most(&self) -> Option<u64> {
        if self.may_be_more { self.hidden.map(|hidden| self.events.saturating_add(hidden)) } else { Some(self.events) }
    }
}

/// One run's events.
#[derive(Debug, Clone, Default)]
pub(crate) struct OfRun {
    pub(crate) count: EventCount,
    /// How many came in each stretch of time, as far as their times are known.
    pub(crate) in_time: Vec<f64>,
}

#[cfg(test)]
impl OfRun {
    /// One with so many events, all certain, of as much as could have been one.
    pub(crate) fn counted(events: u64, exposure: u64) -> OfRun {
        let count = EventCount { events, least: events, exposure, ..EventCount::default() };
        OfRun { count, in_time: Vec::new() }
    }
}
