//! What a machine consists of: plain data from which an engine is built.

use crate::cost::Cost;
use crate::time::{MILLISECOND, NEVER, Picoseconds};

/// A whole machine.
#[derive(Debug, Clone)]
pub struct MachineSpec {
    /// How many CPUs. Every source belongs to one of them; so does a thread, unless it migrates.
    pub cpus: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How long a thread runs before the next of the same priority has its turn; [`NEVER`] for no turns.
    pub quantum: Picoseconds,
    /// Whether a preempted thread gets a whole new quantum when it runs again.
    pub preempted_gets_fresh_quantum: bool,
    /// By how many levels a thread of priority 1 to 15 is raised when a wait ends (never above 15).
    /// It sinks by one level each quantum. Threads from priority 16 are never changed.
    pub wait_boost: u8,
    /// After a wait of this length for the CPU, a thread of priority 1 to 15 is raised to 15 for two quanta; `None` for
    /// never.
    pub starvation_boost: Option<Picoseconds>,
    /// Whether the holder of a lock runs at the level of the highest that waits for it.
    pub inheritance: bool,
    /// Charged to the thread that is switched to.
    pub context_switch: Picoseconds,
    /// Charged in addition to a thread that moves to another CPU.
    pub migration: Picoseconds,
    /// Charged to work in interrupt or DPC context, which must save the floating-point registers itself
    /// (soft-modem-2000 section 7).
    pub fpu_save: Picoseconds,
    /// The level of a thread within its slot: [`super::ready::LEVEL_SLOT`], or a priority for a port that acts
    /// through the priority scheduler, as Rialto/NT does.
    pub slot_level: u8,
    /// The length of one unit of a reservation: a clock tick, or a nominal millisecond.
    pub slot_unit: Picoseconds,
    /// The clock that drives timers.
    pub clock: Option<ClockSpec>,
    /// Interrupt sources.
    pub sources: Vec<SourceSpec>,
    /// Threads.
    pub threads: Vec<ThreadSpec>,
}

impl Default for MachineSpec {
    fn default() -> Self {
        MachineSpec {
            cpus: 1,
            seed: 1,
            quantum: 20 * MILLISECOND,
            preempted_gets_fresh_quantum: false,
            wait_boost: 0,
            starvation_boost: None,
            inheritance: false,
            context_switch: 0,
            migration: 0,
            fpu_save: 0,
            slot_level: super::ready::LEVEL_SLOT,
            slot_unit: MILLISECOND,
            clock: None,
            sources: Vec::new(),
            threads: Vec::new(),
        }
    }
}

/// The timer hardware and what the system does at each of its interrupts.
#[derive(Debug, Clone)]
pub struct ClockSpec {
    /// The time between ticks; `None` for a device that interrupts exactly when asked to.
    pub period: Option<Picoseconds>,
    /// When the first tick comes.
    pub offset: Picoseconds,
    /// Its interrupt level.
    pub irql: u8,
    /// On which CPU.
    pub cpu: usize,
    /// The handler.
    pub isr: Cost,
    /// The deferred procedure that expires timers; queued only if one is due.
    pub dpc: Cost,
}

impl ClockSpec {
    /// The source of the clock's interrupts.
    pub(super) fn as_source(&self) -> SourceSpec {
        SourceSpec {
            name: "clock".to_owned(),
            cpu: self.cpu,
            irql: self.irql,
            arrival: match self.period {
                Some(period) => Arrival::Periodic { period, offset: self.offset },
                None => Arrival::Times(Vec::new()),
            },
            latched: true,
            isr: self.isr.clone(),
            dpc: self.dpc.clone(),
            important: false,
            work: Cost::default(),
            context: WorkContext::Dpc,
            thread: None,
        }
    }
}

