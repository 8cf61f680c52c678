//! Which guests are booted, in which order.

use punctual_sim::sweep::Shard;

/// One guest: a system with a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Which of the systems.
    pub system: usize,
    /// What the guest's randomness begins with.
    pub seed: u32,
}

/// The cells of a shard. All systems of a seed are next to each other: whenever a run is ended, no system is more than
/// one run ahead of another.
pub fn cells(systems: usize, seeds: &[u32], shard: Shard) -> Vec<Cell> {
    let all = seeds.iter().flat_map(|&seed| (0..systems).map(move |system| Cell { system, seed }));
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    all.skip(number(shard.index)).step_by(number(shard.of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_the_cells_and_seeds_stand_together() {
        let whole = cells(3, &[1, 2, 5], Shard::WHOLE);
        assert_eq!(whole.len(), 9);
        let order: Vec<(u32, usize)> = whole.iter().map(|cell| (cell.seed, cell.system)).collect();
        assert!(order.is_sorted());
        let mut shared: Vec<Cell> =
            (1..=4).flat_map(|index| cells(3, &[1, 2, 5], Shard::parse(&format!("{index}/4")).unwrap())).collect();
        shared.sort_by_key(|cell| (cell.seed, cell.system));
        assert_eq!(shared, whole);
    }
}
