//! Distributions of values: every value counted, nothing clamped.

use crate::Stage;
use crate::format::bounds::{MAX_BUCKETS, MAX_DISTRIBUTIONS};
use crate::wakeups::buckets::Buckets;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a distribution describes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The wakeups that it counts: policy and priority, such as `fifo:80`.
    pub measure: String,
    /// The stage.
    pub stage: Stage,
    /// The CPU.
    pub cpu: u32,
    /// The load; `none` for an idle machine.
    pub load: String,
}

/// A distribution of nanoseconds, to three significant digits, with exact count, extremes and sum.
///
/// Values from 1 ns up are counted within 0.1 %; the range grows as needed, so no value is clamped.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    buckets: Buckets,
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
        Distribution { buckets: Buckets::default(), min: u64::MAX, max: 0, sum: 0 }
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
        self.buckets.record(value_ns, count);
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
        self.sum = self.sum.saturating_add(u128::from(value_ns) * u128::from(count));
    }

    /// Adds all of another distribution's values.
    pub fn add(&mut self, other: &Distribution) {
        if other.count() == 0 {
            return;
        }
        self.buckets.add(&other.buckets);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.buckets.total()
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
        (count > 0).then(|| u64::try_from(self.sum.saturating_add(count / 2) / count).unwrap_or(u64::MAX))
    }

    /// The value that a fraction `quantile` of all values does not exceed, within 0.1 %; `None` when empty.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.buckets.quantile(quantile).clamp(self.min, self.max))
    }

    /// How many values exceed `limit_ns`. Values within 0.1 % of the limit may fall on either side,
    /// except that no value is ever counted above the exact maximum.
    pub fn count_above(&self, limit_ns: u64) -> u64 {
        if self.count() == 0 || limit_ns >= self.max {
            return 0;
        }
        let above = self.buckets().filter(|(value, _)| *value > limit_ns);
        above.fold(0_u64, |sum, (_, count)| sum.saturating_add(count)).max(1)
    }

    /// The filled buckets in ascending order: (a value that stands for the bucket, count).
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter()
    }

    /// About how much memory it takes up, bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Distribution>() + self.buckets.bytes()
    }
}

/// A distribution as `recording.json` has it: sparse, and exact where it can be.
#[derive(Serialize, Deserialize)]
struct Stored {
    min_ns: u64,
    max_ns: u64,
    /// As text, because it may not fit 64 bits.
    sum_ns: String,
    counts: Pairs,
}

/// Pairs of a value that stands for its bucket, and how many values fell there.
#[derive(Serialize)]
struct Pairs(Vec<(u64, u64)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bounded_list(deserializer, MAX_BUCKETS, "buckets of a distribution", Vec::new(), Vec::push).map(Pairs)
    }
}

/// Reads a list of unknown length, one element at a time.
fn bounded_list<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>, L>(
    deserializer: D,
    max: usize,
    what: &'static str,
    list: L,
    push: impl Fn(&mut L, T),
) -> Result<L, D::Error> {
    struct Visitor<T, L, P> {
        max: usize,
        what: &'static str,
        list: L,
        push: P,
        of: std::marker::PhantomData<T>,
    }
    impl<'de, T: Deserialize<'de>, L, P: Fn(&mut L, T)> serde::de::Visitor<'de> for Visitor<T, L, P> {
        type Value = L;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(formatter, "a list of {}", self.what)
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(mut self, mut elements: A) -> Result<L, A::Error> {
            let mut count = 0;
            while let Some(element) = elements.next_element()? {
                count += 1;
                if count > self.max {
                    let Visitor { max, what, .. } = self;
                    return Err(serde::de::Error::custom(format!("more than {max} {what}; no more are read")));
                }
                (self.push)(&mut self.list, element);
            }
            Ok(self.list)
        }
    }
    deserializer.deserialize_seq(Visitor { max, what, list, push, of: std::marker::PhantomData })
}

impl Serialize for Distribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored {
            min_ns: self.min().unwrap_or(0),
            max_ns: self.max,
            sum_ns: self.sum.to_string(),
            counts: Pairs(self.buckets().collect()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Stored::deserialize(deserializer)?.read().map_err(serde::de::Error::custom)
    }
}

/// No distribution on disk counts more than this, so that the sum of all fits 64 bits. At a million a second that takes
/// four years.
const MAX_COUNT: u64 = 1 << 47;

