//! Inputs to a window, from what its display's server says of them, to a millisecond, and from what the server was seen
//! to do. Pure.

use crate::delivered::is_read_by_server;
use crate::track::Input;
use punctual_probe::terminal::Seen;
use punctual_recording::Moment;
use std::collections::VecDeque;

/// How long before the millisecond that it names the server may have read the input, ns.
const READ_BEFORE_NS: u64 = 500_000;
const MS: u64 = 1_000_000;
/// A server whose time is further back than this does not use the kernel's clock, ns.
const MAX_BACK_NS: u64 = 10_000_000_000;
/// How many presses are kept until what was seen has come that far.
const MAX_WAITING: usize = 4_096;

/// What was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    Key,
    /// A button of the mouse; the wheel's are 4 to 7.
    Button(u32),
}

/// Something that the server has told the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Press {
    pub(super) what: Pressed,
    /// By the server's clock, ms.
    pub(super) time_ms: u32,
    /// When this process was told, ns.
    pub(super) told_ns: u64,
}

impl Press {
    /// The beginning of the millisecond that the server names, ns: its clock is the kernel's, of which it gives 32 bits.
    fn named_ns(&self) -> u64 {
        let told_ms = self.told_ns / MS;
        let back = (told_ms as u32).wrapping_sub(self.time_ms);
        let from_ns = told_ms.saturating_sub(u64::from(back)) * MS;
        if self.told_ns - from_ns.min(self.told_ns) > MAX_BACK_NS { told_ms * MS } else { from_ns }
    }

    /// The time within which the server had read it.
    fn window(&self) -> (u64, u64) {
        let from_ns = self.named_ns();
        (from_ns.saturating_sub(READ_BEFORE_NS), from_ns + MS)
    }

    fn input(&self, begin_ns: u64) -> Input {
        let (kind, label) = match self.what {
            Pressed::Key => ("key", "key".to_owned()),
            Pressed::Button(number @ 4..=7) => {
                ("scroll", ["up", "down", "left", "right"][number as usize - 4].to_owned())
            }
            Pressed::Button(number) => ("click", format!("button {number}")),
        };
        Input { kind: kind.to_owned(), label, begin_ns, injected_ns: begin_ns, ..Input::default() }
    }
}

/// Presses that wait for what was seen, and inputs that wait for their time.
#[derive(Debug, Default)]
pub(super) struct Presses {
    waiting: Vec<Press>,
    begun: VecDeque<Input>,
    /// For how many only the millisecond in which they began is known.
    pub(super) to_a_millisecond: u64,
    /// Presses for which there was no room.
    pub(super) lost: u64,
}

impl Presses {
    pub(super) fn told(&mut self, press: Press) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push(press);
        } else {
            self.lost += 1;
        }
    }

    /// Up to when to look at what was seen, at most until then: not up to the millisecond of a press.
    pub(super) fn cut(&self, mut until_ns: u64) -> u64 {
        let mut windows: Vec<(u64, u64)> = self.waiting.iter().map(Press::window).collect();
        windows.sort_unstable_by_key(|window| std::cmp::Reverse(*window));
        for (from, to) in windows {
            if from < until_ns && until_ns < to {
                until_ns = from;
            }
        }
        until_ns
    }

    /// Finds out when what was pressed before this time began, from all that was seen since the last time, in order.
    pub(super) fn begin(&mut self, seen: &[Seen], until_ns: u64) {
        let (ready, later) = self.waiting.iter().partition(|press| press.window().0 < until_ns);
        self.waiting = later;
        let mut ready: Vec<Press> = ready;
        ready.sort_by_key(|press| (press.named_ns(), press.told_ns));
        for press in ready {
            let read_ns = read_ns(&press, seen);
            self.to_a_millisecond += u64::from(read_ns.is_none());
            // Those of one request begin together; none begins before one that was reported earlier.
            let last = self.begun.back().map_or(0, |input| input.begin_ns);
            self.begun.push_back(press.input(read_ns.unwrap_or_else(|| press.named_ns()).max(last)));
        }
    }

    /// The next input that began by then.
    pub(super) fn next(&mut self, by_ns: u64) -> Option<Input> {
        if self.begun.front()?.begin_ns > by_ns {
            return None;
        }
        self.begun.pop_front()
    }
}

