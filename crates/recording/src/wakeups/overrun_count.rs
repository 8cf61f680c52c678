//! How many cycles took too long, as every answer says it.

use super::after_overrun::AfterOverrun;
use super::cycle_count::CycleCount;
use crate::format::units::{counted, grouped};

/// A loop that was not seen to go on for so many periods may have hung.
const HUNG_PERIODS: u64 = 10;

/// How many cycles took too long, and out of how many, as the loop itself would count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OverrunCount {
    /// How many certainly did.
    pub least: u64,
    /// How many may have, by what was seen.
    pub most: u64,
    /// Whether others may have that were not seen: behind wakeups that nobody saw, within a stretch that may hold any
    /// number of cycles, or as the work of threads that never slept.
    pub may_be_more: bool,
    /// How many wakeups nobody saw, or were lost.
    pub unseen: u64,
    /// Out of how many cycles.
    pub cycles: u64,
    /// Whether these may have been more.
    pub may_be_more_cycles: bool,
}

impl OverrunCount {
    /// How many: `22`, `22 or more`, `15 to 116 or more`.
    pub fn in_words(&self) -> String {
        range_in_words(self.least, self.most, self.may_be_more)
    }

    /// The number, if it is exact.
    pub fn exact(&self) -> Option<u64> {
        (self.least == self.most && !self.may_be_more).then_some(self.least)
    }

    /// Out of how many, as a number: `12,525`, `at least 213`.
    pub fn out_of(&self) -> String {
        format!("{}{}", self.at_least(), grouped(self.cycles))
    }

    /// Both: `15 to 116 or more of 12,525 cycles`.
    pub fn of_cycles_in_words(&self) -> String {
        format!("{} of {}{}", self.in_words(), self.at_least(), counted(self.cycles, "cycle"))
    }

    fn at_least(&self) -> &'static str {
        if self.may_be_more_cycles { "at least " } else { "" }
    }
}

/// A number of which only limits are known: at least `least`, by what was seen `most` at most, and more if others may not have been
/// seen.
pub fn range_in_words(least: u64, most: u64, may_be_more: bool) -> String {
    let seen = if least < most { format!("{} to {}", grouped(least), grouped(most)) } else { grouped(most) };
    match (may_be_more, most) {
        (true, 0) => "none seen".to_owned(),
        (true, _) => format!("{seen} or more"),
        (false, _) => seen,
    }
}

impl CycleCount {
    /// How many cycles took too long: the one number, or the limits of it, that every answer gives.
    pub fn overrun_count(&self) -> OverrunCount {
        let (least, most) = self.own_overruns_between();
        let cycles = self.own_cycles();
        OverrunCount {
            least,
            most,
            may_be_more: self.unseen > 0
                || self.starved > 0
                || self.rare_periods > 0
                || self.sharing > 0
                || self.waits > 0
                || self.without_sleep > 0
                || self.is_partly_seen()
                || (most > 0 && self.may_hold_more()),
            unseen: self.unseen,
            cycles,
            may_be_more_cycles: self.starved > 0
                || self.unseen > 0
                || self.rare_periods > 0
                || self.sharing > 0
                || self.waits > 0
                || self.without_sleep > 0
                || self.is_partly_seen()
                || most > cycles
                || self.may_be_besides() > 0
                || (most > 0 && self.may_hold_more_cycles()),
        }
    }

    /// Whether a thread was not seen to do its cycles for more than two periods: before the recording ended, after it began, or while only
    /// timers that send signals woke it.
    pub fn is_partly_seen(&self) -> bool {
        self.silent_ns.max(self.late_seen_ns).max(self.signalled_ns) > 0
    }

    /// Whether a thread was not seen to go on for so long before it or its recording ended that its loop may have hung: an answer begins with that.
    pub fn may_have_hung(&self, period_ns: u64) -> bool {
        self.cycles > 0 && self.silent_ns >= period_ns.saturating_mul(HUNG_PERIODS)
    }

    /// Where no cycle that was seen took too long: the periods without a wakeup that the wakeups that nobody saw leave over. A
    /// cycle that nobody saw may have lasted into them.
    pub fn may_have_begun_within(&self) -> u64 {
        if self.overruns > 0 || self.unseen == 0 { 0 } else { self.not_woken.saturating_sub(self.unseen) }
    }

    /// Whether a cycle that nobody saw may have taken longer than this, ns. It ended before the next wakeup that was seen. Those
    /// before the first and after the last that was seen are not looked at.
    pub fn may_hide_longer_than(&self, limit_ns: u64) -> bool {
        self.unseen > 0 && (self.longest_gap_ns == 0 || self.longest_gap_ns > limit_ns)
    }

