//! Rates of rare events, with intervals that hold for any count.

use crate::special::gamma_quantile;

/// The share of intervals that should hold the truth.
pub const CONFIDENCE: f64 = 0.95;

/// What zero events in a time T leave open: up to 3.0 events in T, at 95 %, one-sided (-ln 0.05).
pub const ZERO_EVENTS: f64 = 2.995_732_273_553_991;

/// Limits that differ by more than this factor together say nothing.
const MAX_SPAN: f64 = 1_000.0;

/// Whether limits of a ratio are so far apart that together they say nothing: then an answer gives only the one that
/// decides.
pub fn are_too_wide(low: f64, high: f64) -> bool {
    high > MAX_SPAN * low
}

/// This many times as many events as independent ones leave open ([`ZERO_EVENTS`]) may have come unseen: beyond that, a
/// limit on how often they come says nothing.
const MAX_UNSEEN: f64 = 10.0;

/// Whether so many may have come where none was seen that nothing can be said of how often they come.
pub fn may_be_too_many(unseen: f64) -> bool {
    unseen > MAX_UNSEEN * ZERO_EVENTS
}

/// A number with its interval. An unknown part is `None`, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// The lower limit.
    pub low: Option<f64>,
    /// The best single value.
    pub value: Option<f64>,
    /// The upper limit.
    pub high: Option<f64>,
}

impl Estimate {
    /// The estimate of 1/x: a mean time where x is a rate.
    #[must_use]
    pub fn inverse(self) -> Estimate {
        let turn = |value: Option<f64>| value.filter(|&value| value > 0.0).map(|value| 1.0 / value);
        Estimate { low: turn(self.high), value: turn(self.value), high: turn(self.low) }
    }

    /// The estimate of x times a positive factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Estimate {
        let scale = |value: Option<f64>| value.map(|value| value * factor);
        Estimate { low: scale(self.low), value: scale(self.value), high: scale(self.high) }
    }

    /// The estimate of an x that cannot exceed this.
    #[must_use]
    pub fn at_most(self, most: f64) -> Estimate {
        let cut = |value: Option<f64>| value.map(|value| value.min(most));
        Estimate { low: cut(self.low), value: cut(self.value), high: cut(self.high) }
    }
}

/// The rate of a Poisson process that showed this many events in an exposure of 1, two-sided 95 % (Garwood, Biometrika
/// 1936). Zero events give the one-sided bound [`ZERO_EVENTS`] and no estimate.
pub fn garwood(events: u64) -> Estimate {
    weighted(events as f64, events as f64, 1.0)
}

/// The interval for a sum of weighted Poisson events in an exposure of 1 (Fay and Feuer, Statistics in Medicine
/// 1997): `sum` and `sum_of_squares` of the weights seen, and the largest weight an unseen event could have.
/// With all weights 1 it is Garwood's.
fn weighted(sum: f64, sum_of_squares: f64, largest_weight: f64) -> Estimate {
    if sum <= 0.0 {
        return Estimate { low: None, value: None, high: Some(ZERO_EVENTS * largest_weight) };
    }
    let outside = 0.5 * (1.0 - CONFIDENCE);
    let low = sum_of_squares / sum * gamma_quantile(sum * sum / sum_of_squares, outside);
    let (above, squares) = (sum + largest_weight, sum_of_squares + largest_weight * largest_weight);
    let high = squares / above * gamma_quantile(above * above / squares, 1.0 - outside);
    Estimate { low: Some(low), value: Some(sum), high: Some(high) }
}

/// The largest exposure, relative to the present one, that is ever suggested where something was seen: beyond it,
/// measuring longer is no advice.
const MAX_MEASUREMENT: f64 = 10_000.0;

