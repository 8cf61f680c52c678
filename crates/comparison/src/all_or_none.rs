//! What pairs of runs that were measured in turn say if, in each of them, one side certainly has an event and the other certainly has none.
//!
//! A burst of events counts as one, and of three runs with a burst each the exact test given their sum knows no more than that all three fell on
//! one side. That each pair has exactly one says more: where both runs of a pair have a burst with the same probability p, whatever that is and
//! however it changes from pair to pair, this comes about with p (1 - p), a quarter at most (an unconditional test, as Barnard's, 1945). Bursts that come
//! independently, r times as often on B, leave such a pair with (1 - q^r) q at most, where q^r = 1 / (1 + r): the limit is the r with which
//! all pairs are as they are with half of the error rate.

use crate::events::OfRun;

/// More times as often than this is not told apart from any number of times.
const MAX_TIMES: f64 = 1e6;

/// How many times as often events come on B at least, if each of its runs has one and none of A's, with which they were measured in turn, can have
/// any; `None` if that is not so, or if these pairs are too few for this error rate to tell the sides apart.
pub(crate) fn at_least(a: &[OfRun], b: &[OfRun], error: f64) -> Option<f64> {
    let are_apart = |(a, b): (&OfRun, &OfRun)| a.count.at_most() == Some(0) && b.count.least > 0;
    if a.len() != b.len() || !a.iter().zip(b).all(are_apart) {
        return None;
    }
    // A run of twice the time has twice as many bursts.
    let exposures: Vec<f64> = a.iter().zip(b).map(|(a, b)| b.count.exposure as f64 / a.count.exposure as f64).collect();
    let is_excluded = |times: f64| exposures.iter().map(|longer| apart(times * longer)).product::<f64>() <= 0.5 * error;
    if !is_excluded(1.0) {
        return None;
    }
    let (mut low, mut high) = (1.0_f64, MAX_TIMES);
    for _ in 0..64 {
        let middle = (low * high).sqrt();
        if is_excluded(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// The largest probability that the second of two runs has a burst and the first has none, if bursts come so many times as often in the second.
fn apart(times: f64) -> f64 {
    let none_in_second = (1.0 + times).recip();
    (1.0 - none_in_second) * none_in_second.powf(times.recip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::EventCount;

    fn runs(counts: &[(u64, u64)]) -> Vec<OfRun> {
        counts.iter().map(|&(events, exposure)| OfRun::counted(events, exposure)).collect()
    }

    #[test]
    fn three_pairs_are_the_fewest_that_tell_the_sides_apart() {
        assert!((apart(1.0) - 0.25).abs() < 1e-12, "{}", apart(1.0));
        let of =
            |pairs: usize, error: f64| at_least(&runs(&vec![(0, 800); pairs]), &runs(&vec![(99, 800); pairs]), error);
        assert_eq!((of(2, 0.05), of(3, 0.03)), (None, None));
        let found = [3, 4, 6].map(|pairs| of(pairs, 0.05).unwrap());
        assert!(found.is_sorted() && (found[0] - 1.266).abs() < 0.01, "{found:?}");
        // With the limit itself, all pairs are as they are with half of the error rate.
        assert!((apart(found[1]).powi(4) - 0.025).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn all_of_one_side_and_none_of_the_other_have_to_be_certain() {
        let (none, some) = (runs(&[(0, 800); 3]), runs(&[(99, 800); 3]));
        assert!(at_least(&none, &some, 0.05).is_some());
        let change = |runs: &[OfRun], of: &dyn Fn(EventCount) -> EventCount| {
            let mut runs = runs.to_vec();
            runs[1].count = of(runs[1].count);
            runs
        };
        let stray = change(&none, &|count| EventCount { events: 1, ..count });
        let unlimited = change(&none, &|count| EventCount { may_be_more: true, ..count });
        let doubtful = change(&some, &|count| EventCount { least: 0, ..count });
        for (a, b) in [(&stray, &some), (&unlimited, &some), (&none, &doubtful), (&some, &none)] {
            assert_eq!(at_least(a, b, 0.05), None);
        }
        // What may be more and is limited to none is none, and a run of twice the periods has twice as many bursts.
        let hidden = change(&none, &|count| EventCount { may_be_more: true, hidden: Some(0), ..count });
        assert!(at_least(&hidden, &some, 0.05).is_some());
        assert_eq!(at_least(&none, &runs(&[(99, 1_600); 3]), 0.05), None);
        assert!(at_least(&none, &runs(&[(99, 400); 3]), 0.05).is_some_and(|least| least > 2.5));
    }
}
