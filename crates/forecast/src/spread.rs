//! How much more a count of stalls varies than one of independent stalls, for how long the machine remembers, and
//! whether it drifts: measured from stalls at lower levels too, since a device's own level has mostly few.
//!
//! A count n is taken to vary by n + excess(n)·n. The excess is that of counts in blocks of the recording; it grows with
//! the count (stalls that are rarer are more independent), never faster than the count, so that limits made from it
//! grow with the count: a device that meets fewer stalls never gets a worse limit.

use crate::interval::Estimate;
use crate::special::{chi_squared_q, gamma_quantile, normal_quantile};

/// Fewest events whose spread is measured.
const MIN_EVENTS: usize = 40;
/// Blocks in which they are counted.
const BLOCKS: usize = 16;
/// Dispersion is no accident below this probability.
const UNLIKELY: f64 = 0.01;
/// A drift is no accident below this probability.
const DRIFTS: f64 = 0.003;
/// Student's 97.5 % quantile for 15 degrees of freedom over the normal one, squared: the excess is an estimate itself.
const OF_AN_ESTIMATE: f64 = 1.183;
/// Where there is a memory, what was measured of the excess is multiplied by this: chosen by the coverage measured for
/// scales that wander and stalls that branch (`benches/processes.rs`).
const SELDOM_SEEN: f64 = 2.5;
/// A verdict of *holds* without a condition needs so many times as long as the machine remembers.
pub(crate) const MIN_PIECES: f64 = 20.0;
/// And an hour of exposure, less what a run of that length may miss, ns. How long a machine remembers shows only in
/// recordings of many times that length, and much comes by the minute (jobs, collections, heat): where a short recording shows
/// no memory, that is no proof that there is none.
pub(crate) const MIN_SETTLED_NS: f64 = 3.5e12;

/// How stalls spread over a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// (how many events, the variance of their long-run rate relative to its square), fewest events first.
    ladder: Vec<(f64, f64)>,
    /// How many times as large that is at half as many events.
    growth: f64,
    /// How long what happened still shows in what happens, ns of observed time; `None` where nothing shows.
    pub memory_ns: Option<f64>,
    /// How many times as frequent stalls are at the end as at the beginning, where that is no accident.
    pub drift: Option<f64>,
    /// As many independent pieces as would vary as the rarest counts do, where those vary by no accident.
    worth: Option<f64>,
    /// The exposure, ns.
    exposure: f64,
}

impl Spread {
    /// Nothing is known of it: independent events.
    pub(crate) fn independent(exposure: f64) -> Spread {
        Spread { ladder: Vec::new(), growth: 1.0, memory_ns: None, drift: None, worth: None, exposure }
    }

    /// Measures it. `times`: when events above the level of so many were, ns; for ever more events, as far as known.
    pub(crate) fn of(levels: &[Vec<u64>], exposure: f64) -> Spread {
        let usable: Vec<&Vec<u64>> = levels.iter().filter(|times| times.len() >= MIN_EVENTS).collect();
        let mut spread = Spread::independent(exposure);
        // Where most is known of the time course: memory and drift.
        for times in usable.iter().rev().take(4) {
            let memory = memory(times, exposure);
            if memory.is_some_and(|memory| spread.memory_ns.is_none_or(|known| memory > known)) {
                spread.memory_ns = memory;
            }
            let drift = drift(times, exposure);
            spread.drift = spread.drift.or(drift);
        }
        // Blocks shorter than the memory show a part of the excess only, and a rate that wanders shows its crests seldom.
        let fades = |memory: f64| 1.0 / settled(2.0 * exposure / BLOCKS as f64 / memory);
        let unsettled = spread.memory_ns.map_or(1.0, |memory| fades(memory).min(3.0) * SELDOM_SEEN);
        let mut significant = Vec::new();
        for times in &usable {
            let count = times.len() as f64;
            let excess = ((excess(times, BLOCKS, exposure) + 1.0) * OF_AN_ESTIMATE - 1.0).max(0.0) * unsettled;
            let chance =
                chi_squared_q((BLOCKS - 1) as f64, (BLOCKS - 1) as f64 * (excess / unsettled / OF_AN_ESTIMATE + 1.0));
            significant.push(chance < UNLIKELY);
            spread.ladder.push((count, excess / count));
        }
        // A rate that varies among frequent stalls does among rare ones; and rare storms are storms among all.
        let ladder = &mut spread.ladder;
        for index in (0..ladder.len().saturating_sub(1)).rev() {
            ladder[index].1 = ladder[index].1.max(ladder[index + 1].1);
        }
        for index in 1..ladder.len() {
            let before = ladder[index - 1];
            ladder[index].1 = ladder[index].1.max(before.1 * before.0 / ladder[index].0).min(before.1);
        }
        if significant.iter().any(|&significant| significant) {
            spread.worth = ladder.first().map(|step| 1.0 / step.1.max(1e-9));
        }
        // Where the scale of lateness wanders, the rarest stalls vary most: what they gain from level to level goes on.
        if ladder.len() >= 3 && significant[0] && significant[2] && ladder[2].1 > 0.0 {
            let doublings = (ladder[2].0 / ladder[0].0).log2().max(1.0);
            spread.growth = (ladder[0].1 / ladder[2].1).powf(1.0 / doublings).clamp(1.0, 1.7);
        }
        spread
    }

