//! Sweeps: the same question at every point of a grid, in any order, on any machine, with the same result.

use crate::error::{Error, Result};
use crate::parallel;

/// No sweep has more points.
pub const MAX_POINTS: u64 = 1_000_000;

/// One direction of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// What is varied.
    pub name: String,
    /// Its values, in order.
    pub values: Vec<i64>,
}

impl Axis {
    /// Reads `period=4..20`, `period=4..20:2` or `period=4,8,16`. Ranges include their end.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn parse(text: &str) -> Result<Axis> {
        let wrong = |what: &str| Error::Sweep(format!("--sweep {text}: {what}"));
        let (name, values) = text.split_once('=').ok_or_else(|| wrong("write it as name=4..20 or name=4,8,16"))?;
        let number =
            |part: &str| part.trim().parse::<i64>().map_err(|_| wrong(&format!("{part:?} is no whole number")));
        let values = if let Some((from, to)) = values.split_once("..") {
            let (to, step) = to.split_once(':').unwrap_or((to, "1"));
            let (from, to, step) = (number(from)?, number(to)?, number(step)?);
            if step < 1 || to < from {
                return Err(wrong("the range is empty"));
            }
            if to.abs_diff(from) / step.unsigned_abs() >= MAX_POINTS {
                return Err(wrong(&format!("more than {MAX_POINTS} points")));
            }
            (from..=to).step_by(usize::try_from(step).map_err(|_| wrong("the step is too long"))?).collect()
        } else {
            values.split(',').map(number).collect::<Result<Vec<i64>>>()?
        };
        Ok(Axis { name: name.trim().to_owned(), values })
    }
}

/// Which part of the points is to be computed: every `of`-th, from `index` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u64,
    /// How many shards there are.
    pub of: u64,
}

impl Shard {
    /// All points.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// Reads `1/4`: the first of four.
    ///
    /// # Errors
    /// A line that says what is wrong.
    pub fn parse(text: &str) -> Result<Shard> {
        let wrong = || Error::Sweep(format!("--shard {text}: write it as 1/4, the first of four"));
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let (index, of): (u64, u64) = (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if index == 0 || index > of {
            return Err(wrong());
        }
        Ok(Shard { index: index - 1, of })
    }
}

/// A grid of points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    axes: Vec<Axis>,
}

impl Sweep {
    /// A grid over these axes; without any it has one point.
    ///
    /// # Errors
    /// More than [`MAX_POINTS`] points, or the same axis twice.
    pub fn new(axes: Vec<Axis>) -> Result<Sweep> {
        let points = axes.iter().try_fold(1u64, |points, axis| points.checked_mul(axis.values.len() as u64));
        if points.is_none_or(|points| points > MAX_POINTS) {
            let points = axes.iter().map(|axis| axis.values.len().to_string()).collect::<Vec<_>>().join(" * ");
            return Err(Error::Sweep(format!("{points} points are too many: at most {MAX_POINTS}")));
        }
        for (index, axis) in axes.iter().enumerate() {
            if axes[..index].iter().any(|earlier| earlier.name == axis.name) {
                return Err(Error::Sweep(format!("{:?} is swept twice", axis.name)));
            }
        }
        Ok(Sweep { axes })
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// How many points there are.
    pub fn points(&self) -> u64 {
        self.axes.iter().map(|axis| axis.values.len() as u64).product()
    }

    /// The values at a point: the last axis varies fastest.
    pub fn values(&self, point: u64) -> Vec<i64> {
        let mut rest = point;
        let mut values: Vec<i64> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let length = axis.values.len() as u64;
                let value = axis.values[(rest % length) as usize];
                rest /= length;
                value
            })
            .collect();
        values.reverse();
        values
    }

    /// The points of a shard, without those already `done`, in order.
    pub fn of_shard(&self, shard: Shard, done: &[u64]) -> Vec<u64> {
        let own = (shard.index..self.points()).step_by(usize::try_from(shard.of).unwrap_or(usize::MAX));
        own.filter(|point| !done.contains(point)).collect()
    }

    /// Computes these points on up to `threads` threads: pairs of point and result, in the order of `points`.
    /// `work` is given the point's values and must depend on nothing else; then neither does the result depend on
    /// shards or threads.
    pub fn run<T: Send>(&self, points: &[u64], threads: usize, work: impl Fn(&[i64]) -> T + Sync) -> Vec<(u64, T)> {
        parallel::map(points.len(), threads, |index| (points[index], work(&self.values(points[index]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shards_and_threads_change_nothing(lengths in prop::collection::vec(1..6usize, 1..4), of in 1..5u64, threads in 1..4usize) {
            let axes = lengths.iter().enumerate().map(|(index, &length)| Axis {
                name: index.to_string(), values: (0..length as i64).collect(),
            }).collect();
            let sweep = Sweep::new(axes).unwrap();
            let all: Vec<u64> = (0..sweep.points()).collect();
            let whole = sweep.run(&all, 1, |values| values.to_vec());
            let mut parts = Vec::new();
            for index in 0..of {
                parts.extend(sweep.run(&sweep.of_shard(Shard { index, of }, &[]), threads, |values| values.to_vec()));
            }
            parts.sort();
            prop_assert_eq!(whole, parts);
        }
    }

    #[test]
    fn axes_are_read_and_nonsense_is_refused() {
        assert_eq!(Axis::parse("period=4..20:8").unwrap().values, [4, 12, 20]);
        assert_eq!(Axis::parse("p=1,5").unwrap().values, [1, 5]);
        for text in ["period", "p=", "p=a..b", "p=5..1", "p=1..9:0", "p=0..1000000000"] {
            assert!(!Axis::parse(text).unwrap_err().to_string().contains('\n'), "{text}");
        }
        let big = |name: &str| Axis::parse(&format!("{name}=1..1000")).unwrap();
        let error = Sweep::new(vec![big("a"), big("b"), big("c")]).unwrap_err().to_string();
        assert!(error.contains("1000 * 1000 * 1000 points are too many"), "{error}");
        assert_eq!(Shard::parse("2/4").unwrap(), Shard { index: 1, of: 4 });
        for text in ["0/4", "5/4", "x", "1"] {
            assert!(Shard::parse(text).is_err());
        }
    }
}
