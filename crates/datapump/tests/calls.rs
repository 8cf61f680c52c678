//! Whole calls: two pumps and a line between them, in virtual time.

mod support;

use proptest::prelude::*;
use punctual_datapump::{Phase, Qam, QamOptions, Rate, Role};
use punctual_line::{Law, Line, LineOptions};
use punctual_random::Random;
use support::{BLOCK, Call};

fn only(rate: Rate) -> QamOptions {
    QamOptions { min_rate: rate, max_rate: rate, ..QamOptions::default() }
}

/// Connects and exchanges bits without an error and without a retrain; returns the bits compared.
fn assert_no_error(seed: u64, line: LineOptions, rate: Rate, bits: u64) -> u64 {
    let mut call = Call::new(seed, line, only(rate));
    assert!(call.connect(4), "seed {seed}, {rate:?}, {line:?}: {:?}", call.status());
    call.exchange(bits);
    for (way, status) in [&call.there, &call.back].into_iter().zip(call.status()) {
        assert!(way.bits >= bits, "seed {seed}, {rate:?}: {} bits, {status:?}", way.bits);
        assert_eq!((way.errors, status.retrains, status.failures), (0, 0, 0), "seed {seed}, {rate:?}, {line:?}");
        assert_eq!(status.rate, Some(rate));
    }
    call.there.bits + call.back.bits
}

#[test]
fn no_bit_is_wrong_on_a_clean_line() {
    let calls = (0..8).flat_map(|seed| Rate::ALL.map(|rate| (seed, rate)));
    let bits: u64 = calls.map(|(seed, rate)| assert_no_error(seed, LineOptions::clean(), rate, 200_000)).sum();
    assert!(bits >= 24 * 400_000, "24 calls, {bits} bits");
}

#[test]
fn no_bit_is_wrong_on_two_wires_with_noise_and_companding() {
    let laws = [Law::A, Law::Mu];
    let calls = (0..8).flat_map(|seed| Rate::ALL.map(|rate| (seed, rate)));
    let bits: u64 = calls
        .map(|(seed, rate)| {
            let companding = Some(laws[seed as usize % 2]);
            assert_no_error(seed, LineOptions { companding, ..LineOptions::telephone() }, rate, 200_000)
        })
        .sum();
    assert!(bits >= 24 * 400_000, "24 calls, {bits} bits");
}

#[test]
fn it_bears_offsets_delays_losses_and_a_loud_echo() {
    let telephone = LineOptions::telephone();
    let lines = [
        LineOptions { frequency_offset: 7.0, ..telephone },
        LineOptions { frequency_offset: -7.0, ..telephone },
        LineOptions { delay: 0, ..telephone },
        LineOptions { delay: 1, ..telephone },
        LineOptions { delay: 641, ..telephone },
        LineOptions { loss: 15.0, ..telephone },
        LineOptions { echo: Some(6.0), ..telephone },
        LineOptions { band_pass: false, ..telephone },
    ];
    for (seed, line) in (0..).zip(lines) {
        assert_no_error(seed, line, if line.loss > 0.0 { Rate::Four } else { Rate::Six }, 20_000);
    }
}

#[test]
fn the_same_seed_gives_the_same_samples() {
    let digests = [(1, 0), (1, 0), (2, 0)].map(|(seed, _)| {
        let mut call = Call::new(seed, LineOptions::telephone(), QamOptions::default());
        assert!(call.connect(4));
        call.exchange(5_000);
        call.digest
    });
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[0], digests[2]);
}

#[test]
fn more_taps_leave_the_bits_as_they_are() {
    for banks in [1, 2, 16] {
        let options = QamOptions { echo_banks: banks, ..only(Rate::Six) };
        let mut call = Call::new(3, LineOptions::telephone(), options);
        assert!(call.connect(4));
        call.exchange(20_000);
        assert_eq!((call.there.errors, call.back.errors), (0, 0), "{banks} banks");
        assert!(call.there.bits.min(call.back.bits) >= 20_000);
    }
}

#[test]
fn the_rate_is_what_the_line_bears() {
    for (below, expected) in [(40.0, Rate::Six), (23.0, Rate::Four), (14.0, Rate::Two)] {
        let line = LineOptions { signal_to_noise: Some(below), ..LineOptions::telephone() };
        for seed in 0..4 {
            let mut call = Call::new(seed, line, QamOptions::default());
            assert!(call.connect(4));
            assert_eq!(call.status().map(|status| status.rate), [Some(expected); 2], "seed {seed}, {below} dB");
        }
    }
}

