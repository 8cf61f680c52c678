//! Random numbers made of whole numbers only: the same on every machine, from the seed alone.
//!
//! Not `punctual_random`: its exponential and normal numbers need a logarithm, whose last bit differs between machines.

use crate::time::Picoseconds;
use punctual_random::Random as SplitMix64;

/// A generator (xoshiro256**), seeded through splitmix64.
#[derive(Debug, Clone)]
pub struct Xoshiro256 {
    state: [u64; 4],
}

/// Mixes 64 bits, as splitmix64 does. Also makes the seed of a point of a sweep from its index.
pub fn mix(value: u64) -> u64 {
    SplitMix64(value).bits()
}

impl Xoshiro256 {
    /// The generator for one part of one run. Each part has its own, so that adding one changes no other.
    pub fn new(seed: u64, part: u64) -> Xoshiro256 {
        let mut at = mix(seed) ^ mix(part.wrapping_add(0x5151));
        let state = std::array::from_fn(|_| {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(at)
        });
        Xoshiro256 { state }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A whole number below `limit`, which must not be 0 (the bias is below 2^-64 * limit).
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// Exponentially distributed with this mean, by von Neumann's comparisons of uniform numbers:
    /// no logarithm, whose last bit differs between machines.
    pub fn exponential(&mut self, mean: Picoseconds) -> Picoseconds {
        let mut whole = 0u64;
        loop {
            let first = self.bits();
            let mut last = first;
            let mut length = 1u32;
            loop {
                let next = self.bits();
                if next >= last {
                    break;
                }
                last = next;
                length += 1;
            }
            if length % 2 == 1 {
                let fraction = (u128::from(first) * u128::from(mean)) >> 64;
                return whole.saturating_mul(mean).saturating_add(fraction as u64);
            }
            whole += 1;
        }
    }

    /// Nearly normally distributed (the sum of twelve uniform numbers, so never beyond six deviations), in
    /// units of 2^-32 of the standard deviation, signed.
    pub fn normal(&mut self) -> i64 {
        let mut sum = 0i64;
        for _ in 0..6 {
            let bits = self.bits();
            sum += (bits >> 32) as i64 + (bits & 0xffff_ffff) as i64;
        }
        sum - (6i64 << 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_right() {
        let mut random = Xoshiro256::new(7, 3);
        let count = 200_000u64;
        let mean: f64 = (0..count).map(|_| random.exponential(1_000_000) as f64).sum::<f64>() / count as f64;
        assert!((mean - 1e6).abs() < 1e4, "{mean}");
        let normals: Vec<f64> = (0..count).map(|_| random.normal() as f64 / 2f64.powi(32)).collect();
        let mean = normals.iter().sum::<f64>() / count as f64;
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / count as f64;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn parts_of_a_run_differ_and_repeat() {
        assert_eq!(Xoshiro256::new(1, 2).bits(), Xoshiro256::new(1, 2).bits());
        assert_ne!(Xoshiro256::new(1, 2).bits(), Xoshiro256::new(1, 3).bits());
        assert_ne!(Xoshiro256::new(1, 2).bits(), Xoshiro256::new(2, 2).bits());
    }
}
