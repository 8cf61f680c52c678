//! A forecast made from a recording without a device, and the underruns counted with the device beside it.

use super::run::{DevicePart, DeviceRun, DeviceRunPlan, run};
use crate::{StudyError, record_under};
use punctual_context::Context;
use punctual_forecast::{DeviceAnswer, Input, Question, answer};
use punctual_kernel::scheduling::Scheduling;
use punctual_load::Load;
use punctual_probe::{Observation, Plan, Policy, Step};
use punctual_recording::Recording;
use std::path::PathBuf;

/// What to verify.
#[derive(Debug, Clone)]
pub struct VerifyPlan {
    /// The devices, each run by itself; in threads.
    pub devices: Vec<DevicePart>,
    /// What keeps the machine busy, in both parts.
    pub load: Load,
    /// The CPU.
    pub cpu: u32,
    /// How long in all, ns: half without a device, half shared by the devices.
    pub duration_ns: u64,
    /// The directory for the recordings.
    pub directory: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// A device: what was forecast and what was counted.
#[derive(Debug)]
pub struct Verified {
    /// The forecast.
    pub answer: DeviceAnswer,
    /// The run with the device.
    pub run: DeviceRun,
    /// How long that was, s.
    pub exposure_s: f64,
}

/// What came of it.
#[derive(Debug)]
pub struct Verification {
    /// The recording without a device.
    pub recording: PathBuf,
    /// How long that was, s.
    pub exposure_s: f64,
    /// Each device that was reached.
    pub devices: Vec<Verified>,
}

impl Verified {
    /// Stalls to be expected in the time the device ran: fewest and, where the forecast has a limit, most.
    pub fn expected(&self) -> (f64, Option<f64>) {
        let mttf = &self.answer.underruns.mttf_s;
        let count = |mttf_s: f64| self.exposure_s / mttf_s.max(1e-9);
        (mttf.high.map_or(0.0, count), mttf.low.map(count))
    }

    /// Stalls that were counted, which is what the forecast forecasts.
    pub fn counted(&self) -> u64 {
        self.run.activations.devices.first().map_or(0, |device| device.stalls)
    }

    /// Whether the count is one that a rate within the forecast's interval would produce.
    pub fn agrees(&self) -> bool {
        let (fewest, most) = self.expected();
        // Two standard deviations of a Poisson count, and one for what cannot be halved.
        let spread = |mean: f64| 2.0 * mean.sqrt() + 1.0;
        let counted = self.counted() as f64;
        most.is_none_or(|most| counted <= most + spread(most)) && counted >= fewest - spread(fewest)
    }
}

/// Records without a device, then runs each device, and lays the two side by side.
///
/// # Errors
/// [`StudyError`].
pub fn verify(
    plan: &VerifyPlan,
    observe: &mut dyn FnMut(&str, &mut Observation<'_>) -> Step,
) -> Result<Verification, StudyError> {
    let path = plan.directory.join("without.punctual");
    let mut probe = Plan::new(&path);
    (probe.policy, probe.priorities) = match plan.devices.first().map(|device| device.context) {
        Some(Context::Thread(Scheduling::Fifo(priority))) => (Policy::Fifo, vec![priority]),
        Some(Context::Thread(Scheduling::RoundRobin(priority))) => (Policy::RoundRobin, vec![priority]),
        _ => (Policy::Other, Vec::new()),
    };
    probe.cpus = Some(vec![plan.cpu]);
    probe.duration_ns = Some(plan.duration_ns / 2);
    probe.command_line = plan.command_line.clone();
    let mut stopped = false;
    record_under(probe, &plan.load, &mut |observation| {
        let step = observe("without a device", observation);
        stopped |= step != Step::Go;
        step
    })?;
    let recording = Recording::open(&path)?;
    let document = recording.document();
    let (tail, maxima) = recording.tail_and_maxima()?;
    let inputs = Input::from_recording(document, &tail, &maxima, recording.damaged())?;
    let devices = plan.devices.iter().map(|device| device.profile.clone()).collect();
    let answer = answer(&inputs, &Question { devices, horizons: Vec::new(), ..Question::default() })?;
    let exposure_s = answer.groups.first().map_or(0.0, |group| group.exposure_s);
    let answers: Vec<DeviceAnswer> = answer.groups.into_iter().take(1).flat_map(|group| group.devices).collect();
    let each_ns = plan.duration_ns / 2 / (plan.devices.len().max(1) as u64);
    let mut verified = Vec::new();
    for (number, (device, answer)) in plan.devices.iter().zip(answers).enumerate() {
        if stopped {
            break;
        }
        let run_plan = DeviceRunPlan {
            devices: vec![device.clone()],
            competitors: Vec::new(),
            load: plan.load.clone(),
            cpu: plan.cpu,
            duration_ns: each_ns,
            output: plan.directory.join(format!("{number:02}-{}.punctual", device.profile.id)),
            command_line: plan.command_line.clone(),
            refuse_every: 0,
        };
        let run = run(&run_plan, &mut |observation| {
            let step = observe(&device.profile.id, observation);
            stopped |= step != Step::Go;
            step
        })?;
        let blocks = run.activations.devices.first().map_or(0, |device| device.arrived);
        let exposure_s = blocks as f64 * device.profile.period_ns as f64 / 1e9;
        verified.push(Verified { answer, run, exposure_s });
    }
    Ok(Verification { recording: path, exposure_s, devices: verified })
}
