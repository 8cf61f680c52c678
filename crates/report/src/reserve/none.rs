//! If no reservation was sufficient: which came nearest, and what else might help.

use super::model::{ReserveEnd, ReserveReport};
use super::words::setting_in_words;
use crate::layout::thousandths;
use punctual_recording::grouped;
use punctual_reserve::{AttemptCounts, Class, MAX_SHARE_THOUSANDTHS, Setting, Trial};
use std::cmp::Ordering;

/// A job that may take longer has more buffers than a radio usually has.
const MAX_PERIODS: u64 = 32;

impl ReserveReport<'_> {
    /// Among the reservations that were tried and can be judged, the one with the most successful attempts; among
    /// equals, the one with the fewest late jobs.
    pub fn best(&self) -> Option<&Trial> {
        let judged =
            |trial: &&Trial| matches!(trial.setting, Setting::Reserved(_)) && trial.class() != Class::NotJudged;
        self.trials.iter().filter(judged).max_by(|one, other| nearer(one, other))
    }

    /// The thread as it was, if a smaller share of its jobs was late or missing than with this trial's reservation.
    pub(crate) fn better_without(&self, with: &Trial) -> Option<&Trial> {
        let as_it_was = |trial: &&Trial| trial.setting == Setting::AsItWas && trial.class() != Class::NotJudged;
        self.trials.iter().find(as_it_was).filter(|trial| fewer_failed(trial, with).is_lt())
    }

    /// Whether no reservation was sufficient, but one may be: in its attempts no job was late, and some were not seen.
    pub(crate) fn cannot_tell(&self) -> bool {
        self.end == ReserveEnd::Finished && self.recommended.is_none() && self.trials.iter().any(Trial::is_open)
    }

    /// If only the deadline of one period was too short for the best reservation: the longest that a job took with it, ns.
    pub(crate) fn enough_for_best(&self) -> Option<u64> {
        let counts = &self.best()?.counts;
        let longest_ns = counts.worst_response_ns();
        let is_near = longest_ns <= self.job.period_ns.saturating_mul(MAX_PERIODS);
        let all_came = counts.jobs().missing == 0 && counts.slow() == 0 && counts.unclear() == 0;
        let is_only_late = counts.failures() > 0 && all_came;
        (self.takes_its_period() && is_only_late && is_near).then_some(longest_ns)
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
        let less = if self.beside.is_empty() { String::new() } else { format!(" than {}", self.beside) };
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
            let fewer = match trial.counts.slow() {
                0 => String::new(),
                slow => format!(" and {} fewer", grouped(slow)),
            };
            format!("{}: {failed} of {all}{fewer}", setting_in_words(trial.setting))
        };
        let words: Vec<String> = ranked.iter().map(of).collect();
        Some(format!("Jobs late or missing in attempts, from the smallest share to the largest: {}.", words.join("; ")))
    }

    /// Whether no job was late as the thread was.
    fn needs_none(&self) -> bool {
        self.trials.iter().any(|trial| trial.setting == Setting::AsItWas && trial.class() == Class::Sufficient)
    }
}

/// Which of two had the smaller share of jobs that were late or missing, or did not come since the loop was slower.
fn smaller_share(one: &AttemptCounts, other: &AttemptCounts) -> Ordering {
    let failed = |counts: &AttemptCounts| u128::from(counts.failures()) + u128::from(counts.slow());
    let all = |counts: &AttemptCounts| u128::from(counts.jobs().all()) + u128::from(counts.slow());
    (failed(one) * all(other)).cmp(&(failed(other) * all(one)))
}

/// Which of two trials had the smaller share of failures.
fn fewer_failed(one: &Trial, other: &Trial) -> Ordering {
    smaller_share(&one.counts, &other.counts)
}

