//! How many inputs took how long, in ranges of latency, and how much of the waiting they make up: the paper's histograms
//! and curves of cumulative latency (V).

use super::model::InteractReport;
use crate::encode::html::{Bars, Block, Drawing, Subject};
use crate::layout::{as_fine_percent, table};
use punctual_recording::{format_ns, grouped};
use serde::Serialize;
use std::fmt::Write as _;

/// So many kinds are counted apart on a page; the others are together.
const KINDS: usize = 12;
/// The longest bar of the text, characters.
const BAR: u64 = 30;

/// A range of latency: from the lower bound on, up to the upper one, which belongs to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    from_ns: u64,
    to_ns: u64,
    /// How many inputs of each kind, in the order of the kinds.
    kinds: Vec<u64>,
    /// How long they were waited for, together, ns.
    waited_ns: u64,
}

impl Range {
    fn inputs(&self) -> u64 {
        self.kinds.iter().sum()
    }
}

/// The bounds of the range in which a latency lies: 1, 2 and 5 of each decade, and 0.
fn bounds_of(latency_ns: u64) -> (u64, u64) {
    let decades = std::iter::successors(Some(1_u64), |decade| decade.checked_mul(10));
    let mut bounds = decades.flat_map(|decade| [1, 2, 5].map(|factor| decade.saturating_mul(factor)));
    let mut from_ns = 0;
    let to_ns = bounds.find(|bound| {
        let is_beyond = *bound > latency_ns;
        from_ns = if is_beyond { from_ns } else { *bound };
        is_beyond
    });
    (from_ns, to_ns.unwrap_or(u64::MAX))
}

/// Ranges without a hole from the shortest latency to the longest, of latencies with the number of their kind.
fn ranges(kinds: usize, latencies: impl Iterator<Item = (usize, u64)>) -> Vec<Range> {
    let mut all: Vec<(usize, u64)> = latencies.collect();
    all.sort_unstable_by_key(|(_, latency)| *latency);
    let mut found: Vec<Range> = Vec::new();
    for (kind, latency) in all {
        loop {
            let next = match found.last() {
                Some(last) if latency < last.to_ns => break,
                Some(last) => bounds_of(last.to_ns),
                None => bounds_of(latency),
            };
            found.push(Range { from_ns: next.0, to_ns: next.1, kinds: vec![0; kinds], waited_ns: 0 });
            if next.1 == u64::MAX {
                break;
            }
        }
        if let Some(range) = found.last_mut() {
            range.kinds[kind] += 1;
            range.waited_ns = range.waited_ns.saturating_add(latency);
        }
    }
    found
}

impl InteractReport<'_> {
    /// All that was typed and seen, by latency.
    pub(super) fn histogram(&self) -> Vec<Range> {
        let place = |name: &str| self.kinds.iter().position(|kind| kind.kind == name);
        let seen = self.typed().filter_map(|input| Some((place(&input.kind)?, input.latency_ns()?)));
        ranges(self.kinds.len(), seen)
    }
}

/// The histogram as text, and the share of all waiting that is in inputs up to each length.
pub(super) fn histogram(text: &mut String, report: &InteractReport<'_>) {
    let ranges = report.histogram();
    let all: u64 = ranges.iter().map(|range| range.waited_ns).sum();
    let most = ranges.iter().map(Range::inputs).max().unwrap_or(0);
    if ranges.is_empty() || all == 0 {
        return;
    }
    let mut up_to_here = 0_u64;
    let rows = ranges.iter().map(|range| {
        up_to_here = up_to_here.saturating_add(range.waited_ns);
        let bar = (range.inputs() * BAR).div_ceil(most.max(1)) as usize;
        vec![
            format!("{} to {}", format_ns(range.from_ns), format_ns(range.to_ns)),
            grouped(range.inputs()),
            if range.inputs() == 0 { "-".to_owned() } else { as_fine_percent(range.waited_ns, all) },
            as_fine_percent(up_to_here, all),
            "#".repeat(bar),
        ]
    });
    let header = ["from input to seen", "inputs", "of all waiting", "up to here", ""];
    let rows: Vec<Vec<String>> = rows.collect();
    let _ = writeln!(text, "\n{}", table(&header, 1..4, rows));
}

