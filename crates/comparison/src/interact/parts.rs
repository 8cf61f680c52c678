//! Where both sides spent the time of a figure's inputs.

use crate::ratio::CONFIDENCE;
use crate::student::student_quantile;
use punctual_recording::{Awaited, InteractionPart};
use std::collections::{BTreeMap, BTreeSet};

/// How many causes are listed separately; the others count together.
const MAX_ROWS: usize = 24;
/// How many causes of a figure's inputs a run keeps separately.
const MAX_CAUSES: usize = 256;
/// A name is kept up to this length, characters: a forged recording may have names of any length.
const MAX_NAME: usize = 200;

/// Why time passed, and who had it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// Why, as `punctual why` names it.
    pub kind: String,
    /// Who.
    pub name: String,
    /// Who was waited for, if that was not seen.
    pub not_seen: Option<Awaited>,
}

/// Where the time of the inputs near one figure of one run went.
#[derive(Debug, Clone, Default)]
pub(crate) struct Split {
    /// Inputs that have parts.
    pub(super) inputs: u64,
    /// Their latencies, ns.
    pub(super) latency_ns: u64,
    /// The time that all of them spent on each cause, ns.
    pub(super) by_cause: BTreeMap<Cause, u64>,
}

impl Split {
    pub(super) fn take(&mut self, part: &InteractionPart) {
        // It is chance which of the kernel's workers it was.
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

/// Where the time of both sides' inputs near a figure went: means over their inputs, all runs weighing the same, ns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    /// How many inputs of A and of B the means cover.
    pub inputs: [u64; 2],
    /// The time of these inputs on A and on B, which is exactly the sum of all rows and of the rest.
    pub mean_ns: [i64; 2],
    /// The causes whose amounts differ most between the sides, the most different first.
    pub rows: Vec<PartDifference>,
    /// Everything else.
    pub rest_ns: [i64; 2],
    /// The same by kind alone, over all causes.
    pub kinds: Vec<KindDifference>,
}

/// One cause on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct PartDifference {
    /// The cause.
    pub cause: Cause,
    /// How much of an input it took on A and on B, mean, ns.
    pub ns: [i64; 2],
    /// The limits of B less A with 95 % probability, by how the runs differ, ns; `None` if a side has one run, which
    /// does not show that.
    pub limits_ns: Option<[i64; 2]>,
}

/// All causes of a kind on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct KindDifference {
    /// The kind.
    pub kind: String,
    /// As in [`PartDifference`].
    pub ns: [i64; 2],
    /// As in [`PartDifference`].
    pub limits_ns: Option<[i64; 2]>,
}

/// A cause that clearly makes up a good share of a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClearCause<'a> {
    /// Why.
    pub kind: &'a str,
    /// Who, if one has at least two thirds of what the kind makes up; `None` if several share it.
    pub one: Option<&'a Cause>,
    /// How much more of exactly that there is on B, ns.
    pub ns: i64,
}

impl PartDifference {
    /// How much more of it there is in an input on B, ns.
    pub fn more_ns(&self) -> i64 {
        more(self.ns)
    }
}

fn more([a, b]: [i64; 2]) -> i64 {
    b.saturating_sub(a)
}

/// The time that each run of both sides spent on something, ns per input.
struct OfRuns([Vec<f64>; 2]);

impl OfRuns {
    fn new(sides: [&[&Split]; 2], value: impl Fn(&Split) -> u64) -> OfRuns {
        OfRuns(sides.map(|side| side.iter().map(|split| value(split) as f64 / split.inputs as f64).collect()))
    }

    fn means(&self) -> [f64; 2] {
        [0, 1].map(|side| self.0[side].iter().sum::<f64>() / self.0[side].len() as f64)
    }

    fn mean_ns(&self) -> [i64; 2] {
        self.means().map(|mean| mean.round() as i64)
    }

