//! When samples saw what they saw.

use punctual_recording::Episode;
use punctual_recording::episode::{EventKind, IN_NMI, StackSample};

/// The sampling clock's interrupt takes no longer to come to the sample, ns.
const SAMPLING_NS: u64 = 1_000_000;

/// When a sample saw what it saw. A clock that is an interrupt itself sees what it interrupted, which was when the
/// interrupt began; one that interrupts even interrupts sees its own moment.
pub fn seen_at(episode: &Episode, sample: &StackSample) -> u64 {
    if sample.context & IN_NMI != 0 {
        return sample.at_ns;
    }
    let before = episode.events.iter().filter(|event| {
        event.cpu == sample.cpu && event.at_ns <= sample.at_ns && sample.at_ns - event.at_ns < SAMPLING_NS
    });
    let edges = before.filter(|event| matches!(event.kind, EventKind::VectorBegin | EventKind::VectorEnd));
    match edges.max_by_key(|event| event.at_ns) {
        Some(begin) if begin.kind == EventKind::VectorBegin => begin.at_ns,
        _ => sample.at_ns,
    }
}
