//! What a symbol of the DSL modem's datapump costs, on this processor and as a BPF program, by size and by banks of the
//! echo canceller. Run as root with `cargo run -p punctual-context --example dsl_cost`; it takes a few seconds.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use punctual_context::dsl::KernelDmt;
use punctual_datapump::{Dmt, DmtOptions, DmtSize, End, Phase};
use std::time::Instant;

const SYMBOLS: usize = 400;

fn main() {
    println!("us a symbol of 246.4 us while connected: the least of {SYMBOLS}, and the middle one");
    println!("size  samples  banks   taps     native          BPF");
    for size in DmtSize::ALL {
        for banks in [0, 1, 2, 4, 8] {
            let (pump, heard) = connected(size, banks);
            let mut native = pump.clone();
            let mut sent = vec![0; size.symbol_samples()];
            let by_native = times(&heard, |symbol| native.process(symbol, &mut sent, &mut || Some(true), &mut |_| ()));
            let by_kernel = match KernelDmt::load(&pump) {
                Ok(mut kernel) => times(&heard, |symbol| {
                    let done = kernel.process(symbol, &mut sent, &mut || Some(true), &mut |_| ());
                    done.expect("a program that was loaded runs");
                }),
                Err(refused) => format!("unavailable: {refused}"),
            };
            let (name, samples) = (format!("{size:?}"), size.symbol_samples());
            println!("{name:5} {samples:7} {banks:6} {:6}  {by_native}  {by_kernel}", banks * 64);
        }
    }
}

/// A connected pump at home, over wires that do nothing, and what it hears from then on.
fn connected(size: DmtSize, echo_banks: u32) -> (Dmt, Vec<Vec<i16>>) {
    let options = DmtOptions { size, echo_banks, ..DmtOptions::default() };
    let (mut office, mut remote) = (Dmt::new(End::Office, options), Dmt::new(End::Remote, options));
    let (mut down, mut up) = (vec![0; size.symbol_samples()], vec![0; size.symbol_samples()]);
    let mut found: Option<Dmt> = None;
    let mut heard = Vec::new();
    while heard.len() < SYMBOLS {
        let before = up.clone();
        office.process(&before, &mut down, &mut || Some(true), &mut |_| ());
        if found.is_none() && office.status().phase == Phase::Connected {
            found = Some(remote.clone());
        }
        if found.is_some() {
            heard.push(down.clone());
        }
        remote.process(&down, &mut up, &mut || Some(true), &mut |_| ());
    }
    (found.expect("the line connects"), heard)
}

/// The least and the median of how long symbols take, us.
fn times(heard: &[Vec<i16>], mut work: impl FnMut(&[i16])) -> String {
    let time = |symbol: &Vec<i16>| {
        let began = Instant::now();
        work(symbol);
        began.elapsed().as_nanos() as f64 / 1e3
    };
    let mut times: Vec<f64> = heard.iter().map(time).collect();
    times.sort_unstable_by(f64::total_cmp);
    format!("{:6.1} {:6.1}", times[0], times[times.len() / 2])
}
