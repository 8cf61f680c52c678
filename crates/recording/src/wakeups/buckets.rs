//! Counts of values by bucket: no larger than their contents, and quick to count into if there is much to count.

use hdrhistogram::Histogram;

/// From this many filled buckets on, counting uses one array of all buckets: an order of magnitude quicker than a
/// search.
const DENSE_FROM: usize = 1 << 9;
/// Values below this have a bucket each; above it, a bucket is a thousandth of its values or less, as in the library
/// for three digits.
const SINGLE_BELOW: u64 = 2_048;

/// The bucket of a value: the smallest value that falls into it, and how many different values do.
fn bucket(value: u64) -> (u64, u64) {
    if value < SINGLE_BELOW {
        return (value, 1);
    }
    let shift = 53 - value.leading_zeros();
    ((value >> shift) << shift, 1 << shift)
}

/// The value that represents a bucket, by its smallest value.
fn middle(lowest: u64) -> u64 {
    lowest + bucket(lowest).1 / 2
}

/// Counts of nanoseconds, to three significant digits.
#[derive(Debug, Clone)]
pub(crate) enum Buckets {
    /// Smallest value and count of filled buckets, in order: what was read takes no more memory than it did as text.
    Sparse(Vec<(u64, u64)>, u64),
    /// All buckets up to the largest value: a hundred kilobytes or more.
    Dense(Box<Histogram<u64>>),
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets::Sparse(Vec::new(), 0)
    }
}

impl Buckets {
    /// From values and their counts, in any order.
    pub(crate) fn of(mut pairs: Vec<(u64, u64)>) -> Buckets {
        pairs.retain(|(_, count)| *count > 0);
        pairs.iter_mut().for_each(|pair| pair.0 = bucket(pair.0).0);
        if !pairs.is_sorted_by_key(|pair| pair.0) {
            pairs.sort_unstable_by_key(|pair| pair.0);
        }
        pairs.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            is_same
        });
        pairs.shrink_to_fit();
        let total = pairs.iter().fold(0_u64, |sum, pair| sum.saturating_add(pair.1));
        Buckets::Sparse(pairs, total)
    }

    pub(crate) fn record(&mut self, value: u64, count: u64) {
        match self {
            Buckets::Dense(histogram) => {
                // A histogram that resizes itself takes every value.
                histogram.record_n(value, count).expect("the histogram resizes itself");
            }
            Buckets::Sparse(pairs, total) => {
                let lowest = bucket(value).0;
                match pairs.binary_search_by_key(&lowest, |pair| pair.0) {
                    Ok(position) => pairs[position].1 = pairs[position].1.saturating_add(count),
                    Err(position) if pairs.len() < DENSE_FROM => pairs.insert(position, (lowest, count)),
                    Err(_) => {
                        self.make_dense();
                        self.record(value, count);
                        return;
                    }
                }
                *total = total.saturating_add(count);
            }
        }
    }

    /// From now on counts into one array of all buckets.
    pub(crate) fn make_dense(&mut self) {
        if let Buckets::Sparse(pairs, _) = self {
            let histogram = Histogram::new(3).expect("three digits are within the library's limits");
            let mut dense = Buckets::Dense(Box::new(histogram));
            pairs.iter().for_each(|pair| dense.record(pair.0, pair.1));
            *self = dense;
        }
    }

    /// Adds another's counts. If values are only ever added, it stays as small as it is.
    pub(crate) fn add(&mut self, other: &Buckets) {
        match self {
            Buckets::Dense(_) => other.iter().for_each(|(value, count)| self.record(value, count)),
            Buckets::Sparse(pairs, total) => {
                let mut sum = Vec::with_capacity(pairs.len());
                let mut own = pairs.iter().copied().peekable();
                for (value, count) in other.iter() {
                    let lowest = bucket(value).0;
                    while let Some(pair) = own.next_if(|pair| pair.0 < lowest) {
                        sum.push(pair);
                    }
                    let same = own.next_if(|pair| pair.0 == lowest).map_or(0, |pair| pair.1);
                    sum.push((lowest, same.saturating_add(count)));
                }
                sum.extend(own);
                *total = total.saturating_add(other.total());
                *pairs = sum;
            }
        }
    }

    pub(crate) fn total(&self) -> u64 {
        match self {
            Buckets::Sparse(_, total) => *total,
            Buckets::Dense(histogram) => histogram.len(),
        }
    }

    /// The largest value of the bucket in which this fraction of all values is reached; 0 if there are none.
    pub(crate) fn quantile(&self, quantile: f64) -> u64 {
        let pairs = match self {
            Buckets::Sparse(pairs, _) => pairs,
            Buckets::Dense(histogram) => return histogram.value_at_quantile(quantile),
        };
        let wanted = ((quantile.min(1.0) * self.total() as f64).ceil() as u64).max(1);
        let mut reached = 0_u64;
        let found = pairs.iter().find(|(_, count)| {
            reached = reached.saturating_add(*count);
            reached >= wanted
        });
        let Some(&(lowest, _)) = found.or(pairs.last()) else { return 0 };
        if quantile == 0.0 { lowest } else { lowest + (bucket(lowest).1 - 1) }
    }

    /// Filled buckets in order: a value that represents the bucket, and the count.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (pairs, histogram) = match self {
            Buckets::Sparse(pairs, _) => (pairs.as_slice(), None),
            Buckets::Dense(histogram) => (&[][..], Some(histogram)),
        };
        let sparse = pairs.iter().map(|&(lowest, count)| (middle(lowest), count));
        let dense = histogram.into_iter().flat_map(|histogram| {
            histogram
                .iter_recorded()
                .map(|step| (histogram.median_equivalent(step.value_iterated_to()), step.count_since_last_iteration()))
        });
        sparse.chain(dense)
    }

    /// How much memory they take up, bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Buckets::Sparse(pairs, _) => pairs.capacity() * size_of::<(u64, u64)>(),
            Buckets::Dense(histogram) => size_of::<Histogram<u64>>() + histogram.distinct_values() * size_of::<u64>(),
        }
    }
}

