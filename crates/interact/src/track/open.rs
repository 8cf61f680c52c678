//! An input of which more may be seen, and who is working because of the last one.

use crate::think_wait::{Interval, thinking_ns, waiting};
use punctual_probe::terminal::Seen;
use punctual_recording::{Interaction, Outcome};
use std::collections::{HashMap, HashSet, VecDeque};

/// How many threads are remembered; a program with more of them at one terminal is only partly followed.
pub(super) const MAX_THREADS: usize = 4_096;
/// How long outsiders that were woken may answer, ns.
pub(super) const ANSWERED_NS: u64 = 2_000_000_000;
/// The time within which the kernel's own threads pass on what is written to a terminal of a terminal emulator's, ns.
const HANDED_ON_NS: u64 = 300_000_000;
/// With a compositor, a thread that waits without a limit and is woken by an interrupt within this time had set a
/// timer, ns.
const TIMED_NS: u64 = 20_000_000;
/// How long after nobody is working because of an input any more it has ended.
pub(super) const DONE_NS: u64 = 100_000_000;
/// The silence that ends an input's output, if threads are not seen, ns.
const SILENCE_NS: u64 = 50_000_000;
/// How many intervals are kept for an input; neighbours are joined, and nothing is known of more.
const MAX_INTERVALS: usize = 4_096;
/// Intervals closer than this count as one, ns.
const JOINED_NS: u64 = 2_000;

/// An input that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// What is known of it.
    pub row: Interaction,
    /// The thread that put out the last because of it: its id and name. `None` if nobody did, or threads are not seen.
    pub writer: Option<(u32, String)>,
    /// With a display, when the program last handed something to the server before it was seen.
    pub handed_ns: Option<u64>,
    /// When the state machine of 1996 has somebody wait, up to the next input, ns. `None` if that is not known.
    pub waits_1996: Option<Vec<(u64, u64)>>,
}

pub(super) struct Open {
    pub(super) row: Interaction,
    /// Bytes that were put in up to its end.
    pub(super) upto: u64,
    pub(super) ends_line: bool,
    pub(super) is_for_terminal: bool,
    pub(super) is_signal: bool,
    pub(super) is_start: bool,
    /// For the start: the program has been seen to begin.
    pub(super) has_begun: bool,
    pub(super) was_thrown_away: bool,
    pub(super) program_ended: bool,
    /// The thread that takes input was still working because of it when nothing more came.
    pub(super) is_unfinished: bool,
    /// Whether a thread at the terminal was seen to put something out after it, and before the next one.
    pub(super) is_written_for: bool,
    pub(super) reader: Option<(u32, String)>,
    /// The process of the reader.
    pub(super) reader_process: u32,
    /// With a display: when its server had got the input.
    pub(super) delivered_ns: Option<u64>,
    /// With a display: when its server had told the program, or somebody, of the input.
    pub(super) sent_ns: Option<u64>,
    /// With a display: whether the program waited for a timer that it set because of it.
    pub(super) had_timer: bool,
    /// With a display, see [`Taken::handed_ns`].
    pub(super) handed_ns: Option<u64>,
    /// Whether it is a display that shows what is put out.
    pub(super) is_shown: bool,
    pub(super) writer: Option<(u32, String)>,
    /// When output arrived: first, last without a silence before it, and first not before `seen`.
    first_arrival: Option<u64>,
    last_arrival: Option<u64>,
    is_silent: bool,
    arrivals: Vec<u64>,
    arrived_bytes: u64,
    intervals: Vec<(Interval, u64, u64)>,
    intervals_lost: bool,
}

/// How many arrivals are kept for an input; of more, the last counts.
const MAX_ARRIVALS: usize = 256;

