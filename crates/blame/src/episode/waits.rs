//! What a thread waits for while it has the CPU: pages being fetched, kernel locks being spun for.

use punctual_recording::Episode;
use punctual_recording::episode::{Event, EventKind, INTERRUPTED_USER, LOCK_OF_PROGRAM};

/// A thread's, by when they begin; within their kind they do not overlap, but that a lock which others sleep for has a spinlock of its own.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// From touching a page until it is there, and the position of the name of what is mapped there.
    faults: Vec<(u64, u64, u32)>,
    locks: Vec<KernelLock>,
    /// Locks of the program that were waited for without sleep, and who held them.
    spun: Vec<(u64, u64, u32)>,
}

/// A wait for a lock of the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelLock {
    /// From the first attempt, after whatever the kernel tries before it reports it; ...
    pub(crate) begin_ns: u64,
    /// ... from the last one, of several: whoever waits for a mutex reports one when it has spun, and whenever it was woken in vain; ...
    pub(crate) again_ns: u64,
    /// ... to the success.
    pub(crate) end_ns: u64,
    /// Which.
    pub(crate) address: u64,
    /// What it is.
    pub(crate) words: &'static str,
    /// Whether a thread may have it while it is in its program.
    pub(crate) may_be_kept: bool,
}

/// So many waits for spinlocks within that for another lock are looked through.
pub(crate) const MAX_WITHIN: usize = 64;
/// The kernel's flags for locks, by bit.
const SPINLOCK: u64 = 1;
const READ_OR_WRITE: u64 = 1 << 1 | 1 << 2;
const REAL_TIME: u64 = 1 << 3;
const PER_CPU: u64 = 1 << 4;
const MUTEX: u64 = 1 << 5;
/// Their names.
const LOCKS: [&str; 6] = ["spinlock", "lock to read", "lock to write", "real-time lock", "per-CPU lock", "mutex"];

/// The first attempt to get a lock, and the last one.
type Attempts<'a> = (&'a Event, &'a Event);

impl KernelLock {
    /// Since when a thread has waited without a new attempt up to a time.
    pub(crate) fn tried_ns(&self, at_ns: u64) -> u64 {
        if at_ns >= self.again_ns { self.again_ns } else { self.begin_ns }
    }
}

impl Waits {
    /// Those of a thread. A wait without an end does not count: nobody knows how long it was.
    pub(crate) fn of(episode: &Episode, tid: u32) -> Waits {
        let own = |event: &&Event| event.tid == tid && (event.is_the_threads_own() || is_over_program(event));
        let mut events: Vec<&Event> = episode.events.iter().filter(own).collect();
        events.sort_by_key(|event| event.at_ns);
        let ends = spinning_may_end(episode, tid);
        let mut waits = Waits::default();
        let (mut lock, mut spinlock): (Option<Attempts<'_>>, Option<Attempts<'_>>) = (None, None);
        let mut fault = None;
        // Two attempts without an end in between may be two waits where one may have gone unseen.
        let ends_are_seen = episode.missed_runs == 0;
        for event in events {
            match event.kind {
                // It is in its program: an end was not seen, and when that was nobody knows.
                EventKind::VectorBegin => (fault, lock, spinlock) = (None, None, None),
                EventKind::FaultUser | EventKind::FaultKernel => fault = Some(event),
                EventKind::FaultEnd => {
                    waits.faults.extend(fault.take().map(|begin: &Event| (begin.at_ns, event.at_ns, begin.name)));
                }
                EventKind::LockBegin if event.extra & LOCK_OF_PROGRAM != 0 => {
                    waits.spun.extend(spinning_ends(&ends, event).map(|end| (event.at_ns, end, event.value as u32)));
                }
                EventKind::LockBegin if is_spinlock(event) => spinlock = Some((event, event)),
                EventKind::LockBegin => {
                    let before = lock.filter(|(begin, _)| begin.value == event.value && ends_are_seen);
                    (lock, spinlock) = (Some((before.map_or(event, |(begin, _)| begin), event)), None);
                }
                EventKind::LockEnd => {
                    let is_it = |begin: &mut Attempts<'_>| begin.0.value == event.value;
                    let begin = spinlock.take_if(is_it).or_else(|| lock.take_if(is_it));
                    waits.locks.extend(begin.map(|(begin, again)| KernelLock {
                        begin_ns: begin.at_ns,
                        again_ns: again.at_ns,
                        end_ns: event.at_ns,
                        address: begin.value,
                        words: words(begin.extra),
                        may_be_kept: may_be_kept(begin.extra),
                    }));
                }
                _ => {}
            }
        }
        waits.locks.sort_by_key(|lock| lock.begin_ns);
        waits
    }

