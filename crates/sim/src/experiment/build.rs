//! From an experiment's keys to a machine.

use super::schema::{self, Context, File};
use crate::link::LinkSpec;
use crate::machine::{
    Activity, Arrival, ClockSpec, ConstraintSpec, Hold, LEVEL_SLOT, LateWork, MachineSpec, PhaseSpec, Phases, Policy,
    Raise, SourceSpec, ThreadSpec, TimerRule, WorkContext,
};
use crate::modem::Tolerance;
use crate::random::mix;
use crate::time::{MICROSECOND, MILLISECOND, NEVER, Picoseconds, SECOND};

/// The sampling device of an experiment.
#[derive(Debug, Clone)]
pub struct DeviceSpec {
    /// Its name.
    pub name: String,
    /// Its source.
    pub source: usize,
    /// Its thread.
    pub thread: Option<usize>,
    /// Its phases.
    pub phases: Phases,
    /// Their names.
    pub phase_names: Vec<String>,
    /// How it is judged.
    pub tolerance: Tolerance,
}

/// A machine with what watches it: one case of an experiment.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The machine.
    pub spec: MachineSpec,
    /// Its devices.
    pub devices: Vec<DeviceSpec>,
    /// The transfer, and over which device.
    pub link: Option<(LinkSpec, usize)>,
    /// How long a run is.
    pub duration: Picoseconds,
}

/// What is wrong, and the path of keys to it.
pub(super) type Wrong = (Vec<String>, String);

fn wrong(path: &[&str], what: impl Into<String>) -> Wrong {
    (path.iter().map(|&part| part.to_owned()).collect(), what.into())
}

/// No experiment handles many more events than this, because it keeps what it saw: runs and cases times duration over
/// the shortest period.
const MAX_EVENTS: u128 = 300_000_000;
/// A run in which hardly anything happens takes as much as one with so many.
const EVENTS_OF_A_RUN: u64 = 10_000;
/// No block of a device has more samples.
const MAX_SAMPLES: u32 = 1_000_000;
/// No device's clock is further off, in parts in a million.
const MAX_DRIFT: i64 = 100_000;

/// Builds the machine of one run.
pub(super) fn build(file: &File, run: u64) -> Result<Setup, Wrong> {
    let duration = file.duration.ok_or_else(|| wrong(&["name"], "there is no duration, so nothing can be run"))?.0;
    if duration == 0 {
        return Err(wrong(&["duration"], "a run of no length shows nothing"));
    }
    if file.runs == 0 {
        return Err(wrong(&["runs"], "0 runs show nothing"));
    }
    let mut spec = rules(&file.machine, mix(file.seed ^ mix(run)))?;
    let mut periods = Periods { shortest: duration };
    spec.clock = file.clock.as_ref().map(|written| clock(written, &mut periods)).transpose()?;
    add_threads(&mut spec, file, &mut periods)?;
    for (index, written) in file.source.iter().enumerate() {
        spec.sources.push(source(index, written, &spec.threads, &mut periods)?);
    }
    let devices = add_devices(&mut spec, file, &mut periods)?;
    add_turns(&spec, &file.machine, &mut periods)?;
    let link = file.link.as_ref().map(|link| link_over(link, &devices)).transpose()?;
    check_events(file, duration, &periods)?;
    if file.machine.admission {
        crate::theory::admit(&spec).map_err(|error| wrong(&["machine", "admission"], error.to_string()))?;
    }
    Ok(Setup { spec, devices, link, duration })
}

/// Adds the threads that are present; locks are known by their names.
fn add_threads(spec: &mut MachineSpec, file: &File, periods: &mut Periods) -> Result<(), Wrong> {
    let mut locks: Vec<&str> = Vec::new();
    for (index, written) in file.thread.iter().enumerate().filter(|(_, thread)| thread.present) {
        let mut made = thread(index, written, periods)?;
        made.hold = written.lock.as_ref().map(|lock| {
            let known = locks.iter().position(|name| *name == lock.name).unwrap_or_else(|| {
                locks.push(&lock.name);
                locks.len() - 1
            });
            Hold { lock: known as u32, after: lock.after.0, length: lock.length.0 }
        });
        spec.threads.push(made);
    }
    Ok(())
}

