//! The worst of an hour, a day, a week: the lateness that stalls exceed once in a horizon.

use crate::interval::Estimate;
use crate::pareto::{MIN_PEAKS, Posterior, peak_count};
use crate::special::poisson_at_least;
use crate::stall::{Stalls, peak_level, stalls};
use crate::veto::{Peak, veto};

/// From this exposure on, relative to the horizon, ranks alone give a two-sided interval: the chance of no
/// exceedance is then below 2.5 % (-ln 0.025 = 3.69).
pub const ENOUGH: f64 = 3.7;

/// The furthest a tail model is asked to look, relative to the exposure: as far as its coverage was measured.
pub const FURTHEST: f64 = 40.0;

/// How a level was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By the ranks of what was seen: no model.
    OrderStatistics,
    /// By a Generalized Pareto tail that nothing spoke against.
    TailModel,
    /// Not at all: only a lower limit, and how often something longer than all seen may come at most.
    Bound,
}

impl Method {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Method::OrderStatistics => "order-statistics",
            Method::TailModel => "tail-model",
            Method::Bound => "bound",
        }
    }
}

/// The lateness that stalls exceed once in a horizon, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// How it was found.
    pub method: Method,
    /// The level and its 95 % interval, ns.
    pub level: Estimate,
    /// Why there is no more than a bound.
    pub veto: Option<String>,
    /// How much longer to measure until there is, as a multiple of the present exposure, where that is known.
    pub further: Option<f64>,
}

/// The stalls of one exposure, made ready to be asked for levels.
#[derive(Debug, Clone)]
pub struct Tail {
    /// Longest first, ns.
    sorted: Vec<f64>,
    /// When they were, in the same order, ns of observed time.
    times: Vec<u64>,
    exposure: f64,
    fit: Result<(Posterior, f64, usize), String>,
}

impl Tail {
    /// Takes the stalls of an exposure: (longest lateness ns, when ns of observed time), in any order,
    /// and the exposure, ns.
    pub fn new(peaks: &[(u64, u64)], exposure: f64) -> Tail {
        let mut by_length = peaks.to_vec();
        by_length.sort_unstable_by(|left, right| right.cmp(left));
        let sorted: Vec<f64> = by_length.iter().map(|peak| peak.0 as f64).collect();
        let times = by_length.iter().map(|peak| peak.1).collect();
        Tail { fit: fit(&by_length, exposure), sorted, times, exposure }
    }

    /// How many stalls it was made from.
    pub fn stalls(&self) -> usize {
        self.sorted.len()
    }

    /// When the longest stalls were that a tail would be fitted to, ns of observed time.
    pub(crate) fn times(&self) -> &[u64] {
        &self.times[..peak_count(self.times.len()).min(self.times.len())]
    }

    /// The exposure, ns.
    pub(crate) fn exposure(&self) -> f64 {
        self.exposure
    }

    /// The longest stall that was seen, ns.
    pub fn longest_ns(&self) -> Option<u64> {
        self.sorted.first().map(|&longest| longest as u64)
    }

    /// The lateness that stalls exceed once in so much time, ns (in units of the exposure).
    pub fn level(&self, horizon: f64) -> Level {
        let expected = self.exposure / horizon;
        let ranked = self.ranks(expected);
        let lower = Estimate { value: None, high: None, ..ranked };
        if expected >= ENOUGH && ranked.high.is_some() {
            return Level { method: Method::OrderStatistics, level: ranked, veto: None, further: None };
        }
        if expected >= ENOUGH {
            // Long enough, but so few stalls that the level lies below them, among what is not told apart.
            let veto = Some(format!("too few stalls: {} in {expected:.1} times as long", self.sorted.len()));
            return Level { method: Method::Bound, level: lower, veto, further: None };
        }
        let bound = |veto: String, further: f64| {
            // A tail that may not be modelled can still be measured for as long as ranks need.
            let further = Some(further.min(ENOUGH / expected - 1.0)).filter(|further| *further > 0.0);
            Level { method: Method::Bound, level: lower, veto: Some(veto), further }
        };
        if 1.0 / expected > FURTHEST {
            let ratio = 1.0 / expected;
            let veto = format!("{ratio:.0} times as long as was measured: more than {FURTHEST:.0} is guessing");
            return bound(veto, ratio / FURTHEST - 1.0);
        }
        match &self.fit {
            Err(veto) => {
                let stalls = self.sorted.len();
                let few = stalls > 0 && stalls <= MIN_PEAKS;
                let further = if few { (MIN_PEAKS + 1) as f64 / stalls as f64 - 1.0 } else { f64::INFINITY };
                bound(veto.clone(), further)
            }
            Ok((posterior, threshold, count)) => {
                let excess = posterior.return_level(*count, horizon / self.exposure);
                let add = |value: Option<f64>| value.map(|value| value + threshold);
                // What ranks alone exclude, the model may not claim.
                let low = match (add(excess.low), lower.low) {
                    (Some(modelled), Some(ranked)) => Some(modelled.max(ranked)),
                    (modelled, ranked) => modelled.or(ranked),
                };
                let high = add(excess.high).map(|high| low.map_or(high, |low| high.max(low)));
                let clamp = |value: f64| value.max(low.unwrap_or(value)).min(high.unwrap_or(value));
                let level = Estimate { low, value: add(excess.value).map(clamp), high };
                Level { method: Method::TailModel, level, veto: None, further: None }
            }
        }
    }

