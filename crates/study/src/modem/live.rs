//! Files over telephone lines in real time: threads of this machine, or its interrupts, work the calling ends' datapumps.
//!
//! The same thread computes the line and the far end when it comes, for the time that has passed: they are never late.
//! All of that together takes as much processor time per block as the plan says.

use super::beside::Beside;
use super::calls::{Calls, OneCall};
pub use super::live_plan::LivePlan;
use crate::StudyError;
use crate::device::DeviceRun;
use crate::running::{Done, GettingReady, Running};
use punctual_kernel::clock;
use punctual_modem::experiment::Step;
use punctual_modem::transfer::{LiveAttempt, Transfer};
use punctual_recording::LoadScore;

/// What came of them.
#[derive(Debug)]
pub struct LiveRun {
    /// The calls, with those of one attempt next to each other.
    pub transfer: Transfer,
    /// For each call, what was counted on this machine.
    pub calls: Vec<LiveAttempt>,
    /// Modems that could not take part, from 0, and why.
    pub refused: Vec<(u32, String)>,
    /// What the load got done meanwhile.
    pub scores: Vec<LoadScore>,
    /// What there is to know about the load, and about calls.
    pub notes: Vec<String>,
    /// Why the load was not the one that was asked for. The calls in progress then were ended.
    pub load_failure: Option<String>,
    /// The soft devices.
    pub devices: Option<DeviceRun>,
}

/// Sends the file as often as was asked for. `progress` says whether to go on; if not, only the finished attempts are returned.
///
/// # Errors
/// What the kernel refused, a priority or a reservation, if no modem could take part; a load or devices that could not
/// be started.
pub fn transfer(
    plan: &LivePlan,
    bytes: &[u8],
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    progress: &mut dyn FnMut(Step) -> bool,
) -> Result<LiveRun, StudyError> {
    let Some(devices) = &plan.devices else { return beside_load(plan, bytes, getting_ready, progress) };
    std::thread::scope(|scope| {
        let beside = Beside::start(scope, devices)?;
        let run = beside_load(plan, bytes, getting_ready, progress);
        let devices = beside.end();
        Ok(LiveRun { devices: Some(devices?), ..run? })
    })
}

fn beside_load(
    plan: &LivePlan,
    bytes: &[u8],
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    progress: &mut dyn FnMut(Step) -> bool,
) -> Result<LiveRun, StudyError> {
    let mut load =
        if plan.load.is_none() { None } else { Some(Running::start(&plan.load, None, None, getting_ready)?) };
    if let Some(load) = &mut load {
        load.begin(clock::monotonic_ns());
    }
    let mut run = LiveRun {
        transfer: Transfer { bytes: bytes.len() as u64, ..Transfer::default() },
        calls: Vec::new(),
        refused: Vec::new(),
        scores: Vec::new(),
        notes: plan.load.notes.clone(),
        load_failure: None,
        devices: None,
    };
    for done in 0..plan.experiment.attempts {
        let mut calls = Calls::begin(plan, done, bytes)?;
        run.refused.extend(calls.take_refused().into_iter().filter(|_| done == 0));
        let failure = &mut run.load_failure;
        let over = calls.wait(&mut |step| {
            if let Some(load) = &mut load {
                *failure = failure.take().or(load.look().failure);
            }
            progress(step) && failure.is_none()
        })?;
        let Some(over) = over else { break };
        for OneCall { attempt, course, beside, note } in over {
            run.notes.extend(note);
            run.transfer.attempts.push(attempt);
            run.transfer.courses.push(course);
            run.calls.push(beside);
        }
    }
    if let Some(load) = load {
        let Done { scores, trouble, failure, notes } = load.end(clock::monotonic_ns());
        run.scores = scores;
        run.notes.extend(notes.into_iter().chain(trouble));
        run.load_failure = run.load_failure.take().or(failure);
    }
    Ok(run)
}
