//! How few clusters make what varies, and how large the rarest are: what the recording's own events can carry.

use super::counts::{Counts, excess};
use super::course::SHOWS;
use crate::special::chi_squared_q;

/// The fewest blocks of which it is told how many of them make what varies.
const FEWEST: usize = 128;

/// How many clusters make what varies: of counts in ever shorter blocks, as far as there are events, the square of the sum of what each
/// adds to the excess over the sum of their squares, less what independent events would add to both. It is the number of clusters where
/// these are alike, a sixth of it where their sizes are exponential, and near one where a single one outweighs the rest. The least over
/// all lengths; `None` where counts vary by accident.
pub(super) fn carriers(counts: &Counts) -> Option<f64> {
    let of = |counts: &[f64]| {
        let blocks = counts.len() as f64;
        let degrees = blocks - 1.0;
        let shows = chi_squared_q(degrees, degrees * (excess(counts) + 1.0)) < SHOWS;
        let mean = counts.iter().sum::<f64>() / blocks;
        let added = counts.iter().map(|count| (count - mean).powi(2) - count);
        let (sum, squares) = added.fold((0.0, 0.0), |sums, own| (sums.0 + own, sums.1 + own * own));
        // Of a Poisson law, what is added has a mean of nothing and a variance of 2 mean^2.
        let own_squares = (squares - 2.0 * mean * mean * blocks).max(sum * sum / blocks);
        shows.then(|| sum * sum / own_squares)
    };
    counts.from(FEWEST).filter_map(of).reduce(f64::min)
}

/// How large the clusters are in which events come that are no further apart than `gap`, ns: of an event, the mean size of its own.
pub(super) fn cluster(times: &[u64], gap: f64) -> f64 {
    let sizes =
        times.chunk_by(|before, after| after.abs_diff(*before) as f64 <= gap).map(|cluster| cluster.len() as f64);
    sizes.map(|size| size * size).sum::<f64>() / (times.len() as f64).max(1.0)
}
