//! Starts the recorder for a plan.

use super::FlightRecorder;
use crate::shared::observation::note;
use crate::shared::plan::Plan;
use punctual_kernel::limits;
use punctual_recording::Provenance;

/// Causes that cannot be recorded are no reason not to measure.
pub(crate) fn start(plan: &Plan, provenance: &mut Provenance) -> Option<FlightRecorder> {
    let settings = plan.why.as_ref()?;
    if limits::addresses_are_hidden() {
        note(provenance, format!("functions of the kernel have no names ({})", limits::ADDRESSES_HIDDEN));
    }
    match FlightRecorder::start_for(settings.sample_rate, settings.stage) {
        Ok(recorder) => Some(recorder),
        Err(refused) => {
            note(provenance, format!("what makes wakeups late is not recorded ({refused})"));
            None
        }
    }
}
