//! A reservation for each phase of a soft device whose rate changes.
//!
//! Each phase is searched as a device of its own, whose line has only that phase. Then all of it runs, as it was and with the
//! reservation of each phase, in turn.

use super::device::{DeviceRuns, DeviceSubject, counts_of, part};
use super::proof::{Proof, prove};
use super::subject::{AttemptPlan, Made, Tried};
use super::together::alone;
use super::{MAX_PROOFS, ReservePlan, ReserveProgress, Reserved, StudyEnd};
use crate::StudyError;
use crate::running::GettingReady;
use punctual_context::device::Phase;
use punctual_context::{Form, Reservation as OfPhase};
use punctual_probe::RunError;
use punctual_recording::DeviceSummary;
use punctual_reserve::{AttemptCounts, Job, Reservation, SLACK_NS, Setting, with_margin};
use std::time::Duration;

/// A phase, and what was found for it.
#[derive(Debug)]
pub struct PhaseFound {
    /// The phase.
    pub phase: Phase,
    /// Its search.
    pub study: Reserved,
    /// Its reservation; `None`: it has none.
    pub reservation: Option<Reservation>,
}

/// What came of a device's phases.
#[derive(Debug)]
pub struct Phased {
    /// The phases, in order, as far as they were looked at.
    pub phases: Vec<PhaseFound>,
    /// All of them in one run, without and with their reservations, in turn.
    pub proof: Option<Proof>,
    /// How often all were made larger, since jobs were late with them.
    pub raised: u32,
    /// Why it ended.
    pub end: StudyEnd,
    /// What went wrong.
    pub notes: Vec<String>,
}

/// Finds a reservation for each phase of a device. `observe` is told which of them it is about, from 0; beyond the last: the proof.
///
/// # Errors
/// [`StudyError`] where nothing was found out.
pub fn phased(
    plan: &ReservePlan,
    subject: &DeviceSubject,
    phases: &[Phase],
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    observe: &mut dyn FnMut(usize, &ReserveProgress) -> bool,
) -> Result<Phased, StudyError> {
    let of_phase = |phase: &Phase| DeviceSubject {
        phases: vec![Phase { length_ns: u64::MAX, reservation: None, ..*phase }],
        ..subject.clone()
    };
    let subjects: Vec<DeviceSubject> = phases.iter().map(of_phase).collect();
    let first = subjects.first().ok_or_else(|| StudyError::Setting("there is no phase".to_owned()))?;
    let mut runs = DeviceRuns::start(plan, first, getting_ready)?;
    let mut found = Phased { phases: Vec::new(), proof: None, raised: 0, end: StudyEnd::Finished, notes: Vec::new() };
    for (place, (one, phase)) in subjects.iter().zip(phases).enumerate() {
        runs.turn_to(one, Vec::new());
        let directory = plan.directory.join(format!("phase-{}", place + 1));
        let study = alone(plan, &mut runs, directory, &mut |progress| observe(place, progress))?;
        found.end = study.end;
        let reservation = study.recommended.filter(|_| study.end == StudyEnd::Finished);
        found.notes.extend(study.notes.iter().map(|note| format!("phase {}: {note}", place + 1)));
        found.phases.push(PhaseFound { phase: *phase, study, reservation });
        if found.end != StudyEnd::Finished {
            return Ok(found);
        }
    }
    if plan.rounds > 0 {
        prove_all(plan, subject, &mut runs, &mut found, &mut |progress| observe(phases.len(), progress))?;
    }
    Ok(found)
}

