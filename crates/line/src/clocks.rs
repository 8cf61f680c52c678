//! Two ends that count samples by clocks of their own.
//!
//! What one end sends at its samples, the other hears at its own: between those there is the signal that they stand for. It
//! is interpolated by a windowed sine quotient, as converters do, in steps of a 256th of a sample with straight lines between.

use crate::{Line, LineOptions};

/// The end on the other side of a line, whose clock may be another.
pub trait Opposite {
    /// The sample that it sends now.
    fn sends(&self) -> i16;
    /// Takes the sample that it hears at the same time; its next one is due after that.
    fn hears(&mut self, sample: i16);
}

/// One sample, in 32 bits after the point.
const ONE: u64 = 1 << 32;
/// Samples on either side of a place between two that count for what is there: the band up to 3,400 Hz comes through at
/// 7,200 samples a second.
const REACH: usize = 32;
const TAPS: usize = 2 * REACH;
/// How many places between two samples the weights are computed for.
const PLACES: usize = 256;
/// Samples that are kept: those that count, and some to spare for clocks that do not tick in step.
const KEPT: usize = 128;
/// How far behind the newest sample it begins: those that count, and two to spare.
const BEHIND: u64 = REACH as u64 + 2;

/// The most that two clocks may differ, ppm: as far as the datapump's symbol clock follows.
pub const MAX_DRIFT_PPM: i32 = 500;

/// The weights for each place, from one sample to the next.
type Weights = [[f64; TAPS]];

/// The signal that one end sends, at the other's samples.
#[derive(Debug, Clone)]
struct Resampler {
    /// Written twice, so that those that count are contiguous.
    samples: Vec<f64>,
    came: u64,
    /// The next place that is read, and how far on the one after it is.
    place: u64,
    pace: u64,
}

impl Resampler {
    fn new(pace: u64) -> Resampler {
        // As if silence had come before.
        Resampler { samples: vec![0.0; 2 * KEPT], came: KEPT as u64, place: (KEPT as u64 - BEHIND) * ONE, pace }
    }

    fn push(&mut self, sample: i16) {
        let place = (self.came % KEPT as u64) as usize;
        self.samples[place] = sample.into();
        self.samples[place + KEPT] = sample.into();
        self.came += 1;
    }

    fn read(&mut self, weights: &Weights) -> i16 {
        let (whole, part) = (self.place / ONE, self.place % ONE);
        let first = ((whole + KEPT as u64 - (REACH as u64 - 1)) % KEPT as u64) as usize;
        let scaled = part as f64 / ONE as f64 * PLACES as f64;
        let before = (scaled as usize).min(PLACES - 1);
        let beyond = scaled - before as f64;
        let (one, next) = (&weights[before], &weights[before + 1]);
        let samples = &self.samples[first..first + TAPS];
        let value: f64 = (samples.iter().zip(one.iter().zip(next)))
            .map(|(sample, (one, next))| sample * (one + (next - one) * beyond))
            .sum();
        self.place += self.pace;
        value.round().clamp(-32_767.0, 32_767.0) as i16
    }
}

/// What lies between ends whose clocks differ.
#[derive(Debug, Clone)]
struct Drift {
    weights: Vec<[f64; TAPS]>,
    to_first: Resampler,
    to_second: Resampler,
    /// How far the second end's clock goes on with each sample of the first, and how far it is.
    pace: u64,
    clock: u64,
}

impl Drift {
    fn new(ppm: i32) -> Drift {
        let ppm = i64::from(ppm.clamp(-MAX_DRIFT_PPM, MAX_DRIFT_PPM));
        let pace = (ONE as i64 + (ONE as i64 * ppm) / 1_000_000) as u64;
        let back = (u128::from(ONE) * u128::from(ONE) / u128::from(pace)) as u64;
        Drift { weights: weights(), to_first: Resampler::new(pace), to_second: Resampler::new(back), pace, clock: 0 }
    }
}

/// A line between two ends whose clocks may differ.
#[derive(Debug, Clone)]
pub struct ClockedLine {
    line: Line,
    drift: Option<Drift>,
}