/// How much longer one would have to measure, as a multiple of the present exposure, until the mean time between events
/// can be distinguished from `want` (in units of the present exposure), if events continue at the rate of their
/// estimate. An event counts for up to `largest_weight`, and is one event. `None` where that rate is too near the
/// wanted one.
pub(crate) fn further_exposure(sum: f64, largest_weight: f64, dispersion: f64, want: f64) -> Option<f64> {
    let upper = |sum: f64| dispersion * gamma_quantile(sum / largest_weight / dispersion + 1.0, 0.995) * largest_weight;
    if sum <= 0.0 {
        return Some((upper(0.0) * want - 1.0).max(0.0));
    }
    let decided = |factor: f64| {
        let events = sum * factor / largest_weight;
        let low = dispersion * gamma_quantile(events / dispersion, 0.025) * largest_weight / factor;
        upper(sum * factor) / factor * want <= 1.0 || low * want > 1.0
    };
    if !decided(MAX_MEASUREMENT) {
        return None;
    }
    let (mut low, mut high) = (1.0f64, MAX_MEASUREMENT);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if decided(middle) { high = middle } else { low = middle }
    }
    Some(high - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_events_bound_the_rate_by_three() {
        let none = garwood(0);
        assert_eq!((none.low, none.value), (None, None));
        assert!((none.high.unwrap() - 3.0).abs() < 0.005);
        let time = none.inverse();
        assert!((time.low.unwrap() - 1.0 / 3.0).abs() < 0.001);
        assert_eq!((time.value, time.high), (None, None));
    }

    #[test]
    fn limits_say_something_up_to_a_thousandfold() {
        let told = [(1.0, 1_000.0), (0.05, 44.0), (2e-3, 1.0)].map(|(low, high)| are_too_wide(low, high));
        assert_eq!(told, [false; 3]);
        assert_eq!(
            [(1.0, 1_001.0), (0.0, 1.0), (2.16e-3, 1_800.0)].map(|(low, high)| are_too_wide(low, high)),
            [true; 3]
        );
        // A limit of 89 where none was seen is no limit.
        assert_eq!([ZERO_EVENTS, 29.0, 30.0, 89.0].map(may_be_too_many), [false, false, true, true]);
    }

    #[test]
    fn garwoods_table() {
        for (events, low, high) in [(1, 0.0253, 5.572), (5, 1.623, 11.668), (20, 12.217, 30.888), (100, 81.36, 121.63)]
        {
            let rate = garwood(events);
            assert!((rate.low.unwrap() / low - 1.0).abs() < 0.002, "{events}: {rate:?}");
            assert!((rate.high.unwrap() / high - 1.0).abs() < 0.002, "{events}: {rate:?}");
        }
    }

    #[test]
    fn what_to_measure_still() {
        // Nothing in an hour and one allowed an hour: 5.3 hours in all, for 99.5 %.
        assert!((further_exposure(0.0, 1.0, 1.0, 1.0).unwrap() - 4.298).abs() < 0.01);
        // Where nothing was seen, it is never too near the want, however far off that is.
        assert!(further_exposure(0.0, 1.0, 1.0, 1e6).is_some());
        // Exactly as often as allowed: no measurement tells.
        assert_eq!(further_exposure(10.0, 1.0, 1.0, 0.1), None);
        // Three seen where one was wanted: the more, the sooner.
        let more = further_exposure(3.0, 1.0, 1.0, 1.0).unwrap();
        assert!(more > 0.0 && more < 3.0, "{more}");
        // Three events that count for 20 each tell no more than three do, where 20 times as many are allowed.
        let weighted = further_exposure(60.0, 20.0, 1.0, 0.05).unwrap();
        assert!((weighted / more - 1.0).abs() < 1e-9 && further_exposure(60.0, 1.0, 1.0, 0.05).unwrap() < more);
    }

    proptest! {
        #[test]
        fn intervals_are_in_order(sum in 0.01..1e5f64, spread in 0.01..1.0f64, largest in 1.0..10.0f64) {
            let rate = weighted(sum, sum * spread, largest);
            let (low, value, high) = (rate.low.unwrap(), rate.value.unwrap(), rate.high.unwrap());
            prop_assert!(0.0 <= low && low <= value && value <= high);
        }

        #[test]
        fn inverse_twice_changes_nothing(sum in 0.1..1e4f64) {
            let rate = weighted(sum, sum, 1.0);
            let again = rate.inverse().inverse();
            prop_assert!((again.high.unwrap() / rate.high.unwrap() - 1.0).abs() < 1e-12);
        }
    }
}
