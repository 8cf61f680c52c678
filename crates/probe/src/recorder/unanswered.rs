//! Threads that ask within what looks like a request, and wait for nobody.
//!
//! Whoever asks at one step of its clock and takes the answer at a later one, or has another thread take it, only sleeps in between. What lies between two of
//! its sleeps is in time, however late the answer is. That such a thread asks is in the rings: it writes, or wakes whoever waits for a word, and whoever is
//! woken is not done by the end of that.

use super::programs::FlightRecorder;
use super::request::Request;
use super::requests::{Requests, Thread};
use super::rings::Copied;
use crate::shared::event_ring::Record;
use punctual_kernel::clock;
use punctual_kernel::other_thread::is_of_kernel;
use punctual_recording::episode::{Call, Event, EventKind, Sender, WaitEnd, WakingAct, WordState};
use std::collections::HashMap;

/// How many stretches wait for a look at most: with more, some are not looked at.
const MAX_STRETCHES: usize = 1_024;
/// How often the rings are looked into, ns, ...
const EVERY_NS: u64 = 50_000_000;
/// ... and how far back, ns.
const REACH_NS: u64 = 100_000_000;
/// A stretch is looked at so long after its end, ns: whoever was asked in it may still have to go to sleep.
const AFTER_NS: u64 = 10_000_000;
/// Whoever has nothing left to do but to go to sleep runs no longer than this for it, ns, ...
const MAX_TO_SLEEP_NS: u64 = 50_000;
/// ... and has run so many times as long since it was asked.
const TO_REST: u64 = 4;
/// How much CPU time all of that may take, ns: the rings of all CPUs are copied each time.
const MAX_CPU_NS: u64 = 200_000_000;

impl Requests {
    /// So many more requests of a thread are over that count as sure and that its clock began, and in so many of these it waited for nobody.
    pub(super) fn note_by_clock(&mut self, tid: u32, sure: u64, alone: u64) {
        let Some(thread) = self.threads.get_mut(&tid).filter(|_| sure > 0) else { return };
        thread.asks.are_over(sure, alone);
        self.programs.were_alone(thread.process, alone);
        self.take_back(tid);
    }

    /// A thread was seen to ask in one of its requests in which it waited for nobody.
    pub(super) fn saw_asking(&mut self, tid: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.asks.was_seen();
            self.take_back(tid);
        }
    }

    fn take_back(&mut self, tid: u32) {
        let Some(thread) = self.threads.get_mut(&tid).filter(|thread| thread.asks.may_be_unanswered()) else { return };
        let (sure, alone) = thread.are_unanswered();
        self.unanswered += sure;
        self.programs.were_not_alone(thread.process, alone);
    }

    /// How many requests that count as sure may be only a question, or only what follows the answer, as was seen later: of threads that ask, and go on without
    /// waiting for the answer.
    pub(crate) fn unanswered(&self) -> u64 {
        self.unanswered
    }
}

impl Thread {
    /// So many of its requests are not sure for another reason.
    pub(super) fn are_not_sure(&mut self, requests: u64) {
        self.asks.are_not_sure(requests);
    }

    /// None of those that count as sure by its clock is: how many these are, and how many wait for nobody.
    fn are_unanswered(&mut self) -> (u64, u64) {
        (self.sure_by_clock, self.is_sure_by_clock) = (0, false);
        self.asks.take_back()
    }
}

/// A stretch of a thread that looks like a whole request, and in which it waited for nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Alone {
    tid: u32,
    from_ns: u64,
    until_ns: u64,
}

/// Looks into the rings for what threads did in such stretches.
#[derive(Default)]
pub(super) struct AskLooks {
    stretches: Vec<Alone>,
    looked_ns: u64,
    spent_ns: u64,
}

impl AskLooks {
    /// A request of a thread is over: it is looked at if it waited for nobody.
    pub(super) fn note(&mut self, tid: u32, request: &Request) {
        let Request { expected_ns, end_ns, known } = *request;
        if known.is_alone && known.is_sure() && self.stretches.len() < MAX_STRETCHES {
            self.stretches.push(Alone { tid, from_ns: expected_ns, until_ns: end_ns });
        }
    }