/// Which of two trials came nearer to being sufficient.
fn nearer(one: &Trial, other: &Trial) -> Ordering {
    let part = |part: u64, whole: u64| u128::from(part) * u128::from(whole);
    let succeeded =
        part(one.succeeded.into(), other.attempts.into()).cmp(&part(other.succeeded.into(), one.attempts.into()));
    succeeded.then(smaller_share(&other.counts, &one.counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserve::text::tests::{counts, report, reserved, trial};
    use crate::{ReserveAsked, ReserveSubject, after_reserve};
    use punctual_reserve::{Job, Jobs};

    #[test]
    fn what_fails_more_often_than_no_reservation_is_not_called_the_best() {
        let verdict = |as_it_was| {
            let trials = [trial(Setting::AsItWas, as_it_was), trial(reserved(2_090_000), 3)];
            ReserveReport { recommended: None, found: None, ..report(&trials) }.verdict()
        };
        let none = "The only reservation that was tried was not sufficient for `loop` (99 of 100 jobs take at most 2.00 ms of every \
                    10.0 ms): nothing was left changed.";
        let without = "A smaller share of jobs was late without one: 1 of 200 as it was, 3 of 200 with 2.09 ms of every 10.0 ms, which came \
                       nearest (0 of 1 attempt succeeded). Its longest job took 2.10 ms of CPU time.";
        assert_eq!(verdict(1), format!("{none} {without}"));
        // As many, or more, without one.
        for as_it_was in [3, 40] {
            let said = verdict(as_it_was);
            let best = "The best was 2.09 ms of every 10.0 ms: 0 of 1 attempt succeeded, with 3 of 200 jobs late.";
            assert!(said.starts_with(&format!("{none} {best}")), "{said}");
        }
    }

    #[test]
    fn a_setting_under_which_the_loop_was_slower_comes_after_one_under_which_a_few_jobs_were_late() {
        let slow = trial(reserved(2_090_000), 0);
        let slow = Trial { succeeded: 0, counts: slow.counts.with_slow(57), ..slow };
        let trials = [trial(Setting::AsItWas, 3), slow];
        let report = ReserveReport { recommended: None, found: None, ..report(&trials) };
        let said = report.verdict();
        assert!(
            said.contains(
                "It did better without one: 3 of 200 as it was, 0 of 200 with 2.09 ms of every 10.0 ms (57 fewer"
            ),
            "{said}"
        );
        let ranking = report.ranking().unwrap();
        assert!(
            ranking.ends_with("as it was: 3 of 200; 2.09 ms of every 10.0 ms: 0 of 200 and 57 fewer."),
            "{ranking}"
        );
        assert_eq!(report.enough_for_best(), None, "a longer deadline makes no loop faster");
    }

    #[test]
    fn the_deadline_that_was_used_is_told() {
        let trials = [trial(reserved(2_090_000), 3)];
        let said = report(&trials).job_in_words();
        assert!(said.contains("deadline 10.0 ms (its period: `--deadline` sets another), slack "), "{said}");
        let longer = ReserveReport { job: Job { deadline_ns: 70_000_000, ..report(&trials).job }, ..report(&trials) };
        assert!(longer.job_in_words().contains("deadline 70.0 ms, slack "), "{}", longer.job_in_words());
        let device = ReserveReport { tid: None, ..report(&trials) };
        assert!(device.job_in_words().contains("deadline 10.0 ms, slack "), "{}", device.job_in_words());
    }

    #[test]
    fn what_is_recorded_of_jobs_that_may_take_several_periods_may_be_several_jobs() {
        let trials = [trial(reserved(2_090_000), 3)];
        let words = ["punctual", "reserve", "--pid", "7"].map(str::to_owned);
        let asked = ReserveAsked { subject: ReserveSubject::Process(7), thread: "^loop$".to_owned(), words: &words };
        for (deadline_ns, expected) in [
            (10_000_000, "records what makes its jobs late"),
            (
                70_000_000,
                "records what delays it when it does not sleep for longer than the deadline, which may be several jobs in a row",
            ),
        ] {
            let job = Job { deadline_ns, ..report(&trials).job };
            let study = ReserveReport { recommended: None, found: None, job, ..report(&trials) };
            let step = after_reserve(&study, &asked).remove(0);
            assert_eq!(step.purpose, expected, "{}", step.command);
        }
    }

    #[test]
    fn a_longer_deadline_is_offered_if_jobs_were_only_late() {
        let with = |counts: AttemptCounts| {
            let mut trial = Trial::new(reserved(2_090_000));
            trial.add(&counts);
            [trial]
        };
        let words = ["punctual", "reserve", "--load", "mixed", "--", "./radio"].map(str::to_owned);
        let steps = |trials: &[Trial], deadline_ns| {
            let study = report(trials);
            let job = Job { deadline_ns, ..study.job };
            let study = ReserveReport { recommended: None, found: None, job, ..study };
            let subject = ReserveSubject::Command(&words[5..]);
            let asked = ReserveAsked { subject, thread: "^radio$".to_owned(), words: &words };
            after_reserve(&study, &asked).iter().map(|step| step.command.clone()).collect::<Vec<String>>()
        };
        let offered = "sudo punctual reserve --load mixed --deadline TIME -- ./radio".to_owned();
        let late = with(counts(200, 3));
        assert_eq!(report(&late).enough_for_best(), Some(30_000_000));
        assert_eq!(steps(&late, 10_000_000).get(1), Some(&offered));
        let missing = Jobs { on_time: 190, late: 3, missing: 7 };
        for (trials, deadline_ns) in [
            (with(AttemptCounts::new(missing, 0, 30_000_000)), 10_000_000),
            // Too late for any number of buffers that a radio has.
            (with(AttemptCounts::new(Jobs { missing: 0, ..missing }, 0, 763_000_000)), 10_000_000),
            // It had a deadline of its own.
            (late, 20_000_000),
        ] {
            let found = steps(&trials, deadline_ns);
            assert!(!found.contains(&offered), "{found:?}");
        }
    }
}
