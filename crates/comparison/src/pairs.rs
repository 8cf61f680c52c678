//! What pairs of runs that were measured in turn say by their directions alone, however much runs differ from one another.
//!
//! If one side is no different from the other, each pair is as likely to point one way as the other: the limits are those that the
//! sign test leaves of the median of the pairs' ratios (Thompson 1936). Six pairs that all point the same way are the fewest that
//! decide.

use crate::events::OfRun;

/// So much of the error rate goes to the directions of pairs: six pairs that agree have a thirty-second. Where they count, Student's
/// interval takes a fifth, and both together keep the rate.
const SHARE: f64 = 0.625;
/// Of more pairs than this Student's interval is as good.
const MAX_PAIRS: usize = 1_000;

/// The limits of how many times as often events come on B, of which there are as many runs as of A; `None` if there are too few pairs
/// for this error rate. All runs must have been watched.
pub(crate) fn limits(a: &[OfRun], b: &[OfRun], error: f64) -> Option<(f64, f64)> {
    if a.len() != b.len() {
        return None;
    }
    let outliers = outliers(a.len(), SHARE * error)?;
    // One event more for whoever has fewer: a pair without any points nowhere, and one with hardly any has to differ.
    let rate = |run: &OfRun, more: f64| (run.count.events as f64 + more) / run.count.exposure as f64;
    let sorted = |more_a: f64, more_b: f64| {
        let mut ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| rate(b, more_b) / rate(a, more_a)).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    };
    let (low, high) = (sorted(1.0, 0.0), sorted(0.0, 1.0));
    Some((low[outliers], high[high.len() - 1 - outliers]))
}

/// How many of so many pairs may point the other way; `None` if these are too few even if all agree.
fn outliers(pairs: usize, error: f64) -> Option<usize> {
    if pairs > MAX_PAIRS {
        return None;
    }
    // By chance so many pairs point one way, and at most as many, of 2^pairs ways.
    let mut exactly = 0.5_f64.powi(i32::try_from(pairs).ok()?);
    let (mut at_most, mut found) = (0.0, None);
    for outliers in 0..=pairs / 2 {
        at_most += exactly;
        if 2.0 * at_most > error {
            break;
        }
        found = Some(outliers);
        exactly *= (pairs - outliers) as f64 / (outliers + 1) as f64;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_pairs_may_point_the_other_way() {
        // The critical values of the sign test, two-sided, one error in 20.
        let critical =
            [(5, None), (6, Some(0)), (8, Some(0)), (9, Some(1)), (12, Some(2)), (15, Some(3)), (20, Some(5))];
        for (pairs, expected) in critical {
            assert_eq!(outliers(pairs, 0.05), expected, "{pairs}");
        }
        assert_eq!((outliers(0, 0.05), outliers(MAX_PAIRS + 1, 0.05)), (None, None));
        // What is left of that for it is enough for six.
        assert_eq!((outliers(6, SHARE * 0.05), outliers(5, SHARE * 0.05)), (Some(0), None));
    }

    fn runs(counts: &[(u64, u64)]) -> Vec<OfRun> {
        counts.iter().map(|&(events, exposure)| OfRun::counted(events, exposure)).collect()
    }

    #[test]
    fn pairs_without_events_point_nowhere() {
        let (a, b) = (runs(&[(40, 1_000); 6]), runs(&[(3, 1_000); 6]));
        let (low, high) = limits(&a, &b, 0.05).unwrap();
        assert!((high - 0.1).abs() < 1e-12 && (low - 3.0 / 41.0).abs() < 1e-12, "{low} {high}");
        assert_eq!(limits(&a[..5], &b[..5], 0.05), None);
        assert_eq!(limits(&a, &b[..5], 0.05), None);
        // Though B had more that could have been slow.
        let (none, more) = (runs(&[(0, 1_000); 6]), runs(&[(0, 2_000); 6]));
        let (low, high) = limits(&none, &more, 0.05).unwrap();
        assert!(low <= 0.0 && high.is_infinite(), "{low} {high}");
        let one = runs(&[(40, 1_000), (40, 1_000), (0, 1_000), (40, 1_000), (40, 1_000), (40, 1_000)]);
        let (_, high) = limits(&one, &b, 0.05).unwrap();
        assert!(high.is_infinite(), "{high}");
    }
}