#[test]
fn a_line_that_grows_worse_is_trained_for_again() {
    for seed in 0..4 {
        let mut call = Call::new(seed, LineOptions::telephone(), QamOptions::default());
        assert!(call.connect(4));
        assert_eq!(call.status()[0].rate, Some(Rate::Six));
        call.line = Line::new(seed, LineOptions { signal_to_noise: Some(18.0), ..LineOptions::telephone() });
        call.run(2 * 7_200);
        assert!(call.connect(8), "{:?}", call.status());
        let statuses = call.status();
        assert!(statuses.iter().all(|status| status.retrains >= 1 && status.rate < Some(Rate::Six)), "{statuses:?}");
    }
}

/// A rate at which the line cannot be read, but that training alone would choose again each time.
#[test]
fn retrains_in_short_succession_lead_to_a_lower_rate() {
    let mut call = Call::new(5, LineOptions::telephone(), QamOptions::default());
    assert!(call.connect(4));
    let good = LineOptions::telephone();
    let bad = LineOptions { signal_to_noise: Some(15.0), ..good };
    let mut retrains = 0;
    while call.status()[1].rate == Some(Rate::Six) {
        // Noise that comes only while data flows: training does not hear it.
        call.line = Line::new(retrains, bad);
        while call.is_connected() {
            call.run(240);
        }
        call.line = Line::new(retrains, good);
        assert!(call.connect(8));
        retrains += 1;
        assert!(retrains < 12, "{:?}", call.status());
    }
    assert!(retrains >= 3, "{retrains} retrains");
}

#[test]
fn a_lost_carrier_is_noticed_and_found_again() {
    for seed in 0..4 {
        let mut call = Call::new(seed, LineOptions::telephone(), QamOptions::default());
        assert!(call.connect(4));
        // The answering end falls silent: the other goes back to listening.
        call.stall(2 * 7_200);
        assert_eq!(call.status()[0].phase, Phase::Listening);
        assert_eq!(call.status()[0].retrains, 1);
        call.run(7_200);
        assert!(call.connect(8), "{:?}", call.status());
        call.exchange(2_000);
        assert_eq!((call.there.errors, call.back.errors), (0, 0));
    }
}

/// Whatever is lost, the call goes on: at once, or after a retrain.
#[test]
fn lost_samples_cost_bits_or_a_retrain_but_not_the_call() {
    let mut calls = 0;
    for lost in [1, 5, 12, 18, 45, 90, 512] {
        for seed in 0..3u64 {
            let mut call = Call::new(seed, LineOptions::telephone(), QamOptions::default());
            assert!(call.connect(4));
            call.run(7_200 + seed * 31);
            call.stall(lost);
            call.run(2 * 7_200);
            assert!(call.connect(8), "{lost} lost, seed {seed}: {:?}", call.status());
            call.run(7_200);
            assert!(call.is_connected());
            // No bit is wrong any more.
            let zeros = (call.there.zeros, call.back.zeros);
            call.run(7_200);
            assert_eq!(zeros, (call.there.zeros, call.back.zeros), "{lost} lost, seed {seed}");
            calls += 1;
        }
    }
    assert_eq!(calls, 21);
}

/// Twelve samples are four symbols and three turns of the carrier: nothing but what they carried is missing.
#[test]
fn four_whole_symbols_are_lost_without_a_retrain() {
    for seed in 0..4 {
        let mut call = Call::new(seed, LineOptions::telephone(), QamOptions::default());
        assert!(call.connect(4));
        call.run(7_200);
        call.stall(12);
        call.run(7_200);
        assert_eq!(call.status().map(|status| status.retrains), [0, 0]);
        assert!(call.is_connected());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_samples_are_borne(seed in any::<u64>(), calling in any::<bool>(), after in 0..3u64, loud in 0..16u32) {
        let role = if calling { Role::Calling } else { Role::Answering };
        let mut call = Call::new(seed, LineOptions::telephone(), QamOptions::default());
        call.run(after * 7_200);
        let mut pump = match (after, role) {
            (0, _) => Qam::new(role, QamOptions::default()),
            (_, Role::Calling) => call.calling,
            (_, Role::Answering) => call.answering,
        };
        let mut random = Random(seed);
        let (mut sent, mut received) = ([0; BLOCK], 0u64);
        for _ in 0..2 * 7_200 / BLOCK {
            let heard: [i16; BLOCK] = std::array::from_fn(|_| random.bits() as i16 >> loud);
            pump.process(&heard, &mut sent, &mut || Some(true), &mut |_| received += 1);
        }
        let status = pump.status();
        prop_assert_eq!(status.samples, after * 7_200 + 2 * 7_200);
        prop_assert!(received <= 2 * 14_400 + 60);
        prop_assert!(status.mean_square_error >= 0.0);
    }
}
