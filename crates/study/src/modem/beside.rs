//! Soft devices that work beside something else, for as long as that takes.

use crate::StudyError;
use crate::device::{self, DeviceRun, DeviceRunPlan};
use punctual_kernel::Refused;
use punctual_probe::{RunError, Step};
use punctual_recording::EndReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// How often to check whether they are working.
const ROUND: Duration = Duration::from_millis(20);

/// Soft devices at work in a thread of their own. They end with this.
pub(super) struct Beside<'scope> {
    over: Arc<AtomicBool>,
    handle: Option<ScopedJoinHandle<'scope, Result<DeviceRun, StudyError>>>,
}

impl<'scope> Beside<'scope> {
    /// Starts them and returns when they work.
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        plan: &'env DeviceRunPlan,
    ) -> Result<Beside<'scope>, StudyError> {
        let (works, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (told, ends) = (Arc::clone(&works), Arc::clone(&over));
        let handle = scope.spawn(move || {
            device::run(plan, &mut |_| {
                told.store(true, Relaxed);
                if ends.load(Relaxed) { Step::Stop(EndReason::Completed, None) } else { Step::Go }
            })
        });
        while !works.load(Relaxed) && !handle.is_finished() {
            std::thread::sleep(ROUND);
        }
        let mut beside = Beside { over, handle: Some(handle) };
        if works.load(Relaxed) {
            return Ok(beside);
        }
        beside.join()?;
        Err(ended_early())
    }

    /// Ends them, and returns what came of them.
    pub(super) fn end(mut self) -> Result<DeviceRun, StudyError> {
        self.join()
    }

    fn join(&mut self) -> Result<DeviceRun, StudyError> {
        self.over.store(true, Relaxed);
        let handle = self.handle.take().ok_or_else(ended_early)?;
        handle.join().map_err(|_| ended_early())?
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

fn ended_early() -> StudyError {
    StudyError::Run(RunError::Refused(Refused::because("running soft devices", "they ended early".to_owned())))
}
