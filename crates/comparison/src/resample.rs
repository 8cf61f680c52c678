//! The bootstrap over blocks of seconds.
//!
//! Seconds depend on one another: a compiler that runs for ten seconds makes ten of them late. Drawing them one by one
//! would treat them as ten accidents. So the bootstrap draws stretches (circular block bootstrap, Politis and Romano
//! 1992), as long as the share of late wakeups stays correlated.

use crate::figure::{Estimate, Figure};
use punctual_random::Random;

/// Bins per doubling: each is 2.2 % wide.
const PER_OCTAVE_BITS: u32 = 5;
const PER_OCTAVE: usize = 1 << PER_OCTAVE_BITS;
/// Up to 2^40 ns, 18 minutes; anything later counts there.
pub(crate) const BINS: usize = (40 - PER_OCTAVE_BITS as usize + 1) * PER_OCTAVE;
/// The number of resamples: enough for the variance to come out within a tenth.
const RESAMPLES: usize = 200;

/// The bin of a value, ns.
pub(crate) fn bin(value_ns: u64) -> usize {
    if value_ns < PER_OCTAVE as u64 {
        return value_ns as usize;
    }
    let octave = value_ns.ilog2();
    let within = (value_ns >> (octave - PER_OCTAVE_BITS)) as usize & (PER_OCTAVE - 1);
    ((octave - PER_OCTAVE_BITS + 1) as usize * PER_OCTAVE + within).min(BINS - 1)
}

/// The values of a bin: from, to, ns.
fn edges(bin: usize) -> (f64, f64) {
    let at = |bin: usize| {
        if bin < PER_OCTAVE {
            return bin as f64;
        }
        let octave = (bin / PER_OCTAVE - 1) as i32;
        (PER_OCTAVE + bin % PER_OCTAVE) as f64 * 2f64.powi(octave)
    };
    (at(bin), at(bin + 1))
}

/// One stage's values in stretches of a run: for each stretch the filled bins with their counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stretches(pub(crate) Vec<Vec<(u16, u32)>>);

impl Stretches {
    /// The logarithm of each of these figures and its variance within the run. Empty if nothing was counted.
    pub(crate) fn estimates(&self, figures: &[Figure]) -> Vec<Estimate> {
        let stretches: Vec<&Vec<(u16, u32)>> = self.0.iter().filter(|stretch| !stretch.is_empty()).collect();
        let mut all = vec![0u64; BINS];
        stretches.iter().for_each(|stretch| add(&mut all, stretch));
        if stretches.is_empty() {
            return Vec::new();
        }
        let whole: Vec<f64> = figures.iter().map(|figure| ln_figure(&all, figure)).collect();
        let count = stretches.len();
        if count < 2 {
            // Nothing to draw from: as uncertain as a factor of e.
            return whole.into_iter().map(|ln| Estimate { ln, variance: 1.0 }).collect();
        }
        let length = figures.iter().map(|figure| block_length(&stretches, &all, figure.level)).max().unwrap_or(1);
        // What lasts longer than the run can show makes whole runs differ by as much as its halves do.
        let halves = (length > 1 && length == longest(count)).then(|| {
            let (early, late) = stretches.split_at(count / 2);
            [early, late].map(|half| {
                let mut counts = vec![0u64; BINS];
                half.iter().for_each(|stretch| add(&mut counts, stretch));
                figures.iter().map(|figure| ln_figure(&counts, figure)).collect::<Vec<f64>>()
            })
        });
        let mut random = Random(0x5eed_0000 + count as u64);
        let mut sums = vec![(0.0, 0.0); figures.len()];
        let mut drawn = vec![0u64; BINS];
        for _ in 0..RESAMPLES {
            drawn.fill(0);
            let mut taken = 0;
            while taken < count {
                let start = below(&mut random, count);
                for offset in 0..length.min(count - taken) {
                    add(&mut drawn, stretches[(start + offset) % count]);
                }
                taken += length;
            }
            for ((sum, squares), (figure, centre)) in sums.iter_mut().zip(figures.iter().zip(&whole)) {
                let deviation = ln_figure(&drawn, figure) - centre;
                *sum += deviation;
                *squares += deviation * deviation;
            }
        }
        // A sample's own variance is too small by the share of one block in it.
        let blocks = (count as f64 / length as f64).max(2.0);
        let correction = blocks / (blocks - 1.0);
        let estimates = whole.into_iter().zip(sums).enumerate().map(|(index, (ln, (sum, squares)))| {
            let mean = sum / RESAMPLES as f64;
            let drawn = (squares / RESAMPLES as f64 - mean * mean).max(0.0) * correction;
            let apart = halves.as_ref().map_or(0.0, |[early, late]| (early[index] - late[index]).powi(2) / 2.0);
            Estimate { ln, variance: drawn.max(apart) }
        });
        estimates.collect()
    }
}

