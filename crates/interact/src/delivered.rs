//! Inputs that this process puts into a display that others use too. What its server reads may be anybody's drawing, so an
//! input counts as delivered from when it was put in.

use crate::track::Tracker;
use punctual_probe::terminal::Seen;
use punctual_recording::Moment;
use std::collections::VecDeque;

/// Inputs on their way, and who is not the program although watched with it.
pub(crate) struct Delivered {
    /// The process of the server.
    server: u32,
    /// This process, and the one that starts the program.
    aside: [u32; 2],
    /// When each was put in, ns.
    begun: VecDeque<u64>,
}

impl Delivered {
    pub(crate) fn new(server: u32, aside: [u32; 2]) -> Delivered {
        Delivered { server, aside, begun: VecDeque::new() }
    }

    pub(crate) fn put_in(&mut self, begin_ns: u64) {
        self.begun.push_back(begin_ns);
    }

    /// Looks at what was seen, in order of time, and returns whether to tell the tracker.
    pub(crate) fn look(&mut self, tracker: &mut Tracker, seen: &Seen) -> bool {
        self.deliver(tracker, seen.at_ns);
        !is_read_by_server(seen) && !self.aside.contains(&seen.process)
    }

    /// What was put in by then has been delivered.
    pub(crate) fn deliver(&mut self, tracker: &mut Tracker, by_ns: u64) {
        while let Some(begin_ns) = self.begun.front().copied().filter(|begin_ns| *begin_ns <= by_ns) {
            self.begun.pop_front();
            tracker.seen(&Seen::invented(begin_ns, Moment::Got, self.server).of_servers());
        }
    }
}

/// Whether the server reads something that somebody has put into the display.
pub(crate) fn is_read_by_server(seen: &Seen) -> bool {
    seen.kind == Moment::Got && seen.by_server()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Input;
    use punctual_recording::Outcome;

    const SERVER: u32 = 50;
    const PROGRAM: u32 = 60;
    const STARTER: u32 = 70;

    #[test]
    fn an_input_is_delivered_as_it_was_put_in_and_nobody_beside_the_program_takes_it() {
        let mut tracker = Tracker::of_display(true);
        let mut delivered = Delivered::new(SERVER, [1, STARTER]);
        let key = Input { kind: "key".to_owned(), begin_ns: 1_000, injected_ns: 1_050, bytes: 36, ..Input::default() };
        tracker.put_in(key);
        delivered.put_in(1_000);
        let of = |at_ns, kind, tid| Seen::invented(at_ns, kind, tid);
        let all = [
            of(900, Moment::Got, SERVER).of_servers(),
            of(1_100, Moment::Wrote, SERVER).of_servers().to_others(),
            of(1_150, Moment::Got, STARTER),
            of(1_200, Moment::Got, PROGRAM),
            of(1_300, Moment::Wrote, PROGRAM),
            of(1_350, Moment::Ran, PROGRAM).sleeping(true, false),
            of(1_400, Moment::Got, SERVER).of_servers(),
            of(1_500, Moment::Wrote, SERVER).of_servers(),
        ];
        let told: Vec<bool> = all
            .iter()
            .map(|seen| {
                let is_told = delivered.look(&mut tracker, seen);
                if is_told {
                    tracker.seen(seen);
                }
                is_told
            })
            .collect();
        assert_eq!(told, [false, true, false, true, true, true, false, true]);
        let done = tracker.finish(10_000);
        let row = &done[0].row;
        assert_eq!((row.outcome, row.got_ns, row.seen_ns), (Some(Outcome::Seen), Some(1_200), Some(1_500)));
    }
}
