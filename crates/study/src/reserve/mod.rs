//! The reservation of a program's thread: measures its job, finds the smallest sufficient reservation by trials, and proves it.
//!
//! The program runs all the time, beside the load if there is one. Each trial changes the scheduling of one thread
//! through a keeper process, follows its activations for a while, and puts it back: however the study ends, an unproven
//! change is undone.

mod attempts;
mod device;
mod followed;
mod held;
mod namesakes;
mod phases;
mod program;
mod proof;
mod search;
mod settings;
mod spinners;
mod still_there;
mod stolen;
mod stuck;
mod subject;
mod thread;
mod threads;
mod together;
mod waits;
mod watched;

pub use device::DeviceSubject;
pub use held::{Held, HeldPlan, HeldThread, run};
pub use namesakes::Nth;
pub use phases::{PhaseFound, Phased, phased};
pub use program::Subject;
pub use proof::{Proof, Round};
pub use spinners::Spinners;
pub use thread::{Candidate, Chosen};
pub use threads::{Target, threads};
pub use together::{Measured, Member, Together, together};

use crate::StudyError;
use crate::running::GettingReady;
use device::DeviceRuns;
use program::Program;
use punctual_kernel::Refused;
use punctual_kernel::other_thread::{Before, kept_from_cpus};
use punctual_kernel::reservation_watch::Stuck;
use punctual_load::Load;
use punctual_probe::Step;
use punctual_recording::EndReason;
use punctual_reserve::{AttemptCounts, Job, PeriodicJob, Reservation, Setting, Trial, with_margin};
use regex::Regex;
use std::path::PathBuf;
use std::time::Duration;
use subject::{Tried, long_enough};

/// What to find a reservation for, and how.
#[derive(Debug, Clone)]
pub struct ReservePlan {
    /// The program.
    pub subject: Subject,
    /// Which of its threads; `None` for the periodic one that takes the most CPU time.
    pub thread: Option<Regex>,
    /// By when a job must have ended, after its release, ns; `None` for its period.
    pub deadline_ns: Option<u64>,
    /// What runs beside it all the time.
    pub load: Load,
    /// How long to watch the thread to find its job, ns.
    pub measure_ns: u64,
    /// How often each setting is tried.
    pub attempts: u32,
    /// How long each attempt is, ns.
    pub attempt_ns: u64,
    /// The priority to try besides the reservations.
    pub priority: u32,
    /// Whether to try every reservation of the grid.
    pub full: bool,
    /// How often to measure in turn, before and with the reservation; 0 for no proof.
    pub rounds: u32,
    /// How long each of those measurements is, ns.
    pub round_ns: u64,
    /// Beside how many spinners at normal priority, at most, a device is tried: the fewest beside which it fails as it was. `None`:
    /// beside its competitors alone.
    pub max_spinners: Option<u32>,
    /// The seed of the order of the trials.
    pub seed: u64,
    /// Where the recordings go.
    pub directory: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

impl ReservePlan {
    /// About how long the study of a job with this period takes, ns: the job is looked for twice, the search tries about a
    /// tenth of the grid, and an attempt that fails is shorter.
    pub fn takes_ns(&self, period_ns: u64, grid: usize) -> u64 {
        let grid = u64::try_from(grid).unwrap_or(u64::MAX);
        let reservations = if self.full { grid } else { grid.div_ceil(10) };
        // As it was, at the priority, and with each reservation.
        let attempts = reservations.saturating_add(2).saturating_mul(u64::from(self.attempts));
        let trials_ns = long_enough(self.attempt_ns, period_ns).saturating_mul(attempts);
        let proof_ns = long_enough(self.round_ns, period_ns).saturating_mul(2 * u64::from(self.rounds));
        self.measure_ns.saturating_mul(2).saturating_add(trials_ns).saturating_add(proof_ns)
    }
}

/// How the study is going.
#[derive(Debug, Clone, Copy)]
pub struct ReserveProgress {
    /// What it is measuring now.
    pub doing: Doing,
    /// How much of that is done.
    pub elapsed: Duration,
    /// How long it takes at most.
    pub duration: Duration,
}

/// What a study of a reservation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It looks for the job.
    Measuring,
    /// It looks for how many spinners are too many beside the device as it was, and tries so many.
    Crowding(u32),
    /// It tries this setting, the nth.
    Trying(Setting, usize),
    /// It proves the reservation: the nth of so many measurements.
    Proving(u32, u32),
}

