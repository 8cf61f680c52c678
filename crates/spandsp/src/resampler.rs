//! From 7,200 samples a second to 8,000 and back: a modem of the library where the rest of a call has 7,200.

use punctual_modem::end::{Pump, PumpStatus};
use std::collections::VecDeque;

/// Samples that an output is made of; half of them are how late it comes.
const TAPS: usize = 32;
/// What both rates can carry, with room for the filter's slope, Hz.
const BAND: f64 = 3_420.0;

/// Makes `up` samples of each `down`.
#[derive(Debug, Clone)]
struct Resampler {
    up: usize,
    down: usize,
    /// For each place between two samples.
    taps: Vec<[f32; TAPS]>,
    /// The newest comes first.
    samples: [f32; TAPS],
    /// Where the next output lies, in parts of a sample.
    place: usize,
}

impl Resampler {
    fn new(rate: f64, up: usize, down: usize) -> Resampler {
        let width = 2.0 * BAND / rate;
        let middle = TAPS as f64 / 2.0;
        let of_place = |place: usize| {
            let tap = |tap: usize| {
                let time = tap as f64 - middle + place as f64 / up as f64;
                let angle = std::f64::consts::PI * width * time;
                let sinc = if angle.abs() < 1e-9 { 1.0 } else { angle.sin() / angle };
                // A raised cosine over all taps.
                let window = (std::f64::consts::FRAC_PI_2 * time / middle).cos().max(0.0).powi(2);
                sinc * window
            };
            let taps: [f64; TAPS] = std::array::from_fn(tap);
            let sum: f64 = taps.iter().sum();
            taps.map(|tap| (tap / sum) as f32)
        };
        Resampler { up, down, taps: (0..up).map(of_place).collect(), samples: [0.0; TAPS], place: 0 }
    }

    fn pass(&mut self, samples: &[i16], mut take: impl FnMut(i16)) {
        for sample in samples {
            self.samples.rotate_right(1);
            self.samples[0] = f32::from(*sample);
            while self.place < self.up {
                let products = self.taps[self.place].iter().zip(&self.samples).map(|(tap, sample)| tap * sample);
                take(products.sum::<f32>().round().clamp(-32_767.0, 32_767.0) as i16);
                self.place += self.down;
            }
            self.place -= self.up;
        }
    }
}

/// A pump for 8,000 samples a second at 7,200: it hears and sends 4.2 ms later in all.
#[derive(Debug)]
pub struct Resampled<P> {
    pump: P,
    up: Resampler,
    down: Resampler,
    heard: Vec<i16>,
    made: Vec<i16>,
    to_send: VecDeque<i16>,
}

impl<P> Resampled<P> {
    /// The same pump at 7,200 samples a second.
    pub fn new(pump: P) -> Resampled<P> {
        Resampled {
            pump,
            up: Resampler::new(7_200.0, 10, 9),
            down: Resampler::new(8_000.0, 9, 10),
            heard: Vec::new(),
            made: Vec::new(),
            to_send: VecDeque::new(),
        }
    }
}

impl<P: Pump> Pump for Resampled<P> {
    fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    ) {
        self.heard.clear();
        self.up.pass(received, |sample| self.heard.push(sample));
        self.made.resize(self.heard.len(), 0);
        self.pump.process(&self.heard, &mut self.made, next_bit, push_bit);
        self.down.pass(&self.made, |sample| self.to_send.push_back(sample));
        // There are never too few: both ways round up.
        sent.fill_with(|| self.to_send.pop_front().unwrap_or(0));
    }

    fn status(&self) -> PumpStatus {
        self.pump.status()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends back what it hears.
    struct Mirror;

    impl Pump for Mirror {
        fn process(&mut self, heard: &[i16], sent: &mut [i16], _: &mut dyn FnMut() -> bool, _: &mut dyn FnMut(bool)) {
            sent.copy_from_slice(heard);
        }

        fn status(&self) -> PumpStatus {
            PumpStatus { is_connected: true, bits_per_second: 0, retrains: 0 }
        }
    }

    #[test]
    fn a_tone_comes_back_as_it_was_whatever_the_blocks() {
        for hertz in [600.0, 1_200.0, 2_400.0, 3_000.0] {
            let tone = |n: usize| (8_000.0 * (std::f64::consts::TAU * hertz * n as f64 / 7_200.0).sin()).round() as i16;
            let mut mirror = Resampled::new(Mirror);
            let mut back = Vec::new();
            for block in [1, 7, 90, 13, 90, 2, 89, 360, 720, 31].repeat(4) {
                let begin = back.len();
                let heard: Vec<i16> = (begin..begin + block).map(tone).collect();
                let mut sent = vec![0; block];
                mirror.process(&heard, &mut sent, &mut || true, &mut |_| ());
                assert!(mirror.to_send.len() <= 2, "{} samples wait", mirror.to_send.len());
                back.extend(sent);
            }
            // The amplitude and the phase of the tone, without the beginning.
            let (mut cosine, mut sine, mut power) = (0.0, 0.0, 0.0);
            let settled = &back[200..200 + 4_800];
            for (n, sample) in settled.iter().enumerate() {
                let (s, c) = (std::f64::consts::TAU * hertz * (n + 200) as f64 / 7_200.0).sin_cos();
                cosine += f64::from(*sample) * c;
                sine += f64::from(*sample) * s;
                power += f64::from(*sample).powi(2);
            }
            let count = settled.len() as f64;
            let amplitude = 2.0 * (cosine * cosine + sine * sine).sqrt() / count;
            assert!((amplitude - 8_000.0).abs() < 250.0, "{hertz} Hz: {amplitude}");
            // What is left of it is 40 dB below and more.
            let rest = power / count - amplitude * amplitude / 2.0;
            assert!(rest < 3_200.0, "{hertz} Hz: {rest} of {}", power / count);
        }
    }
}
