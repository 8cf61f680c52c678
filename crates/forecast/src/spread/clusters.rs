//! How few clusters make what varies, and how large the rarest are: how much the recording's own events can carry.

use super::counts::{Counts, excess};
use super::course::SHOWS;
use crate::special::chi_squared_q;

/// The fewest blocks for which it can be said how many of them make what varies.
const MIN_BLOCKS: usize = 128;

/// How many clusters make what varies. From counts in ever shorter blocks, as far as there are events: the square of
/// the sum of what each adds to the excess over the sum of their squares, less what independent events would add to
/// both. This is the number of clusters if they are alike, a sixth of it if their sizes are exponential, and near one
/// if a single cluster outweighs the rest. The result is the least over all lengths; `None` where counts vary by
/// accident.
pub(super) fn carriers(counts: &Counts) -> Option<f64> {
    let of = |counts: &[f64]| {
        let blocks = counts.len() as f64;
        let degrees = blocks - 1.0;
        let shows = chi_squared_q(degrees, degrees * (excess(counts) + 1.0)) < SHOWS;
        let mean = counts.iter().sum::<f64>() / blocks;
        let added = counts.iter().map(|count| (count - mean).powi(2) - count);
        let (sum, squares) = added.fold((0.0, 0.0), |sums, own| (sums.0 + own, sums.1 + own * own));
        // Under a Poisson law, the addition has a mean of nothing and a variance of 2 mean^2.
        let own_squares = (squares - 2.0 * mean * mean * blocks).max(sum * sum / blocks);
        shows.then(|| sum * sum / own_squares)
    };
    counts.from(MIN_BLOCKS).filter_map(of).reduce(f64::min)
}

/// How large the clusters are, by the number of events above a level: a constant and a power of that number, fitted to
/// several levels. If each stall of a storm is large or small by itself, half as many events come in clusters of half
/// the size; if a whole storm is large or small, they come in clusters as large as before. At the level of the rarest
/// there are few clusters, and if these are small by chance, so is the count: more frequent events tell more, and the
/// fit allows for how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sizes {
    /// The fewest and the most events for which the size is known.
    told: (f64, f64),
    /// How many come with one event.
    fit: Option<Fit>,
    /// The factor by which all clusters are taken to be larger.
    times: f64,
    /// Whether clusters of the rarest events are taken to be no smaller than those in the middle of the fit.
    stays: bool,
}

/// The logarithm of how many come with one event, as a line over the logarithm of how many there are: in the middle of
/// all clusters that it was fitted to, and how many these are.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fit {
    middle: (f64, f64),
    power: f64,
    clusters: f64,
    /// How far from the middle they lie: the sum of squares.
    across: f64,
}

/// The variance of the logarithm of the mean size of an event's own cluster that one cluster tells, if sizes are
/// exponential.
const OF_ONE: f64 = 2.0;

impl Fit {
    /// One standard error above the line.
    fn at(&self, x: f64) -> f64 {
        let from = x - self.middle.0;
        let variance = OF_ONE * (1.0 / self.clusters + if self.across > 0.0 { from * from / self.across } else { 0.0 });
        (self.middle.1 + self.power * from + variance.sqrt()).exp()
    }
}

impl Sizes {
    /// Events come singly.
    pub(super) const SINGLE: Sizes = Sizes { told: (1.0, 1.0), fit: None, times: 1.0, stays: false };

    /// Fits the line to (how many events, the size of their clusters), fewest events first. `by_few`: few clusters make
    /// what varies. The largest of them, which are those that rare events come in (the longest busy periods of a queue),
    /// are then mostly not among those seen, and clusters seem to shrink from level to level although they do not.
    pub(super) fn of(told: &[(f64, f64)], times: f64, by_few: bool) -> Sizes {
        let (Some(first), Some(last)) = (told.first(), told.last()) else { return Sizes { times, ..Sizes::SINGLE } };
        // Weighted by the number of clusters: a weight, x and y.
        let points: Vec<(f64, f64, f64)> = told
            .iter()
            .filter(|(_, size)| *size > 1.0)
            .map(|(events, size)| (events / size, events.ln(), (size - 1.0).ln()))
            .collect();
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(|point| point.0 * of(point)).sum::<f64>();
        let weight = sum(&|_| 1.0);
        let (x, y) = (sum(&|point| point.1) / weight, sum(&|point| point.2) / weight);
        let across = sum(&|point| (point.1 - x).powi(2));
        let power = if across > 0.0 { sum(&|point| (point.1 - x) * (point.2 - y)) / across } else { 0.0 };
        let fit = Fit { middle: (x, y), power: power.clamp(0.0, 1.0), clusters: weight, across };
        Sizes { told: (first.0, last.0), fit: (weight > 0.0).then_some(fit), times, stays: by_few }
    }

    /// The size of an event's cluster among this many events: never less than among fewer, although those are known
    /// less well.
    pub(super) fn at(&self, count: f64) -> f64 {
        let (events, fewest) = (count.clamp(self.told.0, self.told.1).ln(), self.told.0.ln());
        let of = |fit: Fit| {
            let least = if self.stays { fit.at(fit.middle.0) } else { 0.0 };
            fit.at(events).max(fit.at(fewest)).max(least)
        };
        self.times * (1.0 + self.fit.map_or(0.0, of))
    }
}

/// How large the clusters of events are that are no further apart than `gap`, ns: the mean size of an event's own
/// cluster.
pub(super) fn cluster(times: &[u64], gap: f64) -> f64 {
    let sizes =
        times.chunk_by(|before, after| after.abs_diff(*before) as f64 <= gap).map(|cluster| cluster.len() as f64);
    sizes.map(|size| size * size).sum::<f64>() / (times.len() as f64).max(1.0)
}
