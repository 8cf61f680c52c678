//! A forecast made from recordings without a device, and the underruns counted with the device beside them, in turn.

use super::part::DevicePart;
use super::run::{DeviceRun, DeviceRunPlan, run};
use super::turns::{Turn, order_of, range_between, rounds_of};
use crate::{StudyError, record_under};
use punctual_context::Context;
use punctual_forecast::{DeviceAnswer, Input, Question, answer};
use punctual_kernel::scheduling::Scheduling;
use punctual_load::Load;
use punctual_probe::{Observation, Plan, Policy, Step};
use punctual_recording::{Directory, LoadInfo, Recording, Stage};
use std::path::PathBuf;

/// What to verify.
#[derive(Debug, Clone)]
pub struct VerifyPlan {
    /// The devices, each run on its own; in threads.
    pub devices: Vec<DevicePart>,
    /// What keeps the machine busy, in both parts.
    pub load: Load,
    /// The CPU.
    pub cpu: u32,
    /// How long to measure in all, ns: half without a device, half shared by the devices.
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
    /// The runs with the device, one per round.
    pub runs: Vec<DeviceRun>,
    /// How long they were together, s.
    pub exposure_s: f64,
    /// By which factor, at most, the rate in these rounds may differ from that in the rounds without a device because
    /// the machine itself changed, with 95 %: judging by how much rounds without a device differ from each other. 1 if
    /// they differ by no more than chance; `None` for fewer than three rounds, which cannot tell.
    pub range: Option<f64>,
}

/// What came of it.
#[derive(Debug)]
pub struct Verification {
    /// The recordings without a device, one for each round.
    pub recordings: Vec<PathBuf>,
    /// How long they were together, s.
    pub exposure_s: f64,
    /// Each device.
    pub devices: Vec<Verified>,
}

impl Verified {
    /// Stalls to be expected in the time that the device ran: the fewest and, if the forecast has a limit, the most.
    pub fn expected(&self) -> (f64, Option<f64>) {
        let mttf = &self.answer.underruns.mttf_s;
        let range = self.range.unwrap_or(1.0);
        let count = |mttf_s: f64| self.exposure_s / mttf_s.max(1e-9);
        (mttf.high.map_or(0.0, count) / range, mttf.low.map(|low| count(low) * range))
    }

    /// Stalls that were counted, which is what the forecast predicts.
    pub fn counted(&self) -> u64 {
        self.runs.iter().filter_map(|run| run.activations.devices.first()).map(|device| device.stalls).sum()
    }

    /// Whether a rate within the forecast's interval would produce this count; `None` if the interval is so wide that
    /// almost any count would agree with it.
    pub fn agrees(&self) -> Option<bool> {
        agreement(self.counted(), self.expected(), self.answer.underruns.dispersion.max(1.0))
    }
}

/// A forecast tells something if the most that it expects is no more than so many times the fewest, one at least.
const WIDE: f64 = 10.0;

/// Whether a count agrees with what was expected, the fewest and the most; `None` if nearly any would. What is outside
/// even a wide interval contradicts it.
fn agreement(counted: u64, (min, max): (f64, Option<f64>), dispersion: f64) -> Option<bool> {
    // Two standard deviations of a count that varies as counts without a device do, and one for what cannot be halved.
    let spread = |mean: f64| 2.0 * (mean * dispersion).sqrt() + 1.0;
    let counted = counted as f64;
    let is_within = max.is_none_or(|max| counted <= max + spread(max)) && counted >= min - spread(min);
    let is_narrow = max.is_some_and(|max| max <= WIDE * min.max(1.0));
    (is_narrow || !is_within).then_some(is_within)
}

/// Starting a recording takes about this long, ns, besides the warm-up of its load.
const START_NS: u64 = 600_000_000;