/// The variance of the logarithm of a sum, given stretch by stretch; as uncertain as a factor of e if there is nothing
/// to draw from.
pub(crate) fn variance_of_sum(stretches: &[f64]) -> f64 {
    let (count, whole) = (stretches.len(), stretches.iter().sum::<f64>());
    if count < 2 || whole <= 0.0 {
        return 1.0;
    }
    let mean = whole / count as f64;
    let series: Vec<f64> = stretches.iter().map(|sum| sum - mean).collect();
    let length = correlated_length(&series);
    let mut random = Random(0x5eed_0000 + count as u64);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..RESAMPLES {
        let (mut drawn, mut taken) = (0.0, 0);
        while taken < count {
            let start = below(&mut random, count);
            drawn += (0..length.min(count - taken)).map(|offset| stretches[(start + offset) % count]).sum::<f64>();
            taken += length;
        }
        let deviation = (drawn.max(1.0) / whole).ln();
        sum += deviation;
        squares += deviation * deviation;
    }
    let mean = sum / RESAMPLES as f64;
    let blocks = (count as f64 / length as f64).max(2.0);
    (squares / RESAMPLES as f64 - mean * mean).max(0.0) * blocks / (blocks - 1.0)
}

fn add(into: &mut [u64], stretch: &[(u16, u32)]) {
    for &(bin, count) in stretch {
        into[bin as usize] += u64::from(count);
    }
}

/// The logarithm of a figure, between a bin's edges as if its values were spread evenly.
fn ln_figure(counts: &[u64], figure: &Figure) -> f64 {
    let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let values = filled.map(|(bin, &count)| {
        let (from, to) = edges(bin);
        (from, to, count)
    });
    figure.of(counts.iter().sum(), values).unwrap_or(1.0).ln()
}

/// How many stretches depend on one another: the first lag at which the share of values beyond the quantile, stretch by
/// stretch, is no longer correlated, but at most a quarter of all.
fn block_length(stretches: &[&Vec<(u16, u32)>], all: &[u64], level: f64) -> usize {
    let total: u64 = all.iter().sum();
    let limit = (1.0 - level) * total as f64;
    let (mut beyond, mut edge) = (0u64, BINS);
    while edge > 0 && (beyond as f64) < limit {
        edge -= 1;
        beyond += all[edge];
    }
    let share = beyond as f64 / total.max(1) as f64;
    let series: Vec<f64> = stretches
        .iter()
        .map(|stretch| {
            let here: u64 = stretch.iter().map(|&(_, count)| u64::from(count)).sum();
            let late: u64 =
                stretch.iter().filter(|(bin, _)| *bin as usize >= edge).map(|&(_, count)| u64::from(count)).sum();
            late as f64 - share * here as f64
        })
        .collect();
    correlated_length(&series)
}

/// The most stretches that are drawn together, of this many.
fn longest(count: usize) -> usize {
    (count / 4).max(1)
}

