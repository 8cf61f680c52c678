//! Random numbers that are the same on every machine: SplitMix64.
//!
//! ```
//! use punctual_random::Random;
//!
//! let (mut one, mut other) = (Random(7), Random(7));
//! assert_eq!(one.below(1_000), other.below(1_000));
//! ```

#![forbid(unsafe_code)]

/// A generator; its state is whatever it is seeded with.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A whole number below `limit`, which must not be 0 (the bias is below 2^-64 * limit).
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// From `low` to below `high`, which must be larger.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }

    /// Between 0 and 1, excluding both.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Exponential, with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference() {
        // The first of Vigna's splitmix64.c from the seed 1234567.
        let mut random = Random(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first.map(|_| random.bits()), first);
    }

    #[test]
    fn what_is_below_a_limit_is_anything_below_it() {
        let mut random = Random(3);
        let mut found = [0; 3];
        for _ in 0..300 {
            found[random.below(3) as usize] += 1;
        }
        assert!(found.iter().all(|count| (60..140).contains(count)), "{found:?}");
        assert_eq!((random.below(1), random.between(7, 8)), (0, 7));
    }

    #[test]
    fn means_and_spreads_are_those_of_their_names() {
        let mut random = Random(1);
        let mut mean_of = |draw: fn(&mut Random) -> f64| (0..100_000).map(|_| draw(&mut random)).sum::<f64>() / 1e5;
        assert!((mean_of(Random::uniform) - 0.5).abs() < 0.005);
        assert!((mean_of(Random::exponential) - 1.0).abs() < 0.02);
        assert!(mean_of(Random::normal).abs() < 0.02);
        assert!((mean_of(|random| random.normal().powi(2)) - 1.0).abs() < 0.03);
    }
}