    /// Looks, if it is time.
    pub(super) fn look(&mut self, recorder: &FlightRecorder, requests: &mut Requests, now_ns: u64) {
        if self.stretches.is_empty() || self.looked_ns.saturating_add(EVERY_NS) > now_ns {
            return;
        }
        self.looked_ns = now_ns;
        let is_due = |stretch: &Alone| stretch.until_ns.saturating_add(AFTER_NS) <= now_ns;
        let (mut stretches, later) = std::mem::take(&mut self.stretches).into_iter().partition::<Vec<_>, _>(is_due);
        self.stretches = later;
        // Without the kernel's count, nothing tells who woke from what an interrupt did meanwhile.
        if self.spent_ns > MAX_CPU_NS || !recorder.nesting_known() {
            return;
        }
        let before_ns = clock::thread_cpu_ns();
        let since_ns = now_ns.saturating_sub(REACH_NS);
        stretches.retain(|stretch| stretch.from_ns >= since_ns);
        let times = stretches.iter().map(|stretch| (stretch.from_ns, stretch.until_ns));
        if let Some((start, end)) = times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            let copied = recorder.copy(start, end.saturating_add(AFTER_NS));
            for tid in asking(&copied, &stretches, is_of_kernel) {
                requests.saw_asking(tid);
            }
        }
        self.spent_ns += clock::thread_cpu_ns().saturating_sub(before_ns);
    }
}

/// A thread that another one woke, in a stretch of that.
struct Woken {
    stretch: usize,
    tid: u32,
    at_ns: u64,
}

/// The thread of each stretch in which one asked, and whoever it woke was not done by its end. Threads of the kernel, as that of a terminal, hand on
/// what is written, and answer nobody.
fn asking(copied: &[(u32, Copied)], stretches: &[Alone], is_of_kernel: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut of_thread: HashMap<u32, Vec<usize>> = HashMap::new();
    for (place, stretch) in stretches.iter().enumerate() {
        of_thread.entry(stretch.tid).or_default().push(place);
    }
    let records = || copied.iter().flat_map(|(_, copied)| &copied.records);
    let mut woken: Vec<Woken> = Vec::new();
    for record in records() {
        let Some((tid, places)) = asker(record).and_then(|tid| of_thread.get(&tid).map(|places| (tid, places))) else {
            continue;
        };
        let is_within =
            |place: &&usize| (stretches[**place].from_ns..=stretches[**place].until_ns).contains(&record.time);
        let other = record.value as u32;
        if let Some(&stretch) = places.iter().find(is_within).filter(|_| other != tid) {
            woken.push(Woken { stretch, tid: other, at_ns: record.time });
        }
    }
    let mut turns: HashMap<u32, Vec<Turn>> = woken.iter().map(|woken| (woken.tid, Vec::new())).collect();
    for record in records() {
        for (tid, turn) in turns_of(record).into_iter().flatten() {
            turns.entry(tid).and_modify(|turns| turns.push(turn));
        }
    }
    turns.values_mut().for_each(|turns| turns.sort_unstable());
    woken.retain(|woken| !is_done(&turns[&woken.tid], woken.at_ns, stretches[woken.stretch].until_ns));
    let mut known: HashMap<u32, bool> = HashMap::new();
    woken.retain(|woken| !*known.entry(woken.tid).or_insert_with(|| is_of_kernel(woken.tid)));
    let mut places: Vec<usize> = woken.into_iter().map(|woken| woken.stretch).collect();
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|place| stretches[place].tid).collect()
}

/// What becomes of a thread: when, ns, and what.
type Turn = (u64, Becomes);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Becomes {
    Asleep,
    /// Woken by somebody who asks.
    Asked,
    /// Woken by anything else.
    Woken,
    /// Given a CPU, ...
    Runs,
    /// ... and taken off it, though it could go on.
    Preempted,
}

/// Which threads go to sleep, are woken, or are given a CPU.
fn turns_of(record: &Record) -> [Option<(u32, Turn)>; 2] {
    let turn = |tid: u32, becomes| Some((tid, (record.time, becomes)));
    let other = record.value as u32;
    match EventKind::from_code(record.kind()) {
        Some(EventKind::Switch) => {
            let leaves = if record.extra >> 32 != 0 { Becomes::Asleep } else { Becomes::Preempted };
            [turn(record.tid(), leaves), turn(other, Becomes::Runs)]
        }
        Some(EventKind::Waking) if is_in_vain(record) => [None; 2],
        Some(EventKind::Waking) => {
            [turn(other, if asker(record).is_some() { Becomes::Asked } else { Becomes::Woken }), None]
        }
        _ => [None; 2],
    }
}

