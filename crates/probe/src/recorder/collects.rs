//! A thread that waits to read one of the connections that its program accepted, while that has more of them than threads.
//!
//! Whoever serves its clients does not wait for one of them alone if nobody else reads what the others may send meanwhile. So such a thread asks by them, one after
//! the other, as a collector does whose agents have connected to it: what it sleeps in between is its pause until it asks again.

use punctual_recording::episode::Call;

/// So often it has to be seen: a server may have accepted a connection of which it is to be told that it was given up.
const MIN_SEEN: u8 = 3;

/// How often one thread did so.
#[derive(Default)]
pub(super) struct Collects {
    seen: u8,
}

impl Collects {
    /// It has waited by this call where it accepts connections or reads what comes by those; its program has more of them than threads, or not.
    pub(super) fn waited(&mut self, call: Option<Call>, has_more: bool) {
        self.seen = match call {
            Some(Call::Read) if has_more => self.seen.saturating_add(1),
            // An event loop may read on where it was told that something has come.
            Some(Call::Read | Call::Poll) => 0,
            _ => self.seen,
        };
    }

    /// Whether it does.
    pub(super) fn is_seen(&self) -> bool {
        self.seen >= MIN_SEEN
    }

    /// Whether it may.
    pub(super) fn may_be(&self) -> bool {
        self.seen > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_one_of_several_connections_that_nobody_else_reads_asks_by_them() {
        let (read, poll, accept) = (Some(Call::Read), Some(Call::Poll), Some(Call::Connect));
        for (waits, expected, what) in [
            (&[(read, true); 3][..], (true, true), "its agents have connected to it"),
            (&[(read, true), (accept, true), (read, true), (read, true)], (true, true), "another agent connects"),
            (&[(read, true); 2], (false, true), "too few"),
            (&[(read, false); 9], (false, false), "a server of one client, or with a thread for each"),
            (&[(read, true), (poll, true), (read, true), (poll, true), (read, true)], (false, true), "an event loop"),
            (&[(read, true), (read, true), (read, true), (read, false)], (false, false), "the others were given up"),
        ] {
            let mut collects = Collects::default();
            waits.iter().for_each(|(call, has_more)| collects.waited(*call, *has_more));
            assert_eq!((collects.is_seen(), collects.may_be()), expected, "{what}");
        }
    }
}
