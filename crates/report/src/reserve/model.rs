//! What a report says about a reservation.

use super::counts::{MAY_HAVE_FAILED, are_in_a_row, late_jobs};
use super::later::Later;
use super::plane::Plane;
use super::words::{in_words, setting_in_words};
use crate::NextStep;
use crate::layout::thousandths;
use punctual_recording::{agreeing, counted, format_ns};
use punctual_reserve::{AttemptCounts, Class, Job, PeriodicJob, Reservation, Setting, Trial};
use std::path::Path;

/// A study of a reservation.
#[derive(Debug)]
pub struct ReserveReport<'a> {
    /// The thread's name, or the device's.
    pub thread: &'a str,
    /// Its number; `None` for a device.
    pub tid: Option<u32>,
    /// Which of the threads with its name it is, in the order in which they came, from 1; `None` if it alone has it.
    pub nth: Option<usize>,
    /// How it was scheduled, in words.
    pub scheduling: &'a str,
    /// What it did while it was only observed.
    pub measured: PeriodicJob,
    /// The job that predictions are for.
    pub job: Job,
    /// How late its wakeups were at most without waiting for the CPU, ns.
    pub lateness_ns: u64,
    /// Beside how many spinners a device failed as it was, if that was asked.
    pub spinners: Option<SpinnersReport<'a>>,
    /// What was tried, in this order.
    pub trials: &'a [Trial],
    /// How many reservations a full search tries.
    pub grid: usize,
    /// About how long the whole study takes as it was asked, ns.
    pub takes_ns: u64,
    /// The smallest that was sufficient.
    pub found: Option<Reservation>,
    /// The same with its margin.
    pub recommended: Option<Reservation>,
    /// Those that were recommended earlier but failed when they were measured again, and what was counted then.
    pub not_enough: &'a [(Reservation, AttemptCounts)],
    /// Why the kernel accepted none.
    pub refused: Option<&'a str>,
    /// The counts before and with it, in turn.
    pub proof: Option<ProofReport<'a>>,
    /// How much later the thread came to run with the reservation, if it did; `None` for a device.
    pub later: Option<Later>,
    /// Why the study ended.
    pub end: ReserveEnd,
    /// Whether the thread keeps the reservation.
    pub stays: bool,
    /// The other periodic threads.
    pub others: Vec<OtherThread<'a>>,
    /// What else went wrong.
    pub notes: &'a [String],
    /// What else ran: a load's name.
    pub load: &'a str,
    /// What was added: competitors and the load; empty if nothing was.
    pub beside: &'a str,
    /// The recordings.
    pub directory: &'a Path,
    /// What to run next.
    pub next: Vec<NextStep>,
}

/// What became of a device as it was beside spinners at normal priority.
#[derive(Debug, Clone, Copy)]
pub struct SpinnersReport<'a> {
    /// So many on its CPU, and what trying them showed.
    pub tried: &'a [(u32, Trial)],
    /// The fewest beside which every attempt failed; `None` if not even the most did that.
    pub fewest: Option<u32>,
}

/// Before and with a reservation, in turn.
#[derive(Debug, Clone)]
pub struct ProofReport<'a> {
    /// What was counted before.
    pub before: AttemptCounts,
    /// What was counted with the reservation.
    pub with: AttemptCounts,
    /// How often each was measured.
    pub rounds: usize,
    /// What the comparison of the recordings says, or why there is none.
    pub comparison: Result<String, &'a str>,
}

/// Why a study ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReserveEnd {
    /// It did what was asked.
    Finished,
    /// Somebody asked it to end.
    Interrupted,
    /// The thread or its program ended first.
    ProgramEnded,
}

/// A periodic thread that was not chosen.
#[derive(Debug, Clone)]
pub struct OtherThread<'a> {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub job: PeriodicJob,
}

/// A thread that was given a reservation, or refused one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SetRow {
    /// Its number.
    pub tid: u32,
    /// Its name when it was found.
    pub name: String,
    /// How often the reservation was set: more than once if the program changed its scheduling in the meantime.
    pub set: u64,
    /// How often it was set anew, since the kernel did not let the thread run although it had work and time reserved.
    pub set_anew: u64,
    /// Why it was refused, or given up.
    pub refused: Option<String>,
}

