//! Requests whose end was not seen, and how many of them may have been late, or hold some that were.

/// Those of all threads, but for those that go on.
#[derive(Default)]
pub(super) struct Cut {
    given_up: u64,
    lost: u64,
    maybe_late: u64,
    /// Beyond this, ns, a request is late, if that is known already.
    threshold_ns: Option<u64>,
}

impl Cut {
    pub(super) fn late_after(&mut self, threshold_ns: Option<u64>) {
        self.threshold_ns = threshold_ns;
    }

    /// One that had gone on from one time to another, ns, was given up.
    pub(super) fn give_up(&mut self, begun_ns: u64, at_ns: u64) {
        self.given_up += 1;
        self.maybe_late += u64::from(self.is_late(begun_ns, at_ns));
    }

    /// Its thread was lost sight of: nobody knows for how long it went on.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
        self.maybe_late += 1;
    }

    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// How many may have been late, with those that began at these times, ns, and still go on.
    pub(super) fn maybe_late(&self, begun_ns: impl Iterator<Item = u64>, now_ns: u64) -> u64 {
        self.maybe_late + begun_ns.filter(|begun_ns| self.is_late(*begun_ns, now_ns)).count() as u64
    }

    fn is_late(&self, begun_ns: u64, at_ns: u64) -> bool {
        self.threshold_ns.is_none_or(|threshold_ns| at_ns.saturating_sub(begun_ns) > threshold_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_gone_on_for_longer_than_the_threshold_or_out_of_sight_may_be_late() {
        let mut cut = Cut::default();
        cut.late_after(Some(100));
        cut.give_up(1_000, 1_100);
        assert_eq!((cut.given_up(), cut.maybe_late([].into_iter(), 2_000)), (1, 0));
        cut.give_up(1_000, 1_101);
        assert_eq!((cut.given_up(), cut.maybe_late([].into_iter(), 2_000)), (2, 1));
        assert_eq!(cut.maybe_late([1_899, 1_900, 1_990].into_iter(), 2_000), 2);
        cut.lose();
        assert_eq!((cut.lost(), cut.maybe_late([].into_iter(), 2_000)), (1, 2));
        // A quantile that is not known yet.
        cut.late_after(None);
        cut.give_up(1_000, 1_001);
        assert_eq!(cut.maybe_late([1_999].into_iter(), 2_000), 4);
    }
}
