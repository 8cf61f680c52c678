//! Whether a followed thread waits for what comes by one of the connections that its program accepted in the midst of what it does for another: it may ask by those.

use super::requests::Thread;
use punctual_recording::episode::Call;

impl Thread {
    /// Whether it was seen to wait for one of its connections in the midst of what it does for another.
    pub(super) fn asks_by_accepted(&self) -> bool {
        self.turns.are_taken() || self.returns.are_seen() || self.is_a_collector()
    }

    /// Whether it may ask by what its program accepted.
    pub(super) fn may_ask(&self) -> bool {
        self.asks_by_accepted()
            || !self.accepted.is_empty() && (self.lengths.keep_a_clock() || self.pauses.may_ask_after())
    }

    /// Takes in what it has waited for at a place; by this socket, if it was seen to read one.
    pub(super) fn note_return(&mut self, place: u32, call: Option<Call>, socket: Option<u64>) {
        let (is_accepted, reads) = (self.accepted.contains(&place), call == Some(Call::Read));
        self.returns.waited(is_accepted && call == Some(Call::Connect), socket.filter(|_| is_accepted && reads));
    }

    /// Whether a look at what it waits for may tell whether it goes back to a connection that it had before.
    pub(super) fn may_return(&self) -> bool {
        let reads = self.at.is_some_and(|(place, call)| call == Some(Call::Read) && self.accepted.contains(&place));
        reads && self.returns.are_open()
    }

    /// It is looked at.
    pub(super) fn note_look(&mut self) {
        if self.may_return() {
            self.returns.looks += 1;
        }
    }
}
