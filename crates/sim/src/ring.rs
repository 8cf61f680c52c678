//! The ring between a device that never stops and the reader of its samples: what is taken, lost and pending.

use crate::time::{Picoseconds, SECOND};

/// Counts every sample once: taken, lost, or pending. Samples are numbered as they come, from 0.
///
/// A full ring of `size` starts again from empty, as in soft-modem-2000 section 6.1: what was in it is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    size: u64,
    /// Samples in complete blocks, and when the last of them was complete.
    arrived: u64,
    last: Picoseconds,
    rate: u64,
    next: u64,
    /// All samples below this one are taken or lost.
    settled: u64,
    taken: u64,
    overflows: u64,
}

impl Ring {
    /// A ring of so many samples, empty from `start` on; `u64::MAX` for one that is never full.
    pub fn new(size: u64, start: Picoseconds) -> Ring {
        Ring { size, arrived: 0, last: start, rate: 0, next: 0, settled: 0, taken: 0, overflows: 0 }
    }

    /// A block is complete at `time`; the next one has `next` samples, which come at `rate` a second.
    #[inline]
    pub fn arrive(&mut self, samples: u32, time: Picoseconds, rate: u64, next: u32) {
        self.arrived += u64::from(samples);
        (self.last, self.rate, self.next) = (time, rate, u64::from(next));
        self.wrap(self.arrived);
    }

    /// All that came until `time`, including what is under way.
    #[inline]
    pub fn came(&self, time: Picoseconds) -> u64 {
        let under_way = u128::from(time.saturating_sub(self.last)) * u128::from(self.rate) / u128::from(SECOND);
        self.arrived + (under_way as u64).min(self.next)
    }

    #[inline]
    fn wrap(&mut self, came: u64) {
        if came - self.settled >= self.size {
            let rounds = (came - self.settled) / self.size;
            self.overflows += rounds;
            self.settled += rounds * self.size;
        }
    }

    /// Whether a block that begins at this sample has been overwritten, or a part of it.
    #[inline]
    pub fn is_lost(&self, first: u64) -> bool {
        first < self.settled
    }

    /// A block that begins at sample `first` is settled at `time`: taken, if `keep`, or dropped. Returns whether all of
    /// it was still there, and how many samples are then pending.
    #[inline]
    pub fn settle(&mut self, first: u64, samples: u32, time: Picoseconds, keep: bool) -> (bool, u64) {
        let came = self.came(time);
        self.wrap(came);
        let whole = !self.is_lost(first);
        let end = first + u64::from(samples);
        if end > self.settled {
            if keep {
                // What comes before it and was not taken is lost, because its interrupt was.
                self.taken += end - self.settled.max(first);
            }
            self.settled = end;
        }
        (whole, came.saturating_sub(self.settled))
    }

    /// Samples that were taken in time.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Samples that were overwritten or dropped.
    pub fn lost(&self) -> u64 {
        self.settled - self.taken
    }

    /// How often it was full.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Beside a ring that keeps every sample by name.
        #[test]
        fn every_sample_is_taken_lost_or_pending_exactly_once(
            size in 1..60u64,
            steps in prop::collection::vec((1..20u32, any::<bool>(), any::<bool>()), 1..80),
        ) {
            let mut ring = Ring::new(size, 0);
            let mut held: std::collections::VecDeque<u64> = Default::default();
            let (mut waiting, mut first, mut overflows) = (std::collections::VecDeque::new(), 0, 0);
            let (mut taken, mut lost) = (0u64, 0u64);
            for (samples, work, keep) in steps {
                for sample in first..first + u64::from(samples) {
                    held.push_back(sample);
                    if held.len() as u64 == size {
                        overflows += 1;
                        lost += size;
                        held.clear();
                    }
                }
                waiting.push_back((first, samples));
                first += u64::from(samples);
                ring.arrive(samples, first, 0, 0);
                while work && let Some((begin, samples)) = waiting.pop_front() {
                    let end = begin + u64::from(samples);
                    let there = held.iter().filter(|&&sample| sample < end).count() as u64;
                    held.retain(|&sample| sample >= end);
                    if keep { taken += there } else { lost += there }
                    let (whole, pending) = ring.settle(begin, samples, first, keep);
                    prop_assert_eq!(whole, there == u64::from(samples));
                    prop_assert_eq!(pending, held.len() as u64);
                }
                prop_assert_eq!(ring.overflows(), overflows);
                prop_assert_eq!((ring.taken(), ring.lost()), (taken, lost));
                prop_assert_eq!(taken + lost + held.len() as u64, first);
            }
        }
    }
}
