//! When events came in a run: how many in each stretch of it, which shows whether they come in bursts.

/// A run is cut into at most this many stretches.
const MAX_STRETCHES: u64 = 600;
/// A short run is cut into this many, which are shorter than a second.
const MIN_STRETCHES: u64 = 20;
const SECOND_NS: u64 = 1_000_000_000;

/// How long each stretch of a run of this length is, ns, and how many there are.
pub(crate) fn cut(length_ns: u64) -> (u64, usize) {
    let length_ns = length_ns.max(1);
    let stretch_ns = (length_ns / MAX_STRETCHES).max((length_ns / MIN_STRETCHES).clamp(1, SECOND_NS));
    (stretch_ns, (length_ns.div_ceil(stretch_ns) as usize).clamp(1, MAX_STRETCHES as usize + 1))
}

/// How many events came in each stretch of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct InTime {
    started_ns: u64,
    stretch_ns: u64,
    counts: Vec<f64>,
}

impl InTime {
    /// No event yet, of a run that began then, ns of `CLOCK_MONOTONIC`, and is so long, ns.
    pub fn new(started_ns: u64, length_ns: u64) -> InTime {
        let (stretch_ns, stretches) = cut(length_ns);
        InTime { started_ns, stretch_ns, counts: vec![0.0; stretches] }
    }

    /// Takes an event that came then, ns of `CLOCK_MONOTONIC`; what lies outside the run counts at its ends.
    pub fn take(&mut self, at_ns: u64) {
        self.take_several(at_ns, 1);
    }

    /// Takes so many events that came then.
    pub(crate) fn take_several(&mut self, at_ns: u64, events: u64) {
        let stretch = (at_ns.saturating_sub(self.started_ns) / self.stretch_ns) as usize;
        let last = self.counts.len() - 1;
        self.counts[stretch.min(last)] += events as f64;
    }

    /// How many there are in each stretch.
    pub(crate) fn counts(&self) -> &[f64] {
        &self.counts
    }
}