    /// By ranks: the number of stalls beyond the level is Poisson with this mean, so the level lies below the k-th
    /// longest exactly when at least k of them exceed it.
    fn ranks(&self, expected: f64) -> Estimate {
        let at = |rank: u64| self.sorted.get((rank as usize).saturating_sub(1)).copied();
        // At the mean the chance is still about a half.
        let mut rank = (expected.floor() as u64).max(1);
        while poisson_at_least(rank, expected) > 0.025 {
            rank += 1;
        }
        // Where there are fewer stalls than that rank, the level may lie below all of them.
        let low = at(rank);
        let mut rank = expected.ceil() as u64 + 1;
        while rank > 1 && poisson_at_least(rank, expected) < 0.975 {
            rank -= 1;
        }
        let high = if poisson_at_least(rank, expected) >= 0.975 { at(rank) } else { None };
        let value = at((expected.round() as u64).max(1));
        Estimate { low, value, high }
    }
}

impl crate::Input {
    /// The tail of a stage: its stalls, those of several tasks with one cause counted once.
    /// Its levels are the worst on any of the measured CPUs; ask it in ns of this load's time.
    ///
    /// # Errors
    /// [`crate::Error::Recording`] where the stage was not measured.
    pub fn tail(&self, stage: punctual_recording::Stage) -> Result<Tail, crate::Error> {
        let found = self.tail_stalls(stage).ok_or_else(|| {
            let message = format!("{} under {} has no stage `{}`", self.measure, self.load, stage.name());
            crate::Error::Recording(message)
        })?;
        Ok(Tail::new(&found.peaks(), self.exposure_of(stage)))
    }

    /// Stalls for each late wakeup in the tail of a stage; `None` where there is none.
    pub fn extremal_index(&self, stage: punctual_recording::Stage) -> Option<f64> {
        self.tail_stalls(stage)?.extremal_index()
    }

    /// The stalls of a stage's tail.
    fn tail_stalls(&self, stage: punctual_recording::Stage) -> Option<Stalls> {
        let lateness = self.stages.get(&stage)?;
        let exposure = self.exposure_of(stage);
        let level = peak_level(&lateness.largest, &self.tasks, lateness.complete_above_ns, exposure);
        Some(stalls(&lateness.largest, &self.tasks, level, exposure, self.fills_in(stage)))
    }
}

/// Fits the tail of stalls (longest first), unless something speaks against it: (posterior, level ns, peaks).
fn fit(by_length: &[(u64, u64)], exposure: f64) -> Result<(Posterior, f64, usize), String> {
    if by_length.len() <= MIN_PEAKS {
        return Err(format!("too few stalls: {} where a tail needs more than {MIN_PEAKS}", by_length.len()));
    }
    let count = peak_count(by_length.len()).min(by_length.len() - 1);
    let threshold = by_length[count].0 as f64;
    let mut peaks: Vec<Peak> = by_length[..count]
        .iter()
        .map(|&(length, at)| Peak { at: at as f64, excess: length as f64 - threshold })
        .collect();
    peaks.sort_unstable_by(|left, right| left.at.total_cmp(&right.at));
    if let Some(reason) = veto(&peaks, exposure) {
        return Err(reason);
    }
    let excesses: Vec<f64> = peaks.iter().map(|peak| peak.excess).collect();
    let posterior = Posterior::fit(&excesses, 0, 0.0).ok_or("the stalls have no spread")?;
    Ok((posterior, threshold, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::veto::tests::Random;
    use proptest::prelude::*;

    fn exponential(seed: u64, count: usize) -> Vec<(u64, u64)> {
        let mut random = Random(seed);
        (0..count).map(|_| ((random.exponential() * 1e6) as u64, (random.uniform() * 1e9) as u64)).collect()
    }

    #[test]
    fn each_method_where_it_belongs() {
        let tail = Tail::new(&exponential(3, 2_000), 1e9);
        assert_eq!(tail.level(1e9 / 3.7).method, Method::OrderStatistics);
        assert_eq!(tail.level(1e9).method, Method::TailModel);
        let too_far = tail.level(41e9);
        assert_eq!((too_far.method, too_far.level.value, too_far.level.high), (Method::Bound, None, None));
        assert!(too_far.veto.unwrap().contains("41 times"));
        assert!((too_far.further.unwrap() - 0.025).abs() < 1e-9);
        let few = Tail::new(&exponential(3, 10), 1e9).level(2e9);
        assert!(few.veto.unwrap().contains("too few") && few.level.low.is_some());
        let none = Tail::new(&[], 1e9).level(1e9);
        assert_eq!((none.method, none.level), (Method::Bound, Estimate::default()));
    }

    proptest! {
        #[test]
        fn levels_grow_with_the_horizon(seed: u64, count in 60..500usize) {
            let tail = Tail::new(&exponential(seed, count), 1e9);
            let mut before = 0.0;
            for horizon in [1e8, 2e8, 1e9, 1e10] {
                let level = tail.level(horizon);
                if let (Some(low), Some(value), Some(high)) = (level.level.low, level.level.value, level.level.high) {
                    prop_assert!(low <= value && value <= high);
                    prop_assert!(value >= before * 0.8);
                    before = value;
                }
            }
        }
    }
}
