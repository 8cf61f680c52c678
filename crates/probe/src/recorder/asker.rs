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
        if is_by_timer || !is_read || self.is_unclear(place) {
            return;
        }
        self.who_asks.waited(place, self.since_ns, stretch.expected_ns);
        let is_asked = !self.has_accepted && self.asked.contains(&place) && self.who_asks.is_asked_at(place);
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
        let may_ask_after =
            || !self.mixed.contains(&open.place) && self.who_asks.may_ask_after(open.slept_ns, open.place);
        let may_pause = || self.pauses.are_too_few() || self.may_be_a_collector() || may_ask_after();
        open.slept_ns > 0 && !self.is_made && may_pause()
    }

    /// Takes in what it has waited for at a place.
    pub(super) fn note_collecting(&mut self, place: u32, call: Option<Call>) {
        if self.accepted.contains(&place) {
            self.collects.waited(call, self.has_more_connections);
        }
    }

    /// Whether it asks by what its program accepted, one connection after the other.
    pub(super) fn is_a_collector(&self) -> bool {
        self.collects.is_seen()
    }

    /// Whether it may be too early to tell.
    pub(super) fn may_be_a_collector(&self) -> bool {
        self.collects.may_be()
    }
}
