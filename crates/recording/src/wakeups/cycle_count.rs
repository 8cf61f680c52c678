//! Counts of the cycles of somebody else's loop.

use super::after_overrun::AfterOverrun;
use super::catch_up_evidence::CLEARLY;

/// If whole cycles may show more than this many times as many overruns as single wakeups do, or a cycle that much longer,
/// single wakeups tell too little.
pub const MUCH_MORE: u64 = 2;

/// The cycles of one thread, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CycleCount {
    /// Cycles that ended while it was measured. Several between which the thread did not sleep count as one.
    pub cycles: u64,
    /// Those that took longer than the period, from when the cycle was due until the thread slept again.
    pub overruns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// How many periods began during the longest: a loop that catches up worked off as many more cycles in it.
    pub longest_missed: u64,
    /// How many cycles the thread can have executed in the longest, by its CPU time; 0 if that is not known.
    pub longest_cycles: u64,
    /// Whether the longest took more than a period, and the thread slept within it after less than one: its cycle may have
    /// ended then, and the thread have been stopped.
    pub longest_slept: bool,
    /// The longest that certainly was one cycle, ns: of a stretch that may be several, the time until the first of them began.
    pub longest_single_ns: u64,
    /// The longest, ns, if each stretch is one cycle, as it is where a loop skips periods; without the period before a stop, if its
    /// thread may have been stopped after its cycle. Where wakeups were not seen, only of those in which the thread did not sleep.
    pub longest_skipping_ns: u64,
    /// Overruns only if a sleep of more than two periods by a timer of the thread's own was part of the cycle and not a pause after it.
    pub paused: u64,
    /// How many periods began in such sleeps.
    pub paused_periods: u64,
    /// The longest cycle if such a sleep was part of it, ns; `longest_ns` is without them.
    pub longest_paused_ns: u64,
    /// Threads whose wakeups do not show which of them begin a cycle; they count no cycles.
    pub untold: u64,
    /// Threads that mostly slept for much longer than the period, beside others that woke about once in it: no loops with that
    /// period. They count nothing else.
    pub left_out: u64,
    /// Wakeups of these threads that nobody saw, or that were lost: at most this many overruns are really two cycles
    /// that both kept their period.
    pub unseen: u64,
    /// Overruns that a single wakeup proves, whatever else was not seen.
    pub certain: u64,
    /// Of these, those that ended after the wakeup that followed was due: one more period than those without a wakeup.
    pub past_next: u64,
    /// Overruns of cycles in which their thread ended: they include the time that the kernel took to free its
    /// resources.
    pub ending: u64,
    /// How many periods the grid of the threads' own timers had, from the first that woke a thread to the last.
    pub periods: u64,
    /// Those that began without a wakeup: within the previous cycle, or with a wakeup that nobody saw.
    pub not_woken: u64,
    /// Overruns in which the thread executed about as much more as the cycles of the periods that began meanwhile take.
    pub made_up: u64,
    /// Overruns in which it executed no more than in one cycle, although periods began meanwhile.
    pub skipped: u64,
    /// Overruns in which it executed several cycles, but clearly fewer than periods began meanwhile, by no rule that shows.
    pub partly: u64,
    /// Overruns that show that it makes up for so many periods, `limit`, and for no more.
    pub limited: u64,
    /// See `limited`; of several threads the largest.
    pub limit: u64,
    /// For how many periods the certain overruns made up at most: as many as began in each, and no more than `limit`.
    pub made_up_at_most: u64,
    /// Periods that began within overruns of these kinds, `skipped` and `partly`, and that no cycle there can be of; those
    /// that began within overruns of which nothing tells, more in a row than it is known to make up for; and the first of
    /// each overrun within which the thread slept, because its cycle may have ended before that period began.
    pub not_made_up: u64,
    /// Cycles that were due while their thread was held: something other than its timer had ended its sleep, and then it
    /// was stopped, frozen or kept from every CPU.
    pub held: u64,
    /// Threads whose timers keep to the grid but woke them in fewer than half of its periods, and that overran: where
    /// they do not sleep in between, any number of cycles looks like one. They count no `periods`.
    pub starved: u64,
    /// How many periods these threads had, from the first of their own timers to the last.
    pub starved_periods: u64,
    /// How many of these periods began within overruns that a single wakeup proves.
    pub starved_within: u64,
    /// Cycles of threads whose periods are known: those that count `periods` or `starved_periods`.
    pub on_grid: u64,
    /// Of threads with unseen wakeups: the longest time from when a wakeup was due until the thread ran at the next that was
    /// seen, ns; 0 if there are no two. A cycle between them that nobody saw took no longer.
    pub longest_gap_ns: u64,
    /// About how many periods passed for threads whose timers show no grid: those that start over after an overrun, and those
    /// that others wake. They count no `periods`.
    pub estimated_periods: u64,
    /// Those of them that began without a wakeup, by the time from one cycle to the next: dropped, made up for without
    /// sleeping, or with a wakeup that nobody saw.
    pub estimated_not_woken: u64,
    /// Of a sum: the least overruns of its threads and recordings together. The wakeups that one of them has unseen explain no
    /// overrun of another.
    pub least_of_parts: u64,
}

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
    /// Whether others may hide behind wakeups that nobody saw.
    pub may_be_more: bool,
    /// Out of how many periods.
    pub all: u64,
}

