//! A soft device, run anew with each setting.

use super::subject::{AttemptPlan, Made, Tried, long_enough};
use super::{Chosen, Doing, ReservePlan, ReserveProgress, StudyEnd, end_of, step};
use crate::StudyError;
use crate::device::{DevicePart, DeviceRun, DeviceRunPlan, DeviceWork};
use crate::running::{GettingReady, Running};
use punctual_context::device::{Competitor, Phase, Wake};
use punctual_context::{Context, Form, Reservation as Reserved};
use punctual_device::Profile;
use punctual_kernel::scheduling::Scheduling;
use punctual_load::Load;
use punctual_probe::RunError;
use punctual_recording::{DeviceSummary, Distribution, EndReason, LoadInfo};
use punctual_reserve::{AttemptCounts, Job, Jobs, PeriodicJob, SLACK_NS, Setting, Work};
use std::path::PathBuf;
use std::time::Duration;

/// A soft device, and what competes with it.
#[derive(Debug, Clone)]
pub struct DeviceSubject {
    /// What it is.
    pub profile: Profile,
    /// What it does.
    pub work: DeviceWork,
    /// How its thread is scheduled without a reservation.
    pub scheduling: Scheduling,
    /// What competes with it.
    pub competitors: Vec<Competitor>,
    /// Its CPU if it has no reservation.
    pub cpu: u32,
    /// How its line changes; empty: not at all.
    pub phases: Vec<Phase>,
}

/// A device whose settings are tried, alongside the load.
pub(super) struct DeviceRuns<'a> {
    subject: &'a DeviceSubject,
    /// What competes: the subject's competitors, and spinners.
    competitors: Vec<Competitor>,
    /// Other devices, which work at the same time.
    beside: Vec<DevicePart>,
    /// Ends with this.
    load: Option<Running<'a>>,
    /// What recordings say of it.
    info: LoadInfo,
    command_line: &'a [String],
    /// What ended runs before their time, until somebody asks.
    cut_short: Vec<String>,
}

