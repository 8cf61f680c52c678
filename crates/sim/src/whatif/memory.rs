//! The range of a run's count if it is known when the run takes place: how long a machine stays as it is.
//!
//! The model treats the logarithm of the count as a normal process. Of each recording's deviation from the mean, a
//! share lasts and decays exponentially; the rest is that recording's own. How much the machine changes, which share of
//! that lasts and for how long is not known: every combination of a grid is weighted by how likely it makes what was
//! recorded, whatever the mean, and the interval is that of their weighted sum. So nothing is chosen, and if the
//! recordings do not show whether it lasts, the interval includes both.

use super::spread::{Told, high_of, low_of};

/// When the recordings were made and when a run takes place: the middle of each, in seconds of one clock.
#[derive(Debug, Clone, PartialEq)]
pub struct When {
    /// Of each recording, in the order of the recordings; no two at the same time.
    pub recordings: Vec<f64>,
    /// Of the run.
    pub run: f64,
}

/// What a run at that time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timed {
    /// The fewest, 95 times of 100 together with `high`.
    pub(super) low: u64,
    /// The median.
    pub(super) expected: u64,
    /// The most.
    pub(super) high: u64,
}

/// Standard deviations of the change, from a few hundredths to fifty times as much or as little, in equal ratios.
const CHANGES: (f64, f64, usize) = (0.03, 4.0, 16);
/// The share of the change that lasts.
const SHARES: [f64; 3] = [1.0 / 3.0, 2.0 / 3.0, 1.0];
/// After how many of the usual times between recordings the lasting share has sunk to 1/e.
const MEMORIES: [f64; 5] = [1.5, 3.0, 6.0, 12.0, 24.0];
/// The prior probability that nothing lasts.
const NOTHING_LASTS: f64 = 0.5;

/// One combination: what it predicts for a run, and how likely it makes the recordings.
struct Guess {
    middle: f64,
    deviation: f64,
    weight: f64,
}

/// How much two recordings that are this far apart have in common.
#[derive(Clone, Copy)]
struct Lasting {
    share: f64,
    seconds: f64,
}

impl Lasting {
    fn common(self, apart: f64) -> f64 {
        if self.share == 0.0 { 0.0 } else { self.share * (-apart.abs() / self.seconds).exp() }
    }
}

/// What a run at that time counts, from what the repetitions say of each recording.
pub(super) fn interval(told: &Told, when: &When) -> Timed {
    let usual = usual_time_between(&when.recordings);
    let nothing = (Lasting { share: 0.0, seconds: usual }, NOTHING_LASTS);
    let each = (1.0 - NOTHING_LASTS) / (SHARES.len() * MEMORIES.len()) as f64;
    let some = SHARES
        .iter()
        .flat_map(|&share| MEMORIES.iter().map(move |memory| (Lasting { share, seconds: memory * usual }, each)));
    let (from, to, steps) = CHANGES;
    let changes = |step: usize| from * (to / from).powf(step as f64 / (steps - 1) as f64);
    let mut guesses: Vec<Guess> = std::iter::once(nothing)
        .chain(some)
        .flat_map(|(lasting, before)| {
            (0..steps).filter_map(move |step| guess(told, when, lasting, changes(step), before))
        })
        .collect();
    // Logarithms until here; relative to the likeliest.
    let most = guesses.iter().map(|guess| guess.weight).fold(f64::NEG_INFINITY, f64::max);
    for guess in &mut guesses {
        guess.weight = (guess.weight - most).exp();
    }
    let at = |share: f64| quantile(&guesses, share);
    Timed { low: low_of(at(0.025)), expected: at(0.5).exp_m1().round().max(0.0) as u64, high: high_of(at(0.975)) }
}

/// The median of the times between neighbours.
fn usual_time_between(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut gaps: Vec<f64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(1.0).max(1e-3)
}

