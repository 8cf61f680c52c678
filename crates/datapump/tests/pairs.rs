//! A DSL: two pumps and a pair of wires between them, in virtual time.

mod support;

use proptest::prelude::*;
use punctual_datapump::{Dmt, DmtOptions, DmtSize, End, Phase};
use punctual_line::LineOptions;
use punctual_random::Random;
use support::pair::Pair;

/// Symbols within which both ends are connected: 0.85 s.
const START_UP: u64 = 6_000;

fn sized(size: DmtSize) -> DmtOptions {
    DmtOptions { size, ..DmtOptions::default() }
}

/// Connects and exchanges bits without an error and without a retrain; returns the bits compared.
fn assert_no_error(seed: u64, line: LineOptions, options: DmtOptions, bits: u64) -> u64 {
    let mut pair = Pair::new(seed, line, options);
    assert!(pair.connect(START_UP), "seed {seed}, {line:?}: {:?}", pair.status());
    pair.exchange(bits);
    for (way, status) in [&pair.up, &pair.down].into_iter().zip(pair.status()) {
        assert!(way.bits >= bits, "seed {seed}: {} bits, {status:?}", way.bits);
        let errors = (way.errors, status.bad_superframes, status.retrains, status.failures);
        assert_eq!(errors, (0, 0, 0, 0), "seed {seed}, {line:?}, {status:?}");
        assert!(status.superframes > 0);
    }
    pair.down.bits + pair.up.bits
}

#[test]
fn no_bit_is_wrong_on_clean_wires() {
    let pairs = (0..2).flat_map(|seed| DmtSize::ALL.map(|size| (seed, size)));
    let bits: u64 = pairs.map(|(seed, size)| assert_no_error(seed, LineOptions::wires(), sized(size), 200_000)).sum();
    assert!(bits >= 4 * 400_000, "{bits} bits");
}

#[test]
fn no_bit_is_wrong_on_a_cable_with_echo_and_noise() {
    let pairs = (0..2).flat_map(|seed| DmtSize::ALL.map(|size| (seed, size)));
    let line = LineOptions::loop_of_wires();
    let bits: u64 = pairs.map(|(seed, size)| assert_no_error(seed, line, sized(size), 200_000)).sum();
    assert!(bits >= 4 * 400_000, "{bits} bits");
}

#[test]
fn it_bears_delays_losses_and_more_taps() {
    let cable = LineOptions::loop_of_wires();
    for (seed, delay) in (0..).zip([0, 1, 7, 100, 271, 1_000]) {
        assert_no_error(seed, LineOptions { delay, ..cable }, DmtOptions::default(), 20_000);
    }
    assert_no_error(1, LineOptions { loss: 20.0, ..LineOptions::wires() }, DmtOptions::default(), 20_000);
    for echo_banks in [2, 8] {
        assert_no_error(2, cable, DmtOptions { echo_banks, ..DmtOptions::default() }, 20_000);
    }
}

#[test]
fn tones_bear_what_the_line_lets_them() {
    // Without noise every tone has the most bits; over a cable the high ones have fewer; noise takes from all.
    let loads = [LineOptions::wires(), LineOptions::loop_of_wires()].map(|line| {
        let mut pair = Pair::new(1, line, DmtOptions::default());
        assert!(pair.connect(START_UP));
        pair.remote.state().received_tones().to_vec()
    });
    assert!(loads[0][33..].iter().all(|bits| *bits == 10), "{:?}", loads[0]);
    assert!(loads[1][33] == 10 && loads[1][127] < 8, "{:?}", loads[1]);
    let mut before = u32::MAX;
    for below in [45.0, 38.0, 32.0, 26.0] {
        let line = LineOptions { signal_to_noise: Some(below), ..LineOptions::wires() };
        let mut pair = Pair::new(1, line, DmtOptions::default());
        assert!(pair.connect(3 * START_UP), "{below} dB: {:?}", pair.status());
        let bits = pair.status()[1].receive_bits;
        assert!(bits < before, "{below} dB: {bits} bits, {before} with less noise");
        before = bits;
    }
}

