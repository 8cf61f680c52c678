//! Counts of the cycles of somebody else's loop.

use super::after_overrun::{AfterOverrun, CLEARLY};

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
    /// Whether the thread slept in the longest: its cycle may have ended then.
    pub longest_slept: bool,
    /// The longest that certainly was one cycle, ns: of a stretch that may be several, the time until the first of them began, or how
    /// long they took on average, whichever is longer.
    pub longest_single_ns: u64,
    /// The longest that is certain, ns, if each stretch is one cycle, as it is where a loop skips periods. Where wakeups
    /// were not seen, only of those in which the thread did not sleep.
    pub longest_skipping_ns: u64,
    /// Overruns in which the thread slept, and of which nothing shows that they lasted longer than the period: the cycle may have
    /// ended with the sleep, and something other than its next have woken the thread, such as a message.
    pub slept: u64,
    /// Overruns of work that a loop did without waiting if it waits on its CPU, from its wakeup until a cycle is due: if it does, they
    /// kept their periods.
    pub spun: u64,
    /// Periods of the grid that began within these two kinds, or within what followed a sleep in others.
    pub doubtful_periods: u64,
    /// Overruns only if a sleep of more than two periods was part of the cycle and not a pause after it.
    pub paused: u64,
    /// How many periods began in such sleeps.
    pub paused_periods: u64,
    /// The longest cycle if such a sleep was part of it, ns; `longest_ns` is without them.
    pub longest_paused_ns: u64,
    /// Periods that began in such cycles, where what the thread did after the sleep may be the cycles of several of them.
    pub pauses_made_up: u64,
    /// The longest time, ns, from when the last cycle that was seen to begin was due until its thread or the recording ended, of a thread that was seen no more
    /// for more than two periods before that; 0 if there is none. That cycle may have gone on, or the next have been kept from its CPU.
    pub silent_ns: u64,
    /// The longest time, ns, from when the last cycle was due until the recording ended, of a thread that was still there then, if that is more than two periods
    /// and the cycle was not seen to end; 0 if there is none. How long it took is not known.
    pub unended_ns: u64,
    /// The longest time, ns, from when a recording began that had not started the loop until a thread of it was first seen to begin a cycle, if that is more than two
    /// periods; 0 if there is none. What such a thread does before its first sleep is not seen: a cycle may have gone on all the time.
    pub late_seen_ns: u64,
    /// The longest time, ns, in which timers that send signals were all of its own that woke a thread, if that is more than two periods and timers for which
    /// it waits had woken it about once in each; 0 if there is none. Handlers of these signals may have run while a cycle went on.
    pub signalled_ns: u64,
    /// The shortest time, ns, from when one cycle was due until the next was, where no grid shows when they are and it is much less than a period; 0 elsewhere.
    /// A stretch that is longer may be several cycles.
    pub closest_ns: u64,
    /// Threads whose wakeups do not show which of them begin a cycle; they count no cycles.
    pub untold: u64,
    /// Those of them that wake more often than once in a period, at no time of it that shows which wakeups begin one.
    pub too_often: u64,
    /// Threads that mostly slept for much longer than the period, beside others that woke about once in it: no loops with that
    /// period. They count nothing else.
    pub left_out: u64,
    /// Threads whose timers woke others, too: each expiry counts as one cycle of all of them, and they count no `periods`.
    pub sharing: u64,
    /// Wakeups of these threads that nobody saw, or that were lost: at most this many overruns are really two cycles
    /// that both kept their period.
    pub unseen: u64,
    /// Overruns that a single wakeup proves, whatever else was not seen.
    pub certain: u64,
    /// Of these, those that are overruns only because the thread was late when it began to run.
    pub began_late: u64,
    /// Of the certain ones too, those that ended after the wakeup that followed was due: one more period than those without a wakeup.
    pub past_next: u64,
    /// Overruns of cycles in which their thread ended: they include the time that the kernel took to free its
    /// resources.
    pub ending: u64,
    /// Periods that began within cycles in which their thread ended: it may have been behind, and have done theirs too. Also the period in which a recording
    /// ended whose thread still worked then.
    pub ending_missed: u64,
    /// How many periods the grid of the threads' own timers had, from the first that woke a thread to the last.
    pub periods: u64,
    /// Those that began without a wakeup: within the previous cycle, or with a wakeup that nobody saw.
    pub not_woken: u64,
    /// Those of them that passed in a sleep which began before them: the loop meant to sleep for longer than a period.
    pub asleep: u64,
    /// Periods that began within stretches after which a loop that skips periods may have gone on at once with one more cycle.
    pub run_on: u64,
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
    /// Overruns that are certain of threads whose periods are known: each took longer than its period. Where they are not, the next
    /// cycle may have been due earlier, and a stretch that is longer be two that are not.
    pub on_grid_overruns: u64,
    /// Of threads with unseen wakeups: the longest time from when a wakeup was due until the thread ran at the next that was
    /// seen, ns; 0 if there are no two. A cycle between them that nobody saw took no longer.
    pub longest_gap_ns: u64,
    /// About how many periods passed for threads whose timers show no grid: those that start over after an overrun, and those
    /// that others wake. They count no `periods`.
    pub estimated_periods: u64,
    /// Those of them that began without a wakeup, by the time from one cycle to the next: dropped, made up for without
    /// sleeping, or with a wakeup that nobody saw.
    pub estimated_not_woken: u64,
    /// Periods of threads of which fewer than half began with a wakeup or within a stretch that was seen to last until then, and whose
    /// timers show no grid: what these threads did in the others is not known. They count no other periods.
    pub rare_periods: u64,
    /// Beginnings of cycles that may as well be ends of waits within the cycle before, since they come at another time or from others than usual.
    pub waits: u64,
    /// How many periods these cycles then lasted, beyond the first of each.
    pub waited_periods: u64,
    /// The longest of these cycles, ns; `longest_ns` is without them.
    pub longest_waited_ns: u64,
    /// Threads that began meanwhile and ended without ever sleeping, of the loop's process or as processes of their own. If they do what
    /// the loop is for, no wakeup shows how long that took. Those of one process are counted for each of its loops.
    pub without_sleep: u64,
    /// How long the one that ran longest was on a CPU, ns.
    pub longest_without_sleep_ns: u64,
    /// Of a sum: the least overruns of its threads and recordings together. The wakeups that one of them has unseen explain no
    /// overrun of another.
    pub least_of_parts: u64,
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
        self.slept = self.slept.saturating_add(other.slept);
        self.spun = self.spun.saturating_add(other.spun);
        self.doubtful_periods = self.doubtful_periods.saturating_add(other.doubtful_periods);
        self.paused = self.paused.saturating_add(other.paused);
        self.paused_periods = self.paused_periods.saturating_add(other.paused_periods);
        self.longest_paused_ns = self.longest_paused_ns.max(other.longest_paused_ns);
        self.silent_ns = self.silent_ns.max(other.silent_ns);
        self.unended_ns = self.unended_ns.max(other.unended_ns);
        self.late_seen_ns = self.late_seen_ns.max(other.late_seen_ns);
        self.signalled_ns = self.signalled_ns.max(other.signalled_ns);
        self.closest_ns = [self.closest_ns, other.closest_ns].into_iter().filter(|ns| *ns > 0).min().unwrap_or(0);
        self.pauses_made_up = self.pauses_made_up.saturating_add(other.pauses_made_up);
        self.untold = self.untold.saturating_add(other.untold);
        self.too_often = self.too_often.saturating_add(other.too_often);
        self.sharing = self.sharing.saturating_add(other.sharing);
        self.left_out = self.left_out.saturating_add(other.left_out);
        self.unseen = self.unseen.saturating_add(other.unseen);
        self.certain = self.certain.saturating_add(other.certain);
        self.began_late = self.began_late.saturating_add(other.began_late);
        self.past_next = self.past_next.saturating_add(other.past_next);
        self.ending = self.ending.saturating_add(other.ending);
        self.ending_missed = self.ending_missed.saturating_add(other.ending_missed);
        self.periods = self.periods.saturating_add(other.periods);
        self.not_woken = self.not_woken.saturating_add(other.not_woken);
        self.asleep = self.asleep.saturating_add(other.asleep);
        self.run_on = self.run_on.saturating_add(other.run_on);
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
        self.on_grid_overruns = self.on_grid_overruns.saturating_add(other.on_grid_overruns);
        self.longest_gap_ns = self.longest_gap_ns.max(other.longest_gap_ns);
        self.rare_periods = self.rare_periods.saturating_add(other.rare_periods);
        self.waits = self.waits.saturating_add(other.waits);
        self.waited_periods = self.waited_periods.saturating_add(other.waited_periods);
        self.longest_waited_ns = self.longest_waited_ns.max(other.longest_waited_ns);
        self.without_sleep = self.without_sleep.saturating_add(other.without_sleep);
        self.longest_without_sleep_ns = self.longest_without_sleep_ns.max(other.longest_without_sleep_ns);
        self.estimated_periods = self.estimated_periods.saturating_add(other.estimated_periods);
        self.estimated_not_woken = self.estimated_not_woken.saturating_add(other.estimated_not_woken);
    }

    /// The least number of overruns that there can have been.
    pub fn least_overruns(&self) -> u64 {
        let uncertain = [self.unseen, self.ending, self.paused, self.slept, self.spun];
        let seen = uncertain.into_iter().fold(self.overruns, u64::saturating_sub);
        self.certain.max(seen).max(self.least_of_parts).max(u64::from(self.began_within() > 0))
    }

    /// Whether the loop overran more often than its single wakeups show, because it waits within its cycles, or may have
    /// overrun much more often, where wakeups that nobody saw, or that may end waits within cycles, explain the difference: then single wakeups allow no
    /// forecast.
    pub fn overran_beyond_wakeups(&self) -> bool {
        let seen = self.overruns.saturating_sub(self.ending).saturating_sub(self.paused);
        let looks_long = seen.saturating_add(self.waited_periods);
        let waits = self.slept.max(self.spun) > self.unseen || self.least_overruns() > self.certain;
        waits || looks_long > self.certain.saturating_mul(MUCH_MORE)
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

    /// Of periods that certainly began within a cycle.
    fn if_each_period_overran(&self) -> u64 {
        self.certain.max(self.began_within().saturating_add(self.past_next))
    }

    /// Of those too that began within a cycle if the sleeps before them were part of it.
    fn if_each_that_may_have_overran(&self) -> u64 {
        self.if_each_period_overran().saturating_add(self.doubtful_periods)
    }

    /// The fewest and the most overruns that there can have been, as the loop itself would count them. They differ where
    /// wakeups were not seen, and where it is unknown what the loop does about periods that begin during a long cycle.
    pub fn own_overruns_between(&self) -> (u64, u64) {
        let least = match self.after_overrun() {
            AfterOverrun::CatchesUp => self.least_overruns().max(self.own_overruns()),
            AfterOverrun::Skips | AfterOverrun::MakesUpFor(_) | AfterOverrun::Unknown => self.least_overruns(),
        };
        let most = match self.after_overrun() {
            AfterOverrun::Skips => self.own_overruns(),
            AfterOverrun::CatchesUp | AfterOverrun::MakesUpFor(_) | AfterOverrun::Unknown => {
                self.if_each_that_may_have_overran()
            }
        };
        let seen = self.overruns.max(most).max(self.may_have_begun_within());
        (least, seen.saturating_add(self.may_be_besides()))
    }

    /// Periods that may have had cycles, which then were too late, although nothing shows more than one cycle there: where the loop
    /// catches up, or may, those of pauses and of the end of a thread; where it skips periods, those after which it may have run on; and those of cycles with
    /// waits that look like the ends of several.
    pub(super) fn may_be_besides(&self) -> u64 {
        let besides = match self.after_overrun() {
            AfterOverrun::Skips => self.run_on,
            AfterOverrun::CatchesUp | AfterOverrun::MakesUpFor(_) | AfterOverrun::Unknown => {
                self.ending_missed.saturating_add(self.pauses_made_up)
            }
        };
        besides.saturating_add(self.waited_periods)
    }

    /// The cycles that ended, as the loop itself would count them: where it catches up, several of them without a sleep in
    /// between are as many, but for periods that no cycle may be of. What may be a wait within one begins none.
    pub fn own_cycles(&self) -> u64 {
        let cycles = match self.after_overrun() {
            AfterOverrun::CatchesUp => {
                // A stretch with a single cycle has none of the first period that it missed either, which is an overrun.
                let without = self.not_made_up.saturating_add(self.skipped).saturating_add(self.partly);
                self.cycles.saturating_add(self.began_within().saturating_sub(without))
            }
            AfterOverrun::Skips | AfterOverrun::MakesUpFor(_) | AfterOverrun::Unknown => self.cycles,
        };
        cycles.saturating_sub(self.waits)
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
            // Nothing shows that they took too long, nor that they did not.
            (CycleCount { slept: 1, ..count(16, 15, 0, 0) }, true),
            // What may be waits counts too.
            (CycleCount { waited_periods: 15, ..count(15, 15, 0, 0) }, false),
            (CycleCount { waited_periods: 1, ..count(0, 0, 0, 0) }, true),
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
}