impl ClockedLine {
    /// A line for 7,200 samples a second of the first end's clock on which nothing has been sent yet. The second end's clock
    /// runs so many ppm faster, at most [`MAX_DRIFT_PPM`] either way.
    pub fn new(seed: u64, options: LineOptions, drift_ppm: i32) -> ClockedLine {
        let drift = (drift_ppm != 0).then(|| Drift::new(drift_ppm));
        // What it takes to interpolate is a part of the delay.
        let taken = if drift.is_some() { BEHIND as u32 } else { 0 };
        let options = LineOptions { delay: options.delay.saturating_sub(taken), ..options };
        ClockedLine { line: Line::new(seed, options), drift }
    }

    /// A sample of the first end's time: what that hears when it sends `first`. Meanwhile the second end sends and hears a sample;
    /// now and then none or two, if the clocks differ.
    pub fn pass(&mut self, first: i16, second: &mut dyn Opposite) -> i16 {
        let Some(drift) = &mut self.drift else {
            let (heard, other) = self.line.pass(first, second.sends());
            second.hears(other);
            return heard;
        };
        drift.to_second.push(first);
        drift.clock += drift.pace;
        while drift.clock >= ONE {
            drift.clock -= ONE;
            let own = second.sends();
            drift.to_first.push(own);
            second.hears(self.line.second.pass(drift.to_second.read(&drift.weights), own));
        }
        self.line.first.pass(drift.to_first.read(&drift.weights), first)
    }
}

/// The sine quotient under a window of Kaiser's, with 60 dB beside the band. Only products and quotients: the same on every
/// machine.
fn weights() -> Vec<[f64; TAPS]> {
    /// The square of the window's parameter.
    const BETA: f64 = 36.0;
    let row = |place: usize| {
        let part = place as f64 / PLACES as f64;
        let sine = sine_of_half_turns(part);
        let mut row = [0.0; TAPS];
        for (tap, weight) in row.iter_mut().enumerate() {
            // How far this sample is from the place, in samples; every other one of the sine's waves is turned over.
            let apart = tap as f64 - (REACH as f64 - 1.0) - part;
            let turned = if tap % 2 == 0 { sine } else { -sine };
            let quotient = if apart == 0.0 { 1.0 } else { turned / (std::f64::consts::PI * apart) };
            let within = (1.0 - (apart / REACH as f64) * (apart / REACH as f64)).max(0.0);
            *weight = quotient * bessel(BETA * within) / bessel(BETA);
        }
        let sum: f64 = row.iter().sum();
        row.map(|weight| weight / sum)
    };
    (0..=PLACES).map(row).collect()
}

/// sin(pi x) for 0 to 1, by its series.
fn sine_of_half_turns(x: f64) -> f64 {
    // Symmetric about a half, where the series converges fast.
    let angle = std::f64::consts::PI * x.min(1.0 - x);
    let square = angle * angle;
    let (mut term, mut sum) = (angle, angle);
    for order in 1..14 {
        term *= -square / f64::from(2 * order * (2 * order + 1));
        sum += term;
    }
    sum
}

