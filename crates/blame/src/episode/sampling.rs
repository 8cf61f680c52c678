//! When samples saw what they saw.

use crate::episode::index::Index;
use punctual_recording::episode::{EventKind, IN_NMI, StackSample};

/// The sampling clock's interrupt takes no longer to come to the sample, ns.
const SAMPLING_NS: u64 = 1_000_000;

/// When a sample saw what it saw. A clock that is an interrupt itself sees what it interrupted, which was when the
/// interrupt began; one that interrupts even interrupts sees its own moment.
pub(crate) fn seen_at(index: &Index<'_>, sample: &StackSample) -> u64 {
    if sample.context & IN_NMI != 0 {
        return sample.at_ns;
    }
    let edge = index.last_vector(sample.cpu, sample.at_ns);
    match edge.filter(|edge| sample.at_ns - edge.at_ns < SAMPLING_NS) {
        Some(begin) if begin.kind == EventKind::VectorBegin => begin.at_ns,
        _ => sample.at_ns,
    }
}
