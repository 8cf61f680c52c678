//! Output whose cause is not known: nobody who put it out was at work because of an input, and nothing shows that it
//! would have come without one, as that of a clock does.

use super::{Tracker, open::MAX_THREADS, waits::SAME_LIMIT_NS};
use punctual_probe::terminal::Seen;
use punctual_recording::{Interaction, Outcome, START};
use std::collections::{HashMap, HashSet};

/// An output that comes later than this after the last input that was taken is not that one's, ns.
pub const DOUBTED_NS: u64 = 2_000_000_000;
/// Who has put something out so often without any input in between, after a sleep each time, does so anyway.
const ANYWAY: u32 = 3;
/// Who has slept so often without asking for input looks for it between its sleeps.
const LOOKS: u32 = 3;
/// ... if it has done so this many times as often as it has waited for input.
const RATHER_LOOKS: u32 = 8;
/// How many doubts are kept until they are asked for.
const MAX_DOUBTS: usize = 4_096;

/// Something came out that inputs may have caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt {
    /// An earlier one, for which whoever put it out had worked.
    pub first: Option<u32>,
    /// The last one: the input that was taken last.
    pub last: u32,
    /// When it came out, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Whether inputs before those that nothing else came to may have caused it, too.
    pub reaches_back: bool,
}

impl Doubt {
    /// Notes it for an input that has ended, if that one may have caused it: the one that was taken last; one that the
    /// thread had worked for; one before it to which nothing else came.
    pub fn note(self, row: &mut Interaction) {
        let is_judged =
            matches!(row.outcome, Some(Outcome::Seen | Outcome::Unanswered | Outcome::Unread | Outcome::Unsure));
        let is_near = row.begin_ns <= self.at_ns && self.at_ns < row.begin_ns + DOUBTED_NS;
        let is_meant = row.number == self.last || self.first == Some(row.number);
        // What comes later still may be that of later inputs.
        let may_be = is_meant || self.reaches_back && row.seen_ns.is_none() && row.perhaps_ns.is_none();
        let is_later = row.seen_ns.max(row.perhaps_ns).is_none_or(|known| known < self.at_ns);
        if is_judged && is_near && row.number <= self.last && may_be && is_later && row.kind != START {
            row.perhaps_ns = Some(self.at_ns);
            if row.seen_ns.is_none() {
                row.outcome = Some(Outcome::Unsure);
            }
        }
    }
}

#[derive(Default)]
pub(super) struct Doubts {
    found: Vec<Doubt>,
    /// The input that was taken last, and when it began.
    last: Option<(u32, u64)>,
    /// Inputs that threads worked for when a later one was taken.
    earlier: HashMap<u32, u32>,
    /// Threads that were woken last by a timer which they had set before they got any input.
    by_itself: HashSet<u32>,
    /// How often threads have put something out after a sleep since the last input was taken; never taken back from
    /// [`ANYWAY`] on.
    anyway: HashMap<u32, u32>,
    /// Threads that have slept since they last put something out.
    slept: HashSet<u32>,
    /// How often threads have slept without being at work, and not for input.
    looks: HashMap<u32, u32>,
    /// How often threads have waited for input: who only looks for it may still sleep in that call for a lock of the terminal's.
    waits: HashMap<u32, u32>,
}

impl Doubts {
    /// An input was taken by this thread, while these worked for the one before.
    pub(super) fn taken(&mut self, (number, begin_ns): (u32, u64), tid: u32, before: impl Iterator<Item = (u32, u32)>) {
        if self.earlier.len() >= MAX_THREADS {
            self.earlier.clear();
        }
        for (thread, number) in before {
            self.earlier.insert(thread, number);
        }
        self.earlier.remove(&tid);
        self.by_itself.remove(&tid);
        self.anyway.retain(|_, count| *count >= ANYWAY);
        self.last = Some((number, begin_ns));
    }

    /// A thread sleeps, and not for I/O.
    pub(super) fn sleeps(&mut self, tid: u32) {
        if self.slept.len() < MAX_THREADS {
            self.slept.insert(tid);
        }
    }

    pub(super) fn waits_for_input(&mut self, tid: u32) {
        if self.waits.len() < MAX_THREADS || self.waits.contains_key(&tid) {
            *self.waits.entry(tid).or_insert(0) += 1;
        }
        self.earlier.remove(&tid);
    }

    /// A thread has put something out that no input is known to have caused; returns whether it does so anyway.
    fn puts_out(&mut self, tid: u32) -> bool {
        if self.anyway.len() >= MAX_THREADS && !self.anyway.contains_key(&tid) {
            return false;
        }
        let count = self.anyway.entry(tid).or_insert(0);
        *count += u32::from(self.slept.remove(&tid));
        *count >= ANYWAY
    }

