//! Inputs to a program in a window. Its server is in between: it gets what is typed and tells the program, which hands
//! it what to draw; then it tells the typist what it has drawn.

use super::beat::Beats;
use super::{Tracker, open::MAX_THREADS, waits::CURSOR_NS};
use punctual_probe::terminal::Seen;
use punctual_recording::Moment;
use std::collections::{HashSet, VecDeque};

/// What the server tells the program this soon after an input results from it: that the key was released, that the
/// pointer came, ns.
const TOLD_NS: u64 = 100_000_000;
/// How long the server may answer what the program hands it, ns.
const REPLIED_NS: u64 = 300_000_000;
/// The time within which the server draws what the program has handed over, if at all, ns.
const DRAWN_NS: u64 = 1_000_000_000;
/// The time within which it reaches a server that runs, ns.
const ON_ITS_WAY_NS: u64 = 200_000;
/// The time within which what two inputs hand over may be drawn as one, ns.
const TOGETHER_NS: u64 = 5_000_000;
/// The time within which a compositor shows what it was handed, if at all: some refreshes of 17 ms, ns.
const COMPOSED_NS: u64 = 100_000_000;
/// What was handed to the server last.
#[derive(Debug, Clone, Copy)]
struct Handed {
    /// The input that caused it; `None`: no input did.
    number: Option<u32>,
    at_ns: u64,
    is_drawn: bool,
    /// Who handed it over.
    tid: u32,
    /// When a timer had woken that thread, if that may be why.
    timed_ns: Option<u64>,
    /// Whether a program within a terminal emulator had put it out, which may have taken the last input.
    is_from_within: bool,
}

/// What is known of a display's server.
#[derive(Default)]
pub(super) struct Shown {
    server: Option<u32>,
    handed: Option<Handed>,
    /// Whether somebody was working because of the last input when the server got the next one.
    was_at_work: bool,
    /// Processes that talk to the server: one of them shows the others' work, as a terminal emulator shows a shell's.
    clients: HashSet<u32>,
    /// Threads that sleep until somebody wakes them, such as one that waits for more work.
    asleep: HashSet<u32>,
    /// Whether the server is a compositor, which collects what it is handed until its next refresh; the typist reports
    /// when it has shown that.
    composes: bool,
    /// When it has shown something that is not assigned yet.
    composed: VecDeque<u64>,
    /// The process that last handed something over because of an input.
    at_work: u32,
    beats: Beats,
    /// When a program within a terminal emulator put something out by itself that may be an answer.
    from_within_ns: Option<u64>,
    /// Whether a program within has put something out because of the input taken last.
    has_told: bool,
    /// A thread within that got the input, draws by itself, and has not answered yet.
    owes: Option<u32>,
    /// Whether something that a program within put out by itself is on its way to the emulator.
    is_on_its_way: bool,
    /// Threads that talk to the server.
    talkers: HashSet<u32>,
}

impl Shown {
    /// Whether a process draws by itself, and so has a blinking cursor.
    pub(super) fn is_client(&self, process: u32) -> bool {
        self.clients.contains(&process)
    }

    fn note_client(&mut self, seen: &Seen) {
        if self.clients.len() < MAX_THREADS && self.talkers.len() < MAX_THREADS {
            self.clients.insert(seen.process);
            self.talkers.insert(seen.tid);
        }
    }

    /// Threads that sleep until somebody wakes them.
    pub(super) fn asleep(&self) -> &HashSet<u32> {
        &self.asleep
    }

    /// For a compositor.
    pub(super) fn composed() -> Shown {
        Shown { composes: true, ..Shown::default() }
    }

    /// The compositor has shown something and told the typist.
    pub(super) fn was_composed(&mut self, at_ns: u64) {
        if self.composes && self.composed.len() < MAX_THREADS {
            self.composed.push_back(at_ns);
        }
    }

    /// Whether what is handed over then may come from within a terminal emulator.
    fn take_from_within(&mut self, at_ns: u64) -> bool {
        self.from_within_ns.take().is_some_and(|since| at_ns < since + REPLIED_NS)
    }

    /// The time within which whatever was handed over is drawn, ns.
    fn drawn_ns(&self) -> u64 {
        if self.composes { COMPOSED_NS } else { DRAWN_NS }
    }

    /// The time within which what two inputs hand over is drawn as one, ns.
    fn together_ns(&self) -> u64 {
        if self.composes { COMPOSED_NS } else { TOGETHER_NS }
    }

    /// Whether the program was still working because of an input, and had handed nothing over, when the next one came.
    pub(super) fn was_at_work(&self, number: Option<u32>) -> bool {
        self.was_at_work && self.handed.is_none_or(|handed| handed.number != number)
    }

