//! Makes inputs and their ends out of what was put in, what threads did and what came out, by time. Pure.
//!
//! An input is *taken* when the program has got its last byte. An output belongs to the input that was taken last, if
//! the thread that put it out was working because of it: the thread that took the input; one that such a thread woke;
//! one that an outsider woke whom such a thread had woken. A thread no longer works because of it once it waits for
//! further input with nothing queued, unless it waits until a time that it had not set before: a timer that it set
//! because of the input. All other output is background: a blinking cursor, a clock.

mod beat;
mod display;
mod done;
mod doubt;
mod ends;
mod open;
mod waits;

use crate::think_wait::Interval;
use display::Shown;
use doubt::Doubts;
pub use doubt::{DOUBTED_NS, Doubt};
use ends::Ends;
pub use open::Taken;
use open::{Cause, MAX_THREADS, Open};
use punctual_probe::terminal::Seen;
use punctual_probe::terminal::stretches::Wanted;
use punctual_recording::{Interaction, Moment};
use std::collections::{HashMap, HashSet, VecDeque};

/// A program that waits for input for this long has started.
const STARTED_NS: u64 = 200_000_000;
/// How many inputs can be open at a time; what the program did meanwhile is kept for each.
const MAX_LOOKED_AT: usize = 64;

/// An input, as it was put in.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// `key`, `enter`, ...
    pub kind: String,
    /// What was typed.
    pub label: String,
    /// The task.
    pub task: String,
    /// Just before it was put in, ns of `CLOCK_MONOTONIC`.
    pub begin_ns: u64,
    /// When it had been put in.
    pub injected_ns: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Whether it ends a line.
    pub ends_line: bool,
    /// Whether the terminal itself takes it, for its line editing or to make a signal of it.
    pub is_for_terminal: bool,
    /// Whether it makes a signal of it: the program never gets the bytes.
    pub is_signal: bool,
    /// Whether this is the program's start, which is handled separately.
    pub is_start: bool,
}

/// Follows inputs through a program.
#[derive(Default)]
pub struct Tracker {
    /// Whether threads are seen at all.
    followed: bool,
    open: VecDeque<Open>,
    repeats: HashMap<(String, String), u32>,
    counted: u32,
    put_in: u64,
    /// Bytes that the program has got.
    consumed: u64,
    /// The input that was taken last, by its number.
    active: Option<u32>,
    /// When that was, if remembered times were due before an earlier one; else 0.
    old_ns: u64,
    cause: Cause,
    /// Since when the starting program has waited for input.
    start_waits: Option<u64>,
    /// Threads that have got input.
    readers: HashSet<u32>,
    /// When each thread's last wait for input would have ended by itself.
    limits: HashMap<u32, Option<u64>>,
    /// Since when threads sleep for I/O.
    io: HashMap<u32, u64>,
    /// Since when threads that could run have had no CPU.
    ready: HashMap<u32, u64>,
    /// Since when threads have slept, other than for I/O.
    asleep: HashMap<u32, u64>,
    /// When threads slept for input last, with nothing queued.
    asked: HashMap<u32, u64>,
    doubts: Doubts,
    ends: Ends,
    /// With a display, what is known of its server.
    shown: Option<Shown>,
    background: u64,
    cpu_ns: u64,
    /// What toolkits have passed on since that was last asked for.
    handed_on: Vec<HandedOn>,
}

/// An event that a toolkit has passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandedOn {
    /// The input that the thread was working because of; `None`: no input.
    pub input: Option<u32>,
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The thread.
    pub tid: u32,
    /// What it was, by the number that was seen.
    pub name: u32,
}

impl Tracker {
    /// With `followed`, [`Tracker::seen`] says what threads did; without, ends are those of the output alone.
    pub fn new(followed: bool) -> Tracker {
        Tracker { followed, ..Tracker::default() }
    }

    /// The same for a program in a window, with its connection to the display's server.
    pub fn of_display(followed: bool) -> Tracker {
        Tracker { followed, shown: Some(Shown::default()), ..Tracker::default() }
    }

    /// The same with a Wayland compositor; [`Tracker::arrived`] must be told what it has shown.
    pub fn of_compositor(followed: bool) -> Tracker {
        Tracker { followed, shown: Some(Shown::composed()), ..Tracker::default() }
    }