impl Open {
    pub(super) fn new(row: Interaction, upto: u64) -> Open {
        Open {
            row,
            upto,
            ends_line: false,
            is_for_terminal: false,
            is_signal: false,
            is_start: false,
            has_begun: false,
            was_thrown_away: false,
            program_ended: false,
            is_unfinished: false,
            is_written_for: false,
            reader: None,
            reader_process: 0,
            delivered_ns: None,
            sent_ns: None,
            had_timer: false,
            handed_ns: None,
            is_shown: false,
            writer: None,
            first_arrival: None,
            last_arrival: None,
            is_silent: false,
            arrivals: Vec::new(),
            arrived_bytes: 0,
            intervals: Vec::new(),
            intervals_lost: false,
        }
    }

    pub(super) fn has_no_output(&self) -> bool {
        self.first_arrival.is_none()
    }

    pub(super) fn arrive(&mut self, at_ns: u64, bytes: u64) {
        self.arrived_bytes += bytes;
        self.first_arrival.get_or_insert(at_ns);
        self.is_silent |= self.last_arrival.is_some_and(|last| at_ns > last + SILENCE_NS);
        if !self.is_silent || self.is_start {
            self.last_arrival = Some(at_ns);
        }
        if self.arrivals.len() >= MAX_ARRIVALS {
            self.arrivals.pop();
        }
        self.arrivals.push(at_ns);
    }

    pub(super) fn add_cpu(&mut self, from: u64, to: u64) {
        let end = if self.row.end_ns == 0 { u64::MAX } else { self.row.end_ns };
        let ns = to.min(end).saturating_sub(from.max(self.row.begin_ns));
        *self.row.cpu_ns.get_or_insert(0) += ns;
    }

    /// A thread that was working because of it ran.
    pub(super) fn add_caused_cpu(&mut self, from: u64, to: u64) {
        *self.row.caused_cpu_ns.get_or_insert(0) += to.saturating_sub(from.max(self.row.begin_ns));
    }

    pub(super) fn note_interval(&mut self, kind: Interval, from: u64, to: u64) {
        if to <= self.row.begin_ns || from >= to {
            return;
        }
        if let Some(last) = self.intervals.last_mut().filter(|last| last.0 == kind && from <= last.2 + JOINED_NS) {
            last.1 = last.1.min(from);
            last.2 = last.2.max(to);
        } else if self.intervals.len() < MAX_INTERVALS {
            self.intervals.push((kind, from, to));
        } else {
            self.intervals_lost = true;
        }
    }

    /// What lies between its neighbours was not looked at.
    pub(super) fn lose_intervals(&mut self) {
        self.intervals_lost = true;
    }

    pub(super) fn finish(mut self, followed: bool) -> Taken {
        if self.is_start && self.row.end_ns > 0 && self.row.seen_ns.is_some_and(|seen| seen > self.row.end_ns) {
            // What is shown from the first input on belongs to that input.
            self.row.seen_ns = self.arrivals.iter().rfind(|at| **at <= self.row.end_ns).copied();
        }
        if followed {
            self.row.arrived_ns = self.row.seen_ns.and_then(|seen| {
                let first = self.arrivals.partition_point(|at| *at < self.row.begin_ns);
                // Output arrives before the call that put it out is seen to end, or after it.
                let mut after = self.arrivals[first..].iter().copied();
                after.find(|at| *at >= seen).or(self.arrivals.last().copied())
            });
        } else {
            self.row.seen_ns = self.last_arrival.filter(|_| self.row.merged_into.is_none());
            self.row.arrived_ns = self.row.seen_ns;
            self.row.output_bytes = self.arrived_bytes;
        }
        if self.is_shown {
            self.row.output_bytes = self.arrived_bytes;
        }
        if self.is_for_terminal {
            self.row.seen_ns = None;
            self.row.arrived_ns = self.first_arrival;
        }
        let mut outcome = self.outcome(followed);
        if let (true, Outcome::Unread | Outcome::Unanswered) = (followed && !self.is_shown, outcome)
            && let Some(at_ns) = self.arrivals.last().filter(|_| !self.is_written_for)
        {
            // Somebody put it out who is not at the terminal, for whom nobody there did.
            (outcome, self.row.perhaps_ns) = (Outcome::Unsure, Some(*at_ns));
        }
        self.row.outcome = Some(outcome);
        if matches!(outcome, Outcome::Merged | Outcome::Unfinished) {
            self.row.seen_ns = None;
        }
        if let (true, Some(seen), false) = (followed, self.row.seen_ns, self.intervals_lost) {
            self.row.think_1996_ns = Some(thinking_ns(self.row.begin_ns, seen, &self.intervals));
        }
        let is_known = followed && !self.intervals_lost && !self.is_start;
        let waits_1996 = is_known.then(|| waiting(self.row.begin_ns, self.row.end_ns, &self.intervals));
        Taken { row: self.row, writer: self.writer, handed_ns: self.handed_ns, waits_1996 }
    }

