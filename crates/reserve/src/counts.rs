//! What became of the jobs of an attempt.

/// What became of jobs. Each is one of these, so that no number of them can contradict another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Jobs {
    /// Ended by their deadline.
    pub on_time: u64,
    /// Ended after their deadline.
    pub late: u64,
    /// Should have come but did not, or did not end.
    pub missing: u64,
}

impl Jobs {
    /// All that were due.
    pub fn all(self) -> u64 {
        self.on_time + self.failed()
    }

    /// Those that had not ended by their deadline.
    pub fn failed(self) -> u64 {
        self.late + self.missing
    }
}

/// What was counted in an attempt, or in several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    jobs: Jobs,
    /// At most as many as failed.
    by_host: u64,
    /// Besides the jobs.
    unseen: u64,
    /// Besides the jobs.
    unclear: u64,
    caught_up: u64,
    /// Besides the jobs.
    slow: u64,
    off_period: u32,
    worst_response_ns: u64,
}

impl AttemptCounts {
    /// For these jobs, so many of which failed because of the host, and the longest from a release to the next sleep, ns.
    pub fn new(jobs: Jobs, by_host: u64, worst_response_ns: u64) -> AttemptCounts {
        AttemptCounts {
            jobs,
            by_host: by_host.min(jobs.failed()),
            unseen: 0,
            unclear: 0,
            caught_up: 0,
            slow: 0,
            off_period: 0,
            worst_response_ns,
        }
    }

    /// The same with so many jobs more of which nobody saw whether they were on time.
    #[must_use]
    pub fn with_unseen(self, unseen: u64) -> AttemptCounts {
        AttemptCounts { unseen, ..self }
    }

    /// The same with jobs of stretches in which the thread did not sleep: so many more of which it is unclear what became, and how
    /// many of all had no sleep before them.
    #[must_use]
    pub fn with_stretches(self, unclear: u64, caught_up: u64) -> AttemptCounts {
        AttemptCounts { unclear, caught_up, ..self }
    }

    /// The same of a loop that began so many jobs fewer than its period allows, since it was slower.
    #[must_use]
    pub fn with_slow(self, slow: u64) -> AttemptCounts {
        AttemptCounts { slow, ..self }
    }

    /// The same of an attempt in which far more or far fewer jobs came than the period allows, and no other reason for that was seen:
    /// nothing is known of the setting.
    #[must_use]
    pub fn with_another_period(self) -> AttemptCounts {
        AttemptCounts { off_period: 1, ..self }
    }

    /// What became of the jobs.
    pub fn jobs(&self) -> Jobs {
        self.jobs
    }

    /// How many of those that failed the host may account for: it took the CPU for as long as they were late, or for as long as a
    /// job has to spare. (Others wait behind a job that the host held up, and all that is known of them is that they took long.)
    pub fn by_host(&self) -> u64 {
        self.by_host
    }

    /// How many more jobs came, or may have come, and were not seen: none of [`AttemptCounts::jobs`], and neither late nor on time.
    /// As few as [`AttemptCounts::failures`] failed, and at most so many more.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    /// How many more jobs were released while the thread did not sleep, and were on time, late or missing: none of
    /// [`AttemptCounts::jobs`]. The thread was behind, and may have worked off several in a row.
    pub fn unclear(&self) -> u64 {
        self.unclear
    }

    /// How many of the jobs the thread worked off without a sleep before them, since it was behind.
    pub fn caught_up(&self) -> u64 {
        self.caught_up
    }

    /// How many jobs fewer began than the period allows, in a loop that sleeps for the same time after each job: it is slower, and
    /// skips none. Not among [`AttemptCounts::jobs`].
    pub fn slow(&self) -> u64 {
        self.slow
    }

    /// In how many attempts far more or far fewer jobs came than the period allows.
    pub fn off_period(&self) -> u32 {
        self.off_period
    }

    /// How many jobs may have failed or not: those that were not seen, and those that are unclear.
    pub fn undecided(&self) -> u64 {
        self.unseen.saturating_add(self.unclear)
    }

    /// The longest from a release to the next sleep, ns. If jobs were worked off in a row, or may have been, each of them responded
    /// within this.
    pub fn worst_response_ns(&self) -> u64 {
        self.worst_response_ns
    }

    /// Those that failed for which the host does not account.
    pub fn failures(&self) -> u64 {
        self.jobs.failed() - self.by_host
    }

    /// Whether the setting was not enough, whatever became of the undecided jobs: a job failed for which the host does not account, or the
    /// loop was slower.
    pub fn has_failed(&self) -> bool {
        self.failures() > 0 || self.slow > 0
    }

    /// Whether any job tells of the setting: one that was on time, or one that failed for which the host does not account.
    pub fn has_jobs(&self) -> bool {
        self.jobs.on_time > 0 || self.failures() > 0
    }

    /// Whether it says anything of the setting, whatever became of the undecided jobs: if it [failed](AttemptCounts::has_failed) it does;
    /// otherwise only if there are none of these and [`AttemptCounts::has_jobs`]. One whose jobs have another period says nothing.
    pub fn is_judged(&self) -> bool {
        self.off_period == 0 && self.has_failed() || self.succeeded()
    }

    /// Whether it is made again: the host took the CPU from jobs, or some were not seen, and neither says anything of the setting. One
    /// in which the thread was behind does: made again until it was not, it would show the setting better than it is.
    pub fn is_repeated(&self) -> bool {
        self.by_host > 0 || self.unseen > 0 && self.unclear == 0 && !self.has_failed()
    }

    /// Whether there were jobs, none fewer than the period allows, and every one was seen to be on time, except for those that the host
    /// held up.
    pub fn succeeded(&self) -> bool {
        self.jobs.on_time > 0 && !self.has_failed() && self.undecided() == 0 && self.off_period == 0
    }

