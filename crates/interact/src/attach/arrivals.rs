//! Inputs that somebody else puts in, derived from what is seen of their reader. Pure.

use crate::track::Input;
use punctual_probe::terminal::Seen;
use punctual_recording::{BEGAN_BEFORE, Moment, counted};
use std::collections::{HashMap, VecDeque};

/// No key sends more bytes than this; anything longer was pasted.
const MAX_KEY: u64 = 8;
/// How many threads are remembered.
const MAX_THREADS: usize = 4_096;
/// How much can have come and not been taken: a terminal holds no more bytes.
const MAX_WAITING: usize = 4_096;

/// When input came.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// When the kernel's worker that passes input on woke each thread since it slept.
    woken: HashMap<u32, u64>,
    /// What has come and was not taken yet.
    waiting: VecDeque<Came>,
    /// When the worker was told of what it now passes on.
    coming_ns: Option<u64>,
    /// The place up to which input was taken.
    taken: Option<u32>,
}

/// Input that came at once.
#[derive(Debug, Clone, Copy)]
struct Came {
    /// Its range in the terminal's input.
    from: u32,
    place: u32,
    /// When the worker was told of it, ns.
    told_ns: u64,
}

/// Whether a place in the terminal's input is after another one; they are counted modulo 2^32.
fn is_behind(place: u32, other: u32) -> bool {
    (place.wrapping_sub(other) as i32) > 0
}

impl Arrivals {
    /// Looks at what threads did, in order of time. What a thread has taken is an input, which began before.
    pub(super) fn look(&mut self, seen: &Seen) -> Option<Input> {
        match seen.kind {
            Moment::Came => {
                self.came(seen);
                None
            }
            Moment::Woke => {
                let is_handed_on = seen.waker_is_kernels() && !seen.by_interrupt() && seen.woken_is_there();
                if is_handed_on && self.woken.len() < MAX_THREADS {
                    self.woken.entry(seen.value as u32).or_insert(seen.at_ns);
                }
                None
            }
            Moment::Ran if seen.slept() && seen.queued == 0 => {
                // What it is woken for comes later.
                self.woken.remove(&seen.tid);
                None
            }
            Moment::Got if seen.value > 0 => Some(self.taken(seen)),
            _ => None,
        }
    }

    fn came(&mut self, seen: &Seen) {
        if !seen.has_come() {
            self.coming_ns = Some(seen.begin_ns).filter(|ns| *ns > 0);
            return;
        }
        let Some(told_ns) = self.coming_ns.take() else { return };
        let mut last = self.waiting.back().map(|came| came.place).or(self.taken);
        if last.is_some_and(|last| is_behind(last, seen.position)) {
            // What was there was thrown away, and places count from a new beginning.
            self.waiting.clear();
            self.taken = None;
            last = None;
        } else if last == Some(seen.position) {
            // Taken already, or part of a line that is not complete.
            return;
        }
        if self.waiting.len() < MAX_WAITING {
            // If what came before is not known, it may have waited there before punctual looked: one byte is certain.
            let from = last.unwrap_or(seen.position.wrapping_sub(1));
            self.waiting.push_back(Came { from, place: seen.position, told_ns });
        }
    }

    /// When the first byte of what was taken came, if that was seen.
    fn came_ns(&mut self, seen: &Seen) -> Option<u64> {
        let first = seen.position.wrapping_sub(seen.value as u32);
        if self.taken.is_some_and(|taken| is_behind(taken, first)) {
            self.waiting.clear();
        }
        self.waiting.retain(|came| is_behind(came.place, first));
        let came_ns = match self.waiting.front() {
            // What is taken is before everything whose arrival was seen.
            Some(came) if is_behind(came.from, first) => None,
            Some(came) => Some(came.told_ns),
            None => self.coming_ns,
        };
        self.waiting.retain(|came| is_behind(came.place, seen.position));
        self.taken = Some(seen.position);
        came_ns.filter(|ns| *ns <= seen.at_ns)
    }

