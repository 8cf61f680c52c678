//! The few special functions that intervals need: gamma and normal, with quantiles.
//!
//! They are written here because quantile functions are the weakest part of general libraries: some do not return for
//! the counts of a day at 1 kHz. Every iteration below is bounded.

/// Natural logarithm of the gamma function, for positive arguments (Lanczos, g = 7; 14 digits).
pub fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Reflection keeps the series where it converges.
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let series = COEFFICIENTS[1..]
        .iter()
        .enumerate()
        .fold(COEFFICIENTS[0], |sum, (index, coefficient)| sum + coefficient / (x + index as f64 + 1.0));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
}

/// The regularized lower incomplete gamma function P(a, x): the probability that a Gamma(a, 1) variable is
/// at most x (series below a + 1, Lentz's continued fraction above).
pub(crate) fn gamma_p(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x < a + 1.0 { gamma_series(a, x) } else { 1.0 - gamma_fraction(a, x) }
}

/// The upper one, Q(a, x) = 1 - P(a, x), without losing digits in the far tail.
pub(crate) fn gamma_q(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x < a + 1.0 { 1.0 - gamma_series(a, x) } else { gamma_fraction(a, x) }
}

fn prefactor(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - ln_gamma(a)).exp()
}

/// Enough terms for both expansions up to shapes of about 10^9.
fn terms(a: f64) -> usize {
    (200.0 + 12.0 * a.max(1.0).sqrt()).min(1e6) as usize
}

fn gamma_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for index in 1..terms(a) {
        term *= x / (a + index as f64);
        sum += term;
        if term < sum * 1e-16 {
            break;
        }
    }
    (sum * prefactor(a, x)).min(1.0)
}

fn gamma_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut h = d;
    for index in 1..terms(a) {
        let index = index as f64;
        let an = -index * (index - a);
        b += 2.0;
        d = an * d + b;
        d = 1.0 / if d.abs() < TINY { TINY } else { d };
        c = b + an / c;
        c = if c.abs() < TINY { TINY } else { c };
        let delta = d * c;
        h *= delta;
        if (delta - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (h * prefactor(a, x)).clamp(0.0, 1.0)
}

/// The quantile of a Gamma(a, 1) variable: the x with P(a, x) = p, by bisection from the Wilson-Hilferty guess.
pub(crate) fn gamma_quantile(a: f64, p: f64) -> f64 {
    if p <= 0.0 || a <= 0.0 {
        return 0.0;
    }
    let z = normal_quantile(p);
    let guess = a * (1.0 - 1.0 / (9.0 * a) + z / (3.0 * a.sqrt())).powi(3);
    if a > 1e6 {
        // Right to ten digits there, and the expansions take thousands of terms.
        return guess;
    }
    let guess = if guess > 0.0 { guess } else { a.min(1.0) * 1e-3 };
    let (mut low, mut high) = (guess, guess);
    for _ in 0..400 {
        if gamma_p(a, low) <= p {
            break;
        }
        low /= 1.5;
    }
    for _ in 0..400 {
        if gamma_p(a, high) >= p {
            break;
        }
        high = high * 1.1 + 0.1;
    }
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if gamma_p(a, middle) < p {
            low = middle
        } else {
            high = middle
        }
        if high - low <= high * 1e-14 {
            break;
        }
    }
    0.5 * (low + high)
}

/// The probability that a chi-squared variable with this many degrees of freedom exceeds x.
pub(crate) fn chi_squared_q(degrees: f64, x: f64) -> f64 {
    gamma_q(0.5 * degrees, 0.5 * x)
}

/// The quantile of the standard normal distribution (Acklam's rational approximation, 9 digits).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416];
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / (horner(&D, q) * q + 1.0)
    };
    match p {
        _ if p <= 0.0 => f64::NEG_INFINITY,
        _ if p >= 1.0 => f64::INFINITY,
        _ if p < 0.024_25 => tail(p),
        _ if p > 1.0 - 0.024_25 => -tail(1.0 - p),
        _ => {
            let q = p - 0.5;
            let r = q * q;
            horner(&A, r) * q / (horner(&B, r) * r + 1.0)
        }
    }
}

/// The probability that two samples of one continuous distribution differ by more than this Kolmogorov-Smirnov
/// distance (Stephens' small-sample form of the limit).
pub(crate) fn kolmogorov_q(distance: f64, left: usize, right: usize) -> f64 {
    let (left, right) = (left as f64, right as f64);
    let root = (left * right / (left + right)).sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * distance;
    if lambda < 0.2 {
        return 1.0;
    }
    let mut sum = 0.0;
    for index in 1..100 {
        let index = f64::from(index);
        let term = 2.0 * (-2.0 * index * index * lambda * lambda).exp();
        sum += if index as u32 % 2 == 1 { term } else { -term };
        if term < 1e-12 {
            break;
        }
    }
    sum.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found - expected).abs() <= relative * expected.abs().max(1e-300), "{found} is not {expected}");
    }

    #[test]
    fn known_values() {
        close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-13);
        close(ln_gamma(11.0), 3_628_800f64.ln(), 1e-13);
        close(gamma_p(1.0, 2.0), 1.0 - (-2.0f64).exp(), 1e-13);
        close(gamma_q(1.0, 50.0), (-50.0f64).exp(), 1e-10);
        // Quantiles of the gamma distribution as published for Poisson limits, one-sided 95 %.
        for (events, expected) in [(0.0, 2.995_732), (1.0, 4.743_865), (2.0, 6.295_794), (3.0, 7.753_657)] {
            close(gamma_quantile(events + 1.0, 0.95), expected, 1e-6);
        }
        close(chi_squared_q(19.0, 30.143_53), 0.05, 1e-5);
        close(normal_quantile(0.975), 1.959_963_985, 1e-8);
        close(kolmogorov_q(1.36 / 50f64.sqrt(), 100, 100), 0.044, 0.1);
    }

    #[test]
    fn large_shapes_are_quick_and_right() {
        for p in [0.025, 0.5, 0.975] {
            assert!((gamma_p(2e6, gamma_quantile(2e6, p)) - p).abs() < 1e-6);
        }
        assert!(gamma_quantile(1e12, 0.975) > 1e12);
    }

    proptest! {
        #[test]
        fn quantile_undoes_probability(a in 0.5..1e5f64, p in 0.001..0.999f64) {
            prop_assert!((gamma_p(a, gamma_quantile(a, p)) - p).abs() < 1e-8);
        }

        #[test]
        fn the_two_tails_add_up(a in 0.1..1e6f64, factor in 0.5..2.0f64) {
            prop_assert!((gamma_p(a, a * factor) + gamma_q(a, a * factor) - 1.0).abs() < 1e-9);
        }
    }
}