/// A reservation that fails when it is measured again is made larger, and measured again, this many times in all.
const MAX_PROOFS: u32 = 3;

/// Why a study ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyEnd {
    /// It did what was asked.
    Finished,
    /// Somebody asked it to end.
    Interrupted,
    /// The thread or its program ended first.
    ProgramEnded,
}

/// What came of a study.
#[derive(Debug)]
pub struct Reserved {
    /// The thread, and its job.
    pub chosen: Chosen,
    /// Which of the program's threads with its name it is; `None` for a device, and of a thread that has ended.
    pub nth: Option<Nth>,
    /// What a reservation is predicted for: the job's period, how long 99 of 100 jobs take at most, and the deadline.
    /// The remaining one may be the first, which loads its pages, or what the host took.
    pub job: Job,
    /// How late the thread's wakeups were at most without waiting for the CPU, ns.
    pub lateness_ns: u64,
    /// Beside how many spinners it failed as it was, if that was asked.
    pub spinners: Option<Spinners>,
    /// What was tried, in this order: as it was, a priority, reservations.
    pub trials: Vec<Trial>,
    /// How many reservations the grid holds.
    pub grid: usize,
    /// The smallest that was sufficient.
    pub found: Option<Reservation>,
    /// That with its margin: this is what is proven.
    pub recommended: Option<Reservation>,
    /// Those that were recommended earlier but failed when they were measured again, and what was counted then.
    pub not_enough: Vec<(Reservation, AttemptCounts)>,
    /// Why the kernel took no reservation for this thread.
    pub refused: Option<String>,
    /// How many settings were tried, including those that were refused.
    pub(crate) numbered: usize,
    /// Whether the kernel had no room for some of them beside other reservations.
    pub no_room: bool,
    /// Before and with the recommended reservation, in turn.
    pub proof: Option<Proof>,
    /// Why the study ended.
    pub end: StudyEnd,
    /// Whether the thread keeps the recommended reservation.
    pub stays: bool,
    /// What could not be put back, and other trouble.
    pub notes: Vec<String>,
}

impl Reserved {
    fn begin(chosen: Chosen, job: Job, lateness_ns: u64) -> Reserved {
        Reserved {
            notes: chosen.note.clone().into_iter().collect(),
            chosen,
            nth: None,
            job,
            lateness_ns,
            spinners: None,
            trials: Vec::new(),
            grid: 0,
            found: None,
            recommended: None,
            not_enough: Vec::new(),
            refused: None,
            numbered: 0,
            no_room: false,
            proof: None,
            end: StudyEnd::Finished,
            stays: false,
        }
    }

    /// Takes the name that its thread has by now, so that next steps find it, and notes it if that is another one.
    fn rename(&mut self, name: Option<String>) {
        let Some(name) = name.filter(|name| *name != self.chosen.name) else { return };
        self.notes.push(format!("`{name}` was named `{}` when it was chosen.", self.chosen.name));
        self.chosen.name = name;
    }

    /// Whether the recommended reservation is proven: with it, every job was in time in every round.
    pub fn is_proven(&self) -> bool {
        let whole = |proof: &Proof| !proof.rounds.is_empty() && proof.with().succeeded();
        self.end == StudyEnd::Finished && self.proof.as_ref().is_some_and(whole)
    }
}

/// What to do with a proven reservation.
pub enum Afterwards<'a> {
    /// The thread is put back.
    PutBack,
    /// It stays. For processes that run on without this one, how their threads were before is reported first, of all at
    /// once: if that fails, they are put back.
    Stay(&'a mut dyn FnMut(&[Before]) -> Result<(), Refused>),
}

