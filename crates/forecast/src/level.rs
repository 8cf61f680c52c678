//! The worst of an hour, a day, a week: the lateness that stalls exceed once in a horizon.

use crate::interval::Estimate;
use crate::pareto::{MIN_PEAKS, Posterior, peak_count};
use crate::spread::{MIN_PIECES, Spread, levels, separate};
use crate::stall::{Stalls, peak_level, stalls};
use crate::veto::{Peak, veto};
use punctual_recording::grouped;

/// From this exposure on, relative to the horizon, ranks alone give a two-sided interval where stalls come
/// independently: the chance of no exceedance is then below 2.5 % (-ln 0.025 = 3.69). Where stalls vary more, it takes
/// longer.
pub const ENOUGH: f64 = 3.7;

/// How far ahead a tail model is ever asked to look, relative to the exposure: as far as its coverage was measured.
const FURTHEST: f64 = 40.0;

/// The probability with which the next horizon does not exceed the limit that is given.
const PREDICTED: f64 = 0.95;

/// A tail is too heavy to continue where its shape is above the first number with more than the second probability:
/// both are chosen.
const HEAVY: (f64, f64) = (0.3, 0.15);

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
    /// How much longer to measure until there may be more than a bound, as a multiple of the present exposure, where
    /// that is known: at least this long.
    pub further: Option<f64>,
}

/// The stalls of one exposure, ready to be asked for levels.
#[derive(Debug, Clone)]
pub struct Tail {
    /// Longest first, ns.
    sorted: Vec<f64>,
    exposure: f64,
    spread: Spread,
    fit: Result<(Posterior, f64, usize), String>,
}

impl Tail {
    /// Takes the stalls of an exposure: (longest lateness ns, when ns of observed time), in any order,
    /// and the exposure, ns.
    pub fn new(peaks: &[(u64, u64)], exposure: f64) -> Tail {
        let mut by_length = peaks.to_vec();
        by_length.sort_unstable_by(|left, right| right.cmp(left));
        let sorted: Vec<f64> = by_length.iter().map(|peak| peak.0 as f64).collect();
        let mut in_time = peaks.to_vec();
        in_time.sort_unstable_by_key(|peak| peak.1);
        let above = |level: u64| in_time.iter().filter(|peak| peak.0 > level).map(|peak| peak.1).collect();
        let spread: Vec<Vec<u64>> = levels(peaks.iter().map(|peak| peak.0)).into_iter().map(above).collect();
        let spread = Spread::of(&spread, exposure);
        let fit = fit(&by_length, exposure, &spread).and_then(|fit| match (spread.drift, spread.pieces()) {
            (Some(drift), _) => Err(format!("stalls are {}", drift.in_words())),
            (None, Some(pieces)) if pieces < MIN_PIECES => Err(format!(
                "events stay correlated: this recording is worth {pieces:.0} independent pieces, and {MIN_PIECES:.0} are needed"
            )),
            _ => Ok(fit),
        });
        Tail { fit, sorted, exposure, spread }
    }

    /// How the stalls spread over the exposure.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// How often stalls longer than all seen come at most in an exposure (95 %, one-sided): 3.0, and more where stalls
    /// vary more than independent ones.
    pub fn longer_at_most(&self) -> f64 {
        self.spread.upper(0.0, 1.0, 0.95)
    }

    /// The lateness, ns, that nothing in the next `horizon` exceeds with a probability of 95 %, if all goes on as it
    /// was: by ranks (any of the next stalls is as likely to be the longest as any of those seen), otherwise by the
    /// tail model.
    ///
    /// Both count stalls as if they came independently. Where they come together, more of the horizons have none at
    /// all; but the others do not tell how variable the longest are, and any guess at that variability would promise
    /// too much.
    ///
    /// # Errors
    /// Why the forecast cannot say that, in words.
    pub fn next(&self, horizon: f64) -> Result<u64, String> {
        let ahead = horizon / self.exposure;
        let none_ahead = |seen: usize| (1.0 + ahead).powf(-(seen as f64));
        let (mut rank, mut beyond) = (0usize, self.sorted.len() + 1);
        while beyond - rank > 1 {
            let middle = rank + (beyond - rank) / 2;
            if none_ahead(middle) >= PREDICTED { rank = middle } else { beyond = middle }
        }
        // What comes with 5 % in the horizon comes once in 19.5 of them.
        if rank == 0 && ahead / -PREDICTED.ln() > FURTHEST {
            return Err(format!("that takes a recording {:.1} times as long", ahead / -PREDICTED.ln() / FURTHEST));
        }
        if let Some(drift) = self.spread.drift {
            return Err(format!("stalls are {}", drift.in_words()));
        }
        if self.spread.may_drift {
            return Err("it cannot be ruled out that the machine drifts".to_owned());
        }
        if rank > 0 {
            return Ok(self.sorted[rank - 1].ceil() as u64);
        }
        let (posterior, threshold, count) = self.fit.as_ref().map_err(Clone::clone)?;
        let modelled = threshold + posterior.not_above(*count, ahead, PREDICTED);
        // A longer one than all seen comes with H/(H+T), which is more than 5 % here.
        Ok(modelled.max(self.sorted.first().copied().unwrap_or(0.0)).ceil() as u64)
    }

