//! Events counted in equal blocks of the recording, from many short ones to few long ones.

/// The most blocks, and the shortest.
pub(super) const MAX_BLOCKS: usize = 4_096;
/// The fewest.
const MIN_BLOCKS: usize = 8;

/// Counts in 4,096 blocks, in 2,048 and so on, down to 8.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    by_length: Vec<Vec<f64>>,
    /// How many events there are.
    pub(super) events: f64,
}

impl Counts {
    /// Counts events (when each was, ns) in an exposure, ns.
    pub(super) fn of(times: &[u64], exposure: f64) -> Counts {
        let mut counts = vec![0.0f64; MAX_BLOCKS];
        for &at in times {
            counts[((at as f64 / exposure * MAX_BLOCKS as f64) as usize).min(MAX_BLOCKS - 1)] += 1.0;
        }
        let longer = |shorter: &Vec<f64>| {
            (shorter.len() > MIN_BLOCKS)
                .then(|| shorter.as_chunks::<2>().0.iter().map(|pair| pair[0] + pair[1]).collect())
        };
        Counts { by_length: std::iter::successors(Some(counts), longer).collect(), events: times.len() as f64 }
    }

    /// The counts in this many blocks, a power of two.
    pub(super) fn in_blocks(&self, blocks: usize) -> &[f64] {
        self.by_length.iter().find(|counts| counts.len() <= blocks).map_or(&[], Vec::as_slice)
    }

    /// From the fewest wanted blocks to the most that have two events each on average.
    pub(super) fn from(&self, fewest: usize) -> impl Iterator<Item = &[f64]> {
        let own = self.by_length.iter().rev().map(Vec::as_slice);
        own.filter(move |counts| counts.len() >= fewest && self.events >= 2.0 * counts.len() as f64)
    }
}

/// The variance of counts over their mean, less 1.
pub(super) fn excess(counts: &[f64]) -> f64 {
    let blocks = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / blocks;
    counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / mean / (blocks - 1.0) - 1.0
}