    /// Its outcome, once its row is complete.
    fn outcome(&self, followed: bool) -> Outcome {
        if self.is_for_terminal {
            Outcome::ByTerminal
        } else if self.row.merged_into.is_some() {
            Outcome::Merged
        } else if self.is_unfinished && !self.program_ended {
            Outcome::Unfinished
        } else if self.row.seen_ns.is_some() {
            Outcome::Seen
        } else if self.program_ended {
            Outcome::Ended
        } else if followed && self.row.got_ns.is_none() {
            Outcome::Unread
        } else {
            Outcome::Unanswered
        }
    }
}

/// If threads are not seen: an input after which nothing came before the next one belongs to that.
pub(super) fn merge_silent(open: &mut VecDeque<Open>) {
    for index in (0..open.len().saturating_sub(1)).rev() {
        let next = &open[index + 1];
        let into = next.row.merged_into.unwrap_or(next.row.number);
        // People type slower than this: this input did not hold up what comes later.
        let is_close = next.row.begin_ns.saturating_sub(open[index].row.begin_ns) < DONE_NS;
        if open[index].has_no_output() && is_close && !open[index].is_for_terminal {
            open[index].row.merged_into = Some(into);
        }
    }
}

/// Who is working because of the input that was taken last.
#[derive(Default)]
pub(super) struct Cause {
    everybody: bool,
    threads: HashSet<u32>,
    /// Outsiders whom one of them woke, and how long each may answer, ns.
    asked: HashMap<u32, u64>,
    now_ns: u64,
    /// When each thread's wait from before the input would have ended by itself.
    limits: HashMap<u32, Option<u64>>,
    /// Until when the kernel's own threads pass on what one of them wrote to a terminal, ns.
    handed_on_until_ns: u64,
    /// Whether that has reached nobody yet.
    is_handed_on: bool,
    /// When threads that had been working until then began to wait.
    rested: HashMap<u32, u64>,
}

impl Cause {
    pub(super) fn everybody(&mut self) {
        self.everybody = true;
    }

    pub(super) fn is_everybody(&self) -> bool {
        self.everybody
    }

    pub(super) fn nobody(&mut self) {
        self.everybody = false;
        self.threads.clear();
        self.asked.clear();
        self.rested.clear();
        (self.handed_on_until_ns, self.is_handed_on) = (0, false);
    }