/// The control: what is received comes from the equalizer.
#[test]
fn without_its_taps_nothing_is_received() {
    let mut pair = Pair::new(1, LineOptions::wires(), DmtOptions { equalizer: false, ..DmtOptions::default() });
    assert!(!pair.connect(2 * START_UP), "{:?}", pair.status());
    assert_eq!((pair.down.came, pair.up.came), (0, 0));
}

#[test]
fn the_same_seed_gives_the_same_samples() {
    let digests = [1, 1, 2].map(|seed| {
        let mut pair = Pair::new(seed, LineOptions::loop_of_wires(), DmtOptions::default());
        assert!(pair.connect(START_UP));
        pair.exchange(5_000);
        pair.digest
    });
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[0], digests[2]);
}

/// A block of 4 ms is 16 symbols: superframes are wrong and the checks say so, but the line stays up.
#[test]
fn a_lost_block_costs_superframes_and_not_the_line() {
    for seed in 0..4 {
        let mut pair = Pair::new(seed, LineOptions::loop_of_wires(), DmtOptions::default());
        assert!(pair.connect(START_UP));
        pair.run(500 + 17 * seed);
        pair.stall(16);
        pair.run(400);
        let [office, remote] = pair.status();
        assert!(pair.is_connected() && office.retrains + remote.retrains == 0, "{office:?} {remote:?}");
        assert!(office.bad_superframes > 0 && remote.bad_superframes > 0, "{office:?} {remote:?}");
        let zeros = (pair.down.zeros, pair.up.zeros);
        pair.run(400);
        assert_eq!(zeros, (pair.down.zeros, pair.up.zeros), "seed {seed}: not a bit is wrong any more");
    }
}

/// Longer than a carrier may be missing.
#[test]
fn a_lost_carrier_is_noticed_and_found_again() {
    for seed in 0..3 {
        let mut pair = Pair::new(seed, LineOptions::loop_of_wires(), DmtOptions::default());
        assert!(pair.connect(START_UP));
        pair.stall(100);
        pair.run(100);
        assert!(!pair.is_connected());
        assert!(pair.connect(2 * START_UP), "{:?}", pair.status());
        assert!(pair.status()[0].retrains >= 1);
        pair.exchange(2_000);
        assert_eq!((pair.down.errors, pair.up.errors), (0, 0));
    }
}

#[test]
fn checks_that_are_wrong_for_long_lead_to_training() {
    let mut pair = Pair::new(3, LineOptions::loop_of_wires(), DmtOptions::default());
    assert!(pair.connect(START_UP));
    let before = pair.status()[1].receive_bits;
    let noisy = LineOptions { signal_to_noise: Some(44.0), ..LineOptions::loop_of_wires() };
    pair.line = punctual_line::Line::new(3, noisy);
    pair.run(1_500);
    assert!(pair.connect(3 * START_UP), "{:?}", pair.status());
    pair.run(400);
    let remote = pair.status()[1];
    assert!(remote.retrains >= 1 && remote.receive_bits < before, "{before} bits before, {remote:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_samples_are_borne(seed in any::<u64>(), office in any::<bool>(), connected in any::<bool>(), loud in 0..16u32) {
        let end = if office { End::Office } else { End::Remote };
        let mut pump = if connected {
            let mut pair = Pair::new(seed, LineOptions::loop_of_wires(), DmtOptions::default());
            prop_assert!(pair.connect(START_UP));
            if office { pair.office } else { pair.remote }
        } else {
            Dmt::new(end, DmtOptions::default())
        };
        let before = pump.status().symbols;
        let mut random = Random(seed);
        let (mut sent, mut received) = ([0; 272], 0u64);
        for _ in 0..2_000 {
            let heard: [i16; 272] = std::array::from_fn(|_| random.bits() as i16 >> loud);
            pump.process(&heard, &mut sent, &mut || Some(true), &mut |_| received += 1);
        }
        let status = pump.status();
        prop_assert_eq!(status.symbols, before + 2_000);
        prop_assert!(received <= 2_000 * 950);
        prop_assert!(status.phase != Phase::Connected || status.receive_bits > 0);
    }
}
