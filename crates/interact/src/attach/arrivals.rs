//! Inputs that somebody else puts in, out of what is seen of whoever takes them. Pure.

use crate::track::Input;
use punctual_probe::terminal::Seen;
use punctual_recording::{Moment, counted};
use std::collections::HashMap;

/// No key sends more bytes than this; what is longer was pasted.
const MAX_KEY: u64 = 8;
/// Threads that are kept in mind.
const MAX_THREADS: usize = 4_096;

/// When input came, as far as that is seen.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// When the kernel's worker that hands input on has woken each thread, since that slept.
    woken: HashMap<u32, u64>,
    /// Since when there has been something to take.
    queued_ns: Option<u64>,
}

impl Arrivals {
    /// Looks at what threads did, in order of time. What a thread has taken is an input, which began before.
    pub(super) fn look(&mut self, seen: &Seen) -> Option<Input> {
        match seen.kind {
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
                self.queued_ns = None;
                None
            }
            Moment::Ran | Moment::Asks => {
                if seen.queued > 0 {
                    self.queued_ns.get_or_insert(seen.at_ns);
                }
                None
            }
            Moment::Got if seen.value > 0 => Some(self.taken(seen)),
            _ => None,
        }
    }

    fn taken(&mut self, seen: &Seen) -> Input {
        let woken = self.woken.remove(&seen.tid);
        let was_queued = self.queued_ns.take();
        // Neither was seen: it was there when it was asked for.
        let asked = if seen.begin_ns > 0 { seen.begin_ns } else { seen.at_ns };
        let begin_ns = woken.into_iter().chain(was_queued).min().unwrap_or(asked).min(seen.at_ns);
        if seen.queued > 0 {
            self.queued_ns = Some(seen.at_ns);
        }
        let kind = match seen.value {
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

    fn got(at: u64, bytes: u64) -> Seen {
        let mut seen = Seen::invented(at, Moment::Got, 1);
        (seen.value, seen.begin_ns) = (bytes, at - 5);
        seen
    }

    fn slept(at: u64) -> Seen {
        Seen::invented(at, Moment::Ran, 1).sleeping(true, false)
    }

    #[test]
    fn an_input_begins_as_its_taker_is_woken() {
        let mut arrivals = Arrivals::default();
        let all = [slept(100), woke(200, 1), got(250, 1)];
        let inputs: Vec<Input> = all.iter().filter_map(|seen| arrivals.look(seen)).collect();
        assert_eq!((inputs.len(), inputs[0].begin_ns, inputs[0].kind.as_str()), (1, 200, "key"));
        // Another one is taken that nobody saw arrive: it began as it was asked for.
        assert_eq!(arrivals.look(&got(300, 1)).unwrap().begin_ns, 295);
        // What is queued while the program is at work is seen as it leaves its CPU.
        let mut at_work = Seen::invented(400, Moment::Ran, 1);
        at_work.queued = 2;
        assert!(arrivals.look(&at_work).is_none());
        let pasted = arrivals.look(&got(900, 40)).unwrap();
        assert_eq!((pasted.begin_ns, pasted.kind.as_str(), pasted.label.as_str()), (400, "paste", "40 bytes"));
    }

    #[test]
    fn a_waking_before_its_last_sleep_says_nothing() {
        let mut arrivals = Arrivals::default();
        for seen in [woke(100, 1), slept(150), woke(5_000, 1)] {
            assert!(arrivals.look(&seen).is_none());
        }
        assert_eq!(arrivals.look(&got(5_100, 3)).unwrap().begin_ns, 5_000);
        let timer = woke(6_000, 1).among(false, true, true);
        assert!(arrivals.look(&timer).is_none());
        assert_eq!(arrivals.look(&got(6_100, 1)).unwrap().begin_ns, 6_095, "a timer brings no input");
    }
}