    /// The threads that are at work, unless everybody is.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.threads.iter().copied()
    }

    /// At a terminal: the kernel's own threads pass on what one of them writes to another terminal, and what comes back
    /// from there; not if that may be further input.
    pub(super) fn pass_on(&mut self, seen: &Seen, is_newest: bool) {
        if !is_newest {
            self.handed_on_until_ns = 0;
        } else if seen.by_thread_there() && seen.woken_is_kernels() && self.threads.contains(&seen.tid) {
            self.handed_on_until_ns = seen.at_ns + HANDED_ON_NS;
        }
    }

    /// One of them wrote to a terminal that has one of their programs at its other end.
    pub(super) fn hand_on(&mut self, at_ns: u64) {
        self.handed_on_until_ns = at_ns + HANDED_ON_NS;
        self.is_handed_on = true;
    }

    /// Somebody else wrote to such a terminal.
    pub(super) fn hands_nothing_on(&mut self) {
        (self.handed_on_until_ns, self.is_handed_on) = (0, false);
    }

    pub(super) fn only(&mut self, tid: u32, limits: HashMap<u32, Option<u64>>) {
        self.nobody();
        self.threads.insert(tid);
        self.limits = limits;
    }

    /// Somebody outside may answer until then.
    pub(super) fn ask(&mut self, outsider: u32, until_ns: u64) {
        if self.threads.len() + self.asked.len() < MAX_THREADS {
            let until = self.asked.entry(outsider).or_insert(until_ns);
            *until = until_ns.max(*until);
        }
    }

    /// An outsider has no more to answer.
    pub(super) fn has_answered(&mut self, outsider: u32) {
        self.asked.remove(&outsider);
    }

    /// Whether what one of them wrote to a terminal has reached nobody yet.
    pub(super) fn is_handed_on(&self) -> bool {
        self.is_handed_on
    }

    pub(super) fn take_limits(&mut self) -> HashMap<u32, Option<u64>> {
        std::mem::take(&mut self.limits)
    }

    pub(super) fn limit_before(&self, tid: u32) -> Option<u64> {
        self.limits.get(&tid).copied().flatten()
    }

    pub(super) fn is_at_work(&self, tid: u32) -> bool {
        self.everybody || self.threads.contains(&tid)
    }

    pub(super) fn is_any_at_work<'a>(&self, mut some: impl Iterator<Item = &'a u32>) -> bool {
        some.any(|tid| self.threads.contains(tid))
    }

    pub(super) fn is_anybody_at_work(&self) -> bool {
        self.everybody || !self.threads.is_empty() || self.is_handed_on
    }

    /// The same, except for those that are asleep.
    pub(super) fn is_anybody_at_work_but(&self, asleep: &HashSet<u32>) -> bool {
        self.everybody || self.is_handed_on || self.threads.iter().any(|tid| !asleep.contains(tid))
    }

    pub(super) fn may_be_answered(&self) -> bool {
        self.asked.values().any(|until| self.now_ns < *until)
    }

    pub(super) fn rests(&mut self, tid: u32, at_ns: u64) {
        if self.threads.remove(&tid) {
            self.rested.insert(tid, at_ns);
        }
    }

    /// A timer with a descriptor may have woken a thread: returns whether the thread had set it because of the input.
    pub(super) fn was_timed(&mut self, seen: &Seen) -> bool {
        let woken = seen.value as u32;
        let waits_since = self.rested.get(&woken).filter(|_| seen.by_interrupt() && seen.woken_is_there());
        let is_timed = waits_since.is_some_and(|since| seen.at_ns < since + TIMED_NS);
        if is_timed {
            self.threads.insert(woken);
        }
        is_timed
    }

    pub(super) fn woke(&mut self, seen: &Seen) {
        self.now_ns = seen.at_ns;
        if self.everybody || seen.by_interrupt() {
            return;
        }
        let woken = seen.value as u32;
        let is_full = self.threads.len() + self.asked.len() >= MAX_THREADS;
        if is_full {
            return;
        }
        if seen.by_thread_there() && self.threads.contains(&seen.tid) {
            if seen.woken_is_there() {
                self.threads.insert(woken);
            } else if !seen.woken_is_kernels() {
                // The kernel's own threads pass on what anybody puts in or out.
                self.ask(woken, seen.at_ns + ANSWERED_NS);
            }
            return;
        }
        let answers = self.asked.get(&seen.tid).is_some_and(|until| seen.at_ns < *until);
        let hands_on = seen.waker_is_kernels() && seen.at_ns < self.handed_on_until_ns;
        if seen.woken_is_there() && (answers || hands_on) {
            self.threads.insert(woken);
            self.is_handed_on &= !hands_on;
        }
    }
}
