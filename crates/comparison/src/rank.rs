//! Whether two sides' runs are separated in their order: the rank-sum test, exact.

/// The probability that the ranks of two samples of these sizes add up at least as unevenly as these do if all orders
/// are equally likely (Wilcoxon 1945; Mann and Whitney 1947), two-sided. It assumes no spread and no distribution. For
/// equal values, the middle between the fewest and the most pairs counts.
pub(crate) fn rank_sum_p(a: &[f64], b: &[f64]) -> f64 {
    // Twice the number of pairs in which b lies above a, so that ties count one.
    let above: usize = a
        .iter()
        .flat_map(|left| b.iter().map(move |right| usize::from(right > left) + usize::from(right >= left)))
        .sum();
    let most = a.len() * b.len();
    // How far from the middle, in halves.
    let apart = above.abs_diff(most);
    let counts = orders(a.len(), b.len());
    let all: f64 = counts.iter().sum();
    let uneven = counts.iter().enumerate().filter(|(pairs, _)| (2 * pairs).abs_diff(most) >= apart);
    uneven.map(|(_, count)| count).sum::<f64>() / all
}

/// For each number of pairs, in how many orders of a and b values that many have b above a: the coefficients of the
/// Gaussian binomial.
fn orders(a: usize, b: usize) -> Vec<f64> {
    let most = a * b;
    let mut counts = vec![0.0; most + 1];
    counts[0] = 1.0;
    for step in 1..=b {
        // Times (1 - q^(a + step)), by (1 - q^step).
        for pairs in (a + step..=most).rev() {
            counts[pairs] -= counts[pairs - a - step];
        }
        for pairs in step..=most {
            counts[pairs] += counts[pairs - step];
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn published_values() {
        // Three against three that lie apart: two of the twenty orders.
        assert!((rank_sum_p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.1).abs() < 1e-12);
        assert!((rank_sum_p(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]) - 2.0 / 70.0).abs() < 1e-12);
        assert!((rank_sum_p(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]) - 0.2).abs() < 1e-12);
        assert!((rank_sum_p(&[1.0, 1.0], &[1.0, 1.0]) - 1.0).abs() < 1e-12);
        // Twenty against twenty: the critical value 127 of Mann and Whitney's tables is the last below 0.05.
        let counts = orders(20, 20);
        let all: f64 = counts.iter().sum();
        let tail = |limit: usize| 2.0 * counts[..=limit].iter().sum::<f64>() / all;
        assert!(tail(127) <= 0.05 && tail(128) > 0.05, "{} {}", tail(127), tail(128));
    }

    proptest! {
        #[test]
        fn turning_the_sides_round_changes_nothing(a in prop::collection::vec(0..9u8, 1..12), b in prop::collection::vec(0..9u8, 1..12)) {
            let of = |values: &[u8]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
            let (there, back) = (rank_sum_p(&of(&a), &of(&b)), rank_sum_p(&of(&b), &of(&a)));
            prop_assert!(there == back && there > 0.0 && there <= 1.0 + 1e-12, "{there} {back}");
        }
    }
}
