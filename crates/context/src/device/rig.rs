//! One or more devices at work on one CPU.

use super::arrivals::{Arrivals, WakeRing};
use super::calibrate::Speed;
use super::check::{check, share_of};
use super::control::Control;
use super::job::Job;
use super::kernel_side::{KernelCounts, KernelSide, Mode, Programs};
use super::memory::Activation;
use super::phase::Phase;
use super::setup::{DeviceSetup, KERNEL_SHARE, Wake};
use super::signal::Received;
use super::work::Work;
use super::worker::{Worker, WorkerSetup, above, scheduling_of};
use crate::claim::{Claim, Sharing};
use crate::context::{Context, Reservation};
use crate::own::process::{OwnProcess, Tally};
use crate::own::{Ended, OwnCounts};
use punctual_datapump::{DecodingCounts, Line};
use punctual_kernel::other_thread::Before;
use punctual_kernel::reservation_watch::{Freed, ReservationWatch, Stillness};
use punctual_kernel::rests::{Resting, RoomBelow, Times};
use punctual_kernel::scheduling::{self, Scheduling};
use punctual_kernel::{Refused, clock};
use rtrb::{Consumer, Producer, RingBuffer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// A machine that computes more slowly than when it was calibrated may take this many times as long, and no more.
const SLOWER: f64 = 1.8;
/// Threads that are told to end get this long.
const ENDING: Duration = Duration::from_millis(300);
/// Those with a reservation that have not ended by then are made ordinary, this many times at most: a governor may be setting it again.
const MAX_GIVEN_BACK: u32 = 3;
/// A reservation with a longer period may give a thread no time meanwhile by its own rules, ns.
const MAX_JUDGED_PERIOD_NS: u64 = 100_000_000;

/// What was counted for a device. Blocks that arrived are taken or wait.
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
    /// How often the ring wrapped around.
    pub overruns: u64,
    /// Activations that were measured and then lost.
    pub records_lost: u64,
    /// What its BPF programs counted, if it has any.
    pub kernel: Option<KernelCounts>,
    /// How often a competing worker used up its budget.
    pub demotions: Option<u64>,
    /// Periods in which its reservation was not admitted again.
    pub not_admitted: u64,
    /// What came of the signal, if it decodes one.
    pub decoding: Option<DecodingCounts>,
    /// What happened to a user's own work.
    pub own: Option<OwnCounts>,
}

enum Place {
    Kernel,
    Thread { worker: Option<Worker>, setup: Option<Box<WorkerSetup>>, queue: Consumer<Activation> },
}

struct Running {
    setup: DeviceSetup,
    job: Job,
    kernel: Option<KernelSide>,
    place: Place,
    control: Arc<Control>,
    /// For a user's own work in a process.
    tally: Option<Arc<Tally>>,
    /// The part of a CPU that its work in the kernel may take.
    max_share: Option<f64>,
    records_lost: u64,
    phase: usize,
    /// Whether its thread's reservation is the one that is watched.
    is_watched: bool,
}

impl Running {
    /// Whether its work has a reservation of its own.
    fn is_reserved(&self) -> bool {
        matches!(self.setup.context, Context::Reservation(_))
    }

    /// The longest period of its reservations, ns; 0 without any.
    fn reservation_ns(&self) -> u64 {
        let own = if let Context::Reservation(reservation) = self.setup.context { reservation.period_ns } else { 0 };
        let of_phases = self.setup.phases.iter().filter_map(|phase| phase.reservation);
        of_phases.map(|reservation| reservation.period_ns).fold(own, u64::max)
    }

    fn worker(&self) -> Option<&Worker> {
        match &self.place {
            Place::Thread { worker, .. } => worker.as_ref(),
            Place::Kernel => None,
        }
    }

    /// Whether a thread of it has not ended yet.
    fn is_ending(&self) -> bool {
        self.worker().is_some_and(|worker| !worker.is_finished())
    }

    /// Whether the thread that does its work with a reservation has not ended yet.
    fn keeps_reservation(&self) -> bool {
        self.is_reserved() && self.worker().is_some_and(|worker| !worker.has_worked())
    }
}

/// Devices at work. They stop when this is dropped.
pub struct Rig {
    devices: Vec<Running>,
    #[expect(dead_code, reason = "the CPUs' shares are taken as long as they live")]
    claims: Vec<Claim>,
    /// Below the devices' threads on each CPU, once they run.
    below: Vec<RoomBelow>,
    watch: ReservationWatch,
}

