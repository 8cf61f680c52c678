//! What lost samples do to a call.

use super::call::{Call, CallPlan};
use super::{Candidate, Judgement};

/// What came of calls in which the second end lost as many samples, once.
#[derive(Debug, Clone, PartialEq)]
pub struct LossRow {
    /// For how long it took nothing and sent silence, us.
    pub length_us: u32,
    /// The same in samples.
    pub samples: u64,
    /// Calls made that were connected before.
    pub calls: u32,
    /// Those in which an end trained again.
    pub retrained: u32,
    /// Those in which a receiver gave its carrier up, for however long.
    pub lost_carrier: u32,
    /// Those that carried every bit again within 12 s, and did so for a second.
    pub recovered: u32,
    /// Wrong bits of a call, both directions: the median of the calls.
    pub wrong: u64,
    /// For how long bits were wrong or missing, ms: the median of the calls that recovered.
    pub disturbed_ms: Option<u64>,
}

/// For how long a call may take until it is as before, s, and for how long it must then stay so.
const MAX_RECOVERY_S: u32 = 12;

/// `None`: the ends could not be made.
pub(super) fn row(candidate: &dyn Candidate, how: &Judgement, level: f64, length_us: u32) -> Option<LossRow> {
    let plan = CallPlan { level, signal_to_noise: how.losses_at, retrains: true, random: false };
    let (mut wrong, mut disturbed) = (Vec::new(), Vec::new());
    let mut row = LossRow {
        length_us,
        samples: 0,
        calls: 0,
        retrained: 0,
        lost_carrier: 0,
        recovered: 0,
        wrong: 0,
        disturbed_ms: None,
    };
    for place in 0..how.calls {
        let mut call = Call::new(candidate, how, how.seed.wrapping_add(u64::from(place)), &plan)?;
        row.samples = call.samples(length_us);
        if !call.connect(8) {
            continue;
        }
        row.calls += 1;
        // At another point of a symbol in each call.
        call.run(call.samples(1_000_000) + 31 * u64::from(place), false, &mut || 0);
        let zeros = |call: &Call| call.ways().iter().map(|way| way.zeros).sum::<u64>();
        let (before, retrains) = (zeros(&call), call.retrains());
        let course = after_a_loss(&mut call, row.samples, candidate.bits_per_second());
        wrong.push(zeros(&call) - before);
        row.retrained += u32::from(call.retrains() > retrains);
        row.lost_carrier += u32::from(course.lost_carrier);
        if let Some(samples) = course.disturbed {
            row.recovered += 1;
            disturbed.push(samples * 1_000 / u64::from(candidate.sample_rate().hertz()));
        }
    }
    row.wrong = median(&mut wrong).unwrap_or(0);
    row.disturbed_ms = median(&mut disturbed);
    Some(row)
}

struct AfterLoss {
    lost_carrier: bool,
    /// Samples from the loss until it was as before; `None`: it never was.
    disturbed: Option<u64>,
}

fn after_a_loss(call: &mut Call, samples: u64, bits_per_second: u32) -> AfterLoss {
    let began = call.now;
    let second = call.samples(1_000_000);
    call.run(samples, true, &mut || 0);
    let (mut lost_carrier, mut newest) = (false, call.now);
    while call.now < began + samples + (u64::from(MAX_RECOVERY_S) + 1) * second {
        let before: Vec<(u64, u64)> = call.ways().iter().map(|way| (way.came, way.zeros)).collect();
        let block = call.block();
        call.run(block as u64, false, &mut || 0);
        lost_carrier |= !call.is_connected();
        // Symbols come whole: a block may have one more or less, of up to six bits.
        let due = (block as u64 * u64::from(bits_per_second) / second).saturating_sub(8);
        let is_bad =
            |(way, (came, zeros)): (&super::call::Way, &(u64, u64))| way.zeros > *zeros || way.came < *came + due;
        if !call.is_connected() || call.ways().iter().zip(&before).any(is_bad) {
            newest = call.now;
        }
        if call.now >= newest + second {
            return AfterLoss { lost_carrier, disturbed: Some(newest - began) };
        }
    }
    AfterLoss { lost_carrier, disturbed: None }
}

fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