    /// Something was put in. Call it in order of time, and before what threads did after that.
    pub fn put_in(&mut self, input: Input) -> u32 {
        if let Some(last) = self.open.back_mut().filter(|last| last.row.end_ns == 0) {
            last.row.end_ns = input.begin_ns;
        }
        let repeat = self.repeats.entry((input.kind.clone(), input.label.clone())).or_insert(0);
        *repeat += 1;
        self.put_in += if input.is_signal { 0 } else { input.bytes };
        let number = self.counted;
        self.counted += 1;
        let row = Interaction {
            number,
            kind: input.kind,
            label: input.label,
            task: input.task,
            repeat: *repeat,
            begin_ns: input.begin_ns,
            injected_ns: input.injected_ns,
            bytes: input.bytes,
            ..Interaction::default()
        };
        let mut open = Open::new(row, self.put_in);
        open.is_shown = self.shown.is_some();
        open.ends_line = input.ends_line;
        open.is_for_terminal = input.is_for_terminal || input.is_signal;
        open.is_signal = input.is_signal;
        if input.is_start {
            // All that the program does until it is ready is its start.
            open.is_start = true;
            self.active = Some(number);
            self.cause.everybody();
        }
        self.open.push_back(open);
        number
    }

    /// Output arrived at the typist.
    pub fn arrived(&mut self, at_ns: u64, bytes: u64) {
        if let Some(shown) = self.shown.as_mut().filter(|_| self.followed) {
            shown.was_composed(at_ns);
        }
        // It belongs to the time after the last input that began before it; threads tell who caused it.
        if let Some(open) = self.open.iter_mut().rev().find(|open| open.row.begin_ns <= at_ns) {
            open.arrive(at_ns, bytes);
        }
    }

    /// The program ended.
    pub fn program_ended(&mut self) {
        for open in &mut self.open {
            open.program_ended = true;
        }
    }

