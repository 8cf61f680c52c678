//! Watches one run and keeps what measures need.

use super::build::Setup;
use crate::error::Result;
use crate::link::{Link, Transfer};
use crate::machine::{CpuTime, Engine};
use crate::modem::{Block, Meter};
use crate::observe::{Activation, Observer, Unit};
use crate::time::{NEVER, Picoseconds, SECOND};
use crate::watch::Watch;
use std::cell::RefCell;

/// What was seen of one run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// For each thread: due and start of each activation.
    pub starts: Vec<Vec<(Picoseconds, Picoseconds)>>,
    /// For each thread: when the activations that never started were due.
    pub never: Vec<Vec<Picoseconds>>,
    /// For each thread that asks for time constraints: their outcome.
    pub constraints: Vec<Constraints>,
    /// For each thread: from when to when somebody waited for it, adjacent times as one: something was queued for it,
    /// or being worked on (interactive-latency-2014, Section II.d and Figure 2).
    pub waits: Vec<Vec<(Picoseconds, Picoseconds)>>,
    /// For each thread: how often it moved to another CPU.
    pub migrations: Vec<u64>,
    /// For each source: how long it waited at most.
    pub source_waits: Vec<SourceWaits>,
    /// What was seen of each device.
    pub devices: Vec<DeviceRun>,
    /// The transfer.
    pub transfer: Transfer,
    /// Where the time of each CPU went.
    pub cpu: Vec<CpuTime>,
    /// Events handled.
    pub events: u64,
    /// Arrivals for which there was no room, because far too many waited: nothing else here counts them.
    pub without_room: u64,
    /// How long it was: less than asked for if a transfer ended before.
    pub length: Picoseconds,
}

/// What was seen of one device.
#[derive(Debug, Clone, Default)]
pub struct DeviceRun {
    /// Its settled blocks, in order.
    pub blocks: Vec<Block>,
    /// When the blocks came that nobody had begun by the end.
    pub never: Vec<Picoseconds>,
    /// How often its ring was full.
    pub overruns: u64,
}

/// The longest waits of a source, ps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceWaits {
    /// From the raising of its interrupt to its handler.
    pub handler: Picoseconds,
    /// From the start of its handler to the start of its deferred procedure's work; 0 if that does none.
    pub procedure: Picoseconds,
}

/// The outcome of a thread's time constraints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Constraints {
    /// Granted at once.
    pub granted: u64,
    /// Refused at once.
    pub refused: u64,
    /// Granted, and done by their deadline.
    pub met: u64,
    /// Granted, and done after it.
    pub missed: u64,
}

struct Collector<'a, M> {
    setup: &'a Setup,
    starts: Vec<Vec<(Picoseconds, Picoseconds)>>,
    waits: Vec<Vec<(Picoseconds, Picoseconds)>>,
    constraints: Vec<Constraints>,
    source_waits: Vec<SourceWaits>,
    meters: Vec<M>,
}

impl<M> Collector<'_, M> {
    fn new(setup: &Setup, meters: Vec<M>) -> Collector<'_, M> {
        let threads = setup.spec.threads.len();
        Collector {
            setup,
            starts: vec![Vec::new(); threads],
            waits: vec![Vec::new(); threads],
            constraints: vec![Constraints::default(); threads],
            source_waits: vec![SourceWaits::default(); setup.spec.sources.len()],
            meters,
        }
    }
}