impl Rig {
    /// Loads, calibrates and sets up everything, without beginning yet.
    ///
    /// # Errors
    /// What cannot be, and what the kernel refused.
    pub fn prepare(setups: &[DeviceSetup]) -> Result<Rig, Refused> {
        let shares = check(setups)?.into_iter().filter(|(_, share)| *share > 0.0);
        let percent = |share: f64| (share * 100.0).ceil() as u64;
        let native = Speed::native();
        let devices = setups.iter().map(|setup| prepare(setup, setup.cpu, native)).collect::<Result<_, _>>()?;
        // After what cannot be at all: nobody waits for others' devices to be told that, and nobody is kept waiting by it.
        let take = |(cpu, share)| Claim::take(Sharing::Devices, &[cpu], percent(share), percent(KERNEL_SHARE));
        let claims = shares.map(take).collect::<Result<_, _>>()?;
        Ok(Rig { devices, claims, below: Vec::new(), watch: ReservationWatch::default() })
    }

    /// Begins: the first interrupt of each device comes a period from now.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(&mut self) -> Result<(), Refused> {
        let mut threads: BTreeMap<u32, Vec<Scheduling>> = BTreeMap::new();
        for DeviceSetup { cpu, context, compete, .. } in self.devices.iter().map(|device| &device.setup) {
            let scheduling = scheduling_of(*context, *compete).map(|(scheduling, _)| scheduling);
            threads.entry(*cpu).or_default().extend(scheduling);
        }
        let start = |(cpu, threads): (u32, Vec<Scheduling>)| (cpu, RoomBelow::start(cpu, threads));
        let below: BTreeMap<u32, Result<Option<RoomBelow>, Refused>> = threads.into_iter().map(start).collect();
        for device in &mut self.devices {
            if let Place::Thread { worker, setup, .. } = &mut device.place
                && let Some(mut setup) = setup.take()
            {
                if setup.scheduling.is_real_time() {
                    let below = below.get(&setup.cpu).and_then(|below| below.as_ref().ok());
                    let room = below.and_then(Option::as_ref).map(RoomBelow::room);
                    setup.resting = room.map(|room| Resting::new(room, Times::EveryOther));
                }
                *worker = Some(Worker::spawn(*setup)?);
            }
        }
        // What it is refused the devices' own threads are too, and these say whose priority it is.
        let below = below.into_values().collect::<Result<Vec<Option<RoomBelow>>, Refused>>()?;
        self.below = below.into_iter().flatten().collect();
        for device in &mut self.devices {
            device.control.start_ns.store(clock::monotonic_ns(), Relaxed);
            if let Some(kernel) = &mut device.kernel {
                kernel.start(device.setup.cpu, device.setup.period_ns)?;
            }
        }
        Ok(())
    }

    /// Makes the devices' threads end at this time, ns of `CLOCK_MONOTONIC`, whether they are told to or not.
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
            match &mut device.place {
                Place::Thread { queue, .. } => {
                    while let Ok(activation) = queue.pop() {
                        take(index, &activation);
                    }
                }
                Place::Kernel => {
                    let kernel = device.kernel.as_mut().expect("work in the kernel has its programs");
                    device.records_lost += kernel.take(&mut |activation| take(index, activation));
                }
            }
        }
    }

    /// Begins the phases that are due: call it after each [`Rig::round`]. Reports the device's index and the phase.
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
                let units = u64::from(device.job.passes()) * u64::from(phase.samples);
                kernel.set_phase(phase, u32::try_from(units).unwrap_or(u32::MAX))?;
            }
            device.control.set_phase(phase.period_ns, phase.samples);
            let tid = device.control.tid.load(Relaxed);
            if let (Some(Reservation { runtime_ns, period_ns, .. }), true) = (phase.reservation, tid != 0) {
                let scheduling = Scheduling::Deadline { runtime_ns, period_ns };
                scheduling::set_scheduling_of(tid, scheduling, device.setup.reclaim)?;
                device.is_watched = false;
            }
            tell(index, phase);
        }
        Ok(())
    }

    /// Frees the devices' threads that the kernel does not let run although they have work to do and a reservation: call it with each
    /// [`Rig::round`]. Returns the index of each device, and what was done.
    pub fn free_stuck(&mut self) -> Vec<(usize, Freed)> {
        for device in &mut self.devices {
            let tid = device.control.tid.load(Relaxed);
            if device.is_reserved()
                && tid != 0
                && !device.is_watched
                && let Ok(now) = Before::of(tid)
                // A competing one has none while it competes; its governor sets the same again.
                && now.scheduling.reservation().is_some()
            {
                self.watch.begin(&now, now.scheduling);
                device.is_watched = true;
            }
        }
        let of = |tid: u32| self.devices.iter().position(|device| device.control.tid.load(Relaxed) == tid);
        self.watch.look().into_iter().filter_map(|stuck| Some((of(stuck.tid)?, stuck.freed))).collect()
    }

    /// Stops all devices and hands on the rest. Returns the index of each whose thread the kernel did not let run any more although it
    /// had work to do and a reservation, which was given back so that it could end.
    pub fn stop(&mut self, take: &mut dyn FnMut(usize, &Activation)) -> Vec<usize> {
        let not_served = self.end();
        self.round(take);
        not_served
    }

    /// Ends the devices' threads, also those that the kernel does not let run: a process with such a thread would never end.
    fn end(&mut self) -> Vec<usize> {
        for device in &mut self.devices {
            device.control.stop.store(true, Relaxed);
            if let Some(kernel) = &mut device.kernel {
                kernel.stop();
            }
        }
        let could_run = |device: &Running| {
            let mut stillness = Stillness::default();
            let could = device.keeps_reservation() && stillness.goes_on(device.control.tid.load(Relaxed));
            could.then_some(stillness)
        };
        let before: Vec<Option<Stillness>> = self.devices.iter().map(could_run).collect();
        self.wait_while(Running::is_ending);
        let mut not_served = Vec::new();
        for (index, (device, stillness)) in self.devices.iter().zip(before).enumerate() {
            let tid = device.control.tid.load(Relaxed);
            let is_judged = device.keeps_reservation() && device.reservation_ns() <= MAX_JUDGED_PERIOD_NS;
            if is_judged && stillness.is_some_and(|mut stillness| stillness.goes_on(tid)) {
                not_served.push(index);
            }
        }
        for _ in 0..MAX_GIVEN_BACK {
            if !self.devices.iter().any(Running::keeps_reservation) {
                break;
            }
            for device in self.devices.iter().filter(|device| device.keeps_reservation()) {
                // One that has just ended cannot be set any more, and need not be.
                let _ = scheduling::set_scheduling_of(device.control.tid.load(Relaxed), Scheduling::Other, false);
            }
            self.wait_while(Running::keeps_reservation);
        }
        not_served
    }

    /// Waits as long as this is so of any device, up to the time that threads get to end.
    fn wait_while(&self, is_so: fn(&Running) -> bool) {
        let asked = Instant::now();
        while asked.elapsed() < ENDING && self.devices.iter().any(is_so) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether a device's thread kept the rest of the program from running, and ended because of that.
    pub fn is_starved(&self) -> bool {
        self.devices.iter().any(|device| device.control.starved.load(Relaxed))
    }

    /// What has been counted for a device so far.
    pub fn counts(&self, index: usize) -> DeviceCounts {
        let device = &self.devices[index];
        let in_kernel = matches!(device.place, Place::Kernel);
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
            decoding: device.job.decodes().then(|| match &device.kernel {
                Some(kernel) if in_kernel => kernel.decoding(),
                _ => device.control.decoding(),
            }),
            own: match &device.tally {
                Some(tally) => Some(tally.counts()),
                None => device.kernel.as_ref().and_then(KernelSide::own),
            },
        }
    }

    /// The device whose own work's process has ended, and why.
    pub fn ended(&self) -> Option<(usize, Ended, u64)> {
        let ended = |tally: &Arc<Tally>| tally.ended();
        let mut devices = self.devices.iter().enumerate();
        devices.find_map(|(index, device)| {
            let (ended, block) = device.tally.as_ref().and_then(ended)?;
            Some((index, ended, block))
        })
    }

    /// Why nothing came of what a device was due, by the programs' own count; `None` if something did. Measurements of
    /// such a device say nothing about the machine.
    pub fn trouble(&self, index: usize) -> Option<String> {
        self.devices[index].kernel.as_ref().and_then(|kernel| kernel.counts().trouble())
    }

    /// What a device's work turned out to be.
    pub fn job(&self, index: usize) -> Job {
        self.devices[index].job
    }

    /// The part of a CPU that a device's work may take in interrupt or softirq context, in each 100 ms: beyond that, blocks are
    /// refused. `None` in other contexts.
    pub fn max_share(&self, index: usize) -> Option<f64> {
        self.devices[index].max_share
    }

    /// The thread id of a device's worker, once it runs.
    pub fn worker(&self, index: usize) -> Option<u32> {
        Some(self.devices[index].control.tid.load(Relaxed)).filter(|tid| *tid != 0)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(self.end());
    }
}

