//! Reservations of several soft devices that work at the same time, and what these have in common with those of several threads.
//!
//! They are found one after another, each while those found before work with theirs; the kernel admits each or has no
//! room for it. Then all of them are measured at once, without and with their reservations.

use super::device::{DeviceRuns, DeviceSubject, counts, has_run, part};
use super::proof::{compared, recording};
use super::subject::{Tried as _, long_enough};
use super::{Doing, MAX_PROOFS, ReservePlan, ReserveProgress, Reserved, StudyEnd, search};
use crate::StudyError;
use crate::running::GettingReady;
use punctual_comparison::Comparison;
use punctual_kernel::Refused;
use punctual_probe::RunError;
use punctual_recording::DeviceSummary;
use punctual_reserve::{AttemptCounts, Class, Reservation, Setting, Trial, with_margin};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One of the devices, or of the threads.
#[derive(Debug)]
pub struct Member {
    /// What was found for it beside those before it.
    pub study: Reserved,
    /// Its reservation; `None`: it has none, and `why` says why.
    pub reservation: Option<Reservation>,
    /// Why it has none.
    pub why: Option<String>,
    /// Measured while all others were in their original state.
    pub before: Measured,
    /// Measured with all others, each with its reservation; one without is in its original state.
    pub with: Measured,
}

impl Member {
    /// With what was found for it. `why` it has none is derived from that.
    pub(super) fn of(study: Reserved) -> Member {
        let reservation = study.recommended.filter(|_| study.end == StudyEnd::Finished);
        let why = reservation.is_none().then(|| match (&study.refused, study.no_room) {
            (Some(refused), _) => refused.clone(),
            (None, true) => "the kernel has no room for a sufficient one beside those before it".to_owned(),
            (None, false) if study.trials.is_empty() => "it was not tried".to_owned(),
            (None, false) if study.trials.iter().any(Trial::is_open) => {
                "none of those tried is known to be sufficient, since jobs were not seen".to_owned()
            }
            (None, false) if study.trials.iter().all(|trial| trial.class() == Class::NotJudged) => {
                "none of those tried could be judged".to_owned()
            }
            (None, false) => "none of those tried was sufficient".to_owned(),
        });
        Member { study, reservation, why, before: Measured::default(), with: Measured::default() }
    }

    /// Adds one measurement among all others.
    pub(super) fn take(&mut self, is_reserved: bool, counts: &AttemptCounts, share_millionths: u64) {
        let measured = if is_reserved { &mut self.with } else { &mut self.before };
        measured.counts.add(counts);
        measured.times += 1;
        measured.shares_millionths += share_millionths;
    }
}

/// What was measured for one of them among the others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// Its jobs.
    pub counts: AttemptCounts,
    /// How often it was measured.
    pub times: u64,
    /// The sum of its shares of a CPU, millionths.
    pub shares_millionths: u64,
}

impl Measured {
    /// Its share of a CPU, thousandths.
    pub fn share_thousandths(&self) -> u64 {
        self.shares_millionths / self.times.max(1) / 1_000
    }
}

/// What came of them.
#[derive(Debug)]
pub struct Together {
    /// The devices or threads, in the order in which they were asked for.
    pub members: Vec<Member>,
    /// Measurements of each side.
    pub rounds: u32,
    /// How often a reservation was enlarged because its device had late jobs among the others.
    pub raised: u32,
    /// Why it ended.
    pub end: StudyEnd,
    /// How late a bystander or the threads were, without and with all reservations, or why that cannot be compared; `None`
    /// before the proof.
    pub comparison: Option<Result<Comparison, String>>,
    /// Whether all threads keep their reservations.
    pub stays: bool,
    /// What could not be put back, and other trouble.
    pub notes: Vec<String>,
    /// How much of each CPU the kernel admits for reservations, thousandths; `None`: it is not known, or not limited.
    pub limit_thousandths: Option<u64>,
}

impl Together {
    pub(super) fn begin() -> Together {
        Together {
            members: Vec::new(),
            rounds: 0,
            raised: 0,
            end: StudyEnd::Finished,
            comparison: None,
            stays: false,
            notes: Vec::new(),
            limit_thousandths: limit(),
        }
    }