    fn taken(&mut self, seen: &Seen) -> Input {
        let woken = self.woken.remove(&seen.tid);
        let known = self.came_ns(seen).or(woken).map(|ns| ns.min(seen.at_ns));
        // It was there before it was asked for, and nobody saw it come.
        let asked = if seen.begin_ns > 0 { seen.begin_ns } else { seen.at_ns };
        let begin_ns = known.unwrap_or(asked);
        let kind = match seen.value {
            _ if known.is_none() => BEGAN_BEFORE,
            _ if seen.takes_lines() => "line",
            0..=MAX_KEY => "key",
            _ => "paste",
        };
        Input {
            kind: kind.to_owned(),
            label: counted(seen.value, "byte"),
            begin_ns,
            injected_ns: begin_ns,
            bytes: seen.value,
            ends_line: seen.takes_lines(),
            ..Input::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn woke(at: u64, woken: u32) -> Seen {
        let mut seen = Seen::invented(at, Moment::Woke, 9).among(false, true, false).by_kernels();
        seen.value = u64::from(woken);
        seen
    }

    /// The program has taken this many bytes, up to there.
    fn got(at: u64, bytes: u64, position: u32) -> Seen {
        let mut seen = Seen::invented(at, Moment::Got, 1);
        (seen.value, seen.begin_ns, seen.position) = (bytes, at - 5, position);
        seen
    }

    fn slept(at: u64) -> Seen {
        Seen::invented(at, Moment::Ran, 1).sleeping(true, false)
    }

    /// The kernel's worker hands on what it was told of before, up to there.
    fn came(told: u64, at: u64, position: u32) -> [Seen; 2] {
        let mut begins = Seen::invented(at, Moment::Came, 9);
        begins.begin_ns = told;
        [begins, Seen::invented(at + 10, Moment::Came, 9).handed_on(told, position)]
    }

    fn inputs(arrivals: &mut Arrivals, all: impl IntoIterator<Item = Seen>) -> Vec<(u64, String)> {
        all.into_iter().filter_map(|seen| arrivals.look(&seen)).map(|input| (input.begin_ns, input.kind)).collect()
    }

    fn key(begin_ns: u64) -> (u64, String) {
        (begin_ns, "key".to_owned())
    }

    #[test]
    fn an_input_begins_as_the_kernel_is_told_of_it_whatever_the_program_does() {
        let mut arrivals = Arrivals::default();
        // One for which the program sleeps, and two that come while it is working.
        let [begins, over] = came(200, 220, 1);
        let first = [slept(100), begins, woke(225, 1), got(228, 1, 1), over];
        assert_eq!(inputs(&mut arrivals, first), [key(200)], "the program is faster than the worker");
        let all = came(300, 310, 2).into_iter().chain(came(400, 410, 3)).chain([got(900, 1, 2), got(1_500, 1, 3)]);
        assert_eq!(inputs(&mut arrivals, all), [key(300), key(400)]);
        // Both at once: the first one waited longer.
        let all = came(2_000, 2_010, 4).into_iter().chain(came(2_100, 2_110, 5)).chain([got(2_500, 2, 5)]);
        assert_eq!(inputs(&mut arrivals, all), [key(2_000)]);
        // What one read leaves, the next one takes.
        let all = came(3_000, 3_010, 45).into_iter().chain([got(3_500, 30, 35), got(3_600, 10, 45)]);
        assert_eq!(inputs(&mut arrivals, all), [(3_000, "paste".to_owned()), (3_000, "paste".to_owned())]);
    }

    #[test]
    fn what_nobody_saw_come_is_counted_apart() {
        let mut arrivals = Arrivals::default();
        assert_eq!(inputs(&mut arrivals, [got(300, 1, 7)]), [(295, BEGAN_BEFORE.to_owned())]);
        // If the kernel does not report it, one for which the program was woken is known, but no other.
        let all = [slept(400), woke(500, 1), got(550, 1, 8), got(900, 1, 9)];
        assert_eq!(inputs(&mut arrivals, all), [key(500), (895, BEGAN_BEFORE.to_owned())]);
        let timer = woke(6_000, 1).among(false, true, true);
        assert_eq!(inputs(&mut arrivals, [timer, got(6_100, 1, 10)]), [(6_095, BEGAN_BEFORE.to_owned())]);
    }

    #[test]
    fn what_waited_before_anybody_looked_does_not_begin_with_what_came_after_it() {
        let mut arrivals = Arrivals::default();
        // Three bytes wait for the program, which is working; a fourth comes and is seen.
        let all = came(500, 510, 44).into_iter().chain([
            got(900, 1, 41),
            got(950, 1, 42),
            got(990, 1, 43),
            got(1_100, 1, 44),
        ]);
        let before = |at: u64| (at - 5, BEGAN_BEFORE.to_owned());
        assert_eq!(inputs(&mut arrivals, all), [before(900), before(950), before(990), key(500)]);
    }

    #[test]
    fn a_waking_before_its_last_sleep_says_nothing() {
        let mut arrivals = Arrivals::default();
        assert_eq!(inputs(&mut arrivals, [woke(100, 1), slept(150), woke(5_000, 1), got(5_100, 3, 3)]), [key(5_000)]);
    }

    #[test]
    fn what_was_thrown_away_begins_nothing() {
        let mut arrivals = Arrivals::default();
        let first = came(200, 210, u32::MAX).into_iter().chain([got(300, 1, u32::MAX)]);
        assert_eq!(inputs(&mut arrivals, first), [key(200)]);
        // Places wrap around after the largest.
        let all = came(400, 410, 2).into_iter().chain([got(500, 3, 2)]);
        assert_eq!(inputs(&mut arrivals, all), [key(400)]);
        // The terminal is emptied, and counting starts anew.
        let all = came(600, 610, 40).into_iter().chain(came(700, 710, 1)).chain([got(800, 1, 1)]);
        assert_eq!(inputs(&mut arrivals, all), [key(700)]);
    }
}
