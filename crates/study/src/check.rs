//! The first thing a user does: an idle recording, a loaded one, and what both mean for common devices.

use crate::{StudyError, record_under};
use punctual_device::{Catalogue, Profile};
use punctual_load::Load;
use punctual_probe::{Observation, Plan, Step};
use punctual_recording::{Document, Stage};
use std::path::PathBuf;

/// The devices of a check, by their catalogue ids, in the order in which they are shown.
pub fn catalogue_ids() -> [&'static str; 8] {
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
}

/// One part of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Nothing else runs.
    Idle,
    /// The load runs.
    Loaded,
}

/// How often a device would not have been served in time.
#[derive(Debug, Clone)]
pub struct DeviceCount {
    /// The device.
    pub profile: Profile,
    /// The load of the recording.
    pub load: String,
    /// How late its work may begin, ns.
    pub slack_ns: i64,
    /// Wakeups later than the slack, all measured threads together.
    pub over: u64,
    /// The same on the CPU where there were most.
    pub over_on_worst_cpu: u64,
}

/// What came of a check.
#[derive(Debug)]
pub struct Check {
    /// The recordings that were made: where, and what they say. The second is missing where the first was interrupted.
    pub parts: Vec<(PathBuf, Document)>,
    /// Each device under each load.
    pub devices: Vec<DeviceCount>,
}

/// Measures an idle part and a loaded part, each half as long as the plan says.
///
/// # Errors
/// [`StudyError`].
pub fn check(
    check: &CheckPlan,
    observe: &mut dyn FnMut(Part, &mut Observation<'_>) -> Step,
) -> Result<Check, StudyError> {
    let mut parts: Vec<(PathBuf, Document)> = Vec::new();
    let none = Load::none();
    for (part, load, name) in [(Part::Idle, &none, "idle.punctual"), (Part::Loaded, &check.load, "loaded.punctual")] {
        let mut plan = check.plan.clone();
        plan.duration_ns = plan.duration_ns.map(|duration| duration / 2);
        plan.output = check.directory.join(name);
        let mut stopped = false;
        let outcome = record_under(plan.clone(), load, &mut |observation| {
            let step = observe(part, observation);
            stopped |= step != Step::Go;
            step
        })?;
        parts.push((plan.output, outcome.document));
        if stopped {
            break;
        }
    }
    let devices = parts.iter().flat_map(|(_, document)| count_devices(document)).collect();
    Ok(Check { parts, devices })
}

/// How often each device of the first catalogue would not have been served in time.
pub fn count_devices(document: &Document) -> Vec<DeviceCount> {
    let catalogue = Catalogue::shipped();
    let profiles = catalogue_ids().into_iter().filter_map(|id| catalogue.find(id));
    profiles
        .map(|profile| {
            let slack_ns = profile.slack_ns();
            // A device without slack is never served in time.
            let limit = u64::try_from(slack_ns).unwrap_or(0);
            let above = |cpu: Option<u32>| {
                let chosen =
                    document.distributions.sum(|key| key.stage == Stage::Total && cpu.is_none_or(|cpu| key.cpu == cpu));
                chosen.count_above(limit)
            };
            DeviceCount {
                profile: profile.clone(),
                load: document.provenance.load.name.clone(),
                slack_ns,
                over: above(None),
                over_on_worst_cpu: document
                    .distributions
                    .cpus()
                    .into_iter()
                    .map(|cpu| above(Some(cpu)))
                    .max()
                    .unwrap_or(0),
            }
        })
        .collect()
}