impl Stored {
    fn read(self) -> Result<Distribution, &'static str> {
        let mut total = 0u64;
        for &(_, count) in &self.counts.0 {
            total = total
                .checked_add(count)
                .filter(|total| *total <= MAX_COUNT)
                .ok_or("counts exceed what can be counted")?;
        }
        let mut distribution = Distribution { buckets: Buckets::of(self.counts.0), ..Distribution::new() };
        if distribution.count() > 0 {
            if self.min_ns > self.max_ns {
                return Err("a distribution's minimum exceeds its maximum");
            }
            distribution.min = self.min_ns;
            distribution.max = self.max_ns;
            distribution.sum = self.sum_ns.parse().map_err(|_| "sum_ns is not a whole number")?;
        }
        Ok(distribution)
    }
}

/// Adds distributions up; if there are many, in one array into which each counts quickly.
fn sum<'a>(parts: impl Iterator<Item = &'a Distribution>) -> Distribution {
    let mut sum = Distribution::new();
    for (position, part) in parts.enumerate() {
        if position == FEW_PARTS {
            sum.buckets.make_dense();
        }
        sum.add(part);
    }
    sum
}

/// More distributions than this are added up in one array.
const FEW_PARTS: usize = 16;

/// Distributions by key, with sums over CPUs, stages and loads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distributions(BTreeMap<Key, Distribution>);

impl Distributions {
    /// The distribution with this key, made if there is none.
    pub fn entry(&mut self, key: Key) -> &mut Distribution {
        self.0.entry(key).or_default()
    }

    /// Counts a value.
    pub(crate) fn record(&mut self, measure: &str, stage: Stage, cpu: u32, load: &str, value_ns: u64) {
        let key = Key { measure: measure.to_owned(), stage, cpu, load: load.to_owned() };
        self.entry(key).record(value_ns);
    }

    /// How many distributions there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// About how much memory they take up, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0
            .iter()
            .map(|(key, distribution)| {
                // A text of its own takes at least 32 bytes.
                size_of::<Key>() + key.measure.len().max(32) + key.load.len().max(32) + distribution.bytes()
            })
            .sum()
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

    /// The sum of all distributions with a chosen key; looks at every one.
    pub fn sum(&self, chosen: impl Fn(&Key) -> bool) -> Distribution {
        sum(self.0.iter().filter(|(key, _)| chosen(key)).map(|(_, distribution)| distribution))
    }

    /// The sum of a measure's stage, on one CPU or on all; looks only at those that belong to it.
    pub fn sum_of(&self, measure: &str, stage: Stage, cpu: Option<u32>) -> Distribution {
        let first = Key { measure: measure.to_owned(), stage, cpu: cpu.unwrap_or(0), load: String::new() };
        let own = self.0.range(first..).take_while(|(key, _)| {
            key.measure == measure && key.stage == stage && cpu.is_none_or(|cpu| key.cpu == cpu)
        });
        sum(own.map(|(_, distribution)| distribution))
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

/// A distribution together with its key: serde would first keep all of a flattened part in another form, of any size.
#[derive(Deserialize)]
struct Entry {
    measure: String,
    stage: Stage,
    cpu: u32,
    load: String,
    min_ns: u64,
    max_ns: u64,
    sum_ns: String,
    counts: Pairs,
}

impl Entry {
    fn read(self) -> Result<(Key, Distribution), &'static str> {
        let Entry { measure, stage, cpu, load, min_ns, max_ns, sum_ns, counts } = self;
        Ok((Key { measure, stage, cpu, load }, Stored { min_ns, max_ns, sum_ns, counts }.read()?))
    }
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
        let read = (Distributions::default(), None);
        let (distributions, wrong) =
            bounded_list(deserializer, MAX_DISTRIBUTIONS, "distributions", read, |(list, wrong), entry: Entry| {
                match entry.read() {
                    Ok((key, distribution)) => list.entry(key).add(&distribution),
                    Err(what) => *wrong = wrong.or(Some(what)),
                }
            })?;
        wrong.map_or(Ok(distributions), |what| Err(serde::de::Error::custom(what)))
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
    fn a_mean_is_rounded_to_the_nearest() {
        let mean = |values: &[u64]| {
            let mut distribution = Distribution::new();
            values.iter().for_each(|&value| distribution.record(value));
            distribution.mean()
        };
        assert_eq!((mean(&[1, 1, 2]), mean(&[1, 2]), mean(&[1, 2, 2])), (Some(1), Some(2), Some(2)));
    }

    #[test]
    fn an_empty_distribution_knows_nothing() {
        let distribution = Distribution::new();
        assert_eq!((distribution.min(), distribution.max(), distribution.mean()), (None, None, None));
        assert_eq!(distribution.quantile(0.5), None);
    }
}
