//! Calls between clocks that differ, in virtual time: the receiver follows the other end's carrier and symbol clock.

mod support;

use punctual_datapump::{QamOptions, Rate};
use punctual_line::LineOptions;
use support::clocked::Clocked;

/// What two crystals may be apart if each is off by 100 ppm, as V.32 lets it be.
const BOUND_PPM: i32 = 200;

fn only(rate: Rate) -> QamOptions {
    QamOptions { min_rate: rate, max_rate: rate, ..QamOptions::default() }
}

/// In 50 s at the bound the clocks come apart by 72 samples, more than the equalizer has taps.
#[test]
fn no_bit_is_wrong_up_to_the_bound() {
    let mut bits = 0;
    for (seed, ppm) in (0..).zip([-BOUND_PPM, BOUND_PPM]) {
        for rate in Rate::ALL {
            let mut call = Clocked::new(seed, LineOptions::telephone(), ppm, only(rate));
            assert!(call.connect(4), "{ppm} ppm, {rate:?}: {:?}", call.status());
            let came = call.exchange(50);
            assert_eq!(came.errors, 0, "{ppm} ppm, {rate:?}: {came:?}");
            assert_eq!(came.statuses.map(|status| (status.retrains, status.failures)), [(0, 0); 2], "{ppm} ppm");
            bits += came.bits;
        }
    }
    assert!(bits > 2 * 2 * 45 * (4_800 + 9_600 + 14_400), "{bits} bits");
}

/// Wherever between two samples the bursts arrive, and however far that moves from one to the next, each start-up is the first.
#[test]
fn no_start_up_goes_wrong() {
    let mut calls = 0;
    for ppm in [0, 20, 50, 70, 100, 200, 300, 400].into_iter().flat_map(|ppm| [ppm, -ppm]) {
        for seed in 0..6 {
            let line = LineOptions { delay: 40 + seed as u32, ..LineOptions::telephone() };
            let mut call = Clocked::new(seed, line, ppm, only(Rate::Four));
            assert!(call.connect(4), "{ppm} ppm, seed {seed}: {:?}", call.status());
            assert_eq!(
                call.status().map(|status| (status.retrains, status.failures)),
                [(0, 0); 2],
                "{ppm} ppm, {seed}"
            );
            calls += 1;
        }
    }
    assert_eq!(calls, 96);
}

/// A carrier that is off besides, noise, and a quieter signal, together with the clocks.
#[test]
fn a_carrier_that_is_off_as_well_is_followed() {
    for (seed, offset) in [(1, 5.0), (2, -5.0)] {
        let line = LineOptions { frequency_offset: offset, loss: 6.0, ..LineOptions::telephone() };
        let mut call = Clocked::new(seed, line, 100, only(Rate::Four));
        assert!(call.connect(4), "{offset} Hz: {:?}", call.status());
        let came = call.exchange(30);
        assert_eq!((came.errors, came.statuses.map(|status| status.retrains)), (0, [0, 0]), "{offset} Hz: {came:?}");
        assert!(came.bits > 500_000, "{} bits", came.bits);
    }
}

/// Clocks that do not differ: the symbol clock stays where training put it, so nothing is lost by looking after it.
#[test]
fn a_long_call_by_one_clock_has_no_error() {
    let mut call = Clocked::new(5, LineOptions::telephone(), 0, only(Rate::Six));
    assert!(call.connect(4));
    let came = call.exchange(30);
    assert_eq!((came.errors, came.statuses.map(|status| status.retrains)), (0, [0, 0]), "{came:?}");
}
