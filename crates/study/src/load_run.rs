//! A load by itself: to try one, and to see what it gets done with no measurement beside it.

use crate::StudyError;
use crate::running::{GettingReady, Running};
use punctual_kernel::clock;
use punctual_load::Load;
use punctual_recording::LoadScore;
use std::time::{Duration, Instant};

/// What came of running a load.
#[derive(Debug)]
pub struct LoadRun {
    /// How long it was counted, ns.
    pub elapsed_ns: u64,
    /// What it got done.
    pub scores: Vec<LoadScore>,
    /// What went wrong.
    pub trouble: Vec<String>,
    /// What is not known about it.
    pub notes: Vec<String>,
}

/// How much longer a load may run, whatever happens.
const OVERTIME: Duration = Duration::from_secs(30);

/// Runs a load for this long, after its warm-up. Both callbacks say whether to go on; the second is told how long the
/// load has been counted.
///
/// # Errors
/// [`StudyError`] if it could not be started, or `getting_ready` said to stop.
pub fn run_load(
    load: &Load,
    duration: Duration,
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    go_on: &mut dyn FnMut(Duration) -> bool,
) -> Result<LoadRun, StudyError> {
    let limit = duration.saturating_add(OVERTIME);
    let mut running = Running::start(load, Some(limit), None, getting_ready)?;
    let (began, began_ns) = (Instant::now(), clock::monotonic_ns());
    running.begin(began_ns);
    let mut trouble = Vec::new();
    while began.elapsed() < duration && go_on(began.elapsed()) {
        let noted = running.look();
        trouble.extend(noted.trouble);
        std::thread::sleep(duration.saturating_sub(began.elapsed()).min(Duration::from_millis(50)));
    }
    let ended_ns = clock::monotonic_ns();
    let done = running.end(ended_ns);
    trouble.extend(done.trouble);
    Ok(LoadRun { elapsed_ns: ended_ns - began_ns, scores: done.scores, trouble, notes: done.notes })
}
