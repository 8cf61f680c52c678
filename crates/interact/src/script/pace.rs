//! Pauses of a person who types.

use punctual_random::Random;
use std::time::Duration;

/// The distribution of the pauses between keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// The median of the pauses, ns.
    pub median_ns: u64,
    /// The standard deviation of their logarithm.
    pub spread: f64,
}

/// The pace of the paper of 2014: a key every 150 ms or so (V.b), because the best typists do not go below 120 ms (II).
const MEDIAN_NS: u64 = 150_000_000;
/// Two thirds of the pauses lie between 70 % and 140 % of the median.
const SPREAD: f64 = 0.35;
/// No pause is longer than this many times the median, or shorter than that fraction of it.
const MAX_FACTOR: f64 = 5.0;

impl Default for Pace {
    fn default() -> Pace {
        Pace { median_ns: MEDIAN_NS, spread: SPREAD }
    }
}

impl Pace {
    /// A pause.
    pub fn pause(self, random: &mut Random) -> Duration {
        let factor = (self.spread * random.normal()).exp().clamp(1.0 / MAX_FACTOR, MAX_FACTOR);
        Duration::from_nanos((self.median_ns as f64 * factor) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_have_their_median_and_spread_and_come_again() {
        let pauses = |seed| {
            let mut random = Random(seed);
            let mut pauses: Vec<u64> =
                (0..20_001).map(|_| Pace::default().pause(&mut random).as_nanos() as u64).collect();
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