impl PartialEq for Buckets {
    fn eq(&self, other: &Self) -> bool {
        self.total() == other.total() && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Vec<(u64, u64)>> {
        // The library's topmost bucket ends one early.
        let value = prop_oneof![0..5_000_u64, 0..u64::MAX / 2, (1..64_u32).prop_map(|bits| u64::MAX >> bits)];
        prop::collection::vec((value, 1..1_000_u64), 1..200)
    }

    proptest! {
        #[test]
        fn few_buckets_say_what_all_of_them_would(values in values(), more in values(), quantile in 0.0..=1.0) {
            let mut dense = Buckets::Dense(Box::new(Histogram::new(3).unwrap()));
            let mut sparse = Buckets::default();
            for &(value, count) in &values {
                dense.record(value, count);
                sparse.record(value, count);
            }
            prop_assert!(matches!(sparse, Buckets::Sparse(..)));
            prop_assert_eq!(&sparse, &Buckets::of(values.clone()));
            prop_assert_eq!(&sparse, &dense);
            for quantile in [0.0, quantile, 1.0] {
                prop_assert_eq!(sparse.quantile(quantile), dense.quantile(quantile));
            }
            let more = Buckets::of(more);
            sparse.add(&more);
            dense.add(&more);
            prop_assert_eq!(&sparse, &dense);
            prop_assert_eq!(sparse.total(), dense.total());
        }

        #[test]
        fn many_buckets_become_an_array_that_holds_the_same(values in prop::collection::vec(0..1_000_000_u64, 0..2_000)) {
            let mut counted = Buckets::default();
            values.iter().for_each(|&value| counted.record(value, 1));
            prop_assert_eq!(counted, Buckets::of(values.iter().map(|&value| (value, 1)).collect()));
        }
    }

    #[test]
    fn what_is_read_takes_as_little_as_it_holds() {
        let far_apart = Buckets::of((0..64).map(|bits| (1 << bits, 1)).collect());
        assert!(far_apart.bytes() <= 64 * 16);
    }
}
