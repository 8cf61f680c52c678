//! The tail model: a Generalized Pareto distribution over the largest stalls, fitted as a posterior on a grid.
//!
//! Stalls above a high level u exceed it by an amount that is nearly Generalized Pareto, with shape xi and scale sigma
//! (Pickands, Annals of Statistics 1975). A point fit with an interval from its curvature errs on its unsafe side far
//! too often; averaging over the posterior does not. Prior: xi ~ N(0.1, 0.2) on (-0.5, 1), flat in ln sigma; the rate
//! above u is Gamma(k + 1/2). Every quantity is a sum over a fixed grid: no chain, no seed.

use crate::interval::{CONFIDENCE, Estimate};
use crate::special::gamma_quantile;

/// Fewest peaks a tail is fitted to.
pub(crate) const MIN_PEAKS: usize = 50;
/// The most peaks a tail is fitted to: more would reach down into what is no longer tail.
pub(crate) const MAX_PEAKS: usize = 250;
const SHAPES: usize = 106;
const SCALES: usize = 129;
const PRIOR_MEAN: f64 = 0.1;
const PRIOR_DEVIATION: f64 = 0.2;
/// The grid of ln sigma, about the scale that an exponential tail of the same median has.
const SCALE_SPAN: (f64, f64) = (-1.8, 2.2);
/// Grid points that are less probable than the best by e to this are left out: all together they weigh less than 1e-6.
const NEGLIGIBLE: f64 = 21.0;
/// This many equally probable values stand for the rate's posterior.
const RATES: usize = 25;

/// How many of this many stalls are tail: 5 %, at least [`MIN_PEAKS`], at most [`MAX_PEAKS`].
pub(crate) fn peak_count(stalls: usize) -> usize {
    (stalls / 20).clamp(MIN_PEAKS, MAX_PEAKS)
}

/// ln of the probability that a Generalized Pareto variable exceeds x.
pub(crate) fn ln_survival(shape: f64, scale: f64, x: f64) -> f64 {
    let z = x / scale;
    if shape.abs() < 1e-9 {
        return -z;
    }
    let inside = 1.0 + shape * z;
    if inside <= 0.0 { f64::NEG_INFINITY } else { -inside.ln() / shape }
}

/// A point of the grid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) shape: f64,
    pub(crate) scale: f64,
    /// Posterior probability.
    pub(crate) weight: f64,
}

/// What the peaks say about the tail.
#[derive(Debug, Clone)]
pub(crate) struct Posterior {
    points: Vec<Point>,
}

impl Posterior {
    /// Fits to excesses over the level, and to `above` more that are only known to exceed `beyond`. Each tells as much
    /// as the share `told` of an independent one. `None` if the excesses have no spread.
    pub(crate) fn fit(excesses: &[f64], above: usize, beyond: f64, told: f64) -> Option<Posterior> {
        let mut sorted = excesses.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = *sorted.get(sorted.len() / 2)?;
        if median <= 0.0 {
            return None;
        }
        let center = (median / std::f64::consts::LN_2).ln();
        // None of these is 0, where the formulas would need another form.
        let shape_at = |index: usize| -0.5 + 1.5 * (index as f64 + 0.5) / SHAPES as f64;
        let step = (SCALE_SPAN.1 - SCALE_SPAN.0) / (SCALES - 1) as f64;
        let ln_scale_at = |index: usize| center + SCALE_SPAN.0 + step * index as f64;
        let log_posterior = |shape: f64, ln_scale: f64| {
            let scale = ln_scale.exp();
            let prior = (shape - PRIOR_MEAN) / PRIOR_DEVIATION;
            let likelihood = log_likelihood(excesses, shape, scale);
            let censored = if above > 0 { above as f64 * ln_survival(shape, scale, beyond) } else { 0.0 };
            told * (likelihood + censored) - 0.5 * prior * prior
        };
        // The posterior is smooth: a coarse look finds where the fine one is worth its time.
        const COARSE: usize = 4;
        let coarse_shapes = SHAPES.div_ceil(COARSE) + 1;
        let coarse_scales = SCALES.div_ceil(COARSE) + 1;
        let mut coarse = vec![f64::NEG_INFINITY; coarse_shapes * coarse_scales];
        let mut best = f64::NEG_INFINITY;
        for row in 0..coarse_shapes {
            for column in 0..coarse_scales {
                let (shape, scale) = ((row * COARSE).min(SHAPES - 1), (column * COARSE).min(SCALES - 1));
                let value = log_posterior(shape_at(shape), ln_scale_at(scale));
                coarse[row * coarse_scales + column] = value;
                best = best.max(value);
            }
        }
        let promising = |shape: usize, scale: usize| {
            let (row, column) = (shape / COARSE, scale / COARSE);
            let corners = [(row, column), (row + 1, column), (row, column + 1), (row + 1, column + 1)];
            corners.iter().any(|(row, column)| coarse[row * coarse_scales + column] > best - NEGLIGIBLE - 9.0)
        };
        let mut points = Vec::new();
        for shape in 0..SHAPES {
            for scale in 0..SCALES {
                if promising(shape, scale) {
                    let (shape, ln_scale) = (shape_at(shape), ln_scale_at(scale));
                    points.push(Point { shape, scale: ln_scale.exp(), weight: log_posterior(shape, ln_scale) });
                }
            }
        }
        let best = points.iter().map(|point| point.weight).fold(f64::NEG_INFINITY, f64::max);
        if !best.is_finite() {
            return None;
        }
        points.retain(|point| point.weight > best - NEGLIGIBLE);
        let total: f64 = points.iter().map(|point| (point.weight - best).exp()).sum();
        for point in &mut points {
            point.weight = (point.weight - best).exp() / total;
        }
        Some(Posterior { points })
    }

