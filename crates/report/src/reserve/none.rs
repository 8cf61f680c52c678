//! If no reservation was sufficient: which came nearest, and why it was not.

use super::counts::{failed_jobs, late_jobs};
use super::model::{ReserveEnd, ReserveReport};
use super::words::{in_words, setting_in_words};
use crate::layout::thousandths;
use punctual_recording::{agreeing, counted, format_ns, grouped};
use punctual_reserve::{Class, MAX_SHARE_THOUSANDTHS, MIN_PERIOD_NS, Setting, Trial};
use std::cmp::Ordering;

impl ReserveReport<'_> {
    /// Among the reservations that were tried and can be judged, the one with the most successful attempts; among
    /// equals, the one with the fewest late jobs.
    pub fn best(&self) -> Option<&Trial> {
        let judged =
            |trial: &&Trial| matches!(trial.setting, Setting::Reserved(_)) && trial.class() != Class::NotJudged;
        self.trials.iter().filter(judged).max_by(|one, other| nearer(one, other))
    }

    /// Says that none was sufficient, in a few sentences.
    pub(super) fn none_sufficient(&self) -> String {
        let (thread, job) = (self.thread, in_words(self.job.work_ns, self.job.period_ns));
        if self.grid == 0 {
            return format!(
                "No reservation can be tried for `{thread}` (99 of 100 jobs take at most {job}): none with a period of {} \
                 or more that leaves others a tenth of a CPU gives it so much within {}.",
                format_ns(MIN_PERIOD_NS),
                format_ns(self.job.deadline_ns)
            );
        }
        if self.tried() == 0 {
            return format!("No reservation could be tried for `{thread}`: the kernel had no room for any of them.");
        }
        if self.cannot_tell() {
            return self.open(&job);
        }
        let none_of = match self.tried() {
            1 => "The only reservation that was tried was not".to_owned(),
            tried => format!("None of the {} that were tried was", counted(tried, "reservation")),
        };
        let none = format!(
            "{none_of} sufficient for `{thread}` (99 of 100 jobs take at most {job}): nothing was left changed."
        );
        let Some(best) = self.best() else {
            return format!(
                "{none} No attempt could be judged: no job came, or the host accounts for all that were late."
            );
        };
        let (failed, more) = failed_jobs(&best.counts);
        format!(
            "{none} The best was {}: {} of {} succeeded, with {failed} late{more}. {}",
            setting_in_words(best.setting),
            best.succeeded,
            counted(best.attempts, "attempt"),
            self.why_none()
        )
    }

    /// Whether no reservation was sufficient, but one may be: in its attempts no job was late, and some were not seen.
    pub(crate) fn cannot_tell(&self) -> bool {
        self.end == ReserveEnd::Finished && self.recommended.is_none() && self.trials.iter().any(Trial::is_open)
    }

    /// Says so; `job`: in words.
    fn open(&self, job: &str) -> String {
        let open = || self.trials.iter().filter(|trial| trial.is_open());
        let unseen: u64 = open().map(|trial| trial.counts.unseen()).sum();
        format!(
            "It cannot be told whether a reservation is sufficient for `{}` (99 of 100 jobs take at most {job}): with {} of the {} that \
             {} tried no job was late, but {} {} not seen, and may have been. Nothing was left changed.",
            self.thread,
            open().count(),
            counted(self.tried(), "reservation"),
            agreeing(self.tried(), "was", "were"),
            counted(unseen, "job"),
            agreeing(unseen, "was", "were")
        )
    }

    /// Whether a reservation of the grid that was not tried might still be sufficient.
    pub(crate) fn has_untried(&self) -> bool {
        let can_be = self.measured.work.max_ns <= self.job.deadline_ns;
        can_be
            && !self.cannot_tell()
            && !self.needs_none()
            && self.refused.is_none()
            && self.best().is_some()
            && self.tried() < self.grid
    }

    /// What else might help where no reservation was sufficient, as a sentence; `None` where one was, or nothing is known.
    pub(super) fn could_help(&self) -> Option<String> {
        if !self.found_none() {
            return None;
        }
        self.best()?;
        let less = if self.load.is_empty() { String::new() } else { format!(" than {}", self.load) };
        let shares = self.trials.iter().filter_map(|trial| match trial.setting {
            Setting::Reserved(reservation) => Some(reservation.share_thousandths()),
            _ => None,
        });
        let larger = match shares.max() {
            Some(largest) if largest < MAX_SHARE_THOUSANDTHS => {
                format!(" a share of a CPU above {} %,", thousandths(largest * 100))
            }
            _ => String::new(),
        };
        Some(format!(
            "Not tried, and might help: less load beside it{less},{larger} less work in a job, or a longer period or deadline."
        ))
    }

    /// Whether the study shows that a reservation is needed, and that none of those tried was sufficient.
    fn found_none(&self) -> bool {
        let is_none = self.end == ReserveEnd::Finished && self.recommended.is_none() && self.refused.is_none();
        is_none && !self.needs_none() && !self.cannot_tell()
    }

    /// Where no reservation was sufficient: the thread as it was, the priority and the best reservation, from the smallest
    /// share of late and missing jobs in their attempts to the largest.
    pub(super) fn ranking(&self) -> Option<String> {
        let others = self.trials.iter().filter(|trial| !matches!(trial.setting, Setting::Reserved(_)));
        let judged = others.chain(self.best()).filter(|trial| trial.class() != Class::NotJudged);
        let mut ranked: Vec<&Trial> = judged.collect();
        if !self.found_none() || ranked.len() < 2 {
            return None;
        }
        ranked.sort_by(|one, other| fewer_failed(one, other));
        let of = |trial: &&Trial| {
            let (failed, all) = (grouped(trial.counts.failures()), grouped(trial.counts.jobs().all()));
            format!("{}: {failed} of {all}", setting_in_words(trial.setting))
        };
        let words: Vec<String> = ranked.iter().map(of).collect();
        Some(format!("Jobs late or missing in attempts, from the smallest share to the largest: {}.", words.join("; ")))
    }

    /// Whether no job was late as the thread was.
    fn needs_none(&self) -> bool {
        self.trials.iter().any(|trial| trial.setting == Setting::AsItWas && trial.class() == Class::Sufficient)
    }

    /// What is known about why none was.
    fn why_none(&self) -> String {
        let (longest_ns, deadline_ns) = (self.measured.work.max_ns, self.job.deadline_ns);
        if longest_ns > deadline_ns {
            return format!(
                "Its longest job took {} of CPU time, which no reservation gives within {}.",
                format_ns(longest_ns),
                format_ns(deadline_ns)
            );
        }
        let others = |trial: &&Trial| !matches!(trial.setting, Setting::Reserved(_));
        for trial in self.trials.iter().filter(others) {
            let (late, more) = late_jobs(&trial.counts);
            match (trial.setting, trial.class()) {
                (Setting::AsItWas, Class::Sufficient) => {
                    return "As it was, no job was late: it needs no reservation here.".to_owned();
                }
                (Setting::Priority(priority), Class::Sufficient) => {
                    return format!("Priority fifo:{priority} was sufficient in its attempts.");
                }
                (Setting::Priority(priority), Class::Marginal | Class::Insufficient) => {
                    return format!(
                        "With fifo:{priority}, {late}, too{more}: other programs' threads are not \
                         all that delays it."
                    );
                }
                _ => {}
            }
        }
        format!("Its longest job took {} of CPU time.", format_ns(longest_ns))
    }
}

/// Which of two trials had the smaller share of late and missing jobs.
fn fewer_failed(one: &Trial, other: &Trial) -> Ordering {
    let part =
        |failed: &Trial, jobs: &Trial| u128::from(failed.counts.failures()) * u128::from(jobs.counts.jobs().all());
    part(one, other).cmp(&part(other, one))
}

/// Which of two trials came nearer to being sufficient.
fn nearer(one: &Trial, other: &Trial) -> Ordering {
    let part = |part: u64, whole: u64| u128::from(part) * u128::from(whole);
    let succeeded =
        part(one.succeeded.into(), other.attempts.into()).cmp(&part(other.succeeded.into(), one.attempts.into()));
    let (its, others) = (&one.counts, &other.counts);
    succeeded.then(part(others.failures(), its.jobs().all()).cmp(&part(its.failures(), others.jobs().all())))
}
