//! Student's t and the beta distribution, with quantiles.

use punctual_forecast::ln_gamma;

/// The regularized incomplete beta function I_x(a, b), for a and b of at least a half (Lentz's continued fraction).
pub(crate) fn beta_p(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only below the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_p(b, a, 1.0 - x);
    }
    const TINY: f64 = 1e-300;
    let guarded = |value: f64| if value.abs() < TINY { TINY } else { value };
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let (mut c, mut d) = (1.0, 1.0 / guarded(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..20_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for term in [even, odd] {
            d = 1.0 / guarded(1.0 + term * d);
            c = guarded(1.0 + term / c);
            factor = c * d;
            fraction *= factor;
        }
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front * fraction).clamp(0.0, 1.0)
}

/// The x with I_x(a, b) = p, by bisection.
pub(crate) fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if beta_p(a, b, middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The probability that a Student t variable with this many degrees of freedom lies further from 0 than t.
pub(crate) fn student_q(degrees: f64, t: f64) -> f64 {
    beta_p(0.5 * degrees, 0.5, degrees / (degrees + t * t))
}

/// The t beyond which a Student t variable lies, on either side of 0, with probability p.
pub fn student_quantile(degrees: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_q(degrees, high) > p && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if student_q(degrees, middle) > p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn published_values() {
        // Two-sided 5 % and 1 % points of Student's t.
        for (degrees, p, expected) in
            [(1.0, 0.05, 12.706), (4.0, 0.05, 2.776), (4.0, 0.01, 4.604), (10.0, 0.05, 2.228), (1e6, 0.05, 1.960)]
        {
            let found = student_quantile(degrees, p);
            assert!((found - expected).abs() < 6e-4, "{degrees} {p}: {found}");
        }
        // Clopper-Pearson: none of ten is at most 30.85 % (one-sided 97.5 %).
        assert!((beta_quantile(1.0, 10.0, 0.975) - 0.308_497).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn the_two_sides_of_beta_add_up(a in 0.5..500.0f64, b in 0.5..500.0f64, x in 0.0..1.0f64) {
            prop_assert!((beta_p(a, b, x) + beta_p(b, a, 1.0 - x) - 1.0).abs() < 1e-9);
        }

        #[test]
        fn quantiles_undo_probabilities(degrees in 1.0..200.0f64, p in 0.001..0.9f64) {
            prop_assert!((student_q(degrees, student_quantile(degrees, p)) - p).abs() < 1e-9);
        }
    }
}
