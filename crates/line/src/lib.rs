//! A telephone line: what happens to samples on their way from one end to the other, 7,200 or 8,000 of them a second. And
//! the air between radios ([`Air`]).
//!
//! In each direction a sample passes the band of a telephone line, waits for its delay, may be shifted in frequency,
//! has noise and the echo of what that end itself sends added to it, and is companded as in the network. The same seed
//! and the same samples give the same samples on every machine: no function of a mathematics library is called while
//! samples run, and the noise uses only operations that IEEE 754 rounds in one way.
//!
//! ```
//! use punctual_line::{Line, LineOptions};
//!
//! let mut line = Line::new(7, LineOptions { delay: 10, ..LineOptions::clean() });
//! let heard: Vec<_> = (0..40).map(|sample| line.pass(if sample == 0 { 10_000 } else { 0 }, 0).1).collect();
//! assert_eq!(heard[..10], [0; 10]);
//! assert!(heard[10] > 5_000);
//! ```

#![forbid(unsafe_code)]

mod air;
mod clocks;
mod companding;
mod filter;
mod frequency_shift;
mod noise;
mod oscillator;

pub use air::{Air, AirOptions};
pub use clocks::{ClockedLine, MAX_DRIFT_PPM, Opposite};
pub use companding::Law;

use filter::Filter;
use frequency_shift::FrequencyShift;
use noise::Noise;
use std::collections::VecDeque;

/// The level that noise refers to, a root mean square: that of the modem's datapump.
pub const NOMINAL_LEVEL: f64 = 4_096.0;

/// How many samples a second a line carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleRate {
    /// That of our datapump.
    Hz7200,
    /// That of the telephone network.
    Hz8000,
}

impl SampleRate {
    /// Samples a second.
    pub fn hertz(self) -> u32 {
        match self {
            SampleRate::Hz7200 => 7_200,
            SampleRate::Hz8000 => 8_000,
        }
    }

    /// White noise of one density has this much more amplitude in the band up to half of this rate than in 3,600 Hz.
    fn noise_gain(self) -> f64 {
        (f64::from(self.hertz()) / 7_200.0).sqrt()
    }
}

/// What a line does to samples, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineOptions {
    /// Samples on the way in each direction, at most [`MAX_DELAY`]: 72 are 10 ms at 7,200 a second.
    pub delay: u32,
    /// How much weaker the signal arrives, dB.
    pub loss: f64,
    /// Whether it passes only the band from 300 to 3,400 Hz.
    pub band_pass: bool,
    /// Whether high frequencies arrive weaker, as over a cable at the rate of a DSL: 28 dB at half the sampling rate.
    pub cable: bool,
    /// White noise: how far below the signal that arrives, dB, over a band of 3,600 Hz; `None`: none. The signal is
    /// assumed to have the nominal level.
    pub signal_to_noise: Option<f64>,
    /// How far an end's own echo from the nearest hybrid is below what it sends, dB; `None`: four wires.
    pub echo: Option<f64>,
    /// The same for the echo from the hybrid at the other end; it comes after both delays.
    pub far_echo: Option<f64>,
    /// How the network writes samples in eight bits.
    pub companding: Option<Law>,
    /// How far the carrier is shifted on arrival, Hz; at most 20 either way.
    pub frequency_offset: f64,
}

/// The longest delay, samples: one second at 7,200 a second.
pub const MAX_DELAY: u32 = 7_200;

impl LineOptions {
    /// The band of a telephone line and a delay of 10 ms, nothing else.
    pub fn clean() -> LineOptions {
        LineOptions {
            delay: 72,
            loss: 0.0,
            band_pass: true,
            cable: false,
            signal_to_noise: None,
            echo: None,
            far_echo: None,
            companding: None,
            frequency_offset: 0.0,
        }
    }

    /// Wires from one end to the other, a delay of 40 samples, nothing else: for the tones of a DSL, which go far above
    /// a telephone's band.
    pub fn wires() -> LineOptions {
        LineOptions { delay: 40, band_pass: false, ..LineOptions::clean() }
    }

    /// A DSL over two wires: a cable, an echo 12 dB below what is sent, noise 60 dB below the nominal level.
    pub fn loop_of_wires() -> LineOptions {
        LineOptions { cable: true, echo: Some(12.0), signal_to_noise: Some(60.0), ..LineOptions::wires() }
    }

    /// A call over two wires: an echo 12 dB below what is sent, A-law, noise 35 dB below the signal.
    pub fn telephone() -> LineOptions {
        LineOptions { signal_to_noise: Some(35.0), echo: Some(12.0), companding: Some(Law::A), ..LineOptions::clean() }
    }
}

impl Default for LineOptions {
    fn default() -> LineOptions {
        LineOptions::telephone()
    }
}