/// How long a verification takes in all, ns: each of its recordings has to be started, and its load with it.
pub fn verify_takes(plan: &VerifyPlan) -> u64 {
    let turns = order_of(rounds_of(plan.duration_ns), plan.devices.len()).len() as u64;
    let warm_up_ns = u64::try_from(plan.load.warm_up.as_nanos()).unwrap_or(u64::MAX);
    plan.duration_ns.saturating_add(warm_up_ns.saturating_add(START_NS).saturating_mul(turns))
}

/// Records without a device and with each, in turn, and puts the two side by side. `observe` is told the recording's
/// number, how many there are, and what it is of.
///
/// # Errors
/// [`StudyError`].
pub fn verify(
    plan: &VerifyPlan,
    observe: &mut dyn FnMut(usize, usize, &str, &mut Observation<'_>) -> Step,
) -> Result<Verification, StudyError> {
    let rounds = rounds_of(plan.duration_ns);
    let mut verifying = Verifying {
        plan,
        rounds,
        without: Vec::new(),
        recordings: Vec::new(),
        runs: plan.devices.iter().map(|_| Vec::new()).collect(),
    };
    let turns = order_of(rounds, plan.devices.len());
    let count = turns.len();
    for (number, turn) in turns.into_iter().enumerate() {
        let mut stopped = false;
        let mut watched = |what: &str, observation: &mut Observation<'_>| {
            let step = observe(number, count, what, observation);
            stopped |= step != Step::Go;
            step
        };
        match turn {
            Turn::Without { round } => verifying.record(round, &mut watched)?,
            Turn::With { round, device } => verifying.run(round, device, &mut watched)?,
        }
        if stopped {
            break;
        }
    }
    verifying.conclude()
}

struct Verifying<'a> {
    plan: &'a VerifyPlan,
    rounds: u32,
    /// What was seen without a device, by round.
    without: Vec<Input>,
    recordings: Vec<PathBuf>,
    /// By device and round.
    runs: Vec<Vec<DeviceRun>>,
}

