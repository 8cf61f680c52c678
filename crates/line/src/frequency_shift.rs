//! A shift of every frequency, as made by carrier systems that were not tuned alike.

use crate::SampleRate;
use crate::oscillator::Oscillator;
use std::collections::VecDeque;

/// Every other tap of a Hilbert transform of 63 taps, from the middle outwards; 1 is 2^15. The taps between are 0.
const HILBERT: [i32; 16] =
    [20_815, 6_816, 3_946, 2_669, 1_928, 1_435, 1_081, 814, 607, 446, 321, 225, 154, 104, 72, 55];
const MIDDLE: usize = 31;

/// Delays by 31 samples.
#[derive(Debug, Clone)]
pub(crate) struct FrequencyShift {
    samples: VecDeque<f64>,
    carrier: Oscillator,
}

impl FrequencyShift {
    /// Shifts by so many Hz.
    pub(crate) fn new(hertz: f64, rate: SampleRate) -> FrequencyShift {
        let carrier = Oscillator::by(std::f64::consts::TAU * hertz / f64::from(rate.hertz()));
        FrequencyShift { samples: VecDeque::from(vec![0.0; 2 * MIDDLE + 1]), carrier }
    }

    pub(crate) fn pass(&mut self, sample: f64) -> f64 {
        self.samples.push_back(sample);
        self.samples.pop_front();
        let beside = HILBERT.iter().enumerate().map(|(place, tap)| {
            let distance = 2 * place + 1;
            // Older samples have positive weights.
            (self.samples[MIDDLE - distance] - self.samples[MIDDLE + distance]) * f64::from(*tap)
        });
        let imaginary = beside.sum::<f64>() / 32_768.0;
        let (x, y) = self.carrier.next();
        self.samples[MIDDLE] * x - imaginary * y
    }
}
