//! Runs of the recorder's programs that were skipped, by time.

use super::FlightRecorder;
use std::collections::VecDeque;

/// The count is read this often, ns; each reading takes a system call for every program.
const READ_NS: u64 = 100_000_000;
/// How many readings are kept.
const MAX_READINGS: usize = 600;

/// What was counted, and when.
#[derive(Debug, Default)]
pub(crate) struct MissedRuns(VecDeque<(u64, u64)>);

impl MissedRuns {
    /// Reads the count when it is time to; call this often.
    pub(crate) fn read(&mut self, now_ns: u64, recorder: &FlightRecorder) {
        if self.0.back().is_none_or(|(at_ns, _)| now_ns.saturating_sub(*at_ns) >= READ_NS) {
            self.note(now_ns, recorder.missed_runs());
        }
    }

    /// How many there were from about this time on.
    pub(crate) fn since(&self, start_ns: u64, recorder: &FlightRecorder) -> u64 {
        self.of(start_ns, recorder.missed_runs())
    }

    fn note(&mut self, now_ns: u64, missed: u64) {
        if self.0.len() == MAX_READINGS {
            self.0.pop_front();
        }
        self.0.push_back((now_ns, missed));
    }

    fn of(&self, start_ns: u64, missed: u64) -> u64 {
        let before = self.0.iter().rfind(|(at_ns, _)| *at_ns <= start_ns).or(self.0.front());
        missed.saturating_sub(before.map_or(0, |(_, before)| *before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_before_concerns_nobody_after() {
        let mut missed = MissedRuns::default();
        assert_eq!(missed.of(5, 2), 2, "nothing was read yet");
        for (at_ns, count) in [(100, 1), (200, 4), (300, 4)] {
            missed.note(at_ns, count);
        }
        assert_eq!([50, 100, 199, 200, 350].map(|start_ns| missed.of(start_ns, 5)), [4, 4, 4, 1, 1]);
        (0..2_000).for_each(|at_ns| missed.note(at_ns, 5));
        assert_eq!((missed.0.len(), missed.of(0, 5)), (MAX_READINGS, 0));
    }
}