fn prepare(setup: &DeviceSetup, cpu: u32, native: Speed) -> Result<Running, Refused> {
    let control = Arc::new(Control::default());
    let mode = match (setup.context, setup.wake) {
        (Context::Irq, _) => Some(Mode::Work),
        (Context::Softirq, _) => Some(Mode::Softirq),
        (_, Wake::Softirq) => Some(Mode::Wake),
        (_, Wake::Timer) => None,
    };
    let received = setup.decodes.map(Received::make).transpose()?;
    let programs = match (&setup.own, &received) {
        (Some(own), _) if setup.context.is_in_kernel() => Programs::Own(own),
        (None, Some(received)) if setup.context.is_in_kernel() => Programs::Decode(received),
        _ => Programs::Filter,
    };
    let mut max_share = None;
    let mut kernel = mode.map(|mode| KernelSide::load_with(mode, programs, setup.refuse_every)).transpose()?;
    let line = Line::new(setup.period_ns, setup.samples, setup.ring, setup.drop_stale);
    let job = match (&kernel, &received) {
        (Some(kernel), _) if setup.own.is_some() && setup.context.is_in_kernel() => Job::of_own(setup, kernel)?,
        (_, Some(received)) => Job::of_decoding(setup, received, kernel.as_ref())?,
        (Some(kernel), None) if setup.context.is_in_kernel() => Job::of_filter(setup, Speed::in_kernel(kernel)?),
        _ => Job::in_a_thread(setup, native)?,
    };
    let (job, work, tally) = match own_process(setup, cpu)? {
        Some((job, process)) => {
            let tally = process.tally();
            (job, Work::Process(Box::new(process)), Some(tally))
        }
        None => (job, Work::of(setup, &job, received.as_ref()), None),
    };
    if let Some(kernel) = &mut kernel {
        if setup.context.is_in_kernel() {
            // A budget is binding; what was only asked for as a load may take longer on a slower machine.
            let slower = if setup.own.is_some() { 1.0 } else { SLOWER };
            max_share = Some(kernel.leave_others(share_of(setup) * slower));
        }
        kernel.prepare(&line, &work, u32::try_from(job.units()).unwrap_or(u32::MAX))?;
    }
    let place = place(setup, cpu, (line, work, &job), kernel.as_ref(), &control)?;
    Ok(Running {
        setup: setup.clone(),
        job,
        kernel,
        place,
        control,
        tally,
        max_share,
        records_lost: 0,
        phase: 0,
        is_watched: false,
    })
}

