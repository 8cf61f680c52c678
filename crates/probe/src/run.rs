//! Carries out a plan.

use crate::shared::error::RunError;
use crate::shared::observation::{Observation, Outcome, Step};
use crate::shared::plan::Plan;
use crate::{followed, periodic, stamped};

/// Carries out a plan. Calls `observe` about every 50 ms, which says whether to go on, and once more when the
/// measurement is over.
///
/// # Errors
/// [`RunError`]; the recording holds whatever was measured before a failure.
pub fn run(plan: &Plan, observe: &mut dyn FnMut(&mut Observation<'_>) -> Step) -> Result<Outcome, RunError> {
    match (&plan.follow, &plan.stamps) {
        (Some(selection), _) => followed::run(plan, selection, observe),
        (None, Some(file)) => stamped::run(plan, file, observe),
        (None, None) => periodic::run(plan, observe),
    }
}