    /// The limits of B less A by Welch's t, which allows the sides different spreads: what only one side waits for
    /// spreads only there.
    fn limits_ns(&self) -> Option<[i64; 2]> {
        let means = self.means();
        let errors = [0, 1].map(|side| {
            let runs = &self.0[side];
            let squares: f64 = runs.iter().map(|value| (value - means[side]).powi(2)).sum();
            (runs.len() > 1).then(|| (squares / (runs.len() - 1) as f64 / runs.len() as f64, (runs.len() - 1) as f64))
        });
        let [(a, degrees_a), (b, degrees_b)] = [errors[0]?, errors[1]?];
        let (difference, squared) = (means[1] - means[0], a + b);
        let reach = if squared > 0.0 {
            let degrees = squared * squared / (a * a / degrees_a + b * b / degrees_b);
            student_quantile(degrees, 1.0 - CONFIDENCE) * squared.sqrt()
        } else {
            0.0
        };
        Some([(difference - reach).round() as i64, (difference + reach).round() as i64])
    }
}

impl Parts {
    /// How much longer these inputs took on B, ns.
    pub fn more_ns(&self) -> i64 {
        more(self.mean_ns)
    }

    /// At most this many rows, and everything else: together they make up the time of the inputs.
    pub fn largest(&self, count: usize) -> (&[PartDifference], [i64; 2]) {
        let rows = &self.rows[..self.rows.len().min(count)];
        let told = |side: usize| rows.iter().fold(0i64, |sum, row| sum.saturating_add(row.ns[side]));
        (rows, [0, 1].map(|side| self.mean_ns[side].saturating_sub(told(side))))
    }

