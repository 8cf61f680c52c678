//! The periods of loops: how many passed, and in which of them an earlier cycle still ran.

use super::cycle_count::CycleCount;

/// Periods of loops, and how many of them began without a wakeup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeriodsPassed {
    /// All of them.
    pub all: u64,
    /// Those without a wakeup: within the previous cycle, dropped, or with a wakeup that nobody saw.
    pub not_woken: u64,
    /// Whether some are estimated from the time from one cycle to the next, because no grid of timers shows them.
    pub is_estimated: bool,
}

/// Periods of loops in which a cycle that was due earlier still ran, whatever the loop then does about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverrunPeriods {
    /// How many there were at least.
    pub least: u64,
    /// How many there were at most, by what was seen.
    pub most: u64,
    /// Whether others may hide behind wakeups that nobody saw, or in threads that never slept.
    pub may_be_more: bool,
    /// Out of how many periods.
    pub all: u64,
}

impl CycleCount {
    /// The same of one thread, whose periods are known or not.
    pub(super) fn with_grid(self, is_on_grid: bool) -> CycleCount {
        // Without a grid no period is known to have begun.
        let count = CycleCount { doubtful_periods: self.doubtful_periods.min(self.not_woken), ..self };
        match is_on_grid {
            true => CycleCount { on_grid: count.cycles, on_grid_overruns: count.least_overruns(), ..count },
            false => count,
        }
    }

    /// The periods that passed, where that is known, exactly or about.
    pub fn periods_passed(&self) -> Option<PeriodsPassed> {
        let passed = PeriodsPassed {
            all: self.all_periods().saturating_add(self.estimated_periods),
            not_woken: [self.not_woken, self.starved_within, self.estimated_not_woken]
                .into_iter()
                .fold(0, u64::saturating_add),
            is_estimated: self.estimated_periods > 0,
        };
        (passed.all > 0).then_some(passed)
    }

    /// All periods that are known, those of starved threads too.
    pub fn all_periods(&self) -> u64 {
        self.periods.saturating_add(self.starved_periods)
    }

    /// Periods that certainly began while an earlier cycle still ran, those of starved threads too.
    pub fn all_began_within(&self) -> u64 {
        self.began_within().saturating_add(self.starved_within)
    }

    /// Periods that certainly began while the previous cycle still ran: those without a wakeup, less those that the thread
    /// slept through, those of overruns that are not certain, and the wakeups that nobody saw. A loop that catches up overran in each of
    /// them; one that skips them, once for each row of them. A cycle within which a period began is an overrun: without an overrun there
    /// is no such period.
    pub fn began_within(&self) -> u64 {
        if self.overruns == 0 {
            return 0;
        }
        // In each certain overrun one began at least, which had no wakeup unless the overrun ended after that was due.
        let not_woken = self.not_woken.saturating_sub(self.paused_periods).saturating_sub(self.doubtful_periods);
        let certain = self.certain.saturating_sub(self.past_next).min(not_woken);
        // A wakeup that nobody saw leaves a period in which the thread seems to have slept on.
        not_woken.saturating_sub(self.unseen.max(self.asleep)).max(certain)
    }

    /// The periods that its cycles overran, out of all that the time held: a loop that is kept from running has few cycles, but
    /// as many periods. `None` where the timers of a thread that has cycles do not show its periods.
    pub fn overrun_periods(&self) -> Option<OverrunPeriods> {
        if self.cycles == 0 || self.on_grid < self.cycles {
            return None;
        }
        // Those that began while a thread ended are in no grid.
        let all = self.all_periods().saturating_add(self.ending_missed);
        let began = self.all_began_within().saturating_add(self.past_next);
        let least = self.certain.max(began).max(self.least_overruns()).min(all);
        let within = least.saturating_add(self.doubtful_periods.max(self.slept.saturating_add(self.spun)));
        let besides = self.paused_periods.saturating_add(self.ending_missed);
        let most = self.overruns.max(self.may_have_begun_within()).max(within).saturating_add(besides).min(all);
        let may_be_more = self.unseen > 0 || self.without_sleep > 0 || self.is_partly_seen();
        Some(OverrunPeriods { least, most, may_be_more, all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_period_began_within_a_cycle_where_none_took_longer() {
        let count = CycleCount { cycles: 4_983, periods: 5_000, not_woken: 17, unseen: 15, ..CycleCount::default() };
        assert_eq!(count.began_within(), 0);
        let one = CycleCount { overruns: 1, ..count };
        // More periods were without a wakeup than wakeups were unseen: whatever these were, a cycle overran.
        assert_eq!((one.began_within(), one.certain, one.least_overruns()), (2, 0, 1));
        let many = CycleCount { overruns: 9, certain: 9, past_next: 2, ..count };
        assert_eq!(many.began_within(), 7);
        assert_eq!(CycleCount { not_woken: 5, ..many }.began_within(), 5);
        // Nor in those of work after a sleep.
        let slept = CycleCount { overruns: 9, slept: 9, doubtful_periods: 17, unseen: 0, ..count };
        assert_eq!((slept.began_within(), slept.least_overruns()), (0, 0));
    }

    #[test]
    fn periods_that_were_overrun_are_counted_alike_whatever_the_loop_does_about_them() {
        let (cycles, periods, not_woken) = (5_000, 5_060, 60);
        let count = CycleCount {
            cycles,
            overruns: 10,
            certain: 10,
            past_next: 3,
            periods,
            not_woken,
            on_grid: cycles,
            ..CycleCount::default()
        };
        for (made_up, skipped) in [(10, 0), (0, 10), (0, 0)] {
            let found = CycleCount { made_up, skipped, ..count }.overrun_periods();
            assert_eq!(
                found,
                Some(OverrunPeriods { least: 63, most: 63, may_be_more: false, all: 5_060 }),
                "{made_up} {skipped}"
            );
        }
        let slept = CycleCount { certain: 4, past_next: 0, slept: 6, doubtful_periods: 50, ..count }.overrun_periods();
        assert_eq!(slept, Some(OverrunPeriods { least: 10, most: 60, may_be_more: false, all: 5_060 }));
        let found = CycleCount { unseen: 60, certain: 0, past_next: 0, ..count }.overrun_periods();
        assert_eq!(found, Some(OverrunPeriods { least: 0, most: 10, may_be_more: true, all: 5_060 }));
        let found = CycleCount { without_sleep: 1, ..count }.overrun_periods();
        assert_eq!(found, Some(OverrunPeriods { least: 63, most: 63, may_be_more: true, all: 5_060 }));
        // A thread of the same name that is starved; and one whose periods are not known.
        let starved = CycleCount {
            cycles: 60,
            overruns: 30,
            certain: 30,
            starved: 1,
            starved_periods: 5_000,
            starved_within: 4_900,
            on_grid: 60,
            ..CycleCount::default()
        };
        let mut both = count;
        both.add(&starved);
        assert_eq!(
            both.overrun_periods(),
            Some(OverrunPeriods { least: 4_963, most: 4_963, may_be_more: false, all: 10_060 })
        );
        both.add(&CycleCount { cycles: 1, ..CycleCount::default() });
        assert_eq!(both.overrun_periods(), None);
    }
}
