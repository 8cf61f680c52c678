//! In how many of its requests a thread waits for nobody, and whether it was seen to ask in those, see [`super::unanswered`].

/// So often a thread has to be seen to ask: whoever it woke may have been woken for something else.
const MIN_SEEN: u32 = 3;
/// So many times as many of its requests have to wait for nobody as there are: a client that waits for its answers may find one there now and then.
const TO_ALONE: u64 = 4;

/// What is known of one thread's requests that its clock begins.
#[derive(Default)]
pub(super) struct Asks {
    /// How many count as sure so far, how many of them wait for nobody, ...
    all: u64,
    alone: u64,
    /// ... and in how many of these it was seen to ask.
    seen: u32,
    /// How many of all were not taken back.
    sure: u64,
    /// How many of those alone count for its program.
    told_alone: u64,
}

impl Asks {
    /// So many more are over, and count as sure.
    pub(super) fn are_over(&mut self, all: u64, alone: u64) {
        (self.all, self.alone) = (self.all + all, self.alone + alone);
        (self.sure, self.told_alone) = (self.sure + all, self.told_alone + alone);
    }

    /// Whether its requests may be only a question, or only what follows the answer.
    pub(super) fn may_be_unanswered(&self) -> bool {
        self.seen >= MIN_SEEN && self.alone.saturating_mul(TO_ALONE) >= self.all
    }
    /// It was seen to ask in one of those in which it waited for nobody.
    pub(super) fn was_seen(&mut self) {
        self.seen = self.seen.saturating_add(1);
    }

    /// So many do not count as sure, for another reason.
    pub(super) fn are_not_sure(&mut self, requests: u64) {
        self.sure = self.sure.saturating_sub(requests);
    }

    /// None of them is sure: how many were left, and how many of them alone counted for its program.
    pub(super) fn take_back(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.sure), std::mem::take(&mut self.told_alone))
    }
}