    /// How much of the program's CPU time was seen, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    /// The times of inputs that have not ended, each up to the last that is known to belong to it; it may go on later.
    pub fn wanted(&self) -> impl Iterator<Item = Wanted> + '_ {
        self.open
            .iter()
            .map(|open| Wanted { begin_ns: open.row.begin_ns, end_ns: open.row.seen_ns.max(open.row.blocked_ns) })
    }

    /// What toolkits have passed on, once each.
    pub fn take_handed_on(&mut self) -> Vec<HandedOn> {
        std::mem::take(&mut self.handed_on)
    }

    /// Outputs that no input caused.
    pub fn background_outputs(&self) -> u64 {
        self.background
    }

    fn open_mut(&mut self, number: Option<u32>) -> Option<&mut Open> {
        let first = self.open.front()?.row.number;
        self.open.get_mut(number?.checked_sub(first)? as usize)
    }

    /// A thread did something. Call it in order of time.
    pub fn seen(&mut self, seen: &Seen) {
        self.note_composed(seen.at_ns);
        if self.shown.is_some() && self.seen_with_display(seen) {
            return;
        }
        match seen.kind {
            Moment::Got => self.got(seen),
            Moment::Wrote => self.wrote(seen),
            Moment::Woke => self.woke(seen),
            Moment::Ran => self.ran(seen),
            Moment::Became => self.became(seen),
            Moment::HandedOn => {
                let input = self.active.filter(|_| self.cause.is_at_work(seen.tid));
                self.handed_on.push(HandedOn { input, at_ns: seen.at_ns, tid: seen.tid, name: seen.value as u32 });
            }
            Moment::Came => {}
        }
    }

    fn woke(&mut self, seen: &Seen) {
        let woken = seen.value as u32;
        let slept_ns = self.asleep.remove(&woken);
        if let Some(since) = self.io.remove(&woken) {
            // Of one that ends without a pause, nobody sees it leave its CPU again.
            self.note_interval(Interval::Io, since, seen.at_ns);
        }
        if seen.woken_is_there() {
            // It was not its own wish to sleep: the kernel moves it to another CPU.
            let is_moved = seen.waker_is_kernels() && seen.name.starts_with("migration/");
            self.is_ready(woken, slept_ns.filter(|_| is_moved).unwrap_or(seen.at_ns));
        }
        if self.shown.is_none() {
            // What the kernel's worker hands on may be the next input.
            let newest = self.open.iter().rfind(|open| open.row.begin_ns <= seen.at_ns).map(|open| open.row.number);
            self.cause.pass_on(seen, newest == self.active);
        }
        if !self.brings_what_came_before(seen) {
            self.cause.woke(seen);
        }
    }

    fn became(&mut self, seen: &Seen) {
        if let Some(open) = self.open_mut(self.active)
            && open.is_start
            && !open.has_begun
        {
            // Up to the first instruction of the program, whoever starts it runs.
            open.has_begun = true;
            if seen.at_ns > open.row.begin_ns {
                open.row.begin_ns = seen.at_ns;
                open.row.injected_ns = open.row.injected_ns.max(seen.at_ns);
            }
        }
    }

    fn got(&mut self, seen: &Seen) {
        if self.readers.len() < MAX_THREADS {
            self.readers.insert(seen.tid);
        }
        self.note_flushed(seen);
        let put_in_by_then: u64 =
            self.open.iter().rfind(|open| open.row.begin_ns <= seen.at_ns).map_or(0, |open| open.upto);
        self.consumed = self.consumed.saturating_add(seen.value).min(put_in_by_then);
        if seen.takes_lines() {
            // What was erased never comes; what was typed up to the end of a line does.
            let is_line =
                |open: &&Open| open.ends_line && open.row.begin_ns <= seen.at_ns && open.upto >= self.consumed;
            if let Some(line) = self.open.iter().find(is_line).map(|open| open.upto) {
                self.consumed = line;
            }
        }
        let consumed = self.consumed;
        let is_taken = |open: &Open| {
            let is_waiting = open.row.got_ns.is_none() && !open.is_start && !open.is_signal && !open.was_thrown_away;
            is_waiting && open.upto <= consumed
        };
        let taken: Vec<u32> = self.open.iter().filter(|open| is_taken(open)).map(|open| open.row.number).collect();
        let Some(&last) = taken.last() else {
            // A key that sends several bytes is at work from the first byte on.
            let began = |open: &&Open| {
                open.row.got_ns.is_none() && !open.is_start && open.row.begin_ns <= seen.at_ns && {
                    open.upto > consumed && open.upto - open.row.bytes < consumed
                }
            };
            if let Some(number) = self.open.iter().find(began).map(|open| open.row.number) {
                self.take(number, seen);
            }
            return;
        };
        for &number in &taken {
            if let Some(open) = self.open_mut(Some(number)) {
                // What was typed while the terminal edited lines, and was left to be read without that.
                open.is_for_terminal &= open.is_signal || seen.takes_lines();
                open.row.got_ns = Some(seen.at_ns);
                open.reader = Some((seen.tid, seen.name.clone()));
                if number != last {
                    open.row.merged_into = Some(last);
                }
            }
        }
        self.note_queue(&taken, seen.at_ns);
        self.take(last, seen);
    }

    /// These inputs were queued until then.
    fn note_queue(&mut self, taken: &[u32], at_ns: u64) {
        let begins: Vec<u64> =
            self.open.iter().filter(|open| taken.contains(&open.row.number)).map(|open| open.row.begin_ns).collect();
        for begin_ns in begins.into_iter().take(MAX_LOOKED_AT) {
            self.note_interval(Interval::Queue, begin_ns, at_ns);
        }
    }

    /// From now on, what the program does is because of this input.
    fn take(&mut self, number: u32, seen: &Seen) {
        if self.active == Some(number) && self.cause.is_at_work(seen.tid) {
            return;
        }
        self.note_end_of_work();
        self.note_taken(number, seen.tid);
        let went_on = self.shown.as_ref().map(|shown| shown.was_at_work(self.active));
        let mut is_merged = false;
        if let Some(before) = self.open_mut(self.active)
            && before.row.seen_ns.is_none()
            && went_on.unwrap_or(before.row.blocked_ns.is_none())
            && !before.is_start
        {
            // It went straight on to the next one: what it then puts out belongs to both.
            before.row.merged_into = Some(number);
            is_merged = true;
        }
        self.active = Some(number);
        // A timer that the one before had set is a timer of both.
        let goes_on = is_merged || self.shown.as_ref().is_some_and(Shown::goes_on);
        let limits = if goes_on { self.cause.take_limits() } else { self.limits.clone() };
        self.cause.only(seen.tid, limits);
        self.old_ns = if goes_on { seen.at_ns } else { 0 };
        self.ends.begin();
    }

    /// A program that runs again this long after it began to wait for input had started.
    fn note_going_on(&mut self, at_ns: u64) {
        let active = self.active.and_then(|active| self.open.iter().find(|open| open.row.number == active));
        if self.shown.is_some() && active.is_some_and(|open| open.is_start && open.row.seen_ns.is_none()) {
            // It waits for the server: nobody sees a window yet.
            return;
        }
        if self.cause.is_everybody() && self.start_waits.take_if(|since| *since + STARTED_NS < at_ns).is_some() {
            self.cause.nobody();
        }
    }

    /// What the program did because of the input taken last is over, or it takes the next one.
    fn note_end_of_work(&mut self) {
        let last = self.ends.last(&self.ready);
        self.is_busy_until(last);
    }

    fn wrote(&mut self, seen: &Seen) {
        self.note_going_on(if seen.begin_ns > 0 { seen.begin_ns } else { seen.at_ns });
        self.note_running(seen);
        if let Some(open) = self.open.iter_mut().rfind(|open| open.row.begin_ns <= seen.at_ns) {
            open.is_written_for = true;
        }
        if !self.cause.is_at_work(seen.tid) {
            self.note_background(seen);
            return;
        }
        self.note_at_start(seen);
        let Some(open) = self.open_mut(self.active) else {
            self.background += 1;
            return;
        };
        open.row.seen_ns = Some(seen.at_ns);
        open.writer = Some((seen.tid, seen.name.clone()));
        open.row.output_bytes += seen.value;
    }

    /// A thread that could run, and has not left its CPU since, has had one or waited for one: of one that ends, and is
    /// reaped at once, nobody sees it leave.
    fn note_running(&mut self, seen: &Seen) {
        if let Some(since) = self.ready.get(&seen.tid).copied().filter(|since| *since < seen.at_ns) {
            self.note_interval(Interval::Cpu, since, seen.at_ns);
            let busy = self.ends.is_running(since, seen.at_ns, &self.ready);
            self.is_busy_until(busy);
        }
    }

    /// These threads have ended, and nobody saw them leave their CPUs.
    pub fn forget(&mut self, is_gone: impl Fn(u32) -> bool) {
        let gone: Vec<u32> = self.ready.keys().chain(self.io.keys()).copied().filter(|tid| is_gone(*tid)).collect();
        for tid in gone {
            self.ready.remove(&tid);
            self.io.remove(&tid);
            self.ends.forget(tid);
        }
    }

    fn ran(&mut self, seen: &Seen) {
        let from = if seen.begin_ns == 0 { seen.at_ns } else { seen.begin_ns };
        self.cpu_ns += seen.at_ns - from.min(seen.at_ns);
        self.note_going_on(from);
        if let Some(since) = self.io.remove(&seen.tid) {
            self.note_interval(Interval::Io, since, from);
        }
        // While a thread waits for its turn, the CPU is busy with somebody else's work.
        let busy_since = self.ready.remove(&seen.tid).map_or(from, |since| since.min(from));
        self.note_interval(Interval::Cpu, busy_since, seen.at_ns);
        if self.cause.is_at_work(seen.tid)
            && let Some(open) = self.open_mut(self.active)
        {
            open.add_caused_cpu(from, seen.at_ns);
        }
        for open in self.open.iter_mut().rev() {
            open.add_cpu(from, seen.at_ns);
            if open.row.begin_ns <= from {
                break;
            }
        }
        self.note_busy(seen, from);
        if !seen.slept() {
            self.is_ready(seen.tid, seen.at_ns);
            return;
        }
        if seen.sleeps_for_io() {
            if self.io.len() < MAX_THREADS {
                self.io.insert(seen.tid, seen.at_ns);
            }
        } else if self.asleep.len() < MAX_THREADS || self.asleep.contains_key(&seen.tid) {
            self.asleep.insert(seen.tid, seen.at_ns);
            self.doubts.sleeps(seen.tid);
        }
        if !seen.for_input() && !seen.for_several() && !seen.sleeps_for_io() {
            self.note_sleep(seen);
        }
        if seen.for_input() || seen.for_several() && (self.shown.is_some() || self.readers.contains(&seen.tid)) {
            self.waits_for_input(seen);
        }
    }

    /// From now on, this thread waits for a CPU.
    fn is_ready(&mut self, tid: u32, at_ns: u64) {
        if self.ready.len() < MAX_THREADS {
            self.ready.entry(tid).or_insert(at_ns);
        }
    }

    fn note_busy(&mut self, seen: &Seen, from: u64) {
        let busy = self.ends.ran(seen, from, &self.ready);
        self.is_busy_until(busy);
    }

    fn is_busy_until(&mut self, end_ns: Option<u64>) {
        if let (Some(end_ns), Some(open)) = (end_ns, self.open_mut(self.active)) {
            open.row.busy_ns.get_or_insert(end_ns);
        }
    }

    /// For those that have been open longest, and the last one: those between wait in the queue anyway.
    fn note_interval(&mut self, kind: Interval, from: u64, to: u64) {
        let last = self.open.len().saturating_sub(1);
        for (index, open) in self.open.iter_mut().enumerate() {
            if index < MAX_LOOKED_AT || index == last {
                open.note_interval(kind, from, to);
            } else {
                open.lose_intervals();
            }
        }
    }
}

#[cfg(test)]
#[path = "by_itself_tests.rs"]
mod by_itself_tests;
#[cfg(test)]
#[path = "display_tests.rs"]
mod display_tests;
#[cfg(test)]
#[path = "doubt_tests.rs"]
mod doubt_tests;
#[cfg(test)]
#[path = "tests.rs"]
mod tests;
