//! A thread that reads one connection, and next another, both of which its program accepted.
//!
//! Whoever serves two clients does not wait for one of them alone while the other may ask. So it asks by one of them, as a dispatcher does with whom its
//! workers have registered, and a leader to whom its followers have connected; or it reads what belongs to one request at two places. Which of them brings
//! requests nothing tells.

use punctual_recording::episode::Call;

/// So often it has to go on to another one: a worker may be handed several connections without a wait in between.
const MIN_SEEN: u8 = 3;

/// Where a thread has read since it last waited for anything but what it reads.
#[derive(Default)]
pub(super) struct Turns {
    last: Option<u32>,
    seen: u8,
}

impl Turns {
    /// It has waited at a place, where it accepts connections or reads one that it accepted, or not. What it reads elsewhere may be an answer; any other wait may
    /// be one for another connection.
    pub(super) fn waited(&mut self, place: u32, call: Option<Call>, is_accepted: bool) {
        match (call, is_accepted) {
            (Some(Call::Read), true) => {
                let is_another = self.last.replace(place).is_some_and(|last| last != place);
                self.seen = self.seen.saturating_add(u8::from(is_another));
            }
            (Some(Call::Read), false) => {}
            _ => self.last = None,
        }
    }

    /// Whether it does so.
    pub(super) fn are_taken(&self) -> bool {
        self.seen >= MIN_SEEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_taken(waits: &[(u32, Call, bool)]) -> bool {
        let mut turns = Turns::default();
        waits.iter().for_each(|(place, call, is_accepted)| turns.waited(*place, Some(*call), *is_accepted));
        turns.are_taken()
    }

    #[test]
    fn a_thread_that_goes_on_from_one_connection_to_another_takes_turns() {
        let read = |place| (place, Call::Read, true);
        let (answer, accept, handed) = ((9, Call::Read, false), (8, Call::Connect, true), (7, Call::Futex, false));
        let again = |waits: Vec<(u32, Call, bool)>| waits.repeat(4);
        for (waits, expected, what) in [
            (again(vec![read(1), read(2)]), true, "a client and a worker"),
            (again(vec![read(1), read(2), read(3)]), true, "a client and two followers"),
            (again(vec![read(1), answer, read(2)]), true, "it asks a store as well"),
            (again(vec![read(1), accept, read(2)]), true, "a child connects within each request"),
            (again(vec![read(1)]), false, "one client"),
            (vec![read(1), read(1), read(2), read(2), read(3)], false, "one after the other"),
            (again(vec![accept, read(1), accept, read(2)]), false, "accepts each"),
            (again(vec![handed, read(1), handed, read(2)]), false, "is handed each"),
        ] {
            assert_eq!(are_taken(&waits), expected, "{what}");
        }
    }
}
