//! The longest of a loop's cycles: a stretch in which its thread did not sleep may be several.

use super::after_overrun::AfterOverrun;
use super::cycle_count::CycleCount;
use crate::format::units::counted;

impl CycleCount {
    /// How many cycles the longest stretch without a sleep in between holds at most, if it may be more than one. A loop
    /// that makes up for a few periods may fall behind again while it does, but executes no more cycles than its CPU time
    /// allows.
    pub fn longest_row(&self) -> Option<u64> {
        let made_up = match self.after_overrun() {
            AfterOverrun::Skips => 0,
            AfterOverrun::MakesUpFor(_) if self.longest_cycles > 0 => self.longest_missed.min(self.longest_cycles - 1),
            AfterOverrun::MakesUpFor(_) | AfterOverrun::CatchesUp | AfterOverrun::Unknown => self.longest_missed,
        };
        (made_up > 0).then_some(made_up.saturating_add(1))
    }

    /// The same in words, such as `7 cycles in a row`.
    pub fn longest_row_in_words(&self) -> Option<String> {
        let row = counted(self.longest_row()?, "cycle");
        let is_followed = self.not_made_up == 0 && self.starved == 0 && !self.longest_slept;
        let is_known = self.after_overrun() == AfterOverrun::CatchesUp && is_followed;
        Some(if is_known { format!("{row} in a row") } else { format!("up to {row} in a row") })
    }

    /// The same of a stretch that took so long, ns; `None` if another one was longer, by more than rounding.
    pub fn row_of_in_words(&self, length_ns: u64) -> Option<String> {
        let is_longest = self.longest_ns <= length_ns.saturating_add(length_ns / 64);
        if is_longest { self.longest_row_in_words() } else { None }
    }

    /// How long the longest cycle took at least, ns, as one of a loop of this period: less than the longest stretch where that may
    /// be several cycles. Only where the periods are known does an overrun show that a cycle took longer than its period.
    pub fn longest_at_least_ns(&self, period_ns: u64) -> u64 {
        let seen_ns = match self.after_overrun() {
            _ if self.longest_missed == 0 && !self.longest_slept => self.longest_ns,
            AfterOverrun::Skips => self.longest_skipping_ns.max(self.longest_single_ns),
            AfterOverrun::CatchesUp | AfterOverrun::MakesUpFor(_) | AfterOverrun::Unknown => self.longest_single_ns,
        };
        let overran_ns = if self.on_grid_overruns > 0 { period_ns.saturating_add(1) } else { 0 };
        self.one_of_uneven_ns(seen_ns).max(overran_ns).min(self.longest_ns)
    }

    /// How long one cycle took at least, ns, in a stretch of this length, of a loop whose cycles may be due so close together that the stretch holds several.
    fn one_of_uneven_ns(&self, length_ns: u64) -> u64 {
        if self.closest_ns == 0 || length_ns <= self.closest_ns {
            return length_ns;
        }
        let (length, closest) = (u128::from(length_ns), u128::from(self.closest_ns));
        u64::try_from(length * closest / (length + closest)).unwrap_or(length_ns)
    }

    /// What is true of its longest stretch: a wakeup after a wait in it may not have been seen.
    pub fn without_waiting(&self) -> &'static str {
        if self.unseen > 0 { "without a wait that was seen" } else { "without waiting" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_several_brings_the_periods_that_it_took() {
        let mut sum = CycleCount { longest_ns: 3, longest_missed: 2, ..CycleCount::default() };
        sum.add(&CycleCount { longest_ns: 2, longest_missed: 9, ..CycleCount::default() });
        assert_eq!((sum.longest_ns, sum.longest_row()), (3, Some(3)));
        sum.add(&CycleCount { longest_ns: 4, longest_missed: 0, ..CycleCount::default() });
        assert_eq!((sum.longest_ns, sum.longest_row()), (4, None));
        // What is said of the longest is said of no other.
        let row = CycleCount { longest_ns: 664_000_000, longest_missed: 132, ..sum };
        assert_eq!(row.row_of_in_words(664_000_000).as_deref(), Some("up to 133 cycles in a row"));
        assert_eq!(row.row_of_in_words(4_590_000), None);
        // Where a loop skips periods, the longest is a cycle all the same.
        assert_eq!(CycleCount { longest_missed: 2, skipped: 1, ..sum }.longest_row(), None);
    }

    #[test]
    fn a_stretch_that_may_be_several_cycles_is_none_of_that_length_for_certain() {
        let count = CycleCount {
            longest_ns: 21_900,
            longest_missed: 4,
            longest_single_ns: 7_300,
            longest_skipping_ns: 21_900,
            ..CycleCount::default()
        };
        for (count, least_ns) in [
            (CycleCount { longest_missed: 0, ..count }, 21_900),
            // The thread slept in it, and what followed may be none of its cycle.
            (CycleCount { longest_missed: 0, longest_slept: true, ..count }, 7_300),
            (CycleCount { skipped: 5, ..count }, 21_900),
            // The thread slept in it, and may have begun another cycle with a wakeup that nobody saw.
            (CycleCount { skipped: 5, longest_skipping_ns: 9_000, ..count }, 9_000),
            (count, 7_300),
            (CycleCount { made_up: 5, ..count }, 7_300),
            (CycleCount { limited: 5, limit: 2, ..count }, 7_300),
            // A cycle that overran took longer than its period.
            (CycleCount { longest_single_ns: 900, ..count }, 900),
            (CycleCount { longest_single_ns: 900, overruns: 1, certain: 1, on_grid_overruns: 1, ..count }, 5_001),
            // The next may have been due before a period was over, where the periods are not known.
            (CycleCount { longest_single_ns: 900, overruns: 1, certain: 1, ..count }, 900),
            (CycleCount { longest_single_ns: 900, overruns: 1, unseen: 1, ..count }, 900),
        ] {
            assert_eq!(count.longest_at_least_ns(5_000), least_ns, "{count:?}");
        }
        // Of several threads the longest counts.
        let mut sum = CycleCount { longest_single_ns: 8_000, longest_skipping_ns: 9_000, ..count };
        sum.add(&CycleCount { longest_single_ns: 8_500, longest_skipping_ns: 3_000, ..count });
        assert_eq!((sum.longest_single_ns, sum.longest_skipping_ns), (8_500, 9_000));
    }

    /// Due 5 ms apart or more, of a period of 10: what took 8 ms may be two cycles, of which one took 4 ms at least, and 3.1 with another that is due by then.
    #[test]
    fn a_stretch_of_an_uneven_loop_may_be_several_cycles_though_it_is_shorter_than_its_period() {
        const MS: u64 = 1_000_000;
        let count = CycleCount { cycles: 400, longest_ns: 8 * MS, ..CycleCount::default() };
        assert_eq!(count.longest_at_least_ns(10 * MS), 8 * MS);
        let uneven = CycleCount { closest_ns: 5 * MS, ..count };
        let at_least_ns = uneven.longest_at_least_ns(10 * MS);
        assert!((3 * MS..=4 * MS).contains(&at_least_ns), "{at_least_ns}");
        let short = CycleCount { longest_ns: 5 * MS, ..uneven };
        assert_eq!(short.longest_at_least_ns(10 * MS), 5 * MS);
        let mut both = count;
        both.add(&uneven);
        assert_eq!(both.closest_ns, 5 * MS);
    }
}
