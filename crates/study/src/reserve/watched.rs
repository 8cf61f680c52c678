//! An attempt with a thread that is followed.

use super::followed::Followed;
use punctual_kernel::thread_stat::{ThreadStat, ran_ns};
use punctual_reserve::{Attempt, AttemptCounts, Habits, Job};

/// An attempt with a thread.
#[derive(Debug)]
pub(super) struct Watched {
    tid: u32,
    began_ns: u64,
    attempt: Attempt,
    /// The thread's CPU time when its last activation had ended, or at the beginning, ns.
    ran_ns: Option<u64>,
}

impl Watched {
    /// Begins now, with a thread whose loop did so before.
    pub(super) fn begin(tid: u32, job: Job, habits: Habits, now_ns: u64) -> Watched {
        let attempt = Attempt::begin(job, now_ns).of_loop(habits);
        Watched { tid, began_ns: now_ns, attempt, ran_ns: ran_ns(tid) }
    }

    /// Takes what became known since the last look; returns the CPU time of the thread's activations that are part of the attempt, ns.
    pub(super) fn take(&mut self, followed: &Followed<'_>) -> u64 {
        let (mut executed_ns, mut any_ended) = (0, false);
        // It becomes known with the next one that is seen.
        self.attempt.take_unseen(followed.unseen_of(self.tid));
        for (_, activation, _) in followed.activations.iter().filter(|(of, ..)| *of == self.tid) {
            any_ended = true;
            self.attempt.take(activation, followed.stolen_ns(activation));
            let is_of_attempt = activation.released_ns >= self.began_ns;
            executed_ns += if is_of_attempt { activation.executed_ns } else { 0 };
        }
        if any_ended {
            self.ran_ns = ran_ns(self.tid);
        }
        executed_ns
    }

    /// Whether the attempt has failed, whatever follows.
    pub(super) fn has_failed(&self, now_ns: u64) -> bool {
        self.attempt.has_failed(now_ns)
    }

    /// Whether it has failed only because nothing has ended for so long.
    pub(super) fn is_only_silent(&self, now_ns: u64) -> bool {
        self.attempt.is_only_silent(now_ns)
    }

    /// Ends now. Returns also what the thread's loop did so far.
    pub(super) fn end(&self, now_ns: u64) -> (AttemptCounts, Habits) {
        let mut attempt = self.attempt.clone();
        if let Some(executed_ns) = self.executed_awake_ns() {
            attempt.take_awake(executed_ns);
        }
        (attempt.end(now_ns), self.attempt.habits())
    }

    /// How long the thread has executed since its last activation ended, ns, if it would run now: one that slept meanwhile, and woke at just
    /// this moment, is rare.
    fn executed_awake_ns(&self) -> Option<u64> {
        let is_awake = ThreadStat::of(self.tid)?.state == 'R';
        ran_ns(self.tid)?.checked_sub(self.ran_ns?).filter(|_| is_awake)
    }
}
