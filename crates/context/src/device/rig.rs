//! One or more devices at work on one CPU.

use super::arrivals::{Arrivals, WakeRing};
use super::calibrate::Speed;
use super::control::Control;
use super::kernel_side::{KernelCounts, KernelSide, Mode};
use super::memory::Activation;
use super::phase::Phase;
use super::worker::{Worker, WorkerSetup, scheduling_of};
use crate::claim::{Claim, Sharing};
use crate::context::Context;
use punctual_datapump::{Line, Pump};
use punctual_kernel::rests::{Resting, RoomBelow, Times};
use punctual_kernel::{Refused, clock};
use rtrb::{Consumer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What wakes a device's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A timer of the thread's own.
    Timer,
    /// The device's interrupt queues a softirq callback, and that wakes the thread.
    Softirq,
}

/// A device, and where its work is to run.
#[derive(Debug, Clone)]
pub struct DeviceSetup {
    /// A short name.
    pub name: String,
    /// Between two interrupts, ns.
    pub period_ns: u64,
    /// To process a block, ns.
    pub compute_ns: u64,
    /// Samples in a block.
    pub samples: u32,
    /// Samples that its ring holds.
    pub ring: u32,
    /// Whether only the newest block is worth processing.
    pub drop_stale: bool,
    /// How the line's rate changes during the run, from the beginning on; empty: not at all.
    pub phases: Vec<Phase>,
    /// Where the work runs.
    pub context: Context,
    /// What wakes its thread, where it has one.
    pub wake: Wake,
    /// A reservation may use time that other reservations leave.
    pub reclaim: bool,
    /// After its budget the thread goes on at normal priority until the next period.
    pub compete: bool,
    /// For tests: each so many-th softirq callback is one that the kernel refuses; 0: none.
    pub refuse_every: u64,
}

impl DeviceSetup {
    /// The phase at this time after the beginning, by its position.
    fn phase_at(&self, elapsed_ns: u64) -> usize {
        let mut end = 0u64;
        let ends = self.phases.iter().map(|phase| {
            end = end.saturating_add(phase.length_ns);
            end
        });
        ends.take(self.phases.len().saturating_sub(1)).take_while(|end| *end <= elapsed_ns).count()
    }
}

/// The shortest period of a device.
pub const MIN_PERIOD_NS: u64 = 100_000;
/// The longest work of one block in interrupt or softirq context.
pub const MAX_KERNEL_WORK_NS: u64 = 5_000_000;
/// Work in interrupt and softirq context may take this much of a CPU: that of all devices of all runs together, as planned.
const KERNEL_SHARE: f64 = 0.5;
/// A machine that computes more slowly than when it was asked may make it this many times as much, and no more.
const SLOWER: f64 = 1.8;

/// What was counted of a device. Blocks that arrived are taken or wait.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceCounts {
    /// Blocks that arrived.
    pub arrived: u64,
    /// Blocks that were processed, dropped, lost or refused.
    pub taken: u64,
    /// Blocks whose interrupt came together with a later one's.
    pub coalesced: u64,
    /// Blocks that were dropped for a newer one.
    pub dropped: u64,
    /// Blocks that were overwritten in the ring.
    pub lost: u64,
    /// How often the ring wrapped.
    pub overruns: u64,
    /// Activations that were measured and then lost.
    pub records_lost: u64,
    /// What its BPF programs counted, where it has any.
    pub kernel: Option<KernelCounts>,
    /// How often a competing worker used up its budget.
    pub demotions: Option<u64>,
    /// Periods in which its reservation was not admitted again.
    pub not_admitted: u64,
}

enum Work {
    Kernel,
    Thread { worker: Option<Worker>, setup: Option<Box<WorkerSetup>>, queue: Consumer<Activation> },
}

struct Running {
    setup: DeviceSetup,
    speed: Speed,
    passes: u32,
    kernel: Option<KernelSide>,
    work: Work,
    control: Arc<Control>,
    records_lost: u64,
    phase: usize,
}

/// Devices at work on one CPU. They stop when this is dropped.
pub struct Rig {
    cpu: u32,
    devices: Vec<Running>,
    #[expect(dead_code, reason = "the CPU's share is taken as long as it lives")]
    claim: Option<Claim>,
    /// Below the devices' threads, once they run.
    below: Option<RoomBelow>,
}

