//! What is known about each followed thread, and about what wakes them: records in, wakeups out.

use super::records::{
    NAME_SIZE, RECORD_ENDED, RECORD_NO_WAKEUP, Record, SENT_HERE, Slot, WAKER_DEVICE, WAKER_SOFTIRQ, WAKER_THREAD,
    WAKER_TIMER, WAKER_VECTOR, Wake, shown,
};
use super::selection::{Selection, name_of, policy_of, process_of};
use super::without_sleep::{WithoutSleepTable, ends_without_wakeup};
use crate::shared::names::before_zero;
use crate::shared::recent::{Placed, Recent};
use punctual_kernel::other_thread::ThreadScheduling;
use punctual_recording::{
    Counters, FollowedStamps, FollowedThread, OTHERS, Softirq, Task, Vector, Waker, WakerKind, Wakeup, Writer,
};
use std::collections::HashMap;

/// No more threads than this are told apart, so that no recording grows without end: those of the same name and policy
/// share one entry.
const MAX_TASKS: usize = 1024;
/// No more entries than this are made at all: whoever comes then is one of [`OTHERS`]. Threads choose their own names.
const MAX_ENTRIES: usize = MAX_TASKS + 256;
/// Wakers beyond this number are recorded only by their kind.
const MAX_WAKERS: usize = 4096;
/// No more names of wakers than this are told apart for each thread, ...
const MAX_NAMES: usize = 64;
/// ... nor more than this for all threads together.
const MAX_ALL_NAMES: usize = 16_384;

const TIMER_USES: [&str; 4] = ["sleep", "timerfd", "posix timer", "interval timer"];

/// Who a thread is, as far as that tells tasks apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    tid: u32,
    name: [u8; NAME_SIZE],
    policy: u16,
    priority: u16,
}

impl Identity {
    fn of(record: &Record) -> Identity {
        Identity { tid: record.tid, name: record.name, policy: record.policy, priority: record.priority }
    }
}

impl Placed for Identity {
    fn place(&self) -> usize {
        self.tid as usize
    }
}

/// Who woke a thread, by its task: kind, number and name as records have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waking {
    task: usize,
    kind: u32,
    id: u32,
    name: [u8; NAME_SIZE],
}

impl Placed for Waking {
    fn place(&self) -> usize {
        (self.id as usize).wrapping_mul(31) ^ self.kind as usize ^ self.task << 4
    }
}

/// A waker that was found for a task.
struct Found {
    task: usize,
    position: u32,
    /// What it counts as there.
    counted_as: String,
    /// Wakings since, which the task's counts do not hold yet.
    count: u64,
}

/// What a thread has counted so far.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    lost: u64,
    unseen: u64,
    executed_ns: u64,
}

/// All followed threads.
#[derive(Default)]
pub(super) struct Table {
    tasks: HashMap<Identity, usize>,
    recent_tasks: Recent<Identity, usize>,
    counts: Vec<Counts>,
    wakers: HashMap<(u32, u32, [u8; NAME_SIZE]), u32>,
    /// Those that woke last.
    recent_wakers: Recent<Waking, Found>,
    /// Positions of the wakers that are recorded only by their kind.
    other_wakers: HashMap<WakerKind, u32>,
    /// How many names of wakers there are over all threads.
    names: usize,
    /// The entry of those who are not told apart at all.
    others: Option<usize>,
    /// Of how many threads of the recording it is noted whether they are there for context.
    noted: usize,
    without_sleep: WithoutSleepTable,
}

impl Table {
    /// Takes in a record; returns the wakeup that it reports, with the index of its task, if it reports one that can be believed.
    pub(super) fn take(&mut self, record: &Record, writer: &mut Writer) -> Option<(usize, Wakeup)> {
        let no_wakeup = record.flags & RECORD_NO_WAKEUP != 0;
        let identity = Identity::of(record);
        if no_wakeup && record.unobserved == 0 && record.lost == 0 && !self.tasks.contains_key(&identity) {
            // It came and went without a wakeup: `take_without_sleep` counts it.
            return None;
        }
        let task = self.task(identity, record.process, writer);
        let counts = &mut self.counts[task];
        counts.lost += u64::from(record.lost);
        counts.unseen += u64::from(record.unobserved);
        if record.flags & RECORD_ENDED != 0 {
            writer.followed_mut().threads[task].ended_ns = Some(record.at);
        }
        if no_wakeup {
            return None;
        }
        counts.executed_ns += record.executed;
        let wakeup = self.wakeup(
            &record.wake,
            record.switch_in,
            record.switch_out,
            (record.switch_out != 0).then_some(record.executed),
            (record.cpu, record.tid),
            (task, writer),
        );
        if wakeup.is_none() {
            self.counts[task].unseen += 1;
        }
        wakeup.map(|wakeup| (task, wakeup))
    }

    /// Takes in a record of a thread that began while it was followed: counts it if it ended without ever having slept.
    pub(super) fn take_without_sleep(&mut self, record: &Record, selection: &Selection, writer: &mut Writer) {
        if !ends_without_wakeup(record) || self.is_known(record, writer) {
            return;
        }
        let is_context = selection.is_context(&shown(&record.name), record.tid, record.process);
        self.without_sleep.take(record, is_context, &mut writer.followed_mut().without_sleep);
    }

