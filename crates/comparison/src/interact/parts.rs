//! What the time of a figure's inputs was spent on, on both sides.

use punctual_recording::{Awaited, InteractionPart};
use std::collections::{BTreeMap, BTreeSet};

/// Causes that are told by themselves; the others count together.
const MAX_ROWS: usize = 24;
/// Causes of a figure's inputs in a run that are kept by themselves.
const MAX_CAUSES: usize = 256;
/// A name is kept up to this length, characters: a recording that was forged has names of any.
const MAX_NAME: usize = 200;

/// Why time passed, and who had it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// Why, as `punctual why` names it.
    pub kind: String,
    /// Who.
    pub name: String,
    /// For whom was waited, where that one was not seen.
    pub not_seen: Option<Awaited>,
}

/// What the inputs near one figure of one run were spent on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Split {
    /// Inputs that have parts.
    pub(super) inputs: u64,
    /// Their latencies, ns.
    pub(super) latency_ns: u64,
    /// What all of them spent on each cause, ns.
    pub(super) by_cause: BTreeMap<Cause, u64>,
}

impl Split {
    pub(super) fn take(&mut self, part: &InteractionPart) {
        // Which of the kernel's workers it was is luck.
        let name =
            part.name.split_once('/').filter(|(name, _)| *name == "kworker").map_or(&*part.name, |(name, _)| name);
        let kept = |name: &str| name.chars().take(MAX_NAME).collect();
        let cause = Cause { kind: kept(&part.kind), name: kept(name), not_seen: part.not_seen };
        let has_room = self.by_cause.len() < MAX_CAUSES || self.by_cause.contains_key(&cause);
        let cause = if has_room { cause } else { Cause { name: "others".to_owned(), not_seen: None, ..cause } };
        let sum = self.by_cause.entry(cause).or_default();
        *sum = sum.saturating_add(part.ns);
    }
}

/// What both sides' inputs near a figure were spent on: means over their inputs, of each run alike, ns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    /// Inputs of A and of B that the means are of.
    pub inputs: [u64; 2],
    /// What these inputs took on A and on B, which is exactly the sum of all rows and of the rest.
    pub mean_ns: [i64; 2],
    /// The causes of which the sides have most unlike amounts, the most unlike first.
    pub rows: Vec<PartDifference>,
    /// Everything else.
    pub rest_ns: [i64; 2],
    /// The same by kind alone, of all causes.
    pub kinds: Vec<(String, [i64; 2])>,
}

/// One cause on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct PartDifference {
    /// The cause.
    pub cause: Cause,
    /// What it took of an input on A and on B, mean, ns.
    pub ns: [i64; 2],
}

impl PartDifference {
    /// How much more of it an input has on B, ns.
    pub fn more_ns(&self) -> i64 {
        more(self.ns)
    }
}

fn more([a, b]: [i64; 2]) -> i64 {
    b.saturating_sub(a)
}

impl Parts {
    /// How much longer these inputs took on B, ns.
    pub fn more_ns(&self) -> i64 {
        more(self.mean_ns)
    }

    /// So many of the rows at most, and everything else: together what the inputs took.
    pub fn largest(&self, count: usize) -> (&[PartDifference], [i64; 2]) {
        let rows = &self.rows[..self.rows.len().min(count)];
        let told = |side: usize| rows.iter().fold(0i64, |sum, row| sum.saturating_add(row.ns[side]));
        (rows, [0, 1].map(|side| self.mean_ns[side].saturating_sub(told(side))))
    }

    /// `None` where a run has no such input whose time was split.
    pub(super) fn of(a: &[&Split], b: &[&Split]) -> Option<Parts> {
        let sides = [a, b];
        if sides.iter().any(|side| side.is_empty() || side.iter().any(|split| split.inputs == 0)) {
            return None;
        }
        let mean = |value: &dyn Fn(&Split) -> u64| {
            sides.map(|side| {
                let each = side.iter().map(|split| value(split) as f64 / split.inputs as f64);
                (each.sum::<f64>() / side.len() as f64).round() as i64
            })
        };
        let causes: BTreeSet<&Cause> = a.iter().chain(b).flat_map(|split| split.by_cause.keys()).collect();
        let mut rows: Vec<PartDifference> = causes
            .iter()
            .map(|cause| {
                let ns = mean(&|split| split.by_cause.get(*cause).copied().unwrap_or(0));
                PartDifference { cause: (*cause).clone(), ns }
            })
            .collect();
        // Of as unlike ones those that are most go first.
        let unlike = |row: &PartDifference| (row.more_ns().unsigned_abs(), row.ns[0].saturating_add(row.ns[1]));
        rows.sort_by_key(|row| std::cmp::Reverse(unlike(row)));
        rows.truncate(MAX_ROWS);
        let names: BTreeSet<&str> = causes.iter().map(|cause| cause.kind.as_str()).collect();
        let of_kind = |split: &Split, kind: &str| {
            let own = split.by_cause.iter().filter(|(cause, _)| cause.kind == kind);
            own.fold(0, |sum: u64, (_, ns)| sum.saturating_add(*ns))
        };
        let mut kinds: Vec<(String, [i64; 2])> =
            names.iter().map(|kind| ((*kind).to_owned(), mean(&|split| of_kind(split, kind)))).collect();
        kinds.sort_by_key(|(_, ns)| std::cmp::Reverse(more(*ns).unsigned_abs()));
        let mean_ns = mean(&|split| split.latency_ns);
        let inputs = sides.map(|side| side.iter().map(|split| split.inputs).sum());
        let mut parts = Parts { inputs, mean_ns, rows, rest_ns: [0; 2], kinds };
        parts.rest_ns = parts.largest(MAX_ROWS).1;
        Some(parts)
    }

    /// The kinds of cause that make at least this share of the difference, in its direction: how much each makes, ns, the largest first;
    /// with it the one cause that is two thirds of that and more, where there is one.
    pub fn most(&self, share: f64) -> Vec<(&str, i64, Option<&PartDifference>)> {
        let whole = self.more_ns();
        let along = |ns: i64| ns.saturating_mul(whole.signum());
        let is_much = |ns: i64| whole != 0 && along(ns) as f64 >= share * along(whole) as f64;
        let mut found: Vec<(&str, i64, Option<&PartDifference>)> = (self.kinds.iter())
            .map(|(kind, ns)| (kind.as_str(), more(*ns)))
            .filter(|(_, ns)| is_much(*ns))
            .map(|(kind, ns)| {
                let own = self.rows.iter().filter(|row| row.cause.kind == kind);
                let one = own.max_by_key(|row| along(row.more_ns()));
                (kind, ns, one.filter(|row| along(row.more_ns()).saturating_mul(3) >= along(ns).saturating_mul(2)))
            })
            .collect();
        found.sort_by_key(|(_, ns, _)| std::cmp::Reverse(along(*ns)));
        found
    }
}
