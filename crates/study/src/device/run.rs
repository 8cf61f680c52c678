//! One recording of one or more devices at work, beside a bystander above them on each of their CPUs.

use super::outside::Control;
use super::part::{DevicePart, DeviceWork};
use super::summary::{count, describe, row};
use crate::StudyError;
use crate::companion::Companion;
use crate::loaded::record_with;
use punctual_context::device::{
    Activation, Competing, Competitor, Decodes, DeviceSetup, DmtSize, MakeGuest, Phase, Rig,
};
use punctual_context::{Context, Form, Reservation};
use punctual_device::{Judge, Sampling, Signal};
use punctual_kernel::ending::GettingReady;
use punctual_kernel::reservation_watch::Freed;
use punctual_kernel::{Refused, clock, scheduling};
use punctual_load::Load;
use punctual_probe::{Observation, Plan, RunError, Step};
use punctual_recording::{
    ACTIVATIONS_SCHEMA, ActivationDocument, ActivationWriter, DeviceSummary, Directory, Distribution, Document,
    EndReason, LoadInfo, NOT_SERVED, Recording, RecordingKind, Wakeup, counted, format_ns,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The bystander's FIFO priority and period: the papers' callback every millisecond, above the device.
const BYSTANDER: u32 = 95;
/// The control's priority: what keeps it from the CPU keeps everybody.
const CONTROL: u32 = 99;
/// The bystander's period, ns.
pub const BYSTANDER_PERIOD_NS: u64 = 1_000_000;
/// What competes ends by itself this long after the run, ns, whoever may be starved then.
const OVERTIME_NS: u64 = 200_000_000;
/// How often a segment of activations is closed.
const FLUSH: Duration = Duration::from_secs(1);

/// What to run.
#[derive(Debug, Clone)]
pub struct DeviceRunPlan {
    /// The devices; without any, only the bystander and the control run.
    pub devices: Vec<DevicePart>,
    /// What competes with them.
    pub competitors: Vec<Competitor>,
    /// What else keeps the machine busy.
    pub load: Load,
    /// What keeps it busy that somebody else starts and ends, for the recording; without a name: nothing.
    pub running: LoadInfo,
    /// Their CPUs, which they take in turn; at least one.
    pub cpus: Vec<u32>,
    /// How long, ns.
    pub duration_ns: u64,
    /// The recording to write.
    pub output: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
    /// For tests: every so many softirq callbacks, the kernel refuses one; 0: none.
    pub refuse_every: u64,
    /// For tests: a device that decodes leaves its equalizer's taps at zero.
    pub without_taps: bool,
}

impl DeviceRunPlan {
    /// The CPU of the device at this place.
    fn cpu_of(&self, index: usize) -> u32 {
        self.cpus[index % self.cpus.len()]
    }

    /// Those that the devices are on, each once; without a device the first.
    fn used_cpus(&self) -> Vec<u32> {
        let mut used = Vec::new();
        for cpu in (0..self.devices.len().max(1)).map(|index| self.cpu_of(index)) {
            if !used.contains(&cpu) {
                used.push(cpu);
            }
        }
        used
    }
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
    /// How many phases of each device's line began; 1 without any.
    pub phases_begun: Vec<usize>,
}

/// Carries out a plan. Calls `observe` about every 50 ms, which says whether to go on.
///
/// # Errors
/// [`StudyError`].
pub fn run(
    plan: &DeviceRunPlan,
    observe: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<DeviceRun, StudyError> {
    let mut devices = Devices::prepare(plan)?;
    let mut probe = Plan::new(&plan.output);
    probe.interval_ns = BYSTANDER_PERIOD_NS;
    probe.duration_ns = Some(plan.duration_ns);
    probe.priorities = vec![BYSTANDER, CONTROL];
    probe.cpus = Some(plan.used_cpus());
    probe.kind = RecordingKind::Activations;
    probe.command_line = plan.command_line.clone();
    probe.load = plan.running.clone();
    let document = record_with(probe, &plan.load, &mut |_| true, &mut [&mut devices], observe)?.document;
    let phases_begun = devices.phases_begun.clone();
    let activations = devices.conclude(&document)?;
    Ok(DeviceRun { path: plan.output.clone(), document, activations, phases_begun })
}

/// The devices of a run and what competes with them, beside the bystander and the control.
struct Devices<'a> {
    plan: &'a DeviceRunPlan,
    setups: Vec<DeviceSetup>,
    rig: Rig,
    summaries: Vec<DeviceSummary>,
    /// Exist from the start on.
    judges: Vec<Judge>,
    /// How many phases of each device's line began. One that was over before anybody looked never does.
    phases_begun: Vec<usize>,
    writer: Option<ActivationWriter>,
    competing: Option<Competing>,
    /// The recording's, once it exists.
    directory: Option<Directory>,
    started_ns: u64,
    stopped_ns: u64,
    flushed: Instant,
}

impl Companion for Devices<'_> {
    fn start(&mut self, observation: &mut Observation<'_>) -> Result<(), StudyError> {
        self.directory = Some(observation.directory().clone());
        self.writer = Some(ActivationWriter::create(observation.directory())?);
        let end_ns = clock::monotonic_ns().saturating_add(self.plan.duration_ns).saturating_add(OVERTIME_NS);
        self.rig.end_at(end_ns);
        let anywhere = self.plan.devices.iter().any(|device| matches!(device.context, Context::Reservation(_)));
        // A reservation may run on any CPU, so its competitors must be on every one.
        let cpus = if anywhere { scheduling::allowed_cpus() } else { self.plan.used_cpus() };
        self.competing = Some(Competing::start(&self.plan.competitors, &cpus, end_ns).map_err(refused)?);
        self.started_ns = clock::monotonic_ns();
        let judge = |(setup, part): (&DeviceSetup, &DevicePart)| {
            Judge::new(setup.period_ns, part.profile.buffers, self.started_ns)
        };
        self.judges = self.setups.iter().zip(&self.plan.devices).map(judge).collect();
        self.rig.start().map_err(refused)
    }

    fn round(&mut self, observation: &mut Observation<'_>) -> Result<Step, StudyError> {
        let Devices { plan, rig, summaries, judges, phases_begun, writer, flushed, .. } = &mut *self;
        rig.round(&mut |index, activation| take(plan, summaries, judges, writer, index, activation));
        rig.change_phases(&mut |index, phase| {
            let buffers = plan.devices[index].profile.buffers;
            phases_begun[index] += 1;
            judges[index].set_period(clock::monotonic_ns(), phase.period_ns, buffers);
        })
        .map_err(refused)?;
        if let Some(writer) = writer
            && flushed.elapsed() >= FLUSH
        {
            *flushed = Instant::now();
            writer.flush()?;
        }
        if let Some(stop) = self.work_ended().or_else(|| self.free_stuck(observation)) {
            return Ok(stop);
        }
        if self.rig.is_starved() {
            let detail = "a device's thread left the rest of the program no CPU time for 5 s: lower its priority";
            return Ok(Step::Stop(EndReason::Watchdog, Some(detail.to_owned())));
        }
        Ok(Step::Go)
    }

    fn stop(&mut self, _: u64, observation: &mut Observation<'_>) -> Step {
        self.competing = None;
        self.stopped_ns = clock::monotonic_ns();
        let Devices { plan, rig, summaries, judges, writer, .. } = self;
        let not_served = rig.stop(&mut |index, activation| take(plan, summaries, judges, writer, index, activation));
        for index in not_served {
            observation.note(format!("{}: {NOT_SERVED}; it was given back", self.setups[index].name));
        }
        let ran_ns = self.ran_ns();
        for (index, summary) in self.summaries.iter_mut().enumerate() {
            count(summary, &self.rig.counts(index), ran_ns);
        }
        // In the last moments no round was looking any more.
        self.work_ended().unwrap_or(Step::Go)
    }
}