impl Rig {
    /// Loads, calibrates and sets up everything, without beginning yet.
    ///
    /// # Errors
    /// What cannot be, and what the kernel refused.
    pub fn prepare(setups: &[DeviceSetup], cpu: u32) -> Result<Rig, Refused> {
        let share = check(setups)?;
        let percent = |share: f64| (share * 100.0).ceil() as u64;
        let take = || Claim::take(Sharing::Devices, &[cpu], percent(share), percent(KERNEL_SHARE));
        let claim = (share > 0.0).then(take).transpose()?;
        let native = Speed::native();
        let devices = setups.iter().map(|setup| prepare(setup, cpu, native)).collect::<Result<_, _>>()?;
        Ok(Rig { cpu, devices, claim, below: None })
    }

    /// Begins: the first interrupt of each device comes a period from now.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(&mut self) -> Result<(), Refused> {
        let threads =
            self.devices.iter().filter_map(|device| scheduling_of(device.setup.context, device.setup.compete));
        let below = RoomBelow::start(self.cpu, threads.map(|(scheduling, _)| scheduling));
        for device in &mut self.devices {
            if let Work::Thread { worker, setup, .. } = &mut device.work
                && let Some(mut setup) = setup.take()
            {
                if setup.scheduling.is_real_time() {
                    let room = below.as_ref().ok().and_then(Option::as_ref).map(RoomBelow::room);
                    setup.resting = room.map(|room| Resting::new(room, Times::EveryOther));
                }
                *worker = Some(Worker::spawn(*setup)?);
            }
        }
        // What it is refused the devices' own threads are too, and these say whose priority it is.
        self.below = below?;
        for device in &mut self.devices {
            device.control.start_ns.store(clock::monotonic_ns(), Relaxed);
            if let Some(kernel) = &mut device.kernel {
                kernel.start(self.cpu, device.setup.period_ns)?;
            }
        }
        Ok(())
    }

    /// Threads of devices end at this time, ns of `CLOCK_MONOTONIC`, whether they are told to or not.
    pub fn end_at(&mut self, end_ns: u64) {
        self.devices.iter().for_each(|device| device.control.end_ns.store(end_ns, Relaxed));
    }

    /// Tells the devices that this process is alive, and hands on what they did: the device's index and the activation.
    /// Call it every 50 ms or so.
    pub fn round(&mut self, take: &mut dyn FnMut(usize, &Activation)) {
        for (index, device) in self.devices.iter_mut().enumerate() {
            device.control.heartbeat.fetch_add(1, Relaxed);
            if let Some(kernel) = &mut device.kernel {
                kernel.beat();
            }
            match &mut device.work {
                Work::Thread { queue, .. } => {
                    while let Ok(activation) = queue.pop() {
                        take(index, &activation);
                    }
                }
                Work::Kernel => {
                    let kernel = device.kernel.as_mut().expect("work in the kernel has its programs");
                    device.records_lost += kernel.take(&mut |activation| take(index, activation));
                }
            }
        }
    }

    /// Begins the phases that are due: call it after each [`Rig::round`]. Tells the device's index and the phase.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn change_phases(&mut self, tell: &mut dyn FnMut(usize, Phase)) -> Result<(), Refused> {
        for (index, device) in self.devices.iter_mut().enumerate() {
            let begun = device.control.start_ns.load(Relaxed);
            let due = device.setup.phase_at(clock::monotonic_ns().saturating_sub(begun));
            if begun == 0 || due == device.phase {
                continue;
            }
            device.phase = due;
            let phase = device.setup.phases[due];
            if let Some(kernel) = &device.kernel {
                let units = u64::from(device.passes) * u64::from(phase.samples);
                kernel.set_phase(phase, u32::try_from(units).unwrap_or(u32::MAX))?;
            }
            device.control.set_phase(phase.period_ns, phase.samples);
            tell(index, phase);
        }
        Ok(())
    }

    /// Stops all devices and hands on the rest.
    pub fn stop(&mut self, take: &mut dyn FnMut(usize, &Activation)) {
        self.end();
        self.round(take);
    }

    fn end(&mut self) {
        for device in &mut self.devices {
            device.control.stop.store(true, Relaxed);
            if let Some(kernel) = &mut device.kernel {
                kernel.stop();
            }
        }
        let asked = Instant::now();
        let running = |device: &Running| match &device.work {
            Work::Thread { worker: Some(worker), .. } => !worker.is_finished(),
            _ => false,
        };
        while asked.elapsed() < Duration::from_millis(300) && self.devices.iter().any(running) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether a device's thread kept the rest of the program from running, and ended for that.
    pub fn is_starved(&self) -> bool {
        self.devices.iter().any(|device| device.control.starved.load(Relaxed))
    }

    /// What was counted of a device so far.
    pub fn counts(&self, index: usize) -> DeviceCounts {
        let device = &self.devices[index];
        let in_kernel = matches!(device.work, Work::Kernel);
        let line = match &device.kernel {
            Some(kernel) if in_kernel => kernel.memory().line(),
            _ => device.control.line(),
        };
        DeviceCounts {
            arrived: line.arrived,
            taken: line.taken,
            coalesced: line.coalesced,
            dropped: line.dropped,
            lost: line.lost,
            overruns: line.overruns,
            records_lost: device.records_lost + device.control.lost_records.load(Relaxed),
            kernel: device.kernel.as_ref().map(KernelSide::counts),
            demotions: device.setup.compete.then(|| device.control.demotions.load(Relaxed)),
            not_admitted: device.control.not_admitted.load(Relaxed),
        }
    }

    /// Why nothing of what was to come of a device came, by the programs' own count; `None` where something did.
    /// What is measured of such a device says nothing of the machine.
    pub fn trouble(&self, index: usize) -> Option<String> {
        self.devices[index].kernel.as_ref().and_then(|kernel| kernel.counts().trouble())
    }

    /// The speed that a device's work was calibrated with, and how often each sample is filtered.
    pub fn calibration(&self, index: usize) -> (Speed, u32) {
        (self.devices[index].speed, self.devices[index].passes)
    }

    /// The thread id of a device's worker, once it runs.
    pub fn worker(&self, index: usize) -> Option<u32> {
        Some(self.devices[index].control.tid.load(Relaxed)).filter(|tid| *tid != 0)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.end();
    }
}

