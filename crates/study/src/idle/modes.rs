//! How steady a fixed count is: the durations around which its runs cluster.

use punctual_probe::idle::BINS_EACH;
use punctual_recording::CountMode;

/// Runs within this of a mode's duration belong to it, hundredths.
const WIDTH: u64 = 6;
/// How far apart modes must be to be told apart, hundredths.
const APART: u64 = 15;
/// Fewer than this are no mode, thousandths of all runs.
const MIN_SHARE: u64 = 50;
const MAX_MODES: usize = 5;

/// The modes of a histogram of durations in bins of a 64th of `calibrated_ns`, the commonest first.
pub fn modes(durations: &[u64], calibrated_ns: u64) -> Vec<CountMode> {
    let all: u64 = durations.iter().sum();
    let mut found: Vec<(usize, u64)> = Vec::new();
    let middle = |bin: usize| 2 * bin as u64 + 1;
    let near = |one: usize, other: usize, hundredths: u64| {
        middle(one).abs_diff(middle(other)) * 100 <= hundredths * middle(one).max(middle(other))
    };
    // The last bin holds whatever is longer.
    let bins = durations.len().saturating_sub(1);
    while found.len() < MAX_MODES {
        let free = (0..bins).filter(|&bin| !found.iter().any(|&(mode, _)| near(mode, bin, APART)));
        let Some(highest) = free.max_by_key(|&bin| (durations[bin], std::cmp::Reverse(bin))) else { break };
        let inside = (0..bins).filter(|&bin| near(highest, bin, WIDTH));
        let sum: u64 = inside.map(|bin| durations[bin]).sum();
        if sum * 1_000 < MIN_SHARE * all || sum == 0 {
            break;
        }
        found.push((highest, sum));
    }
    found.sort_by_key(|&(_, sum)| std::cmp::Reverse(sum));
    let mode = |(bin, sum): (usize, u64)| CountMode {
        duration_ns: calibrated_ns * middle(bin) / (2 * BINS_EACH),
        share_thousandths: sum * 1_000 / all,
    };
    found.into_iter().map(mode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_probe::idle::DURATION_BINS;

    fn histogram(runs: &[(f64, u64)]) -> Vec<u64> {
        let mut bins = vec![0; DURATION_BINS];
        for &(times, count) in runs {
            bins[((times * BINS_EACH as f64) as usize).min(DURATION_BINS - 1)] += count;
        }
        bins
    }

    #[test]
    fn a_steady_count_has_one_mode() {
        let found = modes(&histogram(&[(1.0, 800), (1.02, 150), (1.3, 20), (4.0, 20), (20.0, 10)]), 1_000_000);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].duration_ns.abs_diff(1_000_000) < 20_000 && found[0].share_thousandths == 950, "{found:?}");
    }

    #[test]
    fn two_paces_are_two_modes() {
        let found = modes(&histogram(&[(1.0, 300), (1.96, 650), (3.0, 50)]), 1_000_000);
        assert_eq!(found.iter().map(|mode| mode.share_thousandths).collect::<Vec<_>>(), [650, 300, 50]);
        assert!(found[0].duration_ns.abs_diff(1_960_000) < 30_000, "{found:?}");
    }

    #[test]
    fn nothing_has_no_mode() {
        assert_eq!(modes(&[0; DURATION_BINS], 1_000), []);
        assert_eq!(modes(&[], 1_000), []);
    }

    #[test]
    fn shares_of_any_histogram_are_at_most_all() {
        let mut state = 7u64;
        for _ in 0..500 {
            let bins: Vec<u64> = (0..DURATION_BINS)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    if state >> 60 == 0 { (state >> 33) % 1_000 } else { 0 }
                })
                .collect();
            let found = modes(&bins, 1_000_000);
            assert!(found.iter().map(|mode| mode.share_thousandths).sum::<u64>() <= 1_000, "{found:?}");
        }
    }
}
