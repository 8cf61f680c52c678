//! Timers that several threads wait for: each expiry wakes all of them, and one of them does the work.

use super::cycle_count::CycleCount;
use std::collections::VecDeque;

/// The last so many wakeups by such timers may have the same expiry: threads are known to wake only when they sleep again.
const MAX_RECENT: usize = 64;

/// When timers expired that threads can wait for together, and which thread that woke.
#[derive(Debug, Default)]
pub(super) struct Expiries {
    recent: VecDeque<(u64, u32)>,
}

impl Expiries {
    /// Takes a wakeup by such a timer that was due then, and gives the first thread that it was seen to wake, if that is another.
    pub(super) fn take(&mut self, due_ns: u64, tid: u32) -> Option<u32> {
        let first = self.recent.iter().find(|(due, other)| *due == due_ns && *other != tid).map(|(_, other)| *other);
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((due_ns, tid));
        first
    }
}

/// How often a thread's timers woke others too, and how often after one of these.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Sharing {
    pub(super) all: u64,
    pub(super) after: u64,
}

impl Sharing {
    /// The cycles of a thread with so many wakeups by timers of its own: those that others had begun count once, and whoever is not
    /// woken for a period, or comes late, leaves it to others.
    pub(super) fn applied(self, count: CycleCount, timers: u64) -> CycleCount {
        if self.all.saturating_mul(2) <= timers || count.cycles == 0 {
            return count;
        }
        CycleCount {
            cycles: count.cycles.saturating_sub(self.after).max(1),
            overruns: count.overruns.saturating_sub(count.began_late),
            certain: count.certain.saturating_sub(count.began_late),
            on_grid_overruns: count.on_grid_overruns.saturating_sub(count.began_late),
            began_late: 0,
            sharing: 1,
            past_next: 0,
            periods: 0,
            not_woken: 0,
            asleep: 0,
            doubtful_periods: 0,
            starved: 0,
            starved_periods: 0,
            starved_within: 0,
            on_grid: 0,
            estimated_periods: 0,
            estimated_not_woken: 0,
            ..count
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_shared_by_all_that_it_wakes() {
        let mut expiries = Expiries::default();
        let found = [(10, 1), (10, 2), (20, 2), (10, 3), (20, 2), (30, 1)].map(|(due, tid)| expiries.take(due, tid));
        assert_eq!(found, [None, Some(1), None, Some(1), None, None]);
        // So much later it is another.
        (0..MAX_RECENT as u64).for_each(|number| assert_eq!(expiries.take(100 + number, 1), None));
        assert_eq!(expiries.take(10, 4), None);
    }

    #[test]
    fn a_thread_whose_timers_hardly_wake_others_has_all_its_cycles() {
        let count =
            CycleCount { cycles: 100, periods: 120, overruns: 3, certain: 3, began_late: 1, ..CycleCount::default() };
        assert_eq!(Sharing { all: 50, after: 50 }.applied(count, 100), count);
        let shared = Sharing { all: 160, after: 80 }.applied(count, 100);
        assert_eq!((shared.cycles, shared.sharing, shared.periods), (20, 1, 0));
        // Whoever came late may have found the work done.
        assert_eq!(shared.overrun_count().in_words(), "2 or more");
    }
}
