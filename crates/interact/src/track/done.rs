//! When nothing more can be added to an input.

use super::display::Shown;
use super::open::{ANSWERED_NS, DONE_NS, Open, Taken, merge_silent};
use super::{STARTED_NS, Tracker};
use crate::think_wait::Interval;

/// If threads are not seen, how many inputs are kept before the older half of them is released.
const MAX_UNSEEN: usize = 128;

impl Tracker {
    /// Inputs to which nothing more can be added, in order, with all that was seen up to `settled_ns`.
    pub fn take_done(&mut self, settled_ns: u64) -> Vec<Taken> {
        let mut done = Vec::new();
        self.note_composed(settled_ns);
        if !self.followed {
            if self.open.len() > MAX_UNSEEN {
                merge_silent(&mut self.open);
                done.extend(self.open.drain(..MAX_UNSEEN / 2).map(|open| open.finish(false)));
            }
            return done;
        }
        while let Some(first) = self.open.front() {
            if !self.is_done(first, settled_ns) {
                break;
            }
            let number = first.row.number;
            if self.active == Some(number) {
                self.note_end_of_work();
                self.active = None;
                self.cause.nobody();
            }
            if let Some(mut open) = self.open.pop_front() {
                // What sleeps for I/O still may have done so since before the next input.
                for &since in self.io.values() {
                    open.note_interval(Interval::Io, since, settled_ns);
                }
                done.push(open.finish(true));
            }
        }
        done
    }

    fn is_done(&self, open: &Open, settled_ns: u64) -> bool {
        if open.row.end_ns == 0 || open.row.end_ns > settled_ns {
            return false;
        }
        if open.was_thrown_away || open.is_signal {
            return true;
        }
        if self.shown.as_ref().is_some_and(|shown| shown.is_still_drawn(open.row.number, settled_ns)) {
            return false;
        }
        if self.active.is_some_and(|active| active > open.row.number) {
            // A later one was taken.
            return true;
        }
        let Some(got_ns) = open.row.got_ns else { return false };
        if open.is_start && self.cause.is_everybody() {
            let is_shown = self.shown.is_none() || open.row.seen_ns.is_some();
            return is_shown && self.start_waits.is_some_and(|since| since + STARTED_NS + DONE_NS < settled_ns);
        }
        let last = open.row.seen_ns.max(open.row.blocked_ns).unwrap_or(got_ns);
        let waits = match (self.cause.is_anybody_at_work(), self.cause.may_be_answered()) {
            (false, false) => DONE_NS,
            _ => ANSWERED_NS,
        };
        // Whatever keeps a thread at work for longer: its evidence would be gone.
        !self.cause.is_anybody_at_work() && last + waits < settled_ns
    }

    /// Whether a thread that takes input has not asked for more since it took the last one: it is at work, or waits for somebody.
    pub fn is_under_way(&self) -> bool {
        let active = self.active.and_then(|active| self.open.iter().find(|open| open.row.number == active));
        let Some(open) = active.filter(|open| self.followed && !open.is_start) else { return false };
        // A toolkit's first thread may sleep until another one, which gets the input, wakes it.
        let asleep = self.shown.as_ref().filter(|_| open.row.seen_ns.is_some()).map(Shown::asleep);
        let is_awake = |tid: &&u32| asleep.is_none_or(|asleep| !asleep.contains(tid));
        self.cause.is_any_at_work(self.readers.iter().filter(is_awake))
    }

    /// Since when something has been queued at the terminal that nobody has taken.
    fn unread_since(&self) -> Option<u64> {
        let is_unread = |open: &&Open| {
            open.row.got_ns.is_none() && !open.is_start && !open.is_for_terminal && !open.was_thrown_away
        };
        let first = self.open.iter().find(is_unread).filter(|_| self.shown.is_none());
        first.map(|open| open.row.begin_ns)
    }

    /// Nothing more comes: returns all that is left, in order.
    pub fn finish(&mut self, end_ns: u64) -> Vec<Taken> {
        if self.is_under_way()
            && let Some(open) = self.open_mut(self.active)
        {
            open.is_unfinished = true;
        }
        if let Some(last) = self.open.back_mut().filter(|last| last.row.end_ns == 0) {
            last.row.end_ns = end_ns;
        }
        if self.followed {
            self.note_composed(u64::MAX);
            self.note_end_of_work();
            for (_, since) in std::mem::take(&mut self.io) {
                self.note_interval(Interval::Io, since, end_ns);
            }
            if let Some(since) = self.unread_since() {
                self.note_interval(Interval::Queue, since, end_ns);
            }
        } else {
            merge_silent(&mut self.open);
        }
        let followed = self.followed;
        self.open.drain(..).map(|open| open.finish(followed)).collect()
    }
}
