//! Who made wakeups late in one run, as its evidence shows.

use std::collections::BTreeMap;

/// A cause: its kind, and who it was. Recordings of one program have it under one name, whatever the numbers of threads and the
/// control groups of that day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CauseName {
    /// The name of the kind in JSON.
    pub kind: &'static str,
    /// Who.
    pub who: String,
}

/// What a cause had of the lateness of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CauseTimes {
    /// When the episodes ended in which it had a part, ns of `CLOCK_MONOTONIC`.
    pub ended_ns: Vec<u64>,
    /// How much of them it had in all, ns.
    pub total_ns: u64,
}

/// The causes of what was late in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunCauses {
    /// How many wakeups or requests were beyond the threshold.
    pub late: u64,
    /// How many of them have evidence without a hole, from which all causes are.
    pub whole: u64,
    /// Each cause.
    pub by: BTreeMap<CauseName, CauseTimes>,
}

impl RunCauses {
    /// How many were late for causes that are not known.
    pub(crate) fn untold(&self) -> u64 {
        self.late.saturating_sub(self.whole)
    }
}
