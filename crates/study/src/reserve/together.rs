//! Reservations of several soft devices that work at the same time.
//!
//! They are found one after another, each while those found before work with theirs; the kernel admits each or has no
//! room for it. Then all of them are measured at once, without and with their reservations.

use super::device::{DeviceRuns, DeviceSubject, counts, has_run, part};
use super::proof::{compared, recording};
use super::{Doing, MAX_PROOFS, ReservePlan, ReserveProgress, Reserved, StudyEnd, search};
use crate::StudyError;
use crate::running::GettingReady;
use punctual_comparison::Comparison;
use punctual_kernel::Refused;
use punctual_probe::RunError;
use punctual_recording::DeviceSummary;
use punctual_reserve::{AttemptCounts, Class, Reservation, Setting, with_margin};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One of the devices.
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

/// What was measured for a device among others.
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
    /// The devices, in the order in which they were asked for.
    pub members: Vec<Member>,
    /// Measurements of each side.
    pub rounds: u32,
    /// How often a reservation was enlarged because its device had late jobs among the others.
    pub raised: u32,
    /// Why it ended.
    pub end: StudyEnd,
    /// How late a bystander was, without and with all reservations, or why that cannot be compared; `None` before the proof.
    pub comparison: Option<Result<Comparison, String>>,
    /// How much of each CPU the kernel admits for reservations, thousandths; `None`: it is not known, or not limited.
    pub limit_thousandths: Option<u64>,
}

impl Together {
    /// Whether each device has a reservation, and had no late job with it.
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
    let mut found = Together {
        members: Vec::new(),
        rounds: 0,
        raised: 0,
        end: StudyEnd::Finished,
        comparison: None,
        limit_thousandths: limit(),
    };
    for (place, subject) in subjects.iter().enumerate() {
        let beside = found.members.iter().zip(subjects).filter_map(|(member, its)| {
            member.reservation.map(|reservation| part(its, Setting::Reserved(reservation)))
        });
        runs.turn_to(subject, beside.collect());
        let member = member(plan, &mut runs, place, &mut |progress| observe(place, progress))?;
        found.end = member.study.end;
        found.members.push(member);
        if found.end != StudyEnd::Finished {
            return Ok(found);
        }
    }
    let (mut measured, mut proofs) = (0, 0);
    while proofs < MAX_PROOFS && found.end == StudyEnd::Finished && plan.rounds > 0 {
        measured += 1;
        let name = if measured == 1 { "proof".to_owned() } else { format!("proof-{measured}") };
        let refused = prove(plan, subjects, &mut runs, &mut found, &plan.directory.join(name), observe)?;
        if let Some(refused) = refused {
            give_up_one(&mut found, refused)?;
            continue;
        }
        proofs += 1;
        if proofs == MAX_PROOFS || !raise(&mut found) {
            break;
        }
    }
    Ok(found)
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

/// Finds the reservation of one, beside those that already have theirs.
fn member(
    plan: &ReservePlan,
    runs: &mut DeviceRuns<'_>,
    place: usize,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<Member, StudyError> {
    let study = alone(plan, runs, plan.directory.join(format!("device-{}", place + 1)), observe)?;
    let reservation = study.recommended.filter(|_| study.end == StudyEnd::Finished);
    let why = reservation.is_none().then(|| match (&study.refused, study.no_room) {
        (Some(refused), _) => refused.clone(),
        (None, true) => "the kernel has no room for a sufficient one beside those before it".to_owned(),
        (None, false) if study.trials.iter().all(|trial| trial.class() == Class::NotJudged) => {
            "none of those tried could be judged".to_owned()
        }
        (None, false) => "none of those tried was sufficient".to_owned(),
    });
    Ok(Member { study, reservation, why, before: Measured::default(), with: Measured::default() })
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
        let Some(reservation) = member.reservation.filter(|_| member.with.counts.failures() > 0) else { continue };
        let larger = with_margin(reservation);
        if larger != reservation {
            member.study.not_enough.push(reservation);
            member.reservation = Some(larger);
            found.raised += 1;
            any = true;
        }
    }
    any
}

/// Measures all of them at once, without and with their reservations, every second time backwards. Returns what the
/// kernel refused, if it did not admit all of them.
fn prove(
    plan: &ReservePlan,
    subjects: &[DeviceSubject],
    runs: &mut DeviceRuns<'_>,
    found: &mut Together,
    directory: &Path,
    observe: &mut dyn FnMut(usize, &ReserveProgress) -> bool,
) -> Result<Option<Refused>, StudyError> {
    (found.rounds, found.comparison) = (0, None);
    let mut recordings = [Vec::new(), Vec::new()];
    for member in &mut found.members {
        (member.before, member.with) = (Measured::default(), Measured::default());
    }
    for number in 0..plan.rounds {
        let order = if number % 2 == 0 { [false, true] } else { [true, false] };
        for (turn, is_reserved) in order.into_iter().enumerate() {
            let setting = |reservation: Option<Reservation>| {
                reservation.filter(|_| is_reserved).map_or(Setting::AsItWas, Setting::Reserved)
            };
            let parts = subjects.iter().zip(&found.members);
            let parts = parts.map(|(subject, member)| part(subject, setting(member.reservation))).collect();
            let doing = Doing::Proving(2 * number + turn as u32 + 1, 2 * plan.rounds);
            let duration = Duration::from_nanos(plan.round_ns);
            let mut tell = |elapsed| observe(subjects.len(), &ReserveProgress { doing, elapsed, duration });
            let output = recording(directory, usize::from(is_reserved), number);
            match runs.run_all(parts, plan.round_ns, output.clone(), &mut tell) {
                Ok((StudyEnd::Finished, run)) => {
                    let devices = &run.activations.devices;
                    if has_run(devices) {
                        take(found, is_reserved, devices, plan.round_ns);
                        recordings[usize::from(is_reserved)].push(output);
                    }
                }
                Ok((end, _)) => found.end = end,
                // What was found before stays.
                Err(_) if punctual_kernel::ending::is_asked() => found.end = StudyEnd::Interrupted,
                Err(StudyError::Run(RunError::Refused(refused))) if is_reserved => return Ok(Some(refused)),
                Err(error) => return Err(error),
            }
            if found.end != StudyEnd::Finished {
                return Ok(None);
            }
        }
        found.rounds += 1;
    }
    found.comparison = Some(compared(&recordings));
    Ok(None)
}

/// All of them at once are more than the kernel admits: the last one does without.
fn give_up_one(found: &mut Together, refused: Refused) -> Result<(), StudyError> {
    let Some(member) = found.members.iter_mut().rev().find(|member| member.reservation.is_some()) else {
        return Err(StudyError::Run(RunError::Refused(refused)));
    };
    member.reservation = None;
    member.why = Some(refused.to_string());
    Ok(())
}

fn take(found: &mut Together, is_reserved: bool, devices: &[DeviceSummary], round_ns: u64) {
    for (member, summary) in found.members.iter_mut().zip(devices) {
        let measured = if is_reserved { &mut member.with } else { &mut member.before };
        measured.counts.add(&counts(summary, round_ns));
        measured.times += 1;
        measured.shares_millionths += summary.share_millionths;
    }
}
