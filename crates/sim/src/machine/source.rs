//! A source of interrupts as it runs: what waits, and when the next one comes.

use super::specification::{Arrival, Phases, SourceSpec};
use crate::observe::Unit;
use crate::random::Xoshiro256;
use crate::ring::Ring;
use crate::time::{NEVER, Picoseconds, SECOND};
use std::collections::VecDeque;

/// A source and its state.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) spec: SourceSpec,
    pub(super) random: Xoshiro256,
    pub(super) sequence: u64,
    /// Raised and not handled.
    pub(super) waiting: VecDeque<Unit>,
    /// Handled, but not yet taken up by the deferred procedure.
    pub(super) deferred: VecDeque<Unit>,
    pub(super) queued: bool,
    pub(super) current: Option<Unit>,
    /// Start of the work of the present unit.
    pub(super) started: Picoseconds,
    pub(super) without_room: u64,
    /// Phase and position in the pattern of a sampling device; block and position of a replay; index of times.
    pub(super) phase: usize,
    pub(super) position: usize,
    pub(super) block_start: Picoseconds,
    pub(super) block: usize,
    /// Samples that came, and the ring that holds them, of a sampling device.
    pub(super) samples: u64,
    pub(super) ring: Option<Ring>,
}

/// The part of the random numbers that all replays share, so that they draw the same blocks.
const REPLAY_PART: u64 = 0xb10c;

impl Source {
    /// A source from which nothing has come yet; `index` tells the random numbers of a machine's sources apart.
    pub(super) fn new(spec: SourceSpec, seed: u64, index: usize) -> Source {
        Source {
            random: match spec.arrival {
                Arrival::Replay { .. } => Xoshiro256::new(seed, REPLAY_PART),
                _ => Xoshiro256::new(seed, 1_000_000 + index as u64),
            },
            sequence: 0,
            waiting: VecDeque::with_capacity(16),
            deferred: VecDeque::with_capacity(16),
            queued: false,
            current: None,
            started: 0,
            without_room: 0,
            phase: 0,
            position: 0,
            block_start: 0,
            block: 0,
            samples: 0,
            ring: match &spec.arrival {
                Arrival::Phases(phases) if phases.ring < u64::MAX => Some(Ring::new(phases.ring, phases.offset)),
                Arrival::Sampled { ring, .. } => Some(Ring::new(*ring, 0)),
                _ => None,
            },
            spec,
        }
    }

    /// The work of a block begins: there is none if the ring has overwritten its samples.
    #[inline]
    pub(super) fn begin(&mut self, unit: &mut Unit, now: Picoseconds) {
        let Some(ring) = &mut self.ring else { return };
        unit.lost = match self.spec.arrival {
            Arrival::Sampled { .. } => !ring.settle(unit.first_sample, unit.samples, now, true).0,
            _ => ring.is_lost(unit.first_sample),
        };
        if unit.lost {
            unit.work = 0;
        }
    }

    /// A block of so many samples is complete, and the next one, of `next`, begins.
    #[inline]
    pub(super) fn sampled(&mut self, unit: &mut Unit, now: Picoseconds, (rate, next): (u64, u32)) {
        unit.first_sample = self.samples;
        self.samples += u64::from(unit.samples);
        (unit.next_rate, unit.next_samples) = (rate, next);
        if let Some(ring) = &mut self.ring {
            ring.arrive(unit.samples, now, rate, next);
        }
    }

    /// A block is settled: its samples were taken, or dropped.
    #[inline]
    pub(super) fn settle(&mut self, unit: &Unit, now: Picoseconds, keep: bool) {
        if let Some(ring) = &mut self.ring {
            ring.settle(unit.first_sample, unit.samples, now, keep);
        }
    }

    /// The next event of a replay. It skips empty blocks; blocks without any event give [`NEVER`].
    pub(super) fn next_replayed(
        &mut self,
        length: Picoseconds,
        blocks: &[Vec<(Picoseconds, Picoseconds)>],
    ) -> Picoseconds {
        while self.position >= blocks[self.block].len() {
            self.position = 0;
            self.block_start = self.block_start.saturating_add(length);
            if self.block_start > NEVER / 2 || blocks.iter().all(Vec::is_empty) {
                return NEVER;
            }
            self.block = self.random.below(blocks.len() as u64) as usize;
        }
        self.block_start + blocks[self.block][self.position].0
    }
}

/// How long the device takes to transfer a block.
pub(super) fn block_time(phases: &Phases, phase: usize, position: usize) -> Picoseconds {
    let phase = &phases.phases[phase];
    let length = u64::from(phase.samples[position]) * SECOND / phase.rate;
    let drift = i128::from(length) * i128::from(phases.parts_per_million) / 1_000_000;
    (i128::from(length) + drift) as u64
}
