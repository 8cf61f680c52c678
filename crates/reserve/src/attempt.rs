//! What a period of time under one setting showed.

use crate::habits::{Pace, WhenBehind};
use crate::looks::{Kind, Usual};
use crate::stretch::judge;
use crate::{Activation, AttemptCounts, Habits, Job, Jobs};

/// A period of time under one setting, judged as it passes.
#[derive(Debug, Clone)]
pub struct Attempt {
    period_ns: u64,
    deadline_ns: u64,
    /// The most CPU time that a job takes.
    work_ns: u64,
    /// What is left of the deadline when the job's work is done.
    spare_ns: u64,
    began_ns: u64,
    /// The end of the last job, or the beginning.
    heard_ns: u64,
    /// How many jobs were due before the first of its activations was released: the thread may have been behind since before it began.
    before_first: u64,
    /// Whether one was released.
    any_released: bool,
    /// What became of those that ended before the next one was released.
    alone: Judged,
    /// The last activation and what the host may have taken from it, if further jobs were released before it ended: the next
    /// release shows how many.
    stretch: Option<(Activation, u64)>,
    /// Those before it: each with how many jobs were released within it, and what the host may have taken.
    stretches: Vec<((Activation, u64), u64)>,
    usual: Usual,
    pace: Pace,
    /// What the loop did before the attempt, and how it kept its period since.
    habits: Habits,
    /// How long the thread has executed since the last job ended, if it has not slept since.
    awake_ns: Option<u64>,
    /// Those that were not seen.
    unseen: u64,
    /// The same of what became known before the first job that was seen to be released: they may belong to the time before the attempt.
    unseen_before_first: u64,
    /// Those of them that became known after the last job that ended.
    unseen_since: u64,
    worst_response_ns: u64,
}