/// Where the work is done, in its state before it begins.
fn place(
    setup: &DeviceSetup,
    cpu: u32,
    (line, work, job): (Line, Work, &Job),
    kernel: Option<&KernelSide>,
    control: &Arc<Control>,
) -> Result<Place, Refused> {
    match scheduling_of(setup.context, setup.compete) {
        None => Ok(Place::Kernel),
        Some((scheduling, reservation)) => {
            let arrivals = match kernel {
                Some(kernel) => Arrivals::Interrupt(WakeRing::new(kernel.wakes()?, kernel.memory().clone())?),
                None => Arrivals::Clock { next: 0 },
            };
            let (producer, queue) = queue(setup.period_ns);
            let scheduling = if matches!(work, Work::Process(_)) { above(scheduling) } else { scheduling };
            let worker = WorkerSetup {
                name: setup.name.clone(),
                cpu,
                scheduling,
                reservation,
                reclaim: setup.reclaim,
                compete: setup.compete,
                line,
                work,
                guest: setup.guest,
                units: job.units(),
                unit_ns: job.unit_ns(),
                arrivals,
                queue: producer,
                control: Arc::clone(control),
                resting: None,
                rested_until: 0,
            };
            Ok(Place::Thread { worker: None, setup: Some(Box::new(worker)), queue })
        }
    }
}

/// The process of a user's own work in a thread's context, and how long a block takes there.
fn own_process(setup: &DeviceSetup, cpu: u32) -> Result<Option<(Job, OwnProcess)>, Refused> {
    let (Some(own), Context::Thread(scheduling)) = (&setup.own, setup.context) else { return Ok(None) };
    let limits = (setup.compute_ns, setup.period_ns);
    let mut process = OwnProcess::start(own, cpu, setup.samples, limits)?;
    let block_ns = process.calibrate(own)?;
    process.schedule(scheduling)?;
    Ok(Some((Job::Own { block_ns, budget_ns: setup.compute_ns }, process)))
}

/// A queue for as many activations as come in ten seconds.
fn queue(period_ns: u64) -> (Producer<Activation>, Consumer<Activation>) {
    let capacity = (10_000_000_000 / period_ns.max(1)).clamp(1 << 10, 1 << 17) as usize;
    let (mut producer, mut queue) = RingBuffer::<Activation>::new(capacity);
    // Touch every page of the queue now, not while working.
    while producer.push(Activation::default()).is_ok() {}
    while queue.pop().is_ok() {}
    (producer, queue)
}
