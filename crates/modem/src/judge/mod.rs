//! Modems of several makes over one line, in virtual time: how many bits are wrong by noise, what lost samples do, and what
//! a sample costs. A modem that others wrote says by this whether ours is one that could be.

mod call;
mod compared;
mod cost;
mod losses;
mod noise;
mod ours;

pub use compared::{Compared, compared};
pub use cost::Cost;
pub use losses::LossRow;
pub use noise::NoiseRow;
pub use ours::Ours;

use crate::end::Pump;
use punctual_line::{LineOptions, SampleRate};
use std::ops::RangeInclusive;

/// The two ends of a call. The first calls or, if only one sends, sends.
pub type Pair = [Box<dyn Pump>; 2];

/// A modem to be judged.
pub trait Candidate {
    /// Its name.
    fn name(&self) -> String;
    /// Who made it: ours, or a library.
    fn maker(&self) -> &'static str;
    /// Bits a second in each direction that it has.
    fn bits_per_second(&self) -> u32;
    /// Samples a second.
    fn sample_rate(&self) -> SampleRate;
    /// Whether both ends send, at the same time.
    fn is_duplex(&self) -> bool;
    /// Two ends that have not begun; `retrains`: whether they may train again by themselves. `None`: there is no memory for them.
    fn pair(&self, retrains: bool) -> Option<Pair>;
}

/// How modems are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Chooses noise and bits; calls use it and those that follow.
    pub seed: u64,
    /// Calls for each ratio, and for each length of a loss.
    pub calls: u32,
    /// How far noise is below what is sent, dB; the least noise is tried first.
    pub ratios: RangeInclusive<u32>,
    /// For how long bits are compared in each call, ms of the line's time.
    pub compared_ms: u32,
    /// The line, but for its noise and delay.
    pub line: LineOptions,
    /// The noise while samples are lost, dB below the signal.
    pub losses_at: f64,
    /// For how long an end loses what comes, us of the line's time.
    pub losses_us: Vec<u32>,
}

impl Default for Judgement {
    fn default() -> Judgement {
        Judgement {
            seed: 1,
            calls: 4,
            ratios: 2..=30,
            compared_ms: 5_000,
            line: LineOptions::telephone(),
            losses_at: 35.0,
            losses_us: vec![12_500, 12_700, 50_000, 100_000, 500_000],
        }
    }
}

/// What is known of a modem.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// Who made it.
    pub maker: &'static str,
    /// Bits a second in each direction that it has.
    pub bits_per_second: u32,
    /// Samples a second.
    pub sample_rate: u32,
    /// Whether both ends send, at the same time.
    pub is_duplex: bool,
    /// What it sends: a root mean square, of 32,767. Noise is relative to this.
    pub level: f64,
    /// From the least noise to the most.
    pub noise: Vec<NoiseRow>,
    /// From the shortest loss to the longest.
    pub losses: Vec<LossRow>,
    /// What a sample costs.
    pub cost: Option<Cost>,
}

impl Judged {
    /// The least ratio, dB, from which on no bit is wrong and each call connects; `None`: there is none.
    pub fn flawless_from(&self) -> Option<f64> {
        self.noise.iter().take_while(|row| row.is_flawless()).last().map(|row| row.signal_to_noise)
    }
}

/// A modem whose bits are wrong more often than this is not tried with more noise.
const MAX_ERROR_RATE: f64 = 0.02;

/// Judges a modem. `clock` says how long this thread has computed, ns. `go_on` gets what part is done, 0 to 1, and says
/// whether to go on; `None`: it said no, or the modem could not be made.
pub fn judge(
    candidate: &dyn Candidate,
    how: &Judgement,
    clock: &mut dyn FnMut() -> u64,
    go_on: &mut dyn FnMut(f64) -> bool,
) -> Option<Judged> {
    let (cost, level) = cost::measured(candidate, how, clock)?;
    let mut judged = Judged {
        name: candidate.name(),
        maker: candidate.maker(),
        bits_per_second: candidate.bits_per_second(),
        sample_rate: candidate.sample_rate().hertz(),
        is_duplex: candidate.is_duplex(),
        level,
        noise: Vec::new(),
        losses: Vec::new(),
        cost,
    };
    // Noise is two thirds of the work, and what lost samples do the rest.
    let tried = how.ratios.clone().count() as f64;
    for (place, ratio) in how.ratios.clone().rev().enumerate() {
        if !go_on(0.7 * place as f64 / tried) {
            return None;
        }
        let row = noise::row(candidate, how, level, f64::from(ratio))?;
        let is_enough = row.connected == 0 || row.error_rate().is_some_and(|rate| rate > MAX_ERROR_RATE);
        judged.noise.push(row);
        if is_enough {
            break;
        }
    }
    for (place, length_us) in how.losses_us.iter().enumerate() {
        if !go_on(0.7 + 0.3 * place as f64 / how.losses_us.len() as f64) {
            return None;
        }
        judged.losses.push(losses::row(candidate, how, level, *length_us)?);
    }
    Some(judged)
}

#[cfg(test)]
mod tests;