/// What one end hears.
#[derive(Debug, Clone)]
struct Direction {
    band: Option<Filter>,
    cable: Option<Filter>,
    shift: Option<FrequencyShift>,
    on_the_way: VecDeque<f64>,
    gain: f64,
    noise: Option<(Noise, f64)>,
    near: Option<(Filter, f64)>,
    far: Option<(Filter, f64, VecDeque<f64>)>,
    companding: Option<Law>,
}

impl Direction {
    fn new(rate: SampleRate, seed: u64, options: &LineOptions) -> Direction {
        let delay = options.delay.min(MAX_DELAY) as usize;
        let gain = ratio(-options.loss);
        let offset = options.frequency_offset;
        Direction {
            band: options.band_pass.then(|| Filter::band(rate)),
            cable: options.cable.then(Filter::cable),
            shift: (offset != 0.0).then(|| FrequencyShift::new(offset.clamp(-20.0, 20.0), rate)),
            on_the_way: VecDeque::from(vec![0.0; delay]),
            gain,
            noise: options
                .signal_to_noise
                .map(|below| (Noise::new(seed), NOMINAL_LEVEL * gain * ratio(-below) * rate.noise_gain())),
            near: options.echo.map(|below| (Filter::hybrid(rate), ratio(-below))),
            far: options
                .far_echo
                .map(|below| (Filter::hybrid(rate), ratio(-below), VecDeque::from(vec![0.0; 2 * delay]))),
            companding: options.companding,
        }
    }

    /// The sample that is heard when the other end sends `sent` and this end sends `own`.
    fn pass(&mut self, sent: i16, own: i16) -> i16 {
        let companded = |sample: i16| f64::from(self.companding.map_or(sample, |law| law.compand(sample)));
        let (mut sample, own) = (companded(sent), companded(own));
        if let Some(band) = &mut self.band {
            sample = band.pass(sample);
        }
        if let Some(cable) = &mut self.cable {
            sample = cable.pass(sample);
        }
        if let Some(shift) = &mut self.shift {
            sample = shift.pass(sample);
        }
        self.on_the_way.push_back(sample * self.gain);
        let mut heard = self.on_the_way.pop_front().unwrap_or_default();
        if let Some((noise, level)) = &mut self.noise {
            heard += noise.normal() * *level;
        }
        if let Some((hybrid, gain)) = &mut self.near {
            heard += hybrid.pass(own) * *gain;
        }
        if let Some((hybrid, gain, on_the_way)) = &mut self.far {
            on_the_way.push_back(hybrid.pass(own) * *gain);
            heard += on_the_way.pop_front().unwrap_or_default();
        }
        let heard = heard.round().clamp(-32_767.0, 32_767.0) as i16;
        self.companding.map_or(heard, |law| law.compand(heard))
    }
}

/// A line between two ends.
#[derive(Debug, Clone)]
pub struct Line {
    first: Direction,
    second: Direction,
}

impl Line {
    /// A line for 7,200 samples a second on which nothing has been sent yet. Its noise depends on the seed, and differs in
    /// its two directions.
    pub fn new(seed: u64, options: LineOptions) -> Line {
        Line::at(SampleRate::Hz7200, seed, options)
    }

    /// The same line for so many samples a second: filters, shift and the density of its noise are the same in Hz. The
    /// filter of a cable and all delays are the same in samples.
    pub fn at(rate: SampleRate, seed: u64, options: LineOptions) -> Line {
        Line { first: Direction::new(rate, seed, &options), second: Direction::new(rate, !seed, &options) }
    }

    /// What the first and the second end hear when the first sends `first` and the second `second`.
    #[inline]
    pub fn pass(&mut self, first: i16, second: i16) -> (i16, i16) {
        (self.first.pass(second, first), self.second.pass(first, second))
    }

    /// The same for blocks of samples, in place: what each end sends is replaced by what it hears.
    ///
    /// # Panics
    /// If the blocks differ in length.
    pub fn pass_blocks(&mut self, first: &mut [i16], second: &mut [i16]) {
        assert_eq!(first.len(), second.len(), "both ends send at one rate");
        for (first, second) in first.iter_mut().zip(second) {
            (*first, *second) = self.pass(*first, *second);
        }
    }
}

/// The ratio of amplitudes for so many dB, to a tenth of one: products only, the same on every machine.
fn ratio(decibels: f64) -> f64 {
    const TENTH: f64 = 1.011_579_454_259_899;
    let tenths = (decibels.clamp(-200.0, 200.0) * 10.0).round() as i32;
    let magnitude = (0..tenths.unsigned_abs()).fold(1.0, |ratio, _| ratio * TENTH);
    if tenths < 0 { 1.0 / magnitude } else { magnitude }
}

#[cfg(test)]
mod tests;
