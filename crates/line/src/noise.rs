//! White noise of standard normal samples, the same on every machine.

use punctual_random::Random;

#[derive(Debug, Clone)]
pub(crate) struct Noise {
    random: Random,
    kept: Option<f64>,
}

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        Noise { random: Random(seed), kept: None }
    }

    /// By Marsaglia's polar method, which gives two at a time.
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        loop {
            let (x, y) = (2.0 * self.random.uniform() - 1.0, 2.0 * self.random.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * logarithm(square) / square).sqrt();
                self.kept = Some(y * factor);
                return x * factor;
            }
        }
    }
}

/// The natural logarithm of a positive normal number by a series: a library's may differ in the last bit.
pub(crate) fn logarithm(value: f64) -> f64 {
    let exponent = (value.to_bits() >> 52) as i32 - 1_023;
    let mantissa = f64::from_bits(value.to_bits() & ((1 << 52) - 1) | 1_023 << 52);
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let series = (0..14).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * ratio * series
}
