//! Which side of a thread's connections asks: what its waits tell of that ([`super::who_asks`]), and what is not known of its requests.

use super::request::Open;
use super::requests::Thread;
use super::stretches::{EndedBy, Stretch};
use punctual_recording::episode::Call;

impl Thread {
    /// Takes in a wait at a place, which is over. Where it is asked by what comes there it gets its requests.
    pub(super) fn note_who_asks(&mut self, place: u32, call: Option<Call>, stretch: &Stretch) {
        let is_by_timer = stretch.ended_by == EndedBy::Timer;
        if call == Some(Call::Sleep) || is_by_timer && !self.answered.contains(&place) {
            self.who_asks.slept();
            return;
        }
        let is_read = matches!(call, Some(Call::Read | Call::Poll));
        if is_by_timer || !is_read || self.has_accepted || self.is_unclear(place) {
            return;
        }
        self.who_asks.waited(place, self.since_ns, stretch.expected_ns);
        let is_asked = self.asked.contains(&place) && self.who_asks.is_asked_at(place);
        if is_asked && self.accepted.is_empty() && !self.lengths.have_a_period() {
            // What else comes there may be an answer.
            self.mixed.insert(place);
            self.accepts(place);
        }
    }

    /// Whether it is not known of a request that is over which side of its thread's connections asks.
    pub(super) fn asker_is_unknown(&self, open: &Open) -> bool {
        if open.is_by_timer {
            let may_be_asked = open.has_waited && self.who_asks.has_read() && !self.lengths.have_a_period();
            return may_be_asked && !self.has_accepted && self.who_asks.may_be_asked(open.longest);
        }
        // One that was made for a connection serves by it.
        open.has_slept && !self.is_made && self.pauses.are_too_few()
    }
}
