//! Distributions of values: every value counted, nothing clamped.

use crate::Stage;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a distribution is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Whose wakeups: policy and priority, such as `fifo:80`.
    pub measure: String,
    /// Which stage.
    pub stage: Stage,
    /// On which CPU.
    pub cpu: u32,
    /// Under which load; `none` for an idle machine.
    pub load: String,
}

/// A distribution of nanoseconds, to three significant digits, with exact count, extremes and sum.
///
/// Values from 1 ns up are counted within 0.1 %; the range grows as needed, so no value is clamped.
#[derive(Debug, Clone)]
pub struct Distribution {
    histogram: Histogram<u64>,
    min: u64,
    max: u64,
    sum: u128,
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution::new()
    }
}

impl Distribution {
    /// An empty distribution.
    pub fn new() -> Distribution {
        let histogram = Histogram::new(3).expect("three significant digits are within the library's limits");
        Distribution { histogram, min: u64::MAX, max: 0, sum: 0 }
    }

    /// Counts one value, ns.
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Counts the same value several times.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        // An auto-resizing histogram takes every u64.
        self.histogram.record_n(value_ns, count).expect("the histogram resizes itself");
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
        self.sum += u128::from(value_ns) * u128::from(count);
    }

    /// Adds all of another distribution's values.
    pub fn add(&mut self, other: &Distribution) {
        if other.count() == 0 {
            return;
        }
        self.histogram.add(&other.histogram).expect("the histogram resizes itself");
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The smallest value, exactly; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.min)
    }

    /// The largest value, exactly; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max)
    }

    /// The mean, rounded to whole nanoseconds; `None` when empty.
    pub fn mean(&self) -> Option<u64> {
        let count = u128::from(self.count());
        (count > 0).then(|| u64::try_from((self.sum + count / 2) / count).unwrap_or(u64::MAX))
    }

    /// The value that a fraction `quantile` of all values does not exceed, within 0.1 %; `None` when empty.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.value_at_quantile(quantile).clamp(self.min, self.max))
    }

    /// How many values exceed `limit_ns`. Values within 0.1 % of the limit may fall on either side,
    /// except that no value is ever counted above the exact maximum.
    pub fn count_above(&self, limit_ns: u64) -> u64 {
        if self.count() == 0 || limit_ns >= self.max {
            return 0;
        }
        let above: u64 = self.buckets().filter(|(value, _)| *value > limit_ns).map(|(_, count)| count).sum();
        above.max(1)
    }

    /// The filled buckets in ascending order: (a value that stands for the bucket, count).
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram
            .iter_recorded()
            .map(|step| (self.histogram.median_equivalent(step.value_iterated_to()), step.count_since_last_iteration()))
    }

    /// How much memory it takes up, bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Distribution>() + self.histogram.distinct_values() * size_of::<u64>()
    }
}

impl PartialEq for Distribution {
    fn eq(&self, other: &Self) -> bool {
        self.histogram == other.histogram && self.min == other.min && self.max == other.max && self.sum == other.sum
    }
}

/// How a distribution stands in `recording.json`: sparse, and exact where it can be.
#[derive(Serialize, Deserialize)]
struct Stored {
    min_ns: u64,
    max_ns: u64,
    /// As text where it does not fit 64 bits.
    sum_ns: String,
    /// Pairs of a value that stands for its bucket, and how many values fell there.
    counts: Vec<(u64, u64)>,
}

impl Serialize for Distribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored {
            min_ns: self.min().unwrap_or(0),
            max_ns: self.max,
            sum_ns: self.sum.to_string(),
            counts: self.buckets().collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let stored = Stored::deserialize(deserializer)?;
        let mut distribution = Distribution::new();
        let mut total = 0u64;
        for (value, count) in stored.counts {
            total = total.checked_add(count).ok_or_else(|| D::Error::custom("counts exceed 64 bits"))?;
            distribution.record_n(value, count);
        }
        if distribution.count() > 0 {
            if stored.min_ns > stored.max_ns {
                return Err(D::Error::custom("a distribution's minimum exceeds its maximum"));
            }
            distribution.min = stored.min_ns;
            distribution.max = stored.max_ns;
            distribution.sum = stored.sum_ns.parse().map_err(|_| D::Error::custom("sum_ns is not a whole number"))?;
        }
        Ok(distribution)
    }
}

/// Distributions by key, with sums over CPUs, stages and loads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distributions(BTreeMap<Key, Distribution>);

impl Distributions {
    /// The distribution with this key, made if there is none.
    pub fn entry(&mut self, key: Key) -> &mut Distribution {
        self.0.entry(key).or_default()
    }

