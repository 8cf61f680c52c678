//! Who ends a wait for a child. The kernel wakes whoever waits for any of its children at the end of each, and nothing tells for which one it waited: only
//! that it waits on shows that this was not the one.

use super::answer::End;
use super::classifier::{Classifier, LOOK_NS};
use punctual_recording::episode::{Call, Event, WakingAct};

/// How many ends of children in a row are looked through, and how many wakings for the next one.
const MAX_CHILDREN: usize = 64;

impl Classifier<'_> {
    /// For a wait that ended as a thread did. Whoever waits on at once, and for another child, waited for that one all the time; if it does something before,
    /// while that one was there already, it may have needed either.
    pub(super) fn of_children(&self, woken_by: &Event) -> End {
        let mut last = woken_by;
        for _ in 0..MAX_CHILDREN {
            match self.next_child(last) {
                Some((next, true)) => last = next,
                Some((next, false)) if self.was_there(next.tid, last.at_ns) => {
                    let ended = self.thread(last.tid);
                    return End::NotBy(format!(
                        "{ended} ended, one of several children, and then it waited for another"
                    ));
                }
                _ => break,
            }
        }
        End::By(last.tid)
    }

    /// The end of another child for which the same thread waited next, and whether it did so at once.
    fn next_child(&self, woken_by: &Event) -> Option<(&Event, bool)> {
        let parent = woken_by.value as u32;
        let from_ns = woken_by.at_ns.saturating_add(1);
        let until_ns = self.subject.end_ns.saturating_add(1);
        let is_end = |event: &Event| event.lock_waking().act == WakingAct::Ends && waits_for_child(event);
        let later = self.index.wakings_of(parent, from_ns, until_ns).iter().copied().take(MAX_CHILDREN);
        let next = later.filter(|event| event.tid != woken_by.tid).find(|event| is_end(event));
        let next: &Event = next.filter(|_| waits_for_child(woken_by))?;
        let waits_on = self.next_wait(woken_by).filter(|(_, ran_ns)| *ran_ns < LOOK_NS);
        Some((next, waits_on.is_some_and(|(first, _)| first == next)))
    }

    /// Whether a thread is seen before a time.
    fn was_there(&self, tid: u32, at_ns: u64) -> bool {
        self.index.last_turn(tid, at_ns).is_some()
    }
}

/// Whether the woken thread had called the kernel to wait for a child.
fn waits_for_child(woken_by: &Event) -> bool {
    woken_by.wait_end().is_some_and(|end| end.sleeper == Call::Child)
}