/// What became of jobs that were due.
#[derive(Debug, Clone, Copy, Default)]
struct Judged {
    jobs: Jobs,
    /// Of those that failed.
    by_host: u64,
    /// Those of which it is unclear what became.
    unclear: u64,
    caught_up: u64,
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
            work_ns,
            spare_ns,
            began_ns: now_ns,
            heard_ns: now_ns,
            before_first: 0,
            any_released: false,
            alone: Judged::default(),
            stretch: None,
            stretches: Vec::new(),
            usual: Usual::default(),
            pace: Pace::default(),
            habits: Habits::default(),
            awake_ns: None,
            unseen: 0,
            unseen_before_first: 0,
            unseen_since: 0,
            worst_response_ns: 0,
        }
    }

    /// The same of a loop that did so before.
    #[must_use]
    pub fn of_loop(self, habits: Habits) -> Attempt {
        Attempt { habits, ..self }
    }

    /// What the loop did so far, before this attempt and within it.
    pub fn habits(&self) -> Habits {
        self.settled().habits_so_far()
    }

    /// Takes an activation; one that was released before the attempt is not part of it. `stolen_ns` is what the host may have taken
    /// from it.
    pub fn take(&mut self, activation: &Activation, stolen_ns: u64) {
        self.unseen_since = 0;
        self.heard_ns = self.heard_ns.max(activation.finished_ns);
        if activation.released_ns < self.began_ns {
            self.take_before_first(activation.finished_ns);
            return;
        }
        if !self.any_released {
            self.take_before_first(activation.released_ns);
            self.any_released = true;
        }
        self.settle(Some(activation.released_ns));
        self.pace.take(activation, self.period_ns, &mut self.habits);
        self.worst_response_ns = self.worst_response_ns.max(activation.response_ns());
        if self.released_within(activation) == 0 {
            self.usual.take(activation.executed_ns);
            let judged = self.judged(activation, 1, stolen_ns, &self.habits);
            self.alone.add(judged);
        } else {
            self.stretch = Some((*activation, stolen_ns));
        }
    }

    /// Takes that none of its activations was released until then. The first job is due within a period.
    fn take_before_first(&mut self, until_ns: u64) {
        let period_ns = self.period_ns.max(1);
        let waited_ns = until_ns.saturating_sub(self.began_ns);
        self.before_first = self.before_first.max(waited_ns.saturating_sub(period_ns / 4) / period_ns);
    }

    /// How many further jobs were released before an activation ended.
    fn released_within(&self, activation: &Activation) -> u64 {
        activation.response_ns().saturating_sub(1) / self.period_ns.max(1)
    }

    /// Notes the last stretch; `next_ns`: the release after it, if there was one.
    fn settle(&mut self, next_ns: Option<u64>) {
        let Some((stretch, stolen_ns)) = self.stretch.take() else { return };
        // What has an activation of its own is not counted here.
        let period_ns = self.period_ns.max(1);
        let periods =
            |next_ns: u64| next_ns.saturating_sub(stretch.released_ns).saturating_add(period_ns / 2) / period_ns;
        let before_next = match next_ns {
            Some(next_ns) => periods(next_ns).saturating_sub(1),
            // Those released within it were in time, too, if they were worked off; otherwise it is too early to miss them.
            None if stretch.response_ns() <= self.deadline_ns => 0,
            None => u64::MAX,
        };
        let released = self.released_within(&stretch).min(before_next) + 1;
        self.stretches.push(((stretch, released), stolen_ns));
    }

    /// The same with the last stretch noted by what is known so far.
    fn settled(&self) -> Attempt {
        let mut settled = self.clone();
        settled.settle(None);
        settled
    }

    fn kind(&self) -> Kind {
        Kind {
            period_ns: self.period_ns,
            deadline_ns: self.deadline_ns,
            // A starved thread has few jobs with a sleep of their own, and two usual ones may take no longer than the longest.
            usual_ns: self.usual.or(self.habits.median_ns().unwrap_or(self.work_ns)),
            longest_ns: self.usual.longest_or(self.work_ns),
        }
    }

    /// What the loop did, as far as its stretches are noted.
    fn habits_so_far(&self) -> Habits {
        self.habits.with(self.stretches.iter().map(|(stretch, _)| stretch), self.kind())
    }

    /// What became of all jobs, as far as their stretches are noted: each is judged by what the loop did in all of them.
    fn all(&self) -> Judged {
        let habits = self.habits_so_far();
        let mut all = self.alone;
        for ((stretch, released), stolen_ns) in &self.stretches {
            all.add(self.judged(stretch, *released, *stolen_ns, &habits));
        }
        all
    }

    /// What became of the jobs of an activation within which so many were released.
    fn judged(&self, activation: &Activation, released: u64, stolen_ns: u64, habits: &Habits) -> Judged {
        let jobs = judge(activation, released, self.kind(), habits);
        let late_ns = activation.response_ns().saturating_sub(self.deadline_ns);
        let is_by_host = stolen_ns >= late_ns.min(self.spare_ns).max(1);
        Judged {
            jobs: Jobs { on_time: jobs.on_time, late: jobs.late, missing: jobs.missing },
            by_host: if is_by_host { jobs.late + jobs.missing } else { 0 },
            unclear: jobs.unclear,
            caught_up: jobs.caught_up,
        }
    }

    /// Takes that so many activations were not seen: their events were lost, or never came to be seen. Nothing is known of when they
    /// were released and of when they ended.
    pub fn take_unseen(&mut self, activations: u64) {
        let unseen = if self.any_released { &mut self.unseen } else { &mut self.unseen_before_first };
        *unseen = unseen.saturating_add(activations);
        self.unseen_since = self.unseen_since.saturating_add(activations);
    }

    /// Takes that the thread has executed this long, ns, since the last activation that ended, and has not slept since: nothing is seen of
    /// jobs that it worked off meanwhile.
    pub fn take_awake(&mut self, executed_ns: u64) {
        self.awake_ns = Some(executed_ns);
    }

    /// What became of so many jobs that were due, one or more, while the thread executed this long and did not sleep. One of them has not
    /// ended yet.
    fn while_awake(&self, due: u64, executed_ns: u64) -> Judged {
        let (kind, habits) = (self.kind(), self.habits_so_far());
        let is_work_of_all = executed_ns.saturating_mul(4) >= kind.usual_ns.saturating_mul(due).saturating_mul(3);
        let (not_ended, others) = (Jobs { missing: 1, ..Jobs::default() }, due - 1);
        match habits.when_behind() {
            // The next one comes after it has ended and slept.
            _ if habits.keeps_grid() == Some(false) => Judged { jobs: not_ended, ..Judged::default() },
            // Then it sleeps after each one: while it works on a single one, it passes over the others.
            WhenBehind::PassesOver if executed_ns.saturating_mul(4) > kind.longest_ns.saturating_mul(5) => {
                Judged { jobs: not_ended, unclear: others, ..Judged::default() }
            }
            WhenBehind::PassesOver => Judged { jobs: Jobs { missing: due, ..Jobs::default() }, ..Judged::default() },
            WhenBehind::Unknown if !is_work_of_all || habits.may_be_one_long_job(executed_ns) => {
                Judged { jobs: not_ended, unclear: others, ..Judged::default() }
            }
            // Behind one that was on time, it would have slept.
            _ if self.deadline_ns <= self.period_ns => {
                Judged { jobs: Jobs { late: others, ..not_ended }, caught_up: others, ..Judged::default() }
            }
            _ => Judged { jobs: not_ended, unclear: others, ..Judged::default() },
        }
    }

    /// Whether the attempt has failed, whatever follows and whatever was not seen.
    pub fn has_failed(&self, now_ns: u64) -> bool {
        self.settled().all().has_failed() || self.is_silent(now_ns)
    }

    /// Whether it has failed only because nothing has ended for so long.
    pub fn is_only_silent(&self, now_ns: u64) -> bool {
        !self.settled().all().has_failed() && self.is_silent(now_ns)
    }

    /// Whether nothing has ended for so long that a job must be late.
    fn is_silent(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.heard_ns) > self.deadline_ns + 2 * self.period_ns + SLACK_NS
    }

    /// Ends now.
    pub fn end(mut self, now_ns: u64) -> AttemptCounts {
        self.settle(None);
        let mut all = self.all();
        let passed_ns = now_ns.saturating_sub(self.began_ns);
        let expected = passed_ns.saturating_sub(self.deadline_ns + SLACK_NS) / self.period_ns.max(1);
        let ended = all.jobs.all() + all.unclear + self.before_first;
        // Of a loop that sleeps for the same time after each job, none was due while it worked on one.
        all.unclear += if self.habits.keeps_grid() == Some(false) { 0 } else { self.before_first };
        // No more than were due: the others belong to the time before the attempt.
        let left = (passed_ns / self.period_ns.max(1)).saturating_sub(ended + self.unseen);
        let mut unseen = self.unseen + self.unseen_before_first.min(left);
        let accounted = ended + unseen;
        // A late job may swallow the next ones, and a program's period is not exact.
        let is_silent = self.is_silent(now_ns);
        let is_short = accounted + accounted / 10 + 1 < expected || is_silent;
        let short = if is_short { expected.saturating_sub(accounted).max(1) } else { 0 };
        let is_other = self.has_another_period(&all, (passed_ns, short), is_silent);
        let mut slow = 0;
        match self.awake_ns.filter(|_| is_silent) {
            // It may have slept meanwhile, and nobody saw it.
            Some(_) if self.unseen_since > 0 => unseen += short,
            Some(executed_ns) => {
                all.add(self.while_awake(short, executed_ns));
                self.worst_response_ns = self.worst_response_ns.max(now_ns.saturating_sub(self.heard_ns));
            }
            // It sleeps after each job, however long that took: none is due but the next one.
            None if self.habits.keeps_grid() == Some(false) => {
                let missing = u64::from(is_silent);
                all.jobs.missing += missing;
                slow = short - missing;
            }
            None => all.jobs.missing += short,
        }
        let counts = AttemptCounts::new(all.jobs, all.by_host, self.worst_response_ns)
            .with_unseen(unseen)
            .with_stretches(all.unclear, all.caught_up)
            .with_slow(slow);
        if is_other { counts.with_another_period() } else { counts }
    }

    /// Whether more jobs came in this time than the period allows; or so many fewer, by `short`, that a loop which was never late must have
    /// another period.
    fn has_another_period(&self, all: &Judged, (passed_ns, short): (u64, u64), is_silent: bool) -> bool {
        let came = all.jobs.all() + all.unclear;
        let periods = passed_ns / self.period_ns.max(1);
        let is_on_time = all.jobs.failed() == 0 && all.unclear == 0 && self.unseen == 0 && !is_silent;
        let are_fewer = is_on_time && self.habits.keeps_grid() == Some(true) && short >= many_fewer(periods);
        came.saturating_mul(10) > (periods + MORE).saturating_mul(11) || are_fewer
    }
}

