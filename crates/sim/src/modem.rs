//! What a sampling device makes of the machine that serves it: samples pending, late blocks, overruns.

use crate::machine::Phases;
use crate::observe::{Activation, Observer, Unit};
use crate::time::{NEVER, Picoseconds, SECOND};

/// What became of one block of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its processing began in time.
    Good,
    /// Its processing began later than the device bears.
    Late,
    /// It was dropped for a newer one, or the ring had wrapped before it was processed.
    Lost,
}

/// One block, when its processing was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its interrupt.
    pub arrival: Picoseconds,
    /// Processing began; [`NEVER`] if it was dropped.
    pub start: Picoseconds,
    /// Processing ended, or it was dropped.
    pub end: Picoseconds,
    /// Samples that had come and were not processed when it ended (soft-modem-2000 section 6.2.5).
    pub pending: u64,
    /// Phase of the device.
    pub phase: u32,
    /// Samples in it.
    pub samples: u32,
    /// What became of it.
    pub fate: Fate,
}

/// How the device is to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// Samples that the ring holds; a device without one has `u64::MAX`.
    pub ring: u64,
    /// How long after its interrupt the processing of a block may begin.
    pub start: Picoseconds,
}

/// Takes what a run shows of one source and turns it into [`Block`]s, handed to a consumer one by one.
#[derive(Debug)]
pub struct Meter<F> {
    source: u32,
    rates: Vec<u64>,
    tolerance: Tolerance,
    last_arrival: Picoseconds,
    last_phase: usize,
    arrived: u64,
    consumed: u64,
    /// How often the ring wrapped.
    pub overruns: u64,
    /// The most samples ever pending when a block was done.
    pub most_pending: u64,
    take: F,
}

impl<F: FnMut(&Block)> Meter<F> {
    /// Watches `source`, a device with these phases.
    pub fn new(source: u32, phases: &Phases, tolerance: Tolerance, take: F) -> Meter<F> {
        Meter {
            source,
            rates: phases.phases.iter().map(|phase| phase.rate).collect(),
            tolerance,
            last_arrival: phases.offset,
            last_phase: 0,
            arrived: 0,
            consumed: 0,
            overruns: 0,
            most_pending: 0,
            take,
        }
    }

    fn pending_at(&self, time: Picoseconds) -> u64 {
        let under_way = u128::from(time - self.last_arrival) * u128::from(self.rates[self.last_phase]);
        (self.arrived + (under_way / u128::from(SECOND)) as u64).saturating_sub(self.consumed)
    }

    fn settle(&mut self, unit: &Unit, start: Picoseconds, end: Picoseconds) {
        self.consumed += u64::from(unit.samples);
        let mut pending = self.pending_at(end);
        let mut fate = match start {
            NEVER => Fate::Lost,
            start if start - unit.arrival > self.tolerance.start => Fate::Late,
            _ => Fate::Good,
        };
        if pending >= self.tolerance.ring {
            // The ring has wrapped: what was in it is lost, and counting begins anew.
            self.overruns += 1;
            fate = Fate::Lost;
            self.consumed += pending - pending % self.tolerance.ring;
            pending %= self.tolerance.ring;
        }
        self.most_pending = self.most_pending.max(pending);
        let block =
            Block { arrival: unit.arrival, start, end, pending, phase: unit.phase, samples: unit.samples, fate };
        (self.take)(&block);
    }
}

impl<F: FnMut(&Block)> Observer for Meter<F> {
    fn arrival(&mut self, source: u32, unit: &Unit) {
        if source == self.source {
            self.last_arrival = unit.arrival;
            self.last_phase = unit.phase as usize;
            self.arrived += u64::from(unit.samples);
        }
    }

    fn activation(&mut self, activation: &Activation) {
        if activation.unit.source == Some(self.source) {
            self.settle(&activation.unit, activation.start, activation.end);
        }
    }

    fn dropped(&mut self, unit: &Unit, time: Picoseconds) {
        if unit.source == Some(self.source) {
            self.settle(unit, NEVER, time);
        }
    }
}