/// Whether a thread that is asked then slept again by a time, to wait for what it is asked next, or may have. In the midst of what it does, it may sleep until a timer or
/// for a disk. Nor has it more to do if all that it runs for until it sleeps is its way there: others may have kept it from its CPU once it had answered.
fn is_done(turns: &[Turn], asked_ns: u64, until_ns: u64) -> bool {
    let is_last = |place: usize| turns.get(place + 1).is_none_or(|(_, becomes)| *becomes != Becomes::Woken);
    let sleeps =
        turns.iter().enumerate().filter(|(_, (at_ns, becomes))| *becomes == Becomes::Asleep && asked_ns < *at_ns);
    let is_on_its_way = |at_ns: u64| {
        let rest_ns = ran_ns(turns, until_ns, at_ns);
        let before_ns = ran_ns(turns, asked_ns, until_ns);
        before_ns > 0 && rest_ns <= MAX_TO_SLEEP_NS && rest_ns.saturating_mul(TO_REST) <= before_ns
    };
    let first = sleeps.clone().next().map(|(place, _)| place);
    sleeps
        .filter(|(place, _)| is_last(*place))
        .any(|(place, (at_ns, _))| *at_ns <= until_ns || first == Some(place) && is_on_its_way(*at_ns))
}

/// How long a thread was on a CPU between two times, ns.
fn ran_ns(turns: &[Turn], from_ns: u64, to_ns: u64) -> u64 {
    let runs = turns.iter().enumerate().filter(|(_, (_, becomes))| *becomes == Becomes::Runs);
    let ran = runs.map(|(place, (since_ns, _))| {
        let leaves = |(_, becomes): &&Turn| matches!(becomes, Becomes::Asleep | Becomes::Preempted);
        let until_ns = turns[place..].iter().find(leaves).map_or(u64::MAX, |(at_ns, _)| *at_ns);
        until_ns.min(to_ns).saturating_sub((*since_ns).max(from_ns))
    });
    ran.sum()
}

/// Whether a waking ends no wait: whoever reads an answer out of a local socket makes room there, and the one that waits to read is woken for that, too.
fn is_in_vain(record: &Record) -> bool {
    let event = waking(record);
    let is_by_reader = |end: WaitEnd| matches!(end.sleeper, Call::Read | Call::Poll) && end.waker == Some(Call::Read);
    event.is_the_threads_own() && event.wait_end().is_some_and(is_by_reader)
}

/// Who asks with a waking: whoever writes to one that waits for that, sends the packet, or wakes one that waits for a word, if that is no lock which it lets
/// go of.
fn asker(record: &Record) -> Option<u32> {
    if EventKind::from_code(record.kind()) != Some(EventKind::Waking) {
        return None;
    }
    let event = waking(record);
    let is_its_own = event.is_the_threads_own();
    if let Some(end) = event.wait_end() {
        let is_by_call = match end.sleeper {
            Call::Read | Call::Poll | Call::Connect => matches!(end.waker, Some(Call::Write | Call::Connect)),
            Call::Queue => end.waker == Some(Call::Queue),
            _ => false,
        };
        return match end.sender {
            Sender::Thread(tid) => Some(tid),
            _ => (is_its_own && is_by_call && !end.ends && !end.thaws).then_some(event.tid),
        };
    }
    let told = event.lock_waking();
    let is_asked = told.act == WakingAct::WakesWord && told.state != WordState::Free;
    (is_its_own && is_asked).then_some(event.tid)
}

/// The event of a waking.
fn waking(record: &Record) -> Event {
    Event {
        at_ns: record.time,
        cpu: 0,
        kind: EventKind::Waking,
        tid: record.tid(),
        priority: record.priority(),
        context: record.context(),
        steal_ns: 0,
        value: record.value,
        extra: record.extra,
        name: 0,
    }
}

#[cfg(test)]
#[path = "unanswered_tests.rs"]
mod tests;
