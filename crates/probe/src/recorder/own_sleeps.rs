//! A followed thread's own sleeps: which of them lie within its requests.

use super::requests::{MAX_SLEEPS, Thread};
use super::sleeps::SETTLED;
use super::stretches::{EndedBy, Stretch};
use punctual_recording::episode::Call;

impl Thread {
    /// Whether it waits for what comes by connections that its program accepted, and sets out by nothing else. One that keeps a clock, or pauses for
    /// differently long each time, may have asked for that: whoever it asked may answer by a connection of its own. So may a collector.
    pub(super) fn is_a_server(&self) -> bool {
        let may_ask = self.lengths.keep_a_clock() || self.pauses.may_ask_after() || self.is_a_collector();
        (!self.accepted.is_empty() || self.is_made) && !may_ask
    }

    /// Whether a thread that sleeps at a place, or whose wait there a timer ended, does so within its requests: it waits elsewhere for those.
    pub(super) fn sleeps_within(&self, place: u32, call: Option<Call>, ended_by: Option<EndedBy>) -> bool {
        let sleeps = call == Some(Call::Sleep) || ended_by == Some(EndedBy::Timer);
        sleeps && self.is_a_server() && !self.accepted.contains(&place) && !self.is_source(place)
    }

    /// A server that sleeps within its requests waits for the next one before long.
    pub(super) fn note_sleep(&mut self, place: u32, call: Option<Call>, stretch: &Stretch) {
        let is_by_timer = stretch.ended_by == EndedBy::Timer;
        if self.accepted.contains(&place) {
            if self.sleeps == 0 && matches!(call, Some(Call::Read | Call::Poll)) {
                self.pauses.went_on();
            }
            self.sleeps = 0;
        } else if call == Some(Call::Sleep) || is_by_timer && !self.answered.contains(&place) {
            // What ends where it waits for others, too, is no sleep within a request.
            if is_by_timer && !self.is_unclear(place) {
                self.lengths.slept(self.since_ns, stretch.expected_ns);
                if self.sleeps == 0 && !self.accepted.is_empty() {
                    self.pauses.paused(stretch.expected_ns.saturating_sub(self.since_ns));
                }
            }
            self.sleeps = self.sleeps.saturating_add(1);
            if self.sleeps > MAX_SLEEPS {
                self.accepted.clear();
                self.is_made = false;
            }
        }
    }

    /// Whether the wait before a stretch was a sleep that ended at another time than the thread's clock would wake it, as one between two tries.
    pub(super) fn slept_out_of_step(&self, stretch: &Stretch) -> bool {
        stretch.ended_by == EndedBy::Timer && self.lengths.ended_out_of_step(stretch.expected_ns)
    }

    /// How many of its requests that counted as sure by its clock are not after all: it was seen to choose when it wakes before it had kept that for long, so that
    /// each of them may have been a part of one.
    pub(super) fn not_by_clock(&mut self) -> u64 {
        if !self.lengths.chooses() {
            return 0;
        }
        Some(std::mem::take(&mut self.sure_by_clock)).filter(|early| *early < u64::from(SETTLED)).unwrap_or(0)
    }

    /// Whether the last request counts as sure since it seemed to end with a sleep of the thread's clock, and did not.
    pub(super) fn ended_out_of_step(&mut self, stretch: &Stretch) -> bool {
        let did = std::mem::take(&mut self.is_sure_by_clock) && self.slept_out_of_step(stretch);
        self.sure_by_clock = self.sure_by_clock.saturating_sub(u64::from(did));
        did
    }
}
