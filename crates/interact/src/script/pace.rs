//! Pauses of a person who types.

use std::time::Duration;

/// How the pauses between keys come about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Half of the pauses are shorter, ns.
    pub median_ns: u64,
    /// The standard deviation of their logarithm.
    pub spread: f64,
}

/// What the paper of 2014 types with: a key every 150 ms or so (V.b), as the best typists do not go below 120 ms (II).
const MEDIAN_NS: u64 = 150_000_000;
/// Two thirds of the pauses lie between 70 % and 140 % of the median.
const SPREAD: f64 = 0.35;
/// No pause is longer than this many times the median, nor shorter than that part of it.
const MAX_FACTOR: f64 = 5.0;

impl Default for Pace {
    fn default() -> Pace {
        Pace { median_ns: MEDIAN_NS, spread: SPREAD }
    }
}

/// Numbers that look random and are the same every time for a seed: xorshift64*.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed ^ 0x9e37_79b9_7f4a_7c15);
        if random.0 == 0 {
            random.0 = 1;
        }
        // Seeds that lie together begin alike.
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Above 0 and below 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Of mean 0 and standard deviation 1: Box and Muller.
    fn normal(&mut self) -> f64 {
        let (one, other) = (self.unit(), self.unit());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }

    /// A pause.
    pub fn pause(&mut self, pace: Pace) -> Duration {
        let factor = (pace.spread * self.normal()).exp().clamp(1.0 / MAX_FACTOR, MAX_FACTOR);
        Duration::from_nanos((pace.median_ns as f64 * factor) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_have_their_median_and_spread_and_come_again() {
        let pauses = |seed| {
            let mut random = Random::new(seed);
            let mut pauses: Vec<u64> = (0..20_001).map(|_| random.pause(Pace::default()).as_nanos() as u64).collect();
            pauses.sort_unstable();
            pauses
        };
        let sorted = pauses(1);
        let at = |part: f64| sorted[(part * 20_000.0) as usize] as f64 / MEDIAN_NS as f64;
        assert!((at(0.5) - 1.0).abs() < 0.02, "{}", at(0.5));
        // One standard deviation to either side.
        assert!((at(0.8413) - SPREAD.exp()).abs() < 0.03, "{}", at(0.8413));
        assert!((at(0.1587) - (-SPREAD).exp()).abs() < 0.03, "{}", at(0.1587));
        assert_eq!(pauses(1), sorted);
        assert_ne!(pauses(2), sorted);
        assert_ne!(pauses(0), pauses(1));
    }
}
