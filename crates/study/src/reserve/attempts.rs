//! When attempts with a thread begin, and which of them are made again.

use super::Doing;
use super::followed::Followed;
use super::subject::{AttemptPlan, long_enough};
use punctual_recording::{agreeing, counted};
use punctual_reserve::{AttemptCounts, Job};
use std::collections::BTreeSet;

/// How many periods a setting is left alone before it counts.
const SETTLING_PERIODS: u64 = 4;

/// A failure may be the host's fault, and what was not seen may have been one: how often to repeat such attempts.
pub(super) const MAX_REPEATS: u32 = 3;

/// When the next attempt begins: once its threads have settled under their settings, and each has slept. One that was behind before, under
/// another setting, first works that off; if it takes too long, that is the setting's.
#[derive(Debug)]
pub(super) struct Beginning {
    threads: Vec<u32>,
    settling_ns: u64,
    /// How much longer to wait until the threads have slept, ns.
    patience_ns: u64,
    since_ns: u64,
    begins_ns: Option<u64>,
    /// Those that have.
    slept: BTreeSet<u32>,
}

impl Beginning {
    /// Of the first attempt of this plan with a thread. A starved one makes every attempt of a trial wait; the rounds of a proof are few.
    pub(super) fn of(tid: u32, job: Job, plan: &AttemptPlan) -> Beginning {
        let attempt_ns = long_enough(plan.attempt_ns, job.period_ns);
        let patience_ns = if matches!(plan.doing, Doing::Proving(..)) { attempt_ns } else { attempt_ns / 4 };
        Beginning::of_all(vec![tid], job.period_ns.max(job.deadline_ns), patience_ns)
    }

    /// Of an attempt with several threads, none of which has a longer period or deadline than this, ns.
    pub(super) fn of_all(threads: Vec<u32>, longest_ns: u64, patience_ns: u64) -> Beginning {
        let settling_ns = SETTLING_PERIODS * longest_ns;
        Beginning { threads, settling_ns, patience_ns, since_ns: 0, begins_ns: None, slept: BTreeSet::new() }
    }

    /// How long it may be until an attempt begins, ns.
    pub(super) fn at_most_ns(&self) -> u64 {
        self.settling_ns + self.patience_ns
    }

    /// From when on what is seen belongs to the attempt, ns, if it begins now.
    pub(super) fn look(&mut self, followed: &Followed<'_>) -> Option<u64> {
        let releases = followed.activations.iter().map(|(tid, activation, _)| (*tid, activation.released_ns));
        self.reached(followed.now_ns, releases)
    }

    /// The same at this moment, where threads were released so since the last one.
    fn reached(&mut self, now_ns: u64, releases: impl Iterator<Item = (u32, u64)>) -> Option<u64> {
        let begins_ns = *self.begins_ns.get_or_insert(now_ns + self.settling_ns);
        let since_ns = self.since_ns;
        self.slept.extend(releases.filter(|(_, released_ns)| *released_ns >= since_ns).map(|(tid, _)| tid));
        if begins_ns <= since_ns {
            return Some(begins_ns);
        }
        let have_slept = self.threads.iter().all(|tid| self.slept.contains(tid));
        let is_now = now_ns >= begins_ns && (have_slept || now_ns >= begins_ns.saturating_add(self.patience_ns));
        is_now.then_some(now_ns)
    }

    /// The next one begins after the threads have settled again.
    pub(super) fn again(&mut self, now_ns: u64) {
        (self.since_ns, self.begins_ns) = (now_ns, Some(now_ns + self.settling_ns));
        self.slept.clear();
    }

    /// The next one begins after one with these counts, which ended now: at once, unless it left the thread behind.
    pub(super) fn after(&mut self, counts: &AttemptCounts, now_ns: u64) {
        self.again(now_ns);
        if !counts.has_failed() && counts.undecided() == 0 {
            self.begins_ns = Some(now_ns);
        }
    }
}

/// Attempts that were made again, and do not count.
#[derive(Debug, Default)]
pub(super) struct MadeAgain {
    pub(super) attempts: u32,
    unseen: u64,
    by_host: u64,
}

impl MadeAgain {
    /// Takes one.
    pub(super) fn take(&mut self, counts: &AttemptCounts) {
        self.add(&MadeAgain { attempts: 1, unseen: counts.unseen(), by_host: counts.by_host() });
    }

    /// Takes others.
    pub(super) fn add(&mut self, other: &MadeAgain) {
        self.attempts += other.attempts;
        self.unseen += other.unseen;
        self.by_host += other.by_host;
    }

