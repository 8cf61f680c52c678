//! The first thing a user does: an idle recording, a loaded one, and what both mean for common devices.

use crate::{GettingReady, StudyError, record_under_watched};
use punctual_device::{Catalogue, Profile};
use punctual_forecast::{Input, JudgedDevice, Question, answer};
use punctual_load::Load;
use punctual_probe::{Observation, Plan, Step};
use punctual_recording::{Document, Recording, Stage, Wakeup};
use std::path::{Path, PathBuf};

/// The devices of a check, by their catalogue ids, in the order in which they are shown.
fn catalogue_ids() -> [&'static str; 8] {
    ["audio64", "audio256", "ethercat1ms", "video60", "adsl", "modem", "rt-audio", "rt-video"]
}

/// What a check measures.
#[derive(Debug, Clone)]
pub struct CheckPlan {
    /// The measurement; its output is ignored, and its duration is that of both parts together.
    pub plan: Plan,
    /// The load of the second part.
    pub load: Load,
    /// Where the two recordings go.
    pub directory: PathBuf,
    /// The devices for which it is judged.
    pub devices: Vec<Profile>,
    /// Whether to search for the buffering that each device would need.
    pub advises: bool,
}

/// One part of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Nothing else runs.
    Idle,
    /// The load runs.
    Loaded,
}

/// What came of a check.
#[derive(Debug)]
pub struct Check {
    /// The recordings that were made: where, and what they say. The second is missing if the first was interrupted.
    pub parts: Vec<(PathBuf, Document)>,
    /// The worst wakeup of each part, if it was seen as it came.
    pub worst: Vec<Option<Wakeup>>,
    /// Each device under each load.
    pub devices: Vec<JudgedDevice>,
}

/// Measures an idle part and a loaded part, each half as long as the plan says. `getting_ready` is called while the
/// load warms up, and says whether to go on.
///
/// # Errors
/// [`StudyError`].
pub fn check(
    check: &CheckPlan,
    getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    observe: &mut dyn FnMut(Part, &mut Observation<'_>) -> Step,
) -> Result<Check, StudyError> {
    let mut parts: Vec<(PathBuf, Document)> = Vec::new();
    let mut worst: Vec<Option<Wakeup>> = Vec::new();
    let none = Load::none();
    for (part, load, name) in [(Part::Idle, &none, "idle.punctual"), (Part::Loaded, &check.load, "loaded.punctual")] {
        let mut plan = check.plan.clone();
        plan.duration_ns = plan.duration_ns.map(|duration| duration / 2);
        plan.output = check.directory.join(name);
        let (mut stopped, mut seen) = (false, None);
        let result = record_under_watched(plan.clone(), load, getting_ready, &mut |observation| {
            seen = worst_of(seen, observation.finished);
            let step = observe(part, observation);
            stopped |= step != Step::Go;
            step
        });
        let outcome = match result {
            // What was measured before is kept.
            Err(StudyError::Interrupted) if !parts.is_empty() => break,
            other => other?,
        };
        // The last ones may come when nobody looks any more.
        worst.push(seen.filter(|seen| is_worst(seen, &outcome.document)));
        parts.push((plan.output, outcome.document));
        if stopped {
            break;
        }
    }
    let mut devices = Vec::new();
    for (path, document) in &parts {
        devices.extend(judge_devices(path, document, &check.devices, check.advises)?);
    }
    Ok(Check { parts, worst, devices })
}

fn worst_of(before: Option<Wakeup>, finished: &[Wakeup]) -> Option<Wakeup> {
    finished.iter().copied().chain(before).max_by_key(|wakeup| wakeup.total_ns)
}

fn is_worst(wakeup: &Wakeup, document: &Document) -> bool {
    document.distributions.sum(|key| key.stage == Stage::Total).max() == Some(wakeup.total_ns)
}

/// What each device would have met in a recording; nothing if that holds no wakeup.
fn judge_devices(
    path: &Path,
    document: &Document,
    devices: &[Profile],
    advise: bool,
) -> Result<Vec<JudgedDevice>, StudyError> {
    if document.counters.wakeups == 0 {
        return Ok(Vec::new());
    }
    let recording = Recording::open(path)?;
    let (tail, seconds) = recording.tail_and_seconds()?;
    let inputs = Input::from_recording(document, &tail, &seconds, recording.damaged())?;
    judge(document, &inputs, devices, advise)
}

/// The devices of a check if none are named: those of the shipped catalogue that represent all.
pub fn usual_devices() -> Vec<Profile> {
    let catalogue = Catalogue::shipped();
    catalogue_ids().into_iter().filter_map(|id| catalogue.find(id)).cloned().collect()
}

/// What each device would have met in a recording, or in several that were added up: `inputs` are theirs. `advise`: also
/// what buffering each would need.
///
/// # Errors
/// [`StudyError`] if the forecast cannot be made.
pub fn judge(
    document: &Document,
    inputs: &[Input],
    devices: &[Profile],
    advise: bool,
) -> Result<Vec<JudgedDevice>, StudyError> {
    let question = Question { devices: devices.to_vec(), horizons: Vec::new(), advise, ..Question::default() };
    let answer = answer(inputs, &question)?;
    let counts = answer.groups.into_iter().flat_map(|group| {
        let (load, measure) = (group.load, group.measure);
        group.devices.into_iter().map(move |answer| {
            // A device without slack is never served in time.
            let limit = u64::try_from(answer.device.slack_ns()).unwrap_or(0);
            let late = |cpu: Option<u32>| {
                let chosen = document.distributions.sum(|key| {
                    key.stage == Stage::Total && key.measure == measure && cpu.is_none_or(|cpu| key.cpu == cpu)
                });
                chosen.count_above(limit)
            };
            let by_cpu = document.distributions.cpus().into_iter().map(|cpu| late(Some(cpu)));
            JudgedDevice {
                load: load.clone(),
                measure: measure.clone(),
                late_wakeups: late(None),
                late_wakeups_on_worst_cpu: by_cpu.max().unwrap_or(0),
                answer,
            }
        })
    });
    Ok(counts.collect())
}