/// What recordings that change this much, with this share lasting, predict for the run: the best linear prediction with
/// an unknown mean; `None` if rounding leaves nothing of it.
fn guess(told: &Told, when: &When, lasting: Lasting, change: f64, before: f64) -> Option<Guess> {
    let count = told.means.len();
    let variance = change * change;
    let own = variance * (1.0 - lasting.share) + told.of_mean;
    let mut matrix = vec![0.0; count * count];
    for row in 0..count {
        for column in 0..=row {
            let common = variance * lasting.common(when.recordings[row] - when.recordings[column]);
            matrix[row * count + column] = common + if row == column { own } else { 0.0 };
        }
    }
    let logarithm = factor(&mut matrix, count)?;
    // Each is solved halfway: the product of two of them is what the inverse between the two would give.
    let ones = halfway(&matrix, vec![1.0; count]);
    let means = halfway(&matrix, told.means.clone());
    let with_run =
        halfway(&matrix, when.recordings.iter().map(|at| variance * lasting.common(at - when.run)).collect());
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
    let known = product(&ones, &ones);
    let mean = product(&ones, &means) / known;
    let middle = mean + product(&with_run, &means) - mean * product(&with_run, &ones);
    let of_mean = (1.0 - product(&with_run, &ones)).powi(2) / known;
    let left = variance - product(&with_run, &with_run) + told.of_run + of_mean;
    let off = product(&means, &means) - mean * mean * known;
    let weight = before.ln() - 0.5 * (logarithm + known.ln() + off);
    (weight.is_finite() && middle.is_finite()).then(|| Guess { middle, deviation: left.max(1e-12).sqrt(), weight })
}