    /// The posterior mean of a function of the tail.
    pub(crate) fn mean(&self, of: impl Fn(&Point) -> f64) -> f64 {
        self.points.iter().map(|point| point.weight * of(point)).sum()
    }

    /// Mean shape and mean ln scale: one tail that stands for all.
    pub(crate) fn center(&self) -> (f64, f64) {
        (self.mean(|point| point.shape), self.mean(|point| point.scale.ln()).exp())
    }

    /// The probability that the shape lies above this one.
    pub(crate) fn heavier_than(&self, shape: f64) -> f64 {
        self.points.iter().filter(|point| point.shape > shape).map(|point| point.weight).sum()
    }

    /// The excess that nothing exceeds within `ahead` with this probability, if `peaks` exceeded the level in an
    /// exposure of 1; 0 where the level itself is not exceeded that surely.
    pub(crate) fn not_above(&self, peaks: usize, ahead: f64, probability: f64) -> f64 {
        let count = peaks as f64 + 0.5;
        let none = |excess: f64| {
            self.mean(|point| (1.0 + ahead * ln_survival(point.shape, point.scale, excess).exp()).powf(-count))
        };
        let (mut low, mut high) = (0.0, self.mean(|point| point.scale));
        for _ in 0..200 {
            if none(high) >= probability {
                break;
            }
            (low, high) = (high, high * 2.0);
        }
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if none(middle) < probability { low = middle } else { high = middle }
        }
        high
    }

    /// The excess that is exceeded once in `horizon`, if `peaks` exceeded the level in an exposure of 1. `dispersion`:
    /// how many times as variable that number is as it would be if they came independently.
    pub(crate) fn return_level(&self, peaks: usize, horizon: f64, dispersion: f64) -> Estimate {
        let count = (peaks as f64 + 0.5) / dispersion;
        let rates: Vec<f64> =
            (0..RATES).map(|index| dispersion * gamma_quantile(count, (index as f64 + 0.5) / RATES as f64)).collect();
        let mut values: Vec<(f64, f64)> = Vec::with_capacity(self.points.len() * RATES);
        for point in &self.points {
            for rate in &rates {
                let times = (rate * horizon).max(1e-300);
                let level = point.scale * (times.powf(point.shape) - 1.0) / point.shape;
                values.push((level.max(0.0), point.weight));
            }
        }
        values.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let total: f64 = values.iter().map(|value| value.1).sum();
        let outside = 0.5 * (1.0 - CONFIDENCE);
        let mut wanted = [outside, 0.5, 1.0 - outside].into_iter().peekable();
        let mut found = Vec::with_capacity(3);
        let mut sum = 0.0;
        for (level, weight) in &values {
            sum += weight;
            while wanted.peek().is_some_and(|share| sum >= share * total) {
                found.push(*level);
                wanted.next();
            }
        }
        let at = |index: usize| found.get(index).copied().or(values.last().map(|value| value.0));
        Estimate { low: at(0), value: at(1), high: at(2) }
    }
}

