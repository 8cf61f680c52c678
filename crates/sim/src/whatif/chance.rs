//! Random numbers for tests: what changing machines count.

use crate::random::Xoshiro256;

/// How often the question is asked of each recording.
const REPETITIONS: usize = 8;

/// Their source.
pub(super) struct Chance(Xoshiro256);

impl Chance {
    pub(super) fn new(seed: u64) -> Chance {
        Chance(Xoshiro256::new(seed, 0))
    }

    /// Uniform, above 0 and below 1.
    fn share(&mut self) -> f64 {
        (self.0.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30)
    }

    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }

    /// A count with this mean whose misses come in bursts of three, so with a variance three times its mean.
    pub(super) fn count(&mut self, mean: f64) -> u64 {
        let (mut bursts, mut time) = (0, -self.share().ln());
        while time < mean / 3.0 {
            bursts += 1;
            time -= self.share().ln();
        }
        3 * bursts
    }

    /// What the repetitions of so many recordings count, on a machine whose rate changes by `spread` (standard
    /// deviation of the logarithm); a recording is `1 / length` times as long as a run.
    pub(super) fn counted(&mut self, mean: f64, spread: f64, rounds: usize, length: f64) -> Vec<u64> {
        let rates: Vec<f64> = (0..rounds).map(|_| mean * (spread * self.normal()).exp()).collect();
        self.repeated(&rates, length)
    }

    /// The same for recordings of these rates, in turn, again and again.
    pub(super) fn repeated(&mut self, rates: &[f64], length: f64) -> Vec<u64> {
        let recorded: Vec<f64> = rates.iter().map(|rate| self.count(rate / length) as f64 * length).collect();
        // A repetition draws the recording's seconds anew, and then a run from those.
        let mut again = |rate: f64| {
            let drawn = self.count(rate / length) as f64 * length;
            self.count(drawn)
        };
        (0..rates.len() * REPETITIONS).map(|index| again(recorded[index % rates.len()])).collect()
    }
}