    /// Of so many events: by how much their dispersion exceeds that of independent ones.
    pub fn excess(&self, count: f64) -> f64 {
        let Some((&first, &last)) = self.ladder.first().zip(self.ladder.last()) else { return 0.0 };
        let relative = if count <= first.0 {
            first.1 * self.growth.powf((first.0 / count.max(1.0)).log2())
        } else if count >= last.0 {
            last.1
        } else {
            let above = self.ladder.partition_point(|step| step.0 <= count);
            let (low, high) = (self.ladder[above - 1], self.ladder[above]);
            if low.1 <= 0.0 || high.1 <= 0.0 {
                high.1.max(low.1 * low.0 / count)
            } else {
                let share = (count / low.0).ln() / (high.0 / low.0).ln();
                (low.1.ln() + share * (high.1 / low.1).ln()).exp()
            }
        };
        relative * count
    }

    /// How many times as variable a count of so many is as one of independent events: at least 1.
    pub fn dispersion(&self, count: f64) -> f64 {
        1.0 + self.excess(count)
    }

    /// The exposure as pieces that know nothing of each other: so many memories long, or as many as would make the
    /// rarest counts as variable as they are, if those are fewer. `None` where nothing shows that any do.
    pub fn pieces(&self) -> Option<f64> {
        let lengths = self.memory_ns.map(|memory| self.exposure / memory);
        lengths.into_iter().chain(self.worth).reduce(f64::min)
    }

    /// Whether the recording is long enough, by itself and against its own memory, and the same throughout, for a verdict
    /// without a condition.
    pub fn is_settled(&self) -> bool {
        let is_long = self.exposure >= MIN_SETTLED_NS && self.pieces().is_none_or(|pieces| pieces >= MIN_PIECES);
        is_long && self.drift.is_none()
    }

    /// The most that the sum in the long run may be, with this probability, where so much was counted; `largest` is
    /// the weight of an event that was not seen. It grows with the count. Without excess and weights it is Garwood's.
    pub(crate) fn upper(&self, sum: f64, largest: f64, confidence: f64) -> f64 {
        let sum = sum / largest + 1.0;
        let scale = self.dispersion(sum);
        largest * scale * gamma_quantile(sum / scale, confidence)
    }

    /// The least that it may be. One event that counts for `largest` is one event.
    pub(crate) fn lower(&self, sum: f64, largest: f64, confidence: f64) -> f64 {
        let sum = sum / largest;
        let scale = self.dispersion(sum);
        largest * scale * gamma_quantile(sum / scale, 1.0 - confidence)
    }