impl<'a> DeviceRuns<'a> {
    /// Starts the load.
    pub(super) fn start(
        plan: &'a ReservePlan,
        subject: &'a DeviceSubject,
        getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    ) -> Result<DeviceRuns<'a>, StudyError> {
        let load =
            if plan.load.is_none() { None } else { Some(Running::start(&plan.load, None, None, getting_ready)?) };
        let (info, command_line) = (plan.load.info(), &plan.command_line);
        let competitors = subject.competitors.clone();
        Ok(DeviceRuns { subject, competitors, beside: Vec::new(), load, info, command_line, cut_short: Vec::new() })
    }

    /// From now on it tries this device, and the others work with what they have.
    pub(super) fn turn_to(&mut self, subject: &'a DeviceSubject, beside: Vec<DevicePart>) {
        (self.subject, self.beside) = (subject, beside);
        self.compete_with(0);
    }

    /// From now on so many spinners at normal priority compete, besides the subject's competitors.
    pub(super) fn compete_with(&mut self, spinners: u32) {
        let more = (0..spinners).map(|_| Competitor::Spin(Scheduling::Other));
        self.competitors = self.subject.competitors.iter().copied().chain(more).collect();
    }

    /// What the device takes, on its own at a priority above what competes; and how late its interrupt was at most, ns.
    pub(super) fn measure(
        &mut self,
        plan: &ReservePlan,
        observe: &mut dyn FnMut(&ReserveProgress) -> bool,
    ) -> Result<(Chosen, Job, u64), StudyError> {
        let is_at_least = match self.subject.scheduling {
            Scheduling::Fifo(own) | Scheduling::RoundRobin(own) => own >= plan.priority,
            Scheduling::Deadline { .. } => true,
            Scheduling::Other | Scheduling::Idle => false,
        };
        let setting = if is_at_least { Setting::AsItWas } else { Setting::Priority(plan.priority) };
        let (doing, output) = (Doing::Measuring, plan.directory.join("measured.punctual"));
        let own_ns = self.subject.profile.period_ns;
        let period_ns = self.subject.phases.first().map_or(own_ns, |phase| phase.period_ns);
        let measure_ns = long_enough(plan.measure_ns, period_ns);
        let (end, run) = self.run(setting, doing, measure_ns, output, (0, measure_ns), observe)?;
        let summary = run.activations.devices.first();
        let failed = |why: &str| StudyError::Setting(why.to_owned());
        if end == StudyEnd::Interrupted {
            let why = self.cut_short.pop().map(|why| format!(": {why}")).unwrap_or_default();
            return Err(failed(&format!("interrupted before the device's work was measured{why}")));
        }
        let summary =
            summary.filter(|summary| summary.processed > 0).ok_or_else(|| failed("no block was processed"))?;
        let at = |distribution: &Distribution, quantile| distribution.quantile(quantile).unwrap_or(0);
        let work = Work {
            median_ns: at(&summary.executed, 0.5),
            p99_ns: at(&summary.executed, 0.99),
            max_ns: summary.executed.max().unwrap_or(0),
        };
        let profile = &self.subject.profile;
        let chosen = Chosen {
            tid: None,
            name: profile.id.clone(),
            job: PeriodicJob {
                period_ns,
                jobs: usize::try_from(summary.processed).unwrap_or(usize::MAX),
                merged: 0,
                regular_thousandths: 1_000,
                work,
                worst_response_ns: summary.response.max().unwrap_or(0),
            },
            scheduling: self.subject.scheduling.to_string(),
            is_at_least,
            others: Vec::new(),
            note: None,
        };
        // A block is due when the buffers after it have gone.
        let deadline_ns = u64::from(profile.buffers.saturating_sub(1)).saturating_mul(period_ns);
        let lateness_ns = at(&summary.response, 0.99).saturating_sub(work.p99_ns);
        Ok((chosen, Job { period_ns, work_ns: work.p99_ns, deadline_ns }, lateness_ns))
    }

    fn run(
        &mut self,
        setting: Setting,
        doing: Doing,
        duration_ns: u64,
        output: PathBuf,
        (before_ns, all_ns): (u64, u64),
        observe: &mut dyn FnMut(&ReserveProgress) -> bool,
    ) -> Result<(StudyEnd, DeviceRun), StudyError> {
        let mut devices = vec![part(self.subject, setting)];
        devices.extend(self.beside.iter().cloned());
        let mut tell = |elapsed: Duration| {
            let elapsed = Duration::from_nanos(before_ns) + elapsed;
            observe(&ReserveProgress { doing, elapsed, duration: Duration::from_nanos(all_ns) })
        };
        self.run_all(devices, duration_ns, output, &mut tell)
    }

    /// Runs these devices at once. `observe` is told how long they have been running.
    pub(super) fn run_all(
        &mut self,
        devices: Vec<DevicePart>,
        duration_ns: u64,
        output: PathBuf,
        observe: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<(StudyEnd, DeviceRun), StudyError> {
        let plan = DeviceRunPlan {
            devices,
            competitors: self.competitors.clone(),
            load: Load::none(),
            running: self.info.clone(),
            cpus: vec![self.subject.cpu],
            duration_ns,
            output,
            command_line: self.command_line.to_vec(),
            refuse_every: 0,
            without_taps: false,
        };
        let mut failure = None;
        let load = &mut self.load;
        let run = crate::device::run(&plan, &mut |observation| {
            if let Some(load) = load {
                failure = failure.take().or(load.look().failure);
            }
            step(observe(observation.elapsed) && failure.is_none())
        })?;
        if let Some(failure) = failure {
            return Err(StudyError::LoadFailed(failure));
        }
        let ended = run.document.ended.as_ref();
        // Neither its time was over nor did anybody ask.
        let by_itself = ended.filter(|ended| !matches!(ended.reason, EndReason::Completed | EndReason::Interrupted));
        self.cut_short.extend(by_itself.and_then(|ended| ended.detail.clone()));
        Ok((end_of(ended.map(|ended| ended.reason)), run))
    }
}

/// The device with a setting.
pub(super) fn part(subject: &DeviceSubject, setting: Setting) -> DevicePart {
    let context = match setting {
        Setting::AsItWas => Context::Thread(subject.scheduling),
        Setting::Priority(priority) => Context::Thread(Scheduling::Fifo(priority)),
        Setting::Reserved(tried) => Context::Reservation(Reserved {
            runtime_ns: tried.budget_ns,
            period_ns: tried.period_ns,
            form: Form::Floating,
        }),
    };
    DevicePart {
        profile: subject.profile.clone(),
        context,
        wake: Wake::Timer,
        drop_stale: false,
        reclaim: false,
        compete: false,
        phases: subject.phases.clone(),
        work: subject.work.clone(),
    }
}

