use super::noise::{Noise, logarithm};
use super::*;
use proptest::prelude::*;
use punctual_random::Random;

#[test]
fn the_laws_are_those_of_the_recommendation() {
    // G.711's values at the ends of its segments, of 16 bits.
    assert_eq!(
        [0, 15, 16, 511, 512, 1_023, 1_024, 32_767].map(|x| Law::A.compand(x)),
        [8, 8, 24, 504, 528, 1_008, 1_056, 32_256]
    );
    assert_eq!([0, 3, 4, 123, 124, 32_767].map(|x| Law::Mu.compand(x)), [0, 0, 8, 120, 132, 32_124]);
    for law in [Law::A, Law::Mu] {
        let mut read: Vec<i16> = (-32_767..=32_767).map(|x| law.compand(x)).collect();
        assert!(read.is_sorted());
        read.dedup();
        // u-law writes zero in two ways.
        assert_eq!(read.len(), if law == Law::A { 256 } else { 255 });
        for sample in read {
            assert_eq!(law.compand(sample), sample);
        }
    }
}

#[test]
fn the_logarithm_is_one_and_the_noise_is_normal() {
    for value in [1e-300, 1e-9, 0.1, 0.5, 0.999, 1.0, 1.5, 2.0, 7e10] {
        assert!((logarithm(value) - f64::ln(value)).abs() <= 1e-14 * f64::ln(value).abs().max(1.0), "{value}");
    }
    let mut noise = Noise::new(1);
    let samples: Vec<f64> = (0..200_000).map(|_| noise.normal()).collect();
    let moment = |power: i32| samples.iter().map(|x| x.powi(power)).sum::<f64>() / samples.len() as f64;
    assert!(moment(1).abs() < 0.01);
    assert!((moment(2) - 1.0).abs() < 0.02);
    assert!((moment(4) - 3.0).abs() < 0.15);
    let beyond_three = samples.iter().filter(|x| x.abs() > 3.0).count();
    assert!((400..680).contains(&beyond_three), "{beyond_three} of 540 expected");
}

#[test]
fn decibels_are_ratios() {
    assert!((ratio(20.0) - 10.0).abs() < 1e-9);
    assert!((ratio(-6.0) - 0.501_187_233_6).abs() < 1e-9);
}

/// The power of what the first end hears when the second sends a tone of so many Hz.
fn heard_of(hertz: f64, options: LineOptions) -> f64 {
    heard_at(SampleRate::Hz7200, hertz, options)
}

fn heard_at(rate: SampleRate, hertz: f64, options: LineOptions) -> f64 {
    let mut line = Line::at(rate, 1, options);
    let turn = std::f64::consts::TAU * hertz / f64::from(rate.hertz());
    let tone = |sample: i32| (10_000.0 * (turn * f64::from(sample)).sin()) as i16;
    let heard: Vec<f64> = (0..4_096).map(|sample| f64::from(line.pass(0, tone(sample)).0)).collect();
    let settled = &heard[1_024..];
    settled.iter().map(|x| x * x).sum::<f64>() / settled.len() as f64 / 5e7
}

#[test]
fn the_band_is_that_of_a_telephone_line() {
    for (hertz, low, high) in [(100.0, 0.0, 0.02), (300.0, 0.4, 0.6), (1_800.0, 0.98, 1.02), (3_000.0, 0.95, 1.02)] {
        let power = heard_of(hertz, LineOptions::clean());
        assert!((low..high).contains(&power), "{hertz} Hz: {power}");
    }
}

/// At both rates the band is the same in Hz, and so are what a hybrid returns and the noise in a band of 3,600 Hz.
#[test]
fn a_line_is_the_same_at_either_rate() {
    let rates = [SampleRate::Hz7200, SampleRate::Hz8000];
    for hertz in [300.0, 600.0, 1_200.0, 1_700.0, 2_400.0, 2_700.0] {
        let [slow, fast] = rates.map(|rate| heard_at(rate, hertz, LineOptions::clean()));
        assert!((10.0 * (slow / fast).log10()).abs() < 0.3, "{hertz} Hz: {slow} and {fast}");
    }
    let echo_of = |rate: SampleRate, hertz: f64| {
        let mut line = Line::at(rate, 1, LineOptions { echo: Some(0.0), ..LineOptions::clean() });
        let turn = std::f64::consts::TAU * hertz / f64::from(rate.hertz());
        let heard = |n: i32| f64::from(line.pass((10_000.0 * (turn * f64::from(n)).sin()) as i16, 0).0);
        let heard: Vec<f64> = (0..4_000).map(heard).collect();
        heard[1_000..].iter().map(|x| x * x).sum::<f64>() / 3_000.0 / 5e7
    };
    for hertz in [500.0, 1_200.0, 2_400.0] {
        let [slow, fast] = rates.map(|rate| echo_of(rate, hertz));
        assert!((10.0 * (slow / fast).log10()).abs() < 0.6, "{hertz} Hz: {slow} and {fast}");
    }
    let noise_at = |rate: SampleRate| {
        let mut line = Line::at(rate, 1, LineOptions { signal_to_noise: Some(20.0), ..LineOptions::clean() });
        (0..100_000).map(|_| f64::from(line.pass(0, 0).0).powi(2)).sum::<f64>() / 1e5
    };
    let [slow, fast] = rates.map(noise_at);
    assert!((fast / slow - 8_000.0 / 7_200.0).abs() < 0.02, "{slow} and {fast}");
}

