//! Where each kind of event is in an episode, so that what concerns one moment is found without looking at all of them.

use crate::episode::replay::RESTS;
use crate::episode::waits::{MAX_WITHIN, is_spinlock};
use punctual_recording::Episode;
use punctual_recording::episode::{Event, EventKind, Group, INTERRUPTED_USER, LOCK_OF_PROGRAM, WakingAct, WordState};
use std::collections::{BTreeMap, BTreeSet};

/// Events by time; those at the same time in the episode's order.
type ByTime<'a> = Vec<&'a Event>;

/// In the place of a word in memory: from this bit on its page, which shared words do not tell.
const PAGE_BIT: u32 = 10;

/// An episode's events by whom or what they concern.
#[derive(Debug, Default)]
pub(crate) struct Index<'a> {
    /// Beginnings and ends of interrupts, by CPU.
    vectors: BTreeMap<u32, ByTime<'a>>,
    /// Interrupts that came over a thread's program, by the thread.
    in_program: BTreeMap<u32, ByTime<'a>>,
    /// Beginnings and ends of timers' functions, by CPU.
    timers: BTreeMap<u32, ByTime<'a>>,
    /// Wakings, by who is woken.
    woken: BTreeMap<u64, ByTime<'a>>,
    /// Wakings, by who wakes.
    wakers: BTreeMap<u32, ByTime<'a>>,
    /// Switches, by who leaves.
    leaves: BTreeMap<u32, ByTime<'a>>,
    /// Switches from and to a thread, and its wakings.
    turns: BTreeMap<u64, ByTime<'a>>,
    /// When a thread was switched to.
    comes: BTreeMap<u64, Vec<u64>>,
    /// Who asked for a thread to stop.
    stops: BTreeMap<u64, ByTime<'a>>,
    /// Wakings that tell of a lock of a program, by the lock's place: positions in the episode.
    locks: BTreeMap<u32, Vec<(u64, usize)>>,
    /// Beginnings and ends of work items, by the worker.
    works: BTreeMap<u32, ByTime<'a>>,
    /// Work items that were given to kernel workers, by item: when, and positions in the episode.
    queued: BTreeMap<u64, Vec<(u64, usize)>>,
    /// Whether the word at a place was seen to be released, and each time looked like a held lock.
    never_free: BTreeMap<u32, bool>,
    groups: BTreeMap<u32, &'a Group>,
    /// The threads that were in more than one group.
    moved: BTreeSet<u32>,
    /// Which process each thread belongs to.
    processes: BTreeMap<u32, u32>,
    /// What a thread itself began and ended waiting for in the kernel: pages, and kernel locks.
    waits: BTreeMap<u32, ByTime<'a>>,
    /// When locks of the kernel were got by those who had waited for them, by lock.
    got: BTreeMap<u64, ByTime<'a>>,
    /// Who asked for a function to be called on another CPU, by what tells such calls apart.
    asked: BTreeMap<u64, ByTime<'a>>,
    /// When such functions began, by the same.
    called: BTreeMap<u64, ByTime<'a>>,
    /// Who interrupted a CPU.
    sent: BTreeMap<u64, ByTime<'a>>,
}