    /// Adds the next one, and what its search noted.
    pub(super) fn add(&mut self, mut member: Member) {
        let name = &member.study.chosen.name;
        self.notes.extend(member.study.notes.drain(..).map(|note| format!("{name}: {note}")));
        self.end = member.study.end;
        self.members.push(member);
    }

    /// Forgets what was measured with other reservations.
    pub(super) fn begin_proof(&mut self) {
        (self.rounds, self.comparison) = (0, None);
        for member in &mut self.members {
            (member.before, member.with) = (Measured::default(), Measured::default());
        }
    }

    /// Whether each of them has a reservation, and had no late job with it.
    pub fn is_proven(&self) -> bool {
        let holds = |member: &Member| member.reservation.is_some() && member.with.counts.succeeded();
        self.end == StudyEnd::Finished && self.rounds > 0 && self.members.iter().all(holds)
    }
}

/// Finds reservations for devices that work at once. `observe` is told which of them is being tried, from 0.
///
/// # Errors
/// [`StudyError`] if nothing was found out.
pub fn together(
    plan: &ReservePlan,
    subjects: &[DeviceSubject],
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    observe: &mut dyn FnMut(usize, &ReserveProgress) -> bool,
) -> Result<Together, StudyError> {
    let first = subjects.first().ok_or_else(|| StudyError::Setting("there is no device".to_owned()))?;
    let mut runs = DeviceRuns::start(plan, first, getting_ready)?;
    let mut found = Together::begin();
    for (place, subject) in subjects.iter().enumerate() {
        let beside = found.members.iter().zip(subjects).filter_map(|(member, its)| {
            member.reservation.map(|reservation| part(its, Setting::Reserved(reservation)))
        });
        runs.turn_to(subject, beside.collect());
        let directory = plan.directory.join(format!("device-{}", place + 1));
        let study = alone(plan, &mut runs, directory, &mut |progress| observe(place, progress))?;
        found.add(Member::of(study));
        if found.end != StudyEnd::Finished {
            return Ok(found);
        }
    }
    prove_all(plan, &mut found, &mut |found, directory| prove(plan, subjects, &mut runs, found, directory, observe))?;
    found.notes.extend(runs.put_back());
    Ok(found)
}

/// Whether the kernel had room for all of them.
pub(super) enum Admitted {
    All,
    /// It refused this one; `None`: it is not known which.
    AllBut(Option<usize>, Refused),
}

/// Measures all of them at once. Whoever has late jobs then gets a tenth more, and all are measured again, at most twice; whoever
/// the kernel has no room for does without. `prove` measures them once, with recordings in a directory.
pub(super) fn prove_all(
    plan: &ReservePlan,
    found: &mut Together,
    prove: &mut dyn FnMut(&mut Together, &Path) -> Result<Admitted, StudyError>,
) -> Result<(), StudyError> {
    let (mut measured, mut proofs) = (0, 0);
    while proofs < MAX_PROOFS && found.end == StudyEnd::Finished && plan.rounds > 0 {
        measured += 1;
        let name = if measured == 1 { "proof".to_owned() } else { format!("proof-{measured}") };
        found.begin_proof();
        if let Admitted::AllBut(place, refused) = prove(found, &plan.directory.join(name))? {
            give_up_one(found, place, refused)?;
            continue;
        }
        proofs += 1;
        if proofs == MAX_PROOFS || !raise(found) {
            break;
        }
    }
    Ok(())
}

fn limit() -> Option<u64> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
        text.trim().parse::<i64>().ok()
    };
    let (runtime_us, period_us) = (read("sched_rt_runtime_us")?, read("sched_rt_period_us")?);
    // -1: there is no limit.
    u64::try_from(runtime_us).ok().map(|runtime_us| runtime_us * 1_000 / period_us.max(1).unsigned_abs())
}