/// Cholesky's lower factor of a symmetric matrix, in place of its lower half, and the logarithm of its determinant.
fn factor(matrix: &mut [f64], count: usize) -> Option<f64> {
    let mut logarithm = 0.0;
    for row in 0..count {
        for column in 0..=row {
            let (upper, lower) = matrix.split_at(row * count);
            let other = if row == column { &lower[..column] } else { &upper[column * count..column * count + column] };
            let left = lower[column] - lower[..column].iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
            if row > column {
                matrix[row * count + column] = left / matrix[column * count + column];
            } else if left > 0.0 {
                logarithm += left.ln();
                matrix[row * count + column] = left.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(logarithm)
}

/// Solves with the lower factor alone.
fn halfway(factor: &[f64], mut right: Vec<f64>) -> Vec<f64> {
    let count = right.len();
    for row in 0..count {
        let known: f64 =
            factor[row * count..row * count + row].iter().zip(&right).map(|(one, other)| one * other).sum();
        right[row] = (right[row] - known) / factor[row * count + row];
    }
    right
}

/// The value below which this share of the weighted sum lies.
fn quantile(guesses: &[Guess], share: f64) -> f64 {
    let weights: f64 = guesses.iter().map(|guess| guess.weight).sum();
    let below = |value: f64| {
        let each = guesses.iter().map(|guess| guess.weight * normal_below((value - guess.middle) / guess.deviation));
        each.sum::<f64>() / weights
    };
    let reach = |sign: f64| guesses.iter().map(|guess| sign * guess.middle + 9.0 * guess.deviation).fold(0.0, f64::max);
    let (mut from, mut to) = (-reach(-1.0), reach(1.0));
    for _ in 0..60 {
        let middle = (from + to) / 2.0;
        if below(middle) < share { from = middle } else { to = middle }
    }
    to
}

/// The share of the normal distribution below this, to a millionth (Abramowitz and Stegun, 7.1.26).
fn normal_below(value: f64) -> f64 {
    let x = value.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let beyond = 0.5 * t * series.iter().fold(0.0, |sum, term| sum * t + term) * (-x * x).exp();
    if value > 0.0 { 1.0 - beyond } else { beyond }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whatif::chance::Chance;
    use crate::whatif::spread;

    /// What held, of so many, and the median of the interval's high over low, of the times and without them.
    struct Found {
        held: usize,
        ratio: f64,
        without: f64,
    }

    const CASES: usize = 250;

    /// Recordings and runs in turn, of a machine of whose change `share` lasts, sunk to 1/e after `memory` recordings; the
    /// run asked about is that in their midst, or the first after them.
    fn found(change: f64, share: f64, memory: f64, rounds: usize, is_next: bool) -> Found {
        let mut chance = Chance::new(18);
        let kept = (-0.5 / memory).exp();
        let run_at = if is_next { 2 * rounds - 1 } else { rounds - 1 };
        let (mut held, mut ratios, mut without) = (0, Vec::new(), Vec::new());
        for _ in 0..CASES {
            let mut lasting = chance.normal();
            let rates: Vec<f64> = (0..2 * rounds)
                .map(|_| {
                    lasting = kept * lasting + (1.0 - kept * kept).sqrt() * chance.normal();
                    let own = chance.normal();
                    200.0 * (change * (share.sqrt() * lasting + (1.0 - share).sqrt() * own)).exp()
                })
                .collect();
            let recorded: Vec<f64> = rates.iter().copied().step_by(2).collect();
            let counted = chance.repeated(&recorded, 1.0);
            let run = chance.count(rates[run_at]);
            let when = When { recordings: (0..rounds).map(|at| 40.0 * at as f64).collect(), run: 20.0 * run_at as f64 };
            let timed = interval(&spread::told(&counted, rounds, 1.0), &when);
            assert!(timed.low <= timed.expected && timed.expected <= timed.high, "{timed:?}");
            held += usize::from((timed.low..=timed.high).contains(&run));
            ratios.push(timed.high as f64 / timed.low.max(1) as f64);
            let (low, high) = spread::interval(&counted, rounds, 1.0);
            without.push(high as f64 / low.max(1) as f64);
        }
        let median = |mut ratios: Vec<f64>| {
            ratios.sort_by(f64::total_cmp);
            ratios[ratios.len() / 2]
        };
        Found { held, ratio: median(ratios), without: median(without) }
    }

    /// Where what a machine is lasts, the interval is narrower for knowing when; where nothing lasts, it is no wider than that
    /// of who does not ask, but for little. Either way it holds as often as is said.
    #[test]
    fn who_knows_when_has_a_narrower_interval_of_a_machine_that_stays_for_a_while_as_it_is() {
        let mut met = 0;
        for (change, share, memory, rounds, is_next, narrower) in [
            (0.35, 1.0, 5.0, 16, false, 0.85),
            (0.35, 1.0, 5.0, 16, true, 0.95),
            (0.35, 0.7, 3.0, 16, false, 0.95),
            (0.35, 0.0, 1.0, 16, false, 1.05),
            (0.7, 1.0, 5.0, 16, false, 0.75),
            (0.0, 0.0, 1.0, 16, false, 1.05),
            (0.35, 1.0, 5.0, 8, false, 0.9),
            (0.35, 0.0, 1.0, 8, false, 1.05),
        ] {
            let Found { held, ratio, without } = found(change, share, memory, rounds, is_next);
            let said = format!("{change}, {share} for {memory}, {rounds} recordings, next: {is_next}");
            eprintln!("{said}: {held} of {CASES} held, high over low {ratio:.2}, without {without:.2}");
            assert!(held >= CASES * 91 / 100, "{said}: {held} of {CASES} held");
            assert!(ratio.ln() < narrower * without.ln(), "{said}: high over low {ratio:.2}, without {without:.2}");
            met += CASES;
        }
        assert_eq!(met, 2_000);
    }

    /// Against what is known in closed form: two recordings at one place, of known variance, are as good as their mean.
    #[test]
    fn what_lasts_for_ever_is_the_mean_of_what_was_recorded() {
        let told = Told { means: vec![4.0, 5.0, 6.0], of_run: 0.01, of_mean: 0.04 };
        let when = When { recordings: vec![0.0, 10.0, 20.0], run: 10.0 };
        let nothing = Lasting { share: 0.0, seconds: 1.0 };
        let known = guess(&told, &when, nothing, 0.3, 1.0).unwrap();
        assert!((known.middle - 5.0).abs() < 1e-12);
        // The change, the run's own chance, and that of a mean of three.
        let variance = 0.09 + 0.01 + (0.09 + 0.04) / 3.0;
        assert!((known.deviation.powi(2) - variance).abs() < 1e-12);
        let forever = Lasting { share: 1.0, seconds: 1e9 };
        let known = guess(&told, &when, forever, 0.3, 1.0).unwrap();
        assert!((known.middle - 5.0).abs() < 1e-6);
        assert!((known.deviation.powi(2) - (0.01 + 0.04 / 3.0)).abs() < 1e-6);
    }

    #[test]
    fn the_normal_distribution_and_its_quantiles() {
        for (value, share) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.959_964, 0.025), (2.575_829, 0.995)] {
            assert!((normal_below(value) - share).abs() < 2e-7, "{value}");
        }
        let guesses = [Guess { middle: 3.0, deviation: 0.5, weight: 2.0 }];
        assert!((quantile(&guesses, 0.975) - 3.979_982).abs() < 1e-5);
    }
}