impl<'a> Devices<'a> {
    fn prepare(plan: &'a DeviceRunPlan) -> Result<Devices<'a>, StudyError> {
        let parts = plan.devices.iter().enumerate();
        let setups: Vec<DeviceSetup> = parts.map(|(index, part)| setup(part, plan.cpu_of(index), plan)).collect();
        let getting_ready = GettingReady::begin();
        let rig = Rig::prepare(&setups).map_err(refused)?;
        drop(getting_ready);
        let parts = plan.devices.iter().zip(&setups).enumerate();
        let summaries = parts.map(|(index, (part, setup))| describe(part, setup, &rig, index)).collect();
        Ok(Devices {
            plan,
            setups,
            rig,
            summaries,
            judges: Vec::new(),
            phases_begun: vec![1; plan.devices.len()],
            writer: None,
            competing: None,
            directory: None,
            started_ns: 0,
            stopped_ns: 0,
            flushed: Instant::now(),
        })
    }

    /// Reports that the process of a user's own work ended, if it did.
    fn work_ended(&self) -> Option<Step> {
        let (index, ended, block) = self.rig.ended()?;
        let name = self.summaries[index].own.as_ref().map_or("", |own| own.name.as_str());
        Some(Step::Stop(EndReason::Failed, Some(format!("{name} ended at block {block}: {ended}"))))
    }

    /// Frees devices that the kernel does not let use their reservations; ends the run if one has to do without.
    fn free_stuck(&mut self, observation: &mut Observation<'_>) -> Option<Step> {
        for (index, freed) in self.rig.free_stuck() {
            let name = &self.setups[index].name;
            match freed {
                Freed::SetAnew => observation.note(format!("{name}: {NOT_SERVED}; it was set anew")),
                Freed::GivenUp(why) => return Some(Step::Stop(EndReason::Failed, Some(format!("{name}: {why}")))),
            }
        }
        None
    }

    fn ran_ns(&self) -> u64 {
        self.stopped_ns.saturating_sub(self.started_ns)
    }

    /// The result, noted in the recording.
    fn conclude(self, document: &Document) -> Result<ActivationDocument, StudyError> {
        if let Some((index, trouble)) = self.never_came() {
            // Underruns of activations that never came say nothing about the machine.
            if let Some(directory) = &self.directory {
                directory.discard();
            }
            let setup = &self.setups[index];
            let doing = format!("running the device `{}` in {}", setup.name, setup.context);
            return Err(refused(Refused::because(doing, trouble)));
        }
        let not_reached = phases_not_reached(self.plan, self.ran_ns());
        let Devices { plan, rig, summaries, judges, writer, started_ns, .. } = self;
        // Out of the kernel before the reading and writing, which may take long.
        drop(rig);
        let (bystander_intervals, controls) = look_at_threads(plan, document)?;
        let measure = |index: usize| document.tasks.get(index).map_or_else(String::new, |task| task.measure.clone());
        let mut activations = ActivationDocument {
            schema: ACTIVATIONS_SCHEMA.to_owned(),
            devices: summaries,
            competitors: plan.competitors.iter().map(Competitor::to_string).collect(),
            started_ns,
            not_reached,
            bystander_intervals,
            bystander: measure(0),
            control: measure(1),
        };
        for (index, summary) in activations.devices.iter_mut().enumerate() {
            let context = plan.devices[index].context;
            let outranks = context.is_in_kernel() || matches!(context, Context::Reservation(Reservation { .. }));
            let control = controls.iter().find(|(cpu, _)| *cpu == plan.cpu_of(index));
            if let Some((judge, (_, control))) = judges.get(index).zip(control) {
                (summary.underruns_outside, summary.underruns_stolen) = control.explain(judge.underruns(), outranks);
            }
        }
        if let Some(writer) = writer {
            writer.finish(&activations)?;
        }
        Ok(activations)
    }

    /// The first device of which nothing came that was due, and why.
    fn never_came(&self) -> Option<(usize, String)> {
        self.setups.iter().enumerate().find_map(|(index, setup)| {
            // Before a few periods have passed, nothing needs to have come.
            let due = self.started_ns != 0 && self.ran_ns() > setup.period_ns.saturating_mul(3);
            let silent = || {
                let summary = &self.summaries[index];
                let in_kernel = setup.context.is_in_kernel() && summary.processed + summary.refused == 0;
                let interrupts = summary.interrupts.unwrap_or(0);
                in_kernel.then(|| format!("{} came and no block was processed", counted(interrupts, "interrupt")))
            };
            due.then(|| self.rig.trouble(index).or_else(silent)).flatten().map(|trouble| (index, trouble))
        })
    }
}

fn refused(refused: Refused) -> StudyError {
    StudyError::Run(RunError::Refused(refused))
}

/// Takes in an activation of the device with this index.
fn take(
    plan: &DeviceRunPlan,
    summaries: &mut [DeviceSummary],
    judges: &mut [Judge],
    writer: &mut Option<ActivationWriter>,
    index: usize,
    activation: &Activation,
) {
    let row = row(index, activation);
    let part = &plan.devices[index];
    // A thread with work of ours gives up no block before the end of the run.
    let ends_with_run = !part.context.is_in_kernel() && !matches!(part.work, DeviceWork::Own(_));
    if ends_with_run && judges[index].is_open(&row) {
        return;
    }
    judges[index].take(&row, &mut summaries[index]);
    summaries[index].elsewhere += u64::from(row.cpu != plan.cpu_of(index));
    if let Some(writer) = writer {
        writer.push(&row);
    }
}

/// Says which phases a run of this length did not reach, or not to the end; `None` if it reached all.
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

fn setup(part: &DevicePart, cpu: u32, plan: &DeviceRunPlan) -> DeviceSetup {
    let Sampling { samples, ring } = match part.work {
        DeviceWork::Filter | DeviceWork::Own(_) => Sampling::filtered(&part.profile),
        DeviceWork::Decode(_) => Sampling::of(&part.profile),
        DeviceWork::Spandsp => Sampling::telephone(&part.profile),
    };
    let first = part.phases.first();
    // A sample takes the same work in every phase.
    let compute_ns = first.map_or(part.profile.compute_ns, |phase| {
        part.profile.compute_ns * u64::from(phase.samples) / u64::from(samples.max(1))
    });
    // A phase without a reservation of its own has the device's again.
    let own = match part.context {
        Context::Reservation(own) if part.phases.iter().any(|phase| phase.reservation.is_some()) => Some(own),
        _ => None,
    };
    let with_own = |phase: &Phase| Phase { reservation: phase.reservation.or(own), ..*phase };
    DeviceSetup {
        name: part.profile.id.clone(),
        cpu,
        period_ns: first.map_or(part.profile.period_ns, |phase| phase.period_ns),
        compute_ns,
        samples: first.map_or(samples, |phase| phase.samples),
        phases: part.phases.iter().map(with_own).collect(),
        ring,
        drop_stale: part.drop_stale,
        // It begins with the first phase's.
        context: match (part.context, first.and_then(|phase| phase.reservation)) {
            (Context::Reservation(Reservation { form: Form::Floating, .. }), Some(first)) => {
                Context::Reservation(first)
            }
            (context, _) => context,
        },
        wake: part.wake,
        reclaim: part.reclaim,
        compete: part.compete,
        decodes: match part.work {
            DeviceWork::Filter | DeviceWork::Spandsp | DeviceWork::Own(_) => None,
            DeviceWork::Decode(Signal::GLite) => Some(Decodes::Dmt(DmtSize::Lite)),
            DeviceWork::Decode(Signal::FullRateDsl) => Some(Decodes::Dmt(DmtSize::Full)),
            DeviceWork::Decode(Signal::Bluetooth) => Some(Decodes::Gfsk),
            DeviceWork::Decode(Signal::Wifi) => Some(Decodes::Dsss),
        },
        own: if let DeviceWork::Own(own) = &part.work { Some(own.clone()) } else { None },
        guest: (part.work == DeviceWork::Spandsp).then_some(super::spandsp::make as MakeGuest),
        without_taps: plan.without_taps,
        refuse_every: plan.refuse_every,
    }
}

/// The times between the bystanders' callbacks, and what kept the control of each CPU.
fn look_at_threads(
    plan: &DeviceRunPlan,
    document: &Document,
) -> Result<(Distribution, Vec<(u32, Control)>), StudyError> {
    let mut intervals = Distribution::new();
    let mut controls: Vec<(u32, Control)> = plan.used_cpus().into_iter().map(|cpu| (cpu, Control::default())).collect();
    let mut last: Vec<Option<u64>> = vec![None; controls.len()];
    Recording::open(&plan.output)?.for_each_wakeup(|wakeup: &Wakeup| {
        // Of each CPU in turn the bystander and the control.
        let Some(place) = document.tasks.iter().position(|task| task.tid == wakeup.tid) else { return };
        let (Some((_, control)), Some(last)) = (controls.get_mut(place / 2), last.get_mut(place / 2)) else { return };
        if place % 2 == 1 {
            control.take(wakeup);
            return;
        }
        let callback = wakeup.expected_ns + wakeup.total_ns;
        if let Some(last) = *last
            && callback > last
        {
            intervals.record(callback - last);
        }
        *last = Some(callback);
    })?;
    Ok((intervals, controls))
}