/// The modified Bessel function of order zero, of the root of this.
fn bessel(square: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for order in 1..40 {
        term *= square / 4.0 / f64::from(order * order);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An end that sends a tone of so many Hz by its own clock and keeps what it hears.
    struct Tone {
        turn: f64,
        sent: u64,
        heard: Vec<f64>,
    }

    impl Tone {
        fn new(hertz: f64) -> Tone {
            Tone { turn: std::f64::consts::TAU * hertz / 7_200.0, sent: 0, heard: Vec::new() }
        }
    }

    impl Opposite for Tone {
        fn sends(&self) -> i16 {
            (10_000.0 * (self.turn * self.sent as f64).sin()) as i16
        }

        fn hears(&mut self, sample: i16) {
            self.heard.push(sample.into());
            self.sent += 1;
        }
    }

    /// How much of a tone is in these samples, as its amplitude, and what is left without it, as a root mean square.
    fn tone_in(samples: &[f64], turn: f64) -> (f64, f64) {
        let count = samples.len() as f64;
        let (x, y) = samples.iter().enumerate().fold((0.0, 0.0), |(x, y), (n, sample)| {
            let (sine, cosine) = (turn * n as f64).sin_cos();
            (x + sample * cosine * 2.0 / count, y + sample * sine * 2.0 / count)
        });
        let rest = samples.iter().enumerate().map(|(n, sample)| {
            let (sine, cosine) = (turn * n as f64).sin_cos();
            (sample - x * cosine - y * sine).powi(2)
        });
        ((x * x + y * y).sqrt(), (rest.sum::<f64>() / count).sqrt())
    }

    /// Each end hears the other's tone where its own clock puts it, at its whole amplitude, and next to nothing else.
    #[test]
    fn a_tone_arrives_at_the_frequency_that_the_other_clock_makes_of_it() {
        let mut met = 0;
        for ppm in [-MAX_DRIFT_PPM, -100, 100, MAX_DRIFT_PPM] {
            for hertz in [300.0, 1_800.0, 3_300.0] {
                let options = LineOptions { band_pass: false, ..LineOptions::clean() };
                let mut line = ClockedLine::new(1, options, ppm);
                let (mut far, mut near) = (Tone::new(hertz), Tone::new(hertz));
                for _ in 0..20_000 {
                    let heard = line.pass(near.sends(), &mut far);
                    near.hears(heard);
                }
                let faster = 1.0 + f64::from(ppm) / 1e6;
                assert!((far.heard.len() as f64 - 20_000.0 * faster).abs() <= 1.0, "{ppm}: {}", far.heard.len());
                for (end, ratio) in [(&near, faster), (&far, 1.0 / faster)] {
                    let (amplitude, rest) = tone_in(&end.heard[1_000..19_000], end.turn * ratio);
                    assert!((amplitude - 10_000.0).abs() < 150.0, "{ppm} ppm, {hertz} Hz: {amplitude}");
                    assert!(rest < 30.0, "{ppm} ppm, {hertz} Hz: {rest}");
                    met += 1;
                }
            }
        }
        assert_eq!(met, 24);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// Clocks that do not differ make the plain line of it, echo, noise and law included.
        #[test]
        fn without_drift_it_is_the_plain_line(seed in any::<u64>(), hertz in 300.0..3_000.0f64) {
            let mut clocked = ClockedLine::new(seed, LineOptions::telephone(), 0);
            let mut plain = Line::new(seed, LineOptions::telephone());
            let mut far = Tone::new(hertz);
            for n in 0..500u64 {
                let first = Tone { sent: n, ..Tone::new(hertz / 2.0) }.sends();
                let expected = plain.pass(first, far.sends());
                let heard = clocked.pass(first, &mut far);
                prop_assert_eq!((heard, far.heard.last().copied()), (expected.0, Some(f64::from(expected.1))));
            }
        }

        /// Whatever the drift, no end hears anything before it can have come, and it comes after the line's delay.
        #[test]
        fn the_delay_is_that_of_the_line(ppm in -MAX_DRIFT_PPM..=MAX_DRIFT_PPM, delay in 40..400u32) {
            let options = LineOptions { delay, band_pass: false, ..LineOptions::clean() };
            let mut line = ClockedLine::new(1, options, ppm);
            let mut far = Tone::new(0.0);
            for n in 0..500 {
                line.pass(if n == 0 { 20_000 } else { 0 }, &mut far);
            }
            let loudest = (0..far.heard.len()).max_by(|&a, &b| far.heard[a].abs().total_cmp(&far.heard[b].abs()));
            prop_assert!(loudest.is_some_and(|place| place.abs_diff(delay as usize) <= 1), "{:?}", loudest);
        }
    }

    #[test]
    fn the_samples_are_these_on_every_machine() {
        let mut line = ClockedLine::new(3, LineOptions::telephone(), 100);
        let mut far = Tone::new(0.0);
        let mut random = punctual_random::Random(1);
        let mut digest = 0xcbf2_9ce4_8422_2325u64;
        for _ in 0..20_000 {
            let heard = line.pass(random.bits() as i16 / 4, &mut far);
            digest = (digest ^ u64::from(heard as u16)).wrapping_mul(0x100_0000_01b3);
        }
        for heard in far.heard {
            digest = (digest ^ u64::from(heard as i16 as u16)).wrapping_mul(0x100_0000_01b3);
        }
        assert_eq!(digest, 12_027_275_135_954_679_351);
    }
}
