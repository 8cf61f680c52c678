//! Wrong bits of the receivers of Bluetooth and of 802.11b by noise, beside theory, and what a sample costs.

#![expect(clippy::print_stdout, reason = "it prints tables")]

#[path = "../../tests/support/radio.rs"]
mod air;
mod theory;

use air::{Kind, Packets};
use punctual_datapump::{Dsss, DsssRate, Gfsk};
use std::time::Instant;
use theory::{Patterns, of_80211b};

const PACKETS: u64 = 4_000;
/// Octets of a frame of 802.11b.
const OCTETS: usize = 60;

fn main() {
    println!("| Eb/N0 dB | bits | errors | measured | theory | packets not found |\n|---:|---:|---:|---:|---:|---:|");
    let patterns = Patterns::new();
    for decibels in [8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0] {
        row("", Kind::Gfsk, decibels, patterns.error_rate(decibels));
    }
    println!("\n| Mbit/s | Eb/N0 dB | bits | errors | measured | theory | packets not found |");
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    for (rate, name, all) in [
        (DsssRate::One, "1", [6.0, 8.0, 10.0]),
        (DsssRate::Two, "2", [8.0, 10.0, 12.0]),
        (DsssRate::FiveAndAHalf, "5.5", [4.0, 6.0, 8.0]),
        (DsssRate::Eleven, "11", [4.0, 6.0, 8.0]),
    ] {
        for decibels in all {
            row(&format!("| {name} "), Kind::Dsss(rate, OCTETS), decibels, of_80211b(rate, decibels));
        }
    }
    println!();
    println!("{:.1} ns a sample of 250 ns, Bluetooth, the least of 200", least(Kind::Gfsk));
    for rate in DsssRate::ALL {
        println!("{:.1} ns a sample of 45 ns, 802.11b, {rate:?}, the least of 200", least(Kind::Dsss(rate, 352)));
    }
}

/// Passes on the bits of these samples.
fn receive(kind: Kind) -> impl FnMut(&[i16]) -> Vec<bool> {
    let (mut gfsk, mut dsss) = (Gfsk::new(), Dsss::new());
    move |samples: &[i16]| {
        let mut received = Vec::new();
        match kind {
            Kind::Gfsk => gfsk.process(samples, &mut |bit| received.push(bit)),
            Kind::Dsss(..) => dsss.process(samples, &mut |bit| received.push(bit)),
        }
        received
    }
}

fn row(first: &str, kind: Kind, decibels: f64, theory: f64) {
    let (mut packets, mut receive) = (Packets::new(kind, 1, Some(decibels), 0.0), receive(kind));
    let (mut bits, mut wrong) = (0u64, 0u64);
    for _ in 0..PACKETS {
        let (samples, sent) = packets.packet();
        let received = receive(&samples);
        if received.len() == kind.bits() {
            bits += kind.bits() as u64;
            wrong += received.iter().zip(&sent).filter(|(one, other)| one != other).count() as u64;
        }
    }
    let (measured, lost) = (wrong as f64 / bits as f64, PACKETS - bits / kind.bits() as u64);
    println!("{first}| {decibels} | {bits} | {wrong} | {measured:.2e} | {theory:.2e} | {lost} |");
}

/// What a sample costs, from before a packet to after it, ns.
fn least(kind: Kind) -> f64 {
    let (samples, _) = Packets::new(kind, 1, Some(30.0), 0.0).packet();
    let times = (0..200).map(|_| {
        let (mut receive, began) = (receive(kind), Instant::now());
        receive(&samples);
        began.elapsed().as_nanos() as f64 / (samples.len() / 2) as f64
    });
    times.fold(f64::INFINITY, f64::min)
}