    /// How many stalls it was made from.
    pub fn stalls(&self) -> usize {
        self.sorted.len()
    }

    /// The longest stall that was seen, ns.
    pub fn longest_ns(&self) -> Option<u64> {
        self.sorted.first().map(|&longest| longest as u64)
    }

    /// The lateness that stalls exceed once in this time, ns (in units of the exposure).
    pub fn level(&self, horizon: f64) -> Level {
        let expected = self.exposure / horizon;
        let ranked = self.ranks(expected);
        let lower = Estimate { value: None, high: None, ..ranked };
        if expected >= ENOUGH && ranked.high.is_some() {
            return Level { method: Method::OrderStatistics, level: ranked, veto: None, further: None };
        }
        if expected >= ENOUGH && self.spread.drift.is_none() && self.spread.upper(0.0, 1.0, 0.975) <= expected {
            // Long enough, but with so few stalls that the level lies below them, where they cannot be told apart.
            let veto = Some(format!("too few stalls: {} in {expected:.1} times the horizon", self.sorted.len()));
            return Level { method: Method::Bound, level: lower, veto, further: None };
        }
        let bound = |veto: String, further: f64| {
            // A tail that may not be modelled can still be measured for as long as ranks need.
            let further = Some(further.min(ENOUGH / expected - 1.0)).filter(|further| *further > 0.0);
            Level { method: Method::Bound, level: lower, veto: Some(veto), further }
        };
        let ratio = 1.0 / expected;
        let modelled_from = ratio / FURTHEST - 1.0;
        match &self.fit {
            Err(veto) => {
                // The same may speak against a tail however long it is measured; only a lack of stalls passes.
                let stalls = self.sorted.len();
                let few = stalls > 0 && stalls <= MIN_PEAKS;
                let more = (MIN_PEAKS + 1) as f64 / stalls.max(1) as f64 - 1.0;
                bound(veto.clone(), if few { more.max(modelled_from) } else { f64::INFINITY })
            }
            Ok(_) if ratio > FURTHEST => {
                let times = grouped(ratio.round() as u64);
                let veto = format!("{times} times as long as the measurement: beyond {FURTHEST:.0} times is guesswork");
                bound(veto, modelled_from)
            }
            Ok((posterior, threshold, count)) => {
                let excess =
                    posterior.return_level(*count, horizon / self.exposure, self.spread.dispersion(*count as f64));
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
        // Limits grow with the count: this searches for the least and the greatest count that contradict this mean.
        let least = |is_enough: &dyn Fn(u64) -> bool| {
            let (mut below, mut above) = (0u64, self.sorted.len() as u64 + 2);
            while above - below > 1 {
                let middle = below + (above - below) / 2;
                if is_enough(middle) { above = middle } else { below = middle }
            }
            above
        };
        // Where there are fewer stalls than that rank, the level may lie below all of them.
        let low = at(least(&|rank| self.spread.lower(rank as f64, 1.0, 0.975) >= expected));
        let rank = least(&|rank| self.spread.upper((rank - 1) as f64, 1.0, 0.975) > expected) - 1;
        let high = if rank >= 1 { at(rank) } else { None };
        let value = at((expected.round() as u64).max(1));
        Estimate { low, value, high }
    }
}

impl crate::Input {
    /// The tail of a stage: its stalls, where those of several tasks with one cause count once. Its levels are the
    /// worst on any of the measured CPUs; ask it in ns of this load's time.
    ///
    /// # Errors
    /// [`crate::Error::Recording`] if the stage was not measured.
    pub fn tail(&self, stage: punctual_recording::Stage) -> Result<Tail, crate::Error> {
        let found = self.tail_stalls(stage).ok_or_else(|| {
            let message = format!("{} under {} has no stage `{}`", self.measure, self.load, stage.name());
            crate::Error::Recording(message)
        })?;
        Ok(Tail::new(&found.peaks(), self.exposure_of(stage)))
    }

    /// The tails of a stage as a task meets them that wakes as often: on each CPU, every separate wait counts,
    /// whichever stall it is part of. A storm is one stall and makes many activations late.
    pub(crate) fn tails_of_waits(&self, stage: punctual_recording::Stage) -> Vec<Tail> {
        let of = |input: &crate::Input| {
            let lateness = input.stages.get(&stage)?;
            let own = |task: usize| {
                let late = lateness.largest.iter().filter(move |late| late.task == task);
                separate(late.map(|late| (late.at_ns, late.value_ns)))
            };
            let waits = (0..input.tasks.len()).flat_map(own);
            let known = waits.filter(|wait| wait.1 > lateness.complete_above_ns).map(|(at, longest)| (longest, at));
            Some(Tail::new(&known.collect::<Vec<_>>(), input.exposure_of(stage)))
        };
        self.by_cpu(stage).iter().filter_map(of).collect()
    }

    /// Stalls per late wakeup in the tail of a stage; `None` if there is none.
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
fn fit(by_length: &[(u64, u64)], exposure: f64, spread: &Spread) -> Result<(Posterior, f64, usize), String> {
    if by_length.len() <= MIN_PEAKS {
        return Err(format!("too few stalls: {}, and a tail needs more than {MIN_PEAKS}", by_length.len()));
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
    // Peaks that come together are alike: they tell no more than fewer independent ones.
    let told = 1.0 / spread.dispersion(count as f64);
    let posterior = Posterior::fit(&excesses, 0, 0.0, told).ok_or("the stalls have no spread")?;
    if posterior.heavier_than(HEAVY.0) > HEAVY.1 {
        return Err(format!(
            "the tail is heavy (a shape of {:.2}): how far it reaches is not known",
            posterior.center().0
        ));
    }
    Ok((posterior, threshold, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_random::Random;

    fn exponential(seed: u64, count: usize) -> Vec<(u64, u64)> {
        let mut random = Random(seed);
        (0..count).map(|_| ((random.exponential() * 1e6) as u64, (random.uniform() * 1e9) as u64)).collect()
    }

    #[test]
    fn each_method_where_it_belongs() {
        let tail = Tail::new(&exponential(3, 2_000), 1e9);
        assert_eq!(tail.level(1e9 / 6.0).method, Method::OrderStatistics);
        assert_eq!(tail.level(1e9).method, Method::TailModel);
        let too_far = tail.level(41e9);
        assert_eq!((too_far.method, too_far.level.value, too_far.level.high), (Method::Bound, None, None));
        assert!(too_far.veto.unwrap().contains("41 times"));
        assert!((too_far.further.unwrap() - 0.025).abs() < 1e-9);
        let veto = tail.level(86_400e9).veto.unwrap();
        assert!(veto.starts_with("86,400 times as long as the measurement"), "{veto}");
        let few = Tail::new(&exponential(3, 10), 1e9).level(2e9);
        assert!(few.veto.unwrap().contains("too few") && few.level.low.is_some());
        let none = Tail::new(&[], 1e9).level(1e9);
        assert_eq!((none.method, none.level), (Method::Bound, Estimate::default()));
    }

    #[test]
    fn stalls_that_come_together_promise_no_quiet_hour() {
        // Two hours with all long stalls in a single span of three minutes: the next hour may have such a span too.
        let mut random = Random(11);
        let mut peaks = exponential(5, 500);
        peaks.extend((0..500).map(|_| {
            (5_000_000 + (random.exponential() * 1e6) as u64, 300_000_000 + (random.uniform() * 25e6) as u64)
        }));
        let tail = Tail::new(&peaks, 1e9);
        assert!(tail.next(5e8).is_err(), "{:?}", tail.next(5e8));
        // The next hour exceeds the longest of twenty hours with a probability of 1/21, however they come.
        assert_eq!(tail.next(5e7).unwrap(), tail.longest_ns().unwrap());
    }

    #[test]
    fn what_the_next_hour_brings_is_no_level() {
        // 2,000 exponential stalls in 20 hours: the level of an hour is ln 100 = 4.6 scales; with 95 % nothing
        // exceeds 7.6.
        let tail = Tail::new(&exponential(3, 2_000), 1e9);
        let (level, next) = (tail.level(5e7), tail.next(5e7).unwrap() as f64);
        assert!(level.level.value.unwrap() < 5.2e6 && next > 6.2e6, "{level:?} {next}");
        // By the model where the exposure is shorter, and not at all where it is much shorter.
        assert!(tail.next(1e9).unwrap() as f64 >= next);
        assert!(tail.next(3e9).unwrap_err().contains("times as long"));
        // Independent of the model, if 20 recordings in a row are asked: one in twenty is longer.
        let (mut longer, mut refused) = (0, 0);
        for seed in 0..400 {
            let both = exponential(1_000 + seed, 2_100);
            // Where their frequency seems to change, nothing may be said.
            let Ok(next) = Tail::new(&both[..2_000], 1e9).next(5e7) else {
                refused += 1;
                continue;
            };
            longer += u32::from(both[2_000..].iter().any(|stall| stall.0 > next));
        }
        assert!((6..=34).contains(&longer) && refused < 80, "{longer} of 400, {refused} refused");
    }

    /// Half as frequent again at the end: neither ranks nor the model say anything of the next hour, and the answer
    /// says why.
    #[test]
    fn nothing_is_said_of_the_next_hour_of_a_machine_that_may_drift() {
        let mut refused = 0;
        for seed in 0..40 {
            let mut random = Random(seed);
            let mut stalls = exponential(seed, 3_000);
            stalls.retain(|stall| random.uniform() < (1.0 + 0.5 * stall.1 as f64 / 1e9) / 1.5);
            let tail = Tail::new(&stalls, 1e9);
            let words = [5e7, 5e8].map(|horizon| tail.next(horizon).err().unwrap_or_default());
            refused += words.iter().filter(|words| words.contains("at the end") || words.contains("drift")).count();
        }
        assert!(refused >= 72, "{refused} of 80");
    }

    #[test]
    fn a_heavy_tail_is_not_continued() {
        let mut random = Random(8);
        let mut heavy = || ((random.uniform().powf(-0.6) * 1e6) as u64, (random.uniform() * 1e9) as u64);
        let stalls: Vec<(u64, u64)> = (0..5_000).map(|_| heavy()).collect();
        assert_eq!(Tail::new(&stalls, 1e9).level(2e9).method, Method::Bound);
    }

    /// What keeps a tail from being modelled for an hour keeps it from being modelled for a day and a week too: none is
    /// known before the others.
    #[test]
    fn a_longer_horizon_is_never_known_sooner() {
        let mut random = Random(8);
        let mut heavy = || ((random.uniform().powf(-0.6) * 1e6) as u64, (random.uniform() * 1e9) as u64);
        let stalls: Vec<(u64, u64)> = (0..5_000).map(|_| heavy()).collect();
        let tail = Tail::new(&stalls, 1e9);
        let levels = [36e9, 864e9, 6_048e9].map(|horizon| tail.level(horizon));
        for (level, times) in levels.iter().zip([36.0, 864.0, 6_048.0]) {
            assert_eq!(level.veto, levels[0].veto);
            assert!((level.further.unwrap() / (ENOUGH * times - 1.0) - 1.0).abs() < 1e-9, "{level:?}");
        }
        // With too few, there are enough after some time: for what is further away, once that is long enough.
        let few = Tail::new(&exponential(3, 10), 1e9);
        let further = [2e9, 1_000e9].map(|horizon| few.level(horizon).further.unwrap());
        assert!((further[0] - 4.1).abs() < 1e-9 && (further[1] - 24.0).abs() < 1e-9, "{further:?}");
    }

    /// Each case takes four levels with their intervals: `./test --all` has as many as there are for any other property.
    fn cases() -> u32 {
        if punctual_testing::tests_all() { 256 } else { 64 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases()))]
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// What the next horizon stays below with 95 % is no less than what is exceeded once in it, and what a longer one
        /// stays below no less than that.
        #[test]
        fn the_next_horizon_may_bring_more_than_the_level(seed: u64, count in 60..600usize, horizon in 0.01..2.0f64) {
            let tail = Tail::new(&exponential(seed, count), 1e9);
            let (level, next) = (tail.level(horizon * 1e9), tail.next(horizon * 1e9));
            if let (Ok(next), Some(value)) = (&next, level.level.value) {
                prop_assert!(*next as f64 >= value, "{next} {level:?}");
            }
            if let (Ok(shorter), Ok(longer)) = (tail.next(0.5e9 * horizon), &next) {
                prop_assert!(shorter as f64 <= *longer as f64 * (1.0 + 1e-6) + 1.0, "{shorter} {longer}");
            }
        }
    }
}