/// Runs all phases without and with their reservations, which are made a tenth larger while jobs are late with them, at most twice.
fn prove_all(
    plan: &ReservePlan,
    subject: &DeviceSubject,
    runs: &mut DeviceRuns<'_>,
    found: &mut Phased,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(), StudyError> {
    let phases: Vec<Phase> = found.phases.iter().map(|one| one.phase).collect();
    let length_ns = phases.iter().map(|phase| phase.length_ns).fold(0, u64::saturating_add);
    let plan = ReservePlan { round_ns: length_ns, ..plan.clone() };
    for number in 1..=MAX_PROOFS {
        let reserved: Option<Vec<Reservation>> = found.phases.iter().map(|one| one.reservation).collect();
        let (Some(reserved), Some(first)) = (reserved, found.phases.first()) else { break };
        let mut whole = Reserved::begin(first.study.chosen.clone(), first.study.job, first.study.lateness_ns);
        whole.recommended = reserved.first().copied();
        let mut line = WholeLine { runs: &mut *runs, subject, phases: &phases, reserved: &reserved };
        let directory = plan.directory.join(if number == 1 { "proof".to_owned() } else { format!("proof-{number}") });
        prove(&plan, &mut line, &mut whole, &directory, observe)?;
        found.end = whole.end;
        found.notes.append(&mut whole.notes);
        let failed = whole.proof.as_ref().map(Proof::with).filter(|with| !with.succeeded());
        found.proof = whole.proof;
        let larger: Vec<Reservation> = reserved.iter().map(|one| with_margin(*one)).collect();
        let Some(failed) =
            failed.filter(|_| number < MAX_PROOFS && larger != reserved && found.end == StudyEnd::Finished)
        else {
            break;
        };
        for (one, larger) in found.phases.iter_mut().zip(larger) {
            one.study.not_enough.extend(one.reservation.map(|reservation| (reservation, failed)));
            one.reservation = Some(larger);
        }
        found.raised += 1;
    }
    Ok(())
}

/// A device with all its phases in one run.
struct WholeLine<'r, 'a> {
    runs: &'r mut DeviceRuns<'a>,
    subject: &'r DeviceSubject,
    phases: &'r [Phase],
    /// What each phase has, where any reservation is tried.
    reserved: &'r [Reservation],
}

impl Tried for WholeLine<'_, '_> {
    fn attempt(
        &mut self,
        _: Job,
        plan: &AttemptPlan,
        observe: &mut dyn FnMut(&ReserveProgress) -> bool,
    ) -> Result<Made, StudyError> {
        let is_reserved = matches!(plan.setting, Setting::Reserved(_));
        let with = |(phase, reserved): (&Phase, &Reservation)| {
            let Reservation { budget_ns: runtime_ns, period_ns } = *reserved;
            let own = OfPhase { runtime_ns, period_ns, form: Form::Floating };
            Phase { reservation: is_reserved.then_some(own), ..*phase }
        };
        let mut device = part(self.subject, plan.setting);
        device.phases = self.phases.iter().zip(self.reserved).map(with).collect();
        let duration = Duration::from_nanos(plan.attempt_ns);
        let mut tell = |elapsed: Duration| {
            observe(&ReserveProgress { doing: plan.doing, elapsed: elapsed.min(duration), duration })
        };
        match self.runs.run_all(vec![device], plan.attempt_ns, plan.output.clone(), &mut tell) {
            Ok((StudyEnd::Finished, run)) => {
                let begun = run.phases_begun.first().copied().unwrap_or(0);
                let counts = |summary: &DeviceSummary| {
                    // Of a phase that this program slept through, or that the run's end cut short, it says nothing.
                    if begun < self.phases.len() || !is_whole(self.phases, summary.arrived) {
                        return AttemptCounts::default();
                    }
                    counts_of(summary, due(self.phases, plan.attempt_ns))
                };
                let counts = run.activations.devices.first().map(counts);
                Ok(Made::Counts(StudyEnd::Finished, counts.into_iter().collect()))
            }
            Ok((end, _)) => Ok(Made::Counts(end, Vec::new())),
            Err(_) if punctual_kernel::ending::is_asked() => Ok(Made::Counts(StudyEnd::Interrupted, Vec::new())),
            Err(StudyError::Run(RunError::Refused(refused))) => {
                Ok(Made::Refused { why: refused.to_string(), is_full: refused.is_full })
            }
            Err(error) => Err(error),
        }
    }

    fn put_back(&mut self) -> Vec<String> {
        self.runs.put_back()
    }
}

/// Whether so many blocks are those of all phases but for half of the last one, which lasts no longer than the run.
fn is_whole(phases: &[Phase], arrived: u64) -> bool {
    let blocks = |phase: &Phase| phase.length_ns / phase.period_ns.max(1);
    let last = phases.last().map_or(0, blocks);
    arrived >= phases.iter().map(blocks).fold(0, u64::saturating_add) - last / 2
}

/// How many blocks come in a run of these phases, but for those shortly before its end.
fn due(phases: &[Phase], duration_ns: u64) -> u64 {
    let mut left_ns = duration_ns.saturating_sub(SLACK_NS);
    let mut blocks = 0;
    for phase in phases {
        let here_ns = phase.length_ns.min(left_ns);
        left_ns -= here_ns;
        blocks += here_ns / phase.period_ns.max(1);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_due_are_those_of_each_phase_in_its_time() {
        let phase = |period_ns, length_ns| Phase { period_ns, samples: 18, length_ns, reservation: None };
        let phases = [phase(2_500_000, 1_000_000_000), phase(12_500_000, 1_000_000_000)];
        assert_eq!(due(&phases, 2_000_000_000), 400 + (1_000_000_000 - SLACK_NS) / 12_500_000);
        assert_eq!(due(&phases, 500_000_000 + SLACK_NS), 200);
        assert_eq!(due(&phases, 0), 0);
    }

    #[test]
    fn a_run_is_whole_with_half_of_its_last_phase() {
        let phase = |period_ns, length_ns| Phase { period_ns, samples: 18, length_ns, reservation: None };
        let phases = [phase(2_500_000, 1_000_000_000), phase(12_500_000, 1_000_000_000)];
        assert_eq!([439, 440, 480].map(|arrived| is_whole(&phases, arrived)), [false, true, true]);
        // Without a block of the last one.
        assert!(!is_whole(&phases, 400) && !is_whole(&phases, 0));
    }
}
