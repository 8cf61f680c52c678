//! What theory says about wrong bits.

use punctual_datapump::DsssRate;
use std::f64::consts::TAU;

/// The filtered signal at the end of a bit and one bit earlier, for every run of five bits of which it is the middle one.
pub(crate) struct Patterns(Vec<(bool, [(f64, f64); 2])>);

impl Patterns {
    /// From the transmitter itself: the middle of a packet with this payload contains each run of five bits.
    pub(crate) fn new() -> Patterns {
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
        // The point of a bit at which the eye is widest: where the smallest turn of the middle bit is largest.
        let turn = |(is_one, [now, then]): (bool, [(f64, f64); 2])| {
            (now.1 * then.0 - now.0 * then.1) * if is_one { 1.0 } else { -1.0 }
        };
        let opening = |shift: usize| (0..32).map(|pattern| turn(of(pattern, shift))).fold(f64::INFINITY, f64::min);
        let shift = (8..24).max_by(|one, other| opening(*one).total_cmp(&opening(*other))).unwrap_or(16);
        Patterns((0..32).map(|pattern| of(pattern, shift)).collect())
    }

    /// A bit is wrong if the sum of the two samples, turned against each other by a quarter, is the smaller one: two
    /// independent lengths with Rice's distribution (Proakis, Digital Communications, appendix B).
    pub(crate) fn error_rate(&self, decibels: f64) -> f64 {
        // Of each part, after taking the mean of four samples, for a signal of 1.
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

/// How likely a bit of 802.11b is wrong after the descrambler, which turns one error into three.
///
/// A half turn or none between two symbols: half of an exponential; quarters of a turn, Gray coded: Proakis, Digital
/// Communications, 5.2.8. One of several codes by its length alone: the sum over all others (the union bound) of the
/// error between the two (Proakis, 5.4.4), with the bits that would be wrong then, including those of the phase; and
/// besides that its quarters.
pub(crate) fn of_80211b(rate: DsssRate, decibels: f64) -> f64 {
    let energy = 10.0_f64.powf(decibels / 10.0);
    let wrong = match rate {
        DsssRate::One => (-energy).exp() / 2.0,
        DsssRate::Two => of_quarters(energy),
        DsssRate::FiveAndAHalf => of_codes(&[(1, 0, 0), (3, 0, 0), (1, 0, 2), (3, 0, 2)], 4.0, energy),
        DsssRate::Eleven => {
            let all: Vec<_> = (0..64u32).map(|code| (code & 3, code >> 2 & 3, code >> 4)).collect();
            of_codes(&all, 8.0, energy)
        }
    };
    (1.0 - (1.0 - 2.0 * wrong.min(0.5)).powi(3)) / 2.0
}

fn of_quarters(energy: f64) -> f64 {
    exceeds(2.0 * energy * (1.0 - 0.5_f64.sqrt()), 2.0 * energy * (1.0 + 0.5_f64.sqrt()))
}

type Code = (u32, u32, u32);

fn of_codes(codes: &[Code], bits: f64, energy: f64) -> f64 {
    let of_symbol = energy * bits;
    let others = codes[1..].iter().map(|other| {
        let (re, im) = likeness(codes[0], *other);
        let apart = (1.0 - (re * re + im * im)).max(0.0).sqrt();
        let likely = exceeds(of_symbol / 2.0 * (1.0 - apart), of_symbol / 2.0 * (1.0 + apart));
        likely * (wrong_bits(codes[0], *other) + phase_bits(re, im))
    });
    (others.sum::<f64>() + 2.0 * of_quarters(of_symbol / 2.0)) / bits
}

/// How much of one code is left in another, from 0 to 1.
fn likeness(one: Code, other: Code) -> (f64, f64) {
    let quarters = |(a, b, c): Code| [a + b + c, b + c, a + c, c, a + b, b, a, 0];
    let turns = quarters(one).into_iter().zip(quarters(other)).map(|(one, other)| (one + 4 * 4 - other) % 4);
    let sum = turns.fold((0.0, 0.0), |(re, im), turn| {
        let (cosine, sine) = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][turn as usize];
        (re + cosine, im + sine)
    });
    (sum.0 / 8.0, sum.1 / 8.0)
}

fn wrong_bits(one: Code, other: Code) -> f64 {
    f64::from((one.0 ^ other.0).count_ones() + (one.1 ^ other.1).count_ones() + (one.2 ^ other.2).count_ones())
}

/// Wrong bits of this symbol's turn and of the next one's, if another code was taken that has such a phase.
fn phase_bits(re: f64, im: f64) -> f64 {
    // Random if nothing is left of it, or as much in one direction as in the other.
    if re.abs() == im.abs() {
        return 2.0;
    }
    match () {
        () if re > im.abs() => 0.0,
        () if -re > im.abs() => 4.0,
        () => 2.0,
    }
}