    /// The probability that nothing comes within `ahead` times the exposure where so much was counted in it, if all goes
    /// on as it was: the rate is as uncertain as the count is variable.
    pub(crate) fn none_ahead(&self, sum: f64, ahead: f64) -> f64 {
        let scale = self.dispersion(sum);
        (1.0 + scale * ahead).powf(-sum / scale)
    }

    /// Both with 95 %, and the sum itself; nothing seen has only an upper limit, one-sided.
    pub(crate) fn interval(&self, sum: f64, largest: f64) -> Estimate {
        if sum <= 0.0 {
            return Estimate { low: None, value: None, high: Some(self.upper(0.0, largest, 0.95)) };
        }
        Estimate {
            low: Some(self.lower(sum, largest, 0.975)),
            value: Some(sum),
            high: Some(self.upper(sum, largest, 0.975)),
        }
    }
}

/// Counts in so many blocks: their variance over their mean, less 1.
fn excess(times: &[u64], blocks: usize, exposure: f64) -> f64 {
    let mut counts = vec![0.0f64; blocks];
    for &at in times {
        let block = (at as f64 / exposure * blocks as f64) as usize;
        counts[block.min(blocks - 1)] += 1.0;
    }
    let mean = times.len() as f64 / blocks as f64;
    counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / mean / (blocks - 1) as f64 - 1.0
}

/// The share of its long-run excess that a block shows, for a memory that fades exponentially; in memories.
fn settled(block: f64) -> f64 {
    if block < 1e-6 { 0.5e-6 } else { 1.0 - (1.0 - (-block).exp()) / block }
}

/// For how long what happened still shows, ns: half of the excess is reached by blocks of 1.6 times as long as an
/// exponential memory takes to fade by e, and independent pieces are two such times long.
fn memory(times: &[u64], exposure: f64) -> Option<f64> {
    let mut curve: Vec<(f64, f64)> = Vec::new();
    let mut blocks = 8;
    let mut shows = false;
    while blocks <= 4_096 && (times.len() as f64) >= 2.0 * blocks as f64 {
        let excess = excess(times, blocks, exposure);
        let degrees = (blocks - 1) as f64;
        shows |= blocks <= 64 && chi_squared_q(degrees, degrees * (excess + 1.0)) < UNLIKELY / 2.0;
        curve.push((exposure / blocks as f64, excess));
        blocks *= 2;
    }
    let most = curve.iter().map(|point| point.1).fold(0.0, f64::max);
    if !shows || most <= 0.0 {
        return None;
    }
    // The longest blocks may show a part of the excess only: how much, the memory itself tells.
    let mut memory = crossing(&curve, most / 2.0);
    for _ in 0..20 {
        memory = crossing(&curve, most / settled(exposure / 8.0 / memory).max(0.2) / 2.0);
    }
    Some(2.0 * memory)
}

/// From short blocks to long ones: where so much excess is reached, in the times in which an exponential memory fades
/// by e that reaches half of its excess there.
fn crossing(curve: &[(f64, f64)], wanted: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for &(length, excess) in curve.iter().rev() {
        if excess >= wanted {
            let share = (wanted - before.1) / (excess - before.1).max(f64::MIN_POSITIVE);
            return (before.0 + share.clamp(0.0, 1.0) * (length - before.0)) / 1.6;
        }
        before = (length, excess.max(0.0));
    }
    curve.first().map_or(1.0, |longest| longest.0 / 1.6)
}

/// How many times as frequent events are in the last quarter as in the first, where a line through counts in blocks
/// rises or falls by no accident, judged by the scatter about it.
fn drift(times: &[u64], exposure: f64) -> Option<f64> {
    let mut counts = [0.0f64; BLOCKS];
    for &at in times {
        counts[((at as f64 / exposure * BLOCKS as f64) as usize).min(BLOCKS - 1)] += 1.0;
    }
    let (n, middle) = (BLOCKS as f64, (BLOCKS - 1) as f64 / 2.0);
    let mean = times.len() as f64 / n;
    let along: f64 = (0..BLOCKS).map(|block| (block as f64 - middle).powi(2)).sum();
    let slope = counts.iter().enumerate().map(|(block, count)| (block as f64 - middle) * count).sum::<f64>() / along;
    let line = |block: usize| mean + slope * (block as f64 - middle);
    let scatter =
        counts.iter().enumerate().map(|(block, count)| (count - line(block)).powi(2)).sum::<f64>() / (n - 2.0);
    // No less scatter than independent events have; 14 degrees of freedom widen a normal limit by a quarter.
    let deviation = (scatter.max(mean) / along).sqrt();
    if slope.abs() < -1.25 * normal_quantile(DRIFTS / 2.0) * deviation {
        return None;
    }
    let quarter = BLOCKS / 4;
    let (first, last): (f64, f64) = (counts[..quarter].iter().sum(), counts[BLOCKS - quarter..].iter().sum());
    Some(last.max(0.5) / first.max(0.5))
}