/// A thread that was put back, or why it was not.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PutBackRow {
    /// Its number.
    pub tid: u32,
    /// Its name when it was changed.
    pub name: String,
    /// How it is scheduled now, in words; `None` if it has ended.
    pub scheduling: Option<String>,
    /// Why it was not put back.
    pub refused: Option<String>,
}

/// What jobs that may have been late mean for an attempt.
const OPEN_UNLESS_LATE: &str = "An attempt with such jobs counts only if another was seen to be late.";

/// So many jobs, to be followed by what became of them: `3 jobs that were`.
fn jobs_that_were(count: u64) -> String {
    format!("{} that {}", counted(count, "job"), agreeing(count, "was", "were"))
}

impl ReserveReport<'_> {
    /// Whether the recommended reservation is proven.
    pub fn is_proven(&self) -> bool {
        self.end == ReserveEnd::Finished && self.proof.as_ref().is_some_and(|proof| proof.with.succeeded())
    }

    /// A priority that was sufficient.
    pub fn sufficient_priority(&self) -> Option<u32> {
        self.trials.iter().find_map(|trial| match trial.setting {
            Setting::Priority(priority) if trial.class() == Class::Sufficient => Some(priority),
            _ => None,
        })
    }

    /// How many reservations were tried.
    pub fn tried(&self) -> usize {
        self.trials.iter().filter(|trial| matches!(trial.setting, Setting::Reserved(_))).count()
    }

    /// What was tried, and what is predicted.
    pub(super) fn plane(&self) -> Plane<'_> {
        let &ReserveReport { trials, recommended, job, lateness_ns, .. } = self;
        Plane { trials, recommended, job, lateness_ns }
    }

    /// How many jobs were not seen or are unclear, in trials and proof.
    pub(crate) fn undecided(&self) -> u64 {
        self.sum(AttemptCounts::undecided)
    }

    /// The sum of a count over trials and proof.
    fn sum(&self, of: fn(&AttemptCounts) -> u64) -> u64 {
        let proof = self.proof.as_ref().map_or(0, |proof| of(&proof.with) + of(&proof.before));
        self.trials.iter().map(|trial| of(&trial.counts)).sum::<u64>() + proof
    }

    /// What a reader must know besides the verdict.
    pub(super) fn all_notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for (place, (smaller, with)) in self.not_enough.iter().enumerate() {
            let (what, (late, more)) = (in_words(smaller.budget_ns, smaller.period_ns), late_jobs(with));
            // The margin makes the first, and what fails makes the others.
            let whose = if place == 0 { " (the smallest that was sufficient, plus a margin)" } else { "" };
            let either = if place == 0 { "" } else { " either" };
            notes.push(format!("{what}{whose} was not enough{either} when it was measured again: {late}{more}."));
        }
        notes.extend(self.spinners.as_ref().map(|spinners| spinners.in_words(self)));
        notes.extend_from_slice(self.notes);
        notes.extend(self.priority_too());
        notes.extend(self.ranking());
        notes.extend(self.could_help());
        let by_host = self.sum(AttemptCounts::by_host);
        if by_host > 0 {
            notes.push(format!(
                "Not counted against any setting: {} late or missing while the host took the CPU for as long.",
                jobs_that_were(by_host)
            ));
        }
        let unseen = self.sum(AttemptCounts::unseen);
        if unseen > 0 {
            notes.push(format!("Neither late nor on time: {} not seen. {OPEN_UNLESS_LATE}", jobs_that_were(unseen)));
        }
        notes.extend(self.in_a_row());
        let slow = self.sum(AttemptCounts::slow);
        if slow > 0 {
            notes.push(format!(
                "Slower: {} fewer than the period allows. The thread sleeps for the same time after each job, so one that takes longer \
                 moves all that follow: none is skipped.",
                counted(slow, "job")
            ));
        }
        notes
    }

    /// What is known of jobs that were worked off in a row, or may have been.
    fn in_a_row(&self) -> Vec<String> {
        let (caught_up, unclear) = (self.sum(AttemptCounts::caught_up), self.sum(AttemptCounts::unclear));
        let mut notes = Vec::new();
        if caught_up > 0 {
            notes.push(format!(
                "Caught up: {} worked off without a sleep of {} own, and judged by {} own deadline.",
                jobs_that_were(caught_up),
                agreeing(caught_up, "its", "their"),
                agreeing(caught_up, "its", "their")
            ));
        }
        if unclear > 0 {
            notes.push(format!("Unclear: {} {MAY_HAVE_FAILED}. {OPEN_UNLESS_LATE}", jobs_that_were(unclear)));
        }
        notes
    }

    /// That a priority was sufficient as well, which reserves nothing; how close it was, beside the best reservation's attempts.
    fn priority_too(&self) -> Option<String> {
        let found = self.recommended.and(self.found)?;
        let is_enough = |trial: &&Trial| trial.class() == Class::Sufficient;
        let priority =
            self.trials.iter().filter(is_enough).find(|trial| matches!(trial.setting, Setting::Priority(_)))?;
        let reserved = self.trials.iter().filter(is_enough).find(|trial| trial.setting == Setting::Reserved(found));
        let worst = |trial: &Trial| format_ns(trial.counts.worst_response_ns());
        let against = reserved.map_or_else(String::new, |trial| format!(" against {}", worst(trial)));
        let is_stretch = [Some(priority), reserved].into_iter().flatten().any(|trial| are_in_a_row(&trial.counts));
        let what = if is_stretch { "stretch without a sleep" } else { "response" };
        Some(format!(
            "{} was sufficient, too, and reserves nothing: {} of {} succeeded, the longest {what} was {}{against}. It was not \
             measured again.",
            setting_in_words(priority.setting),
            priority.succeeded,
            counted(priority.attempts, "attempt"),
            worst(priority)
        ))
    }

    /// Whose job it is and how long it takes.
    pub(super) fn job_in_words(&self) -> String {
        let who = match self.tid {
            Some(tid) => format!("Thread `{}` ({tid})", self.thread),
            None => format!("Device `{}`", self.thread),
        };
        let (measured, work) = (&self.measured, self.measured.work);
        format!(
            "{who}, {}: {} of work every {} (99 of 100 jobs at most {}, the longest {}), deadline {}{}, {}. Measured over {}{}.",
            self.scheduling,
            format_ns(work.median_ns),
            format_ns(measured.period_ns),
            format_ns(work.p99_ns),
            format_ns(work.max_ns),
            format_ns(self.job.deadline_ns),
            if self.takes_its_period() { " (its period: `--deadline` sets another)" } else { "" },
            self.slack_in_words(),
            counted(measured.jobs, "job"),
            self.merged_in_words()
        )
    }

    /// How late a job may begin and still be done in time: the deadline less the longest work, ns; `None` if that took longer.
    pub(super) fn slack_ns(&self) -> Option<u64> {
        self.job.deadline_ns.checked_sub(self.measured.work.max_ns)
    }

    /// The slack in words: at most so much if jobs that were not seen by themselves may have taken longer.
    fn slack_in_words(&self) -> String {
        let at_most = if self.measured.merged > 0 { "at most " } else { "" };
        self.slack_ns().map_or_else(|| "no slack".to_owned(), |slack| format!("slack {at_most}{}", format_ns(slack)))
    }

    /// Whether the deadline of a thread's jobs is their period, as it is unless the user gives another.
    pub(crate) fn takes_its_period(&self) -> bool {
        self.tid.is_some() && self.job.deadline_ns == self.job.period_ns
    }

    /// What was left out of the job's work, as the end of a sentence.
    fn merged_in_words(&self) -> String {
        let merged = self.measured.merged;
        if merged == 0 {
            return String::new();
        }
        format!(
            "; {} {} left out, since {} may be several jobs in one go: the next was due two or more periods later",
            counted(merged, "activation"),
            agreeing(merged, "is", "are"),
            agreeing(merged, "it", "each")
        )
    }

    /// The other periodic threads, the first few.
    pub(super) fn others_in_words(&self) -> String {
        let words = self.others.iter().take(5).map(|other| {
            format!("{} ({} every {})", other.name, format_ns(other.job.work.median_ns), format_ns(other.job.period_ns))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// What the recommended reservation costs everybody else, or would have if it had been enough; `None` if the verdict names
    /// none.
    pub(super) fn cost(&self) -> Option<String> {
        let recommended = self.recommended.filter(|_| self.end == ReserveEnd::Finished && self.refused.is_none())?;
        let takes = match &self.proof {
            Some(_) if !self.is_proven() => "would have taken",
            Some(_) if self.needs_no_reservation() && !self.stays => "would take",
            _ => "takes",
        };
        Some(format!(
            "It {takes} up to {} % of a CPU from everybody else, {} at a time.",
            thousandths(recommended.share_thousandths() * 100),
            format_ns(recommended.budget_ns)
        ))
    }
}
