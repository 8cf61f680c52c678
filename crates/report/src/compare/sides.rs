//! Several sides, each compared with the first: their letters, and what a side rules out.

use super::words::told;
use punctual_comparison::{Comparison, Outcome, Ratio, Shared};

/// The names of the sides: A, B, C, ...
pub(crate) fn label(index: usize) -> char {
    char::from(b'A' + u8::try_from(index).unwrap_or(0).min(25))
}

/// The sides but the first, each with its letter.
pub(crate) fn labelled(found: &[Shared]) -> impl Iterator<Item = (char, &Comparison)> {
    found.iter().enumerate().map(|(index, shared)| (label(index + 1), &shared.comparison))
}

/// The ratio of a side that shows no difference, if it rules out one direction all the same.
pub(crate) fn one_sided(comparison: &Comparison) -> Option<&Ratio> {
    let none = Outcome::NoDifference;
    let total = comparison.total().filter(|total| comparison.outcome == none && total.verdict.outcome == none)?;
    total.shown().filter(|ratio| ratio.outcome() == none && told(ratio) != none.name())
}