    /// Adds another's.
    pub fn add(&mut self, other: &AttemptCounts) {
        self.jobs.on_time += other.jobs.on_time;
        self.jobs.late += other.jobs.late;
        self.jobs.missing += other.jobs.missing;
        self.by_host += other.by_host;
        self.unseen += other.unseen;
        self.unclear += other.unclear;
        self.caught_up += other.caught_up;
        self.slow += other.slow;
        self.off_period += other.off_period;
        self.worst_response_ns = self.worst_response_ns.max(other.worst_response_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn attempts_in_which_the_thread_was_behind_are_not_made_again() {
        let counts = |late, by_host| AttemptCounts::new(Jobs { on_time: 90, late, missing: 0 }, by_host, 1_000);
        for (counts, is_repeated) in [
            (counts(0, 0), false),
            (counts(0, 0).with_unseen(1), true),
            (counts(0, 0).with_stretches(1, 1), false),
            (counts(0, 0).with_unseen(1).with_stretches(1, 1), false),
            (counts(1, 0).with_unseen(1), false),
            (counts(2, 1), true),
        ] {
            assert_eq!(counts.is_repeated(), is_repeated, "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn jobs_are_what_was_on_time_late_and_missing_however_they_are_added(
            parts in prop::collection::vec((0..1u64 << 40, 0..1u64 << 40, 0..1u64 << 40, any::<u64>(), 0..3u64), 0..20),
        ) {
            let mut sum = AttemptCounts::default();
            for (on_time, late, missing, by_host, unseen) in parts {
                let one = AttemptCounts::new(Jobs { on_time, late, missing }, by_host, late).with_unseen(unseen);
                prop_assert!(one.failures() <= one.jobs().failed() && one.by_host() <= one.jobs().failed());
                prop_assert!(one.is_judged() || !one.succeeded());
                sum.add(&one);
            }
            let Jobs { on_time, late, missing } = sum.jobs();
            prop_assert_eq!(sum.jobs().all(), on_time + late + missing);
            prop_assert_eq!(sum.jobs().failed(), sum.failures() + sum.by_host());
            prop_assert!(!sum.succeeded() || (sum.is_judged() && sum.failures() == 0));
        }
    }

    #[test]
    fn a_loop_that_is_slower_has_failed_although_no_job_was_late() {
        let on_time = AttemptCounts::new(Jobs { on_time: 140, ..Jobs::default() }, 0, 6_000);
        let slow = on_time.with_slow(57);
        let judged = |counts: AttemptCounts| (counts.has_failed(), counts.is_judged(), counts.succeeded());
        assert_eq!(judged(on_time), (false, true, true));
        assert_eq!(judged(slow), (true, true, false));
        assert!(!slow.with_unseen(3).is_repeated() && judged(slow.with_unseen(3)) == (true, true, false));
        assert_eq!((slow.failures(), slow.jobs().all(), slow.undecided()), (0, 140, 0));
        let mut sum = on_time;
        sum.add(&slow);
        assert_eq!((sum.slow(), sum.succeeded()), (57, false));
    }

    #[test]
    fn attempts_with_another_period_say_nothing() {
        for late in [0, 3] {
            let counts = AttemptCounts::new(Jobs { on_time: 190, late, missing: 0 }, 0, 6_000).with_another_period();
            assert_eq!((counts.is_judged(), counts.succeeded(), counts.is_repeated()), (false, false, false), "{late}");
            let mut sum = AttemptCounts::new(Jobs { on_time: 100, ..Jobs::default() }, 0, 6_000);
            sum.add(&counts);
            assert_eq!((sum.off_period(), sum.succeeded()), (1, false), "{late}");
        }
    }

    #[test]
    fn what_the_host_alone_accounts_for_says_nothing() {
        let counts = |on_time, late, by_host| AttemptCounts::new(Jobs { on_time, late, missing: 0 }, by_host, 0);
        let judged = |counts: AttemptCounts| (counts.is_judged(), counts.succeeded());
        assert_eq!(judged(AttemptCounts::default()), (false, false));
        assert_eq!(judged(counts(0, 3, 3)), (false, false));
        assert_eq!(judged(counts(1, 3, 3)), (true, true));
        assert_eq!(judged(counts(9, 3, 2)), (true, false));
    }

    #[test]
    fn what_was_not_seen_decides_only_where_it_could_not_have_been_otherwise() {
        let counts =
            |on_time, late, unseen| AttemptCounts::new(Jobs { on_time, late, missing: 0 }, 0, 0).with_unseen(unseen);
        let judged = |counts: AttemptCounts| (counts.is_judged(), counts.succeeded(), counts.has_jobs());
        // Late or on time, one was late.
        assert_eq!(judged(counts(9, 1, 3)), (true, false, true));
        assert_eq!(judged(counts(9, 0, 3)), (false, false, true));
        assert_eq!(judged(counts(0, 0, 3)), (false, false, false));
        let mut sum = counts(9, 0, 0);
        sum.add(&counts(5, 0, 2));
        assert_eq!((sum.unseen(), sum.jobs().all(), sum.succeeded()), (2, 14, false));
        // So do jobs of which it is unclear whether they were worked off in time.
        let unclear = |late| counts(9, late, 0).with_stretches(3, 1);
        assert_eq!(judged(unclear(1)), (true, false, true));
        assert_eq!(judged(unclear(0)), (false, false, true));
        assert_eq!(judged(counts(9, 0, 0).with_stretches(0, 7)), (true, true, true));
        sum.add(&unclear(0));
        assert_eq!((sum.unclear(), sum.caught_up(), sum.undecided(), sum.jobs().all()), (3, 1, 5, 23));
    }
}
