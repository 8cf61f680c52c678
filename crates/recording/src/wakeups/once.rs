//! Whether a thread wakes about once in a period, or mostly sleeps for much longer.

use super::grid::{MIN_PERIODS, periods_between};
use crate::Wakeup;

/// The fewest and the most wakeups of a loop in a hundred of its periods: a thread that wakes twice in a cycle has
/// cycles that are not its wakeups.
const PERCENT: (u128, u128) = (50, 105);
/// A loop never sleeps for longer than this many periods, however long its cycles take, unless it is stopped.
pub(super) const LONG_PERIODS: u64 = 2;

/// Whether a thread that woke so many times in so many periods wakes about once in each.
pub fn wakes_about_once(wakeups: u64, periods: u64) -> bool {
    let (wakeups, periods) = (u128::from(wakeups) * 100, u128::from(periods));
    (PERCENT.0 * periods..=PERCENT.1 * periods).contains(&wakeups)
}

/// How long a thread sleeps, and for how long it was followed.
#[derive(Debug, Default)]
pub(super) struct Sleeps {
    /// How many of its sleeps lasted longer than [`LONG_PERIODS`].
    long: u64,
    /// When its first and its last wakeup were due.
    due_ns: Option<(u64, u64)>,
    /// When it went to sleep, if that was seen.
    slept_ns: Option<u64>,
}

impl Sleeps {
    pub(super) fn take(&mut self, wakeup: &Wakeup, period_ns: u64) {
        let due_ns = wakeup.expected_ns;
        let is_long = |slept_ns: u64| due_ns.saturating_sub(slept_ns) > period_ns.saturating_mul(LONG_PERIODS);
        self.long += u64::from(self.slept_ns.is_some_and(is_long));
        self.due_ns = Some((self.due_ns.map_or(due_ns, |(first_ns, _)| first_ns), due_ns));
        self.slept_ns = wakeup.work_ns.map(|work_ns| due_ns.saturating_add(wakeup.total_ns).saturating_add(work_ns));
    }

    /// Whether a thread that woke so many times until then, unseen wakeups included, did so about once in a period.
    pub(super) fn is_of_loop(&self, wakeups: u64, until_ns: u64, period_ns: u64) -> bool {
        let until = |(first_ns, last_ns): (u64, u64)| (first_ns, last_ns.min(until_ns));
        let periods = self.due_ns.map_or(0, |due_ns| periods_between(until(due_ns), period_ns));
        wakeups >= MIN_PERIODS && wakes_about_once(wakeups, periods)
    }

    /// Whether it was seen to go to sleep after its last wakeup.
    pub(super) fn ends_asleep(&self) -> bool {
        self.slept_ns.is_some()
    }

    /// When its first wakeup that was seen was due.
    pub(super) fn seen_from_ns(&self) -> Option<u64> {
        self.due_ns.map(|(first_ns, _)| first_ns)
    }

    /// Until when the thread was seen: until it went to sleep after its last wakeup, or, if that was not seen, until that wakeup.
    pub(super) fn seen_until_ns(&self) -> Option<u64> {
        self.slept_ns.or(self.due_ns.map(|(_, last_ns)| last_ns))
    }

    /// How many periods there were from then, or from its first wakeup, whichever was earlier, until then, or until the last, whichever
    /// was later.
    pub(super) fn periods_in(&self, began_ns: u64, ended_ns: u64, period_ns: u64) -> u64 {
        let between = |(first_ns, last_ns): (u64, u64)| (first_ns.min(began_ns), last_ns.max(ended_ns));
        self.due_ns.map_or(0, |due_ns| periods_between(between(due_ns), period_ns))
    }

    /// Whether a thread that woke so many times mostly slept for much longer than a period. A loop that is kept from its CPU, or
    /// works for too long, wakes as rarely, but does not sleep meanwhile.
    pub(super) fn are_mostly_long(&self, wakeups: u64) -> bool {
        self.long.saturating_mul(2) > wakeups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Wakeups so many periods apart, each of which works for so long, ns.
    fn sleeps(apart: u64, work_ns: u64) -> (Sleeps, u64) {
        let (mut sleeps, wakeups) = (Sleeps::default(), 100);
        for number in 0..wakeups {
            let wakeup = Wakeup { expected_ns: number * apart * MS, work_ns: Some(work_ns), ..Wakeup::default() };
            sleeps.take(&wakeup, MS);
        }
        (sleeps, wakeups)
    }

    #[test]
    fn a_thread_that_sleeps_for_long_is_told_from_a_loop_that_does_not_get_to_sleep() {
        for (apart, work_ns, is_of_loop, is_long) in [
            (1, 200_000, true, false),
            (2, 200_000, true, false),
            (3, 200_000, false, true),
            (100, 13_000, false, true),
            // It is starved.
            (100, 99 * MS + 500_000, false, false),
        ] {
            let (sleeps, wakeups) = sleeps(apart, work_ns);
            let found = (sleeps.is_of_loop(wakeups, u64::MAX, MS), sleeps.are_mostly_long(wakeups));
            assert_eq!(found, (is_of_loop, is_long), "{apart} {work_ns}: {sleeps:?}");
        }
        // Unseen wakeups count, and a few wakeups tell nothing.
        let (sleeps, wakeups) = sleeps(3, 200_000);
        assert!(sleeps.is_of_loop(2 * wakeups, u64::MAX, MS) && !Sleeps::default().is_of_loop(1, u64::MAX, MS));
        // Of the first hundred periods they are about one in each.
        assert!(sleeps.is_of_loop(wakeups, 99 * MS, MS));
    }

    #[test]
    fn about_once_is_half_as_often_to_hardly_more() {
        let found = [49, 50, 100, 105, 106].map(|wakeups| wakes_about_once(wakeups, 100));
        assert_eq!(found, [false, true, true, true, false]);
    }
}
