//! What a run shows to its observers.

use crate::time::{NANOSECOND, NEVER, Picoseconds};
use punctual_recording::Wakeup;

/// One piece of work on its way from interrupt to completion. Times that it did not pass are [`NEVER`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Counts the units of one source or thread.
    pub sequence: u64,
    /// The source that it came from, if any.
    pub source: Option<u32>,
    /// When it was due: the interrupt was raised, the timer was to fire, the job was released.
    pub arrival: Picoseconds,
    /// First instruction of the interrupt handler.
    pub irq_start: Picoseconds,
    /// First instruction of the deferred procedure.
    pub dpc_start: Picoseconds,
    /// The thread was made ready, or its unit queued.
    pub ready: Picoseconds,
    /// Work to be done.
    pub work: Picoseconds,
    /// Samples in the block.
    pub samples: u32,
    /// Phase of the device.
    pub phase: u32,
    /// Number of its first sample, counted from the device's start.
    pub first_sample: u64,
    /// How many samples the block behind it has, ...
    pub next_samples: u32,
    /// ... and how many of them come a second.
    pub next_rate: u64,
    /// Whether the ring had overwritten its samples before its work began.
    pub lost: bool,
    /// Whether a time constraint was asked for and granted; `None` when none was asked for.
    pub granted: Option<bool>,
}

/// A unit that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activation {
    /// The thread, or `None` where handler or deferred procedure did the work.
    pub thread: Option<u32>,
    /// The CPU.
    pub cpu: u32,
    /// The unit.
    pub unit: Unit,
    /// Its work began.
    pub start: Picoseconds,
    /// Its work ended.
    pub end: Picoseconds,
}

impl Unit {
    /// A unit that is due at `arrival` and has passed nothing yet.
    pub(crate) fn new(sequence: u64, source: Option<u32>, arrival: Picoseconds) -> Unit {
        Unit {
            sequence,
            source,
            arrival,
            irq_start: NEVER,
            dpc_start: NEVER,
            ready: NEVER,
            work: 0,
            samples: 0,
            phase: 0,
            first_sample: 0,
            next_samples: 0,
            next_rate: 0,
            lost: false,
            granted: None,
        }
    }
}

impl Activation {
    /// From due to first instruction of the work.
    pub fn latency(&self) -> Picoseconds {
        self.start - self.unit.arrival
    }

    /// From due to done.
    pub fn response(&self) -> Picoseconds {
        self.end - self.unit.arrival
    }

    /// This activation as a recording keeps it, rounded down to whole nanoseconds point by point, so that the stages
    /// still add up to the total.
    pub fn wakeup(&self, missed: u64) -> Wakeup {
        let at = |time: Picoseconds| time / NANOSECOND;
        let expected_ns = at(self.unit.arrival);
        let start_ns = at(self.start);
        let mut wakeup = Wakeup {
            cpu: self.cpu,
            tid: self.thread.map_or(0, |thread| thread + 1),
            expected_ns,
            total_ns: start_ns - expected_ns,
            missed,
            ..Wakeup::default()
        };
        let mut reached = expected_ns;
        let mut stage = |time: Picoseconds| {
            (time != NEVER && time <= self.start).then(|| {
                let length = at(time).saturating_sub(reached);
                reached = reached.max(at(time));
                length
            })
        };
        wakeup.irq_ns = stage(self.unit.irq_start);
        wakeup.softirq_ns = stage(self.unit.dpc_start);
        if self.thread.is_some() {
            wakeup.wake_ns = stage(self.unit.ready);
            wakeup.thread_ns = Some(start_ns - reached);
            wakeup.user_ns = Some(0);
        } else {
            wakeup.user_ns = Some(start_ns - reached);
        }
        wakeup
    }
}

/// The level of a slice of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// An interrupt handler; `index` is the source.
    Irq,
    /// A deferred procedure; `index` is the source.
    Dpc,
    /// A thread; `index` is the thread.
    Thread,
    /// Nothing ran.
    Idle,
}

/// A stretch of time on one CPU in which the same thing ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The CPU.
    pub cpu: u32,
    /// From.
    pub start: Picoseconds,
    /// To.
    pub end: Picoseconds,
    /// Where.
    pub level: Level,
    /// The source (irq, dpc) or thread; 0 when idle. The clock is the source after the last.
    pub index: u32,
    /// The scheduling level of a thread at that time, or the interrupt level of a handler.
    pub rank: u8,
}

/// Something that watches a run. A method does nothing unless it is implemented.
pub trait Observer {
    /// Whether slices are wanted; false costs nothing.
    const SLICES: bool = false;
    /// An interrupt was raised.
    fn arrival(&mut self, _source: u32, _unit: &Unit) {}
    /// Work was done.
    fn activation(&mut self, _activation: &Activation) {}
    /// Work was dropped because newer work had come.
    fn dropped(&mut self, _unit: &Unit, _time: Picoseconds) {}
    /// A stretch of CPU time.
    fn slice(&mut self, _slice: Slice) {}
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Observer for Unwatched {}

/// Keeps everything: for short runs, pictures and tests.
#[derive(Debug, Clone, Default)]
pub struct Everything {
    /// Every activation, in order of completion.
    pub activations: Vec<Activation>,
    /// Every slice, in order of its end; adjacent slices of the same thing are joined.
    pub slices: Vec<Slice>,
    /// Units dropped.
    pub dropped: Vec<(Unit, Picoseconds)>,
}

impl Observer for Everything {
    const SLICES: bool = true;

    fn activation(&mut self, activation: &Activation) {
        self.activations.push(*activation);
    }

    fn dropped(&mut self, unit: &Unit, time: Picoseconds) {
        self.dropped.push((*unit, time));
    }

    fn slice(&mut self, slice: Slice) {
        if let Some(last) = self.slices.iter_mut().rev().find(|last| last.cpu == slice.cpu) {
            let same = (last.level, last.index, last.rank) == (slice.level, slice.index, slice.rank);
            if same && last.end == slice.start {
                last.end = slice.end;
                return;
            }
        }
        self.slices.push(slice);
    }
}
