//! A device's work in a thread, with a priority or a reservation.

use super::arrivals::Arrivals;
use super::control::{Control, Watchdog};
use super::guest::{GuestAtWork, MakeGuest};
use super::memory::{Activation, CUT, RESTED, UNOBSERVED};
use super::work::Work;
use crate::context::{Context, Form, Reservation};
use crate::own::process::Turn;
use punctual_datapump::{DecodingCounts, Line};
use punctual_kernel::rests::Resting;
use punctual_kernel::scheduling::{self, Scheduling};
use punctual_kernel::{Refused, capabilities, clock, hold};
use rtrb::Producer;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// A reservation is enforced when somebody reads the thread's clock: this often, ns of work.
const LOOK_NS: f64 = 20_000.0;
/// On top of what a competing worker counts itself, so that it leaves its reservation before the kernel halts it, ns.
const MARGIN_NS: u64 = 200_000;

/// How to set up a worker.
pub(super) struct WorkerSetup {
    pub(super) name: String,
    pub(super) cpu: u32,
    pub(super) scheduling: Scheduling,
    /// Set if the scheduling is a reservation.
    pub(super) reservation: Option<Reservation>,
    pub(super) reclaim: bool,
    pub(super) compete: bool,
    pub(super) line: Line,
    pub(super) work: Work,
    /// Makes the work, if another crate brings it.
    pub(super) guest: Option<MakeGuest>,
    /// How many of them a block has.
    pub(super) units: u64,
    pub(super) unit_ns: f64,
    pub(super) arrivals: Arrivals,
    pub(super) queue: Producer<Activation>,
    pub(super) control: Arc<Control>,
    /// Set if it runs ahead of ordinary threads for as long as it wants.
    pub(super) resting: Option<Resting>,
    /// When its last rest ended, ns of `CLOCK_MONOTONIC`.
    pub(super) rested_until: u64,
}

/// The scheduling of a context that is a thread, and its reservation.
pub(super) fn scheduling_of(context: Context, compete: bool) -> Option<(Scheduling, Option<Reservation>)> {
    match context {
        Context::Irq | Context::Softirq => None,
        Context::Thread(scheduling) => Some((scheduling, None)),
        Context::Reservation(reservation) => {
            let Reservation { runtime_ns, period_ns, .. } = reservation;
            let margin = if compete { MARGIN_NS } else { 0 };
            let runtime_ns = (runtime_ns + margin).min(period_ns);
            Some((Scheduling::Deadline { runtime_ns, period_ns }, Some(reservation)))
        }
    }
}

/// The scheduling of the thread that hands blocks to a process with this scheduling: above it, or a process that never
/// ends its block would keep this thread from ending it.
pub(super) fn above(scheduling: Scheduling) -> Scheduling {
    match scheduling {
        Scheduling::Fifo(priority) | Scheduling::RoundRobin(priority) => Scheduling::Fifo((priority + 1).min(99)),
        _ => Scheduling::Fifo(1),
    }
}

/// A thread that works for a device. It ends when its control says so.
pub(super) struct Worker {
    handle: JoinHandle<()>,
    governor: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread and waits until it has its scheduling. The line begins at the control's start.
    pub(super) fn spawn(setup: WorkerSetup) -> Result<Worker, Refused> {
        let doing = "starting a device's thread";
        let (tell, told) = mpsc::channel();
        let governed = setup.compete.then_some(setup.reservation).flatten();
        let (control, scheduling) = (Arc::clone(&setup.control), setup.scheduling);
        let name: String = setup.name.chars().take(15).collect();
        let body = move || {
            // Made at normal priority, and by the thread that keeps it.
            let guest = setup.guest.map(|make| make(setup.line.samples)).transpose();
            let guest =
                guest.map_err(|reason| Refused::because(format!("running the device `{}`", setup.name), reason));
            let prepared = guest.and_then(|guest| prepare(&setup).map(|()| guest.map(GuestAtWork::new)));
            match prepared {
                Ok(guest) => {
                    let _ = tell.send(Ok(()));
                    work(setup, guest);
                }
                Err(refused) => {
                    let _ = tell.send(Err(refused));
                }
            }
        };
        let spawned = std::thread::Builder::new().name(name).stack_size(512 * 1024).spawn(body);
        let handle = spawned.map_err(|error| Refused::because(doing, error.to_string()))?;
        told.recv().map_err(|_| Refused::because(doing, "it ended early"))??;
        let governor = governed.map(|reservation| govern(reservation, scheduling, control)).transpose()?;
        Ok(Worker { handle, governor })
    }

