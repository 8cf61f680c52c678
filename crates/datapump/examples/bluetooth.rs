//! Wrong bits of a Bluetooth receiver by noise, beside theory, and what a sample costs.

#![expect(clippy::print_stdout, reason = "it prints tables")]

#[path = "../tests/support/radio.rs"]
mod air;

use air::Air;
use punctual_datapump::{GFSK_PAYLOAD, Gfsk, gfsk_packet};
use std::f64::consts::TAU;
use std::time::Instant;

const PACKETS: u64 = 4_000;

fn main() {
    println!("| Eb/N0 dB | bits | errors | measured | theory | packets not found |\n|---:|---:|---:|---:|---:|---:|");
    let patterns = Patterns::new();
    for decibels in [8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0] {
        let mut air = Air::new(1, Some(decibels), 0.0);
        let mut receiver = Gfsk::new();
        let (mut bits, mut wrong) = (0u64, 0u64);
        for _ in 0..PACKETS {
            let (samples, payload) = air.packet();
            let mut received = Vec::new();
            receiver.process(&samples, &mut |bit| received.push(bit));
            if received.len() == GFSK_PAYLOAD {
                bits += GFSK_PAYLOAD as u64;
                wrong += received.iter().zip(&payload).filter(|(one, other)| one != other).count() as u64;
            }
        }
        let (measured, theory) = (wrong as f64 / bits as f64, patterns.error_rate(decibels));
        let lost = PACKETS - bits / GFSK_PAYLOAD as u64;
        println!("| {decibels} | {bits} | {wrong} | {measured:.2e} | {theory:.2e} | {lost} |");
    }
    let samples = gfsk_packet(&[true; GFSK_PAYLOAD]);
    let times = (0..200).map(|_| {
        let (mut receiver, began) = (Gfsk::new(), Instant::now());
        receiver.process(&samples, &mut |_| ());
        began.elapsed().as_nanos() as f64 / (samples.len() / 2) as f64
    });
    println!("\n{:.1} ns a sample of 250 ns, the least of 200", times.fold(f64::INFINITY, f64::min));
}

/// The filtered signal at the end of a bit and a bit before, for every run of five bits of which it is the middle one.
struct Patterns(Vec<(bool, [(f64, f64); 2])>);

impl Patterns {
    /// By the transmitter itself: the middle of a packet with this payload has each run of five bits.
    fn new() -> Patterns {
        const PULSE: [f64; 12] = [6., 93., 706., 2659., 5527., 7393., 7393., 5527., 2659., 706., 93., 6.];
        let of = |pattern: u32, shift: usize| {
            let bit = |index: usize| if pattern >> index & 1 == 1 { 1.0 } else { -1.0 };
            let mut phase = 0.0;
            let signal: Vec<(f64, f64)> = (0..32usize)
                .map(|sample| {
                    for (back, part) in PULSE.iter().enumerate() {
                        if sample >= back && (sample - back) % 4 == 0 && (sample - back) / 4 < 5 {
                            phase += TAU / 2.0 * 0.315 * part / 32_768.0 * bit((sample - back) / 4);
                        }
                    }
                    (f64::cos(phase), f64::sin(phase))
                })
                .collect();
            let mean = |end: usize| {
                let sum = signal[end - 3..=end].iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
                (sum.0 / 4.0, sum.1 / 4.0)
            };
            (bit(2) > 0.0, [mean(shift), mean(shift - 4)])
        };
        // The place of a bit at which the eye is widest: where the least turn of the middle bit is the most.
        let turn = |(is_one, [now, then]): (bool, [(f64, f64); 2])| {
            (now.1 * then.0 - now.0 * then.1) * if is_one { 1.0 } else { -1.0 }
        };
        let opening = |shift: usize| (0..32).map(|pattern| turn(of(pattern, shift))).fold(f64::INFINITY, f64::min);
        let shift = (8..24).max_by(|one, other| opening(*one).total_cmp(&opening(*other))).unwrap_or(16);
        Patterns((0..32).map(|pattern| of(pattern, shift)).collect())
    }

    /// A bit is wrong where the sum of the two samples, turned against each other by a quarter, is the smaller one: two
    /// independent lengths with Rice's distribution (Proakis, Digital Communications, appendix B).
    fn error_rate(&self, decibels: f64) -> f64 {
        // Of each part, behind the mean of four samples, for a signal of 1.
        let variance = 2.0 / 10.0_f64.powf(decibels / 10.0) / 4.0;
        let rates = self.0.iter().map(|(is_one, [now, then])| {
            let length = |sign: f64| ((now.0 - sign * then.1).powi(2) + (now.1 + sign * then.0).powi(2)) / 2.0;
            let (larger, smaller) = if *is_one { (length(1.0), length(-1.0)) } else { (length(-1.0), length(1.0)) };
            exceeds(smaller / (2.0 * variance), larger / (2.0 * variance))
        });
        rates.sum::<f64>() / self.0.len() as f64
    }
}

/// How likely the length with the smaller mean is the longer one, by Marcum's Q function as an integral over a turn; both in
/// squares of the mean over twice the variance.
fn exceeds(smaller: f64, larger: f64) -> f64 {
    const STEPS: u32 = 2_000;
    let (root, ratio) = ((smaller * larger).sqrt(), (smaller / larger).sqrt());
    let at = |step: u32| {
        let cosine = ((f64::from(step) + 0.5) * TAU / f64::from(STEPS)).cos();
        let kernel = (1.0 - ratio * cosine) / (1.0 - 2.0 * ratio * cosine + ratio * ratio) - 0.5;
        kernel * (root * cosine - (smaller + larger) / 2.0).exp()
    };
    (0..STEPS).map(at).sum::<f64>() / f64::from(STEPS)
}
