//! How counts in blocks of the recording vary with the length of the blocks: how long the machine remembers, and how
//! much of what varies within the recording is left in the whole of it.

use super::counts::{Counts, excess};
use crate::special::chi_squared_q;

/// Below this probability, dispersion is not chance.
pub(super) const UNLIKELY: f64 = 0.01;
/// A memory shows below this probability, at any number of blocks.
pub(super) const SHOWS: f64 = 0.002;
/// The fewest blocks, which are the longest.
const MIN_BLOCKS: usize = 8;
/// The number of blocks whose spread is extrapolated to the whole.
pub(super) const BLOCKS: usize = 16;
/// How slowly, at the least, the variance of block means is taken to fall with their length: this power of it. Without
/// memory, or with one that is short beside the blocks, it is 1; if the variation is the same at every length (1/f), it
/// is near 0.
const MIN_POWER: f64 = 0.25;

/// How far from 1 that power usually lies (a normal prior's deviation): chosen, so that it stays near 1 where counts
/// hardly tell.
const POWER_DEVIATION: f64 = 0.7;

/// How counts vary, from long blocks to short ones.
#[derive(Debug, Clone)]
pub(super) struct Course {
    /// (how many blocks, the excess of counts in them).
    curve: Vec<(usize, f64)>,
    events: f64,
    exposure: f64,
    shows: bool,
}

impl Course {
    pub(super) fn of(counts: &Counts, exposure: f64) -> Course {
        let mut course = Course { curve: Vec::new(), events: counts.events, exposure, shows: false };
        for own in counts.from(MIN_BLOCKS) {
            let (blocks, excess) = (own.len(), excess(own));
            let degrees = (blocks - 1) as f64;
            course.shows |= blocks <= 64 && chi_squared_q(degrees, degrees * (excess + 1.0)) < SHOWS;
            course.curve.push((blocks, excess));
        }
        course
    }

    /// How long an event still shows, ns. Half of the excess is reached by blocks 1.6 times as long as an exponential
    /// memory takes to fade by e, and independent pieces are two such times long. `None` where nothing shows.
    pub(super) fn memory(&self) -> Option<f64> {
        let most = self.curve.iter().map(|point| point.1).fold(0.0, f64::max);
        if !self.shows || most <= 0.0 {
            return None;
        }
        // The longest blocks may show only a part of the excess: the memory itself tells how much.
        let mut memory = self.crossing(most / 2.0);
        for _ in 0..20 {
            memory = self.crossing(most / settled(self.exposure / MIN_BLOCKS as f64 / memory).max(0.2) / 2.0);
        }
        Some(2.0 * memory)
    }

    /// From short blocks to long ones: where this much excess is reached, in the times in which an exponential memory
    /// that reaches half of its excess there fades by e.
    fn crossing(&self, wanted: f64) -> f64 {
        let mut before = (0.0, 0.0);
        for &(blocks, excess) in self.curve.iter().rev() {
            let length = self.exposure / blocks as f64;
            if excess >= wanted {
                let share = (wanted - before.1) / (excess - before.1).max(f64::MIN_POSITIVE);
                return (before.0 + share.clamp(0.0, 1.0) * (length - before.0)) / 1.6;
            }
            before = (length, excess.max(0.0));
        }
        self.curve.first().map_or(1.0, |&(blocks, _)| self.exposure / blocks as f64 / 1.6)
    }

    /// How many times as much varies in the whole as the excess of its [`BLOCKS`] blocks says if they are taken as
    /// independent. The variance of the means of b blocks about their own mean is taken to be A·(b^a - 1), with A that
    /// of the whole: a = 1 for a memory that is short beside the blocks, and less the longer it is (for fractional
    /// noise a = 2 - 2H). The power is fitted to blocks that are no shorter than the memory.
    pub(super) fn left(&self, memory: f64) -> f64 {
        let shortest = ((self.exposure / memory) as usize).clamp(4 * MIN_BLOCKS, 256);
        let points: Vec<(f64, f64)> = self
            .curve
            .iter()
            .filter(|(blocks, _)| *blocks <= shortest)
            .map(|&(blocks, excess)| (blocks as f64, excess * blocks as f64 / self.events))
            .collect();
        let misfit = |power: f64| {
            let form = |blocks: f64| blocks.powf(power) - 1.0;
            let weights: f64 = points.iter().map(|point| point.0 - 1.0).sum();
            let scale = points.iter().map(|point| (point.0 - 1.0) * point.1 / form(point.0)).sum::<f64>() / weights;
            let of = |&(blocks, variance): &(f64, f64)| {
                let expected = scale * form(blocks);
                // Where independent events would vary as much, the excess is known less well.
                let excess = (expected * self.events / blocks).max(0.0);
                let error = (2.0 / (blocks - 1.0)).sqrt() * expected * (1.0 + 1.0 / excess.max(1e-3));
                ((variance - expected) / error).powi(2)
            };
            points.iter().map(of).sum::<f64>() + ((1.0 - power) / POWER_DEVIATION).powi(2)
        };
        let powers = (0..=15).map(|step| MIN_POWER + 0.05 * f64::from(step));
        let best = powers.map(|power| (misfit(power), power)).min_by(|one, other| one.0.total_cmp(&other.0));
        let power = best.map_or(1.0, |best| best.1);
        (BLOCKS - 1) as f64 / ((BLOCKS as f64).powf(power) - 1.0)
    }
}

/// The share of its long-run excess that a block shows, for a memory that fades exponentially; in memories.
pub(super) fn settled(block: f64) -> f64 {
    if block < 1e-6 { 0.5e-6 } else { 1.0 - (1.0 - (-block).exp()) / block }
}
