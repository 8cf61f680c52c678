//! Whether a request began as somebody asked the late thread for something, or as it was answered itself.

use super::answer::End;
use super::classifier::Classifier;
use crate::episode::story::waking;
use punctual_recording::Stage;
use punctual_recording::episode::{Event, LEFT_FOR_LOCK, LEFT_FOR_SPINLOCK};

/// No chain of wakings is followed further back.
const MAX_STEPS: usize = 32;

impl Classifier<'_> {
    /// Whether the time of a request begins as a thread wakes the late one that nothing but the late one, as far as is
    /// seen, had set going: then this may be the answer to a question and no request. Where a thread waits only for
    /// other threads, where its requests begin is assumed, see [`Stage::Request`], unless a look told.
    pub(crate) fn may_begin_with_an_answer(&self) -> bool {
        let is_asked_for = self.episode.is_asked_for;
        if self.subject.stage != Stage::Request || !self.subject.is_due || is_asked_for {
            return false;
        }
        let Some(first) = waking(self.episode, &self.subject).map(|index| &self.episode.events[index]) else {
            return false;
        };
        let End::By(mut tid) = self.direct_end(first) else { return false };
        let mut reached_ns = first.at_ns;
        for _ in 0..MAX_STEPS {
            let before = reached_ns.checked_sub(1).and_then(|until_ns| self.index.last_woken(tid, until_ns));
            let Some(before) = before else { return true };
            reached_ns = before.at_ns;
            if self.was_for_a_lock(before) {
                continue;
            }
            match self.direct_end(before) {
                End::By(by) if by == self.subject.tid => return true,
                End::By(by) => tid = by,
                // It sets out by itself: because it is time, or because somebody outside asks.
                End::Timer | End::Network => return false,
                // A sleep within its work.
                End::Device | End::NotBy(_) => {}
            }
        }
        true
    }

    /// Whether the thread that an event wakes had slept for a lock: who let that go did not set it going.
    fn was_for_a_lock(&self, event: &Event) -> bool {
        let left = u32::try_from(event.value).ok().and_then(|tid| self.index.last_leave(tid, event.at_ns));
        left.is_some_and(|leave| leave.left_state() & (LEFT_FOR_LOCK | LEFT_FOR_SPINLOCK) != 0)
    }
}
