//! Several sides, each compared with the first, with one error rate for all.
//!
//! Each comparison by itself is to be a false alarm at most once in twenty; among several, some comparison is one more
//! often.
//! Holm's rule (1979) shares the twentieth: of *n* comparisons, the one that shows most has to be *n* times as certain,
//! the next one *n* - 1 times, and so on up to the first that shows nothing; from there on none does. If runs spread so
//! much that their order has a say, the order has to meet the same share, which takes more runs. What was counted, such as
//! periods that were overrun, shares another twentieth equally (Bonferroni).

use crate::compare::{Comparison, INTERIM_CONFIDENCE, MIN_INTERIM_RUNS, compare_with, is_clear};
use crate::error::Error;
use crate::ratio::CONFIDENCE;
use crate::side::Side;
use crate::standing::Standing;
use crate::verdict::Outcome;
use punctual_device::Profile;
use punctual_recording::Stage;

/// A side beside the first, judged as one of several.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The comparison, the first side as A; its intervals hold together with [`Shared::confidence`], its outcome is
    /// Holm's.
    pub comparison: Comparison,
    /// The probability with which its intervals hold together.
    pub confidence: f64,
    /// The smallest probability of false alarms over all comparisons at which this one still shows a difference.
    pub p: f64,
}

/// Compares each of the others with the first side. A false alarm among all the outcomes is no more probable than in a
/// single comparison.
///
/// # Errors
/// As for [`crate::compare`], for the first pair that cannot be compared.
pub fn compare_several(first: &Side, others: &[&Side], devices: &[Profile]) -> Result<Vec<Shared>, Error> {
    let many = others.len();
    // In the order of what they show: this only looks at how far the data go, and judges nothing.
    let mut order = Vec::new();
    for (index, other) in others.iter().enumerate() {
        order.push((least_p(&compare_with(first, other, &[], [CONFIDENCE; 2], 1)?), index));
    }
    order.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut found: Vec<(usize, Shared)> = Vec::new();
    let (mut share, mut goes_on, mut before) = (many, true, 0.0_f64);
    for (rank, (_, index)) in order.into_iter().enumerate() {
        if goes_on {
            share = many - rank;
        }
        let confidence = 1.0 - (1.0 - CONFIDENCE) / share as f64;
        // The order of what was counted is not that of the wakeups: each comparison has the same share.
        let equal = 1.0 - (1.0 - CONFIDENCE) / many as f64;
        let mut comparison = compare_with(first, others[index], devices, [confidence, equal], share)?;
        goes_on &= shows_something(&comparison);
        if !goes_on {
            (comparison.outcome, comparison.decided_by) = (Outcome::NoDifference, None);
        }
        // No p may be smaller than the one before it.
        before = before.max((least_p(&comparison) * (many - rank) as f64).min(1.0));
        found.push((index, Shared { comparison, confidence, p: before }));
    }
    found.sort_by_key(|(index, _)| *index);
    Ok(found.into_iter().map(|(_, shared)| shared).collect())
}

/// Whether what was measured so far, in turn, is so clear for every other side that the rest of the repeats can be left
/// out: like [`crate::is_clear`], whose probability all of them share.
///
/// # Errors
/// As for [`compare_several`].
pub fn are_clear(first: &Side, others: &[&Side]) -> Result<bool, Error> {
    if let [other] = others {
        return is_clear(first, other);
    }
    let runs = others.iter().map(|other| other.runs.len()).fold(first.runs.len(), usize::min);
    if runs < MIN_INTERIM_RUNS || others.is_empty() {
        return Ok(false);
    }
    let confidence = 1.0 - (1.0 - INTERIM_CONFIDENCE) / others.len() as f64;
    let found = compare_several(first, others, &[])?;
    for (shared, other) in found.iter().zip(others) {
        let strict = compare_with(first, other, &[], [confidence; 2], others.len())?;
        let differs = strict.standing == Standing::Systems && strict.outcome != Outcome::NoDifference;
        if !differs || strict.outcome != shared.comparison.outcome {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether any figure of the totals shows a difference, whatever they say together.
fn shows_something(comparison: &Comparison) -> bool {
    let totals = comparison.stages.iter().filter(|stage| stage.stage == Stage::Total);
    totals.flat_map(|stage| &stage.ratios).any(|ratio| ratio.outcome() != Outcome::NoDifference)
}

/// The least probability of any figure of the totals, each one corrected for its whole family.
fn least_p(comparison: &Comparison) -> f64 {
    let totals = comparison.stages.iter().filter(|stage| stage.stage == Stage::Total);
    totals.flat_map(|stage| &stage.ratios).map(|ratio| ratio.p).fold(1.0, f64::min)
}
