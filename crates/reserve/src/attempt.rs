//! What a period of time under one setting showed.

use crate::{Activation, AttemptCounts, Job, Jobs};

/// A period of time under one setting, judged as it passes.
#[derive(Debug, Clone)]
pub struct Attempt {
    period_ns: u64,
    deadline_ns: u64,
    /// What is left of the deadline when the job's work is done.
    spare_ns: u64,
    began_ns: u64,
    /// The end of the last job, or the beginning.
    heard_ns: u64,
    /// Those that ended.
    jobs: Jobs,
    /// Those that were not seen.
    unseen: u64,
    late_by_host: u64,
    worst_response_ns: u64,
}

/// What is finished may be reported this late, ns: what was due so shortly before the end is not yet missing.
pub const SLACK_NS: u64 = 60_000_000;

impl Attempt {
    /// Begins now.
    pub fn begin(job: Job, now_ns: u64) -> Attempt {
        let Job { period_ns, work_ns, deadline_ns } = job;
        let spare_ns = deadline_ns.saturating_sub(work_ns);
        Attempt {
            period_ns,
            deadline_ns,
            spare_ns,
            began_ns: now_ns,
            heard_ns: now_ns,
            jobs: Jobs::default(),
            unseen: 0,
            late_by_host: 0,
            worst_response_ns: 0,
        }
    }

    /// Takes an activation; one that was released before the attempt is not part of it. `stolen_ns` is what the host may have taken
    /// from it.
    pub fn take(&mut self, activation: &Activation, stolen_ns: u64) {
        if activation.released_ns < self.began_ns {
            return;
        }
        let response_ns = activation.response_ns();
        self.heard_ns = self.heard_ns.max(activation.finished_ns);
        self.worst_response_ns = self.worst_response_ns.max(response_ns);
        if response_ns > self.deadline_ns {
            self.jobs.late += 1;
            let enough_ns = (response_ns - self.deadline_ns).min(self.spare_ns).max(1);
            self.late_by_host += u64::from(stolen_ns >= enough_ns);
        } else {
            self.jobs.on_time += 1;
        }
    }

    /// Takes that so many activations were not seen: their events were lost, or never came to be seen. Nothing is known of when they
    /// were released and of when they ended.
    pub fn take_unseen(&mut self, activations: u64) {
        self.unseen = self.unseen.saturating_add(activations);
    }

    /// Whether the attempt has failed, whatever follows and whatever was not seen.
    pub fn has_failed(&self, now_ns: u64) -> bool {
        self.jobs.late > self.late_by_host || self.is_silent(now_ns)
    }

    /// Whether it has failed only because nothing has ended for so long.
    pub fn is_only_silent(&self, now_ns: u64) -> bool {
        self.jobs.late == self.late_by_host && self.is_silent(now_ns)
    }

