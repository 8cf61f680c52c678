//! What a sample of the modem's datapump costs, on this processor and as a BPF program, by phase and by banks of the
//! echo canceller. Run as root with `cargo run -p punctual-context --example modem_cost`; it takes about ten seconds.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use punctual_context::modem::KernelQam;
use punctual_datapump::{Phase, Qam, QamOptions, Role};
use punctual_line::{Line, LineOptions};
use std::time::Instant;

const BLOCK: usize = 90;

fn main() {
    println!("ns a sample, the least of 20 to 60 blocks of {BLOCK} samples");
    println!("banks   taps  phase          native       BPF");
    for banks in [1, 8, 32, 64, 128, 512] {
        for phase in [Phase::Listening, Phase::Training, Phase::Connected] {
            let (pump, heard) = in_phase(phase, banks);
            let native = least(&pump, &heard, |pump, block, sent| {
                pump.process(block, sent, &mut || Some(true), &mut |_| ());
            });
            let in_kernel = match KernelQam::load(&pump) {
                Ok(mut kernel) => format!("{:9.0}", least_in_kernel(&mut kernel, &heard)),
                Err(refused) => format!("unavailable: {refused}"),
            };
            println!("{banks:5} {:6}  {:12} {native:8.0} {in_kernel}", banks * 128, format!("{phase:?}"));
        }
    }
}

/// A pump of the calling end that has just reached a phase, and what it hears from then on.
fn in_phase(phase: Phase, banks: u32) -> (Qam, Vec<[i16; BLOCK]>) {
    let options = QamOptions { echo_banks: banks, ..QamOptions::default() };
    let (mut calling, mut answering) = (Qam::new(Role::Calling, options), Qam::new(Role::Answering, options));
    let mut line = Line::new(1, LineOptions::telephone());
    let (mut to_calling, mut to_answering) = ([0; BLOCK], [0; BLOCK]);
    let mut found: Option<Qam> = None;
    let mut heard = Vec::new();
    while heard.len() < 60 {
        if found.is_none() && calling.status().phase == phase {
            found = Some(calling.clone());
        }
        if found.is_some() {
            heard.push(to_calling);
        }
        let (mut from_calling, mut from_answering) = ([0; BLOCK], [0; BLOCK]);
        calling.process(&to_calling, &mut from_calling, &mut || Some(true), &mut |_| ());
        answering.process(&to_answering, &mut from_answering, &mut || Some(true), &mut |_| ());
        line.pass_blocks(&mut from_calling, &mut from_answering);
        (to_calling, to_answering) = (from_calling, from_answering);
    }
    // Training lasts 30 blocks, and listening before it just as long.
    heard.truncate(if phase == Phase::Connected { 60 } else { 20 });
    (found.expect("the phase came"), heard)
}

fn least(pump: &Qam, heard: &[[i16; BLOCK]], mut work: impl FnMut(&mut Qam, &[i16], &mut [i16])) -> f64 {
    let times = (0..3).flat_map(|_| {
        let mut pump = pump.clone();
        let mut sent = [0; BLOCK];
        let mut time = |block: &[i16; BLOCK]| {
            let began = Instant::now();
            work(&mut pump, block, &mut sent);
            began.elapsed().as_nanos() as f64 / BLOCK as f64
        };
        heard.iter().map(&mut time).collect::<Vec<_>>()
    });
    times.fold(f64::INFINITY, f64::min)
}

fn least_in_kernel(kernel: &mut KernelQam, heard: &[[i16; BLOCK]]) -> f64 {
    let mut sent = [0; BLOCK];
    let mut time = |block: &[i16; BLOCK]| {
        let began = Instant::now();
        let done = kernel.process(block, &mut sent, &mut || Some(true), &mut |_| ());
        done.expect("a program that was loaded runs");
        began.elapsed().as_nanos() as f64 / BLOCK as f64
    };
    heard.iter().map(&mut time).fold(f64::INFINITY, f64::min)
}
