//! Bluetooth packets on the air, with noise, and what a receiver should make of them.

use punctual_datapump::{GFSK_PAYLOAD, gfsk_packet, gfsk_payload};
use punctual_random::Random;

/// The level of a signal without noise.
const LEVEL: f64 = 8_192.0;

/// Packets at places by chance, noise of so many dB below a bit's energy, and a carrier that is off by so many Hz.
pub(crate) struct Air {
    random: Random,
    /// The root of the mean square of the noise in each part of a sample.
    noise: f64,
    offset_hz: f64,
}

impl Air {
    pub(crate) fn new(seed: u64, bit_to_noise: Option<f64>, offset_hz: f64) -> Air {
        // A bit has four samples; half of the noise is in each part.
        let ratio = bit_to_noise.map_or(0.0, |decibels| 2.0 / 10.0_f64.powf(decibels / 10.0));
        Air { random: Random(seed), noise: LEVEL * ratio.sqrt(), offset_hz }
    }

    /// The samples of a packet with noise before and behind it, and the bits of its payload.
    pub(crate) fn packet(&mut self) -> (Vec<i16>, Vec<bool>) {
        let payload = gfsk_payload(std::iter::repeat_with(|| self.random.bits() & 1 == 1));
        let before = 200 + self.random.below(8) as usize;
        let sent = gfsk_packet(&payload);
        let mut samples = vec![0; 2 * before];
        samples.extend(sent);
        samples.resize(samples.len() + 2 * 200, 0);
        let turn = std::f64::consts::TAU * self.offset_hz / 4e6;
        for (index, sample) in samples.chunks_mut(2).enumerate() {
            let (sine, cosine) = (turn * index as f64).sin_cos();
            let (re, im) = (f64::from(sample[0]), f64::from(sample[1]));
            let parts = [re * cosine - im * sine, re * sine + im * cosine];
            for (part, value) in sample.iter_mut().zip(parts) {
                *part = (value + self.noise * self.random.normal()).round().clamp(-32_767.0, 32_767.0) as i16;
            }
        }
        assert_eq!(payload.len(), GFSK_PAYLOAD);
        (samples, payload)
    }
}