impl<'a> Index<'a> {
    pub(crate) fn of(episode: &'a Episode) -> Index<'a> {
        let mut index = Index::default();
        for (position, event) in episode.events.iter().enumerate() {
            index.add(event, position);
        }
        for (tid, number) in episode.members.iter().rev() {
            let group = episode.groups.get(*number as usize);
            let other = match group {
                Some(group) => index.groups.insert(*tid, group),
                None => index.groups.remove(tid),
            };
            if other.is_some_and(|other| group.is_none_or(|group| group.path != other.path)) {
                index.moved.insert(*tid);
            }
        }
        for process in &episode.processes {
            index.processes.extend(process.threads.iter().map(|tid| (*tid, process.number)));
        }
        let by_number = [
            &mut index.vectors,
            &mut index.in_program,
            &mut index.timers,
            &mut index.wakers,
            &mut index.leaves,
            &mut index.waits,
            &mut index.works,
        ];
        let by_value = [
            &mut index.woken,
            &mut index.turns,
            &mut index.stops,
            &mut index.asked,
            &mut index.called,
            &mut index.sent,
            &mut index.got,
        ];
        let by_value = by_value.into_iter().flat_map(BTreeMap::values_mut);
        for list in by_number.into_iter().flat_map(BTreeMap::values_mut).chain(by_value) {
            list.sort_by_key(|event| event.at_ns);
        }
        index.comes.values_mut().for_each(|times| times.sort_unstable());
        for list in index.locks.values_mut().chain(index.queued.values_mut()) {
            list.sort_by_key(|(at_ns, _)| *at_ns);
        }
        index
    }

    fn add(&mut self, event: &'a Event, position: usize) {
        if event.kind == EventKind::LockEnd {
            self.got.entry(event.value).or_default().push(event);
        }
        match event.kind {
            EventKind::VectorBegin | EventKind::VectorEnd => {
                self.vectors.entry(event.cpu).or_default().push(event);
                if event.kind == EventKind::VectorBegin && event.extra & INTERRUPTED_USER != 0 {
                    self.in_program.entry(event.tid).or_default().push(event);
                }
            }
            EventKind::TimerBegin | EventKind::TimerEnd => self.timers.entry(event.cpu).or_default().push(event),
            EventKind::Switch => {
                self.leaves.entry(event.tid).or_default().push(event);
                self.turns.entry(event.value).or_default().push(event);
                self.comes.entry(event.value).or_default().push(event.at_ns);
                if event.value != u64::from(event.tid) {
                    self.turns.entry(u64::from(event.tid)).or_default().push(event);
                }
            }
            EventKind::Waking => self.add_waking(event, position),
            EventKind::StopAsked => self.stops.entry(event.value).or_default().push(event),
            EventKind::FunctionBegin => self.called.entry(event.value).or_default().push(event),
            EventKind::FunctionAsked => self.asked.entry(event.value).or_default().push(event),
            EventKind::WorkBegin | EventKind::WorkEnd => self.works.entry(event.tid).or_default().push(event),
            EventKind::WorkQueued => self.queued.entry(event.value).or_default().push((event.at_ns, position)),
            EventKind::InterruptSent => self.sent.entry(event.value).or_default().push(event),
            EventKind::InterruptsSent => {
                let first = event.extra >> 32;
                for bit in (0..64).filter(|bit| event.value >> bit & 1 != 0) {
                    self.sent.entry(first + bit).or_default().push(event);
                }
            }
            EventKind::LockBegin if event.extra & LOCK_OF_PROGRAM != 0 => {}
            EventKind::LockBegin
            | EventKind::LockEnd
            | EventKind::FaultUser
            | EventKind::FaultKernel
            | EventKind::FaultEnd
                if event.is_the_threads_own() =>
            {
                self.waits.entry(event.tid).or_default().push(event);
            }
            _ => {}
        }
    }

    fn add_waking(&mut self, event: &'a Event, position: usize) {
        self.woken.entry(event.value).or_default().push(event);
        self.turns.entry(event.value).or_default().push(event);
        self.wakers.entry(event.tid).or_default().push(event);
        let told = event.lock_waking();
        if told.act != WakingAct::NotTold {
            self.locks.entry(told.place).or_default().push((event.at_ns, position));
        }
        if told.let_go() {
            *self.never_free.entry(told.place).or_insert(true) &= told.state == WordState::Held && told.owner == 0;
        }
    }

    /// The control group of a thread, if it is known.
    pub(crate) fn group_of(&self, tid: u32) -> Option<&'a Group> {
        self.groups.get(&tid).copied()
    }

    /// Whether a thread was moved from one control group to another: which it was in at a time is not known.
    pub(crate) fn has_changed_group(&self, tid: u32) -> bool {
        self.moved.contains(&tid)
    }

    /// Whether two threads are known to belong to one process.
    pub(crate) fn are_of_one_process(&self, one: u32, other: u32) -> bool {
        let process = self.processes.get(&one);
        process.is_some() && process == self.processes.get(&other)
    }

    /// Whether two threads are known to be of different processes.
    pub(crate) fn are_of_two_processes(&self, one: u32, other: u32) -> bool {
        let processes = (self.processes.get(&one), self.processes.get(&other));
        matches!(processes, (Some(one), Some(other)) if one != other)
    }

    /// Whether it is known of a thread which threads its program has, so that another one that is not known is hardly among them.
    pub(crate) fn knows_process(&self, tid: u32) -> bool {
        self.processes.contains_key(&tid)
    }

