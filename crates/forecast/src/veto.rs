//! What speaks against a tail model: tests that can each forbid it.
//!
//! None of them sees a mode of the machine that the recording never met. The bound is for that.

use crate::pareto::{MIN_PEAKS, Posterior, ln_survival};
use crate::special::{chi_squared_q, kolmogorov_q};

/// Tests of independence forbid below this probability: three of them, each for 0.3 % of good tails.
const UNLIKELY: f64 = 0.003;
/// Tests against the fitted tail forbid below this probability.
const IMPLAUSIBLE: f64 = 0.01;
/// Blocks of the dispersion test.
const BLOCKS: usize = 20;
/// Lags of the Ljung-Box test.
const LAGS: usize = 10;

/// A peak: when it was, and by how much it exceeds the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Peak {
    pub(crate) at: f64,
    pub(crate) excess: f64,
}

/// The first reason, in words, to distrust a tail model of these peaks (in the order of time, within an exposure).
pub(crate) fn veto(peaks: &[Peak], exposure: f64) -> Option<String> {
    if peaks.len() < MIN_PEAKS {
        return Some(format!("too few stalls: {}, and a tail needs {MIN_PEAKS}", peaks.len()));
    }
    if dispersion(peaks, exposure) < UNLIKELY {
        return Some("the stalls come in bursts (dispersion)".to_owned());
    }
    if ljung_box(peaks) < UNLIKELY {
        return Some("each stall's length depends on those before it (Ljung-Box)".to_owned());
    }
    if half_split(peaks) < UNLIKELY {
        return Some("the first half differs from the second (half-split)".to_owned());
    }
    if outlier(peaks).is_none_or(|probability| probability < IMPLAUSIBLE) {
        return Some("the longest stalls are of a different kind from the rest (outlier)".to_owned());
    }
    if spacing(peaks).is_none_or(|probability| probability < IMPLAUSIBLE) {
        return Some("there is a gap among the lengths of stalls: they are of two kinds (spacing)".to_owned());
    }
    None
}

/// Whether stalls spread evenly: the probability that counts in blocks vary as much, if they do.
fn dispersion(peaks: &[Peak], exposure: f64) -> f64 {
    let times: Vec<u64> = peaks.iter().map(|peak| peak.at as u64).collect();
    block_statistic(&times, exposure).map_or(1.0, |statistic| chi_squared_q((BLOCKS - 1) as f64, statistic))
}

fn block_statistic(times: &[u64], exposure: f64) -> Option<f64> {
    if times.len() < MIN_PEAKS {
        return None;
    }
    let mut counts = [0.0f64; BLOCKS];
    for &at in times {
        let block = (at as f64 / exposure * BLOCKS as f64).max(0.0) as usize;
        counts[block.min(BLOCKS - 1)] += 1.0;
    }
    let mean = times.len() as f64 / BLOCKS as f64;
    Some(counts.iter().map(|count| (count - mean) * (count - mean) / mean).sum())
}

/// Whether lengths are independent of earlier ones: on ranks, so that a single long stall does not decide; equal ones
/// share the middle of their ranks.
fn ljung_box(peaks: &[Peak]) -> f64 {
    let count = peaks.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by(|&left, &right| peaks[left].excess.total_cmp(&peaks[right].excess));
    let mut ranks = vec![0.0; count];
    let mut before = 0;
    for equal in order.chunk_by(|&left, &right| peaks[left].excess == peaks[right].excess) {
        // In any other order of equal lengths, the order itself would be what shows.
        let rank = before as f64 + (equal.len() - 1) as f64 / 2.0 - (count as f64 - 1.0) / 2.0;
        equal.iter().for_each(|&index| ranks[index] = rank);
        before += equal.len();
    }
    let variance: f64 = ranks.iter().map(|rank| rank * rank).sum();
    if variance <= 0.0 {
        return 1.0;
    }
    let n = count as f64;
    let statistic: f64 = (1..=LAGS)
        .map(|lag| {
            let covariance: f64 = ranks.iter().zip(&ranks[lag..]).map(|(left, right)| left * right).sum();
            (covariance / variance).powi(2) / (n - lag as f64)
        })
        .sum();
    chi_squared_q(LAGS as f64, n * (n + 2.0) * statistic)
}

/// Whether the two halves of the recording could have the same tail (Kolmogorov-Smirnov).
fn half_split(peaks: &[Peak]) -> f64 {
    let (first, second) = peaks.split_at(peaks.len() / 2);
    let sorted = |half: &[Peak]| {
        let mut excesses: Vec<f64> = half.iter().map(|peak| peak.excess).collect();
        excesses.sort_unstable_by(f64::total_cmp);
        excesses
    };
    let (left, right) = (sorted(first), sorted(second));
    let (mut i, mut j, mut distance) = (0, 0, 0.0f64);
    while i < left.len() && j < right.len() {
        // Where lengths are equal, the distance is the one behind all of them.
        let length = left[i].min(right[j]);
        i += left[i..].partition_point(|&excess| excess <= length);
        j += right[j..].partition_point(|&excess| excess <= length);
        distance = distance.max((i as f64 / left.len() as f64 - j as f64 / right.len() as f64).abs());
    }
    kolmogorov_q(distance, left.len(), right.len())
}

