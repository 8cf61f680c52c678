//! Bits between clocks that differ: a table of docs/datapump.md. Run with `cargo run -p punctual-datapump --example clocks`; it
//! takes about a minute.

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../tests/support/mod.rs"]
mod support;

use punctual_datapump::{QamOptions, Rate};
use punctual_line::LineOptions;
use support::clocked::Clocked;

/// Seconds of each call while connected.
const SECONDS: u64 = 120;

fn main() {
    println!("two wires, noise 35 dB below, A-law, {SECONDS} s each, both directions together");
    println!("   ppm    bit/s       bits   errors   retrains   largest error dB");
    for ppm in [0, 20, -20, 50, -50, 100, -100, 200, -200, 300, -300, 400, -400, 500, -500] {
        for rate in Rate::ALL {
            let options = QamOptions { min_rate: rate, max_rate: rate, ..QamOptions::default() };
            let mut call = Clocked::new(1, LineOptions::telephone(), ppm, options);
            let name = rate.bits_per_second();
            if !call.connect(10) {
                println!("{ppm:6} {name:8}   no connection: {:?}", call.status());
                continue;
            }
            let came = call.exchange(SECONDS);
            let retrains: u32 = came.statuses.iter().map(|status| status.retrains).max().unwrap_or(0);
            println!(
                "{ppm:6} {name:8} {:10} {:8} {retrains:10} {:18.1}",
                came.bits,
                came.errors,
                10.0 * came.largest_error.log10()
            );
        }
    }
}
