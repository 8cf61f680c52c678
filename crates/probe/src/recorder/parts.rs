//! Requests that a server reads in parts: a header, and then what follows it.
//!
//! Nothing that is recorded of a followed thread tells whether it wrote an answer before it waited again. But whoever has only read a header waits
//! for the rest within microseconds, which then comes sooner than the next header does, and takes longer to work on. A thread that is woken by turns so is taken
//! to read each request in two parts. Packets alone count: whoever reads from a local socket is also woken in vain, see [`super::in_vain`].

use super::stretches::{EndedBy, Stretch};

/// Whoever has read a part waits for the next one within this time, ns: to send an answer takes longer.
const MAX_NS: u64 = 15_000;
/// So many times as long takes the rest.
const TIMES_LONGER: u64 = 4;
/// So often it has to be seen, ...
const MIN_SEEN: u32 = 4;
/// ... and so many times as often as anything else.
const TO_OTHERS: u32 = 8;
/// After so many the earlier ones count half.
const MAX_REMEMBERED: u32 = 64;

/// A thread's stretches from one wait for its requests to the next.
#[derive(Default)]
pub(super) struct Parts {
    last: Option<Part>,
    /// How many came by turns so, and how many did not.
    by_turns: u32,
    others: u32,
}

/// One of them: how long the thread had waited for it, and how long it worked, ns.
#[derive(Clone, Copy)]
struct Part {
    waited_ns: u64,
    worked_ns: u64,
}

impl Parts {
    /// Takes in a stretch that begins and ends with a wait for requests, of which the first began at a time, ns; whether the second is for the rest of
    /// what was read.
    pub(super) fn go_on(&mut self, stretch: &Stretch, since_ns: u64) -> bool {
        let Stretch { ended_by, expected_ns, ran_ns, until_ns, .. } = *stretch;
        if !matches!(ended_by, EndedBy::Sender | EndedBy::Outside) {
            self.last = None;
            return false;
        }
        let part = Part { waited_ns: expected_ns.saturating_sub(since_ns), worked_ns: until_ns.saturating_sub(ran_ns) };
        let is_first = self.last.is_none_or(|last| !last.is_short());
        if let Some(last) = self.last.replace(part) {
            self.note(last, part);
        }
        is_first && part.is_short() && self.are_by_turns()
    }

    fn note(&mut self, last: Part, part: Part) {
        match (last.is_short(), part.is_short()) {
            (true, false) if part.is_rest_of(last) => self.by_turns = self.by_turns.saturating_add(1),
            // The next request.
            (false, true) => {}
            _ => self.others = self.others.saturating_add(1),
        }
        if self.by_turns.saturating_add(self.others) > MAX_REMEMBERED {
            (self.by_turns, self.others) = (self.by_turns / 2, self.others / 2);
        }
    }

    fn are_by_turns(&self) -> bool {
        self.by_turns >= MIN_SEEN && self.by_turns >= self.others.saturating_mul(TO_OTHERS)
    }
}

impl Part {
    fn is_short(self) -> bool {
        self.worked_ns <= MAX_NS
    }

    fn is_rest_of(self, first: Part) -> bool {
        self.waited_ns < first.waited_ns && self.worked_ns >= first.worked_ns.saturating_mul(TIMES_LONGER)
    }
}

#[cfg(test)]
mod tests {
    use super::super::stretches::Pause;
    use super::*;

    /// Which of these stretches go on, each after so long a wait and with so much work, us.
    fn go_on(ended_by: EndedBy, stretches: &[(u64, u64)]) -> Vec<bool> {
        let (mut parts, mut now_ns) = (Parts::default(), 0);
        let mut goes_on = |&(waited_us, worked_us): &(u64, u64)| {
            let since_ns = now_ns;
            let expected_ns = since_ns + waited_us * 1_000;
            now_ns = expected_ns + worked_us * 1_000;
            let stretch = Stretch {
                process: 5,
                expected_ns,
                ended_by,
                ran_ns: expected_ns,
                until_ns: now_ns,
                then: Pause::WithinWork,
            };
            parts.go_on(&stretch, since_ns)
        };
        stretches.iter().map(&mut goes_on).collect()
    }

    #[test]
    fn a_header_and_what_follows_it_are_one_request() {
        let message = [(19_000, 5), (300, 420)];
        let found = go_on(EndedBy::Sender, &message.repeat(8));
        assert_eq!(found[..8], [false; 8], "until it was seen so often");
        assert_eq!(found[8..], [true, false].repeat(4), "{found:?}");
        // The rest may be late.
        let mut late = message.repeat(8);
        late[12] = (19_000, 6);
        late[13] = (17_000, 7_000);
        assert_eq!(go_on(EndedBy::Outside, &late)[12..], [true, false, true, false]);
    }

    /// All take equally long; the long ones come first; now and then; what is read from a local socket.
    #[test]
    fn other_requests_are_each_one() {
        for (ended_by, stretches, what) in [
            (EndedBy::Sender, vec![(1_000, 8); 40], "an echo"),
            (EndedBy::Sender, vec![(1_000, 400); 40], "all long"),
            (EndedBy::Sender, [(1_000, 8), (1_000, 400)].repeat(20), "a client that asks for this and that by turns"),
            (EndedBy::Sender, [(1_000, 8), (900, 12)].repeat(20), "none takes much longer"),
            (EndedBy::Sender, [(1_000, 8), (900, 400), (1_000, 400)].repeat(20), "one in three"),
            (EndedBy::Thread, [(1_000, 8), (300, 400)].repeat(20), "a local socket"),
        ] {
            assert!(go_on(ended_by, &stretches).iter().all(|goes_on| !goes_on), "{what}");
        }
    }
}