    /// Whether the thread of a record has woken before, and has not ended since: its number may have been another's.
    fn is_known(&self, record: &Record, writer: &mut Writer) -> bool {
        let task = self.tasks.get(&Identity::of(record));
        task.is_some_and(|task| writer.followed_mut().threads[*task].ended_ns.is_none())
    }

    /// Takes in a thread that is still running: the wakeup that it works on, with how long that has taken so far, and its counts.
    pub(super) fn take_unfinished(&mut self, slot: &Slot, now_ns: u64, writer: &mut Writer) -> Option<(usize, Wakeup)> {
        let tid = slot.owner as u32;
        let task = self.task_of_living(tid, writer)?;
        let counts = &mut self.counts[task];
        counts.lost += u64::from(slot.lost);
        counts.unseen += u64::from(slot.unobserved);
        if slot.switch_in == 0 {
            return None;
        }
        // Work that never ends, such as a loop that hangs, is the longest of all.
        let goes_on_ns = if slot.on_cpu_since == 0 { 0 } else { now_ns.saturating_sub(slot.on_cpu_since) };
        let executed_ns = slot.executed + goes_on_ns;
        counts.executed_ns += executed_ns;
        let wakeup =
            self.wakeup(&slot.current, slot.switch_in, now_ns, Some(executed_ns), (slot.cpu, tid), (task, writer))?;
        Some((task, wakeup))
    }

    fn wakeup(
        &mut self,
        wake: &Wake,
        switch_in: u64,
        switch_out: u64,
        executed_ns: Option<u64>,
        (cpu, tid): (u32, u32),
        (task, writer): (usize, &mut Writer),
    ) -> Option<Wakeup> {
        let stamps = FollowedStamps { began: wake.began, irq: wake.irq, waking: wake.waking, switch_in, switch_out };
        let mut wakeup = Wakeup::from_followed(&stamps, cpu, tid)?;
        // The same stamps measure the work's CPU time, except those that were folded.
        wakeup.executed_ns = executed_ns.map(|executed| executed.min(wakeup.work_ns.unwrap_or(executed)));
        wakeup.woken_by = self.waker(wake, task, writer);
        Some(wakeup)
    }

    fn waker(&mut self, wake: &Wake, task: usize, writer: &mut Writer) -> Option<u32> {
        let waking = Waking { task, kind: wake.kind, id: wake.id, name: alone(&wake.name) };
        if let Some(found) = self.recent_wakers.get_mut(&waking) {
            found.count += 1;
            return Some(found.position);
        }
        let waker = named(wake)?;
        let followed = writer.followed_mut();
        let by = &mut followed.threads[task].woken_by;
        let shown = waker.to_string();
        let is_new = !by.contains_key(&shown);
        let has_room = by.len() < MAX_NAMES && self.names < MAX_ALL_NAMES;
        self.names += usize::from(is_new && has_room);
        let counted_as = if is_new && !has_room { OTHERS.to_owned() } else { shown };
        *by.entry(counted_as.clone()).or_insert(0) += 1;
        let position = self.position_of(waker, wake, writer);
        if let Some(displaced) = self.recent_wakers.put(waking, Found { task, position, counted_as, count: 0 }) {
            displaced.settle(writer);
        }
        Some(position)
    }

    /// The waker's position among all, added if it has none.
    fn position_of(&mut self, waker: Waker, wake: &Wake, writer: &mut Writer) -> u32 {
        let followed = writer.followed_mut();
        let id = if wake.kind == WAKER_SOFTIRQ { wake.id & !SENT_HERE } else { wake.id };
        let key = (wake.kind, id, alone(&wake.name));
        if let Some(position) = self.wakers.get(&key) {
            return *position;
        }
        let position = followed.wakers.len() as u32;
        if self.wakers.len() < MAX_WAKERS {
            self.wakers.insert(key, position);
            followed.wakers.push(waker);
            return position;
        }
        let kind = waker.kind;
        *self.other_wakers.entry(kind).or_insert_with(|| {
            followed.wakers.push(Waker { kind, name: OTHERS.to_owned(), id: None });
            position
        })
    }

    fn task(&mut self, identity: Identity, process: u32, writer: &mut Writer) -> usize {
        if let Some(task) = self.recent_tasks.get(&identity) {
            return *task;
        }
        let task = self.find_or_add(identity, process, writer);
        self.recent_tasks.put(identity, task);
        task
    }

