//! What it says of inputs that a thread waits for the next one: that its work is over, unless it waits for a timer that
//! it set.

use super::Tracker;
use super::open::{MAX_THREADS, Open};
use punctual_probe::terminal::Seen;

/// A time limit that is earlier than the one before by no more than this is the same limit: limits are given in ms.
pub(super) const SAME_LIMIT_NS: u64 = 2_000_000;
/// With a display, a timer that is due no sooner than this, in a process that draws, is the cursor's: toolkits set it
/// anew with every key.
pub(super) const CURSOR_NS: u64 = 300_000_000;
/// Input that was put in this long ago, and that nobody can get any more, was thrown away: the kernel's worker has long
/// passed it on.
const THROWN_AWAY_NS: u64 = 100_000_000;
/// The same if later input has come meanwhile, which the worker passes on after it.
const PASSED_ON_NS: u64 = 20_000_000;

impl Tracker {
    /// A thread sleeps until there is input for it.
    pub(super) fn waits_for_input(&mut self, seen: &Seen) {
        let tid = seen.tid;
        self.doubts.waits_for_input(tid);
        if self.limits.len() < MAX_THREADS || self.limits.contains_key(&tid) {
            // A wait for an answer has no limit and sets no timer: one that was set before is still due.
            let is_due = |limit: &u64| *limit > seen.at_ns;
            let limit_ns = seen.limit_ns.or_else(|| self.limits.get(&tid).copied().flatten().filter(is_due));
            self.limits.insert(tid, limit_ns);
        }
        if seen.queued > 0 {
            return;
        }
        if !seen.takes_lines() && self.shown.is_none() {
            self.throw_away(seen.at_ns);
            if self.asked.len() < MAX_THREADS || self.asked.contains_key(&tid) {
                self.asked.insert(tid, seen.at_ns);
            }
        }
        let started = self.cause.is_everybody();
        let old_ns = self.old_ns;
        // If a process is at a terminal of the program's own, nobody sees that it waits for input in between: a limit
        // that was over says nothing.
        let is_within = self.shown.as_ref().is_some_and(|shown| !shown.is_client(seen.process));
        // One that puts something out by itself sets that timer anew, and had one before.
        let ticks = is_within && self.doubts.is_anyway(tid);
        let got_ns =
            self.open.iter().find(|open| Some(open.row.number) == self.active).and_then(|open| open.row.got_ns);
        let is_new = |before: Option<u64>| match (seen.limit_ns, before) {
            (None, _) => false,
            (Some(_), None) => true,
            // The limit of an earlier input, which was over when this one came, says nothing.
            (Some(_), Some(before))
                if !ticks && (before < old_ns || is_within && got_ns.is_some_and(|got| before < got)) =>
            {
                true
            }
            (Some(limit), Some(before)) => limit + SAME_LIMIT_NS < before,
        };
        let is_soon =
            self.shown.is_none() || is_within || seen.limit_ns.is_some_and(|limit| limit < seen.at_ns + CURSOR_NS);
        let sets_timer = !started && is_soon && is_new(self.cause.limit_before(tid));
        if !self.cause.is_at_work(tid) {
            return;
        }
        if ticks && !sets_timer {
            self.may_owe(tid);
        }
        if self.shown.is_some() && !started {
            self.rests_with_display(seen, sets_timer);
        } else if let Some(open) = self.open_mut(self.active) {
            let is_reader = open.reader.as_ref().is_some_and(|(reader, _)| *reader == tid);
            if open.is_start {
                open.row.blocked_ns = Some(seen.at_ns);
                open.row.got_ns = Some(open.row.begin_ns);
            } else if is_reader && open.row.blocked_ns.is_none() {
                open.row.blocked_ns = Some(seen.at_ns);
            }
        }
        if started {
            // It may wait for an answer of the terminal's: how long it waits shows whether it has started.
            self.start_waits = Some(seen.at_ns);
        } else if !sets_timer {
            self.cause.rests(tid, seen.at_ns);
        }
    }

    /// A thread got something after it had slept with nothing queued: if that is no more than what was put in since it began
    /// to sleep, what was put in before will not come any more.
    pub(super) fn note_flushed(&mut self, seen: &Seen) {
        let Some(asked_ns) = self.asked.remove(&seen.tid).filter(|_| self.shown.is_none()) else { return };
        let is_later =
            |open: &&Open| open.row.begin_ns >= asked_ns && open.row.begin_ns <= seen.at_ns && !open.is_start;
        let later: u64 = self.open.iter().filter(is_later).map(|open| open.row.bytes).sum();
        let Some(first_ns) = self.open.iter().find(is_later).map(|open| open.row.begin_ns) else { return };
        if seen.value + u64::from(seen.queued) > later {
            return;
        }
        let mut consumed = self.consumed;
        for open in &mut self.open {
            let is_old = open.row.injected_ns < asked_ns && open.row.injected_ns + PASSED_ON_NS < first_ns;
            if is_old && open.upto > consumed && !open.is_start {
                open.was_thrown_away = open.row.got_ns.is_none();
                consumed = open.upto;
            }
        }
        self.consumed = consumed;
    }

    /// A thread that waits for input with nothing queued will not get what was put in long ago.
    fn throw_away(&mut self, at_ns: u64) {
        let mut consumed = self.consumed;
        for open in &mut self.open {
            let is_old = open.row.injected_ns + THROWN_AWAY_NS < at_ns;
            if is_old && open.upto > consumed {
                open.was_thrown_away = open.row.got_ns.is_none();
                consumed = open.upto;
            }
        }
        self.consumed = consumed;
    }
}
