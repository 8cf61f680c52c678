//! Bounds that need only utilizations.

/// The sum of computing times over periods.
pub fn utilization(tasks: impl IntoIterator<Item = (u64, u64)>) -> f64 {
    tasks.into_iter().map(|(compute, period)| compute as f64 / period.max(1) as f64).sum()
}

/// Below this utilization any set of this many tasks meets its deadlines under rate-monotonic priorities, deadlines
/// being periods: n·(2^(1/n) - 1) (Liu and Layland, Journal of the ACM 1973).
pub fn liu_layland(tasks: usize) -> f64 {
    let count = tasks.max(1) as f64;
    count * (2f64.powf(1.0 / count) - 1.0)
}

/// The product of (utilization + 1) over the tasks: while it is at most 2, the set meets its deadlines under
/// rate-monotonic priorities (Bini, Buttazzo and Buttazzo, ECRTS 2001). It accepts all that [`liu_layland`] does, and
/// more.
pub fn hyperbolic(tasks: impl IntoIterator<Item = (u64, u64)>) -> f64 {
    tasks.into_iter().map(|(compute, period)| compute as f64 / period.max(1) as f64 + 1.0).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(liu_layland(1), 1.0);
        assert!((liu_layland(2) - 0.828_427).abs() < 1e-6);
        assert!((liu_layland(1_000_000) - std::f64::consts::LN_2).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn hyperbolic_accepts_what_liu_layland_does(tasks in prop::collection::vec((1..100u64, 100..1_000u64), 1..8)) {
            if utilization(tasks.clone()) <= liu_layland(tasks.len()) {
                prop_assert!(hyperbolic(tasks) <= 2.0 + 1e-9);
            }
        }
    }
}
