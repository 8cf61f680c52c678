//! A thread that accepts a connection, and then reads on from one that it had before.
//!
//! Whoever serves one connection after the other is done with it as it waits for the next. So such a thread waits for what comes by the new one in the midst of
//! what it does for the old one, as a server does whose children connect back to it with what they have found, and a client whom the server calls back. By the
//! places where it waits it cannot be told from a server whose clients keep their connections for several requests; by the sockets it can.

/// A thread is looked at so often for that. Each connection of a server that takes them one by one is another socket.
const MAX_LOOKS: u8 = 8;

/// What one thread reads and accepts, as far as looks have seen it.
#[derive(Default)]
pub(super) struct Returns {
    /// The socket that it was last seen to read.
    read: Option<u64>,
    /// Whether it has accepted a connection since.
    has_accepted: bool,
    pub(super) looks: u8,
    are_seen: bool,
}

impl Returns {
    /// A wait is over: for a connection that somebody else made, or for what came by this socket, or for anything else.
    pub(super) fn waited(&mut self, accepts: bool, socket: Option<u64>) {
        self.has_accepted |= accepts;
        if let Some(socket) = socket {
            self.are_seen |= self.has_accepted && self.read == Some(socket);
            (self.read, self.has_accepted) = (Some(socket), false);
        }
    }

    /// Whether it does so.
    pub(super) fn are_seen(&self) -> bool {
        self.are_seen
    }

    /// Whether another look at what it reads may tell: it has accepted a connection since the last.
    pub(super) fn are_open(&self) -> bool {
        self.has_accepted && !self.are_seen && self.looks < MAX_LOOKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_on_from_a_connection_that_it_had_before_it_accepted_another_returns() {
        const ACCEPTS: (bool, Option<u64>) = (true, None);
        let read = |socket| (false, Some(socket));
        let other = (false, None);
        for (waits, expected, what) in [
            (&[read(100), ACCEPTS, read(100)][..], true, "a child connects in mid-request"),
            (&[read(100), ACCEPTS, read(101), ACCEPTS, read(100)][..], false, "its answer was seen meanwhile"),
            (&[read(100), other, ACCEPTS, other, read(100)][..], true, "what it read meanwhile was not seen"),
            (&[read(100), read(100), ACCEPTS, read(101), read(101)][..], false, "one connection after the other"),
            (&[ACCEPTS, read(100), read(100)][..], false, "one that it accepted first"),
        ] {
            let mut returns = Returns::default();
            waits.iter().for_each(|(accepts, socket)| returns.waited(*accepts, *socket));
            assert_eq!(returns.are_seen(), expected, "{what}");
        }
    }

    #[test]
    fn nobody_is_looked_at_for_that_again_and_again() {
        let mut returns = Returns { looks: MAX_LOOKS - 1, ..Returns::default() };
        assert!(!returns.are_open(), "it accepts none");
        returns.waited(true, None);
        assert!(returns.are_open());
        returns.looks += 1;
        assert!(!returns.are_open());
    }
}