fn add_devices(spec: &mut MachineSpec, file: &File, periods: &mut Periods) -> Result<Vec<DeviceSpec>, Wrong> {
    let mut devices: Vec<DeviceSpec> = Vec::new();
    for (number, written) in file.device.iter().enumerate() {
        let added = add_device(spec, written, number)?;
        if devices.iter().any(|device| device.name == added.name) {
            return Err(wrong(&["device"], format!("two devices are named {:?}", added.name)));
        }
        for (index, phase) in added.phases.phases.iter().enumerate() {
            let at = index.to_string();
            let least = phase.samples.iter().min().copied().unwrap_or(0);
            if phase.rate == 0 || least == 0 {
                return Err(wrong(&["device", "phase", &at], "a phase has a rate and blocks of samples above 0"));
            }
            periods.take(&["device", "phase", &at], u64::from(least) * SECOND / phase.rate)?;
        }
        devices.push(added);
    }
    Ok(devices)
}

/// The link, and the position of the device that it uses.
fn link_over(link: &schema::Link, devices: &[DeviceSpec]) -> Result<(LinkSpec, usize), Wrong> {
    let over = match &link.device {
        None if devices.is_empty() => return Err(wrong(&["link"], "a link needs a device")),
        None => 0,
        Some(name) => devices
            .iter()
            .position(|device| device.name == *name)
            .ok_or_else(|| wrong(&["link", "device"], format!("there is no device {name:?}")))?,
    };
    Ok((link_spec(link, &devices[over])?, over))
}

fn check_events(file: &File, duration: Picoseconds, periods: &Periods) -> Result<(), Wrong> {
    let in_a_run = (duration / periods.shortest.max(1)).max(EVENTS_OF_A_RUN);
    let events = u128::from(in_a_run) * u128::from(file.runs) * file.case.len().max(1) as u128;
    if events > MAX_EVENTS {
        return Err(wrong(
            &["duration"],
            format!(
                "about {events} events are too many: {} runs of this length with something every {}",
                file.runs,
                crate::time::format_span(periods.shortest)
            ),
        ));
    }
    Ok(())
}

/// What recurs in a run: the more often, the longer the simulation takes.
struct Periods {
    shortest: Picoseconds,
}

impl Periods {
    /// Takes in a period from this place of the file.
    fn take(&mut self, path: &[&str], period: Picoseconds) -> Result<Picoseconds, Wrong> {
        if period == 0 {
            return Err(wrong(path, "a period of 0"));
        }
        self.shortest = self.shortest.min(period);
        Ok(period)
    }
}

/// Takes in how often threads may take turns.
fn add_turns(spec: &MachineSpec, machine: &schema::Machine, periods: &mut Periods) -> Result<(), Wrong> {
    let written = [
        ("quantum", machine.quantum),
        ("slot_unit", machine.slot_unit),
        ("starvation_boost", machine.starvation_boost),
    ];
    for (key, span) in written {
        span.map(|span| periods.take(&["machine", key], span.0)).transpose()?;
    }
    for thread in &spec.threads {
        if let Policy::Deadline { period, .. } = thread.policy {
            periods.take(&["thread"], period)?;
        }
    }
    Ok(())
}