    /// Whether the thread that does the work has ended.
    pub(super) fn has_worked(&self) -> bool {
        self.handle.is_finished()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.has_worked() && self.governor.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

fn prepare(setup: &WorkerSetup) -> Result<(), Refused> {
    setup.control.tid.store(clock::thread_id(), Relaxed);
    take_up(setup.scheduling, setup.reservation.is_some(), setup.reclaim, setup.cpu)
}

/// Puts the calling thread into a context of a soft device's work, on this CPU.
///
/// # Errors
/// What the kernel refused, and contexts that are not a thread's.
pub fn enter(context: Context, cpu: u32) -> Result<Scheduling, Refused> {
    let (scheduling, reservation) = scheduling_of(context, false)
        .ok_or_else(|| Refused::because("entering a context", format!("{context} is not one of a thread")))?;
    take_up(scheduling, reservation.is_some(), false, cpu)?;
    Ok(scheduling)
}

fn take_up(scheduling: Scheduling, is_reservation: bool, reclaim: bool, cpu: u32) -> Result<(), Refused> {
    scheduling::drop_timer_slack();
    let cpus = scheduling::allowed_cpus();
    scheduling::pin_to(cpu)?;
    hold::touch_stack();
    if is_reservation {
        // The kernel gives reservations only to threads that may run on every CPU; this one begins on its own.
        scheduling::allow_cpus(&cpus)?;
    }
    scheduling::set_scheduling_of(0, scheduling, reclaim).map_err(|refused| match scheduling {
        Scheduling::Fifo(_) | Scheduling::RoundRobin(_) => {
            Refused::because(refused.doing, format!("{}; {}", refused.reason, capabilities::real_time_remedy()))
        }
        _ => refused,
    })
}

/// Gives a competing worker its reservation back at the beginning of each period.
fn govern(reservation: Reservation, scheduling: Scheduling, control: Arc<Control>) -> Result<JoinHandle<()>, Refused> {
    let (tell, told) = mpsc::channel();
    let body = move || {
        let prepared = scheduling::set_scheduling(Scheduling::Fifo(98));
        let ready = prepared.is_ok();
        let _ = tell.send(prepared);
        let mut next = clock::monotonic_ns() + reservation.period_ns;
        while ready && !control.is_over(clock::monotonic_ns()) {
            clock::sleep_until(next);
            let late = clock::monotonic_ns().saturating_sub(next) / reservation.period_ns;
            next += reservation.period_ns * (late + 1);
            if control.demoted.load(Relaxed) {
                match scheduling::set_scheduling_of(control.tid.load(Relaxed), scheduling, false) {
                    Ok(()) => control.demoted.store(false, Relaxed),
                    Err(_) => drop(control.not_admitted.fetch_add(1, Relaxed)),
                }
            }
            control.periods.fetch_add(1, Relaxed);
        }
    };
    let doing = "starting a reservation's governor";
    let spawned = std::thread::Builder::new().name("governor".to_owned()).stack_size(128 * 1024).spawn(body);
    let handle = spawned.map_err(|error| Refused::because(doing, error.to_string()))?;
    told.recv().map_err(|_| Refused::because(doing, "it ended early"))??;
    Ok(handle)
}

fn work(mut setup: WorkerSetup, mut guest: Option<GuestAtWork>) {
    let control = Arc::clone(&setup.control);
    let start = loop {
        match control.start_ns.load(Relaxed) {
            0 if control.is_stopped() => return,
            0 => std::thread::sleep(std::time::Duration::from_micros(500)),
            start => break start,
        }
    };
    if let Arrivals::Clock { next } = &mut setup.arrivals {
        *next = start + setup.line.period;
    }
    let slots = setup.reservation.is_some_and(|reservation| reservation.form == Form::Slots);
    let mut budget = Budget::new(&setup);
    let mut watchdog = Watchdog::default();
    let mut unobserved = 0u64;
    // Waits for a block to report it, if everything that waited was lost.
    let mut rested = false;
    let mut phase = 0;
    loop {
        let now = clock::monotonic_ns();
        if control.is_over(now) {
            return count_the_last(&mut setup, now);
        }
        if let Some((period_ns, samples)) = control.phase_after(&mut phase) {
            // Whatever has arrived by now came in blocks of the old size.
            setup.arrivals.poll(&mut setup.line, now);
            setup.arrivals.set_phase(&mut setup.line, now, period_ns, samples);
            if let Work::Filter(pump) = &setup.work {
                setup.units = u64::from(pump.passes()) * u64::from(samples);
            }
        }
        let seen = setup.line.arrived;
        setup.arrivals.poll(&mut setup.line, now);
        // It comes once for each block, unless something kept it from that; the blocks may be gone.
        let kept = (setup.line.arrived - seen).saturating_sub(1) * setup.line.period;
        watchdog.check(&control, now);
        rested |= setup.line.oldest().is_some_and(|arrival| arrival < setup.rested_until);
        match setup.line.begin(now) {
            Some(arrival) => {
                unobserved += setup.arrivals.unobserved();
                rest(&mut setup, |resting| resting.came(now, kept.max(now.saturating_sub(arrival))));
                let processed = process(&mut setup, &mut budget, guest.as_mut(), arrival);
                control.publish(&setup.line);
                let Some(mut activation) = processed else { continue };
                if unobserved > 0 {
                    unobserved -= 1;
                    activation.flags |= UNOBSERVED;
                }
                if std::mem::take(&mut rested) || arrival < setup.rested_until {
                    activation.flags |= RESTED;
                }
                if let Some(counts) = decoded(&setup.work, guest.as_ref()) {
                    control.publish_decoding(&counts);
                }
                if setup.queue.push(activation).is_err() {
                    control.lost_records.fetch_add(1, Relaxed);
                }
            }
            None if unobserved > 0 => unobserved = 0,
            // A slot passes whether there is work or not: the thread waits in it, awake, until the kernel ends it.
            None if slots => wait_awake(),
            None => setup.arrivals.wait(),
        }
    }
}

/// What came of a signal so far.
fn decoded(work: &Work, guest: Option<&GuestAtWork>) -> Option<DecodingCounts> {
    match (work, guest) {
        (Work::Decode(decoder), _) => Some(decoder.counts()),
        (_, guest) => guest.map(GuestAtWork::counts),
    }
}

/// What came while it had no turn still counts as having come.
fn count_the_last(setup: &mut WorkerSetup, now: u64) {
    setup.arrivals.poll(&mut setup.line, now);
    setup.control.publish(&setup.line);
}

/// Waits a little without giving up the CPU, and makes the kernel account for it.
fn wait_awake() {
    let until = clock::monotonic_ns() + LOOK_NS as u64;
    while clock::monotonic_ns() < until {
        std::hint::spin_loop();
    }
    clock::thread_cpu_ns();
}

/// Rests until the time that it is given, if it is given one.
#[inline]
fn rest(setup: &mut WorkerSetup, until: impl FnOnce(&mut Resting) -> Option<u64>) {
    if let Some(rest_end) = setup.resting.as_mut().and_then(until) {
        clock::sleep_until(rest_end);
        setup.rested_until = rest_end;
    }
}

/// Works on a block; `None` if a user's own work was not meant to have it.
fn process(
    setup: &mut WorkerSetup,
    budget: &mut Budget,
    mut guest: Option<&mut GuestAtWork>,
    arrival: u64,
) -> Option<Activation> {
    let line = &setup.line;
    let mut activation = Activation {
        block: line.taken,
        arrival,
        interrupt: setup.arrivals.interrupt(),
        queued: u32::try_from(line.arrived - line.taken).unwrap_or(u32::MAX),
        ..Activation::default()
    };
    // The execution time is read within the elapsed time, so that it cannot be the longer of the two.
    activation.start = clock::monotonic_ns();
    let cpu_before = clock::thread_cpu_ns();
    match &mut guest {
        Some(guest) => guest.begin_block(activation.block),
        None => setup.work.begin_block(activation.block),
    }
    let mut left = setup.units;
    while left > 0 {
        let step = left.min(budget.units);
        match &mut guest {
            Some(guest) => guest.run(step),
            None => setup.work.run(step),
        }
        left -= step;
        budget.look(&setup.control);
        let now = clock::monotonic_ns();
        if setup.control.is_over(now) {
            activation.flags = CUT;
            break;
        }
        rest(setup, |resting| resting.works_on(now));
    }
    activation.executed = clock::thread_cpu_ns() - cpu_before;
    activation.end = clock::monotonic_ns();
    if let Work::Process(process) = &setup.work {
        // This thread only hands over, and returns when the block is done or never will be.
        let (executed, flags) = match process.last() {
            Turn::Done(took) => (took, 0),
            Turn::GivenUp => (0, CUT),
            Turn::NotBegun => {
                setup.line.take();
                return None;
            }
        };
        activation.executed = executed.min(activation.end - activation.start);
        activation.flags = flags;
    }
    setup.line.take();
    activation.pending = u32::try_from(setup.line.pending(activation.end)).unwrap_or(u32::MAX);
    activation.cpu = clock::current_cpu();
    Some(activation)
}

/// Enforces a reservation while work is going on.
struct Budget {
    /// Between two checks.
    units: u64,
    enforced: bool,
    /// For a competing worker: how far into each period's time it begins to compete, ns.
    competes_after: Option<u64>,
    period: u64,
    cpu_at_period: u64,
}

impl Budget {
    fn new(setup: &WorkerSetup) -> Budget {
        let runtime = setup.reservation.map(|reservation| reservation.runtime_ns);
        Budget {
            units: ((LOOK_NS / setup.unit_ns.max(1.0)) as u64).max(1),
            enforced: setup.reservation.is_some(),
            competes_after: runtime.filter(|_| setup.compete),
            period: 0,
            cpu_at_period: clock::thread_cpu_ns(),
        }
    }

    #[inline]
    fn look(&mut self, control: &Control) {
        if !self.enforced {
            return;
        }
        // The kernel accounts for and halts a reservation at its tick; reading the thread's clock makes it do so now.
        let now = clock::thread_cpu_ns();
        let Some(runtime) = self.competes_after else { return };
        let period = control.periods.load(Relaxed);
        if period != self.period {
            self.period = period;
            self.cpu_at_period = now;
        } else if now - self.cpu_at_period >= runtime && !control.demoted.load(Relaxed) {
            // First announce, then act: the governor may come in between and must find it.
            control.demoted.store(true, Relaxed);
            control.demotions.fetch_add(1, Relaxed);
            let _ = scheduling::set_scheduling(Scheduling::Other);
        }
    }
}
