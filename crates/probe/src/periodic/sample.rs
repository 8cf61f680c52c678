//! What a measuring thread hands on: one cache line for each wakeup.

use punctual_recording::{Stamps, Wakeup};

/// One wakeup as the measuring thread saw it. Times are ns of `CLOCK_MONOTONIC`, 0 if not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Sample {
    pub(crate) expected: u64,
    pub(crate) user: u64,
    pub(crate) irq: u64,
    pub(crate) softirq: u64,
    pub(crate) waking: u64,
    pub(crate) switch_in: u64,
    pub(crate) steal: u64,
    pub(crate) cpu: u32,
    /// Activations missed directly after this one; as many as fit.
    pub(crate) missed: u32,
}

impl Sample {
    /// The wakeup, with steal if it can be known.
    pub(crate) fn wakeup(&self, tid: u32, steal_known: bool) -> Wakeup {
        let stamps = Stamps {
            expected: self.expected,
            irq: self.irq,
            softirq: self.softirq,
            waking: self.waking,
            switch_in: self.switch_in,
            user: self.user,
        };
        let mut wakeup = Wakeup::from_stamps(&stamps, self.cpu, tid);
        wakeup.missed = u64::from(self.missed);
        wakeup.steal_ns = (steal_known && wakeup.is_observed()).then(|| self.steal.min(wakeup.total_ns));
        wakeup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_one_cache_line() {
        assert_eq!(size_of::<Sample>(), 64);
    }
}
