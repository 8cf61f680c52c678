//! Whether runs allow a verdict on the systems, or only on these runs.

use punctual_random::Random;
use punctual_recording::Document;

/// A verdict takes this many runs of each side: fewer do not show how much runs differ. With two of each, a machine
/// that switches between two states at random puts both runs of one side into one state and both of the other side into
/// the other once in eight comparisons; with three, once in 32.
pub const MIN_RUNS: usize = 3;

/// What a comparison's outcome applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The systems: there are enough runs, and they were not measured one side after the other.
    Systems,
    /// These runs only: a side has fewer than [`MIN_RUNS`].
    TooFewRuns {
        /// How many more of A and of B are needed at least.
        more: [usize; 2],
    },
    /// These runs only: all of one side were measured before all of the other, so that what changed on the machine in
    /// between looks like a difference between the sides.
    OneAfterTheOther,
    /// These runs only: inputs to a program were put in at another pace on either side, so that what differs is how it was
    /// used.
    OtherPace,
    /// These runs only: other programs' threads were followed, and those of either side have different names, so that what
    /// differs is whose wakeups they are.
    OtherThreads,
}

impl Standing {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Systems => "systems",
            Standing::TooFewRuns { .. } => "too few runs",
            Standing::OneAfterTheOther => "one side after the other",
            Standing::OtherPace => "other pace",
            Standing::OtherThreads => "other threads",
        }
    }

    /// How many more runs of A and of B a verdict takes at least.
    pub fn more_runs(self) -> [usize; 2] {
        match self {
            Standing::TooFewRuns { more } => more,
            Standing::Systems | Standing::OneAfterTheOther | Standing::OtherPace | Standing::OtherThreads => [0, 0],
        }
    }

    /// What a reader must know about it.
    pub(crate) fn note(self, is_paired: bool) -> Option<&'static str> {
        match self {
            Standing::TooFewRuns { more } => Some(match (more[0], more[1]) {
                (2.., 2..) => {
                    "one run per side does not show how much runs differ: the intervals allow for the usual spread of an unchanged machine"
                }
                (2.., _) => {
                    "A: one run does not show how much its runs differ: the intervals allow for the usual spread of an unchanged machine"
                }
                (_, 2..) => {
                    "B: one run does not show how much its runs differ: the intervals allow for the usual spread of an unchanged machine"
                }
                (1, 1) => "two runs per side hardly show how much runs differ: the intervals rest on the usual spread",
                (1, _) => "A: two runs hardly show how much its runs differ: the intervals rest on the usual spread",
                _ => "B: two runs hardly show how much its runs differ: the intervals rest on the usual spread",
            }),
            Standing::OneAfterTheOther => Some(
                "all runs of one side were measured before those of the other: whatever changed on the machine in between is part of the ratios",
            ),
            Standing::Systems if !is_paired => Some(
                "the runs were not measured in turn: whatever changed on the machine meanwhile is part of the ratios",
            ),
            Standing::Systems | Standing::OtherPace | Standing::OtherThreads => None,
        }
    }

    /// The standing of two sides whose runs [`began`] at these times.
    pub(crate) fn of(a: &[i128], b: &[i128]) -> Standing {
        let more = [a, b].map(|runs| MIN_RUNS.saturating_sub(runs.len()));
        if more != [0, 0] {
            return Standing::TooFewRuns { more };
        }
        let times = |runs: &[i128]| -> Option<(i128, i128)> {
            let times = runs.iter().copied();
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

/// When each of these recordings began, ns of the wall clock.
pub(crate) fn began<'a>(documents: impl IntoIterator<Item = &'a Document>) -> Vec<i128> {
    let when = |document: &Document| {
        let provenance = &document.provenance;
        i128::from(provenance.started_ns) + i128::from(provenance.monotonic_to_unix_ns)
    };
    documents.into_iter().map(when).collect()
}

/// Whether the runs of two sides, which [`began`] at these times, were measured in turn: in the order of their times,
/// every pair of neighbours from the first on has one of each side, and the n-th of A is paired with the n-th of B.
pub(crate) fn are_paired(left: &[i128], right: &[i128]) -> bool {
    if left.len() != right.len() || left.len() < 2 {
        return false;
    }
    let pairs: Vec<(i128, i128)> =
        left.iter().zip(right).map(|(&left, &right)| (left.min(right), left.max(right))).collect();
    left.iter().zip(right).all(|(left, right)| left != right) && pairs.windows(2).all(|two| two[0].1 < two[1].0)
}

/// The runs of A and of B, by their places, without which the others, at least [`MIN_RUNS`] of each, were measured in turn; `None` if
/// they were as they are, or if there are none such.
pub(crate) fn out_of_turn(a: &[i128], b: &[i128]) -> Option<[Vec<usize>; 2]> {
    let times = [a, b];
    let of_side = |side: usize| times[side].iter().enumerate().map(move |(place, time)| (*time, side, place));
    let mut all: Vec<(i128, usize, usize)> = of_side(0).chain(of_side(1)).collect();
    all.sort_unstable();
    let mut left_out = [Vec::new(), Vec::new()];
    let mut ahead = all.into_iter().peekable();
    while let Some((_, side, place)) = ahead.next() {
        if ahead.next_if(|(_, other, _)| *other != side).is_none() {
            left_out[side].push(place);
        }
    }
    let kept = [0, 1].map(|side| {
        let is_kept = |(place, time): (usize, &i128)| (!left_out[side].contains(&place)).then_some(*time);
        times[side].iter().enumerate().filter_map(is_kept).collect::<Vec<i128>>()
    });
    let are_some = left_out.iter().any(|places| !places.is_empty());
    (are_some && kept[0].len() >= MIN_RUNS && are_paired(&kept[0], &kept[1])).then_some(left_out)
}

/// Whether B is measured before A in this pair, counted from 1, of a measurement with this seed: the coin tosses of
/// `--repeat`.
pub fn comes_first(seed: u64, pair: usize) -> bool {
    coin(seed, pair).bits() >> 63 == 1
}

fn coin(seed: u64, round: usize) -> Random {
    Random(seed ^ (round as u64).wrapping_mul(0xa076_1d64_78bd_642f))
}

/// The order in which this many sides are measured in a round, counted from 1, of a measurement with this seed; for two
/// sides it is that of [`comes_first`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_without_which_the_others_are_in_turn_are_found() {
        for (a, b, expected) in [
            // Three of one side before all others.
            (&[1, 2, 3, 4, 6, 8][..], &[5, 7, 9][..], Some([vec![0, 1, 2], vec![]])),
            // Either may be the first of its pair, and one may be left over.
            (&[1, 4, 5][..], &[2, 3, 6, 7][..], Some([vec![], vec![3]])),
            // They are, too few would be left, and listed in another order than that of their times.
            (&[1, 4, 5][..], &[2, 3, 6][..], None),
            (&[1, 2, 5][..], &[3, 4, 6][..], None),
            (&[8, 6, 4, 1][..], &[5, 7, 9][..], None),
        ] {
            assert_eq!(out_of_turn(a, b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn the_side_that_has_too_few_runs_is_named() {
        let began = |runs: usize, from: i128| (0..runs).map(|run| from + 10 * run as i128).collect::<Vec<i128>>();
        for ((a, b), expected) in [
            ((1, 1), "one run per side "),
            ((1, 5), "A: one run "),
            ((2, 1), "B: one run "),
            ((2, 2), "two runs per side "),
            ((2, 9), "A: two runs "),
            ((3, 2), "B: two runs "),
        ] {
            let note = Standing::of(&began(a, 0), &began(b, 5)).note(true).unwrap_or_default();
            assert!(note.starts_with(expected), "{a} and {b}: {note}");
        }
        assert_eq!(Standing::of(&began(3, 0), &began(3, 5)).note(true), None);
    }
}
