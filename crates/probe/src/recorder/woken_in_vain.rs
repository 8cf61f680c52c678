//! Which of a thread's requests may be a wakeup in vain ([`super::in_vain`]).

use super::requests::Thread;
use super::stretches::{EndedBy, Pause, Stretch};
use punctual_recording::episode::Call;

impl Thread {
    /// Whether the request that is over with a stretch may be a wakeup in vain: it began with that, and its thread reads on where it did before.
    pub(super) fn may_be_in_vain(&mut self, stretch: &Stretch) -> bool {
        let can_be = self.open.is_some_and(|open| {
            let reads_on = stretch.then == Pause::Waits { place: open.place, call: Some(Call::Read) };
            let began = open.expected_ns == stretch.expected_ns && open.place != 0;
            began && stretch.ended_by == EndedBy::Thread && reads_on
        });
        self.in_vain.may_be(stretch.until_ns.saturating_sub(stretch.ran_ns), can_be)
    }
}