    /// `None` if a run has no such input whose time was split.
    pub(super) fn of(a: &[&Split], b: &[&Split]) -> Option<Parts> {
        let sides = [a, b];
        if sides.iter().any(|side| side.is_empty() || side.iter().any(|split| split.inputs == 0)) {
            return None;
        }
        let causes: BTreeSet<&Cause> = a.iter().chain(b).flat_map(|split| split.by_cause.keys()).collect();
        let mut rows: Vec<PartDifference> = causes
            .iter()
            .map(|cause| {
                let runs = OfRuns::new(sides, |split| split.by_cause.get(*cause).copied().unwrap_or(0));
                PartDifference { cause: (*cause).clone(), ns: runs.mean_ns(), limits_ns: runs.limits_ns() }
            })
            .collect();
        // Among equally different ones, the larger come first.
        let unlike = |row: &PartDifference| (row.more_ns().unsigned_abs(), row.ns[0].saturating_add(row.ns[1]));
        rows.sort_by_key(|row| std::cmp::Reverse(unlike(row)));
        rows.truncate(MAX_ROWS);
        let names: BTreeSet<&str> = causes.iter().map(|cause| cause.kind.as_str()).collect();
        let of_kind = |split: &Split, kind: &str| {
            let own = split.by_cause.iter().filter(|(cause, _)| cause.kind == kind);
            own.fold(0, |sum: u64, (_, ns)| sum.saturating_add(*ns))
        };
        let difference = |kind: &&str| {
            let runs = OfRuns::new(sides, |split| of_kind(split, kind));
            KindDifference { kind: (*kind).to_owned(), ns: runs.mean_ns(), limits_ns: runs.limits_ns() }
        };
        let mut kinds: Vec<KindDifference> = names.iter().map(difference).collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(more(kind.ns).unsigned_abs()));
        let mean_ns = OfRuns::new(sides, |split| split.latency_ns).mean_ns();
        let inputs = sides.map(|side| side.iter().map(|split| split.inputs).sum());
        let mut parts = Parts { inputs, mean_ns, rows, rest_ns: [0; 2], kinds };
        parts.rest_ns = parts.largest(MAX_ROWS).1;
        Some(parts)
    }

    /// What makes up at least this share of the difference, in its direction, with limits that exclude zero, the
    /// largest first. For each kind that is the one cause that makes up at least two thirds of it, if there is one,
    /// with its own amount; otherwise all causes of the kind.
    pub fn clear(&self, share: f64) -> Vec<ClearCause<'_>> {
        let whole = self.more_ns();
        let along = |ns: i64| ns.saturating_mul(whole.signum());
        let is_much = |ns: i64| whole != 0 && along(ns) as f64 >= share * along(whole) as f64;
        let is_clear = |limits: Option<[i64; 2]>| limits.is_some_and(|[low, high]| low > 0 || high < 0);
        let told = |kind: &'_ KindDifference| {
            let own = self.rows.iter().filter(|row| row.cause.kind == kind.kind);
            let one = own.max_by_key(|row| along(row.more_ns()));
            let one =
                one.filter(|row| along(row.more_ns()).saturating_mul(3) >= along(more(kind.ns)).saturating_mul(2));
            one.map_or((more(kind.ns), kind.limits_ns, None), |one| (one.more_ns(), one.limits_ns, Some(&one.cause)))
        };
        let mut found: Vec<ClearCause<'_>> = (self.kinds.iter().map(|kind| (kind, told(kind))))
            .filter(|(_, (ns, limits, _))| is_much(*ns) && is_clear(*limits))
            .map(|(kind, (ns, _, one))| ClearCause { kind: &kind.kind, one, ns })
            .collect();
        found.sort_by_key(|cause| std::cmp::Reverse(along(cause.ns)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run's inputs that spent this much on each of these, ns.
    fn split(spent: &[(&str, &str, Option<Awaited>, u64)]) -> Split {
        let mut split = Split { inputs: 1, latency_ns: spent.iter().map(|(.., ns)| ns).sum(), ..Split::default() };
        for &(kind, name, not_seen, ns) in spent {
            let (kind, name) = (kind.to_owned(), name.to_owned());
            split.take(&InteractionPart { kind, name, not_seen, ns, ..InteractionPart::default() });
        }
        split
    }

    fn parts(a: &[Split], b: &[Split]) -> Parts {
        let [a, b] = [a, b].map(|side| side.iter().collect::<Vec<_>>());
        Parts::of(&a, &b).unwrap()
    }

    #[test]
    fn a_name_has_its_own_amount_and_no_other_part() {
        let run = |more: u64| {
            split(&[("wait", "kworker/0:1", None, 5_000 + more), ("wait", "ender not seen", Some(Awaited::Ender), 800)])
        };
        let found = parts(&[split(&[]), split(&[]), split(&[])], &[run(0), run(10), run(20)]);
        let clear = found.clear(0.25);
        assert_eq!(clear.len(), 1, "{clear:?}");
        assert_eq!((clear[0].one.unwrap().name.as_str(), clear[0].ns), ("kworker", 5_010));
        let row = found.rows.iter().find(|row| row.cause.name == "kworker").unwrap();
        assert_eq!(row.more_ns(), clear[0].ns);
        // If none has most of a kind, the kind itself is named, with all of it.
        let both = || split(&[("io", "vda", None, 500), ("io", "vdb", None, 600)]);
        let found = parts(&[split(&[]), split(&[]), split(&[])], &[both(), both(), both()]);
        assert_eq!(found.clear(0.25), [ClearCause { kind: "io", one: None, ns: 1_100 }]);
    }

    #[test]
    fn what_the_runs_do_not_agree_on_is_not_told() {
        let none = || split(&[("own", "editor", None, 100)]);
        let run = |disk: u64, lock: u64| {
            split(&[("own", "editor", None, 100), ("io", "vda", None, disk), ("lock", "x", None, lock)])
        };
        // The lock makes up half of the difference, but in only one run of three.
        let found = parts(&[none(), none(), none()], &[run(1_000, 0), run(1_010, 3_000), run(990, 0)]);
        let told: Vec<&str> = found.clear(0.25).iter().map(|cause| cause.kind).collect();
        assert_eq!(told, ["io"]);
        // One run a side shows nothing of what runs agree on.
        assert!(parts(&[none()], &[run(1_000, 0)]).clear(0.25).is_empty());
        // A share that is too small is not reported either, however clear.
        let found = parts(&[none(), none()], &[run(1_000, 200), run(1_000, 200)]);
        assert_eq!(found.clear(0.25).len(), 1);
        assert_eq!(found.rows[0].limits_ns, Some([1_000, 1_000]));
    }
}