/// So many more jobs than periods may come in an attempt of any length: it ends a look later, and releases are not exact.
const MORE: u64 = 2;

/// If this many jobs or more did not come in so many periods, and none was late, the period is another one.
fn many_fewer(periods: u64) -> u64 {
    (periods / 3).max(10)
}

impl Judged {
    fn add(&mut self, other: Judged) {
        self.jobs.on_time += other.jobs.on_time;
        self.jobs.late += other.jobs.late;
        self.jobs.missing += other.jobs.missing;
        self.by_host += other.by_host;
        self.unclear += other.unclear;
        self.caught_up += other.caught_up;
    }

    fn has_failed(&self) -> bool {
        self.jobs.failed() > self.by_host
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
        let (_, counts) = played(|number| (number % 5 > 0).then_some(5));
        assert!(!counts.succeeded() && counts.jobs().missing > 30 && counts.jobs().all() < 200, "{counts:?}");
        assert!(counts.is_judged(), "{counts:?}");
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
            attempt.take_unseen(not_seen);
            // The first one comes.
            for number in std::iter::once(0).chain(201 - came..200) {
                let released_ns = 1_000 + number * PERIOD;
                let finished_ns = released_ns + 5;
                attempt.take(&Activation { released_ns, latency_ns: 0, finished_ns, executed_ns: 5 }, 0);
            }
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
    fn jobs_of_a_loop_faster_than_its_period_that_were_not_seen_are_told() {
        let mut attempt = Attempt::begin(JOB, 1_000);
        for number in 0..207 {
            let released_ns = 1_000 + number * PERIOD * 95 / 100;
            attempt.take(&Activation { released_ns, latency_ns: 0, finished_ns: released_ns + 5, executed_ns: 5 }, 0);
            attempt.take_unseen(u64::from(number % 90 == 50));
        }
        let counts = attempt.end(1_000 + 200 * PERIOD);
        assert_eq!((counts.jobs().on_time, counts.unseen(), counts.off_period()), (207, 2, 0), "{counts:?}");
        assert!(counts.is_repeated() && !counts.is_judged(), "{counts:?}");
    }

    #[test]
    fn what_the_host_took_is_told_apart_and_what_came_before_is_not_counted() {
        let mut attempt = Attempt::begin(JOB, 1_000);
        let late = Activation { released_ns: 2_000, latency_ns: 0, finished_ns: 2_000 + PERIOD + 500, executed_ns: 5 };
        attempt.take(&Activation { released_ns: 999, finished_ns: 1_500, ..late }, 0);
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

    /// Two seconds of a radio that computes for 450 us on each block of 1 ms and has 7 ms for it. Every 50 ms it is kept from the CPU for
    /// 3 ms; then it works `executed_us` before it sleeps until its next block, the eighth after the one that it was late for.
    fn radio(deadline_ns: u64, executed_us: u64) -> AttemptCounts {
        const BLOCK: u64 = 1_000_000;
        let job = Job { period_ns: BLOCK, work_ns: 500_000, deadline_ns };
        let mut attempt = Attempt::begin(job, 0);
        let mut number = 0;
        while number < 2_000 {
            let released_ns = number * BLOCK;
            let is_behind = number % 50 == 40;
            let (latency_ns, executed_ns, length_ns, next) =
                if is_behind { (3_000_000, executed_us * 1_000, 7_100_000, 8) } else { (9_000, 450_000, 460_000, 1) };
            let finished_ns = released_ns + length_ns;
            attempt.take(&Activation { released_ns, latency_ns, finished_ns, executed_ns }, 0);
            number += next;
        }
        attempt.end(2_000 * BLOCK)
    }

    #[test]
    fn blocks_that_a_radio_works_off_in_a_row_are_not_missing() {
        // It works on all eight, each within 7.1 ms of its beginning.
        let counts = radio(7_200_000, 3_500);
        assert_eq!(counts.jobs(), Jobs { on_time: 2_000, late: 0, missing: 0 });
        assert_eq!((counts.unclear(), counts.caught_up(), counts.succeeded()), (0, 280, true));
        // Within one period, all of them but the last are late.
        let counts = radio(1_000_000, 3_500);
        assert_eq!(counts.jobs(), Jobs { on_time: 1_720, late: 280, missing: 0 });
        assert_eq!((counts.unclear(), counts.caught_up(), counts.is_judged()), (0, 280, true));
        // It may have worked on three of eight, or on more: that decides nothing.
        let counts = radio(7_200_000, 1_500);
        assert_eq!(counts.jobs(), Jobs { on_time: 1_720, late: 0, missing: 0 });
        assert_eq!((counts.unclear(), counts.caught_up(), counts.is_judged()), (280, 0, false));
        // It worked on one, and passed over the others.
        let counts = radio(7_200_000, 450);
        assert_eq!(counts.jobs(), Jobs { on_time: 1_720, late: 0, missing: 280 });
        assert_eq!((counts.unclear(), counts.caught_up(), counts.is_judged()), (0, 0, true));
    }
}
