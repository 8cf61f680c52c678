//! What a loop does when it is behind, as far as it has been seen.

use crate::looks::{Kind, Looks, looks};
use crate::{Activation, PeriodicJob};

/// After fewer changes it is not known whether a loop keeps to its grid.
const MIN_CHANGES: u32 = 3;
/// Fewer stretches show no habit.
const MIN_STRETCHES: u32 = 2;
/// Fewer stretches with a long job do not show how their CPU time depends on the jobs released within them.
const MIN_LONG: u32 = 4;

/// What a loop does with jobs that are released while it has not slept yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenBehind {
    /// It passes over them, and goes on with the next one that is released.
    PassesOver,
    /// It works off all of them, and sleeps when it has caught up.
    CatchesUp,
    Unknown,
}

/// What a loop did so far: whether its releases keep to a grid, and what became of jobs that were released while it did not sleep. It is the
/// program's, whatever the setting, so that an attempt may begin with what those before it showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Habits {
    /// The CPU time that half of its jobs did not exceed when its period was found, ns; 0 if that is not known.
    median_ns: u64,
    changes: u32,
    /// By how much the place of releases in their period changed in all, ns.
    place_changes_ns: u64,
    /// By how much the time from one's end to the next release did, ns.
    sleep_changes_ns: u64,
    /// Stretches that took as long as one job does, although others were released.
    passed_over: u32,
    /// Stretches that took as long as all their jobs do, and longer than a long job was seen to take.
    caught_up: u32,
    long: Long,
}

impl Habits {
    /// Of a loop in which this job was found, and of which nothing else is known yet.
    pub fn of(job: &PeriodicJob) -> Habits {
        Habits { median_ns: job.work.median_ns, ..Habits::default() }
    }

    /// What one job usually takes, ns, if that is known.
    pub(crate) fn median_ns(&self) -> Option<u64> {
        (self.median_ns > 0).then_some(self.median_ns)
    }

    /// Whether each release is some whole periods after the last one: `Some(false)` if the loop sleeps for the same time after each job, so
    /// that a long one moves all that follow; `None` if too little is known.
    pub(crate) fn keeps_grid(&self) -> Option<bool> {
        let [places, sleeps] = [self.place_changes_ns, self.sleep_changes_ns];
        if self.changes < MIN_CHANGES {
            None
        } else if places.saturating_mul(2) <= sleeps {
            Some(true)
        } else {
            (sleeps.saturating_mul(2) < places).then_some(false)
        }
    }

    /// What it does when it is behind. That several jobs took no longer than one is rare, while one may take as long as several.
    pub(crate) fn when_behind(&self) -> WhenBehind {
        if self.passed_over >= MIN_STRETCHES && self.passed_over >= self.caught_up {
            WhenBehind::PassesOver
        } else if self.caught_up >= MIN_STRETCHES && self.caught_up / 4 >= self.passed_over {
            WhenBehind::CatchesUp
        } else {
            self.long.when_behind()
        }
    }

    /// Whether one job was seen to take this long, ns, or may have been.
    pub(crate) fn may_be_one_long_job(&self, executed_ns: u64) -> bool {
        executed_ns <= self.long.executed.most
    }

    /// The same with what these stretches show, each with how many jobs were released within it.
    pub(crate) fn with<'a>(
        mut self,
        stretches: impl Iterator<Item = &'a (Activation, u64)> + Clone,
        kind: Kind,
    ) -> Habits {
        let keeps_grid = self.keeps_grid() == Some(true);
        let was_behind = |(_, released): &&'a (Activation, u64)| *released > 1;
        for (stretch, released) in stretches.clone().filter(was_behind) {
            match looks(stretch, *released, kind) {
                Looks::LikeOne if keeps_grid => self.passed_over = self.passed_over.saturating_add(1),
                Looks::Longer => self.long.take(stretch.executed_ns, *released, kind.usual_ns),
                _ => {}
            }
        }
        for (stretch, released) in stretches.filter(was_behind) {
            let is_all = looks(stretch, *released, kind) == Looks::LikeAll;
            if is_all && !self.may_be_one_long_job(stretch.executed_ns) {
                self.caught_up = self.caught_up.saturating_add(1);
            }
        }
        self
    }
}

/// Stretches in which a job was longer than any other. One that was passed over leaves no CPU time: if the loop passes over jobs, these
/// stretches take as long however many jobs were released within them; if it catches up, they take a job's time longer for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Long {
    stretches: u32,
    /// How many jobs were released within them.
    released: Range,
    /// Their CPU time, ns.
    executed: Range,
    /// The same without what all jobs but one usually take, ns.
    rest: Range,
}

impl Long {
    fn take(&mut self, executed_ns: u64, released: u64, usual_ns: u64) {
        let is_first = self.stretches == 0;
        self.stretches = self.stretches.saturating_add(1);
        let of_others_ns = released.saturating_sub(1).saturating_mul(usual_ns);
        self.released.take(released, is_first);
        self.executed.take(executed_ns, is_first);
        self.rest.take(executed_ns.saturating_sub(of_others_ns), is_first);
    }

    fn when_behind(&self) -> WhenBehind {
        let [executed_ns, rest_ns] = [self.executed.width(), self.rest.width()];
        if self.stretches < MIN_LONG || self.released.width() == 0 {
            WhenBehind::Unknown
        } else if rest_ns.saturating_mul(2) <= executed_ns {
            WhenBehind::CatchesUp
        } else if executed_ns.saturating_mul(2) <= rest_ns {
            WhenBehind::PassesOver
        } else {
            WhenBehind::Unknown
        }
    }
}

/// The least and the most of some numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Range {
    least: u64,
    most: u64,
}

impl Range {
    fn take(&mut self, number: u64, is_first: bool) {
        self.least = if is_first { number } else { self.least.min(number) };
        self.most = self.most.max(number);
    }

    fn width(&self) -> u64 {
        self.most - self.least
    }
}

/// Activations one after the other, as far as their habits need them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    last: Option<Activation>,
    /// Where in the period the last one was released after the one before it, and how long the thread slept in between, ns.
    before: Option<(u64, u64)>,
}

impl Pace {
    /// Takes the next one.
    pub(crate) fn take(&mut self, next: &Activation, period_ns: u64, habits: &mut Habits) {
        let period_ns = period_ns.max(1);
        let between = self.last.replace(*next).and_then(|last| {
            let interval_ns = next.released_ns.checked_sub(last.released_ns)?;
            Some((interval_ns % period_ns, next.released_ns.checked_sub(last.finished_ns)?))
        });
        if let (Some((place_ns, sleep_ns)), Some((other_ns, other_sleep_ns))) = (between, self.before) {
            let moved_ns = place_ns.abs_diff(other_ns);
            habits.changes = habits.changes.saturating_add(1);
            let moved_ns = moved_ns.min(period_ns - moved_ns);
            habits.place_changes_ns = habits.place_changes_ns.saturating_add(moved_ns);
            habits.sleep_changes_ns = habits.sleep_changes_ns.saturating_add(sleep_ns.abs_diff(other_sleep_ns));
        }
        self.before = between;
    }
}