impl Verifying<'_> {
    fn record(
        &mut self,
        round: u32,
        observe: &mut dyn FnMut(&str, &mut Observation<'_>) -> Step,
    ) -> Result<(), StudyError> {
        let plan = self.plan;
        let path = plan.directory.join(format!("without-{round}.punctual"));
        let mut probe = Plan::new(&path);
        (probe.policy, probe.priorities) = match plan.devices.first().map(|device| device.context) {
            Some(Context::Thread(Scheduling::Fifo(priority))) => (Policy::Fifo, vec![priority]),
            Some(Context::Thread(Scheduling::RoundRobin(priority))) => (Policy::RoundRobin, vec![priority]),
            _ => (Policy::Other, Vec::new()),
        };
        probe.cpus = Some(vec![plan.cpu]);
        probe.duration_ns = Some(plan.duration_ns / 2 / u64::from(self.rounds));
        probe.command_line = plan.command_line.clone();
        record_under(probe, &plan.load, &mut |observation| observe("without a device", observation))?;
        let recording = Recording::open(&path)?;
        let (tail, seconds) = recording.tail_and_seconds()?;
        let inputs = Input::from_recording(recording.document(), &tail, &seconds, recording.damaged())?;
        self.without.extend(inputs.into_iter().next());
        self.recordings.push(path);
        Ok(())
    }

    fn run(
        &mut self,
        round: u32,
        device: usize,
        observe: &mut dyn FnMut(&str, &mut Observation<'_>) -> Step,
    ) -> Result<(), StudyError> {
        let (plan, part) = (self.plan, &self.plan.devices[device]);
        let shares = u64::from(self.rounds) * plan.devices.len() as u64;
        // Several devices of one kind are told apart by their place.
        let directory = plan.directory.join(format!("{device:02}-{}", part.profile.id));
        Directory::make(&directory).map(drop)?;
        let run_plan = DeviceRunPlan {
            devices: vec![part.clone()],
            competitors: Vec::new(),
            load: plan.load.clone(),
            running: LoadInfo::default(),
            cpus: vec![plan.cpu],
            duration_ns: plan.duration_ns / 2 / shares,
            output: directory.join(format!("{round}.punctual")),
            command_line: plan.command_line.clone(),
            refuse_every: 0,
            without_taps: false,
        };
        self.runs[device].push(run(&run_plan, &mut |observation| observe(&part.profile.id, observation))?);
        Ok(())
    }

    fn conclude(self) -> Result<Verification, StudyError> {
        let mut without = self.without.iter().cloned();
        let Some(first) = without.next() else { return Err(StudyError::Interrupted) };
        let all = without.try_fold(first, Input::followed_by)?;
        let devices = self.plan.devices.iter().map(|device| device.profile.clone()).collect();
        let question = Question { devices, horizons: Vec::new(), ..Question::default() };
        let answer = answer(&[all], &question)?;
        let exposure_s = answer.groups.first().map_or(0.0, |group| group.exposure_s);
        let answers = answer.groups.into_iter().take(1).flat_map(|group| group.devices);
        let mut devices = Vec::new();
        for (answer, runs) in answers.zip(self.runs).filter(|(_, runs)| !runs.is_empty()) {
            let slack_ns = answer.device.usable_slack_ns().map_err(punctual_forecast::Error::from)?;
            let late: Vec<(Vec<u64>, f64)> = self.without.iter().map(values).collect();
            let range = range_between(&late, slack_ns);
            let blocks = |run: &DeviceRun| run.activations.devices.first().map_or(0, |device| device.arrived);
            let blocks: u64 = runs.iter().map(blocks).sum();
            let exposure_s = blocks as f64 * answer.device.period_ns as f64 / 1e9;
            devices.push(Verified { answer, runs, exposure_s, range });
        }
        Ok(Verification { recordings: self.recordings, exposure_s, devices })
    }
}

/// The largest latenesses of a round, ns, and how long it was, s.
fn values(input: &Input) -> (Vec<u64>, f64) {
    let largest = input.stages.get(&Stage::Total).map(|lateness| lateness.largest.iter());
    (largest.into_iter().flatten().map(|late| late.value_ns).collect(), input.exposure_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_to_be_started_comes_on_top_of_what_is_measured() {
        let profile = punctual_device::Catalogue::shipped().find("v90").unwrap().clone();
        let part = DevicePart {
            work: crate::device::DeviceWork::of(&profile),
            profile,
            context: Context::Thread(Scheduling::Fifo(80)),
            wake: punctual_context::device::Wake::Timer,
            drop_stale: false,
            reclaim: false,
            compete: false,
            phases: Vec::new(),
        };
        let load = Load { warm_up: std::time::Duration::from_secs(5), ..Load::none() };
        let plan = VerifyPlan {
            devices: vec![part],
            load,
            cpu: 0,
            duration_ns: 60_000_000_000,
            directory: PathBuf::new(),
            command_line: Vec::new(),
        };
        // Four rounds of two recordings.
        assert_eq!(verify_takes(&plan), 60_000_000_000 + 8 * 5_600_000_000);
    }

    #[test]
    fn an_interval_that_would_agree_with_almost_any_count_cannot_tell() {
        for (counted, min, max, agrees) in [
            (0, 0.0, Some(968.64), None),
            (500, 0.0, Some(968.64), None),
            (2_000, 0.0, Some(968.64), Some(false)),
            (3, 0.0, None, None),
            (3, 90.0, None, Some(false)),
            (1, 0.0, Some(1.92), Some(true)),
            (9, 0.0, Some(1.92), Some(false)),
            (11, 6.2, Some(42.08), Some(true)),
            (400, 100.0, Some(1_001.0), None),
        ] {
            assert_eq!(agreement(counted, (min, max), 1.0), agrees, "{counted} of {min} to {max:?}");
        }
    }
}