/// The first lag of three in a row at which a series of mean 0 has no noticeable autocorrelation (Politis and White
/// 2004 look for the same), at least 1, at most a quarter of the series.
pub(crate) fn correlated_length(series: &[f64]) -> usize {
    let count = series.len();
    let most = longest(count);
    let variance: f64 = series.iter().map(|value| value * value).sum();
    if variance <= 0.0 {
        return 1;
    }
    let noticeable = 2.0 * ((count as f64).log10().max(1.0) / count as f64).sqrt();
    let small = |lag: usize| {
        let products: f64 = series.iter().zip(series.iter().skip(lag)).map(|(left, right)| left * right).sum();
        (products / variance).abs() < noticeable
    };
    let first = (1..=most).find(|&lag| (lag..lag + 3).all(small)).unwrap_or(most);
    // Stretches twice as long as the correlation lasts hold nearly all of it.
    if first == 1 { 1 } else { (2 * first).min(most) }
}

/// A random number below a limit.
fn below(random: &mut Random, limit: usize) -> usize {
    (random.bits() % limit.max(1) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FIGURES;
    use proptest::prelude::*;

    /// Stretches of 1,000 exponential values each, the scale of each stretch given.
    fn stretches(scales: &[f64], seed: u64) -> Stretches {
        let mut random = Random(seed);
        let stretch = |scale: &f64| {
            let mut counts = std::collections::BTreeMap::new();
            for _ in 0..1_000 {
                *counts.entry(bin((random.exponential() * scale) as u64) as u16).or_insert(0u32) += 1;
            }
            counts.into_iter().collect()
        };
        Stretches(scales.iter().map(stretch).collect())
    }

    #[test]
    fn independent_seconds_give_the_variance_of_the_textbook() {
        // ln of the p-quantile of n exponential values: variance p / ((1 - p) n ln(1 - p)^2).
        let mut mean = 0.0;
        for seed in 0..20 {
            let estimate = stretches(&[20_000.0; 50], seed).estimates(&FIGURES[2..3])[0];
            assert!((estimate.ln - (20_000.0 * -(0.01f64).ln()).ln()).abs() < 0.06);
            mean += estimate.variance / 20.0;
        }
        let expected = 0.99 / (0.01 * 50_000.0 * (0.01f64).ln().powi(2));
        assert!(mean > 0.75 * expected && mean < 1.35 * expected, "{mean} for {expected}");
    }

    #[test]
    fn seconds_that_hang_together_are_drawn_together() {
        let mut random = Random(7);
        let (mut level, mut series) = (0.0, Vec::new());
        for _ in 0..400 {
            level = 0.9 * level + (random.uniform() - 0.5);
            series.push(level);
        }
        assert!(correlated_length(&series) >= 8, "{}", correlated_length(&series));
        let white: Vec<f64> = (0..400).map(|_| random.uniform() - 0.5).collect();
        assert!(correlated_length(&white) <= 4, "{}", correlated_length(&white));
    }

    #[test]
    fn what_outlasts_the_run_makes_it_as_uncertain_as_its_halves_are_apart() {
        // Three times as late from the middle on: the next run may be all of one kind or all of the other.
        let changing: Vec<f64> = (0..20).map(|index| if index < 10 { 20_000.0 } else { 60_000.0 }).collect();
        let (changing, steady) = (stretches(&changing, 1), stretches(&[20_000.0; 20], 1));
        let [changing, steady] = [changing, steady].map(|run| run.estimates(&FIGURES[..1])[0].variance);
        assert!(changing > 0.4 * 3.0_f64.ln().powi(2) && steady < 0.01, "{changing} {steady}");
    }

    proptest! {
        #[test]
        fn every_value_lies_within_its_bin(value in 0..1u64 << 40) {
            let (from, to) = edges(bin(value));
            prop_assert!(from <= value as f64 && (value as f64) < to);
            prop_assert!(value < 64 || to / from < 1.04);
        }

        #[test]
        fn anything_can_be_estimated(values in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..5), 0..20)) {
            let stretches = Stretches(values.iter().map(|values| values.iter().map(|&value| (bin(value) as u16, 1)).collect()).collect());
            for estimate in stretches.estimates(&FIGURES) {
                prop_assert!(estimate.ln.is_finite() && estimate.variance.is_finite() && estimate.variance >= 0.0);
            }
        }
    }
}