/// The machine without what runs on it.
fn rules(machine: &schema::Machine, seed: u64) -> Result<MachineSpec, Wrong> {
    let spec = MachineSpec {
        cpus: machine.cpus.unwrap_or(1),
        seed,
        quantum: machine.quantum.map_or(20 * MILLISECOND, |span| span.0),
        preempted_gets_fresh_quantum: machine.preempted_gets_fresh_quantum,
        wait_boost: machine.wait_boost,
        starvation_boost: machine.starvation_boost.map(|span| span.0),
        inheritance: machine.inheritance,
        context_switch: machine.context_switch.map_or(0, |span| span.0),
        migration: machine.migration.map_or(0, |span| span.0),
        fpu_save: machine.fpu_save.map_or(0, |span| span.0),
        slot_level: machine.slot_priority.unwrap_or(LEVEL_SLOT),
        slot_unit: machine.slot_unit.map_or(MILLISECOND, |span| span.0),
        ..MachineSpec::default()
    };
    for (key, span) in [("quantum", spec.quantum), ("slot_unit", spec.slot_unit)] {
        if span == 0 {
            return Err(wrong(&["machine", key], format!("the machine's {key} must not be 0")));
        }
    }
    if machine.slot_priority.is_some_and(|priority| priority > 99) {
        return Err(wrong(&["machine", "slot_priority"], "priorities are 0 to 99"));
    }
    Ok(spec)
}

fn clock(clock: &schema::Clock, periods: &mut Periods) -> Result<ClockSpec, Wrong> {
    let every = clock.period.map(|span| periods.take(&["clock", "period"], span.0)).transpose()?;
    Ok(ClockSpec {
        period: every,
        offset: clock.offset.map_or(every.unwrap_or(0), |span| span.0),
        irql: clock.irql.unwrap_or(28),
        cpu: clock.cpu,
        isr: clock.isr.clone(),
        dpc: clock.dpc.clone(),
    })
}

fn thread(index: usize, thread: &schema::Thread, periods: &mut Periods) -> Result<ThreadSpec, Wrong> {
    let at = index.to_string();
    let path = |key: &'static str| -> Vec<String> { vec!["thread".into(), at.clone(), key.into()] };
    let activity = match &thread.activity {
        schema::Activity::Signalled => Activity::Signalled,
        schema::Activity::Spinning => Activity::Spinning,
        schema::Activity::Periodic { period: every, offset } => Activity::Periodic {
            period: periods.take(&["thread", &at, "activity", "periodic", "period"], every.0)?,
            offset: offset.0,
        },
        schema::Activity::Timer { interval, offset, rule } => Activity::Timer {
            interval: periods.take(&["thread", &at, "activity", "timer", "interval"], interval.0)?,
            offset: offset.0,
            rule: match rule {
                schema::Rule::Rounded => TimerRule::Rounded,
                schema::Rule::Exact => TimerRule::Exact,
                schema::Rule::KernelPeriodic => TimerRule::KernelPeriodic,
            },
        },
    };
    let mut made = ThreadSpec::new(
        &thread.name,
        policy(&thread.policy).map_err(|what| (path("policy"), what))?,
        activity,
        thread.work.clone(),
    );
    if activity == Activity::Spinning {
        made.work = ThreadSpec::spinner("", 0).work;
    }
    made.cpu = thread.cpu;
    made.migrates = thread.migrates;
    made.foreground = thread.foreground;
    made.raise =
        thread.raise.as_ref().map(|raise| Raise { after: raise.after.0, length: raise.length.0, irql: raise.irql });
    made.constraint = thread
        .constraint
        .as_ref()
        .map(|constraint| ConstraintSpec { deadline: constraint.deadline.0, estimate: constraint.estimate.0 });
    made.late_work = match (thread.drop_stale, thread.event) {
        (false, false) => LateWork::WorkOff,
        (true, false) => LateWork::DropStale,
        (false, true) => LateWork::Event,
        (true, true) => {
            return Err((path("event"), "an event keeps no old work that could be dropped".to_owned()));
        }
    };
    Ok(made)
}