/// Says what cannot be, before anything is started. Returns the part of the CPU that is planned in interrupts and softirqs.
fn check(setups: &[DeviceSetup]) -> Result<f64, Refused> {
    let mut share = 0.0;
    for setup in setups {
        check_times(setup).map_err(|reason| refuse(setup, reason))?;
        if setup.context.is_in_kernel() {
            share += share_of(setup);
            check_in_kernel(setup, share).map_err(|reason| refuse(setup, reason))?;
        }
    }
    Ok(share)
}

/// The part of the CPU that a device computes for, in that of its phases in which it is most.
fn share_of(setup: &DeviceSetup) -> f64 {
    let of = |compute: f64, period: u64| compute / period.max(1) as f64;
    let phases = setup.phases.iter().map(|phase| of(compute_of(setup, phase) as f64, phase.period_ns));
    phases.fold(of(setup.compute_ns as f64, setup.period_ns), f64::max)
}

fn refuse(setup: &DeviceSetup, reason: String) -> Refused {
    Refused::because(format!("running the device `{}`", setup.name), reason)
}

/// The work of a phase, ns: a sample is the same work in every one.
fn compute_of(setup: &DeviceSetup, phase: &Phase) -> u128 {
    u128::from(setup.compute_ns) * u128::from(phase.samples) / u128::from(setup.samples.max(1))
}

/// Why a device can never keep up, or is none; in any context.
fn check_times(setup: &DeviceSetup) -> Result<(), String> {
    let show = punctual_recording::format_ns;
    let shortest = setup.phases.iter().map(|phase| phase.period_ns).fold(setup.period_ns, u64::min);
    if shortest < MIN_PERIOD_NS {
        return Err(format!(
            "its period is {}, and the shortest is {}: give a longer one, such as `{} 1ms`",
            show(shortest),
            show(MIN_PERIOD_NS),
            setup.name
        ));
    }
    if setup.compute_ns > setup.period_ns {
        return Err(format!(
            "it computes for {} of every {}: it can never keep up",
            show(setup.compute_ns),
            show(setup.period_ns)
        ));
    }
    if setup.compete && !matches!(setup.context, Context::Reservation(_)) {
        return Err("--compete goes with a reservation, such as --context reservation:2ms/8ms".to_owned());
    }
    if setup.phases.iter().any(|phase| compute_of(setup, phase) > u128::from(phase.period_ns)) {
        return Err("it computes for more than a period in one of its phases: it can never keep up".to_owned());
    }
    Ok(())
}

