//! The air between a radio that sends and one that hears: complex samples, real parts first.

use crate::noise::Noise;
use crate::oscillator::Oscillator;
use crate::ratio;

/// What the air does to samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AirOptions {
    /// The length of a complex sample of the signal.
    pub level: f64,
    /// How many samples a bit has, which makes its energy.
    pub samples_a_bit: f64,
    /// The energy of a bit over the noise's density, dB, to a tenth of one; `None`: no noise.
    pub bit_to_noise: Option<f64>,
    /// How much of a turn the carrier is off with each sample, at most 0.015 either way.
    pub offset: f64,
}

/// The air: white noise, and a carrier that is off. The same seed and the same samples give the same samples on every machine.
///
/// ```
/// use punctual_line::{Air, AirOptions};
///
/// let options = AirOptions { level: 8_192.0, samples_a_bit: 4.0, bit_to_noise: None, offset: 0.01 };
/// let mut samples = [8_192, 0].repeat(26);
/// Air::new(1, options).pass(&mut samples);
/// assert_eq!(samples[..2], [8_192, 0]);
/// // A quarter of a turn after 25 samples.
/// assert_eq!(samples[50..], [0, 8_192]);
/// ```
#[derive(Debug, Clone)]
pub struct Air {
    noise: Noise,
    /// The root of the mean square of the noise in each part of a sample.
    root: f64,
    carrier: Oscillator,
}

impl Air {
    /// The air, with noise from this seed.
    pub fn new(seed: u64, options: AirOptions) -> Air {
        let AirOptions { level, samples_a_bit, bit_to_noise, offset } = options;
        // Half of the noise is in each part.
        let root = bit_to_noise.map_or(0.0, |decibels| level * (samples_a_bit / 2.0).sqrt() * ratio(-decibels));
        let offset = offset.clamp(-0.015, 0.015);
        Air { noise: Noise::new(seed), root, carrier: Oscillator::by(std::f64::consts::TAU * offset) }
    }

    /// Replaces these samples by what is heard of them.
    pub fn pass(&mut self, samples: &mut [i16]) {
        for sample in samples.as_chunks_mut::<2>().0 {
            let (cosine, sine) = self.carrier.next();
            let (re, im) = (f64::from(sample[0]), f64::from(sample[1]));
            let parts = [re * cosine - im * sine, re * sine + im * cosine];
            for (part, value) in sample.iter_mut().zip(parts) {
                *part = (value + self.root * self.noise.normal()).round().clamp(-32_767.0, 32_767.0) as i16;
            }
        }
    }
}
