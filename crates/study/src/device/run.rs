//! One recording of one or more devices at work on a CPU, beside a bystander above them.

use super::outside::Control;
use crate::{StudyError, record_under};
use punctual_context::device::{CUT, Competing, Competitor, DeviceCounts, DeviceSetup, Phase, Rig, UNOBSERVED, Wake};
use punctual_context::{Context, Reservation};
use punctual_device::{Judge, Profile, Sampling};
use punctual_kernel::ending::GettingReady;
use punctual_kernel::{Refused, clock, scheduling};
use punctual_load::Load;
use punctual_probe::{Observation, Plan, RunError, Step};
use punctual_recording::{
    ACTIVATIONS_SCHEMA, ActivationDocument, ActivationRow, ActivationWriter, DeviceSummary, Distribution, Document,
    EndReason, Recording, RecordingKind, Wakeup, format_ns,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The bystander's FIFO priority and period: the papers' callback every millisecond, above the device.
const BYSTANDER: u32 = 95;
/// The control's priority: what keeps it from the CPU keeps everybody.
const CONTROL: u32 = 99;
/// The bystander's period, ns.
pub const BYSTANDER_PERIOD_NS: u64 = 1_000_000;
/// What competes ends by itself so long after the run, ns, whoever may be starved then.
const OVERTIME_NS: u64 = 200_000_000;
/// A segment of activations is closed this often.
const FLUSH: Duration = Duration::from_secs(1);

/// A device of a run.
#[derive(Debug, Clone)]
pub struct DevicePart {
    /// What it is.
    pub profile: Profile,
    /// Where its work runs.
    pub context: Context,
    /// What wakes its thread.
    pub wake: Wake,
    /// Whether only the newest block is worth processing.
    pub drop_stale: bool,
    /// A reservation may use time that others leave.
    pub reclaim: bool,
    /// After its budget it goes on at normal priority until the next period.
    pub compete: bool,
    /// How the line's rate changes during the run; empty: not at all.
    pub phases: Vec<Phase>,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct DeviceRunPlan {
    /// The devices; without any, only the bystander and the control run.
    pub devices: Vec<DevicePart>,
    /// What competes with them.
    pub competitors: Vec<Competitor>,
    /// What else keeps the machine busy.
    pub load: Load,
    /// Their CPU.
    pub cpu: u32,
    /// How long, ns.
    pub duration_ns: u64,
    /// The recording to write.
    pub output: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
    /// For tests: each so many-th softirq callback is one that the kernel refuses; 0: none.
    pub refuse_every: u64,
}

/// What came of a run.
#[derive(Debug)]
pub struct DeviceRun {
    /// Where the recording is.
    pub path: PathBuf,
    /// The recording of the bystander and the control.
    pub document: Document,
    /// The devices.
    pub activations: ActivationDocument,
}

/// Carries out a plan. `observe` is called about every 50 ms and says whether to go on.
///
/// # Errors
/// [`StudyError`].
pub fn run(
    plan: &DeviceRunPlan,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<DeviceRun, StudyError> {
    let refused = |refused| StudyError::Run(RunError::Refused(refused));
    let setups: Vec<DeviceSetup> = plan.devices.iter().map(|part| setup(part, plan)).collect();
    let getting_ready = GettingReady::begin();
    let mut rig = Rig::prepare(&setups, plan.cpu).map_err(refused)?;
    drop(getting_ready);
    let anywhere = plan.devices.iter().any(|device| matches!(device.context, Context::Reservation(_)));
    // A reservation may run on any CPU, so its competitors must be on every one.
    let cpus = if anywhere { scheduling::allowed_cpus() } else { vec![plan.cpu] };

    let mut probe = Plan::new(&plan.output);
    probe.interval_ns = BYSTANDER_PERIOD_NS;
    probe.duration_ns = Some(plan.duration_ns);
    probe.priorities = vec![BYSTANDER, CONTROL];
    probe.cpus = Some(vec![plan.cpu]);
    probe.kind = RecordingKind::Activations;
    probe.command_line = plan.command_line.clone();

    let mut summaries: Vec<DeviceSummary> =
        plan.devices.iter().enumerate().map(|(index, device)| describe(device, &setups[index], &rig, index)).collect();
    let mut judges: Vec<Judge> = Vec::new();
    let mut writer: Option<ActivationWriter> = None;
    let mut competing = None;
    let mut started_ns = 0;
    let mut trouble: Option<StudyError> = None;
    let mut directory = None;
    let mut flushed = Instant::now();
    let result = record_under(probe, &plan.load, &mut |observation| {
        let begun = writer.is_some();
        directory.get_or_insert_with(|| observation.directory().clone());
        let mut step = || -> Result<(), StudyError> {
            let Some(writer) = &mut writer else {
                writer = Some(ActivationWriter::create(observation.directory())?);
                let end_ns = clock::monotonic_ns().saturating_add(plan.duration_ns).saturating_add(OVERTIME_NS);
                rig.end_at(end_ns);
                competing = Some(Competing::start(&plan.competitors, &cpus, end_ns).map_err(refused)?);
                started_ns = clock::monotonic_ns();
                let judge = |setup: (&DeviceSetup, &DevicePart)| {
                    Judge::new(setup.0.period_ns, setup.1.profile.buffers, started_ns)
                };
                judges = setups.iter().zip(&plan.devices).map(judge).collect();
                return rig.start().map_err(refused);
            };
            rig.round(&mut |index, activation| {
                let row = row(index, activation);
                judges[index].take(&row, &mut summaries[index]);
                summaries[index].elsewhere += u64::from(row.cpu != plan.cpu);
                writer.push(&row);
            });
            rig.change_phases(&mut |index, phase| {
                let buffers = plan.devices[index].profile.buffers;
                judges[index].set_period(clock::monotonic_ns(), phase.period_ns, buffers);
            })
            .map_err(refused)?;
            if flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                writer.flush()?;
            }
            Ok(())
        };
        if let Err(error) = step() {
            trouble = Some(error);
            return Step::Stop(EndReason::Failed, Some("a device could not be run".to_owned()));
        }
        if begun && rig.is_starved() {
            let detail = "a device's thread left the rest of the program no CPU time for 5 s: lower its priority";
            return Step::Stop(EndReason::Watchdog, Some(detail.to_owned()));
        }
        observe(observation)
    });
    drop(competing);
    if let Some(error) = trouble {
        // Nothing of the device was measured.
        if let Some(directory) = directory {
            directory.discard();
        }
        return Err(error);
    }
    let document = result?.document;
    let stopped_ns = clock::monotonic_ns();
    let mut rest = Vec::new();
    rig.stop(&mut |index, activation| rest.push(row(index, activation)));
    for row in rest {
        let index = row.device as usize;
        judges[index].take(&row, &mut summaries[index]);
        summaries[index].elsewhere += u64::from(row.cpu != plan.cpu);
        if let Some(writer) = &mut writer {
            writer.push(&row);
        }
    }
    for (index, summary) in summaries.iter_mut().enumerate() {
        count(summary, &rig.counts(index), stopped_ns.saturating_sub(started_ns));
    }
    let ran_ns = stopped_ns.saturating_sub(started_ns);
    let never_came = setups.iter().enumerate().find_map(|(index, setup)| {
        // Before a few periods have passed, nothing need have come.
        let due = started_ns != 0 && ran_ns > setup.period_ns.saturating_mul(3);
        let silent = || {
            let summary = &summaries[index];
            let in_kernel = setup.context.is_in_kernel() && summary.processed + summary.refused == 0;
            in_kernel.then(|| format!("{} interrupts came and no block was processed", summary.interrupts.unwrap_or(0)))
        };
        due.then(|| rig.trouble(index).or_else(silent)).flatten().map(|trouble| (index, trouble))
    });
    drop(rig);
    if let Some((index, trouble)) = never_came {
        // Underruns of activations that never came say nothing of the machine.
        if let Some(directory) = directory {
            directory.discard();
        }
        let doing = format!("running the device `{}` in {}", setups[index].name, setups[index].context);
        return Err(refused(Refused::because(doing, trouble)));
    }

    let mut activations = ActivationDocument {
        schema: ACTIVATIONS_SCHEMA.to_owned(),
        devices: summaries,
        competitors: plan.competitors.iter().map(Competitor::to_string).collect(),
        started_ns,
        not_reached: phases_not_reached(plan, stopped_ns.saturating_sub(started_ns)),
        ..ActivationDocument::default()
    };
    let (intervals, control) = look_at_threads(plan, &document)?;
    activations.bystander_intervals = intervals;
    let measure = |index: usize| document.tasks.get(index).map_or_else(String::new, |task| task.measure.clone());
    (activations.bystander, activations.control) = (measure(0), measure(1));
    for (index, summary) in activations.devices.iter_mut().enumerate() {
        let context = plan.devices[index].context;
        let outranks = context.is_in_kernel() || matches!(context, Context::Reservation(Reservation { .. }));
        if let Some(judge) = judges.get(index) {
            (summary.underruns_outside, summary.underruns_stolen) = control.explain(judge.underruns(), outranks);
        }
    }
    if let Some(writer) = writer {
        writer.finish(&activations)?;
    }
    Ok(DeviceRun { path: plan.output.clone(), document, activations })
}

/// Says which phases a run of this length did not come to, or not to the end of; `None` where it came to all.
fn phases_not_reached(plan: &DeviceRunPlan, ran_ns: u64) -> Option<String> {
    let phases = &plan.devices.first()?.phases;
    let begins = phases.iter().scan(0u64, |begin, phase| {
        let this = *begin;
        *begin = begin.saturating_add(phase.length_ns);
        Some(this)
    });
    let reached = begins.filter(|begin| *begin < ran_ns).count();
    let last = phases.len();
    (reached < last).then(|| {
        let needed: u64 = phases.iter().take(last - 1).map(|phase| phase.length_ns).fold(0, u64::saturating_add);
        format!(
            "The run ended after {} in phase {reached} of {last}: what follows rests on the phases until then (the last \
             begins after {})",
            format_ns(ran_ns / 1_000_000 * 1_000_000),
            format_ns(needed)
        )
    })
}

fn setup(part: &DevicePart, plan: &DeviceRunPlan) -> DeviceSetup {
    let Sampling { samples, ring } = Sampling::of(&part.profile);
    let first = part.phases.first();
    // A sample is the same work in every phase.
    let compute_ns = first.map_or(part.profile.compute_ns, |phase| {
        part.profile.compute_ns * u64::from(phase.samples) / u64::from(samples.max(1))
    });
    DeviceSetup {
        name: part.profile.id.clone(),
        period_ns: first.map_or(part.profile.period_ns, |phase| phase.period_ns),
        compute_ns,
        samples: first.map_or(samples, |phase| phase.samples),
        phases: part.phases.clone(),
        ring,
        drop_stale: part.drop_stale,
        context: part.context,
        wake: part.wake,
        reclaim: part.reclaim,
        compete: part.compete,
        refuse_every: plan.refuse_every,
    }
}

fn describe(part: &DevicePart, setup: &DeviceSetup, rig: &Rig, index: usize) -> DeviceSummary {
    let (speed, passes) = rig.calibration(index);
    let wake = match part.wake {
        _ if part.context.is_in_kernel() => None,
        Wake::Timer => Some("timer".to_owned()),
        Wake::Softirq => Some("softirq".to_owned()),
    };
    DeviceSummary {
        device: part.profile.id.clone(),
        context: part.context.to_string(),
        wake,
        drop_stale: part.drop_stale,
        reclaim: part.reclaim,
        compete: part.compete,
        period_ns: setup.period_ns,
        buffers: part.profile.buffers,
        compute_ns: setup.compute_ns,
        samples: setup.samples,
        ring: setup.ring,
        passes,
        mac_thousandths_ns: (speed.multiply_accumulate_ns() * 1e3).round() as u64,
        ..DeviceSummary::default()
    }
}

fn row(index: usize, activation: &punctual_context::device::Activation) -> ActivationRow {
    ActivationRow {
        device: index as u32,
        block: activation.block,
        arrival_ns: activation.arrival,
        interrupt_ns: (activation.interrupt != 0).then_some(activation.interrupt),
        start_ns: activation.start,
        end_ns: activation.end,
        executed_ns: activation.executed,
        pending: activation.pending,
        queued: activation.queued,
        cpu: activation.cpu,
        cut: activation.flags & CUT != 0,
        unobserved: activation.flags & UNOBSERVED != 0,
    }
}

/// Puts in what the devices counted themselves.
fn count(summary: &mut DeviceSummary, counts: &DeviceCounts, ran_ns: u64) {
    summary.arrived = counts.arrived;
    summary.coalesced = counts.coalesced;
    summary.dropped = counts.dropped;
    summary.lost = counts.lost;
    summary.overruns = counts.overruns;
    summary.records_lost = counts.records_lost;
    summary.demotions = counts.demotions;
    let executed = summary.executed.mean().unwrap_or(0) as f64 * summary.processed as f64;
    summary.share_millionths = (executed * 1e6 / ran_ns.max(1) as f64).round() as u64;
    let Some(kernel) = &counts.kernel else { return };
    summary.refused = kernel.refused;
    summary.unobserved = kernel.unobserved;
    summary.callbacks_refused = kernel.callbacks.refused;
    summary.refusal = kernel.callbacks.refusal();
    summary.cut = kernel.cut;
    summary.interrupts = Some(kernel.interrupts);
    summary.interrupt_ns = Some(kernel.interrupt_ns);
    let levels = ["thread", "softirq", "interrupt", "nmi"];
    let seen = levels.iter().enumerate().filter(|(bit, _)| kernel.levels & (1 << bit) != 0);
    summary.proven = seen.map(|(_, name)| (*name).to_owned()).collect();
}

/// The times between the bystander's callbacks, and what kept the control.
fn look_at_threads(plan: &DeviceRunPlan, document: &Document) -> Result<(Distribution, Control), StudyError> {
    let tid = |index: usize| document.tasks.get(index).map(|task| task.tid);
    let (bystander, control) = (tid(0), tid(1));
    let mut intervals = Distribution::new();
    let mut late = Control::default();
    let mut last: Option<u64> = None;
    Recording::open(&plan.output)?.for_each_wakeup(|wakeup: &Wakeup| {
        if Some(wakeup.tid) == control {
            late.take(wakeup);
        } else if Some(wakeup.tid) == bystander {
            let callback = wakeup.expected_ns + wakeup.total_ns;
            if let Some(last) = last
                && callback > last
            {
                intervals.record(callback - last);
            }
            last = Some(callback);
        }
    })?;
    Ok((intervals, late))
}
