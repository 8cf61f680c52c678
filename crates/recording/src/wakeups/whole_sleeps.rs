//! Sleeps of exactly one period, as of polls with such a time-out: in a loop that otherwise sleeps for what is left of its period, they may be within a cycle.

use super::lasted::slept_after;
use crate::Wakeup;

/// From when a thread sets a timer for a time from then on until it sleeps takes no longer than this, ns.
const SETS_NS: u64 = 20_000;
/// If one timer in so many, or more, comes after such a sleep, the loop waits for its next cycle in this way.
const MANY: u64 = 4;

/// The timers of a thread that come after such sleeps.
#[derive(Debug, Default)]
pub(super) struct WholeSleeps {
    taken: u64,
    /// When the last timer was due that is none of these.
    from_ns: u64,
    waits: u64,
    /// The longest cycle of which they may be part, ns.
    longest_ns: u64,
}

impl WholeSleeps {
    /// Takes the next wakeup by a timer of the thread's own, after a sleep from then on, and says whether it may be within a cycle. A point of its grid is the
    /// beginning of one.
    pub(super) fn take(&mut self, wakeup: &Wakeup, slept_ns: Option<u64>, is_on_grid: bool, period_ns: u64) -> bool {
        self.taken += 1;
        let due_ns = wakeup.expected_ns;
        let sleep_ns = slept_ns.and_then(|slept_ns| due_ns.checked_sub(slept_ns));
        let is_whole = |ns: u64| ns <= period_ns && ns.saturating_add(SETS_NS) >= period_ns;
        if is_on_grid || !sleep_ns.is_some_and(is_whole) {
            self.from_ns = due_ns;
            return false;
        }
        let until_ns = slept_after(wakeup).unwrap_or(due_ns);
        self.waits += 1;
        self.longest_ns = self.longest_ns.max(until_ns.saturating_sub(self.from_ns));
        self.are_few()
    }

    fn are_few(&self) -> bool {
        self.waits.saturating_mul(MANY) <= self.taken
    }

    /// How many there were, and how long the longest of the cycles took of which they may be part, ns. Where they are many, this tells nothing.
    pub(super) fn waits(&self) -> (u64, u64) {
        if self.are_few() { (self.waits, self.longest_ns) } else { (0, 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What is found of a loop of 1 ms that works for 100 us and sleeps so long before its cycles, us.
    fn waits(sleeps_us: &[u64], is_on_grid: bool) -> (u64, u64) {
        let (mut whole, mut slept_ns) = (WholeSleeps::default(), None);
        for sleep_us in sleeps_us {
            let expected_ns = slept_ns.unwrap_or(MS) + sleep_us * 1_000;
            let wakeup = Wakeup { expected_ns, work_ns: Some(100_000), ..Wakeup::default() };
            whole.take(&wakeup, slept_ns, is_on_grid, MS);
            slept_ns = slept_after(&wakeup);
        }
        whole.waits()
    }

    #[test]
    fn a_sleep_of_a_whole_period_may_be_within_a_cycle() {
        let mut sleeps = vec![900; 20];
        assert_eq!(waits(&sleeps, false), (0, 0));
        // Three in a row are part of the cycle that began before the first.
        sleeps.extend([990, 995, 990, 900, 900]);
        assert_eq!(waits(&sleeps, false), (3, 100_000 + 3 * 100_000 + 2_975_000));
        assert_eq!(waits(&sleeps, true), (0, 0), "points of its grid");
        sleeps.extend([1_010, 970]);
        assert_eq!(waits(&sleeps, false).0, 3, "other sleeps");
        assert_eq!(waits(&[990; 20], false), (0, 0), "as it sleeps each time");
    }
}