/// How plausible the three longest stalls are, judged by a tail fitted to the others: the least of the predictive
/// probabilities that the longest of three is as long, and that all three are; doubled because there are two looks.
fn outlier(peaks: &[Peak]) -> Option<f64> {
    let mut excesses: Vec<f64> = peaks.iter().map(|peak| peak.excess).collect();
    excesses.sort_unstable_by(f64::total_cmp);
    let (others, three) = excesses.split_at(excesses.len() - 3);
    let beyond = *others.last()?;
    let posterior = Posterior::fit(others, 3, beyond, 1.0)?;
    let above = |shape: f64, scale: f64, x: f64| {
        let reached = ln_survival(shape, scale, beyond);
        if reached.is_finite() { (ln_survival(shape, scale, x) - reached).exp().clamp(0.0, 1.0) } else { 0.0 }
    };
    let longest = posterior.mean(|point| 1.0 - (1.0 - above(point.shape, point.scale, three[2])).powi(3));
    let all = posterior.mean(|point| above(point.shape, point.scale, three[0]).powi(3));
    Some(2.0 * longest.min(all))
}

/// How plausible the largest gap between lengths is: made exponential by the fitted tail, spacings of order
/// statistics are independent exponentials when each is multiplied by how many lie above it (Renyi 1953).
fn spacing(peaks: &[Peak]) -> Option<f64> {
    let mut excesses: Vec<f64> = peaks.iter().map(|peak| peak.excess).collect();
    excesses.sort_unstable_by(f64::total_cmp);
    let posterior = Posterior::fit(&excesses, 0, 0.0, 1.0)?;
    let (shape, scale) = posterior.center();
    let exponential: Vec<f64> = excesses.iter().map(|&excess| -ln_survival(shape, scale, excess)).collect();
    let count = exponential.len();
    let normalised = exponential.windows(2).enumerate().map(|(index, pair)| {
        // A bounded fit may end below the longest stall: that end is not evidence of a gap.
        if pair[1].is_finite() { (count - 1 - index) as f64 * (pair[1] - pair[0]) } else { 0.0 }
    });
    let largest = normalised.fold(0.0, f64::max);
    Some(-f64::exp_m1((count - 1) as f64 * f64::ln_1p(-(-largest).exp())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_random::Random;

    fn sorted(mut peaks: Vec<Peak>) -> Vec<Peak> {
        peaks.sort_unstable_by(|left, right| left.at.total_cmp(&right.at));
        peaks
    }

    fn exponential(random: &mut Random, count: usize) -> Vec<Peak> {
        sorted((0..count).map(|_| Peak { at: random.uniform() * 1e9, excess: random.exponential() }).collect())
    }

    #[test]
    fn good_tails_are_seldom_forbidden() {
        let mut random = Random(1);
        let forbidden = (0..200).filter(|_| veto(&exponential(&mut random, 100), 1e9).is_some()).count();
        assert!(forbidden <= 14, "{forbidden} of 200");
    }

    /// Ljung and Box (1978), equation 1, computed apart: Q = n (n + 2) times the sum of squared correlations over n -
    /// lag, 13.0583 of these ranks; with ten degrees of freedom its tail has a closed form.
    #[test]
    fn correlation_of_lengths_is_as_unlikely_as_was_computed_apart() {
        let excess = |index: usize| ((index * index * 7 + index * 3) % 211) as f64 + index as f64 * 1e-3;
        let peaks: Vec<Peak> = (0..100).map(|index| Peak { at: index as f64, excess: excess(index) }).collect();
        assert!((ljung_box(&peaks) - 0.220_430_777_336_409).abs() < 1e-9, "{}", ljung_box(&peaks));
    }

    /// Lengths on a coarse grid, as those that a tick ends, or on a single point.
    #[test]
    fn equal_lengths_are_no_change_and_no_dependence() {
        let mut random = Random(4);
        let mut on_a_grid = |steps: u64| -> Vec<Peak> {
            let peak = |index: usize| Peak { at: index as f64, excess: (1 + random.below(steps)) as f64 * 4e6 };
            (0..200).map(peak).collect()
        };
        let is_found = |peaks: &[Peak]| ljung_box(peaks) < UNLIKELY || half_split(peaks) < UNLIKELY;
        let found = (0..200).filter(|_| is_found(&on_a_grid(4))).count();
        assert!(found <= 8, "{found} of 200");
        let alike = on_a_grid(1);
        assert_eq!((ljung_box(&alike), half_split(&alike)), (1.0, 1.0));
        // One half on the grid's lower steps is a change.
        let changed: Vec<Peak> = on_a_grid(2)
            .into_iter()
            .enumerate()
            .map(|(index, peak)| Peak { excess: if index < 100 { 4e6 } else { peak.excess }, ..peak })
            .collect();
        assert!(half_split(&changed) < UNLIKELY);
    }

    #[test]
    fn each_fault_is_named() {
        let mut random = Random(2);
        let good = exponential(&mut random, 200);
        let with = |change: &dyn Fn(usize, &mut Peak)| {
            let mut peaks = good.clone();
            peaks.iter_mut().enumerate().for_each(|(index, peak)| change(index, peak));
            veto(&sorted(peaks), 1e9).unwrap_or_default()
        };
        assert!(veto(&good[..30], 1e9).unwrap().contains("too few"));
        assert!(with(&|_, peak| peak.at = (peak.at / 1e9).powi(4) * 1e9).contains("bursts"));
        assert!(with(&|index, peak| peak.excess *= if (index / 10) % 2 == 0 { 4.0 } else { 1.0 }).contains("Ljung"));
        assert!(
            with(&|index, peak| peak.excess *= if index == 60 {
                1.0
            } else if index < 100 {
                1.9
            } else {
                1.0
            })
            .contains("(")
        );
        assert!(
            with(&|index, peak| if index % 70 == 10 {
                peak.excess = 60.0 + peak.excess * 0.01
            })
            .contains("outlier")
        );
        let two_kinds = with(&|index, peak| {
            if index % 9 == 0 {
                peak.excess += 40.0
            }
        });
        assert!(two_kinds.contains("spacing") || two_kinds.contains("outlier"), "{two_kinds}");
    }
}
