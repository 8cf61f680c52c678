//! Which of a thread's wakeups may be waits within a cycle, where no grid of timers shows it.

use super::grid::MIN_PERIODS;
use crate::Wakeup;

/// A period is divided into so many parts, and what is no more than one part away is alike.
const PARTS: usize = 32;

/// If one wakeup in this many, or more, is not as usual, none is.
const MANY: u64 = 4;

/// How often each part of a period was met, and the part that was met most often.
#[derive(Debug, Default)]
struct Parts {
    counts: [u16; PARTS],
    most: usize,
}

impl Parts {
    fn take(&mut self, length_ns: u64, period_ns: u64) {
        let part = part_of(length_ns, period_ns);
        self.counts[part] = self.counts[part].saturating_add(1);
        if self.counts[part] > self.counts[self.most] {
            self.most = part;
        }
    }

    /// Whether a time, ns, is as long as most are, or whole periods longer.
    fn is_usual(&self, length_ns: u64, period_ns: u64) -> bool {
        let apart = part_of(length_ns, period_ns).abs_diff(self.most);
        apart.min(PARTS - apart) <= 1
    }
}

fn part_of(length_ns: u64, period_ns: u64) -> usize {
    let part = u128::from(length_ns % period_ns) * PARTS as u128 / u128::from(period_ns);
    usize::try_from(part).map_or(0, |part| part.min(PARTS - 1))
}

/// The times from one wakeup that begins a cycle to the next, and those of them that may be within a cycle: which are neither as
/// far from the one before as others, nor follow as long a sleep.
#[derive(Debug, Default)]
pub(super) struct Spacing {
    taken: u64,
    intervals: Parts,
    sleeps: Parts,
    /// Who woke it most often, and how much more often than everybody else.
    waker: (Option<u32>, u64),
    /// When the last wakeup was due that is none of these.
    from_ns: u64,
    /// How many of them there were.
    waits: u64,
    /// How many periods the cycles lasted that they may be part of, beyond the first of each.
    periods: u64,
    /// The longest of these cycles, ns.
    longest_ns: u64,
}

impl Spacing {
    /// Takes the next wakeup that begins a cycle. `last` says when the cycle before was due, and when the thread last slept in it, if
    /// that was seen, ns. Where others wake the thread,
    /// only what somebody else than usual ends may be a wait within a cycle: whoever wakes it each time may do so when it likes.
    pub(super) fn take(&mut self, wakeup: &Wakeup, last: Option<(u64, Option<u64>)>, by_others: bool, period_ns: u64) {
        let due_ns = wakeup.expected_ns;
        let Some((last_ns, slept_ns)) = last else {
            self.from_ns = due_ns;
            self.take_waker(wakeup.woken_by);
            return;
        };
        let interval_ns = due_ns.saturating_sub(last_ns);
        let sleep_ns = slept_ns.map(|slept_ns| due_ns.saturating_sub(slept_ns));
        let is_usual = self.intervals.is_usual(interval_ns, period_ns)
            || self.intervals.is_usual(due_ns.saturating_sub(self.from_ns), period_ns)
            || (!by_others && sleep_ns.is_none_or(|sleep_ns| self.sleeps.is_usual(sleep_ns, period_ns)));
        // After a cycle that was too long a loop may start over at any time.
        let is_after_overrun = slept_ns.is_none_or(|slept_ns| slept_ns.saturating_sub(last_ns) > period_ns);
        let is_by_usual = by_others && (self.waker.0 == wakeup.woken_by || self.waker.1 * 2 < self.taken);
        let is_wait = self.taken >= MIN_PERIODS && !is_usual && !is_after_overrun && !is_by_usual;
        self.taken += 1;
        self.intervals.take(interval_ns, period_ns);
        if let Some(sleep_ns) = sleep_ns {
            self.sleeps.take(sleep_ns, period_ns);
        }
        self.take_waker(wakeup.woken_by);
        if is_wait {
            self.take_wait(wakeup, period_ns);
        } else {
            self.from_ns = due_ns;
        }
    }