/// When the interrupts of a source come.
#[derive(Debug, Clone)]
pub enum Arrival {
    /// Every `period`, first at `offset`.
    Periodic {
        /// The time between two.
        period: Picoseconds,
        /// The first.
        offset: Picoseconds,
    },
    /// At random, independently of each other.
    Poisson {
        /// The mean time between two.
        mean: Picoseconds,
    },
    /// At these times.
    Times(Vec<Picoseconds>),
    /// A block of samples every `period`, the first after one, through a ring. A block leaves the ring when its work
    /// begins; a full ring starts again from empty, and blocks whose work had not begun are lost.
    Sampled {
        /// The time between two blocks.
        period: Picoseconds,
        /// Samples of each.
        samples: u32,
        /// Samples that the ring holds.
        ring: u64,
    },
    /// A device that transfers samples and interrupts once for each block, in phases. A block leaves its ring when its
    /// work is done.
    Phases(Phases),
    /// Events of observed blocks of time, drawn at random, so that what came together stays together.
    Replay {
        /// The length of a block.
        block: Picoseconds,
        /// For each block its events in order: time within the block, length of the work.
        blocks: std::sync::Arc<Vec<Vec<(Picoseconds, Picoseconds)>>>,
    },
}

/// See [`Arrival::Phases`].
#[derive(Debug, Clone)]
pub struct Phases {
    /// The phases in order; the last one goes on.
    pub phases: Vec<PhaseSpec>,
    /// When the transfer begins.
    pub offset: Picoseconds,
    /// By how many parts in a million the device's clock is slow (positive) or fast (negative).
    pub parts_per_million: i64,
    /// Samples that its ring holds: what is not taken before it is full is lost. `u64::MAX` for no bound.
    pub ring: u64,
}

/// One phase of a sampling device.
#[derive(Debug, Clone)]
pub struct PhaseSpec {
    /// When it ends.
    pub until: Picoseconds,
    /// Samples a second.
    pub rate: u64,
    /// Samples of each block, in turn.
    pub samples: Vec<u32>,
    /// The processing of one block.
    pub work: Cost,
}

/// The context in which the work of an interrupt is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkContext {
    /// In the handler itself.
    Irq,
    /// In a deferred procedure that the handler queues.
    Dpc,
    /// In a thread that a deferred procedure signals.
    Thread,
}

/// A source of interrupts, and how they are served.
#[derive(Debug, Clone)]
pub struct SourceSpec {
    /// Its name.
    pub name: String,
    /// The CPU that it interrupts.
    pub cpu: usize,
    /// Its interrupt level, 3 to 31: it preempts handlers of lower levels and waits for those of its own.
    pub irql: u8,
    /// When.
    pub arrival: Arrival,
    /// Whether an interrupt is lost if it comes while the one before it still waits. Otherwise they are counted.
    pub latched: bool,
    /// What the handler itself takes, in addition to the work.
    pub isr: Cost,
    /// What the deferred procedure itself takes, in addition to the work. Used in DPC and thread context.
    pub dpc: Cost,
    /// Whether the deferred procedure goes to the front of the queue (high importance).
    pub important: bool,
    /// The work of one interrupt; phases and replayed events bring their own.
    pub work: Cost,
    /// Where the work is done.
    pub context: WorkContext,
    /// The thread to signal, in thread context.
    pub thread: Option<usize>,
}

/// The rule by which a thread gets the CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy {
    /// A fixed priority, 0 (idle) to 99, taking turns within it.
    Priority(u8),
    /// Above all others, as kernel code that cannot be preempted.
    Kernel,
    /// The shorter the period, the higher.
    RateMonotonic {
        /// The period that ranks it.
        period: Picoseconds,
    },
    /// The earlier the deadline, the higher.
    EarliestDeadline {
        /// From release to deadline.
        deadline: Picoseconds,
    },
    /// Precomputed slots: `runtime` of every `period` units of [`MachineSpec::slot_unit`].
    Reservation {
        /// Units in each period.
        runtime: u32,
        /// Units.
        period: u32,
        /// Whether periods must be powers of two, as in Rialto/NT.
        power_of_two: bool,
        /// Its priority outside its slots; `None` when it must not run there (soft-modem-2000 6.6).
        outside: Option<u8>,
        /// From when on; before, it runs at `before_priority`.
        from: Picoseconds,
        /// Its priority before the reservation begins.
        before_priority: u8,
    },
    /// A floating budget, as `SCHED_DEADLINE`: a constant bandwidth server under EDF.
    Deadline {
        /// Budget of each period.
        runtime: Picoseconds,
        /// From activation to deadline.
        deadline: Picoseconds,
        /// Between replenishments.
        period: Picoseconds,
        /// Whether it may use time that others leave (GRUB, `SCHED_FLAG_RECLAIM`).
        reclaim: bool,
        /// The scheduler's tick, if the budget is checked only at multiples of it; `None` for exact checks.
        tick: Option<Picoseconds>,
    },
}

