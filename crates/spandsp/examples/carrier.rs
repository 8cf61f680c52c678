//! At which rate V.22bis connects by what it takes for a carrier, over 21 delays of a telephone line: why `V22bis::new` has the
//! threshold that it has. Run with `cargo run -p punctual-spandsp --example carrier`; it takes about half a minute.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use punctual_line::{Line, LineOptions, SampleRate};
use punctual_modem::end::Pump;
use punctual_spandsp::{Library, V22bis};

/// Samples in a block.
const BLOCK: usize = 100;
/// Delays of the line, samples.
const DELAYS: [u32; 21] = [0, 1, 2, 3, 5, 7, 11, 40, 64, 72, 80, 81, 82, 83, 84, 90, 100, 120, 160, 200, 320];

fn main() {
    let library = match Library::load() {
        Ok(library) => library,
        Err(missing) => return println!("{missing}"),
    };
    println!("calls that connect, and of those how many have a bit wrong in the last 2.5 of 7.5 s");
    println!("carrier dBm0   noise dB below   at 2,400   at 1,200   of those wrong");
    for carrier in [-43.0, -35.0, -28.0, -25.0, -20.0] {
        for below in [35.0, 22.0] {
            let calls = DELAYS.map(|delay| call(library, carrier, below, delay));
            let at = |rate: u32| calls.iter().filter(|(found, _)| *found == rate).count();
            let wrong = calls.iter().filter(|(rate, zeros)| *rate > 0 && *zeros > 0).count();
            println!("{carrier:12} {below:16} {:10} {:10} {wrong:16}", at(2_400), at(1_200));
        }
    }
}

/// The rate at which both ends are connected after 7.5 s, or 0, and zeros among the ones that were sent.
fn call(library: &'static Library, carrier: f32, below: f64, delay: u32) -> (u32, u32) {
    let options = LineOptions { signal_to_noise: Some(below), delay, ..LineOptions::telephone() };
    let mut line = Line::at(SampleRate::Hz8000, 1, options);
    let end = |calls| V22bis::hearing(library, calls, carrier).expect("there is memory for an end");
    let (mut calling, mut answering) = (end(true), end(false));
    let mut heard = [[0; BLOCK]; 2];
    let mut zeros = 0;
    for block in 0..600 {
        let mut sent = [[0; BLOCK]; 2];
        let mut take = |bit: bool| zeros += u32::from(!bit && block >= 400);
        calling.process(&heard[0], &mut sent[0], &mut || true, &mut take);
        answering.process(&heard[1], &mut sent[1], &mut || true, &mut take);
        let [first, second] = &mut sent;
        line.pass_blocks(first, second);
        heard = sent;
    }
    let rates = [calling, answering].map(|end| end.status().bits_per_second);
    (rates[0].min(rates[1]), zeros)
}