    /// How many overruns there can have been beyond those that were seen; `None` if nothing limits them.
    pub fn hidden_overruns(&self) -> Option<u64> {
        let is_known = self.starved == 0 && self.rare_periods == 0 && self.without_sleep == 0 && !self.is_partly_seen();
        let is_limited = is_known && !self.may_hold_more();
        // The cycle of a wakeup that nobody saw may have overrun. Where each period counts, so may the one that it then began in.
        let each = if self.after_overrun() == AfterOverrun::Skips { 1 } else { 2 };
        is_limited.then(|| self.unseen.saturating_mul(each))
    }

    /// Whether stretches may hold more cycles than [`CycleCount::own_cycles`] counts: those of periods that the loop made up for.
    fn may_hold_more_cycles(&self) -> bool {
        let are_uncounted = match self.after_overrun() {
            AfterOverrun::Skips => false,
            AfterOverrun::CatchesUp => self.not_made_up > 0 || self.skipped > 0 || self.partly > 0,
            AfterOverrun::MakesUpFor(_) | AfterOverrun::Unknown => self.began_within() > 0,
        };
        are_uncounted || self.doubtful_periods > 0 || self.may_hold_more()
    }

    /// Whether the longest stretch may hold any number of cycles: periods without a wakeup are counted among the most overruns,
    /// but where nothing tells what the periods are, none is.
    pub fn may_hold_more(&self) -> bool {
        self.after_overrun() != AfterOverrun::Skips && self.longest_missed > 0 && self.on_grid < self.cycles
    }
}

#[cfg(test)]
mod tests {
    use super::super::periods::OverrunPeriods;
    use super::*;

    #[test]
    fn overruns_are_said_with_both_limits_and_whether_there_may_be_more() {
        let seen = CycleCount { cycles: 12_525, overruns: 116, certain: 15, ..CycleCount::default() };
        let on_grid = CycleCount { on_grid: 12_525, periods: 12_600, ..seen };
        for (count, words) in [
            // Without an unseen wakeup each of them took too long.
            (seen, "116 of 12,525 cycles"),
            // All that no single wakeup shows may be two cycles each that were in time, and others may not have been seen.
            (CycleCount { unseen: 108, ..seen }, "15 to 116 or more of at least 12,525 cycles"),
            (CycleCount { certain: 116, unseen: 65, ..seen }, "116 or more of at least 12,525 cycles"),
            // What it looks like when the thread ended is not certain.
            (CycleCount { ending: 1, certain: 115, ..seen }, "115 to 116 of 12,525 cycles"),
            // Its periods are not known: the longest may be any number of cycles that were too late.
            (CycleCount { longest_missed: 87, ..seen }, "116 or more of at least 12,525 cycles"),
            (CycleCount { longest_missed: 87, skipped: 9, ..seen }, "116 of 12,525 cycles"),
            // They are known, and so are those that began within an earlier cycle.
            (CycleCount { longest_missed: 87, not_woken: 200, ..on_grid }, "116 to 200 of at least 12,525 cycles"),
            (CycleCount { longest_missed: 87, not_woken: 200, made_up: 9, ..on_grid }, "200 of 12,725 cycles"),
            // Of 30 of these periods there may be no cycle.
            (
                CycleCount { longest_missed: 87, not_woken: 200, made_up: 9, not_made_up: 30, ..on_grid },
                "170 to 200 of at least 12,695 cycles",
            ),
            (
                CycleCount { longest_missed: 87, not_woken: 200, limited: 9, limit: 3, made_up_at_most: 40, ..on_grid },
                "116 to 200 of at least 12,525 cycles",
            ),
            // In 100 of them the thread slept, maybe after its cycle.
            (CycleCount { slept: 100, ..seen }, "16 to 116 of 12,525 cycles"),
            (
                CycleCount { slept: 100, doubtful_periods: 130, not_woken: 145, ..on_grid },
                "16 to 145 of at least 12,525 cycles",
            ),
            (CycleCount { starved: 1, ..seen }, "116 or more of at least 12,525 cycles"),
            (CycleCount { not_woken: 13_000, ..on_grid }, "116 to 13,000 of at least 12,525 cycles"),
            (CycleCount { overruns: 0, certain: 0, ..seen }, "0 of 12,525 cycles"),
            (CycleCount { overruns: 0, certain: 0, without_sleep: 1, ..seen }, "none seen of at least 12,525 cycles"),
            (CycleCount { without_sleep: 1, ..seen }, "116 or more of at least 12,525 cycles"),
            (CycleCount { overruns: 0, certain: 0, unseen: 3, ..seen }, "none seen of at least 12,525 cycles"),
            (
                CycleCount { cycles: 1, overruns: 1, certain: 0, unseen: 3, ..seen },
                "0 to 1 or more of at least 1 cycle",
            ),
            // More periods were without a wakeup than wakeups were not seen.
            (
                CycleCount { overruns: 0, certain: 0, unseen: 13, not_woken: 16, ..on_grid },
                "0 to 3 or more of at least 12,525 cycles",
            ),
        ] {
            let found = count.overrun_count();
            assert_eq!((found.of_cycles_in_words().as_str(), found.unseen), (words, count.unseen), "{count:?}");
            let is_number = !words.contains("to") && !words.contains("more") && !words.contains("seen");
            assert_eq!(found.exact().is_some(), is_number, "{words}");
        }
    }