impl Tried for DeviceRuns<'_> {
    fn attempt(
        &mut self,
        job: Job,
        plan: &AttemptPlan,
        observe: &mut dyn FnMut(&ReserveProgress) -> bool,
    ) -> Result<Made, StudyError> {
        let attempt_ns = long_enough(plan.attempt_ns, job.period_ns);
        let mut done = Vec::new();
        // A repeated measurement is compared by its recording, of which there is one.
        let tries = if matches!(plan.doing, Doing::Proving(..)) { 1 } else { MAX_TRIES };
        for number in 0..plan.count {
            for again in 0..tries {
                // Each of several attempts is a recording.
                let output = match (plan.count, again) {
                    (1, 0) => plan.output.clone(),
                    (_, 0) => numbered(&plan.output, (number + 1).to_string()),
                    _ => numbered(&plan.output, format!("{}-again-{again}", number + 1)),
                };
                let when = (u64::from(number) * attempt_ns, u64::from(plan.count) * attempt_ns);
                match self.run(plan.setting, plan.doing, attempt_ns, output, when, observe) {
                    Ok((StudyEnd::Finished, run)) => {
                        let devices = &run.activations.devices;
                        // An attempt in which none came counts as one that cannot be judged.
                        if has_run(devices) || again + 1 == tries {
                            done.extend(devices.first().map(|summary| counts(summary, attempt_ns)));
                            break;
                        }
                    }
                    Ok((end, _)) => return Ok(Made::Counts(end, done)),
                    Err(_) if punctual_kernel::ending::is_asked() => {
                        return Ok(Made::Counts(StudyEnd::Interrupted, done));
                    }
                    Err(StudyError::Run(RunError::Refused(refused))) => {
                        return Ok(Made::Refused { why: refused.to_string(), is_full: refused.is_full });
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Made::Counts(StudyEnd::Finished, done))
    }

    /// Nothing was changed; says what ended runs before their time.
    fn put_back(&mut self) -> Vec<String> {
        std::mem::take(&mut self.cut_short)
    }
}

/// If the devices did not begin before an attempt ended, because this program was kept from the CPU, the attempt is
/// repeated: this many in all.
const MAX_TRIES: u32 = 3;

/// Whether any block came: if none did, the run was over before the devices began, and says nothing about their settings.
pub(super) fn has_run(devices: &[DeviceSummary]) -> bool {
    devices.iter().any(|device| device.arrived > 0)
}

fn numbered(output: &std::path::Path, number: String) -> PathBuf {
    let name = output.file_stem().unwrap_or_default().to_string_lossy();
    output.with_file_name(format!("{name}-{number}.punctual"))
}

/// What became of a device's blocks in a run of this length. Underruns are blocks that were late or never processed; those that the
/// lateness of a thread above everybody explains are not the setting's. What waited at the end for longer than the buffers last is
/// missing, too; what was held up while punctual itself rested is left out. Blocks whose records were lost, whose interrupts were not
/// seen, or that punctual itself withheld are unseen.
pub(super) fn counts(summary: &DeviceSummary, duration_ns: u64) -> AttemptCounts {
    counts_of(summary, duration_ns.saturating_sub(SLACK_NS) / summary.period_ns.max(1))
}

/// The same where so many blocks come.
pub(super) fn counts_of(summary: &DeviceSummary, due: u64) -> AttemptCounts {
    let lost = summary.underruns.saturating_sub(summary.late);
    let ahead = u64::from(summary.buffers.saturating_sub(1));
    let due = due.min(summary.arrived).saturating_sub(ahead);
    let waiting = due.saturating_sub(summary.processed + lost + summary.rested);
    // The number of a block whose record was lost is missing, too, if any came after it.
    let unrecorded = summary.records_lost.min(lost);
    let not_shown = summary.records_lost - unrecorded + summary.unobserved + summary.refused;
    let not_shown = not_shown.min(waiting);
    let jobs = Jobs {
        on_time: summary.processed.saturating_sub(summary.late + summary.rested),
        late: summary.late,
        missing: lost - unrecorded + waiting - not_shown,
    };
    let counts = AttemptCounts::new(jobs, summary.underruns_outside, summary.response.max().unwrap_or(0));
    counts.with_unseen(unrecorded + not_shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 10_000_000;

    fn run(processed: u64, underruns: u64, late: u64) -> DeviceSummary {
        let (period_ns, buffers) = (PERIOD, 2);
        DeviceSummary { period_ns, buffers, arrived: 200, processed, underruns, late, ..DeviceSummary::default() }
    }

    #[test]
    fn each_block_is_on_time_late_or_missing_and_counted_once() {
        let of = |summary: &DeviceSummary| counts(summary, 200 * PERIOD);
        assert_eq!(of(&run(199, 0, 0)).jobs(), Jobs { on_time: 199, late: 0, missing: 0 });
        // 40 were overwritten: underruns, but not late.
        let late = of(&run(160, 90, 50));
        assert_eq!(late.jobs(), Jobs { on_time: 110, late: 50, missing: 40 });
        assert_eq!((late.jobs().all(), late.failures()), (200, 90));
        // One was processed, and everything else waited until the end.
        assert_eq!(of(&run(1, 1, 1)).jobs(), Jobs { on_time: 0, late: 1, missing: 192 });
        assert!(of(&run(190, 0, 0)).jobs().missing == 3 && of(&run(193, 0, 0)).succeeded());
        // What a thread above everybody was late for, and what punctual itself kept from coming.
        let outside = of(&DeviceSummary { underruns_outside: 90, ..run(160, 90, 50) });
        assert!(outside.succeeded() && outside.by_host() == 90);
        assert_eq!(of(&DeviceSummary { rested: 30, ..run(180, 0, 0) }).jobs().all(), 150);
        // Processed, but nobody knows when: 40 records were lost, and with the last two of them no block came after.
        let unseen = of(&DeviceSummary { records_lost: 42, ..run(150, 40, 0) });
        assert_eq!((unseen.jobs(), unseen.unseen()), (Jobs { on_time: 150, late: 0, missing: 1 }, 42));
        // Nothing came at all.
        assert!(!of(&DeviceSummary { arrived: 0, ..run(0, 0, 0) }).is_judged());
    }
}
