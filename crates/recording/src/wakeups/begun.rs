//! About how many periods began without a wakeup, where no grid of timers shows it.

use super::grid::periods_between;

/// When the cycles of a thread begin by one rule.
#[derive(Debug, Default)]
pub(super) struct Begun {
    pub(super) count: u64,
    /// When the first and the last were due.
    due_ns: Option<(u64, u64)>,
    /// Whole periods that passed between one and the next, rounded each time.
    passed: u64,
    /// The shortest time from one to the next, ns.
    pub(super) closest_ns: Option<u64>,
}

impl Begun {
    /// Takes the next, which was due then.
    pub(super) fn take(&mut self, due_ns: u64, period_ns: u64) {
        let (first_ns, last_ns) = self.due_ns.unwrap_or((due_ns, due_ns));
        let passed = periods_between((last_ns, due_ns), period_ns).saturating_sub(2);
        let apart_ns = self.due_ns.map(|(_, last_ns)| due_ns.saturating_sub(last_ns));
        self.closest_ns = self.closest_ns.into_iter().chain(apart_ns).min();
        self.count += 1;
        self.due_ns = Some((first_ns, due_ns));
        self.passed = self.passed.saturating_add(passed);
    }

    /// When the first was due, ns.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.due_ns.map(|(first_ns, _)| first_ns)
    }

    /// How many periods there were from the first to the last.
    pub(super) fn periods(&self, period_ns: u64) -> u64 {
        self.due_ns.map_or(0, |due_ns| periods_between(due_ns, period_ns))
    }

    /// About how many of these began without a wakeup, besides those of so many cycles that were held. A loop that drifts has
    /// fewer cycles than the time holds periods, but none of them apart; one that wakes unevenly has some apart, but no fewer.
    /// Where more than half of the periods had no cycle, it is no loop of that period, and nothing is said.
    pub(super) fn not_woken(&self, held: u64, period_ns: u64) -> Option<u64> {
        let fewer = self.periods(period_ns).saturating_sub(self.count);
        let without = self.passed.min(fewer).saturating_sub(held);
        (without <= self.count).then_some(without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn without(due_ns: impl IntoIterator<Item = u64>, held: u64) -> Option<u64> {
        let mut begun = Begun::default();
        due_ns.into_iter().for_each(|due_ns| begun.take(due_ns, MS));
        begun.not_woken(held, MS)
    }

    #[test]
    fn periods_between_cycles_that_are_apart_had_none() {
        // After each tenth cycle a little more than three periods pass, and the loop starts over from there.
        let restarts = (0..100).map(|number| number * MS + number / 10 * 3_400_000);
        assert_eq!(without(restarts.clone(), 0), Some(9 * 3), "starts over");
        assert_eq!(without(restarts, 6), Some(9 * 3 - 6), "held in six");
        // Each comes a tenth of a period later than it should: none is left out.
        assert_eq!(without((0..100).map(|number| number * 1_100_000), 0), Some(0), "drifts");
        // Every second one comes most of a period late, and the next as planned.
        assert_eq!(without((0..101).map(|number| number * MS + number % 2 * 700_000), 0), Some(0), "uneven");
        assert_eq!(without((0..100).map(|number| number * 30 * MS), 0), None, "no loop of that period");
        assert_eq!(without([], 0), Some(0));
    }
}
