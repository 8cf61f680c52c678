//! That parts add up, and parts within parts, with what is unknown in them.

use proptest::prelude::*;
use punctual_blame::{Inside, Kind, Part, Split, split, summarize};
use punctual_recording::Episode;

/// Those who wait for one another are followed to a depth, and nobody twice.
const MAX_DEPTH: usize = 9;

pub(crate) fn depth(inside: &Inside) -> usize {
    1 + inside.inside.iter().map(depth).max().unwrap_or(0)
}

/// Whether each that has some inside is their sum; and what of it ends in the unknown.
fn unknown_at_the_ends(inside: &Inside) -> Result<u64, TestCaseError> {
    if inside.inside.is_empty() {
        return Ok(if inside.kind == Kind::Unknown { inside.ns } else { 0 });
    }
    prop_assert_eq!(inside.inside.iter().map(|inside| inside.ns).sum::<u64>(), inside.ns);
    inside.inside.iter().map(unknown_at_the_ends).sum()
}

fn unknown_within(part: &Part) -> Result<u64, TestCaseError> {
    let inside: Result<u64, TestCaseError> = part.inside.iter().map(unknown_at_the_ends).sum();
    if part.kind == Kind::Unknown { Ok(part.ns) } else { inside }
}

/// Splits an episode and holds all its sums together.
pub(crate) fn adds_up(episode: &Episode) -> Result<Split, TestCaseError> {
    let split = split(episode);
    prop_assert_eq!(split.parts.iter().map(|part| part.ns).sum::<u64>(), episode.total_ns());
    prop_assert_eq!(split.pieces.iter().map(|piece| piece.ns).sum::<u64>(), episode.total_ns());
    prop_assert!(split.parts.iter().all(|part| part.ns > 0));
    // Parts within parts add up too, and what is unknown stands in the sums wherever it is.
    let mut unknown = 0;
    for part in &split.parts {
        let inside: u64 = part.inside.iter().map(|inside| inside.ns).sum();
        prop_assert!(part.inside.is_empty() || inside == part.ns, "{:?}", part);
        prop_assert_eq!(part.unknown_ns, unknown_within(part)?);
        unknown += unknown_within(part)?;
        prop_assert!(part.inside.iter().all(|inside| depth(inside) <= MAX_DEPTH), "{:?}", part);
    }
    prop_assert_eq!(summarize([(1, &split)]).unknown_ns, unknown);
    let mut reached = episode.expected_ns;
    for piece in &split.pieces {
        prop_assert_eq!(piece.start_ns, reached);
        reached += piece.ns;
    }
    prop_assert_eq!(reached, episode.end_ns.max(episode.expected_ns));
    Ok(split)
}
