//! Carries out a plan.

use crate::shared::error::RunError;
use crate::shared::observation::{Observation, Outcome, Step};
use crate::shared::plan::Plan;
use crate::{followed, periodic, stamped};

/// Carries out a plan. `observe` is called about every 50 ms and says whether to go on; and once more when nothing is
/// measured any more.
///
/// # Errors
/// [`RunError`]; whatever was measured before a failure stands in the recording.
pub fn run(plan: &Plan, observe: &mut dyn FnMut(&mut Observation<'_>) -> Step) -> Result<Outcome, RunError> {
    match (&plan.follow, &plan.stamps) {
        (Some(selection), _) => followed::run(plan, selection, observe),
        (None, Some(file)) => stamped::run(plan, file, observe),
        (None, None) => periodic::run(plan, observe),
    }
}
