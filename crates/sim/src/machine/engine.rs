//! The event loop, interrupts and deferred procedures.

use super::NONE;
use super::ready::ReadyQueue;
use super::slots::SlotPlan;
use super::source::Source;
use super::specification::{MachineSpec, WorkContext};
use super::thread::Thread;
use crate::calendar::Calendar;
use crate::error::Result;
use crate::observe::{Activation, Level, Observer, Slice, Unit};
use crate::time::{NEVER, Picoseconds};
use std::collections::VecDeque;

/// The level from which no thread is switched and no deferred procedure starts.
pub(super) const DISPATCH: u8 = 2;
/// Handlers cannot nest deeper than there are interrupt levels.
const DEEPEST: usize = 32;
/// The most work that waits in one queue: the rest finds no room and is counted, so that an overloaded machine does not need
/// more memory the longer it runs.
pub(super) const MAX_WAITING: usize = 1 << 18;

/// Where the time of one CPU went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Handlers.
    pub irq: Picoseconds,
    /// Deferred procedures.
    pub dpc: Picoseconds,
    /// Threads.
    pub thread: Picoseconds,
    /// Nothing.
    pub idle: Picoseconds,
}

#[derive(Debug)]
struct Frame {
    source: u32,
    irql: u8,
    remaining: Picoseconds,
    unit: Unit,
}

#[derive(Debug)]
pub(super) struct Cpu {
    frames: Vec<Frame>,
    /// Sources whose interrupt waits for the level to sink.
    pub(super) raised: Vec<u32>,
    dpcs: VecDeque<u32>,
    /// The source whose deferred procedure runs, and what is left of its present unit.
    dpc: u32,
    dpc_remaining: Picoseconds,
    pub(super) thread: u32,
    /// Who ran last, to know when a switch has a cost.
    pub(super) last_thread: u32,
    pub(super) ready: ReadyQueue,
    pub(super) since: Picoseconds,
    pub(super) plan: SlotPlan,
    pub(super) slot_owner: u32,
    pub(super) time: CpuTime,
}

impl Cpu {
    /// A CPU on which nothing has run yet, with room for what so many threads and sources of interrupts may leave
    /// there.
    fn new(threads: usize, sources: usize) -> Cpu {
        Cpu {
            frames: Vec::with_capacity(DEEPEST),
            raised: Vec::with_capacity(sources),
            dpcs: VecDeque::with_capacity(sources),
            dpc: NONE,
            dpc_remaining: 0,
            thread: NONE,
            last_thread: NONE,
            ready: ReadyQueue::new(threads),
            since: 0,
            plan: SlotPlan::default(),
            slot_owner: NONE,
            time: CpuTime::default(),
        }
    }

    /// Whether a handler or a deferred procedure is on the CPU.
    pub(super) fn above_threads(&self) -> bool {
        !self.frames.is_empty() || self.dpc != NONE
    }
}

/// A machine that runs. Everything in it follows from its specification.
#[derive(Debug)]
pub struct Engine {
    pub(super) spec: MachineSpec,
    pub(super) calendar: Calendar,
    pub(super) cpus: Vec<Cpu>,
    pub(super) threads: Vec<Thread>,
    pub(super) sources: Vec<Source>,
    /// Threads that are ready and may run on any CPU.
    pub(super) pool: ReadyQueue,
    /// Places in line given out so far.
    pub(super) turns: u64,
    /// Who holds each lock.
    pub(super) locks: Vec<u32>,
    /// The index of the clock among the sources, [`NONE`] without one.
    pub(super) clock: u32,
    /// The time of the last tick, which the system uses as the time.
    pub(super) system_time: Picoseconds,
    /// Stamps of the tick whose timers are being expired.
    pub(super) tick: Unit,
    pub(super) now: Picoseconds,
    pub(super) events: u64,
    /// CPUs that must decide again.
    pub(super) dirty: u64,
}