    /// How many of the wakeups may be waits within a cycle, how many periods the cycles lasted that they may be part of, and the longest
    /// of these cycles, ns. Where they are many, nothing is usual, and this tells nothing.
    pub(super) fn waits(&self) -> (u64, u64, u64) {
        let is_usual = self.waits * MANY <= self.taken;
        if is_usual { (self.waits, self.periods, self.longest_ns) } else { (0, 0, 0) }
    }

    fn take_wait(&mut self, wakeup: &Wakeup, period_ns: u64) {
        let length_ns = wakeup
            .expected_ns
            .saturating_add(wakeup.total_ns)
            .saturating_add(wakeup.work_ns.unwrap_or(0))
            .saturating_sub(self.from_ns);
        self.waits += 1;
        self.periods = self.periods.saturating_add(length_ns.saturating_sub(1) / period_ns);
        self.longest_ns = self.longest_ns.max(length_ns);
    }

    /// The one that wakes it in most cases is the one that is left if each other waker takes away one of its wakeups.
    fn take_waker(&mut self, waker: Option<u32>) {
        self.waker = match self.waker {
            (usual, more) if usual == waker => (usual, more + 1),
            (_, 0) => (waker, 1),
            (usual, more) => (usual, more - 1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What wakeups show that come so far after the one before, in us, work for 100 us and are by this waker.
    fn spacing(wakeups: &[(u64, u32)], by_others: bool) -> Spacing {
        let (mut spacing, mut last, mut due_ns) = (Spacing::default(), None, MS);
        for (apart_us, waker) in wakeups {
            due_ns += apart_us * 1_000;
            let wakeup =
                Wakeup { expected_ns: due_ns, work_ns: Some(100_000), woken_by: Some(*waker), ..Wakeup::default() };
            spacing.take(&wakeup, last, by_others, MS);
            last = Some((due_ns, Some(due_ns + 100_000)));
        }
        spacing
    }

    #[test]
    fn a_sleep_of_another_length_may_be_within_a_cycle() {
        let mut wakeups = vec![(950, 1); 20];
        wakeups.extend([(1_300, 1), (950, 1), (950, 1)]);
        let found = spacing(&wakeups, false);
        assert_eq!(found.waits(), (1, 1, 1_400_000), "{found:?}");
        // Two in a row belong to the same cycle, and the next one of the usual grid to none.
        let mut wakeups = vec![(1_000, 1); 20];
        wakeups.extend([(400, 1), (200, 1), (400, 1), (1_000, 1)]);
        let found = spacing(&wakeups, false);
        assert_eq!(found.waits(), (2, 0, 700_000), "{found:?}");
        // Whole periods may be missed, and too little shows what is usual.
        let mut wakeups = vec![(1_000, 1); 20];
        wakeups.extend([(3_000, 1), (1_000, 1)]);
        assert_eq!(spacing(&wakeups, false).waits, 0);
        assert_eq!(spacing(&[(1_000, 1), (400, 1), (600, 1)], false).waits, 0);
    }

    #[test]
    fn of_what_others_end_only_what_somebody_else_ends_may_be_within_a_cycle() {
        let mut wakeups = vec![(1_000, 1); 20];
        wakeups.extend([(600, 2), (400, 1), (1_000, 1)]);
        let found = spacing(&wakeups, true);
        assert_eq!((found.waits, found.longest_ns), (1, 700_000), "{found:?}");
        let by_one: Vec<(u64, u32)> = wakeups.iter().map(|(apart_us, _)| (*apart_us, 1)).collect();
        assert_eq!(spacing(&by_one, true).waits, 0);
        // Where nobody wakes it in most cases, nobody is another.
        let by_many: Vec<(u64, u32)> =
            wakeups.iter().zip(0..).map(|((apart_us, _), waker)| (*apart_us, waker)).collect();
        assert_eq!(spacing(&by_many, true).waits, 0);
    }
}