/// When the server had read what was pressed: the last that it read before it told the program, in the millisecond that it names.
fn read_ns(press: &Press, seen: &[Seen]) -> Option<u64> {
    let (from, to) = press.window();
    let first = seen.partition_point(|seen| seen.at_ns < from);
    let within = || seen[first..].iter().take_while(|seen| seen.at_ns < to);
    let told =
        within().find(|seen| seen.kind == Moment::Wrote && seen.tells_others() && seen.at_ns >= press.named_ns());
    let by_ns = told.map_or(to, |told| told.at_ns);
    let reads = within().filter(|seen| is_read_by_server(seen) && seen.at_ns <= by_ns);
    reads.last().map(|seen| seen.at_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: u32 = 50;

    fn read(at_ns: u64) -> Seen {
        Seen::invented(at_ns, Moment::Got, SERVER).of_servers()
    }

    fn told(at_ns: u64) -> Seen {
        Seen::invented(at_ns, Moment::Wrote, SERVER).of_servers().to_others()
    }

    fn press(time_ms: u32, told_ns: u64) -> Press {
        Press { what: Pressed::Key, time_ms, told_ns }
    }

    #[test]
    fn a_press_began_as_the_server_read_what_it_then_told_the_program_of() {
        let mut presses = Presses::default();
        presses.told(press(100, 101 * MS));
        // Somebody else's request before and after.
        let seen = [read(99 * MS), read(100 * MS + 300_000), told(100 * MS + 350_000), read(100 * MS + 800_000)];
        assert_eq!(presses.cut(100 * MS + 500_000), 99 * MS + 500_000, "its millisecond is looked at as a whole");
        assert_eq!(presses.cut(101 * MS), 101 * MS);
        presses.begin(&seen, 101 * MS);
        assert_eq!(presses.to_a_millisecond, 0);
        assert!(presses.next(100 * MS).is_none());
        let input = presses.next(100 * MS + 300_000).unwrap();
        assert_eq!((input.begin_ns, input.kind.as_str()), (100 * MS + 300_000, "key"));
        // Read before the millisecond began, and told within it.
        presses.told(press(200, 201 * MS));
        presses.begin(&[read(200 * MS - 100_000), told(200 * MS + 10)], 201 * MS);
        assert_eq!(presses.next(u64::MAX).unwrap().begin_ns, 200 * MS - 100_000);
    }

    #[test]
    fn where_nobody_saw_it_read_the_millisecond_is_known_and_counted() {
        let mut presses = Presses::default();
        let scroll = Press { what: Pressed::Button(5), ..press(u32::MAX, (1 << 32) * MS + 3 * MS) };
        presses.told(scroll);
        presses.begin(&[], u64::MAX);
        let input = presses.next(u64::MAX).unwrap();
        assert_eq!((input.kind.as_str(), input.label.as_str()), ("scroll", "down"));
        assert_eq!(input.begin_ns, ((1 << 32) - 1) * MS, "the server's clock has 32 bits");
        assert_eq!(presses.to_a_millisecond, 1);
        // A server that uses another clock.
        presses.told(press(7, 900_000 * MS));
        presses.begin(&[], u64::MAX);
        assert_eq!(presses.next(u64::MAX).unwrap().begin_ns, 900_000 * MS);
    }

    #[test]
    fn presses_of_a_later_time_wait() {
        let mut presses = Presses::default();
        (0..MAX_WAITING as u32 + 5).for_each(|at| presses.told(press(1_000 + at, u64::from(1_001 + at) * MS)));
        assert_eq!(presses.lost, 5);
        presses.begin(&[], 1_010 * MS);
        assert_eq!(presses.to_a_millisecond, 11);
        assert_eq!(std::iter::from_fn(|| presses.next(u64::MAX)).count(), 11);
    }
}
