//! What goes on beside a measurement, and begins and ends with it.

use crate::StudyError;
use punctual_kernel::scheduling::Eager;
use punctual_probe::{Observation, Plan, Step};
use punctual_recording::EndReason;

/// Something that runs while a measurement does: a load, devices. It is prepared before, so that a measurement that
/// cannot be made starts nothing; it is dropped wherever the measurement fails.
pub(crate) trait Companion {
    /// The measurement has begun, and its directory exists.
    ///
    /// # Errors
    /// What keeps it from running: then nothing is measured.
    fn start(&mut self, observation: &mut Observation<'_>) -> Result<(), StudyError>;

    /// Looks after it, about every 50 ms from the start on.
    ///
    /// # Errors
    /// What makes the measurement worthless.
    fn round(&mut self, observation: &mut Observation<'_>) -> Result<Step, StudyError>;

    /// The measurement ended at `ended_ns`, and the recording is not closed yet. It may still say that the run failed.
    fn stop(&mut self, ended_ns: u64, observation: &mut Observation<'_>) -> Step;
}

/// Carries out a plan with these beside it. They start in this order and stop in the reverse one. If one of them fails,
/// nothing is left of the recording.
pub(crate) fn measure_with(
    plan: &Plan,
    companions: &mut [&mut dyn Companion],
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<punctual_probe::Outcome, StudyError> {
    let mut begun = false;
    let mut eager = Eager::begin();
    let mut failed = None;
    let outcome = punctual_probe::run(plan, &mut |observation| {
        if failed.is_some() {
            return Step::Go;
        }
        if let Some(ended_ns) = observation.ended_ns {
            let steps: Vec<Step> =
                companions.iter_mut().rev().map(|companion| companion.stop(ended_ns, observation)).collect();
            return steps.into_iter().find(|step| *step != Step::Go).unwrap_or(Step::Go);
        }
        let starts = !std::mem::replace(&mut begun, true);
        // From now on the measurement, and whatever starts now, gets the CPUs as they are.
        drop(eager.take());
        for companion in companions.iter_mut() {
            let started = if starts { companion.start(observation) } else { Ok(()) };
            match started.and_then(|()| companion.round(observation)) {
                Ok(Step::Go) => {}
                Ok(stop) => return stop,
                Err(error) => {
                    let detail = Some(error.to_string());
                    failed = Some((error, observation.directory().clone()));
                    return Step::Stop(EndReason::Failed, detail);
                }
            }
        }
        observe(observation)
    });
    if let Some((error, directory)) = failed {
        // Nothing worth keeping was measured, and nothing was there before.
        directory.discard();
        return Err(error);
    }
    Ok(outcome?)
}