/// When separate waits began: (when due, how long, in order of time) of which those that overlap are one.
pub(crate) fn separate(waits: impl Iterator<Item = (u64, u64)>) -> Vec<u64> {
    let mut found: Vec<u64> = Vec::new();
    let mut end = 0;
    for (at, value) in waits {
        let until = at.saturating_add(value);
        if found.is_empty() || at >= end {
            found.push(at);
            end = until;
        } else {
            end = end.min(until);
        }
    }
    found
}

/// The levels of the ladder, each exceeded by twice as many of these values as the one before, as far as they go: from a few more than
/// [`MIN_EVENTS`] on, since some are of one stall, to all.
pub(crate) fn levels(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable_by(|left, right| right.cmp(left));
    let mut ranks = std::iter::successors(Some(MIN_EVENTS + 8), |rank| Some(rank * 2));
    let mut levels: Vec<u64> = std::iter::from_fn(|| ranks.next().and_then(|rank| values.get(rank))).copied().collect();
    if values.len() > MIN_EVENTS + 8 {
        levels.push(values.last().copied().unwrap_or(0));
    }
    levels.dedup();
    // A level is exceeded by the value that it is taken from, and by its equals.
    levels.into_iter().map(|level| level.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::garwood;
    use crate::testing::Random;
    use proptest::prelude::*;

    const EXPOSURE: f64 = 4e12;

    fn spread(times: Vec<u64>) -> Spread {
        let half = times.iter().step_by(2).copied().collect();
        let quarter = times.iter().step_by(4).copied().collect();
        Spread::of(&[quarter, half, times], EXPOSURE)
    }

    fn independent(seed: u64, count: usize) -> Vec<u64> {
        let mut random = Random(seed);
        let mut times: Vec<u64> = (0..count).map(|_| (random.uniform() * EXPOSURE) as u64).collect();
        times.sort_unstable();
        times
    }

    #[test]
    fn independent_events_are_let_be() {
        let settled = (0..200).filter(|&seed| spread(independent(seed, 2_000)).is_settled()).count();
        assert!(settled >= 190, "{settled} of 200");
        let none = Spread::independent(EXPOSURE);
        for count in [1, 5, 100] {
            let (found, expected) = (none.interval(count as f64, 1.0), garwood(count));
            assert!((found.low.unwrap() / expected.low.unwrap() - 1.0).abs() < 1e-9);
            assert!((found.high.unwrap() / expected.high.unwrap() - 1.0).abs() < 1e-9);
        }
        assert!((none.upper(0.0, 1.0, 0.995) - 5.298).abs() < 0.001);
    }

    /// Two events a block, in the mean, are the fewest that show a memory: 16 in eight blocks.
    #[test]
    fn too_few_events_show_no_memory() {
        let at_once = |count: u64| (0..count).map(|at| at * 1_000_000).collect::<Vec<u64>>();
        assert_eq!(memory(&at_once(15), EXPOSURE), None);
        assert!(memory(&at_once(16), EXPOSURE).is_some());
    }

    #[test]
    fn a_memory_is_found_and_its_length() {
        // On for 10 s with one event every 50 ms in the mean, off for 10 s in the mean, both exponential.
        let mut memories = Vec::new();
        for seed in 0..20 {
            let (mut random, mut times, mut at, mut on) = (Random(seed), Vec::new(), 0.0, true);
            while at < EXPOSURE {
                let until = at + random.exponential() * 10e9;
                while on && at < until {
                    at += random.exponential() * 50e6;
                    times.push(at as u64);
                }
                (at, on) = (until, !on);
            }
            times.retain(|&at| (at as f64) < EXPOSURE);
            let found = spread(times);
            memories.push(found.memory_ns.unwrap() / 1e9);
            assert!(found.dispersion(1_000.0) > 3.0);
            assert!(found.worth.is_some());
        }
        // Their correlation fades by e in 5 s: pieces of 10 s are independent.
        memories.sort_unstable_by(f64::total_cmp);
        assert!((3.0..30.0).contains(&memories[10]), "{memories:?}");
    }

    #[test]
    fn of_several_levels_the_longest_memory_counts() {
        // Bursts of 20 events within 2 s, and of as many within 60 s.
        let bursts = |seed, length_ns: f64| {
            let mut random = Random(seed);
            let begins: Vec<f64> = (0..100).map(|_| random.uniform() * (EXPOSURE - length_ns)).collect();
            let mut times: Vec<u64> = begins
                .iter()
                .flat_map(|begin| [(); 20].map(|()| (begin + random.uniform() * length_ns) as u64))
                .collect();
            times.sort_unstable();
            times
        };
        let (short, long) = (bursts(1, 2e9), bursts(2, 60e9));
        let memories = [&short, &long].map(|times| memory(times, EXPOSURE).unwrap());
        assert!(2.0 * memories[0] < memories[1], "{memories:?}");
        for levels in [[short.clone(), long.clone()], [long, short]] {
            assert_eq!(Spread::of(&levels, EXPOSURE).memory_ns, Some(memories[1]));
        }
    }

    #[test]
    fn levels_go_down_by_doublings() {
        let found = levels(1..=1_000);
        let above: Vec<usize> = found.iter().map(|&level| (1..=1_000).filter(|&value| value > level).count()).collect();
        assert!((MIN_EVENTS..2 * MIN_EVENTS).contains(&above[0]), "{above:?}");
        let doublings = above[..above.len() - 1].windows(2);
        assert!(above.len() > 4 && doublings.clone().all(|pair| pair[1].abs_diff(2 * pair[0]) <= 1), "{above:?}");
        assert_eq!(above.last(), Some(&1_000));
        // Too few for a level.
        assert!(levels(1..=MIN_EVENTS as u64).is_empty());
    }

    #[test]
    fn a_drift_is_seen() {
        let mut random = Random(5);
        let mut times: Vec<u64> = (0..2_000).map(|_| (random.uniform().sqrt() * EXPOSURE) as u64).collect();
        times.sort_unstable();
        let found = spread(times);
        assert!(found.drift.is_some_and(|drift| drift > 2.0) && !found.is_settled(), "{found:?}");
    }

    #[test]
    fn waits_that_overlap_are_one() {
        assert_eq!(separate([(0, 10), (5, 10), (10, 1), (20, 5)].into_iter()), vec![0, 10, 20]);
    }

    proptest! {
        #[test]
        fn fewer_events_never_get_a_worse_limit(
            raw in prop::collection::vec((0..1_000_000u64, 0..5u8), 200..800), first in 0.0..2_000.0f64, more in 0.0..500.0f64,
        ) {
            let mut times: Vec<u64> = raw.iter().map(|(at, power)| (at.pow(1 + u32::from(*power) % 2)) % 1_000_000 * 1_000_000).collect();
            times.sort_unstable();
            let found = spread(times);
            for confidence in [0.95, 0.975, 0.995] {
                let (few, many) = (found.upper(first, 1.0, confidence), found.upper(first + more, 1.0, confidence));
                prop_assert!(few <= many * (1.0 + 1e-9), "{few} {many} {found:?}");
                if first > 0.0 {
                    prop_assert!(found.lower(first, 1.0, confidence) <= found.lower(first + more, 1.0, confidence) * (1.0 + 1e-9));
                }
            }
        }
    }
}