    /// All distributions with their keys, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Distribution)> {
        self.0.iter()
    }

    /// Adds all of another set's values, key by key.
    pub fn add(&mut self, other: &Distributions) {
        for (key, distribution) in &other.0 {
            self.entry(key.clone()).add(distribution);
        }
    }

    /// The sum of all distributions whose key is chosen.
    pub fn sum(&self, chosen: impl Fn(&Key) -> bool) -> Distribution {
        let mut sum = Distribution::new();
        for (key, distribution) in &self.0 {
            if chosen(key) {
                sum.add(distribution);
            }
        }
        sum
    }

    /// The distinct loads, in order.
    pub fn loads(&self) -> Vec<String> {
        self.distinct(|key| key.load.clone())
    }

    /// The distinct measures, in order.
    pub fn measures(&self) -> Vec<String> {
        self.distinct(|key| key.measure.clone())
    }

    /// The distinct CPUs, in order.
    pub fn cpus(&self) -> Vec<u32> {
        self.distinct(|key| key.cpu)
    }

    fn distinct<T: Ord>(&self, of: impl Fn(&Key) -> T) -> Vec<T> {
        self.0.keys().map(of).collect::<std::collections::BTreeSet<T>>().into_iter().collect()
    }
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    key: Key,
    #[serde(flatten)]
    distribution: Distribution,
}

impl Serialize for Distributions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Borrowed<'a> {
            #[serde(flatten)]
            key: &'a Key,
            #[serde(flatten)]
            distribution: &'a Distribution,
        }
        serializer.collect_seq(self.0.iter().map(|(key, distribution)| Borrowed { key, distribution }))
    }
}

impl<'de> Deserialize<'de> for Distributions {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut distributions = Distributions::default();
        for entry in Vec::<Entry>::deserialize(deserializer)? {
            distributions.entry(entry.key).add(&entry.distribution);
        }
        Ok(distributions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR_NS: u64 = 3_600_000_000_000;

    proptest! {
        #[test]
        fn values_from_a_nanosecond_to_an_hour_are_kept_within_a_thousandth(value in 1..=HOUR_NS, count in 1..1000u64) {
            let mut distribution = Distribution::new();
            distribution.record_n(value, count);
            // A second value on each side, so that the exact extremes do not hide the bucket's value.
            distribution.record(1);
            distribution.record(HOUR_NS);
            let (nearest, _) = distribution.buckets().min_by_key(|(bucket, _)| bucket.abs_diff(value)).unwrap();
            prop_assert!(nearest.abs_diff(value) as f64 <= value as f64 / 1000.0);
        }

        #[test]
        fn what_is_stored_is_what_is_read(values in prop::collection::vec((0..=u64::MAX / 2, 1..5u64), 0..100)) {
            let mut distribution = Distribution::new();
            for (value, count) in values {
                distribution.record_n(value, count);
            }
            let stored = serde_json::to_string(&distribution).unwrap();
            let read: Distribution = serde_json::from_str(&stored).unwrap();
            prop_assert_eq!(&read, &distribution);
            prop_assert_eq!(read.mean(), distribution.mean());
        }

        #[test]
        fn counting_above_is_exact_to_the_bucket(values in prop::collection::vec(1..10_000_000u64, 1..300), limit in 1..10_000_000u64) {
            let mut distribution = Distribution::new();
            for &value in &values {
                distribution.record(value);
            }
            let certainly = values.iter().filter(|&&value| value as f64 > limit as f64 * 1.001).count() as u64;
            let possibly = values.iter().filter(|&&value| value as f64 > limit as f64 * 0.999).count() as u64;
            let above = distribution.count_above(limit);
            prop_assert!(above >= certainly && above <= possibly);
            prop_assert_eq!(above > 0, values.iter().any(|&value| value > limit));
        }

        #[test]
        fn adding_is_recording_both(left in prop::collection::vec(0..1_000_000u64, 0..50), right in prop::collection::vec(0..1_000_000_000u64, 0..50)) {
            let of = |values: &[u64]| {
                let mut distribution = Distribution::new();
                for &value in values {
                    distribution.record(value);
                }
                distribution
            };
            let mut sum = of(&left);
            sum.add(&of(&right));
            prop_assert_eq!(sum, of(&[left, right].concat()));
        }
    }

    #[test]
    fn a_value_beyond_an_hour_is_counted_not_clamped() {
        let mut distribution = Distribution::new();
        distribution.record(10 * HOUR_NS);
        assert_eq!(distribution.max(), Some(10 * HOUR_NS));
        assert_eq!(distribution.count_above(HOUR_NS), 1);
    }

    #[test]
    fn an_empty_distribution_knows_nothing() {
        let distribution = Distribution::new();
        assert_eq!((distribution.min(), distribution.max(), distribution.mean()), (None, None, None));
        assert_eq!(distribution.quantile(0.5), None);
    }
}