    /// Whether two threads that waited for words of one place are known to have waited for different ones: the place of a word that processes
    /// do not share tells its page.
    pub(crate) fn are_other_words(&self, place: u32, one: u32, other: u32) -> bool {
        place >> PAGE_BIT != 0 && self.are_of_two_processes(one, other)
    }

    /// Whether the word at a place was seen to be let go, and never stood as in a free lock.
    pub(crate) fn is_never_free(&self, place: u32) -> bool {
        self.never_free.get(&place).copied().unwrap_or(false)
    }

    /// Positions of the wakings that tell of a lock at a place, by time, from one time to before another.
    pub(crate) fn lock_wakings(&self, place: u32, from_ns: u64, to_ns: u64) -> impl Iterator<Item = usize> + '_ {
        let list = self.locks.get(&place).map_or(&[][..], Vec::as_slice);
        let first = list.partition_point(|(at_ns, _)| *at_ns < from_ns);
        let list = list[first..].iter().take_while(move |(at_ns, _)| *at_ns < to_ns);
        list.map(|(_, position)| *position)
    }

    /// Switches from and to a thread, and its wakings, from a time on.
    pub(crate) fn turns_from(&self, tid: u64, from_ns: u64) -> &[&'a Event] {
        within(self.turns.get(&tid), from_ns, u64::MAX)
    }

    /// The last switch from or to a thread, or its waking, up to a time.
    pub(crate) fn last_turn(&self, tid: u32, until_ns: u64) -> Option<&'a Event> {
        last(self.turns.get(&u64::from(tid)), until_ns)
    }

    /// When a thread is switched to next, after a time.
    pub(crate) fn next_switch_to(&self, tid: u32, after_ns: u64) -> Option<u64> {
        let times = self.comes.get(&u64::from(tid))?;
        times.get(times.partition_point(|at_ns| *at_ns <= after_ns)).copied()
    }

    /// Who last asked for a thread to stop, up to a time.
    pub(crate) fn last_stop(&self, tid: u32, until_ns: u64) -> Option<&'a Event> {
        last(self.stops.get(&u64::from(tid)), until_ns)
    }

    /// The beginning of the work item that a worker is working on at a time; it may have changed its CPU since.
    pub(crate) fn work_at(&self, tid: u32, at_ns: u64) -> Option<&'a Event> {
        let begin = last(self.works.get(&tid), at_ns).filter(|event| event.kind == EventKind::WorkBegin)?;
        let leaves = self.leaves_within(tid, begin.at_ns, at_ns);
        leaves.iter().all(|leave| leave.left_state() != RESTS).then_some(begin)
    }

    /// Position of the event by which a work item was last given to kernel workers, up to a time.
    pub(crate) fn last_queued(&self, item: u64, until_ns: u64) -> Option<usize> {
        let list = self.queued.get(&item)?;
        let before = list.partition_point(|(at_ns, _)| *at_ns <= until_ns);
        list.get(before.checked_sub(1)?).map(|(_, position)| *position)
    }

    /// The next waking of a thread from a time on.
    pub(crate) fn next_woken(&self, tid: u32, from_ns: u64) -> Option<&'a Event> {
        within(self.woken.get(&u64::from(tid)), from_ns, u64::MAX).first().copied()
    }

    /// The wakings of a thread from one time to before another.
    pub(crate) fn wakings_of(&self, tid: u32, from_ns: u64, to_ns: u64) -> &[&'a Event] {
        within(self.woken.get(&u64::from(tid)), from_ns, to_ns)
    }

    /// Who asked last for a function to be called that begins at a time, unless it has been called for that before.
    pub(crate) fn last_asked(&self, call: u64, begins_ns: u64) -> Option<&'a Event> {
        let asked = last(self.asked.get(&call), begins_ns)?;
        within(self.called.get(&call), asked.at_ns, begins_ns).is_empty().then_some(asked)
    }

    /// Who interrupted a CPU from one time to before another.
    pub(crate) fn sent_within(&self, cpu: u32, from_ns: u64, to_ns: u64) -> &[&'a Event] {
        within(self.sent.get(&u64::from(cpu)), from_ns, to_ns)
    }

    /// The beginnings and ends of interrupts on a CPU from one time to before another.
    pub(crate) fn vectors_within(&self, cpu: u32, from_ns: u64, to_ns: u64) -> &[&'a Event] {
        within(self.vectors.get(&cpu), from_ns, to_ns)
    }

    /// The last beginning or end of an interrupt on a CPU up to a time.
    pub(crate) fn last_vector(&self, cpu: u32, until_ns: u64) -> Option<&'a Event> {
        last(self.vectors.get(&cpu), until_ns)
    }

    /// The last beginning or end of a timer's function on a CPU up to a time.
    pub(crate) fn last_timer(&self, cpu: u32, until_ns: u64) -> Option<&'a Event> {
        last(self.timers.get(&cpu), until_ns)
    }

    /// The beginnings and ends of timers' functions on a CPU from one time to before another.
    pub(crate) fn timers_within(&self, cpu: u32, from_ns: u64, to_ns: u64) -> &[&'a Event] {
        within(self.timers.get(&cpu), from_ns, to_ns)
    }

    /// The last waking of a thread up to a time.
    pub(crate) fn last_woken(&self, tid: u32, until_ns: u64) -> Option<&'a Event> {
        last(self.woken.get(&u64::from(tid)), until_ns)
    }

    /// The wakings by a thread from one time to before another.
    pub(crate) fn wakings_by(&self, tid: u32, from_ns: u64, to_ns: u64) -> &[&'a Event] {
        within(self.wakers.get(&tid), from_ns, to_ns)
    }

    /// When a thread last left its CPU, up to a time.
    pub(crate) fn last_leave(&self, tid: u32, until_ns: u64) -> Option<&'a Event> {
        last(self.leaves.get(&tid), until_ns)
    }

    /// When a thread next leaves its CPU, from a time on.
    pub(crate) fn next_leave(&self, tid: u32, from_ns: u64) -> Option<&'a Event> {
        within(self.leaves.get(&tid), from_ns, u64::MAX).first().copied()
    }

    /// When a thread left its CPU from one time to before another.
    pub(crate) fn leaves_within(&self, tid: u32, from_ns: u64, to_ns: u64) -> &[&'a Event] {
        within(self.leaves.get(&tid), from_ns, to_ns)
    }

    /// When an interrupt last came over a thread's program, before a time.
    pub(crate) fn last_in_program(&self, tid: u32, before_ns: u64) -> Option<u64> {
        within(self.in_program.get(&tid), 0, before_ns).last().map(|event| event.at_ns)
    }

    /// What a thread began or ended to wait for in the kernel last, before a time. As it waits for a lock it may wait for the spinlock of that, which is
    /// not what it waits for then.
    pub(crate) fn last_wait(&self, tid: u32, before_ns: u64) -> Option<&'a Event> {
        let waits = within(self.waits.get(&tid), 0, before_ns);
        let mut earlier = waits;
        for _ in 0..MAX_WITHIN {
            match earlier {
                [before @ .., begin, end]
                    if end.kind == EventKind::LockEnd
                        && begin.kind == EventKind::LockBegin
                        && begin.value == end.value
                        && is_spinlock(begin) =>
                {
                    earlier = before;
                }
                _ => break,
            }
        }
        let around = earlier.last().filter(|event| event.kind == EventKind::LockBegin && !is_spinlock(event));
        around.or(waits.last()).copied()
    }

    /// The ends of waits for a lock of the kernel from one time to before another.
    pub(crate) fn got_within(&self, lock: u64, from_ns: u64, to_ns: u64) -> &[&'a Event] {
        within(self.got.get(&lock), from_ns, to_ns)
    }

    /// Whether a thread touched a page that was not there, from one time to another.
    pub(crate) fn has_fault(&self, tid: u32, from_ns: u64, to_ns: u64) -> bool {
        let is_fault = |event: &&Event| matches!(event.kind, EventKind::FaultUser | EventKind::FaultKernel);
        within(self.waits.get(&tid), from_ns, to_ns.saturating_add(1)).iter().copied().any(|event| is_fault(&event))
    }
}

fn last<'a>(list: Option<&ByTime<'a>>, until_ns: u64) -> Option<&'a Event> {
    within(list, 0, until_ns.saturating_add(1)).last().copied()
}

fn within<'list, 'a>(list: Option<&'list ByTime<'a>>, from_ns: u64, to_ns: u64) -> &'list [&'a Event] {
    let list = list.map_or(&[][..], Vec::as_slice);
    let first = list.partition_point(|event| event.at_ns < from_ns);
    let end = list.partition_point(|event| event.at_ns < to_ns);
    list.get(first..end.max(first)).unwrap_or_default()
}