    /// The server has nothing more to do: what it had been handed before it began, and drew nothing for, shows nothing.
    fn is_idle(&mut self, seen: &Seen) {
        if self.composes {
            // It waits for the next refresh.
            return;
        }
        let is_through = |handed: &mut Handed| {
            !handed.is_drawn && (seen.begin_ns >= handed.at_ns || seen.at_ns > handed.at_ns + ON_ITS_WAY_NS)
        };
        let _ = self.handed.take_if(is_through);
    }

    /// Whether the program was still working because of the last input, with timers of its own, when the next one came.
    pub(super) fn goes_on(&self) -> bool {
        self.was_at_work
    }

    /// Whether what the program handed over because of an input may still be drawn.
    pub(super) fn is_still_drawn(&self, number: u32, now_ns: u64) -> bool {
        self.handed.is_some_and(|handed| {
            handed.number == Some(number) && !handed.is_drawn && now_ns < handed.at_ns + self.drawn_ns()
        })
    }
}

impl Tracker {
    /// What differs with a display; returns whether nothing more remains to be done about it.
    pub(super) fn seen_with_display(&mut self, seen: &Seen) -> bool {
        match seen.kind {
            Moment::Got if seen.by_server() => self.delivered(seen),
            Moment::Wrote if seen.tells_others() => self.sent(seen.at_ns),
            Moment::Wrote if seen.by_server() => {
                // A compositor tells the typist more than what it has shown.
                if self.shown.as_ref().is_some_and(|shown| !shown.composes) {
                    self.drawn(seen.at_ns);
                }
            }
            Moment::Ran if seen.by_server() => {
                self.note_busy(seen, if seen.begin_ns == 0 { seen.at_ns } else { seen.begin_ns });
                if let Some(shown) = self.shown.as_mut().filter(|_| seen.slept() && !seen.sleeps_for_io()) {
                    shown.is_idle(seen);
                }
            }
            Moment::Got => self.told(seen),
            Moment::Wrote if seen.goes_to_terminal() => self.wrote_to_terminal(seen),
            Moment::Wrote => self.handed(seen),
            Moment::Woke => {
                let woken = seen.value as u32;
                let was_asleep = self.shown.as_mut().is_some_and(|shown| shown.asleep.remove(&woken));
                if was_asleep && seen.by_interrupt() {
                    self.woken_by_timer(woken, seen.at_ns);
                } else if was_asleep && seen.by_thread_there() && !self.cause.is_at_work(seen.tid) {
                    self.woken_by_other(woken, seen.at_ns);
                }
                self.note_timer(seen);
                return false;
            }
            Moment::Ran => {
                // `Cause` knows whether one that waits for input or a timer is still at work.
                let for_input = seen.for_input() || seen.for_several();
                if let Some(shown) = self.shown.as_mut().filter(|_| seen.slept() && !seen.sleeps_for_io()) {
                    if for_input {
                        shown.asleep.remove(&seen.tid);
                    } else if shown.asleep.len() < MAX_THREADS {
                        shown.asleep.insert(seen.tid);
                    }
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    /// The server has got what was typed.
    fn delivered(&mut self, seen: &Seen) {
        let shown = self.shown.get_or_insert_default();
        let was_at_work = self.cause.is_anybody_at_work_but(&shown.asleep) && !self.cause.is_everybody();
        shown.server = Some(seen.tid);
        shown.was_at_work = was_at_work;
        // The typist asks a compositor for more than to take what is typed.
        let tells_unwanted = !shown.composes;
        for open in self.open.iter_mut().filter(|open| open.row.begin_ns <= seen.at_ns && !open.is_start) {
            if open.delivered_ns.is_none() {
                open.delivered_ns = Some(seen.at_ns);
            } else if tells_unwanted && open.sent_ns.is_none() {
                // It has told nobody of the one before: the window ignores such inputs.
                open.was_thrown_away = true;
            }
        }
    }

    /// The server tells the program of what it has got, the first time that it tells it anything.
    fn sent(&mut self, at_ns: u64) {
        for open in &mut self.open {
            if open.delivered_ns.is_some() && !open.was_thrown_away {
                open.sent_ns.get_or_insert(at_ns);
            }
        }
    }

    /// The program has got something from the server: what was typed, if that is not known to have been got yet.
    fn told(&mut self, seen: &Seen) {
        if self.readers.len() < MAX_THREADS {
            self.readers.insert(seen.tid);
        }
        self.shown.get_or_insert_default().note_client(seen);
        let mut taken = Vec::new();
        for open in self.open.iter_mut().filter(|open| open.row.got_ns.is_none() && open.sent_ns.is_some()) {
            open.row.got_ns = Some(seen.at_ns);
            (open.reader, open.reader_process) = (Some((seen.tid, seen.name.clone())), seen.process);
            taken.push(open.row.number);
        }
        let Some((&last, before)) = taken.split_last() else { return };
        for &number in before {
            if let Some(open) = self.open_mut(Some(number)) {
                open.row.merged_into = Some(last);
            }
        }
        self.note_queue(&taken, seen.at_ns);
        self.take(last, seen);
        if let Some(shown) = self.shown.as_mut() {
            shown.beats.takes_input(seen.tid);
            (shown.from_within_ns, shown.has_told, shown.owes) = (None, false, None);
        }
        if let Some(server) = self.shown.as_ref().and_then(|shown| shown.server) {
            self.cause.ask(server, seen.at_ns + TOLD_NS);
        }
    }

    /// The program hands something to the server.
    fn handed(&mut self, seen: &Seen) {
        self.note_going_on(seen.at_ns);
        let number = self.active.filter(|_| self.cause.is_at_work(seen.tid));
        let before = self.shown.as_ref().and_then(|shown| shown.handed);
        let together_ns = self.shown.as_ref().map_or(TOGETHER_NS, Shown::together_ns);
        if let Some(number) = number {
            if let Some(open) = self.open_mut(Some(number)) {
                open.writer = Some((seen.tid, seen.name.clone()));
            }
            let is_together = |before: &Handed| {
                !before.is_drawn && before.number != Some(number) && seen.at_ns < before.at_ns + together_ns
            };
            if let Some(open) = self.open_mut(before.filter(is_together).and_then(|before| before.number))
                && open.row.seen_ns.is_none()
                && !open.is_start
            {
                open.row.merged_into = Some(number);
            }
        }
        let shown = self.shown.get_or_insert_default();
        shown.note_client(seen);
        let is_still_drawn =
            before.and_then(|before| before.number).is_some_and(|of| shown.is_still_drawn(of, seen.at_ns));
        if number.is_some() || !is_still_drawn {
            let timed_ns = shown.beats.woken_by(seen.tid, seen.at_ns);
            let is_from_within = number.is_none() && shown.take_from_within(seen.at_ns);
            let (at_ns, tid) = (seen.at_ns, seen.tid);
            shown.handed = Some(Handed { number, at_ns, is_drawn: false, tid, timed_ns, is_from_within });
        }
        match (number, shown.server) {
            (Some(_), Some(server)) => {
                shown.at_work = seen.process;
                self.cause.ask(server, seen.at_ns + REPLIED_NS);
            }
            // What the server tells from now on is its answer to this, a clock's drawing for instance.
            (None, Some(server)) if shown.at_work == seen.process => self.cause.has_answered(server),
            _ => {}
        }
    }

    /// A terminal emulator, or a program within, writes to their terminal.
    fn wrote_to_terminal(&mut self, seen: &Seen) {
        self.note_at_start(seen);
        if self.cause.is_at_work(seen.tid) {
            self.cause.hand_on(seen.at_ns);
            if let Some(shown) = self.shown.as_mut().filter(|shown| !shown.is_client(seen.process)) {
                (shown.has_told, shown.is_on_its_way) = (true, false);
            }
        } else if self.comes_anyway(seen) {
            // What the emulator gets from now on may be this, or the answer: one that looks for input between its sleeps is
            // woken by nobody, and of one that has got the input nobody sees what it set its timer for.
            let is_unread = self.cause.is_handed_on();
            self.cause.hands_nothing_on();
            if let Some(shown) = self.shown.as_mut() {
                shown.is_on_its_way = true;
                if is_unread || shown.owes.take_if(|tid| *tid == seen.tid).is_some() {
                    shown.from_within_ns = Some(seen.at_ns);
                }
            }
        }
    }

    /// Whether one of the kernel's own threads brings an emulator what a program within had put out by itself, before the
    /// input was handed on.
    pub(super) fn brings_what_came_before(&mut self, seen: &Seen) -> bool {
        let Some(shown) = self.shown.as_mut().filter(|_| seen.waker_is_kernels()) else { return false };
        let is_emulator = shown.talkers.contains(&(seen.value as u32));
        is_emulator && std::mem::take(&mut shown.is_on_its_way)
    }

    /// A thread within a terminal emulator waits for further input, and puts something out by itself from time to time.
    pub(super) fn may_owe(&mut self, tid: u32) {
        if let Some(shown) = self.shown.as_mut().filter(|shown| !shown.has_told) {
            shown.owes = Some(tid);
        }
    }

    /// A thread that slept until somebody has work for it is woken by one that does not work because of the input: once
    /// that was seen, it does no more because of it either.
    fn woken_by_other(&mut self, tid: u32, at_ns: u64) {
        if self.is_shown_already() {
            self.cause.rests(tid, at_ns);
        }
    }

    /// A thread that waited neither for input nor for I/O goes on because of a timer.
    fn woken_by_timer(&mut self, tid: u32, at_ns: u64) {
        let Some(shown) = self.shown.as_mut() else { return };
        shown.beats.woken(tid, at_ns);
        if shown.beats.has(tid) || self.is_shown_already() {
            // A cursor, or a clock: nobody but a timer wakes it, and what was asked for has been shown; or else it may be either.
            self.cause.rests(tid, at_ns);
        }
    }

    fn is_shown_already(&self) -> bool {
        let active = self.active.and_then(|active| self.open.iter().find(|open| open.row.number == active));
        active.is_some_and(|open| open.row.seen_ns.is_some() && !open.is_start)
    }

    /// Programs with a compositor have their timers among their descriptors, and no limit tells of them.
    fn note_timer(&mut self, seen: &Seen) {
        let composes = self.shown.as_ref().is_some_and(|shown| shown.composes);
        if composes
            && self.cause.was_timed(seen)
            && let Some(open) = self.open_mut(self.active)
        {
            open.had_timer = true;
        }
    }

    /// Assigns what a compositor has shown by then.
    pub(super) fn note_composed(&mut self, upto_ns: u64) {
        while let Some(shown) = self.shown.as_mut()
            && let Some(at_ns) = shown.composed.front().copied().filter(|at_ns| *at_ns <= upto_ns)
        {
            shown.composed.pop_front();
            self.drawn(at_ns);
        }
    }

    /// The server tells of what it has drawn.
    fn drawn(&mut self, at_ns: u64) {
        let handed = self.shown.as_mut().and_then(|shown| shown.handed.as_mut());
        let handed = handed.map(|handed| {
            handed.is_drawn = true;
            *handed
        });
        if let Some(handed) = handed {
            self.note_by_itself(handed, at_ns);
        }
        let of = handed.and_then(|handed| handed.number.zip(Some(handed.at_ns)));
        match of.and_then(|(number, handed_ns)| Some((self.open_mut(Some(number))?, handed_ns))) {
            Some((open, handed_ns)) => (open.row.seen_ns, open.handed_ns) = (Some(at_ns), Some(handed_ns)),
            None => self.background += 1,
        }
    }

    /// Something was drawn that a thread may have drawn by itself. Whether that was the answer to the last input is not known
    /// while that has no other; after that, if it came soon, and at another time than those before.
    fn note_by_itself(&mut self, handed: Handed, at_ns: u64) {
        let is_start = self.open_mut(handed.number).is_some_and(|open| open.is_start);
        if handed.number.is_some() && !is_start {
            return;
        }
        let has_answer = self.is_shown_already();
        let begin_ns = self.open_mut(self.active).map(|open| open.row.begin_ns);
        let Some(shown) = self.shown.as_mut() else { return };
        let is_timed = handed.timed_ns.is_some_and(|timed_ns| {
            let is_regular = shown.beats.draws(handed.tid, timed_ns);
            let may_answer = |begin_ns| match has_answer {
                true => !is_regular && at_ns < begin_ns + CURSOR_NS,
                false => shown.beats.has(handed.tid),
            };
            begin_ns.is_some_and(may_answer)
        });
        if !is_start && (is_timed || handed.is_from_within) {
            self.doubt_last(None, at_ns, handed.is_from_within);
        }
    }

    /// A thread that is at work waits with nothing queued. Some programs have one thread that gets the input, and their first one
    /// that works on it: they are blocked when both wait. Where they wait for the server in between, the last time counts; not
    /// one that comes after a timer.
    pub(super) fn rests_with_display(&mut self, seen: &Seen, sets_timer: bool) {
        let at_work = |tid: u32| tid != seen.tid && self.cause.is_at_work(tid);
        let Some(open) = self.active.and_then(|active| self.open.iter().find(|open| open.row.number == active)) else {
            return;
        };
        let Some((reader, _)) = &open.reader else { return };
        let (reader, main) = (*reader, open.reader_process);
        let is_last = [reader, main].contains(&seen.tid) && !at_work(reader) && !at_work(main);
        if let Some(open) = self.open_mut(self.active).filter(|open| is_last && !open.had_timer) {
            open.row.blocked_ns = Some(seen.at_ns);
            open.had_timer = sets_timer;
        }
    }
}
