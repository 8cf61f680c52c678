//! What a sample costs.

use super::call::{Call, CallPlan};
use super::{Candidate, Judgement};
use punctual_line::NOMINAL_LEVEL;

/// Processor time for a sample while connected, ns, at the end that calls or sends and at the one that answers or receives:
/// the least of many stretches, and their median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// The least at each end.
    pub least_ns: [f64; 2],
    /// The median at each end.
    pub median_ns: [f64; 2],
}

/// Stretches that are timed, and how long each is, us: long beside what reading a clock takes.
const STRETCHES: usize = 60;
const STRETCH_US: u32 = 100_000;

/// What a sample costs, and the level at which the first end sends. The cost is `None` if it did not connect over this line;
/// all of it if the ends could not be made.
pub(super) fn measured(
    candidate: &dyn Candidate,
    how: &Judgement,
    clock: &mut dyn FnMut() -> u64,
) -> Option<(Option<Cost>, f64)> {
    let plan = CallPlan { level: NOMINAL_LEVEL, signal_to_noise: how.losses_at, retrains: true, random: true };
    let mut call = Call::new(candidate, how, how.seed, &plan)?;
    if !call.connect(8) {
        return Some((None, NOMINAL_LEVEL));
    }
    call.run(call.samples(500_000), false, &mut || 0);
    let (samples, began, energy) = (call.samples(STRETCH_US), call.now, call.energy);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..STRETCHES {
        let computed = call.run(samples, false, clock);
        for (times, computed) in times.iter_mut().zip(computed) {
            times.push(computed as f64 / samples as f64);
        }
    }
    let level = ((call.energy - energy) / (call.now - began) as f64).sqrt();
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let [first, second] = &times;
    let cost = Cost { least_ns: [first[0], second[0]], median_ns: [first[STRETCHES / 2], second[STRETCHES / 2]] };
    Some((Some(cost), level))
}