    #[test]
    fn periods_that_unseen_wakeups_leave_over_may_be_overruns_that_nobody_saw() {
        let count = CycleCount {
            cycles: 11_984,
            on_grid: 11_984,
            periods: 12_000,
            not_woken: 16,
            unseen: 13,
            ..CycleCount::default()
        };
        assert_eq!((count.may_have_begun_within(), count.own_overruns_between()), (3, (0, 3)));
        let periods = OverrunPeriods { least: 0, most: 3, may_be_more: true, all: 12_000 };
        assert_eq!(count.overrun_periods(), Some(periods));
        // No single wakeup shows them, and a forecast counts none.
        assert_eq!((count.least_overruns(), count.own_overruns(), count.overran_beyond_wakeups()), (0, 0, false));
        for none in [
            CycleCount { not_woken: 13, ..count },
            CycleCount { not_woken: 5, ..count },
            // All cycles were seen, and none was too long: the loop slept meanwhile.
            CycleCount { unseen: 0, ..count },
        ] {
            assert_eq!((none.may_have_begun_within(), none.own_overruns_between()), (0, (0, 0)), "{none:?}");
        }
    }

    #[test]
    fn a_cycle_that_nobody_saw_ended_before_the_next_wakeup_that_was_seen() {
        let count = CycleCount { cycles: 90, unseen: 8, longest_gap_ns: 12, ..CycleCount::default() };
        assert!(count.may_hide_longer_than(11) && !count.may_hide_longer_than(12), "{count:?}");
        // Of several threads the longest counts.
        let mut sum = CycleCount { unseen: 1, longest_gap_ns: 20, ..count };
        sum.add(&count);
        assert!(sum.may_hide_longer_than(19) && !sum.may_hide_longer_than(20), "{sum:?}");
        // Nothing bounds it where no two wakeups were seen.
        assert!(CycleCount { longest_gap_ns: 0, ..count }.may_hide_longer_than(1_000));
        assert!(!CycleCount { unseen: 0, ..count }.may_hide_longer_than(0));
    }

    #[test]
    fn what_was_not_seen_of_one_recording_explains_no_overrun_of_another() {
        let count = |overruns, unseen, certain| CycleCount {
            cycles: 29_000,
            overruns,
            unseen,
            certain,
            skipped: certain,
            ..CycleCount::default()
        };
        let (before, after, without) = (count(138, 33, 56), count(49, 94, 49), count(0, 7, 0));
        let words = |count: CycleCount| count.overrun_count().of_cycles_in_words();
        assert_eq!(words(before), "105 to 138 or more of at least 29,000 cycles");
        assert_eq!(words(after), "49 or more of at least 29,000 cycles");
        let sum = |parts: &[CycleCount]| {
            let mut sum = CycleCount::default();
            parts.iter().for_each(|part| sum.add(part));
            sum
        };
        assert_eq!(words(sum(&[before, after, without])), "154 to 187 or more of at least 87,000 cycles");
        // It makes no difference in which order, or in which groups, they are added.
        assert_eq!(words(sum(&[sum(&[without, after]), before])), "154 to 187 or more of at least 87,000 cycles");
    }

    #[test]
    fn what_nobody_saw_is_limited_by_the_wakeups_unless_stretches_may_hold_any_number() {
        let seen = CycleCount { cycles: 12_525, overruns: 116, certain: 15, unseen: 7, ..CycleCount::default() };
        for (count, hidden) in [
            (CycleCount { unseen: 0, ..seen }, Some(0)),
            (seen, Some(14)),
            (CycleCount { skipped: 9, longest_missed: 87, ..seen }, Some(7)),
            (CycleCount { longest_missed: 87, ..seen }, None),
            (CycleCount { longest_missed: 87, on_grid: 12_525, ..seen }, Some(14)),
            (CycleCount { starved: 1, ..seen }, None),
            (CycleCount { without_sleep: 1, ..seen }, None),
            (CycleCount { silent_ns: 30_000_000, ..seen }, None),
            (CycleCount { late_seen_ns: 30_000_000, ..seen }, None),
            (CycleCount { signalled_ns: 30_000_000, ..seen }, None),
        ] {
            assert_eq!(count.hidden_overruns(), hidden, "{count:?}");
        }
    }
}