impl CycleCount {
    /// Adds the cycles of others.
    pub fn add(&mut self, other: &CycleCount) {
        self.least_of_parts = self.least_overruns().saturating_add(other.least_overruns());
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.overruns = self.overruns.saturating_add(other.overruns);
        if other.longest_ns > self.longest_ns {
            (self.longest_ns, self.longest_missed) = (other.longest_ns, other.longest_missed);
            (self.longest_cycles, self.longest_slept) = (other.longest_cycles, other.longest_slept);
        }
        self.longest_single_ns = self.longest_single_ns.max(other.longest_single_ns);
        self.longest_skipping_ns = self.longest_skipping_ns.max(other.longest_skipping_ns);
        self.paused = self.paused.saturating_add(other.paused);
        self.paused_periods = self.paused_periods.saturating_add(other.paused_periods);
        self.longest_paused_ns = self.longest_paused_ns.max(other.longest_paused_ns);
        self.untold = self.untold.saturating_add(other.untold);
        self.left_out = self.left_out.saturating_add(other.left_out);
        self.unseen = self.unseen.saturating_add(other.unseen);
        self.certain = self.certain.saturating_add(other.certain);
        self.past_next = self.past_next.saturating_add(other.past_next);
        self.ending = self.ending.saturating_add(other.ending);
        self.periods = self.periods.saturating_add(other.periods);
        self.not_woken = self.not_woken.saturating_add(other.not_woken);
        self.made_up = self.made_up.saturating_add(other.made_up);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.partly = self.partly.saturating_add(other.partly);
        self.limited = self.limited.saturating_add(other.limited);
        self.limit = self.limit.max(other.limit);
        self.made_up_at_most = self.made_up_at_most.saturating_add(other.made_up_at_most);
        self.not_made_up = self.not_made_up.saturating_add(other.not_made_up);
        self.held = self.held.saturating_add(other.held);
        self.starved = self.starved.saturating_add(other.starved);
        self.starved_periods = self.starved_periods.saturating_add(other.starved_periods);
        self.starved_within = self.starved_within.saturating_add(other.starved_within);
        self.on_grid = self.on_grid.saturating_add(other.on_grid);
        self.longest_gap_ns = self.longest_gap_ns.max(other.longest_gap_ns);
        self.estimated_periods = self.estimated_periods.saturating_add(other.estimated_periods);
        self.estimated_not_woken = self.estimated_not_woken.saturating_add(other.estimated_not_woken);
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

    /// The least number of overruns that there can have been.
    pub fn least_overruns(&self) -> u64 {
        let seen = self.overruns.saturating_sub(self.unseen).saturating_sub(self.ending).saturating_sub(self.paused);
        self.certain.max(seen).max(self.least_of_parts).max(u64::from(self.began_within() > 0))
    }

    /// Whether the loop overran more often than its single wakeups show, because it waits within its cycles, or may have
    /// overrun much more often, where wakeups that nobody saw may explain the difference: then single wakeups allow no
    /// forecast.
    pub fn overran_beyond_wakeups(&self) -> bool {
        let looks_long = self.overruns.saturating_sub(self.ending).saturating_sub(self.paused);
        self.least_overruns() > self.certain || looks_long > self.certain.saturating_mul(MUCH_MORE)
    }

    /// Periods that certainly began while the previous cycle still ran: those without a wakeup, less the wakeups that
    /// nobody saw. A loop that catches up overran in each of them; one that skips them, once for each row of them. A
    /// cycle within which a period began is an overrun: without an overrun there is no such period.
    pub fn began_within(&self) -> u64 {
        if self.overruns == 0 {
            return 0;
        }
        // In each certain overrun one began at least, which had no wakeup unless the overrun ended after that was due.
        let not_woken = self.not_woken.saturating_sub(self.paused_periods);
        let certain = self.certain.saturating_sub(self.past_next).min(not_woken);
        not_woken.saturating_sub(self.unseen).max(certain)
    }

    /// The periods that its cycles overran, out of all that the time held: a loop that is kept from running has few cycles, but
    /// as many periods. `None` where the timers of a thread that has cycles do not show its periods.
    pub fn overrun_periods(&self) -> Option<OverrunPeriods> {
        if self.cycles == 0 || self.on_grid < self.cycles {
            return None;
        }
        let all = self.all_periods();
        let began = self.all_began_within().saturating_add(self.past_next);
        let least = self.certain.max(began).max(self.least_overruns()).min(all);
        let most = self.overruns.max(self.may_have_begun_within()).min(all).max(least);
        Some(OverrunPeriods { least, most, may_be_more: self.unseen > 0, all })
    }

    /// What the loop does about periods that begin during a long cycle.
    pub fn after_overrun(&self) -> AfterOverrun {
        let all = [self.made_up, self.skipped, self.limited, self.partly].into_iter().fold(0, u64::saturating_add);
        // A loop does the same after each overrun. One that is starved may have made up for a few again and again.
        let is_shown = |by: u64| by > 0 && by >= (all - by).saturating_mul(CLEARLY);
        if self.starved == 0 && is_shown(self.made_up) {
            AfterOverrun::CatchesUp
        } else if is_shown(self.skipped) {
            AfterOverrun::Skips
        } else if is_shown(self.limited) {
            AfterOverrun::MakesUpFor(self.limit)
        } else {
            AfterOverrun::Unknown
        }
    }

    /// The overruns that are certain, as the loop itself would count them: where it skips periods, its long cycles;
    /// where it catches up, or may, the periods that began during them, which are more; where it makes up for some of
    /// them, as many as these are at most, unless it falls behind by more than that again meanwhile.
    pub fn own_overruns(&self) -> u64 {
        let each_period = self.if_each_period_overran();
        match self.after_overrun() {
            AfterOverrun::Skips => self.certain,
            AfterOverrun::CatchesUp => self.certain.max(each_period.saturating_sub(self.not_made_up)),
            AfterOverrun::Unknown => each_period,
            AfterOverrun::MakesUpFor(_) => each_period.min(self.certain.saturating_add(self.made_up_at_most)),
        }
    }

    fn if_each_period_overran(&self) -> u64 {
        self.certain.max(self.began_within().saturating_add(self.past_next))
    }

    /// The fewest and the most overruns that there can have been, as the loop itself would count them. They differ where
    /// wakeups were not seen, and where it is unknown what the loop does about periods that begin during a long cycle.
    pub fn own_overruns_between(&self) -> (u64, u64) {
        let least = match self.after_overrun() {
            AfterOverrun::CatchesUp => self.least_overruns().max(self.own_overruns()),
            AfterOverrun::Skips | AfterOverrun::MakesUpFor(_) | AfterOverrun::Unknown => self.least_overruns(),
        };
        let most = match self.after_overrun() {
            AfterOverrun::CatchesUp | AfterOverrun::MakesUpFor(_) => self.if_each_period_overran(),
            AfterOverrun::Skips | AfterOverrun::Unknown => self.own_overruns(),
        };
        (least, self.overruns.max(most).max(self.may_have_begun_within()))
    }

    /// The cycles that ended, as the loop itself would count them: where it catches up, several of them without a sleep in
    /// between are as many, but for periods that no cycle may be of.
    pub fn own_cycles(&self) -> u64 {
        match self.after_overrun() {
            AfterOverrun::CatchesUp => {
                // A stretch with a single cycle has none of the first period that it missed either, which is an overrun.
                let without = self.not_made_up.saturating_add(self.skipped).saturating_add(self.partly);
                self.cycles.saturating_add(self.began_within().saturating_sub(without))
            }
            AfterOverrun::Skips | AfterOverrun::MakesUpFor(_) | AfterOverrun::Unknown => self.cycles,
        }
    }

    /// Takes a pause, or a sleep within a cycle, for the cycle of which without it and with it this length was taken, ns, and in which
    /// so many periods began.
    pub(super) fn take_pause(&mut self, (without_ns, with_ns): (u64, u64), periods: u64, period_ns: u64) {
        let may_be_long = u64::from(without_ns <= period_ns && with_ns > period_ns);
        self.overruns += may_be_long;
        self.paused += may_be_long;
        self.paused_periods = self.paused_periods.saturating_add(periods);
        self.longest_paused_ns = self.longest_paused_ns.max(with_ns);
    }

    /// Takes a cycle of this length, ns, in which so many periods began, and so many cycles may have been executed; 0 if that
    /// is not known. `slept` is what `longest_slept` says of the longest.
    pub(super) fn take(&mut self, length_ns: u64, (missed, cycles): (u64, u64), slept: bool, period_ns: u64) {
        self.cycles += 1;
        self.overruns += u64::from(length_ns > period_ns);
        if length_ns > self.longest_ns {
            (self.longest_ns, self.longest_missed) = (length_ns, missed);
            (self.longest_cycles, self.longest_slept) = (cycles, slept);
        }
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
    }

    #[test]
    fn single_wakeups_tell_too_little_where_there_may_be_many_more_overruns() {
        let count = |overruns, certain, unseen, ending| CycleCount {
            cycles: 9_000,
            overruns,
            certain,
            unseen,
            ending,
            ..CycleCount::default()
        };
        for (count, is_beyond) in [
            (count(15, 15, 0, 0), false),
            (count(16, 15, 0, 0), true),
            // As many wakeups were unseen as overruns are uncertain, which therefore may be none.
            (count(116, 15, 108, 0), true),
            (count(1, 0, 3, 0), true),
            // A few of them change little.
            (count(62, 60, 2, 0), false),
            (count(30, 15, 15, 0), false),
            (count(31, 15, 16, 0), true),
            // The end of a thread is no wait within a cycle.
            (count(3, 1, 2, 2), false),
        ] {
            assert_eq!(count.overran_beyond_wakeups(), is_beyond, "{count:?}");
        }
    }

    #[test]
    fn what_a_loop_does_after_an_overrun_decides_how_many_there_were() {
        let count = |made_up, skipped| CycleCount {
            cycles: 80,
            overruns: 3,
            certain: 3,
            past_next: 1,
            periods: 100,
            not_woken: 20,
            unseen: 5,
            made_up,
            skipped,
            ..CycleCount::default()
        };
        for (made_up, skipped, after, overruns) in [
            (1, 0, AfterOverrun::CatchesUp, 16),
            (8, 2, AfterOverrun::CatchesUp, 16),
            (0, 1, AfterOverrun::Skips, 3),
            (2, 8, AfterOverrun::Skips, 3),
            // What is not known counts as the more frequent.
            (0, 0, AfterOverrun::Unknown, 16),
            (7, 2, AfterOverrun::Unknown, 16),
        ] {
            let count = count(made_up, skipped);
            assert_eq!((count.after_overrun(), count.own_overruns()), (after, overruns), "{made_up} {skipped}");
            let least = if after == AfterOverrun::CatchesUp { overruns } else { 3 };
            assert_eq!(count.own_overruns_between(), (least, overruns), "{made_up} {skipped}");
            let cycles = if after == AfterOverrun::CatchesUp { 95 - skipped } else { 80 };
            assert_eq!(count.own_cycles(), cycles, "{made_up} {skipped}");
        }
    }

    #[test]
    fn periods_that_no_cycle_can_be_of_are_no_certain_overruns() {
        let count = CycleCount {
            cycles: 80,
            overruns: 3,
            certain: 3,
            periods: 100,
            not_woken: 20,
            made_up: 8,
            skipped: 2,
            not_made_up: 6,
            ..CycleCount::default()
        };
        assert_eq!((count.own_overruns(), count.own_overruns_between()), (14, (14, 20)));
        let row = CycleCount { longest_missed: 6, ..count };
        assert_eq!(row.longest_row_in_words().as_deref(), Some("up to 7 cycles in a row"));
        let row = CycleCount { not_made_up: 0, ..row };
        assert_eq!(row.longest_row_in_words().as_deref(), Some("7 cycles in a row"));
        let row = CycleCount { starved: 1, ..row };
        assert_eq!(row.longest_row_in_words().as_deref(), Some("up to 7 cycles in a row"));
        assert_eq!((row.after_overrun(), row.own_overruns_between()), (AfterOverrun::Unknown, (3, 20)));
        // Each long cycle is one.
        let count = CycleCount { not_made_up: 19, ..count };
        assert_eq!((count.own_overruns(), count.own_overruns_between()), (3, (3, 20)));
    }

    #[test]
    fn a_loop_that_makes_up_for_some_periods_overran_no_more_often_than_it_ran() {
        let count = |limited, partly| CycleCount {
            cycles: 80,
            overruns: 3,
            certain: 3,
            periods: 100,
            not_woken: 20,
            longest_ns: 9,
            longest_missed: 12,
            limited,
            limit: 3,
            // One of them missed a single period.
            made_up_at_most: 7,
            partly,
            ..CycleCount::default()
        };
        let some = count(8, 2);
        assert_eq!((some.after_overrun(), some.own_overruns()), (AfterOverrun::MakesUpFor(3), 10));
        assert_eq!((some.own_overruns_between(), some.own_cycles()), ((3, 20), 80));
        // It may have fallen behind again while it made up for three.
        assert_eq!(some.longest_row_in_words().as_deref(), Some("up to 13 cycles in a row"));
        let known = CycleCount { longest_cycles: 5, ..some };
        assert_eq!(known.longest_row_in_words().as_deref(), Some("up to 5 cycles in a row"));
        assert_eq!(CycleCount { longest_cycles: 99, ..some }.longest_row(), Some(13));
        let unknown = count(7, 2);
        assert_eq!((unknown.after_overrun(), unknown.own_overruns()), (AfterOverrun::Unknown, 20));
        // Two threads of one name with limits of their own; what is seen once in five times changes nothing.
        let mut both = some;
        both.add(&CycleCount { limit: 5, limited: 1, ..count(0, 0) });
        assert_eq!(both.after_overrun(), AfterOverrun::MakesUpFor(5));
        both.add(&CycleCount { made_up: 12, ..count(0, 0) });
        assert_eq!(both.after_overrun(), AfterOverrun::Unknown);
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
        let found = CycleCount { unseen: 60, certain: 0, past_next: 0, ..count }.overrun_periods();
        assert_eq!(found, Some(OverrunPeriods { least: 0, most: 10, may_be_more: true, all: 5_060 }));
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