impl Engine {
    /// Builds the machine.
    ///
    /// # Errors
    /// A line that names what is impossible: no CPU, a period of 0, an index out of range, a refused reservation.
    pub fn new(spec: MachineSpec) -> Result<Engine> {
        super::check::check(&spec)?;
        let mut source_specs = spec.sources.clone();
        let mut clock = NONE;
        if let Some(clock_spec) = &spec.clock {
            clock = source_specs.len() as u32;
            source_specs.push(clock_spec.as_source());
        }
        let mut cpus: Vec<Cpu> = (0..spec.cpus).map(|_| Cpu::new(spec.threads.len(), source_specs.len())).collect();
        for (index, cpu) in cpus.iter_mut().enumerate() {
            cpu.plan = super::check::plan(&spec, index)?;
        }
        let slots = 3 * spec.cpus + 2 * spec.threads.len() + source_specs.len();
        let sources = source_specs.into_iter().enumerate();
        let sources = sources.map(|(index, source)| Source::new(source, spec.seed, index)).collect();
        let threads =
            spec.threads.iter().enumerate().map(|(index, thread)| Thread::new(thread, &spec, index)).collect();
        let held = spec.threads.iter().filter_map(|thread| thread.hold).map(|hold| hold.lock + 1);
        let locks = held.max().unwrap_or(0) as usize;
        let migrating = if spec.threads.iter().any(|thread| thread.migrates) { spec.threads.len() } else { 0 };
        let mut engine = Engine {
            pool: ReadyQueue::new(migrating),
            turns: 0,
            calendar: Calendar::new(slots),
            cpus,
            threads,
            sources,
            locks: vec![NONE; locks],
            clock,
            system_time: 0,
            tick: Unit::new(0, None, NEVER),
            now: 0,
            events: 0,
            dirty: 0,
            spec,
        };
        for source in 0..engine.sources.len() {
            engine.schedule_first(source);
        }
        engine.start_threads();
        Ok(engine)
    }

    /// Calendar slots, lowest first at equal times: work done, slots of reservations, quanta and budgets,
    /// releases and replenishments, interrupts.
    #[inline]
    fn slot_done(cpu: usize) -> usize {
        cpu
    }
    #[inline]
    pub(super) fn slot_boundary(&self, cpu: usize) -> usize {
        self.spec.cpus + cpu
    }
    #[inline]
    pub(super) fn slot_turn(&self, cpu: usize) -> usize {
        2 * self.spec.cpus + cpu
    }
    #[inline]
    pub(super) fn slot_release(&self, thread: usize) -> usize {
        3 * self.spec.cpus + 2 * thread
    }
    #[inline]
    pub(super) fn slot_replenish(&self, thread: usize) -> usize {
        3 * self.spec.cpus + 2 * thread + 1
    }
    #[inline]
    pub(super) fn slot_source(&self, source: usize) -> usize {
        3 * self.spec.cpus + 2 * self.threads.len() + source
    }

    /// Runs until `until` (inclusive); can be called again with a later time.
    pub fn run<O: Observer>(&mut self, until: Picoseconds, observer: &mut O) {
        let cpus = self.spec.cpus;
        let threads_end = 3 * cpus + 2 * self.threads.len();
        if self.now == 0 && self.events == 0 {
            self.dirty = (1u64 << cpus) - 1;
            self.decide(observer);
        }
        loop {
            let time = self.calendar.earliest();
            if time > until {
                break;
            }
            let slot = self.calendar.earliest_slot();
            self.now = time;
            self.events += 1;
            if slot < cpus {
                self.done(slot, observer);
            } else if slot >= threads_end {
                self.raise(slot - threads_end, observer);
            } else if slot < 2 * cpus {
                self.charge(slot - cpus, observer);
                self.boundary(slot - cpus);
            } else if slot < 3 * cpus {
                let cpu = slot - 2 * cpus;
                self.charge(cpu, observer);
                self.calendar.set(slot, NEVER);
                self.dirty |= 1 << cpu;
            } else {
                let thread = (slot - 3 * cpus) / 2;
                if (slot - 3 * cpus).is_multiple_of(2) {
                    self.release(thread, observer)
                } else {
                    self.replenish(thread)
                }
            }
            self.decide(observer);
        }
        self.now = until;
        for cpu in 0..cpus {
            self.charge(cpu, observer);
        }
    }