fn source(
    index: usize,
    source: &schema::Source,
    threads: &[ThreadSpec],
    periods: &mut Periods,
) -> Result<SourceSpec, Wrong> {
    let at = index.to_string();
    let thread = source
        .thread
        .as_ref()
        .map(|name| {
            let found = threads.iter().position(|thread| thread.name == *name);
            found.ok_or_else(|| wrong(&["source", &at, "thread"], format!("there is no thread {name:?}")))
        })
        .transpose()?;
    let arrival = match &source.arrival {
        schema::Arrival::Periodic { period: every, offset } => Arrival::Periodic {
            period: periods.take(&["source", &at, "arrival", "periodic", "period"], every.0)?,
            offset: offset.0,
        },
        schema::Arrival::Poisson { mean } => {
            Arrival::Poisson { mean: periods.take(&["source", &at, "arrival", "poisson", "mean"], mean.0)? }
        }
        schema::Arrival::Times(times) => Arrival::Times(times.iter().map(|span| span.0).collect()),
    };
    Ok(SourceSpec {
        name: source.name.clone(),
        cpu: source.cpu,
        irql: source.irql,
        arrival,
        latched: source.latched,
        isr: source.isr.clone(),
        dpc: source.dpc.clone(),
        important: source.important,
        work: source.work.clone(),
        context: context(source.context),
        thread,
    })
}

fn context(context: Context) -> WorkContext {
    match context {
        Context::Irq => WorkContext::Irq,
        Context::Dpc => WorkContext::Dpc,
        Context::Thread => WorkContext::Thread,
    }
}

fn policy(policy: &schema::Policy) -> Result<Policy, String> {
    Ok(match policy {
        schema::Policy::Priority(priority) => Policy::Priority(*priority),
        schema::Policy::Kernel => Policy::Kernel,
        schema::Policy::RateMonotonic(period) => Policy::RateMonotonic { period: period.0 },
        schema::Policy::EarliestDeadline(deadline) => Policy::EarliestDeadline { deadline: deadline.0 },
        schema::Policy::Reservation { runtime, period, power_of_two, outside, from, before_priority } => {
            if *runtime == 0 || runtime > period {
                return Err(format!("a reservation of {runtime} of every {period} is impossible"));
            }
            Policy::Reservation {
                runtime: *runtime,
                period: *period,
                power_of_two: *power_of_two,
                outside: *outside,
                from: from.0,
                before_priority: before_priority.unwrap_or(24),
            }
        }
        schema::Policy::Deadline { runtime, deadline, period, reclaim, tick } => {
            if runtime.0 == 0 || runtime > period {
                return Err("the runtime of a deadline reservation must be above 0 and at most its period".to_owned());
            }
            Policy::Deadline {
                runtime: runtime.0,
                deadline: deadline.unwrap_or(*period).0,
                period: period.0,
                reclaim: *reclaim,
                tick: tick.map(|tick| tick.0),
            }
        }
    })
}

fn check_device(device: &schema::Device) -> Result<(), Wrong> {
    if device.phase.is_empty() {
        return Err(wrong(&["device"], "a device has at least one phase"));
    }
    if !(-MAX_DRIFT..=MAX_DRIFT).contains(&device.parts_per_million) {
        return Err(wrong(&["device", "parts_per_million"], format!("a clock is off by at most {MAX_DRIFT} ppm")));
    }
    for (index, phase) in device.phase.iter().enumerate() {
        if phase.samples.iter().any(|&samples| samples > MAX_SAMPLES) {
            let what = format!("a block has at most {MAX_SAMPLES} samples");
            return Err(wrong(&["device", "phase", &index.to_string(), "samples"], what));
        }
    }
    Ok(())
}

