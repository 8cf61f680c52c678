//! How many late wakeups keep their evidence: the cost of that is bounded, in CPU time and in space.

/// Episodes that may be kept at once, and every second after that, whatever they cost: 240 a minute.
const BURST: u64 = 240;
const A_SECOND: u64 = 4;
/// Beyond these, as many as cost this share of one CPU, one part in so many,
const CPU_PART: u64 = 20;
/// and no more than one part in so many of all that is ever kept: the rest is for what comes later.
const EARLY_PART: u64 = 4;

/// What keeping episodes has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// Since the recording began, ns.
    pub(super) elapsed_ns: u64,
    /// Episodes that were copied out of the rings, and the CPU time that took, ns.
    pub(super) taken: u64,
    pub(super) taking_ns: u64,
    /// Episodes that were written, and the CPU time, ns, and the disk space, bytes, that took.
    pub(super) written: u64,
    pub(super) writing_ns: u64,
    pub(super) bytes: u64,
}

/// How many more may be kept.
#[derive(Debug)]
pub(super) struct Budget {
    max_episodes: u64,
    max_bytes: u64,
    accepted: u64,
    /// Those that may be kept whatever they cost.
    left: u64,
    /// Those that were kept beyond that because they are cheap, and how many more of these may be kept.
    beyond: u64,
    affordable: u64,
}

impl Budget {
    /// A recording keeps no more than this many episodes, with this many bytes together.
    pub(super) fn new(max_episodes: u64, max_bytes: u64) -> Budget {
        Budget { max_episodes, max_bytes, accepted: 0, left: BURST, beyond: 0, affordable: 0 }
    }

    /// Whether one more may be kept; if so it is counted.
    pub(super) fn take(&mut self) -> bool {
        if self.accepted >= self.max_episodes {
            return false;
        }
        if self.left > 0 {
            self.left -= 1;
        } else if self.affordable > 0 {
            self.affordable -= 1;
            self.beyond += 1;
        } else {
            return false;
        }
        self.accepted += 1;
        true
    }

    /// A second has passed.
    pub(super) fn another_second(&mut self) {
        self.left = (self.left + A_SECOND).min(BURST);
    }

    /// What was spent tells how many are cheap enough.
    pub(super) fn spent(&mut self, spent: &Spent) {
        self.affordable = 0;
        if spent.taken == 0 || spent.written == 0 {
            return;
        }
        let each_ns = (spent.taking_ns / spent.taken).saturating_add(spent.writing_ns / spent.written).max(1);
        let each_bytes = (spent.bytes / spent.written).max(1);
        let cheap = (spent.elapsed_ns / CPU_PART / each_ns)
            .min(self.max_bytes / EARLY_PART / each_bytes)
            .min(self.max_episodes / EARLY_PART);
        self.affordable = cheap.saturating_sub(self.beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// After so many seconds, at so much CPU time and so many bytes for each.
    fn spent(seconds: u64, each_ns: u64, each_bytes: u64) -> Spent {
        Spent {
            elapsed_ns: seconds * SECOND_NS,
            taken: 10,
            taking_ns: 10 * each_ns / 4,
            written: 8,
            writing_ns: 8 * each_ns / 4 * 3,
            bytes: 8 * each_bytes,
        }
    }

    fn taken(budget: &mut Budget) -> u64 {
        (0..100_000).filter(|_| budget.take()).count() as u64
    }

    #[test]
    fn as_many_as_are_cheap_come_on_top_of_those_that_may_be_kept_anyway() {
        let mut budget = Budget::new(10_000, 256 << 20);
        assert_eq!(taken(&mut budget), BURST);
        budget.spent(&Spent { elapsed_ns: 60 * SECOND_NS, ..Spent::default() });
        assert_eq!(taken(&mut budget), 0, "what one costs is not known yet");
        // A twentieth of 10 s, at 2 ms each.
        budget.spent(&spent(10, 2_000_000, 10_000));
        assert_eq!(taken(&mut budget), 250);
        budget.spent(&spent(12, 2_000_000, 10_000));
        assert_eq!(taken(&mut budget), 50);
        // They turn out to be expensive.
        budget.spent(&spent(13, 40_000_000, 10_000));
        assert_eq!(taken(&mut budget), 0);
        budget.another_second();
        assert_eq!(taken(&mut budget), A_SECOND);
    }

    #[test]
    fn what_comes_later_keeps_its_room() {
        let hour = 3_600;
        for (max_episodes, each_bytes, cheap) in [(10_000, 1_000, 2_500), (10_000, 1 << 20, 64), (100, 1_000, 0)] {
            let mut budget = Budget::new(max_episodes, 256 << 20);
            let first = taken(&mut budget);
            assert_eq!(first, BURST.min(max_episodes));
            budget.spent(&spent(hour, 10_000, each_bytes));
            assert_eq!(taken(&mut budget), cheap, "{max_episodes} of {each_bytes}");
        }
    }

    #[test]
    fn no_figure_is_too_large() {
        let all = u64::MAX;
        let mut budget = Budget::new(all, all);
        budget.spent(&Spent { elapsed_ns: all, taken: 1, taking_ns: all, written: 1, writing_ns: all, bytes: all });
        budget.spent(&Spent { elapsed_ns: all, taken: all, taking_ns: 0, written: all, writing_ns: 0, bytes: 0 });
        assert!(budget.take());
    }
}
