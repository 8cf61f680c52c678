//! Starts the recorder for a plan, and ends it.

use super::{FlightRecorder, Watch};
use crate::shared::observation::note;
use crate::shared::plan::Plan;
use punctual_kernel::limits;
use punctual_recording::{CAUSES_NOT_RECORDED, Ended, Provenance, Result, Writer};

/// If causes cannot be recorded, that is no reason not to measure.
pub(crate) fn start(plan: &Plan, provenance: &mut Provenance) -> Option<FlightRecorder> {
    let settings = plan.why.as_ref()?;
    if limits::addresses_are_hidden() {
        note(provenance, format!("functions of the kernel have no names ({})", limits::ADDRESSES_HIDDEN));
    }
    match FlightRecorder::start_with_symbols(settings.sample_rate, settings.stage) {
        Ok(recorder) => {
            recorder.notes().into_iter().for_each(|without| note(provenance, without));
            Some(recorder)
        }
        Err(refused) => {
            note(provenance, format!("{CAUSES_NOT_RECORDED} ({refused})"));
            None
        }
    }
}

/// Looks at wakeups from now on, beside this writer, if the plan wants that and there is a recorder. `own_programs` are
/// this process's other programs.
///
/// # Errors
/// As [`Watch::begin`].
pub(crate) fn begin(
    plan: &Plan,
    recorder: Option<FlightRecorder>,
    writer: &Writer,
    own_programs: &[u32],
) -> Result<Option<Watch>> {
    let wanted = plan.why.zip(recorder);
    wanted.map(|(settings, recorder)| Watch::begin(recorder, settings, writer.directory(), own_programs)).transpose()
}

/// Puts what the watch has left into the recording. If that fails, the measurement ended that way.
pub(crate) fn finish(watch: Option<Watch>, writer: &mut Writer, ended: Result<Ended>) -> Result<Ended> {
    match watch.map(Watch::finish) {
        Some(Err(error)) => ended.and(Err(error)),
        Some(Ok(summary)) => {
            writer.set_recorder(summary);
            ended
        }
        None => ended,
    }
}
