//! The share of wakeups that took at least a given time, on two logarithmic axes; the axis of shares of
//! waiting ([`Subject::Waiting`]) is linear.
//!
//! Cota-Robles and Held, OSDI 1999, Figure 4, show their histograms this way, so that the long tail is visible.

use crate::encode::html::subject::Subject;
use punctual_recording::Distribution;
use serde::Serialize;

/// How many points a picture shows per decade of latency; closer ones are drawn as one.
const POINTS_IN_DECADE: f64 = 100.0;

/// Lines over a logarithmic axis of times and an axis of shares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Curve {
    /// The subject that is counted.
    pub of: Subject,
    /// The lines, in the order of their legend.
    pub lines: Vec<CurveLine>,
    /// Latencies that mean something, such as a device's slack.
    pub marks: Vec<Mark>,
    /// The axis's smallest and largest latency, ns; pictures that are to be compared have the same.
    pub latency_ns: [u64; 2],
    /// The axis of shares ends at one in this many, if it is logarithmic.
    pub most: u64,
    /// Whether the picture is one of several beside one another.
    pub small: bool,
}

/// One line: of all `count` values, `at_least[i]` were `ns[i]` or more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CurveLine {
    /// Its name in the legend.
    pub name: String,
    /// Its colour and dash: the same number on all pictures of a page for the same thing.
    pub style: usize,
    /// How many values there were.
    pub count: u64,
    /// Ascending latencies, ns; the first is the shortest and the last the longest.
    pub ns: Vec<u64>,
    /// How many values were at least as long.
    pub at_least: Vec<u64>,
}

/// A latency that means something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Where it is, ns.
    pub ns: u64,
    /// What it is.
    pub name: String,
}

/// The line of a distribution. Every point is one of its buckets, with the exact count of values there and above; among
/// buckets closer together than a hundredth of a decade, the first is kept.
pub fn survival(name: &str, style: usize, distribution: &Distribution) -> CurveLine {
    let mut line = CurveLine { name: name.to_owned(), style, count: distribution.count(), ..CurveLine::default() };
    let (Some(min), Some(max)) = (distribution.min(), distribution.max()) else { return line };
    let mut left = distribution.count();
    let mut cell_before = None;
    let mut buckets = distribution.buckets().peekable();
    while let Some((value, count)) = buckets.next() {
        let last = buckets.peek().is_none();
        // A bucket's value stands for a range of a thousandth: the extremes are known exactly.
        let value = if line.ns.is_empty() {
            min
        } else if last {
            max
        } else {
            value
        };
        let cell = ((value.max(1) as f64).log10() * POINTS_IN_DECADE) as u64;
        if cell_before != Some(cell) || last {
            if line.ns.last() == Some(&value) {
                line.ns.pop();
                line.at_least.pop();
            }
            line.ns.push(value);
            line.at_least.push(left);
        }
        cell_before = Some(cell);
        left -= count;
    }
    // If all values are in one bucket, the line needs its end.
    if line.ns.last() != Some(&max) {
        line.ns.push(max);
        line.at_least.push(1);
    }
    line
}

impl Curve {
    /// A picture of these lines whose axes hold all of `context`.
    pub fn of(lines: Vec<CurveLine>, context: &[CurveLine]) -> Curve {
        let low = context.iter().filter_map(|line| line.ns.first()).min();
        let high = context.iter().filter_map(|line| line.ns.last()).max();
        Curve {
            of: Subject::Wakeups,
            lines,
            marks: Vec::new(),
            latency_ns: [low.copied().unwrap_or(1_000), high.copied().unwrap_or(1_000_000)],
            most: context.iter().map(|line| line.count).max().unwrap_or(1).max(1),
            small: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_point_counts_what_is_there(values in prop::collection::vec(1..100_000_000u64, 1..400)) {
            let mut distribution = Distribution::new();
            values.iter().for_each(|&value| distribution.record(value));
            let line = survival("a", 0, &distribution);
            prop_assert_eq!(line.count, values.len() as u64);
            prop_assert_eq!(line.ns.first(), values.iter().min());
            prop_assert_eq!(line.ns.last(), values.iter().max());
            prop_assert_eq!(line.at_least[0], line.count);
            prop_assert!(line.ns.is_sorted() && line.at_least.is_sorted_by(|a, b| a >= b));
            for (&ns, &at_least) in line.ns.iter().zip(&line.at_least) {
                let certainly = values.iter().filter(|&&value| value as f64 > ns as f64 * 1.001).count() as u64;
                let possibly = values.iter().filter(|&&value| value as f64 >= ns as f64 * 0.999).count() as u64;
                prop_assert!((certainly.max(1)..=possibly).contains(&at_least), "{ns}: {at_least}");
            }
        }
    }

    #[test]
    fn a_long_recording_has_few_points() {
        let mut distribution = Distribution::new();
        (1..2_000_000u64).for_each(|value| distribution.record(value * 37));
        let line = survival("a", 0, &distribution);
        assert!(line.ns.len() < 800, "{}", line.ns.len());
        assert_eq!(line.at_least.len(), line.ns.len());
    }

    #[test]
    fn nothing_measured_is_no_line() {
        assert_eq!(survival("a", 0, &Distribution::new()).ns, Vec::<u64>::new());
    }
}
