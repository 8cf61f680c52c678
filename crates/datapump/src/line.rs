//! The line at a sampling device.

unsafe extern "C" {
    fn punctual_line_arrive(line: *mut Line, expected: u64);
    fn punctual_line_pending(line: *const Line, now: u64) -> u64;
    fn punctual_line_begin(line: *mut Line, now: u64);
    fn punctual_line_oldest(line: *const Line) -> u64;
}

/// `struct line` of `c/line.h`: what has arrived and its outcome. Times are ns of one clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Line {
    /// The time between the ends of two blocks.
    pub period: u64,
    /// When the newest block was complete; 0: none yet.
    pub last: u64,
    /// Blocks that were complete so far.
    pub arrived: u64,
    /// Blocks that were processed, dropped or lost so far.
    pub taken: u64,
    /// Blocks whose interrupt came together with a later one's.
    pub coalesced: u64,
    /// Blocks that were dropped for a newer one.
    pub dropped: u64,
    /// Blocks that were overwritten in the ring.
    pub lost: u64,
    /// How often the ring wrapped.
    pub overruns: u64,
    /// Samples in a block.
    pub samples: u32,
    /// Samples that the ring holds; 0: any number.
    pub ring: u32,
    /// 1: only the newest block is worth processing.
    pub drop_stale: u32,
    pad: u32,
}

impl Line {
    /// A line on which nothing has arrived yet.
    pub fn new(period_ns: u64, samples: u32, ring: u32, drop_stale: bool) -> Line {
        Line { period: period_ns, samples, ring, drop_stale: drop_stale.into(), ..Line::default() }
    }

    /// The interrupt that was due at `expected` came: every block complete by then has arrived.
    #[inline]
    pub fn arrive(&mut self, expected: u64) {
        // SAFETY: the layouts are the same, as the C source asserts; the functions of this file touch nothing else.
        unsafe { punctual_line_arrive(self, expected) }
    }

    /// Samples that have come and were not processed, including those on their way into the next block.
    #[inline]
    pub fn pending(&self, now: u64) -> u64 {
        // SAFETY: as in `arrive`.
        unsafe { punctual_line_pending(self, now) }
    }

    /// When the oldest waiting block was complete; `None` if none waits.
    #[inline]
    pub fn oldest(&self) -> Option<u64> {
        // SAFETY: as in `arrive`.
        (self.arrived > self.taken).then(|| unsafe { punctual_line_oldest(self) })
    }

    /// Gives up what cannot or need not be processed any more, and returns when the oldest remaining block was
    /// complete, or `None` if none remains. Call [`Line::take`] when it is processed.
    #[inline]
    pub fn begin(&mut self, now: u64) -> Option<u64> {
        // SAFETY: as in `arrive`.
        unsafe { punctual_line_begin(self, now) };
        self.oldest()
    }

    /// The oldest block has been processed.
    #[inline]
    pub fn take(&mut self) {
        self.taken += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_the_c_source() {
        assert_eq!(size_of::<Line>(), 80);
    }

    #[test]
    fn a_ring_that_wrapped_before_an_interrupt_does_not_wrap_again_with_it() {
        let mut line = Line::new(1_000, 64, 128, false);
        line.arrive(1_000);
        // The interrupt of the first block came when the second was complete and the third on its way.
        assert_eq!(line.begin(2_820), None);
        assert_eq!((line.arrived, line.lost, line.overruns), (2, 2, 1));
        line.arrive(3_000);
        assert_eq!(line.begin(3_010), Some(3_000));
        assert_eq!((line.arrived, line.lost, line.overruns, line.coalesced), (3, 2, 1, 1));
    }

    #[test]
    fn a_late_interrupt_brings_what_has_arrived_meanwhile() {
        let mut line = Line::new(100, 10, 0, false);
        line.arrive(1_000);
        line.arrive(1_100);
        line.arrive(1_400);
        assert_eq!((line.arrived, line.coalesced), (5, 2));
        assert_eq!(line.begin(1_400), Some(1_000));
        line.take();
        assert_eq!(line.begin(1_450), Some(1_100));
        assert_eq!(line.pending(1_450), 45);
        // Told twice, it is the same block.
        line.arrive(1_410);
        assert_eq!(line.arrived, 5);
    }

    proptest! {
        #[test]
        fn every_block_is_accounted_for(
            steps in prop::collection::vec((1..9u64, 0..4u32, 0..100u64), 1..200),
            ring in prop::sample::select(vec![0u32, 90, 180, 512]),
            stale in any::<bool>(),
        ) {
            let mut line = Line::new(100, 90, ring, stale);
            let (mut time, mut processed) = (1_000, 0);
            line.arrive(time);
            for (periods, rounds, within) in steps {
                time += periods * 100;
                line.arrive(time);
                let now = time + within;
                for _ in 0..rounds {
                    if let Some(block) = line.begin(now) {
                        prop_assert!(block <= now);
                        prop_assert!(ring == 0 || line.pending(now) < u64::from(ring.max(90)) * 2);
                        line.take();
                        processed += 1;
                    }
                }
                prop_assert_eq!(line.taken, processed + line.dropped + line.lost);
                prop_assert!(line.taken <= line.arrived);
                prop_assert_eq!(line.arrived, (time - 1_000) / 100 + 1);
                prop_assert!(stale || line.dropped == 0);
                prop_assert!(ring != 0 || line.lost == 0);
            }
        }
    }
}