    #[inline]
    fn decide<O: Observer>(&mut self, observer: &mut O) {
        while self.dirty != 0 {
            let cpu = self.dirty.trailing_zeros() as usize;
            self.dirty &= self.dirty - 1;
            self.dispatch(cpu, observer);
        }
    }

    /// Charges the time since the last charge to what ran.
    #[inline]
    pub(super) fn charge<O: Observer>(&mut self, index: usize, observer: &mut O) {
        let cpu = &mut self.cpus[index];
        let elapsed = self.now - cpu.since;
        if elapsed == 0 {
            return;
        }
        let start = cpu.since;
        cpu.since = self.now;
        let (level, who, rank) = if let Some(frame) = cpu.frames.last_mut() {
            frame.remaining -= elapsed;
            cpu.time.irq += elapsed;
            (Level::Irq, frame.source, frame.irql)
        } else if cpu.dpc != NONE {
            cpu.dpc_remaining -= elapsed;
            cpu.time.dpc += elapsed;
            (Level::Dpc, cpu.dpc, DISPATCH)
        } else if cpu.thread != NONE {
            cpu.time.thread += elapsed;
            let thread = &mut self.threads[cpu.thread as usize];
            thread.charge(elapsed);
            (Level::Thread, cpu.thread, thread.level)
        } else {
            cpu.time.idle += elapsed;
            (Level::Idle, 0, 0)
        };
        if O::SLICES {
            observer.slice(Slice { cpu: index as u32, start, end: self.now, level, index: who, rank });
        }
    }

    /// The work on top of a CPU's stack is done.
    #[inline]
    fn done<O: Observer>(&mut self, index: usize, observer: &mut O) {
        self.charge(index, observer);
        self.dirty |= 1 << index;
        let cpu = &mut self.cpus[index];
        if let Some(frame) = cpu.frames.pop() {
            self.handled(index, frame.source, frame.unit, observer);
        } else if cpu.dpc != NONE {
            let source = cpu.dpc;
            self.deferred_done(index, source, observer);
        } else {
            self.thread_done(index, observer);
        }
    }

    /// A handler has returned.
    #[inline]
    fn handled<O: Observer>(&mut self, index: usize, source_index: u32, unit: Unit, observer: &mut O) {
        let is_clock = source_index == self.clock;
        if is_clock && !self.timer_due(unit.arrival) {
            return;
        }
        let source = &mut self.sources[source_index as usize];
        if source.spec.context == WorkContext::Irq {
            source.settle(&unit, self.now, true);
            let activation = Activation { thread: None, cpu: index as u32, unit, start: unit.irq_start, end: self.now };
            observer.activation(&activation);
            return;
        }
        if source.deferred.len() >= MAX_WAITING {
            source.without_room += 1;
            return;
        }
        source.deferred.push_back(unit);
        if !source.queued {
            source.queued = true;
            let queue = &mut self.cpus[index].dpcs;
            if source.spec.important { queue.push_front(source_index) } else { queue.push_back(source_index) }
        }
    }

    /// One unit of a deferred procedure is done: the next one follows within the same call, because that handles each
    /// interrupt counted meanwhile (soft-modem-2000 section 5.2).
    #[inline]
    fn deferred_done<O: Observer>(&mut self, index: usize, source_index: u32, observer: &mut O) {
        let source = &mut self.sources[source_index as usize];
        let unit = source.current.take().expect("a deferred procedure runs for a unit");
        if source_index == self.clock {
            self.tick = unit;
            self.expire(unit.arrival);
        } else if let Some(thread) = source.spec.thread.filter(|_| source.spec.context == WorkContext::Thread) {
            self.signal(thread, Unit { ready: self.now, ..unit });
        } else {
            source.settle(&unit, self.now, true);
            let activation = Activation { thread: None, cpu: index as u32, unit, start: source.started, end: self.now };
            observer.activation(&activation);
        }
        let source = &mut self.sources[source_index as usize];
        if source.deferred.is_empty() {
            source.queued = false;
            self.cpus[index].dpc = NONE;
        } else {
            self.begin_deferred(index, source_index);
        }
    }