impl<M: Observer> Observer for Collector<'_, M> {
    fn arrival(&mut self, source: u32, unit: &Unit) {
        for meter in &mut self.meters {
            meter.arrival(source, unit);
        }
    }

    fn activation(&mut self, activation: &Activation) {
        for meter in &mut self.meters {
            meter.activation(activation);
        }
        if let Some(waits) = activation.unit.source.and_then(|source| self.source_waits.get_mut(source as usize)) {
            waits.handler = waits.handler.max(activation.unit.irq_start - activation.unit.arrival);
            if activation.thread.is_none() && activation.unit.dpc_start != NEVER {
                waits.procedure = waits.procedure.max(activation.start - activation.unit.irq_start);
            }
        }
        if let Some(thread) = activation.thread {
            self.starts[thread as usize].push((activation.unit.arrival, activation.start));
            let waits = &mut self.waits[thread as usize];
            match waits.last_mut().filter(|(_, end)| activation.unit.arrival <= *end) {
                Some((_, end)) => *end = activation.end,
                None => waits.push((activation.unit.arrival, activation.end)),
            }
            if let (Some(true), Some(asked)) =
                (activation.unit.granted, self.setup.spec.threads[thread as usize].constraint)
            {
                let seen = &mut self.constraints[thread as usize];
                if activation.response() <= asked.deadline { seen.met += 1 } else { seen.missed += 1 }
            }
        }
    }

    fn dropped(&mut self, unit: &Unit, time: Picoseconds) {
        for meter in &mut self.meters {
            meter.dropped(unit, time);
        }
    }
}

/// How much to simulate before asking the watcher again.
const PIECE: Picoseconds = 10 * SECOND;

/// Runs a machine and keeps what measures need; `None` if the watcher wanted no more before the end.
///
/// # Errors
/// What makes the machine impossible.
pub(super) fn run(setup: &Setup, watch: &dyn Watch) -> Result<Option<Run>> {
    let mut engine = Engine::new(setup.spec.clone())?;
    let blocks: Vec<RefCell<Vec<Block>>> = setup.devices.iter().map(|_| RefCell::default()).collect();
    let link = setup.link.map(|(link, over)| (RefCell::new(Link::new(link)), over));
    let meters = setup.devices.iter().enumerate().map(|(index, device)| {
        let (kept, link) = (&blocks[index], link.as_ref().filter(|(_, over)| *over == index));
        Meter::new(device.source as u32, device.phases.offset, device.tolerance, move |block: &Block| {
            kept.borrow_mut().push(*block);
            if let Some((link, _)) = link {
                link.borrow_mut().block(block);
            }
        })
    });
    let threads = setup.spec.threads.len();
    let mut collector = Collector::new(setup, meters.collect());
    // If there is a transfer, nothing after its end counts.
    let piece = if link.is_some() { SECOND } else { PIECE };
    let mut until = piece;
    loop {
        if watch.is_over() {
            return Ok(None);
        }
        until = until.min(setup.duration);
        engine.run(until, &mut collector);
        if until == setup.duration || link.as_ref().is_some_and(|(link, _)| link.borrow().is_over()) {
            break;
        }
        until += piece;
    }
    let overruns: Vec<u64> = collector.meters.iter().map(|meter| meter.ring.overflows()).collect();
    let (starts, waits) = (collector.starts, collector.waits);
    let (mut constraints, source_waits) = (collector.constraints, collector.source_waits);
    drop(collector.meters);
    for (index, seen) in constraints.iter_mut().enumerate() {
        (seen.granted, seen.refused) = engine.constraints(index);
    }
    let devices = setup.devices.iter().zip(&blocks).zip(overruns).map(|((device, blocks), overruns)| DeviceRun {
        blocks: blocks.take(),
        never: engine.unstarted_of(device.source),
        overruns,
    });
    Ok(Some(Run {
        starts,
        never: (0..threads).map(|thread| engine.unstarted(thread)).collect(),
        constraints,
        waits,
        migrations: (0..threads).map(|thread| engine.migrations(thread)).collect(),
        source_waits,
        devices: devices.collect(),
        transfer: link.as_ref().map(|(link, _)| link.borrow().transfer()).unwrap_or_default(),
        cpu: (0..setup.spec.cpus).map(|cpu| engine.cpu_time(cpu)).collect(),
        events: engine.events(),
        without_room: engine.without_room(),
        length: until,
    }))
}