/// What makes a thread run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activity {
    /// It waits for a semaphore that a source's deferred procedure signals.
    Signalled,
    /// It never stops computing.
    Spinning,
    /// It is released every `period`, without an interrupt.
    Periodic {
        /// The time between releases.
        period: Picoseconds,
        /// The first release.
        offset: Picoseconds,
    },
    /// It calls back every `interval` through the system's timers.
    Timer {
        /// The time between callbacks that was asked for.
        interval: Picoseconds,
        /// When the timer is started.
        offset: Picoseconds,
        /// How the due time is computed.
        rule: TimerRule,
    },
}

/// How a multimedia timer asks for its next wakeup (nt-timers-1998 section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerRule {
    /// The wait is rounded to whole milliseconds and is never less than one.
    Rounded,
    /// The wait ends at the exact next firing time: the fix.
    Exact,
    /// One periodic kernel timer: the alternative fix.
    KernelPeriodic,
}

/// What happens to work that still waits when newer work comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LateWork {
    /// All of it is done in order.
    #[default]
    WorkOff,
    /// All but the newest is dropped.
    DropStale,
    /// The thread waits for a synchronization event (wdm-latency-1999 section 2.2): it stays set until one wait is
    /// satisfied, so that signals that find it set are merged into one. See [`crate::Engine::merged`].
    Event,
}

/// A part of each activation during which the thread raises its interrupt level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raise {
    /// CPU time into the activation.
    pub after: Picoseconds,
    /// CPU time that it lasts; cut to what is left of the activation.
    pub length: Picoseconds,
    /// The level: 2 keeps other threads and deferred procedures out, more keeps interrupts out too.
    pub irql: u8,
}

/// A part of each activation during which the thread holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Which lock.
    pub lock: u32,
    /// CPU time into the activation.
    pub after: Picoseconds,
    /// CPU time that it is held; cut to what is left of the activation.
    pub length: Picoseconds,
}

/// A time constraint asked for at each release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstraintSpec {
    /// From release to deadline.
    pub deadline: Picoseconds,
    /// The CPU time asked for.
    pub estimate: Picoseconds,
}

/// A thread.
#[derive(Debug, Clone)]
pub struct ThreadSpec {
    /// Its name.
    pub name: String,
    /// Its CPU; if it migrates, the one that it prefers first.
    pub cpu: usize,
    /// Whether any CPU may run it: of all threads that migrate, the first in order run, on CPUs that run nothing
    /// higher. A handler or a deferred procedure holds up the thread beneath it, which does not migrate meanwhile.
    pub migrates: bool,
    /// Its rule.
    pub policy: Policy,
    /// What makes it run.
    pub activity: Activity,
    /// The work of one activation; signalled threads get it from the source.
    pub work: Cost,
    /// Whether it belongs to the foreground program: then its quantum is three times as long.
    pub foreground: bool,
    /// A part at raised level.
    pub raise: Option<Raise>,
    /// A part in which it holds a lock; not together with `raise`.
    pub hold: Option<Hold>,
    /// A constraint asked for at each release (periodic threads only).
    pub constraint: Option<ConstraintSpec>,
    /// What happens to late work.
    pub late_work: LateWork,
}

impl ThreadSpec {
    /// A thread that computes without end.
    pub fn spinner(name: &str, priority: u8) -> ThreadSpec {
        ThreadSpec::new(name, Policy::Priority(priority), Activity::Spinning, Cost::constant(NEVER / 4))
    }

    /// A thread on CPU 0 with nothing special about it.
    pub fn new(name: &str, policy: Policy, activity: Activity, work: Cost) -> ThreadSpec {
        ThreadSpec {
            name: name.to_owned(),
            cpu: 0,
            migrates: false,
            policy,
            activity,
            work,
            foreground: false,
            raise: None,
            hold: None,
            constraint: None,
            late_work: LateWork::WorkOff,
        }
    }
}
