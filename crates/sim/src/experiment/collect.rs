//! Watches one run and keeps what measures need.

use super::build::Setup;
use crate::error::Result;
use crate::link::{Link, Transfer};
use crate::machine::{CpuTime, Engine};
use crate::modem::{Block, Meter};
use crate::observe::{Activation, Observer, Unit};
use crate::time::{Picoseconds, SECOND};
use std::cell::RefCell;

/// What was seen of one run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// For each thread: due and start of each activation.
    pub starts: Vec<Vec<(Picoseconds, Picoseconds)>>,
    /// The device's blocks.
    pub blocks: Vec<Block>,
    /// How often the device's ring wrapped.
    pub overruns: u64,
    /// The transfer.
    pub transfer: Transfer,
    /// Where the time of each CPU went.
    pub cpu: Vec<CpuTime>,
    /// Events handled.
    pub events: u64,
    /// How long it was: less than asked for where a transfer ended before.
    pub length: Picoseconds,
}

struct Collector<M> {
    starts: Vec<Vec<(Picoseconds, Picoseconds)>>,
    meter: Option<M>,
}

impl<M: Observer> Observer for Collector<M> {
    fn arrival(&mut self, source: u32, unit: &Unit) {
        if let Some(meter) = &mut self.meter {
            meter.arrival(source, unit);
        }
    }

    fn activation(&mut self, activation: &Activation) {
        if let Some(meter) = &mut self.meter {
            meter.activation(activation);
        }
        if let Some(thread) = activation.thread {
            self.starts[thread as usize].push((activation.unit.arrival, activation.start));
        }
    }

    fn dropped(&mut self, unit: &Unit, time: Picoseconds) {
        if let Some(meter) = &mut self.meter {
            meter.dropped(unit, time);
        }
    }
}

/// Runs a machine and keeps what measures need.
///
/// # Errors
/// What makes the machine impossible.
pub(super) fn run(setup: &Setup) -> Result<Run> {
    let mut engine = Engine::new(setup.spec.clone())?;
    let mut blocks = Vec::new();
    let link = setup.link.map(|link| RefCell::new(Link::new(link)));
    let meter = setup.device.as_ref().map(|device| {
        Meter::new(device.source as u32, &device.phases, device.tolerance, |block: &Block| {
            blocks.push(*block);
            if let Some(link) = &link {
                link.borrow_mut().block(block);
            }
        })
    });
    let mut collector = Collector { starts: vec![Vec::new(); setup.spec.threads.len()], meter };
    // Where there is a transfer, nothing after its end is looked at.
    let mut until = if link.is_some() { SECOND } else { setup.duration };
    loop {
        until = until.min(setup.duration);
        engine.run(until, &mut collector);
        if until == setup.duration || link.as_ref().is_some_and(|link| link.borrow().is_over()) {
            break;
        }
        until += SECOND;
    }
    let overruns = collector.meter.as_ref().map_or(0, |meter| meter.overruns);
    let starts = collector.starts;
    drop(collector.meter);
    Ok(Run {
        starts,
        blocks,
        overruns,
        transfer: link.map(|link| link.borrow().transfer()).unwrap_or_default(),
        cpu: (0..setup.spec.cpus).map(|cpu| engine.cpu_time(cpu)).collect(),
        events: engine.events(),
        length: until,
    })
}
