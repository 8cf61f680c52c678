//! The answers of `punctual reserve`.

use super::model::{ProofReport, PutBackRow, ReserveEnd, ReserveReport, SetRow};
use super::text::{run_text, undo_text};
use super::words::class_in_words;
use crate::NextStep;
use crate::answer::Answer;
use punctual_reserve::{AttemptCounts, Jobs, PeriodicJob, Reservation, Setting, Trial};
use serde::Serialize;

/// What a study of a reservation found.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReserveAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    end: ReserveEnd,
    thread: ThreadRow<'a>,
    /// How long after its release a job must have ended, ns.
    deadline_ns: u64,
    /// How late a job may begin and still be done in time: the deadline less the longest work, ns; `None` if that took longer.
    slack_ns: Option<u64>,
    /// How late the thread's wakeups were at most without waiting for the CPU, ns.
    lateness_ns: u64,
    /// What else ran: a load's name.
    load: &'a str,
    /// What was added: competitors and the load; empty if nothing was.
    beside: &'a str,
    /// The smallest that was sufficient in its attempts.
    found: Option<ReservationRow>,
    /// The same with its margin.
    recommended: Option<ReservationRow>,
    /// Those that were recommended earlier but failed when they were measured again, and what was counted then.
    not_enough: Vec<NotEnoughRow>,
    /// Why the kernel accepted no reservation.
    refused: Option<&'a str>,
    /// A priority that was sufficient in its attempts.
    sufficient_priority: Option<u32>,
    /// Beside how many spinners a device failed as it was; `None` if that was not asked.
    spinners: Option<SpinnersRow>,
    trials: Vec<TrialRow>,
    /// How many reservations a full search tries.
    grid: usize,
    proof: Option<ProofRow<'a>>,
    proven: bool,
    /// Whether the thread keeps the recommended reservation.
    stays: bool,
    other_threads: Vec<ThreadRow<'a>>,
    notes: &'a [String],
    directory: &'a std::path::Path,
    /// What to run next, at most two commands.
    next: &'a [NextStep],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ThreadRow<'a> {
    /// Its name, or the device's.
    name: &'a str,
    /// `None` for a device.
    tid: Option<u32>,
    /// Which of the threads with its name it is, in the order in which they came, from 1; `None` if it alone has it, and for the other
    /// threads.
    nth: Option<usize>,
    /// How it was scheduled, in words; not given for the other threads.
    scheduling: Option<&'a str>,
    period_ns: u64,
    jobs: usize,
    /// Activations that are left out of the work, since each may have been several jobs in one go.
    merged: usize,
    work_median_ns: u64,
    work_p99_ns: u64,
    work_max_ns: u64,
    worst_response_ns: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ReservationRow {
    budget_ns: u64,
    period_ns: u64,
    share_thousandths: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TrialRow {
    /// `as_it_was`, `fifo` or `reservation`.
    setting: &'static str,
    /// For `fifo`.
    priority: Option<u32>,
    /// For `reservation`.
    reservation: Option<ReservationRow>,
    /// Those that can be judged.
    attempts: u32,
    succeeded: u32,
    /// Attempts in which no job came, the host accounts for all that did, or some are undecided and no other one was late.
    not_judged: u32,
    /// `sufficient`, `marginal`, `insufficient` or `not judged`.
    class: &'static str,
    counts: CountsRow,
    /// What the rule of the soft modem paper (section 6.6) predicts.
    predicted_by_rule: Option<bool>,
    /// What the least supply of an independent reservation predicts.
    predicted_by_supply: Option<bool>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SpinnersRow {
    /// The fewest at normal priority on a CPU beside which every attempt failed; `None` if not even the most did that.
    fewest: Option<u32>,
    tried: Vec<CrowdRow>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CrowdRow {
    spinners: u32,
    /// What became of the device as it was beside these.
    #[serde(flatten)]
    trial: TrialRow,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CountsRow {
    /// All that were due: those on time, late and missing.
    jobs: u64,
    on_time: u64,
    late: u64,
    missing: u64,
    /// Besides the jobs: how many fewer began than the period allows, in a loop that sleeps for the same time after each job.
    slow: u64,
    /// How many of the late and missing ones the host may account for.
    by_host: u64,
    /// Besides the jobs: how many more nobody saw, which were late or on time.
    unseen: u64,
    /// Besides the jobs: how many more were released while the thread did not sleep, and were on time, late or missing.
    unclear: u64,
    /// How many of the jobs were worked off without a sleep before them.
    caught_up: u64,
    /// In how many attempts far more or far fewer jobs came than the period allows; these are not judged.
    off_period: u32,
    /// Of those that ended; of several in a row, until the thread slept.
    worst_response_ns: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NotEnoughRow {
    budget_ns: u64,
    period_ns: u64,
    share_thousandths: u64,
    counts: CountsRow,
}

fn not_enough((failed, with): &(Reservation, AttemptCounts)) -> NotEnoughRow {
    let &Reservation { budget_ns, period_ns } = failed;
    NotEnoughRow { budget_ns, period_ns, share_thousandths: failed.share_thousandths(), counts: counts(with) }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ProofRow<'a> {
    rounds: usize,
    before: CountsRow,
    with: CountsRow,
    /// What the comparison of the recordings says.
    comparison: Option<&'a str>,
    /// Why there is none.
    not_compared: Option<&'a str>,
}

pub(super) fn proof<'a>(proof: &'a ProofReport<'a>) -> ProofRow<'a> {
    ProofRow {
        rounds: proof.rounds,
        before: counts(&proof.before),
        with: counts(&proof.with),
        comparison: proof.comparison.as_ref().ok().map(String::as_str),
        not_compared: proof.comparison.as_ref().err().copied(),
    }
}

pub(super) fn reservation(reservation: Reservation) -> ReservationRow {
    let Reservation { budget_ns, period_ns } = reservation;
    ReservationRow { budget_ns, period_ns, share_thousandths: reservation.share_thousandths() }
}

pub(super) fn counts(counts: &AttemptCounts) -> CountsRow {
    let jobs @ Jobs { on_time, late, missing } = counts.jobs();
    CountsRow {
        jobs: jobs.all(),
        on_time,
        late,
        missing,
        slow: counts.slow(),
        by_host: counts.by_host(),
        unseen: counts.unseen(),
        unclear: counts.unclear(),
        caught_up: counts.caught_up(),
        off_period: counts.off_period(),
        worst_response_ns: counts.worst_response_ns(),
    }
}

fn thread<'a>(name: &'a str, tid: Option<u32>, scheduling: Option<&'a str>, job: &PeriodicJob) -> ThreadRow<'a> {
    ThreadRow {
        name,
        tid,
        nth: None,
        scheduling,
        period_ns: job.period_ns,
        jobs: job.jobs,
        merged: job.merged,
        work_median_ns: job.work.median_ns,
        work_p99_ns: job.work.p99_ns,
        work_max_ns: job.work.max_ns,
        worst_response_ns: job.worst_response_ns,
    }
}

fn trial(report: &ReserveReport<'_>, trial: &Trial) -> TrialRow {
    let (setting, priority, tried) = match trial.setting {
        Setting::AsItWas => ("as_it_was", None, None),
        Setting::Priority(priority) => ("fifo", Some(priority), None),
        Setting::Reserved(tried) => ("reservation", None, Some(tried)),
    };
    let predicted = tried.map(|tried| report.plane().predicted(tried));
    TrialRow {
        setting,
        priority,
        reservation: tried.map(reservation),
        attempts: trial.attempts,
        succeeded: trial.succeeded,
        not_judged: trial.not_judged,
        class: class_in_words(trial.class()),
        counts: counts(&trial.counts),
        predicted_by_rule: predicted.map(|(rule, _)| rule),
        predicted_by_supply: predicted.map(|(_, supply)| supply),
    }
}

fn crowd(report: &ReserveReport<'_>, spinners: u32, tried: &Trial) -> CrowdRow {
    CrowdRow { spinners, trial: trial(report, tried) }
}

impl<'a> ReserveAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a ReserveReport<'a>, exit_code: u8) -> ReserveAnswer<'a> {
        ReserveAnswer {
            schema: "punctual.reserve/1",
            verdict: report.verdict(),
            exit_code,
            end: report.end,
            thread: ThreadRow {
                nth: report.nth,
                ..thread(report.thread, report.tid, Some(report.scheduling), &report.measured)
            },
            deadline_ns: report.job.deadline_ns,
            slack_ns: report.slack_ns(),
            lateness_ns: report.lateness_ns,
            load: report.load,
            beside: report.beside,
            found: report.found.map(reservation),
            recommended: report.recommended.map(reservation),
            not_enough: report.not_enough.iter().map(not_enough).collect(),
            refused: report.refused,
            sufficient_priority: report.sufficient_priority(),
            spinners: report.spinners.map(|spinners| SpinnersRow {
                fewest: spinners.fewest,
                tried: spinners.tried.iter().map(|(count, tried)| crowd(report, *count, tried)).collect(),
            }),
            trials: report.trials.iter().map(|tried| trial(report, tried)).collect(),
            grid: report.grid,
            proof: report.proof.as_ref().map(proof),
            proven: report.is_proven(),
            stays: report.stays,
            other_threads: report
                .others
                .iter()
                .map(|other| thread(other.name, Some(other.tid), None, &other.job))
                .collect(),
            notes: report.notes,
            directory: report.directory,
            next: &report.next,
        }
    }
}

impl Answer for ReserveAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// What became of a program that ran with a reservation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunAnswer<'a> {
    schema: &'static str,
    verdict: String,
    /// The program's own, or 128 and its signal; 1 if that was 0 and no thread got the reservation, or one was given up.
    exit_code: u8,
    reservation: ReservationRow,
    threads: &'a [SetRow],
    /// Threads beyond those that are listed.
    threads_not_listed: u64,
}

impl<'a> RunAnswer<'a> {
    /// The answer for programs.
    pub fn new(tried: Reservation, threads: &'a [SetRow], not_listed: u64, exit_code: u8) -> RunAnswer<'a> {
        RunAnswer {
            schema: "punctual.reserve-run/1",
            verdict: run_text(tried, threads),
            exit_code,
            reservation: reservation(tried),
            threads,
            threads_not_listed: not_listed,
        }
    }
}

impl Answer for RunAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// What was put back.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UndoAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    threads: &'a [PutBackRow],
}

impl<'a> UndoAnswer<'a> {
    /// The answer for programs.
    pub fn new(threads: &'a [PutBackRow], exit_code: u8) -> UndoAnswer<'a> {
        UndoAnswer { schema: "punctual.reserve-undo/1", verdict: undo_text(threads), exit_code, threads }
    }
}

impl Answer for UndoAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
