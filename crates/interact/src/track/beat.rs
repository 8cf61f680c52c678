//! Threads of a program in a window that draw by a timer at regular times whether anything is typed or not: a clock, a
//! cursor that blinks. When their timers are due nobody sees, as they do not wait for input, but as Tk's first thread, for a
//! lock with a time limit. Pure.

use super::open::MAX_THREADS;
use std::collections::{HashMap, VecDeque};

/// How many times between two drawings are known until there is a beat: a cursor is shown for longer than it is hidden.
const MAX_GAPS: usize = 4;
/// So many drawings at times like those before make a beat.
const MIN_REGULAR: u32 = 2;
/// Times that differ by no more than this are alike, ns; or than this share of them.
const ALIKE_NS: u64 = 5_000_000;
const ALIKE_SHARE: u64 = 10;
/// What a thread draws later than this after a timer woke it, it does not draw because of that, ns.
const WOKEN_NS: u64 = 100_000_000;

#[derive(Default)]
struct Beat {
    last_ns: u64,
    /// When it last drew at a time like those before.
    regular_ns: u64,
    gaps: VecDeque<u64>,
    regular: u32,
}

#[derive(Default)]
pub(super) struct Beats {
    by_thread: HashMap<u32, Beat>,
    /// When a timer last woke threads, which had not waited for input.
    woken: HashMap<u32, u64>,
}

impl Beats {
    /// A timer woke a thread.
    pub(super) fn woken(&mut self, tid: u32, at_ns: u64) {
        if self.woken.len() < MAX_THREADS || self.woken.contains_key(&tid) {
            self.woken.insert(tid, at_ns);
        }
    }

    /// A thread has got input.
    pub(super) fn takes_input(&mut self, tid: u32) {
        self.woken.remove(&tid);
    }

    /// When a timer woke the thread, if that may be why it does something now.
    pub(super) fn woken_by(&self, tid: u32, at_ns: u64) -> Option<u64> {
        self.woken.get(&tid).copied().filter(|woken| at_ns < woken + WOKEN_NS)
    }

    /// What a thread handed over that a timer had woken then was drawn, and no input is known to have caused it. Returns
    /// whether its time is like those before.
    pub(super) fn draws(&mut self, tid: u32, woken_ns: u64) -> bool {
        if self.by_thread.len() >= MAX_THREADS && !self.by_thread.contains_key(&tid) {
            return false;
        }
        let beat = self.by_thread.entry(tid).or_default();
        if woken_ns == beat.last_ns {
            // One more picture of the same time.
            return true;
        }
        let is_alike =
            |gap: u64| beat.gaps.iter().any(|before| before.abs_diff(gap) <= ALIKE_NS.max(before / ALIKE_SHARE));
        let gap = woken_ns.saturating_sub(beat.last_ns);
        // What came between two beats does not put off the second.
        let is_regular = is_alike(gap) || is_alike(woken_ns.saturating_sub(beat.regular_ns));
        if is_regular {
            beat.regular += 1;
            beat.regular_ns = woken_ns;
        }
        if beat.last_ns > 0 && beat.regular < MIN_REGULAR {
            beat.gaps.push_back(gap);
        }
        if beat.gaps.len() > MAX_GAPS {
            beat.gaps.pop_front();
        }
        beat.last_ns = woken_ns;
        is_regular
    }

    /// Whether a thread draws at regular times by itself.
    pub(super) fn has(&self, tid: u32) -> bool {
        self.by_thread.get(&tid).is_some_and(|beat| beat.regular >= MIN_REGULAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_clock_and_a_cursor_have_a_beat_and_what_keys_set_off_has_none() {
        for (times, expected) in [
            (&[100, 200, 301, 400][..], true),
            (&[600, 900, 1_500, 1_800, 2_400], true),
            (&[100, 200, 301], false),
            (&[100, 340, 500, 1_190, 1_490], false),
        ] {
            let mut beats = Beats::default();
            for at in times {
                beats.draws(7, at * MS);
                // A picture in two parts is one.
                beats.draws(7, at * MS);
            }
            assert_eq!((beats.has(7), beats.has(8)), (expected, false), "{times:?}");
        }
    }

    #[test]
    fn what_a_thread_does_long_after_a_timer_or_because_of_input_is_not_by_that_timer() {
        let mut beats = Beats::default();
        beats.woken(7, 100 * MS);
        assert_eq!(beats.woken_by(7, 120 * MS), Some(100 * MS));
        assert_eq!(beats.woken_by(7, 300 * MS), None);
        beats.takes_input(7);
        assert_eq!(beats.woken_by(7, 120 * MS), None);
    }
}
