//! How a sampling device fares on the machine that serves it: samples pending, late blocks, overruns.

use crate::observe::{Activation, Observer, Unit};
use crate::ring::Ring;
use crate::time::{NEVER, Picoseconds};

/// The outcome of one block of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its processing began in time.
    Good,
    /// Its processing began later than the device tolerates.
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
    /// Samples that had come and were not yet processed when it ended (soft-modem-2000 section 6.2.5).
    pub pending: u64,
    /// Phase of the device.
    pub phase: u32,
    /// Samples in it.
    pub samples: u32,
    /// Its outcome.
    pub fate: Fate,
}

/// How to judge the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// Samples that the ring holds; a device without one has `u64::MAX`.
    pub ring: u64,
    /// How long after its interrupt the processing of a block may begin.
    pub start: Picoseconds,
}

/// Turns what a run shows of one source into [`Block`]s, and passes them to a consumer one by one.
#[derive(Debug)]
pub struct Meter<F> {
    source: u32,
    tolerance: Tolerance,
    /// The outcome of its samples.
    pub ring: Ring,
    /// The most samples that were ever pending when a block was done.
    pub most_pending: u64,
    take: F,
}

impl<F: FnMut(&Block)> Meter<F> {
    /// Watches `source`, a sampling device that begins at `start`.
    pub fn new(source: u32, start: Picoseconds, tolerance: Tolerance, take: F) -> Meter<F> {
        Meter { source, tolerance, ring: Ring::new(tolerance.ring, start), most_pending: 0, take }
    }

    fn settle(&mut self, unit: &Unit, start: Picoseconds, end: Picoseconds) {
        let (whole, pending) = self.ring.settle(unit.first_sample, unit.samples, end, start != NEVER);
        let fate = match start {
            NEVER => Fate::Lost,
            _ if !whole => Fate::Lost,
            start if start - unit.arrival > self.tolerance.start => Fate::Late,
            _ => Fate::Good,
        };
        self.most_pending = self.most_pending.max(pending);
        let block =
            Block { arrival: unit.arrival, start, end, pending, phase: unit.phase, samples: unit.samples, fate };
        (self.take)(&block);
    }
}

impl<F: FnMut(&Block)> Observer for Meter<F> {
    fn arrival(&mut self, source: u32, unit: &Unit) {
        if source == self.source {
            self.ring.arrive(unit.samples, unit.arrival, unit.next_rate, unit.next_samples);
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