    /// Whether a thread has put something out several times with no input in between.
    pub(super) fn is_anyway(&self, tid: u32) -> bool {
        self.anyway.get(&tid).is_some_and(|count| *count >= ANYWAY)
    }

    /// Whether a thread looks for input from time to time and hardly ever waits for it, as games do.
    fn looks_for_input(&self, tid: u32) -> bool {
        let waits = self.waits.get(&tid).copied().unwrap_or(0);
        self.looks.get(&tid).is_some_and(|looks| *looks >= LOOKS && *looks / RATHER_LOOKS >= waits)
    }
}

impl Tracker {
    /// Outputs of which it is not known whether an input caused them, once each.
    pub fn take_doubts(&mut self) -> Vec<Doubt> {
        std::mem::take(&mut self.doubts.found)
    }

    /// The input of this number is taken: what was caused by the one before may still come.
    pub(super) fn note_taken(&mut self, number: u32, tid: u32) {
        let begin_ns = self.open_mut(Some(number)).map_or(0, |open| open.row.begin_ns);
        let before = self.active.filter(|active| *active != number);
        let before = before.into_iter().flat_map(|active| self.cause.threads().map(move |thread| (thread, active)));
        self.doubts.taken((number, begin_ns), tid, before);
    }

    /// Something came out that no thread at work put out.
    pub(super) fn note_background(&mut self, seen: &Seen) {
        self.background += 1;
        if self.shown.is_some() || !self.followed || self.comes_anyway(seen) {
            return;
        }
        let first = self.doubts.earlier.get(&seen.tid).copied();
        self.doubt_last(first, seen.at_ns, true);
    }

    /// What came out then may have been caused by the input taken last, by `first`, or by others before.
    pub(super) fn doubt_last(&mut self, first: Option<u32>, at_ns: u64, reaches_back: bool) {
        if let Some((last, begin_ns)) = self.doubts.last
            && at_ns < begin_ns + DOUBTED_NS
            && self.doubts.found.len() < MAX_DOUBTS
        {
            self.doubts.found.push(Doubt { first, last, at_ns, reaches_back });
        }
    }

    /// Whether what a thread put out that is not at work would have come without any input, too: it has put something out
    /// before with no input in between, or at a time that it had set before.
    pub(super) fn comes_anyway(&mut self, seen: &Seen) -> bool {
        let limit = self.limits.get(&seen.tid).copied().flatten();
        let is_old = |before: u64| {
            limit.is_some_and(|limit| limit.abs_diff(before) <= SAME_LIMIT_NS && limit <= seen.at_ns + SAME_LIMIT_NS)
        };
        let is_anyway = self.doubts.puts_out(seen.tid);
        let is_timed = self.cause.limit_before(seen.tid).is_some_and(is_old);
        let comes = is_anyway || is_timed || self.doubts.by_itself.contains(&seen.tid);
        if comes && self.doubts.by_itself.len() < MAX_THREADS {
            self.doubts.by_itself.insert(seen.tid);
        }
        comes
    }

    /// Something came out before anything was put in.
    pub(super) fn note_at_start(&mut self, seen: &Seen) {
        if self.cause.is_everybody() {
            self.doubts.puts_out(seen.tid);
        }
    }

    /// A thread sleeps, neither for input nor for I/O. One that never waits for input but looks for it between its sleeps is
    /// through with an input when it sleeps after it has put something out.
    pub(super) fn note_sleep(&mut self, seen: &Seen) {
        let tid = seen.tid;
        if self.shown.is_some() {
            return;
        }
        if self.cause.is_everybody() || !self.cause.is_at_work(tid) {
            if self.doubts.looks.len() < MAX_THREADS || self.doubts.looks.contains_key(&tid) {
                *self.doubts.looks.entry(tid).or_insert(0) += 1;
            }
            return;
        }
        if !self.readers.contains(&tid) || !self.doubts.looks_for_input(tid) {
            return;
        }
        if let Some(open) = self.open_mut(self.active)
            && open.writer.as_ref().is_some_and(|(writer, _)| *writer == tid)
        {
            open.row.blocked_ns.get_or_insert(seen.at_ns);
            self.cause.rests(tid, seen.at_ns);
        }
    }

    /// The program never stops putting something out, though nothing has been put in: its start has no end.
    pub fn never_starts(&mut self) {
        for open in self.open.iter_mut().filter(|open| open.is_start) {
            open.is_unfinished = true;
        }
    }
}