/// The same as a picture.
pub(super) fn histogram_block(report: &InteractReport<'_>) -> Option<Block> {
    let ranges = report.histogram();
    let bounds: Vec<u64> =
        ranges.iter().map(|range| range.from_ns).chain(ranges.last().map(|last| last.to_ns)).collect();
    let is_met = |kind: &usize| ranges.iter().any(|range| range.kinds[*kind] > 0);
    let met: Vec<usize> = (0..report.kinds.len()).filter(is_met).collect();
    let (named, others) = met.split_at(met.len().min(KINDS));
    let of = |kinds: &[usize]| -> Vec<u64> {
        ranges.iter().map(|range| kinds.iter().map(|kind| range.kinds[*kind]).sum()).collect()
    };
    let mut names: Vec<String> = named.iter().map(|kind| report.kinds[*kind].kind.clone()).collect();
    let mut counts: Vec<Vec<u64>> = named.iter().map(|kind| of(&[*kind])).collect();
    if !others.is_empty() {
        names.push("other kinds".to_owned());
        counts.push(of(others));
    }
    (!ranges.is_empty()).then(|| {
        Block::picture(
            "latency-histogram",
            "Inputs by latency.",
            "How many inputs took that long, without the start and those that were not seen by themselves.",
            Drawing::Bars(Bars { of: Subject::Inputs, bounds_ns: bounds, names, counts }),
        )
    })
}

/// A range of latency, and the inputs in it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RangeRow<'a> {
    /// The shortest latency of the range.
    from_ns: u64,
    /// The longest belongs to the next range.
    to_ns: u64,
    inputs: u64,
    /// How long they were waited for, together.
    waited_ns: u64,
    /// How many inputs of each kind; kinds of which there are none are left out.
    kinds: Vec<RangeKindRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RangeKindRow<'a> {
    kind: &'a str,
    inputs: u64,
}

impl<'a> RangeRow<'a> {
    /// All ranges, the shortest first.
    pub(super) fn all(report: &'a InteractReport<'_>) -> Vec<RangeRow<'a>> {
        let row = |range: Range| {
            let kinds = report.kinds.iter().zip(&range.kinds).filter(|(_, inputs)| **inputs > 0);
            RangeRow {
                from_ns: range.from_ns,
                to_ns: range.to_ns,
                inputs: range.inputs(),
                waited_ns: range.waited_ns,
                kinds: kinds.map(|(kind, &inputs)| RangeKindRow { kind: &kind.kind, inputs }).collect(),
            }
        };
        report.histogram().into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds_are_round_and_each_latency_has_one_range() {
        for (latency, bounds) in [
            (0, (0, 1)),
            (1, (1, 2)),
            (199_999, (100_000, 200_000)),
            (200_000, (200_000, 500_000)),
            (999_999_999, (500_000_000, 1_000_000_000)),
            (u64::MAX - 1, (10_000_000_000_000_000_000, u64::MAX)),
        ] {
            assert_eq!(bounds_of(latency), bounds, "{latency}");
        }
    }

    #[test]
    fn ranges_have_no_hole_and_kinds_stay_apart() {
        let told: Vec<(u64, u64, u64)> = ranges(2, [(0, 150_000), (1, 1_200_000), (0, 150_001)].into_iter())
            .iter()
            .map(|range| (range.from_ns, range.kinds[0], range.kinds[1]))
            .collect();
        assert_eq!(told, [(100_000, 2, 0), (200_000, 0, 0), (500_000, 0, 0), (1_000_000, 0, 1)]);
        assert_eq!(ranges(1, [].into_iter()), []);
    }

    proptest! {
        /// Each latency is in one range, all waiting in one sum, and ranges follow one another.
        #[test]
        fn nothing_is_lost(latencies in prop::collection::vec((0..3usize, 0..10_000_000_000u64), 0..80)) {
            let found = ranges(3, latencies.iter().copied());
            prop_assert_eq!(found.iter().map(Range::inputs).sum::<u64>(), latencies.len() as u64);
            prop_assert_eq!(found.iter().map(|range| range.waited_ns).sum::<u64>(), latencies.iter().map(|(_, ns)| ns).sum::<u64>());
            prop_assert!(found.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
            for range in &found {
                let here = latencies.iter().filter(|(_, ns)| (range.from_ns..range.to_ns).contains(ns));
                prop_assert_eq!(here.count() as u64, range.inputs());
            }
            let ends = [found.first(), found.last()].into_iter().flatten();
            prop_assert!(ends.into_iter().all(|range| range.inputs() > 0));
        }
    }
}