/// Why a device would keep everything else from a CPU, which runs in interrupt or softirq context together with others:
/// all of them take this share of it.
fn check_in_kernel(setup: &DeviceSetup, share: f64) -> Result<(), String> {
    let show = punctual_recording::format_ns;
    let is_too_much = |phase: &Phase| {
        let compute = compute_of(setup, phase);
        compute > MAX_KERNEL_WORK_NS.into() || compute * 2 > phase.period_ns.into()
    };
    if setup.phases.iter().any(is_too_much) {
        return Err(format!(
            "one of its phases would take more than {} at a time or half of the CPU in {} context: --context thread:80",
            show(MAX_KERNEL_WORK_NS),
            setup.context
        ));
    }
    if setup.compute_ns > MAX_KERNEL_WORK_NS {
        return Err(format!(
            "{} of work in {} context would keep everything else from the CPU: at most {} there, or --context thread:80",
            show(setup.compute_ns),
            setup.context,
            show(MAX_KERNEL_WORK_NS)
        ));
    }
    if share > KERNEL_SHARE {
        return Err(format!(
            "{:.0} % of the CPU in interrupt and softirq context is more than the {:.0} % that are allowed there: use fewer \
             devices, less compute, or --context thread:80",
            share * 100.0,
            KERNEL_SHARE * 100.0
        ));
    }
    Ok(())
}

fn prepare(setup: &DeviceSetup, cpu: u32, native: Speed) -> Result<Running, Refused> {
    let control = Arc::new(Control::default());
    let mode = match (setup.context, setup.wake) {
        (Context::Irq, _) => Some(Mode::Work),
        (Context::Softirq, _) => Some(Mode::Softirq),
        (_, Wake::Softirq) => Some(Mode::Wake),
        (_, Wake::Timer) => None,
    };
    let mut kernel = mode.map(|mode| KernelSide::load_refusing(mode, setup.refuse_every)).transpose()?;
    let line = Line::new(setup.period_ns, setup.samples, setup.ring, setup.drop_stale);
    let speed = match &kernel {
        Some(kernel) if setup.context.is_in_kernel() => Speed::in_kernel(kernel)?,
        _ => native,
    };
    let passes = speed.passes(setup.compute_ns, setup.samples);
    let units = u64::from(passes) * u64::from(setup.samples);
    let pump = Pump::new(passes);
    if let Some(kernel) = &mut kernel {
        if setup.context.is_in_kernel() {
            kernel.leave_others(share_of(setup) * SLOWER);
        }
        kernel.prepare(&line, &pump, u32::try_from(units).unwrap_or(u32::MAX))?;
    }
    let work = match scheduling_of(setup.context, setup.compete) {
        None => Work::Kernel,
        Some((scheduling, reservation)) => {
            let arrivals = match &kernel {
                Some(kernel) => Arrivals::Interrupt(WakeRing::new(kernel.wakes()?, kernel.memory().clone())?),
                None => Arrivals::Clock { next: 0 },
            };
            // As many as come in ten seconds.
            let capacity = (10_000_000_000 / setup.period_ns.max(1)).clamp(1 << 10, 1 << 17) as usize;
            let (mut producer, mut queue) = RingBuffer::<Activation>::new(capacity);
            // Touch every page of the queue now, not while working.
            while producer.push(Activation::default()).is_ok() {}
            while queue.pop().is_ok() {}
            let worker = WorkerSetup {
                name: setup.name.clone(),
                cpu,
                scheduling,
                reservation,
                reclaim: setup.reclaim,
                compete: setup.compete,
                line,
                pump,
                units,
                unit_ns: speed.unit_ns,
                arrivals,
                queue: producer,
                control: Arc::clone(&control),
                resting: None,
            };
            Work::Thread { worker: None, setup: Some(Box::new(worker)), queue }
        }
    };
    Ok(Running { setup: setup.clone(), speed, passes, kernel, work, control, records_lost: 0, phase: 0 })
}
