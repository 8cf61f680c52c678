//! Whether runs allow a verdict of the systems, or only one of these runs.

use crate::blocks::Run;
use punctual_random::Random;

/// A verdict takes so many runs of each side: fewer do not show by how much runs differ. With two of each, a machine that changes
/// between two states at random puts both of one side into the one and both of the other into the other once in eight comparisons;
/// with three once in 32.
pub const MIN_RUNS: usize = 3;

/// What a comparison's outcome is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Of the systems: there are runs enough, and they were not made one side after the other.
    Systems,
    /// Of these runs only: a side has fewer than [`MIN_RUNS`].
    TooFewRuns {
        /// How many more of A and of B are needed at least.
        more: [usize; 2],
    },
    /// Of these runs only: all of one side were made before all of the other, so that what changed on the machine between
    /// them looks like a difference of the sides.
    OneAfterTheOther,
}

impl Standing {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Systems => "systems",
            Standing::TooFewRuns { .. } => "too few runs",
            Standing::OneAfterTheOther => "one side after the other",
        }
    }

    pub(crate) fn of(a: &[Run], b: &[Run]) -> Standing {
        let more = [a, b].map(|runs| MIN_RUNS.saturating_sub(runs.len()));
        if more != [0, 0] {
            return Standing::TooFewRuns { more };
        }
        let times = |runs: &[Run]| -> Option<(i128, i128)> {
            let times = runs.iter().map(began);
            Some((times.clone().min()?, times.max()?))
        };
        match times(a).zip(times(b)) {
            Some(((first_a, last_a), (first_b, last_b))) if last_a < first_b || last_b < first_a => {
                Standing::OneAfterTheOther
            }
            _ => Standing::Systems,
        }
    }
}

/// When a run began, ns of the wall clock.
pub(crate) fn began(run: &Run) -> i128 {
    let provenance = &run.document.provenance;
    i128::from(provenance.started_ns) + i128::from(provenance.monotonic_to_unix_ns)
}

/// Whether B is measured before A in this pair, counted from 1, of a measurement with this seed: the coins of `--repeat`.
pub fn comes_first(seed: u64, pair: usize) -> bool {
    coin(seed, pair).bits() >> 63 == 1
}

fn coin(seed: u64, round: usize) -> Random {
    Random(seed ^ (round as u64).wrapping_mul(0xa076_1d64_78bd_642f))
}

/// The order in which so many sides are measured in a round, counted from 1, of a measurement with this seed; of two sides it is
/// that of [`comes_first`].
pub fn order_of_round(seed: u64, round: usize, sides: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sides).collect();
    if sides == 2 {
        order.rotate_left(usize::from(comes_first(seed, round)));
        return order;
    }
    let mut random = coin(seed, round);
    for last in (1..sides).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}
