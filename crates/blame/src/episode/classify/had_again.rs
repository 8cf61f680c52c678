//! A lock of a program that its holder lets go and takes again while others wait for it.

use super::classifier::Classifier;
use crate::episode::story::STOPPED;
use punctual_recording::episode::{Event, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_FOR_SPINLOCK, LEFT_UNINTERRUPTIBLE};

/// So many times that a thread left its CPU are looked through.
const MAX_LEAVES: usize = 64;
/// Sleeps within whatever a thread does, for which it may have taken the lock before.
const OF_WORK: u32 = STOPPED | LEFT_FOR_IO | LEFT_FOR_LOCK | LEFT_FOR_SPINLOCK | LEFT_UNINTERRUPTIBLE;

impl Classifier<'_> {
    /// For two wakings by which a lock was let go, one after the other: since when the second one's thread can be known to have had it, ns, if it had let
    /// it go by the first one, too. Such a lock is free until somebody takes it, and whoever was woken may get no CPU for long. If the thread waited for
    /// something else meanwhile, as a server does for its next request, it may have taken the lock only as it ran again; unless whoever was woken has looked by then,
    /// and sleeps on. `None`: as far as anything tells, it took the lock at once.
    pub(super) fn had_again_ns(&self, end: &Event, next: &Event) -> Option<u64> {
        if end.tid != next.tid {
            return None;
        }
        let theirs = self.index.leaves_within(end.value as u32, end.at_ns.saturating_add(1), next.at_ns);
        let looked = theirs.iter().take(MAX_LEAVES).find(|leave| leave.left_state() & LEFT_FOR_LOCK != 0);
        let looked_ns = looked.map_or(next.at_ns, |leave| leave.at_ns);
        let its = self.index.leaves_within(end.tid, end.at_ns, looked_ns).iter().rev().take(MAX_LEAVES);
        let mut sleeps = its.filter(|leave| leave.left_state() != 0 && leave.left_state() & OF_WORK == 0);
        sleeps.find_map(|leave| self.index.next_switch_to(end.tid, leave.at_ns).filter(|runs_ns| *runs_ns < looked_ns))
    }
}