    fn find_or_add(&mut self, mut identity: Identity, mut process: u32, writer: &mut Writer) -> usize {
        if let Some(task) = self.tasks.get(&identity) {
            return *task;
        }
        if self.tasks.len() >= MAX_TASKS {
            (identity.tid, process) = (0, 0);
            if let Some(task) = self.tasks.get(&identity) {
                return *task;
            }
        }
        if self.tasks.len() >= MAX_ENTRIES {
            if let Some(task) = self.others {
                return task;
            }
            let task = self.add(0, 0, OTHERS.to_owned(), OTHERS.to_owned(), writer);
            self.others = Some(task);
            return task;
        }
        let name = shown(&identity.name);
        let measure = format!("{name} {}", policy_in_words(identity.policy, identity.priority));
        let task = self.add(identity.tid, process, name, measure, writer);
        self.tasks.insert(identity, task);
        task
    }

    fn add(&mut self, tid: u32, process: u32, name: String, measure: String, writer: &mut Writer) -> usize {
        let task = writer.add_task(Task { measure, tid, cpu: None, period_ns: 0, counters: Counters::default() });
        // Those that share an entry have no niceness of their own.
        let nice = if tid == 0 { None } else { ThreadScheduling::of(tid).ok().and_then(ThreadScheduling::nice) };
        writer.followed_mut().threads.push(FollowedThread { tid, process, name, nice, ..FollowedThread::default() });
        self.counts.push(Counts::default());
        task
    }

    /// The task of a thread that exists now, added if it has none; `None` if it has just ended.
    pub(super) fn task_of_living(&mut self, tid: u32, writer: &mut Writer) -> Option<usize> {
        let (policy, priority) = policy_of(tid)?;
        let mut name = [0; NAME_SIZE];
        let bytes = name_of(tid)?.into_bytes();
        let length = bytes.len().min(NAME_SIZE - 1);
        name[..length].copy_from_slice(&bytes[..length]);
        let process = process_of(tid)?;
        Some(self.task(Identity { tid, name, policy, priority }, process, writer))
    }

    /// Notes which of the threads that were added since the last time are there for context.
    pub(super) fn note_context(&mut self, selection: &Selection, writer: &mut Writer) {
        let threads = &mut writer.followed_mut().threads;
        for thread in threads.iter_mut().skip(self.noted) {
            thread.is_context = selection.is_context(&thread.name, thread.tid, thread.process);
        }
        self.noted = threads.len();
    }

    /// Tells the writer what was counted; `lost` is the number of all records for which there was no room.
    pub(super) fn count(&mut self, lost: u64, writer: &mut Writer) {
        self.recent_wakers.take_all().for_each(|found| found.settle(writer));
        // Threads report their losses with their next record. Those that ended without one are not known any more.
        let told: u64 = self.counts.iter().map(|counts| counts.lost).sum();
        for (task, counts) in self.counts.iter().enumerate() {
            let untold = if task == 0 { lost.saturating_sub(told) } else { 0 };
            writer.set_thread_counts(task, counts.lost + untold, counts.unseen, counts.executed_ns);
        }
    }
}

/// A name without what follows its end, which is left from others.
fn alone(name: &[u8; NAME_SIZE]) -> [u8; NAME_SIZE] {
    let (mut alone, text) = ([0; NAME_SIZE], before_zero(name));
    alone[..text.len()].copy_from_slice(text);
    alone
}

impl Found {
    /// Adds its wakings to what the task has counted.
    fn settle(self, writer: &mut Writer) {
        if self.count > 0 {
            *writer.followed_mut().threads[self.task].woken_by.entry(self.counted_as).or_insert(0) += self.count;
        }
    }
}

fn named(wake: &Wake) -> Option<Waker> {
    let of_list = |list: &[&str], number: Option<u32>| {
        let name = number.and_then(|number| list.get(number as usize));
        name.map_or_else(|| format!("number {}", wake.id), |&name| name.to_owned())
    };
    let (kind, name, id) = match wake.kind {
        WAKER_TIMER => (WakerKind::Timer, of_list(&TIMER_USES, wake.id.checked_sub(1)), None),
        WAKER_VECTOR => (
            WakerKind::Interrupt,
            Vector::name_of(wake.id).map_or_else(|| format!("number {}", wake.id), str::to_owned),
            None,
        ),
        WAKER_DEVICE => (WakerKind::Interrupt, shown(&wake.name), Some(wake.id)),
        WAKER_SOFTIRQ => {
            let number = wake.id & !SENT_HERE;
            (WakerKind::Softirq, Softirq::words(u64::from(number)).into_owned(), Some(number))
        }
        // The kernel's idle loop: what it does between interrupts.
        WAKER_THREAD if wake.id == 0 => (WakerKind::Thread, "(idle)".to_owned(), Some(0)),
        WAKER_THREAD => (WakerKind::Thread, shown(&wake.name), Some(wake.id)),
        _ => return None,
    };
    Some(Waker { kind, name, id })
}

/// As measures are named elsewhere: `other`, `fifo:80`.
fn policy_in_words(policy: u16, priority: u16) -> String {
    match policy {
        0 => "other".to_owned(),
        1 => format!("fifo:{priority}"),
        2 => format!("rr:{priority}"),
        3 => "batch".to_owned(),
        5 => "idle".to_owned(),
        6 => "deadline".to_owned(),
        7 => "ext".to_owned(),
        _ => format!("policy {policy}"),
    }
}

#[cfg(test)]
mod tests;
