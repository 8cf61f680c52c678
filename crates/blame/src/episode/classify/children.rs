//! Who ends a wait for a child. The kernel wakes whoever waits for any of its children at the end of each, and nothing tells for which one it waited.

use super::answer::End;
use super::classifier::Classifier;
use punctual_recording::episode::{Call, Event, WakingAct};
use std::collections::BTreeSet;

/// So many wakings that follow are looked through for the ends of other children.
const MAX_WAKINGS: usize = 256;

impl Classifier<'_> {
    /// For a wait that ended as a thread did, which is named if it was the only child then.
    pub(super) fn of_children(&self, woken_by: &Event) -> End {
        let others = if waits_for_child(woken_by) { self.other_children(woken_by) } else { 0 };
        match others {
            0 => End::By(woken_by.tid),
            _ => End::NotBy(format!("{} ended, one of {} children", self.thread(woken_by.tid), others + 1)),
        }
    }

    /// How many other children the same thread had as one ended: seen before, and waited for until they ended afterwards.
    fn other_children(&self, woken_by: &Event) -> usize {
        let from_ns = woken_by.at_ns.saturating_add(1);
        let later = self.index.wakings_of(woken_by.value as u32, from_ns, u64::MAX).iter().take(MAX_WAKINGS);
        let ends = later.filter(|event| event.lock_waking().act == WakingAct::Ends && waits_for_child(event));
        let was_there = |tid: &u32| self.index.last_turn(*tid, woken_by.at_ns).is_some();
        let others = ends.map(|event| event.tid).filter(|tid| *tid != woken_by.tid).filter(was_there);
        others.collect::<BTreeSet<u32>>().len()
    }
}

/// Whether the woken thread had called the kernel to wait for a child.
fn waits_for_child(woken_by: &Event) -> bool {
    woken_by.wait_end().is_some_and(|end| end.sleeper == Call::Child)
}
