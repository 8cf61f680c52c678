//! How the DSL modem's datapump fares with noise, beside theory: the tables of docs/datapump.md. Run with `cargo run -p
//! punctual-datapump --example tones`; it takes about a minute.

#![expect(clippy::print_stdout, reason = "it prints tables")]

#[path = "../tests/support/mod.rs"]
mod support;

use punctual_datapump::{DmtOptions, DmtSize};
use punctual_line::{Line, LineOptions};
use support::normal_above;
use support::pair::Pair;

fn main() {
    errors_by_noise();
    println!();
    rates_by_noise();
}

/// The expected bit error rate of a tone of so many bits: points are Gray coded, a point is taken for one next to it,
/// and the descrambler makes three errors of each.
fn expected(bits: u32, signal_to_noise: f64) -> f64 {
    let points = f64::from(1 << bits);
    let symbol = 10f64.powf(signal_to_noise / 10.0);
    let mistaken = normal_above((3.0 * symbol / (points - 1.0)).sqrt());
    3.0 * 4.0 * (1.0 - 1.0 / points.sqrt()) * mistaken / f64::from(bits)
}

/// The ratio at which theory expects this error rate, dB.
fn ratio_for(bits: u32, errors: f64) -> f64 {
    let (mut low, mut high) = (0.0, 60.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if expected(bits, middle) > errors {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Downstream, where a tone's share of the noise is known: white noise over four wires.
fn errors_by_noise() {
    println!("bit error rate by noise: four wires, each of 95 tones with as many bits, downstream");
    println!("bits of a tone   S/N dB      bits   errors    measured      theory   apart dB");
    for (bits, ratios) in [
        (2, [7.0, 9.0, 11.0]),
        (4, [14.0, 16.0, 18.0]),
        (6, [20.0, 22.0, 24.0]),
        (8, [26.0, 28.0, 30.0]),
        (10, [32.0, 34.0, 36.0]),
    ] {
        for below in ratios {
            let options = DmtOptions { fixed_bits: Some(bits), retrain: false, ..DmtOptions::default() };
            let mut pair = Pair::new(1, LineOptions::wires(), options);
            assert!(pair.connect(6_000), "clean wires connect");
            // A tone's power is 16 times 4,096 in the transform, the noise of a sample 16 times its own.
            let line = LineOptions { signal_to_noise: Some(below), ..LineOptions::wires() };
            pair.line = Line::new(below as u64, line);
            pair.run(200);
            let before = (pair.down.came, pair.down.zeros);
            pair.run(4_000);
            let (came, errors) = (pair.down.came - before.0, pair.down.zeros - before.1);
            let measured = errors as f64 / came as f64;
            println!(
                "{bits:14} {below:8.0} {came:9} {errors:8} {measured:11.2e} {:11.2e} {:10.2}",
                expected(bits, below),
                below - ratio_for(bits, measured),
            );
        }
    }
}

fn rates_by_noise() {
    println!("what tones bear: kbit/s downstream and upstream by noise");
    println!("size   line    S/N dB     down       up   wrong superframes");
    for size in DmtSize::ALL {
        for (name, cable) in [("wires", LineOptions::wires()), ("cable", LineOptions::loop_of_wires())] {
            for below in [70.0, 60.0, 50.0, 40.0, 30.0] {
                let line = LineOptions { signal_to_noise: Some(below), ..cable };
                let mut pair = Pair::new(1, line, DmtOptions { size, ..DmtOptions::default() });
                let connected = pair.connect(20_000);
                pair.run(3_450);
                let [office, remote] = pair.status();
                let (down, up) = (remote.received_bits_per_second() / 1_000, office.received_bits_per_second() / 1_000);
                let wrong = office.bad_superframes + remote.bad_superframes;
                let of = office.superframes + remote.superframes;
                let note = if connected { "" } else { "   does not connect" };
                println!("{size:?}   {name} {below:8.0} {down:8} {up:8}   {wrong} of {of}{note}");
            }
        }
    }
}
