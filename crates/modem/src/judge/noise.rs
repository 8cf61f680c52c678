//! Wrong bits by noise.

use super::call::{Call, CallPlan};
use super::{Candidate, Judgement, compared};

/// What came of calls with the same noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseRow {
    /// How far the noise is below what is sent, dB, over a band of 3,600 Hz.
    pub signal_to_noise: f64,
    /// Calls made.
    pub calls: u32,
    /// Those that connected at the full rate.
    pub connected: u32,
    /// Those that lasted.
    pub lasted: u32,
    /// Bits compared, in all calls and directions.
    pub bits: u64,
    /// Those of them that were wrong.
    pub wrong: u64,
    /// How often bits were lost or added in between.
    pub slips: u32,
}

impl NoiseRow {
    /// The share of wrong bits; `None`: none was compared.
    pub fn error_rate(&self) -> Option<f64> {
        (self.bits > 0).then(|| self.wrong as f64 / self.bits as f64)
    }

    /// Whether each call connected and lasted, and no bit was wrong, lost or added.
    pub fn is_flawless(&self) -> bool {
        self.connected == self.calls && self.lasted == self.calls && self.bits > 0 && (self.wrong, self.slips) == (0, 0)
    }
}

/// `None`: the ends could not be made.
pub(super) fn row(candidate: &dyn Candidate, how: &Judgement, level: f64, signal_to_noise: f64) -> Option<NoiseRow> {
    let mut row = NoiseRow { signal_to_noise, calls: how.calls, connected: 0, lasted: 0, bits: 0, wrong: 0, slips: 0 };
    let plan = CallPlan { level, signal_to_noise, retrains: false, random: true };
    for place in 0..how.calls {
        let mut call = Call::new(candidate, how, how.seed.wrapping_add(u64::from(place)), &plan)?;
        let rate = candidate.bits_per_second();
        if !call.connect(8) || call.ends[1].status().bits_per_second != rate {
            continue;
        }
        row.connected += 1;
        call.run(call.samples(how.compared_ms * 1_000), false, &mut || 0);
        let due = u64::from(how.compared_ms) * u64::from(rate) / 1_000;
        // A call that lasted has brought nearly every bit, in each direction.
        let lasted = call.is_connected() && call.ways().iter().all(|way| way.came >= due * 9 / 10);
        row.lasted += u32::from(lasted);
        for way in call.ways() {
            let compared = compared(&way.sent, &way.received);
            row.bits += compared.bits;
            row.wrong += compared.wrong;
            row.slips += compared.slips;
        }
    }
    Some(row)
}