#[test]
fn a_shift_keeps_the_power_and_moves_the_tone() {
    let options = LineOptions { frequency_offset: 7.0, band_pass: false, ..LineOptions::clean() };
    assert!((0.98..1.02).contains(&heard_of(1_800.0, options)));
    let mut line = Line::new(1, options);
    let heard: Vec<f64> = (0..8_224)
        .map(|n| f64::from(line.pass(0, (10_000.0 * (std::f64::consts::FRAC_PI_2 * f64::from(n)).sin()) as i16).0))
        .collect();
    // A whole number of turns of 1,807 Hz does not fit 7,200 samples of 1,800 Hz: correlate with both.
    let at = |hertz: f64| {
        let parts = heard[1_024..].iter().enumerate().fold((0.0, 0.0), |(x, y), (n, sample)| {
            let (sine, cosine) = (std::f64::consts::TAU * hertz * n as f64 / 7_200.0).sin_cos();
            (x + sample * cosine, y + sample * sine)
        });
        (parts.0 * parts.0 + parts.1 * parts.1).sqrt() / 7_200.0
    };
    assert!((at(1_807.0) - 5_000.0).abs() < 100.0, "{}", at(1_807.0));
    assert!(at(1_800.0) < 100.0 && at(1_793.0) < 100.0);
}

#[test]
fn an_end_hears_its_own_echoes_and_the_other_end_does_not() {
    let mut line =
        Line::new(1, LineOptions { echo: Some(12.0), far_echo: Some(24.0), delay: 50, ..LineOptions::clean() });
    let heard: Vec<_> = (0..300).map(|n| line.pass(if n == 0 { 20_000 } else { 0 }, 0)).collect();
    let first = |from: usize| heard[from..].iter().position(|(own, _)| *own != 0).map(|place| place + from);
    assert_eq!(first(0), Some(4));
    assert_eq!(first(60), Some(104));
    assert_eq!(heard.iter().position(|(_, other)| *other != 0), Some(50));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_same_seed_gives_the_same_samples_whatever_the_blocks(
        seed in any::<u64>(),
        delay in 0..200u32,
        offset in -20.0..20.0f64,
        cuts in prop::collection::vec(1..90usize, 1..12),
    ) {
        let options = LineOptions { delay, frequency_offset: offset, far_echo: Some(20.0), ..LineOptions::telephone() };
        let (mut one, mut other) = (Line::new(seed, options), Line::new(seed, options));
        let mut random = Random(seed);
        for cut in cuts {
            let mut first: Vec<i16> = (0..cut).map(|_| random.bits() as i16).collect();
            let mut second: Vec<i16> = (0..cut).map(|_| random.bits() as i16).collect();
            let singly: Vec<_> = first.iter().zip(&second).map(|(a, b)| one.pass(*a, *b)).collect();
            other.pass_blocks(&mut first, &mut second);
            let blocks: Vec<_> = first.into_iter().zip(second).collect();
            prop_assert_eq!(singly, blocks);
        }
    }
}

#[test]
fn the_samples_are_these_on_every_machine() {
    let options = LineOptions { frequency_offset: 3.0, far_echo: Some(20.0), loss: 6.0, ..LineOptions::telephone() };
    let mut line = Line::new(2_000, options);
    let mut random = Random(1);
    let mut digest = 0xcbf2_9ce4_8422_2325u64;
    for _ in 0..20_000 {
        let (first, second) = line.pass(random.bits() as i16 / 4, random.bits() as i16 / 4);
        for heard in [first, second] {
            digest = (digest ^ u64::from(heard as u16)).wrapping_mul(0x100_0000_01b3);
        }
    }
    assert_eq!(digest, 1_691_545_173_163_359_765);
}