/// Searches for the device that the runs are about, with its recordings in a directory of their own.
pub(super) fn alone(
    plan: &ReservePlan,
    runs: &mut DeviceRuns<'_>,
    directory: PathBuf,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Reserved, StudyError> {
    let plan = ReservePlan { directory, ..plan.clone() };
    let (chosen, job, lateness_ns) = runs.measure(&plan, observe)?;
    let mut study = Reserved::begin(chosen, job, lateness_ns);
    search::search(&plan, runs, &mut study, observe)?;
    Ok(study)
}

/// A tenth more for those that had late jobs among the others; whether there was one.
fn raise(found: &mut Together) -> bool {
    let mut any = false;
    for member in &mut found.members {
        // Of one that could not be judged nothing says that it needs more.
        let Some(reservation) = member.reservation.filter(|_| member.with.counts.has_failed()) else { continue };
        let larger = with_margin(reservation);
        if larger != reservation {
            member.study.not_enough.push((reservation, member.with.counts));
            member.reservation = Some(larger);
            found.raised += 1;
            any = true;
        }
    }
    any
}

/// Measures all of them at once, without and with their reservations, every second time backwards.
fn prove(
    plan: &ReservePlan,
    subjects: &[DeviceSubject],
    runs: &mut DeviceRuns<'_>,
    found: &mut Together,
    directory: &Path,
    observe: &mut dyn FnMut(usize, &ReserveProgress) -> bool,
) -> Result<Admitted, StudyError> {
    let mut recordings = [Vec::new(), Vec::new()];
    let longest_ns = found.members.iter().map(|member| member.study.job.period_ns).max().unwrap_or(0);
    let round_ns = long_enough(plan.round_ns, longest_ns);
    for number in 0..plan.rounds {
        let order = if number % 2 == 0 { [false, true] } else { [true, false] };
        for (turn, is_reserved) in order.into_iter().enumerate() {
            let setting = |reservation: Option<Reservation>| {
                reservation.filter(|_| is_reserved).map_or(Setting::AsItWas, Setting::Reserved)
            };
            let parts = subjects.iter().zip(&found.members);
            let parts = parts.map(|(subject, member)| part(subject, setting(member.reservation))).collect();
            let doing = Doing::Proving(2 * number + turn as u32 + 1, 2 * plan.rounds);
            let duration = Duration::from_nanos(round_ns);
            let mut tell = |elapsed| observe(subjects.len(), &ReserveProgress { doing, elapsed, duration });
            let output = recording(directory, usize::from(is_reserved), number);
            match runs.run_all(parts, round_ns, output.clone(), &mut tell) {
                Ok((StudyEnd::Finished, run)) => {
                    let devices = &run.activations.devices;
                    if has_run(devices) {
                        take(found, is_reserved, devices, round_ns);
                        recordings[usize::from(is_reserved)].push(output);
                    }
                }
                Ok((end, _)) => found.end = end,
                // What was found before stays.
                Err(_) if punctual_kernel::ending::is_asked() => found.end = StudyEnd::Interrupted,
                Err(StudyError::Run(RunError::Refused(refused))) if is_reserved => {
                    return Ok(Admitted::AllBut(None, refused));
                }
                Err(error) => return Err(error),
            }
            if found.end != StudyEnd::Finished {
                return Ok(Admitted::All);
            }
        }
        found.rounds += 1;
    }
    found.comparison = Some(compared(&recordings));
    Ok(Admitted::All)
}

/// All of them at once are more than the kernel admits: the one at this place, or else the last one, does without.
fn give_up_one(found: &mut Together, place: Option<usize>, refused: Refused) -> Result<(), StudyError> {
    let place = place.or_else(|| found.members.iter().rposition(|member| member.reservation.is_some()));
    let Some(member) = place.and_then(|place| found.members.get_mut(place)) else {
        return Err(StudyError::Run(RunError::Refused(refused)));
    };
    member.reservation = None;
    member.why = Some(refused.to_string());
    Ok(())
}

fn take(found: &mut Together, is_reserved: bool, devices: &[DeviceSummary], round_ns: u64) {
    for (member, summary) in found.members.iter_mut().zip(devices) {
        member.take(is_reserved, &counts(summary, round_ns), summary.share_millionths);
    }
}