/// ln of the density of these excesses under a Generalized Pareto distribution, whose shape is not 0.
fn log_likelihood(excesses: &[f64], shape: f64, scale: f64) -> f64 {
    let count = excesses.len() as f64;
    let ratio = shape / scale;
    // One logarithm for several excesses: the product of eight stays far within what a double holds.
    let mut sum = 0.0;
    for group in excesses.chunks(8) {
        let mut product = 1.0;
        for excess in group {
            let inside = 1.0 + ratio * excess;
            if inside <= 0.0 {
                return f64::NEG_INFINITY;
            }
            product *= inside;
        }
        sum += product.ln();
    }
    -count * scale.ln() - (1.0 + 1.0 / shape) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Excesses at the quantiles of a Generalized Pareto distribution: a sample without chance.
    fn quantiles(shape: f64, scale: f64, count: usize) -> Vec<f64> {
        (0..count)
            .map(|index| {
                let survival = (index as f64 + 0.5) / count as f64;
                if shape == 0.0 { -scale * survival.ln() } else { scale * (survival.powf(-shape) - 1.0) / shape }
            })
            .collect()
    }

    #[test]
    fn finds_the_tail_it_is_shown() {
        for (shape, scale) in [(0.2, 1e6), (0.0, 5e3), (-0.3, 1e9)] {
            let posterior = Posterior::fit(&quantiles(shape, scale, 250), 0, 0.0, 1.0).unwrap();
            let (found_shape, found_scale) = posterior.center();
            assert!((found_shape - shape).abs() < 0.06, "{found_shape} is not {shape}");
            assert!((found_scale / scale - 1.0).abs() < 0.1, "{found_scale} is not {scale}");
        }
    }

    #[test]
    fn the_true_level_lies_within_and_further_levels_further_out() {
        let posterior = Posterior::fit(&quantiles(0.0, 1.0, 100), 0, 0.0, 1.0).unwrap();
        let mut before = 0.0;
        for horizon in [0.1, 1.0, 10.0, 40.0] {
            let level = posterior.return_level(100, horizon, 1.0);
            let truth = (100.0f64 * horizon).ln();
            let (low, value, high) = (level.low.unwrap(), level.value.unwrap(), level.high.unwrap());
            assert!(low < truth && truth < high && low < value && value < high, "{level:?} and {truth}");
            assert!(value > before);
            before = value;
        }
    }

    #[test]
    fn censored_values_count() {
        let all = quantiles(0.1, 1.0, 100);
        let mut known = all.clone();
        known.sort_unstable_by(f64::total_cmp);
        let beyond = known[96];
        let posterior = Posterior::fit(&known[..97], 3, beyond, 1.0).unwrap();
        let whole = Posterior::fit(&all, 0, 0.0, 1.0).unwrap();
        assert!((posterior.center().0 - whole.center().0).abs() < 0.1);
    }

    #[test]
    fn survival_by_shape() {
        assert_eq!(ln_survival(0.0, 2.0, 3.0), -1.5);
        // (1 + 0.5 * 3 / 2)^(-1 / 0.5); a negative shape ends at scale over shape.
        assert!((ln_survival(0.5, 2.0, 3.0) + 2.0 * 1.75f64.ln()).abs() < 1e-12);
        assert_eq!(ln_survival(-0.5, 2.0, 4.0), f64::NEG_INFINITY);
    }

    #[test]
    fn no_shape_of_the_grid_is_zero() {
        let posterior = Posterior::fit(&quantiles(0.0, 1.0, 100), 0, 0.0, 1.0).unwrap();
        let nearest = posterior.points.iter().map(|point| point.shape.abs()).fold(f64::MAX, f64::min);
        assert!((0.001..0.01).contains(&nearest), "{nearest}");
    }

    #[test]
    fn what_nothing_exceeds_is_exceeded_as_seldom_as_was_asked() {
        let posterior = Posterior::fit(&quantiles(0.0, 1.0, 100), 0, 0.0, 1.0).unwrap();
        for ahead in [1.0, 30.0] {
            let excess = posterior.not_above(100, ahead, 0.95);
            // The rate's posterior is Gamma(100.5): none in `ahead` more is a power of that.
            let none = posterior.mean(|point| {
                let exceeded = ahead * ln_survival(point.shape, point.scale, excess).exp();
                (1.0 + exceeded).powf(-100.5)
            });
            assert!((none - 0.95).abs() < 1e-6, "{none}");
        }
    }

    #[test]
    fn no_spread_no_fit() {
        assert!(Posterior::fit(&[0.0; 60], 0, 0.0, 1.0).is_none());
        assert!(Posterior::fit(&[], 0, 0.0, 1.0).is_none());
    }
}