/// Carries out a plan. Calls `observe` about every 20 ms, which says whether to go on.
///
/// A command that keeps its reservation runs on for as long as what is returned beside the study lives.
///
/// # Errors
/// [`StudyError`] if nothing was found out; what ends a study later is in its result.
pub fn find<'a>(
    plan: &'a ReservePlan,
    afterwards: Afterwards<'_>,
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(Reserved, Option<Running<'a>>), StudyError> {
    if let Subject::Device(subject) = &plan.subject {
        let mut runs = DeviceRuns::start(plan, subject, getting_ready)?;
        let (chosen, job, lateness_ns) = runs.measure(plan, observe)?;
        let mut study = Reserved::begin(chosen, job, lateness_ns);
        if let Some(most) = plan.max_spinners {
            spinners::add(plan, most, &mut runs, &mut study, observe)?;
        }
        search_and_prove(plan, &mut runs, &mut study, observe)?;
        return Ok((study, None));
    }
    let mut program = Program::start(plan, getting_ready)?;
    let (chosen, lateness_ns) = thread::choose(plan, &mut program, observe)?;
    let job = job_of(plan, &chosen);
    let mut study = Reserved::begin(chosen, job, lateness_ns);
    study.nth = program.nth();
    study.notes.extend(study.nth.and_then(|nth| nth.in_words(&study.chosen.name)));
    study.refused = refused_at_once(&mut program, &mut study);
    if study.refused.is_some() {
        return Ok((study, None));
    }
    search_and_prove(plan, &mut program, &mut study, observe)?;
    study.rename(program.name_now());
    study.notes.extend(program.waits_in_words());
    if let Afterwards::Stay(tell) = afterwards
        && study.is_proven()
    {
        let kept: Vec<(u32, Reservation)> = study.chosen.tid.zip(study.recommended).into_iter().collect();
        match program.let_stay(&kept, tell) {
            Ok(running) => {
                study.stays = true;
                return Ok((study, running));
            }
            Err(why) => study.notes.extend(why),
        }
        return Ok((study, None));
    }
    Ok((study, None))
}

/// Why the kernel reserves nothing for a pinned thread that already has the priority: then there is nothing to try.
fn refused_at_once(program: &mut Program<'_>, study: &mut Reserved) -> Option<String> {
    let tid = study.chosen.tid.filter(|_| study.chosen.is_at_least)?;
    let why = kept_from_cpus(tid)?;
    let period_ns = study.job.period_ns;
    let is_refused = program.set(Setting::Reserved(Reservation { budget_ns: period_ns / 10, period_ns })).is_err();
    study.notes.extend(program.put_back());
    is_refused.then_some(why)
}

/// What a reservation of the chosen thread is for.
fn job_of(plan: &ReservePlan, chosen: &Chosen) -> Job {
    let PeriodicJob { period_ns, work, .. } = chosen.job;
    Job { period_ns, work_ns: work.p99_ns, deadline_ns: plan.deadline_ns.unwrap_or(period_ns) }
}

fn search_and_prove(
    plan: &ReservePlan,
    subject: &mut dyn Tried,
    study: &mut Reserved,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(), StudyError> {
    search::search(plan, subject, study, observe)?;
    for number in 1..=MAX_PROOFS {
        let Some(recommended) = study.recommended.filter(|_| study.end == StudyEnd::Finished && plan.rounds > 0) else {
            break;
        };
        let directory = plan.directory.join(if number == 1 { "proof".to_owned() } else { format!("proof-{number}") });
        proof::prove(plan, subject, study, &directory, observe)?;
        let larger = with_margin(recommended);
        let Some(failed) = study.proof.as_ref().map(Proof::with).filter(|with| !with.succeeded()) else { break };
        if number == MAX_PROOFS || larger == recommended {
            break;
        }
        // Seconds of trials did not show everything that comes in a longer time.
        study.not_enough.push((recommended, failed));
        study.recommended = Some(larger);
    }
    Ok(())
}

/// A program that goes on with its reservation after the study, until this is dropped.
pub struct Running<'a>(program::Left<'a>);

impl Running<'_> {
    /// Frees threads that the kernel does not let run although they have their reservations, and says what was done. Call it often.
    pub fn free_stuck(&mut self) -> Vec<Stuck> {
        self.0.free_stuck()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.0.has_ended()
    }
}

/// How a followed run ended, for a study.
fn end_of(reason: Option<EndReason>) -> StudyEnd {
    match reason {
        Some(EndReason::Completed) => StudyEnd::Finished,
        Some(EndReason::ThreadsEnded | EndReason::CommandEnded) => StudyEnd::ProgramEnded,
        _ => StudyEnd::Interrupted,
    }
}

/// Goes on where the study does.
fn step(goes_on: bool) -> Step {
    if goes_on { Step::Go } else { Step::Stop(EndReason::Interrupted, None) }
}
