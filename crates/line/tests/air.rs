//! The air between radios: as much noise as was asked for, and a carrier that turns as far.

use punctual_line::{Air, AirOptions};

const SAMPLES: usize = 100_000;

fn passed(seed: u64, bit_to_noise: Option<f64>, offset: f64, level: i16) -> Vec<i16> {
    let options = AirOptions { level: 8_192.0, samples_a_bit: 4.0, bit_to_noise, offset };
    let mut samples = [level, 0].repeat(SAMPLES);
    Air::new(seed, options).pass(&mut samples);
    samples
}

#[test]
fn the_noise_has_the_density_that_was_asked_for_in_both_parts() {
    let mut compared = 0;
    for decibels in [6.0, 12.0, 20.0] {
        let samples = passed(1, Some(decibels), 0.0, 0);
        for part in [0, 1] {
            let square = samples.iter().skip(part).step_by(2).map(|sample| f64::from(*sample).powi(2)).sum::<f64>();
            // The energy of a bit over what both parts have in one sample: 4 * 8,192^2 over 2 * the mean square.
            let measured = 10.0 * (4.0 * 8_192.0_f64.powi(2) / (2.0 * square / SAMPLES as f64)).log10();
            assert!((measured - decibels).abs() < 0.05, "{decibels} dB, part {part}: {measured}");
            compared += 1;
        }
    }
    assert_eq!(compared, 6);
}

#[test]
fn a_seed_decides_and_a_carrier_turns_whole_turns() {
    assert_eq!(passed(7, Some(10.0), 0.01, 8_192), passed(7, Some(10.0), 0.01, 8_192));
    assert_ne!(passed(7, Some(10.0), 0.01, 8_192), passed(8, Some(10.0), 0.01, 8_192));
    let samples = passed(7, None, 0.01, 8_192);
    // After a hundred thousand samples it is where it should be, and as long.
    for (index, place) in (0..SAMPLES).step_by(25).enumerate() {
        let expected = [(8_192, 0), (0, 8_192), (-8_192, 0), (0, -8_192)][index % 4];
        assert_eq!((samples[2 * place], samples[2 * place + 1]), expected, "sample {place}");
    }
}