    /// Whether nothing has ended for so long that a job must be late.
    fn is_silent(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.heard_ns) > self.deadline_ns + 2 * self.period_ns + SLACK_NS
    }

    /// Ends now.
    pub fn end(self, now_ns: u64) -> AttemptCounts {
        let passed_ns = now_ns.saturating_sub(self.began_ns);
        let expected = passed_ns.saturating_sub(self.deadline_ns + SLACK_NS) / self.period_ns.max(1);
        let ended = self.jobs.all();
        // No more than came: an activation that was not seen may belong to the time before the attempt.
        let unseen = self.unseen.min((passed_ns / self.period_ns.max(1)).saturating_sub(ended));
        let accounted = ended + unseen;
        // A late job may swallow the next ones, and a program's period is not exact.
        let is_missing = accounted + accounted / 10 + 1 < expected || self.is_silent(now_ns);
        let missing = if is_missing { expected.saturating_sub(accounted).max(1) } else { 0 };
        AttemptCounts::new(Jobs { missing, ..self.jobs }, self.late_by_host, self.worst_response_ns).with_unseen(unseen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 10_000_000;
    const JOB: Job = Job { period_ns: PERIOD, work_ns: 4_000_000, deadline_ns: PERIOD };

    fn played(responses: impl Fn(u64) -> Option<u64>) -> (bool, AttemptCounts) {
        let mut attempt = Attempt::begin(JOB, 1_000);
        let end = 1_000 + 200 * PERIOD;
        let mut failed = false;
        for number in 0..200 {
            let released_ns = 1_000 + number * PERIOD;
            if let Some(response) = responses(number) {
                let finished_ns = released_ns + response;
                attempt.take(&Activation { released_ns, latency_ns: 0, finished_ns, executed_ns: 5 }, 0);
            }
            failed |= attempt.has_failed(released_ns + PERIOD);
        }
        (failed, attempt.end(end))
    }

    #[test]
    fn late_and_missing_jobs_fail() {
        let (failed, counts) = played(|_| Some(PERIOD / 2));
        assert!(!failed && counts.succeeded() && counts.jobs().on_time == 200, "{counts:?}");
        let (failed, counts) = played(|number| Some(if number == 77 { PERIOD + 1 } else { 5 }));
        assert!(failed && !counts.succeeded(), "{counts:?}");
        assert_eq!(counts.jobs(), Jobs { on_time: 199, late: 1, missing: 0 });
        let (failed, counts) = played(|number| (number < 100).then_some(5));
        assert!(failed && !counts.succeeded() && counts.jobs().missing > 80, "{counts:?}");
        let (_, counts) = played(|number| (number % 2 == 0).then_some(5));
        assert!(!counts.succeeded() && counts.jobs().missing > 80 && counts.jobs().all() < 200, "{counts:?}");
        let mut silent = Attempt::begin(JOB, 1_000);
        let silent_ns = 1_000 + 3 * PERIOD + SLACK_NS;
        assert_eq!([silent_ns, silent_ns + 1].map(|now_ns| silent.is_only_silent(now_ns)), [false, true]);
        let late = Activation { released_ns: 1_000, latency_ns: 0, finished_ns: 2_000 + PERIOD, executed_ns: 5 };
        silent.take(&late, 0);
        assert!(silent.has_failed(9 * silent_ns) && !silent.is_only_silent(9 * silent_ns), "a job was late");
        let (failed, counts) = played(|_| None);
        assert!(failed && counts.is_judged() && !counts.succeeded());
        assert_eq!(Attempt::begin(JOB, 1_000).end(1_000), AttemptCounts::default(), "nothing was due");
    }

    #[test]
    fn jobs_that_were_not_seen_are_neither_missing_nor_late_nor_on_time() {
        // How many of 200 jobs came, how many the recorder says it did not see, and what became of the others.
        for (came, not_seen, missing, unseen) in [
            (200, 0, 0, 0),
            (150, 50, 0, 50),
            (150, 0, 43, 0),
            (100, 50, 43, 50),
            // It belongs to the time before.
            (200, 7, 0, 0),
            (198, 7, 0, 2),
        ] {
            let mut attempt = Attempt::begin(JOB, 1_000);
            for number in 200 - came..200 {
                let released_ns = 1_000 + number * PERIOD;
                let finished_ns = released_ns + 5;
                attempt.take(&Activation { released_ns, latency_ns: 0, finished_ns, executed_ns: 5 }, 0);
            }
            attempt.take_unseen(not_seen);
            let now_ns = 1_000 + 200 * PERIOD;
            assert!(!attempt.has_failed(now_ns), "what was not seen is no failure");
            let counts = attempt.end(now_ns);
            assert_eq!(
                (counts.jobs(), counts.unseen()),
                (Jobs { on_time: came, late: 0, missing }, unseen),
                "{came} {not_seen}"
            );
            assert_eq!((counts.is_judged(), counts.succeeded()), (missing > 0 || unseen == 0, missing + unseen == 0));
        }
    }

    #[test]
    fn what_the_host_took_is_told_apart_and_what_came_before_is_not_counted() {
        let mut attempt = Attempt::begin(JOB, 1_000);
        let late = Activation { released_ns: 2_000, latency_ns: 0, finished_ns: 2_000 + PERIOD + 500, executed_ns: 5 };
        attempt.take(&Activation { released_ns: 999, ..late }, 0);
        attempt.take(&late, 500);
        // Several in one go behind the one that the host held up.
        attempt.take(&Activation { finished_ns: 2_000 + 5 * PERIOD, ..late }, 6_000_000);
        let counts = attempt.clone().end(2_000 + 5 * PERIOD);
        assert_eq!((counts.jobs(), counts.by_host()), (Jobs { on_time: 0, late: 2, missing: 0 }, 2));
        assert!(!counts.is_judged() && !attempt.has_failed(2_000 + 5 * PERIOD), "no job tells of the setting");
        attempt.take(&Activation { finished_ns: 2_000 + PERIOD, ..late }, 0);
        assert!(attempt.clone().end(2_000 + 5 * PERIOD).succeeded());
        attempt.take(&Activation { finished_ns: 2_000 + 5 * PERIOD, ..late }, 5_999_999);
        assert!(!attempt.end(2_000 + 5 * PERIOD).succeeded());
    }
}