    #[inline]
    fn begin_deferred(&mut self, index: usize, source_index: u32) {
        let source = &mut self.sources[source_index as usize];
        let mut unit = source.deferred.pop_front().expect("queued only with a unit");
        unit.dpc_start = self.now;
        if source.spec.context == WorkContext::Dpc {
            source.begin(&mut unit, self.now);
        }
        let mut length = source.spec.dpc.draw(&mut source.random);
        if source.spec.context == WorkContext::Dpc && source_index != self.clock {
            length += unit.work + self.spec.fpu_save;
        }
        source.current = Some(unit);
        source.started = self.now;
        let cpu = &mut self.cpus[index];
        cpu.dpc = source_index;
        cpu.dpc_remaining = length;
    }

    /// Decides what a CPU runs, and sets when that will be done.
    #[inline]
    fn dispatch<O: Observer>(&mut self, index: usize, observer: &mut O) {
        self.charge(index, observer);
        loop {
            let cpu = &mut self.cpus[index];
            if !cpu.raised.is_empty() && self.take_interrupt(index) {
                continue;
            }
            let cpu = &mut self.cpus[index];
            if !cpu.frames.is_empty() || cpu.dpc != NONE {
                break;
            }
            if cpu.thread != NONE && self.threads[cpu.thread as usize].irql() >= DISPATCH {
                break;
            }
            if let Some(source) = cpu.dpcs.pop_front() {
                self.begin_deferred(index, source);
                continue;
            }
            self.choose(index, observer);
            break;
        }
        let cpu = &self.cpus[index];
        let remaining = if let Some(frame) = cpu.frames.last() {
            frame.remaining
        } else if cpu.dpc != NONE {
            cpu.dpc_remaining
        } else if cpu.thread != NONE {
            self.threads[cpu.thread as usize].remaining
        } else {
            NEVER
        };
        self.calendar.set(Self::slot_done(index), self.now.saturating_add(remaining));
        if self.cpus[index].above_threads() {
            self.calendar.set(self.slot_turn(index), NEVER);
        }
    }

    /// Starts the handler of the highest raised interrupt, if the level allows it.
    #[inline]
    fn take_interrupt(&mut self, index: usize) -> bool {
        let cpu = &mut self.cpus[index];
        let level = match cpu.frames.last() {
            Some(frame) => frame.irql,
            None if cpu.dpc != NONE => DISPATCH,
            None if cpu.thread != NONE => self.threads[cpu.thread as usize].irql(),
            None => 0,
        };
        let mut best: Option<(usize, u8)> = None;
        for (at, &source) in cpu.raised.iter().enumerate() {
            let irql = self.sources[source as usize].spec.irql;
            if irql > best.map_or(level, |(_, irql)| irql) {
                best = Some((at, irql));
            }
        }
        let Some((at, irql)) = best else { return false };
        let source_index = cpu.raised[at];
        let source = &mut self.sources[source_index as usize];
        let mut unit = source.waiting.pop_front().expect("raised only with a unit");
        if source.waiting.is_empty() {
            cpu.raised.remove(at);
        }
        unit.irq_start = self.now;
        if source.spec.context == WorkContext::Irq {
            source.begin(&mut unit, self.now);
        }
        let mut remaining = source.spec.isr.draw(&mut source.random);
        if source.spec.context == WorkContext::Irq {
            remaining += unit.work + self.spec.fpu_save;
        }
        if source_index == self.clock {
            self.system_time = self.system_time.max(unit.arrival);
        }
        cpu.frames.push(Frame { source: source_index, irql, remaining, unit });
        true
    }
}