fn add_device(spec: &mut MachineSpec, device: &schema::Device, number: usize) -> Result<DeviceSpec, Wrong> {
    check_device(device)?;
    let offset = match device.random_offset.0 {
        0 => 0,
        most => mix(spec.seed ^ 0x0ff5 ^ ((number as u64) << 32)) % most,
    };
    let phases = Phases {
        phases: device
            .phase
            .iter()
            .map(|phase| PhaseSpec {
                until: phase.until.map_or(NEVER, |span| span.0),
                rate: phase.rate,
                samples: phase.samples.clone(),
                work: phase.work.clone(),
            })
            .collect(),
        offset,
        parts_per_million: device.parts_per_million,
        ring: device.ring.unwrap_or(u64::MAX),
    };
    let mut thread = None;
    if device.context == Context::Thread {
        let rule = device.policy.as_ref().ok_or_else(|| wrong(&["device", "context"], "a thread needs a policy"))?;
        let rule = policy(rule).map_err(|what| wrong(&["device", "policy"], what))?;
        let mut made = ThreadSpec::new(&device.name, rule, Activity::Signalled, crate::cost::Cost::default());
        made.cpu = device.cpu;
        made.migrates = device.migrates;
        made.late_work = if device.drop_stale { LateWork::DropStale } else { LateWork::WorkOff };
        thread = Some(spec.threads.len());
        spec.threads.push(made);
    }
    spec.sources.push(SourceSpec {
        name: device.name.clone(),
        cpu: device.cpu,
        irql: device.irql.unwrap_or(9),
        arrival: Arrival::Phases(phases.clone()),
        latched: false,
        isr: device.isr.clone(),
        dpc: device.dpc.clone(),
        important: false,
        work: crate::cost::Cost::default(),
        context: context(device.context),
        thread,
    });
    Ok(DeviceSpec {
        name: device.name.clone(),
        source: spec.sources.len() - 1,
        thread,
        phases,
        phase_names: device.phase.iter().map(|phase| phase.name.clone()).collect(),
        tolerance: Tolerance {
            ring: device.ring.unwrap_or(u64::MAX),
            start: device.start_tolerance.map_or(NEVER, |span| span.0),
        },
    })
}

/// No number of a link is larger, and no more of 256 bytes are escaped than all: times are products of them.
const MAX_LINK: u64 = 1 << 32;

fn link_spec(link: &schema::Link, device: &DeviceSpec) -> Result<LinkSpec, Wrong> {
    let positive =
        [("line_rate", link.line_rate), ("packet_bytes", link.packet_bytes), ("frame_bytes", link.frame_bytes)];
    for (key, value) in positive {
        if value == 0 {
            return Err(wrong(&["link", key], format!("the link's {key} must not be 0")));
        }
    }
    let others = [link.file_bytes, link.frame_overhead, link.window_frames, link.packet_overhead];
    if positive.map(|(_, value)| value).into_iter().chain(others).any(|value| value > MAX_LINK)
        || link.escaped_of_256 > 256
    {
        return Err(wrong(&["link"], format!("no number of a link is larger than {MAX_LINK}, or than 256 of 256")));
    }
    let connected = device.phase_names.iter().position(|name| *name == link.connected);
    let connected = connected
        .ok_or_else(|| wrong(&["link", "connected"], format!("the device has no phase {:?}", link.connected)))?;
    let spec = LinkSpec {
        line_rate: link.line_rate,
        file_bytes: link.file_bytes,
        frame_bytes: link.frame_bytes,
        frame_overhead: link.frame_overhead,
        window_frames: link.window_frames,
        packet_bytes: link.packet_bytes,
        packet_overhead: link.packet_overhead,
        escaped_of_256: link.escaped_of_256,
        retrain: link.retrain.0,
        setup: link.setup.0,
        give_up: link.give_up.0,
        carrier_loss: link.carrier_loss.map(|span| span.0),
        patience: link.patience,
        connected_phase: connected as u32,
    };
    let in_flight = u128::from(spec.window_frames) * u128::from(spec.frame_bytes);
    let longest = u128::from(spec.byte_time()) * in_flight.max(u128::from(spec.file_bytes));
    if longest + u128::from(spec.setup) > u128::from(crate::time::MAX_TIME) || spec.byte_time() < MICROSECOND / 1_000 {
        return Err(wrong(&["link"], "such a transfer would take more than 30 days, or less than 1 ns a byte"));
    }
    Ok(spec)
}
