//! Threads that a program makes while it is followed, as a server does for each connection.
//!
//! Where such a thread waited before its first wakeup is not known: no record tells of that. In a program that accepts connections, whatever but a timer wakes it first is taken for
//! a request: that ends where it waits next, but for its own sleeps, or as it ends.

use super::request::{Known, Open};
use super::requests::{MAX_THREADS, Requests, Thread};
use super::stretches::{EndedBy, Stretch};

impl Requests {
    /// Whether nothing is known of a thread yet.
    pub(crate) fn is_new(&self, tid: u32) -> bool {
        !self.threads.contains_key(&tid)
    }

    /// A thread began while it was followed.
    pub(crate) fn began(&mut self, tid: u32) {
        if self.threads.len() < MAX_THREADS {
            self.threads.entry(tid).or_default().is_new = true;
        }
    }
}

impl Thread {
    /// The request with which a thread begins, if this is its first stretch.
    pub(super) fn first_of_made(&mut self, stretch: &Stretch) -> Option<Open> {
        let is_first = std::mem::take(&mut self.is_new) && stretch.ended_by != EndedBy::Timer && self.has_accepted;
        self.is_made |= is_first;
        let known = Known { waits_for_answers: true, ..Known::default() };
        is_first.then_some(Open { expected_ns: stretch.expected_ns, known, ..Open::default() })
    }
}
