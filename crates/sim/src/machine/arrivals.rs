//! Interrupts as they come from their sources, and when the next ones do.

use super::engine::{Engine, MAX_WAITING};
use super::source::block_time;
use super::specification::Arrival;
use crate::observe::{Observer, Unit};
use crate::time::{NEVER, SECOND};

impl Engine {
    /// An interrupt is raised.
    #[inline]
    pub(super) fn raise<O: Observer>(&mut self, index: usize, observer: &mut O) {
        let now = self.now;
        let source = &mut self.sources[index];
        let mut unit = Unit::new(source.sequence, Some(index as u32), now);
        source.sequence += 1;
        let next = match &source.spec.arrival {
            Arrival::Periodic { period, .. } => now + period,
            &Arrival::Sampled { period, samples, .. } => {
                unit.samples = samples;
                let rate = (u128::from(samples) * u128::from(SECOND) / u128::from(period)) as u64;
                source.sampled(&mut unit, now, (rate, samples));
                now + period
            }
            Arrival::Poisson { mean } => now.saturating_add(source.random.exponential(*mean)),
            Arrival::Times(times) => {
                source.position += 1;
                times.get(source.position).copied().unwrap_or(NEVER)
            }
            Arrival::Phases(phases) => {
                let phase = &phases.phases[source.phase];
                unit.phase = source.phase as u32;
                unit.samples = phase.samples[source.position];
                unit.work = phase.work.draw(&mut source.random);
                source.position = (source.position + 1) % phase.samples.len();
                if now >= phase.until && source.phase + 1 < phases.phases.len() {
                    source.phase += 1;
                    source.position = 0;
                }
                let next = &phases.phases[source.phase];
                let (rate, samples) = (next.rate, next.samples[source.position]);
                let length = block_time(phases, source.phase, source.position);
                source.sampled(&mut unit, now, (rate, samples));
                now + length
            }
            Arrival::Replay { block, blocks } => {
                unit.work = blocks[source.block][source.position].1;
                source.position += 1;
                let block = *block;
                let blocks = blocks.clone();
                source.next_replayed(block, &blocks)
            }
        };
        if !matches!(source.spec.arrival, Arrival::Phases(_) | Arrival::Replay { .. }) {
            unit.work = source.spec.work.draw(&mut source.random);
        }
        let cpu = source.spec.cpu;
        observer.arrival(index as u32, &unit);
        if source.waiting.len() >= MAX_WAITING {
            source.without_room += 1;
        } else if !source.spec.latched || source.waiting.is_empty() {
            // Otherwise the interrupt that waits stands for this one too.
            if source.waiting.is_empty() {
                self.cpus[cpu].raised.push(index as u32);
            }
            source.waiting.push_back(unit);
        }
        self.calendar.set(self.slot_source(index), next);
        self.dirty |= 1 << cpu;
    }

    pub(super) fn schedule_first(&mut self, index: usize) {
        let source = &mut self.sources[index];
        let first = match &source.spec.arrival {
            Arrival::Periodic { offset, .. } => *offset,
            Arrival::Sampled { period, .. } => *period,
            Arrival::Poisson { mean } => source.random.exponential(*mean),
            Arrival::Times(times) => times.first().copied().unwrap_or(NEVER),
            Arrival::Phases(phases) => phases.offset + block_time(phases, 0, 0),
            Arrival::Replay { block, blocks } => {
                let (block, blocks) = (*block, blocks.clone());
                source.block = source.random.below(blocks.len() as u64) as usize;
                source.next_replayed(block, &blocks)
            }
        };
        self.calendar.set(self.slot_source(index), first);
    }
}
