//! What the host took from this machine's CPUs, as attempts count it.

use punctual_kernel::steal;
use std::collections::VecDeque;

/// What the host took in the last seconds, to the 10 ms that the kernel counts in.
#[derive(Debug, Default)]
pub(super) struct Stolen {
    sum_ns: Option<u64>,
    /// When more was seen, and how much more.
    taken: VecDeque<(u64, u64)>,
}

/// How much later than it happens stealing is seen, ns: a look and a tick.
const SEEN_LATER_NS: u64 = 40_000_000;
/// Older entries are forgotten; no job is that long.
const MAX_TAKEN: usize = 1_024;

impl Stolen {
    /// Looks at the CPUs now.
    pub(super) fn look(&mut self, cpus: &[u32], now_ns: u64) {
        let sum_ns = steal::steal_ns(cpus);
        let more_ns = sum_ns.zip(self.sum_ns).map_or(0, |(now, before)| now.saturating_sub(before));
        self.sum_ns = sum_ns;
        if more_ns > 0 {
            self.taken.push_back((now_ns, more_ns));
        }
        while self.taken.len() >= MAX_TAKEN {
            self.taken.pop_front();
        }
    }

    /// What was taken in this time, ns.
    pub(super) fn between(&self, from_ns: u64, to_ns: u64) -> u64 {
        let within = |at_ns: u64| (from_ns..=to_ns.saturating_add(SEEN_LATER_NS)).contains(&at_ns);
        self.taken.iter().filter(|(at_ns, _)| within(*at_ns)).map(|(_, more_ns)| more_ns).sum()
    }
}
