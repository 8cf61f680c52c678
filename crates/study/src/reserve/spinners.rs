//! How many spinning threads at normal priority a device bears as it is.

use super::device::DeviceRuns;
use super::subject::{AttemptPlan, Made, Tried as _};
use super::{Doing, ReservePlan, ReserveProgress, Reserved, StudyEnd};
use crate::StudyError;
use punctual_reserve::{Class, Fewest, Setting, Trial};

/// What became of a device as it was beside spinners.
#[derive(Debug, Default)]
pub struct Spinners {
    /// So many, and what trying them showed, in this order.
    pub tried: Vec<(u32, Trial)>,
    /// The fewest beside which every attempt failed; `None` if not even the most did that.
    pub fewest: Option<u32>,
}

/// Finds the fewest spinners, or none, beside which every attempt with the device as it was fails, up to so many. They then compete with it in
/// all that follows, or if none are enough, the most do.
pub(super) fn add(
    plan: &ReservePlan,
    most: u32,
    runs: &mut DeviceRuns<'_>,
    study: &mut Reserved,
    observe: &mut dyn FnMut(&ReserveProgress) -> bool,
) -> Result<(), StudyError> {
    let (mut search, mut spinners) = (Fewest::up_to(most), Spinners::default());
    while let Some(count) = search.next() {
        runs.compete_with(count);
        study.numbered += 1;
        let attempts = AttemptPlan {
            setting: Setting::AsItWas,
            doing: Doing::Crowding(count),
            count: plan.attempts,
            attempt_ns: plan.attempt_ns,
            output: plan.directory.join(format!("spinners/{count:02}.punctual")),
        };
        let Made::Counts(end, counts) = runs.attempt(study.job, &attempts, observe)? else {
            return Err(StudyError::Setting("the device as it is was refused beside spinners".to_owned()));
        };
        if end != StudyEnd::Finished {
            study.end = end;
            break;
        }
        let mut trial = Trial::new(Setting::AsItWas);
        counts.iter().for_each(|counts| trial.add(counts));
        spinners.tried.push((count, trial));
        search.tell(trial.class() == Class::Insufficient);
    }
    if study.end == StudyEnd::Finished {
        spinners.fewest = search.found();
        runs.compete_with(spinners.fewest.unwrap_or(most));
        study.spinners = Some(spinners);
    }
    Ok(())
}
