//! How the modem's datapump fares on a bad line, beside theory, and when samples are lost: the tables of
//! docs/datapump.md. Run with `cargo run -p punctual-datapump --example signal`; it takes about a minute.

#![expect(clippy::print_stdout, reason = "it prints tables")]

#[path = "../tests/support/mod.rs"]
mod support;

use punctual_datapump::{QamOptions, Rate, SAMPLE_RATE, SYMBOL_RATE};
use punctual_line::{Line, LineOptions};
use support::{BLOCK, Call, normal_above};

fn main() {
    errors_by_noise();
    println!();
    lost_samples();
}

/// The expected bit error rate: by chance a point is taken for each of its neighbours along an axis; one in another
/// quadrant costs two bits, because the quadrant is read from its turn, and any other one bit; the descrambler makes
/// three errors of each.
fn expected(rate: Rate, signal_to_noise: f64) -> f64 {
    let bits = rate.bits_per_symbol();
    let side = 1 << (bits / 2);
    // Noise is counted in the whole band of half the sampling rate.
    let band = f64::from(SAMPLE_RATE) / 2.0 / f64::from(SYMBOL_RATE);
    let symbol = 10f64.powf(signal_to_noise / 10.0) * band;
    let mistaken = normal_above((3.0 * symbol / f64::from(side * side - 1)).sqrt());
    // Along an axis: two errors of one axis' middle, in either direction, and one at each other border.
    let borders = f64::from(side - 1);
    let cost = (2.0 * 2.0 + (borders - 1.0) * 2.0) / f64::from(side);
    let turned = turning_cost(side);
    3.0 * 2.0 * mistaken * (cost + turned) / f64::from(bits)
}

/// The further cost of a mistaken quadrant: the place within it is read as seen from the other one, so its two
/// coordinates change places.
fn turning_cost(side: i32) -> f64 {
    let half = side / 2;
    let gray = |level: i32| (level ^ level >> 1) as u32;
    // A point at the border is the innermost along one axis in both quadrants: (0, row) is read as (row, 0).
    let changed: u32 = (0..half).map(|row| 2 * (gray(row) ^ gray(0)).count_ones()).sum();
    2.0 * f64::from(changed) / f64::from(half) / f64::from(side)
}

/// The ratio at which theory expects this error rate, dB.
fn ratio_for(rate: Rate, errors: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if expected(rate, middle) > errors {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn errors_by_noise() {
    println!("bit error rate by noise: four wires, the band of a telephone line, both directions together");
    println!("  bit/s   S/N dB      bits   errors    measured      theory   apart dB");
    for (rate, ratios) in [
        (Rate::Two, [6.0, 7.0, 8.0, 9.0, 10.0]),
        (Rate::Four, [13.0, 14.0, 15.0, 16.0, 17.0]),
        (Rate::Six, [19.0, 20.0, 21.0, 22.0, 23.0]),
    ] {
        for below in ratios {
            let options = QamOptions { min_rate: rate, max_rate: rate, retrain: false, ..QamOptions::default() };
            let mut call = Call::new(1, LineOptions::clean(), options);
            assert!(call.connect(4), "a clean line connects");
            let line = LineOptions { signal_to_noise: Some(below), ..LineOptions::clean() };
            call.line = Line::new(below as u64, line);
            call.run(7_200);
            let before = [(call.there.came, call.there.zeros), (call.back.came, call.back.zeros)];
            call.run(40 * 7_200);
            assert!(call.is_connected(), "the call lasts");
            let after = [(call.there.came, call.there.zeros), (call.back.came, call.back.zeros)];
            let bits: u64 = after.iter().zip(before).map(|(after, before)| after.0 - before.0).sum();
            let errors: u64 = after.iter().zip(before).map(|(after, before)| after.1 - before.1).sum();
            let measured = errors as f64 / bits as f64;
            let apart = if errors < 10 {
                "        –".to_owned()
            } else {
                format!("{:9.2}", below - ratio_for(rate, measured))
            };
            println!(
                "{:7} {below:8.0} {bits:9} {errors:8} {measured:11.2e} {:11.2e}  {apart}",
                rate.bits_per_second(),
                expected(rate, below),
            );
        }
    }
}

/// The samples until the call was last disturbed, after `from`: an end not connected, or a zero among ones.
fn disturbed_for(call: &mut Call, from: u64) -> u64 {
    let mut newest = from;
    for _ in 0..12 * 7_200 / BLOCK {
        call.pass(BLOCK, false);
        if !call.is_connected() {
            newest = call.now;
        }
    }
    assert!(call.is_connected(), "the call goes on");
    newest.max(call.there.newest_zero).max(call.back.newest_zero) - from
}

fn lost_samples() {
    const CALLS: u64 = 16;
    for (name, line) in [
        ("four wires, noise 35 dB below", LineOptions { echo: None, ..LineOptions::telephone() }),
        ("two wires, noise 35 dB below", LineOptions::telephone()),
    ] {
        println!("samples lost at one end, which sends silence meanwhile: {name}, 14,400 bit/s, {CALLS} calls each");
        println!("  lost   retrained   wrong bits p50      max   disturbed ms p50      max   rate after");
        for lost in [1, 2, 3, 5, 6, 12, 18, 45, 60, 90, 180, 360, 512] {
            let (mut retrained, mut wrong, mut disturbed, mut rates) = (0, Vec::new(), Vec::new(), Vec::new());
            for seed in 0..CALLS {
                let mut call = Call::new(seed, line, QamOptions::default());
                assert!(call.connect(4), "a telephone line connects");
                call.run(7_200 + 31 * seed);
                let before = call.there.zeros + call.back.zeros;
                let begin = call.now;
                call.stall(lost);
                disturbed.push(disturbed_for(&mut call, begin) * 1_000 / 7_200);
                wrong.push(call.there.zeros + call.back.zeros - before);
                let statuses = call.status();
                retrained += u32::from(statuses.iter().any(|status| status.retrains > 0));
                rates.push(statuses[0].bits_per_second());
            }
            for values in [&mut wrong, &mut disturbed] {
                values.sort_unstable();
            }
            rates.sort_unstable();
            let middle = CALLS as usize / 2;
            let newest = CALLS as usize - 1;
            println!(
                "{lost:6} {retrained:8}/16 {:16} {:8} {:18} {:8} {:12}",
                wrong[middle], wrong[newest], disturbed[middle], disturbed[newest], rates[middle]
            );
        }
    }
}
