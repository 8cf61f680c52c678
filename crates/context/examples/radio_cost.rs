//! What a complex sample costs the receivers of Bluetooth and of 802.11b, on this processor and as a BPF program. Run
//! as root with `cargo run -p punctual-context --example radio_cost`; it takes a second.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use punctual_context::radio::KernelRadio;
use punctual_datapump::{DSSS_UNIT, Dsss, DsssRate, GFSK_UNIT, Gfsk, dsss_frame, dsss_packet, gfsk_packet};
use std::time::Instant;

const TRIALS: u32 = 100;

fn main() {
    println!("ns a sample from a packet's beginning to its end, the least of {TRIALS}");
    println!("signal         packet us  a sample ns  native    BPF");
    let packet = gfsk_packet(&[true; 240]);
    let mut receiver = Gfsk::new();
    let native = least(&packet, GFSK_UNIT, |samples| receiver.process(samples, &mut |_| ()));
    let kernel = KernelRadio::gfsk(&Gfsk::new());
    let kernel = kernel.map(|mut kernel| {
        least(&packet, GFSK_UNIT, |samples| {
            kernel.process(samples, &mut |_| ()).expect("a program that was loaded runs")
        })
    });
    row("Bluetooth", packet.len(), 250.0, native, kernel.map_err(|refused| refused.to_string()));
    for (rate, octets) in
        [(DsssRate::One, 32), (DsssRate::Two, 64), (DsssRate::FiveAndAHalf, 176), (DsssRate::Eleven, 352)]
    {
        let packet = dsss_packet(&dsss_frame(&vec![0x5a; octets - 4]), rate);
        let mut receiver = Dsss::new();
        let native = least(&packet, DSSS_UNIT, |samples| receiver.process(samples, &mut |_| ()));
        let kernel = KernelRadio::dsss(&Dsss::new()).map(|mut kernel| {
            least(&packet, 256, |samples| {
                kernel.process(samples, &mut |_| ()).expect("a program that was loaded runs");
            })
        });
        let name = format!("802.11b {}", f64::from(rate.bits_per_second()) / 1e6);
        row(&name, packet.len(), 1e3 / 22.0, native, kernel.map_err(|refused| refused.to_string()));
    }
}

fn row(name: &str, parts: usize, sample_ns: f64, native: f64, kernel: Result<f64, String>) {
    let microseconds = parts as f64 / 2.0 * sample_ns / 1e3;
    let kernel = kernel.map_or_else(|refused| format!("unavailable: {refused}"), |time| format!("{time:6.1}"));
    println!("{name:14} {microseconds:9.0} {sample_ns:12.1} {native:7.1} {kernel}");
}

/// The least that a packet takes, ns a complex sample.
fn least(packet: &[i16], block: usize, mut work: impl FnMut(&[i16])) -> f64 {
    let times = (0..TRIALS).map(|_| {
        let began = Instant::now();
        packet.chunks(2 * block).for_each(&mut work);
        began.elapsed().as_nanos() as f64 / (packet.len() / 2) as f64
    });
    times.fold(f64::INFINITY, f64::min)
}