    /// Says how many there were since the last time, if any.
    pub(super) fn in_words(&mut self) -> Option<String> {
        let MadeAgain { attempts, unseen, by_host } = std::mem::take(self);
        let not_seen = format!("{} {} not seen", counted(unseen, "job"), agreeing(unseen, "was", "were"));
        let held_up = format!("the host held up {}", counted(by_host, "job"));
        let what = match (unseen, by_host) {
            (0, _) => held_up,
            (_, 0) => format!("{not_seen}, and may have been late"),
            _ => format!("{held_up}, and {not_seen}, which may have been late"),
        };
        (attempts > 0)
            .then(|| format!("Made again, and not counted: {} in which {what}.", counted(attempts, "attempt")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_reserve::{Jobs, Reservation, Setting};
    use std::path::PathBuf;

    const MS: u64 = 1_000_000;
    const JOB: Job = Job { period_ns: 10 * MS, work_ns: 2 * MS, deadline_ns: 10 * MS };

    fn beginning(doing: Doing) -> Beginning {
        let setting = Setting::Reserved(Reservation { budget_ns: 2 * MS, period_ns: 10 * MS });
        let output = PathBuf::from("r.punctual");
        Beginning::of(7, JOB, &AttemptPlan { setting, doing, count: 2, attempt_ns: 2_000 * MS, output })
    }

    /// When it begins, in ms, at looks every 20 ms from here on, if the thread is released at these times, in ms.
    fn begins(beginning: &mut Beginning, from: u64, released: &[u64]) -> Option<(u64, u64)> {
        let within =
            |look: u64| released.iter().filter(move |at| (look - 20..look).contains(*at)).map(|at| (7, at * MS));
        let mut looks = (from..from + 6_000).step_by(20);
        looks.find_map(|look| Some((look, beginning.reached(look * MS, within(look))? / MS)))
    }

    #[test]
    fn an_attempt_begins_when_its_thread_has_settled_and_slept() {
        let trying = Doing::Trying(Setting::AsItWas, 1);
        assert_eq!(begins(&mut beginning(trying), 1_000, &[1_001]), Some((1_040, 1_040)));
        assert_eq!(begins(&mut beginning(trying), 1_000, &[1_301]), Some((1_320, 1_320)), "it was behind until then");
        assert_eq!(begins(&mut beginning(trying), 1_000, &[]), Some((1_540, 1_540)), "it is behind with this setting");
        assert_eq!(begins(&mut beginning(Doing::Proving(1, 2)), 1_000, &[]), Some((3_040, 3_040)));
        assert_eq!(beginning(trying).at_most_ns(), 540 * MS);
    }

    #[test]
    fn an_attempt_with_several_threads_begins_when_all_have_slept() {
        let begins = |slept: &[(u32, u64)]| {
            let mut beginning = Beginning::of_all(vec![7, 8], 10 * MS, 1_000 * MS);
            (1_000..9_000).step_by(20).find(|look| {
                let within = slept.iter().filter(|(_, at)| (look - 20..*look).contains(at));
                beginning.reached(look * MS, within.map(|(tid, at)| (*tid, at * MS))).is_some()
            })
        };
        assert_eq!(begins(&[(7, 1_001), (8, 1_001)]), Some(1_040));
        assert_eq!(begins(&[(7, 1_001), (7, 1_201), (9, 1_201), (8, 1_301)]), Some(1_320));
        assert_eq!(begins(&[(7, 1_001)]), Some(2_040));
    }

    #[test]
    fn what_comes_between_two_attempts_belongs_to_the_next_one_unless_the_thread_was_behind() {
        let counts = |late| AttemptCounts::new(Jobs { on_time: 90, late, missing: 0 }, 0, MS);
        let after = |counts: AttemptCounts| {
            let mut beginning = beginning(Doing::Trying(Setting::AsItWas, 1));
            begins(&mut beginning, 1_000, &[1_001]);
            beginning.after(&counts, 3_000 * MS);
            begins(&mut beginning, 3_020, &[2_990, 3_055])
        };
        assert_eq!(after(counts(0)), Some((3_020, 3_000)));
        assert_eq!(after(counts(1)), Some((3_060, 3_060)));
        assert_eq!(after(counts(0).with_unseen(1)), Some((3_060, 3_060)));
    }

    #[test]
    fn attempts_that_were_made_again_are_told_once() {
        let counts =
            |late, unseen| AttemptCounts::new(Jobs { on_time: 90, late, missing: 0 }, late, MS).with_unseen(unseen);
        let said = |made: &[AttemptCounts]| {
            let mut again = MadeAgain::default();
            made.iter().for_each(|counts| again.take(counts));
            let said = again.in_words();
            assert_eq!(again.in_words(), None, "told once");
            said.unwrap_or_default()
        };
        assert_eq!(said(&[]), "");
        let unseen = "Made again, and not counted: 2 attempts in which 4 jobs were not seen, and may have been late.";
        assert_eq!(said(&[counts(0, 1), counts(0, 3)]), unseen);
        assert_eq!(said(&[counts(1, 0)]), "Made again, and not counted: 1 attempt in which the host held up 1 job.");
        let both = "Made again, and not counted: 2 attempts in which the host held up 2 jobs, and 1 job was not seen, which may have \
                    been late.";
        assert_eq!(said(&[counts(2, 0), counts(0, 1)]), both);
    }
}