    /// The waits without sleep for locks of the program that overlap this time, and who held them.
    pub(crate) fn spun(&self, start_ns: u64, end_ns: u64) -> &[(u64, u64, u32)] {
        let first = self.spun.partition_point(|(_, end, _)| *end <= start_ns);
        let last = self.spun.partition_point(|(begin, ..)| *begin < end_ns);
        self.spun.get(first..last.max(first)).unwrap_or_default()
    }

    /// Whether all of this time passed within a page fault: if so its beginning and end, and the position of the name
    /// of what is mapped there.
    pub(crate) fn in_fault(&self, start_ns: u64, end_ns: u64) -> Option<(u64, u64, u32)> {
        let before = self.faults.partition_point(|(begin, ..)| *begin <= start_ns);
        let fault = *self.faults.get(before.checked_sub(1)?)?;
        (fault.1 >= end_ns).then_some(fault)
    }

    /// Whether a page fault ended just then.
    pub(crate) fn fault_ended_at(&self, at_ns: u64) -> bool {
        let before = self.faults.partition_point(|(begin, ..)| *begin < at_ns);
        before > 0 && self.faults[before - 1].1 == at_ns
    }

    /// The lock that was waited for, if that took all of this time: the innermost.
    pub(crate) fn in_lock(&self, start_ns: u64, end_ns: u64) -> Option<KernelLock> {
        let before = self.locks.partition_point(|lock| lock.begin_ns <= start_ns);
        let mut last = self.locks[..before].iter().rev().take(MAX_WITHIN);
        last.find(|lock| lock.end_ns >= end_ns).copied()
    }

    /// The last wait for this lock, between two times, that ended with getting it.
    pub(crate) fn got(&self, address: u64, from_ns: u64, to_ns: u64) -> Option<KernelLock> {
        let is_it = |lock: &&KernelLock| lock.address == address && lock.end_ns > from_ns && lock.end_ns < to_ns;
        self.locks.iter().rfind(is_it).copied()
    }

    /// The wait for a lock that began just then.
    pub(crate) fn lock_from(&self, begin_ns: u64) -> Option<KernelLock> {
        self.locks.iter().find(|lock| lock.begin_ns == begin_ns).copied()
    }
}

/// Whether an interrupt came over its thread's program.
pub(crate) fn is_over_program(event: &Event) -> bool {
    event.kind == EventKind::VectorBegin && event.extra & INTERRUPTED_USER != 0
}

/// Whether a thread begins to wait for a lock with which nobody sleeps.
pub(crate) fn is_spinlock(begin: &Event) -> bool {
    begin.extra & (SPINLOCK | MUTEX) == SPINLOCK
}

/// Whether a lock may be had in a program: a program's lock may be a real-time one, unless that is for reading and writing, as many of the
/// kernel's are with PREEMPT_RT; and whoever freezes a file system has a per-CPU one until it is thawed.
fn may_be_kept(flags: u64) -> bool {
    flags & PER_CPU != 0 || flags & (REAL_TIME | READ_OR_WRITE) == REAL_TIME
}

fn words(flags: u64) -> &'static str {
    let highest = (0..LOCKS.len()).rev().find(|bit| flags & 1 << bit != 0);
    highest.map_or("lock", |bit| LOCKS[bit])
}

/// The events that say whether a thread still waits without sleep, by time.
fn spinning_may_end(episode: &Episode, tid: u32) -> Vec<&Event> {
    let tells = episode.events.iter().filter(|event| match event.kind {
        EventKind::Waking => event.value == u64::from(tid),
        EventKind::Switch => event.tid == tid && event.left_state() != 0,
        EventKind::VectorBegin => event.tid == tid && is_over_program(event),
        EventKind::FaultUser => event.tid == tid,
        EventKind::LockBegin => event.tid == tid && event.extra & LOCK_OF_PROGRAM != 0,
        _ => false,
    });
    let mut tells: Vec<&Event> = tells.collect();
    tells.sort_by_key(|event| event.at_ns);
    tells
}

/// When a wait without sleep was over: the holder released the lock, which wakes even those who do not sleep, or the
/// thread went to sleep for it. `None` if it is seen in its program before that: then the end was missed.
fn spinning_ends(tells: &[&Event], begin: &Event) -> Option<u64> {
    let first = tells.get(tells.partition_point(|event| event.at_ns <= begin.at_ns))?;
    matches!(first.kind, EventKind::Waking | EventKind::Switch).then_some(first.at_ns)
}
