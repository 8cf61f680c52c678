//! What happens to a thread once it has its CPU: its work, page faults, locks, sleeps within the work.

use super::answer::waits_in_ring;
use super::classifier::{Blamed, Classifier, OWN_PATH_NS};
use crate::episode::chain::{is_by_a_thread, waker};
use crate::episode::detail::Detail;
use crate::episode::disks::DiskWait;
use crate::episode::replay::Slice;
use crate::episode::span::StateSpan;
use crate::episode::story::STOPPED;
use crate::kind::Kind;
use punctual_recording::Awaited;
use punctual_recording::episode::{
    Event, EventKind, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_FOR_SPINLOCK, LEFT_UNINTERRUPTIBLE,
};

/// The name of a wait by which the kernel slows down a thread that writes faster than the disk.
const WRITEBACK: &str = "writeback";
/// The timer that ends it.
const PAUSE_TIMER: &str = "process_timeout";
/// The longest one lasts 0.2 s, and a tick of the slowest clock, ns.
const MAX_PAUSE_NS: u64 = 210_000_000;

impl Classifier<'_> {
    /// The way back to the program. Its code has interrupts on except for moments: if a timer came late there, nothing
    /// in this kernel held it up.
    fn own_path(&self, slice: &Slice, start: u64, end: u64, own: u64) -> Vec<(Blamed, u64)> {
        let tid = self.subject.tid;
        if self.index.has_fault(tid, slice.since_ns.unwrap_or(0), start) {
            return vec![(Blamed::new(Kind::Fault, self.subject.name), own)];
        }
        if own > OWN_PATH_NS && self.timer_was_kept(slice, start, end) {
            let outside = Blamed::new(Kind::Blind, "outside this kernel");
            return path(own, self.by_exclusion(slice, start, end, outside));
        }
        path(own, unexplained())
    }

    /// The victim has its CPU.
    pub(crate) fn running(&self, slice: &Slice, start: u64, end: u64, own: u64) -> Vec<(Blamed, u64)> {
        let detail = || self.sampled(slice, start, end);
        let fault = || Blamed::new(Kind::Fault, self.victim());
        // A lock within a fault is the lock.
        if let Some(lock) = self.waits.in_lock(start, end) {
            let detail = detail().or_else(|| Some(format!("kernel {}", lock.words)));
            let blamed = match self.who_ends(&lock, lock.tried_ns(start)) {
                Some(holder) => Blamed::new(Kind::Lock, holder),
                None => Blamed {
                    inside: Some((Kind::Unknown, format!("who held it (kernel {})", lock.words).into())),
                    ..Blamed::new(Kind::Lock, Awaited::Holder)
                },
            };
            return vec![(Blamed { detail: detail.map(Detail::Seen), ..blamed }, own)];
        }
        if let Some(spin) = self.spins_at(start, end) {
            return vec![(self.spun(spin), own)];
        }
        if let Some((begin_ns, end_ns, memory)) = self.waits.in_fault(start, end) {
            let disk = self.disk_requests.asked_within(self.subject.tid, begin_ns, end_ns);
            let page = disk.map(|disk| page_from(disk, self.memory(memory)));
            let detail = page.or_else(|| self.memory(memory)).or_else(detail).map(Detail::Seen);
            return vec![(Blamed { detail, ..fault() }, own)];
        }
        if self.subject.stage.holds_work() && self.may_have_spun(start, end) {
            return vec![(Blamed::unknown("no stack says whether it waited for a lock"), own)];
        }
        if self.subject.stage.holds_work() {
            // Nothing reports the way into the kernel and out of it except how long it usually is.
            let ended = start == slice.start_ns && self.waits.fault_ended_at(start);
            let path = if ended { own.min(self.episode.fault_path_ns) } else { 0 };
            return vec![(fault(), path), (self.own_or_unseen(slice, start, end, detail()), own - path)];
        }
        self.own_path(slice, start, end, own)
    }

    /// The file or other memory in which a page fault was, if that was looked up.
    fn memory(&self, name: u32) -> Option<String> {
        Some(self.episode.name(name)).filter(|name| !name.is_empty() && *name != "?").map(str::to_owned)
    }

    /// The thread slept for a page of this memory: with the disk that it came from, if one had just served a request.
    fn page(&self, span: &StateSpan, woken_by: Option<&Event>, memory: Option<String>) -> Blamed {
        let detail = match (memory, woken_by.and_then(|waking| self.disk_wait(span, waking))) {
            (memory, Some(wait)) => {
                let served = wait.served.map(|served| format!(", {served}"));
                Some(page_from(&wait.disk, memory) + &served.unwrap_or_default())
            }
            (memory, None) => memory,
        };
        Blamed { detail: detail.map(Detail::Seen), ..Blamed::new(Kind::Fault, self.victim()) }
    }

    /// The thread slept for input or output: for a disk, if one had just served a request; otherwise whatever woke it is named.
    fn input_or_output(&self, span: &StateSpan, woken_by: Option<&Event>, by: String) -> Blamed {
        match woken_by.and_then(|waking| self.disk_wait(span, waking)) {
            Some(wait) => {
                let detail = wait.served.unwrap_or_else(|| format!("woken by {by}"));
                Blamed { detail: Some(Detail::Seen(detail)), ..Blamed::new(Kind::Io, wait.disk) }
            }
            None => Blamed::new(Kind::Io, by),
        }
    }

    /// The disk that the thread slept for, where who woke it may have done so for one.
    pub(super) fn disk_wait(&self, span: &StateSpan, waking: &Event) -> Option<DiskWait> {
        let wait = self.disk_requests.waited_for(self.episode, self.subject.tid, span.start_ns, waking)?;
        // Whoever hands on what it has not asked a disk for, such as the daemon of a file system, does not wait for the disk of others. Nor
        // does who is woken by a packet, unless that is the end of the request.
        let is_its = match is_by_a_thread(waking) {
            true => wait.is_own || wait.concerned.contains(&waking.tid) || self.is_at_work(waking),
            false => {
                wait.is_own || !self.is_by_packet(waking) || self.disk_requests.is_end_of_one(self.episode, waking)
            }
        };
        is_its.then_some(wait)
    }

    /// The disk, where a request of the thread's own had just been done.
    pub(super) fn own_request(&self, span: &StateSpan, woken_by: &Event) -> Option<Blamed> {
        let tid = self.subject.tid;
        let wait =
            self.disk_requests.waited_for(self.episode, tid, span.start_ns, woken_by).filter(|wait| wait.is_own)?;
        Some(Blamed { detail: wait.served.map(Detail::Seen), ..Blamed::new(Kind::Io, wait.disk) })
    }

    pub(crate) fn own_work(&self, detail: Option<String>) -> Blamed {
        Blamed { detail: detail.map(Detail::Seen), ..Blamed::new(Kind::Own, self.victim()) }
    }

    pub(crate) fn victim(&self) -> &str {
        self.subject.name
    }

    /// What the thread had last begun or ended waiting for, before it was woken: a kernel lock, a page.
    pub(crate) fn last_waited_for(&self, woken_by: Option<&Event>) -> Option<EventKind> {
        let victim = self.subject.tid;
        // What an interrupt touches there while it looks at stacks is nothing that the thread waits for.
        let before_ns = woken_by.map_or(u64::MAX, |waking| waking.at_ns);
        let last = self.index.last_wait(victim, before_ns)?;
        // The end of one was not seen where the thread has been in its program since.
        let is_over = self.index.last_in_program(victim, before_ns).is_some_and(|at_ns| at_ns > last.at_ns);
        (!is_over).then_some(last.kind)
    }

    /// The thread slept from the beginning of the span on.
    pub(crate) fn blocked(&self, span: &StateSpan, left_state: u32, woken_by: Option<usize>) -> Blamed {
        let events = &self.episode.events;
        let woken_by = woken_by.map(|index| &events[index]);
        if left_state & STOPPED != 0 {
            return self.stopped(span, left_state, woken_by);
        }
        // It was woken at least once. Where evidence is lost, what it did in between may be, too.
        let runs_again = woken_by.is_none() && span.end_ns < self.subject.end_ns;
        if let Some(why) = self.episode.void.as_deref().filter(|_| runs_again) {
            return Blamed::unknown(why);
        }
        let by = match woken_by {
            None => "nobody yet".to_owned(),
            Some(event) => match waker(self.episode, event, self.timelines) {
                (_, name, Some(tid)) if name == "?" => self.thread(tid),
                (_, name, _) => name,
            },
        };
        let last = self.last_waited_for(woken_by);
        if left_state & LEFT_FOR_LOCK != 0 {
            return self.lock_of_program(woken_by, by);
        }
        // A lock within a fault is the lock.
        if last == Some(EventKind::LockBegin) || left_state & LEFT_FOR_SPINLOCK != 0 {
            return self.lock_of_kernel(woken_by, by);
        }
        // If the ends of faults are seen, one without an end does not count.
        let ends_are_seen = self.subject.stage.holds_work();
        let memory = self.waits.in_fault(span.start_ns, span.end_ns).filter(|_| ends_are_seen);
        let fault = memory.map(|(.., memory)| self.page(span, woken_by, self.memory(memory)));
        let is_answered = woken_by.is_some_and(|waking| self.who_answered(waking).is_some());
        if let Some(fault) = fault.clone().filter(|_| !is_answered) {
            return fault;
        }
        if self.waits_for_another(left_state, woken_by) {
            return self.not_answered(span, woken_by, by);
        }
        if let Some(fault) = fault {
            return fault;
        }
        match last {
            Some(EventKind::FaultUser | EventKind::FaultKernel)
                if left_state & LEFT_UNINTERRUPTIBLE != 0 && !ends_are_seen =>
            {
                self.page(span, woken_by, None)
            }
            // What a thread has put into a ring is not a request to a disk.
            _ if waits_in_ring(left_state) && woken_by.is_some_and(is_by_a_thread) => Blamed::new(Kind::Io, by),
            _ if is_held_back(span, left_state, woken_by, &by) => Blamed {
                detail: Some(Detail::Seen("too much that was written is not on the disk yet".to_owned())),
                ..Blamed::new(Kind::Io, WRITEBACK)
            },
            _ if runs_again => Blamed::unknown("its waking was not seen"),
            _ if left_state & LEFT_FOR_IO != 0 => self.input_or_output(span, woken_by, by),
            _ if self.sleeps_on_timer(woken_by) => Blamed::new(Kind::Sleep, by),
            _ => Blamed::unknown(&format!("asleep until woken by {by}")),
        }
    }
}

/// Whether the kernel held a writer back until more was on the disk: no other wait for input or output ends by this timer so soon.
fn is_held_back(span: &StateSpan, left_state: u32, woken_by: Option<&Event>, by: &str) -> bool {
    let waits = LEFT_FOR_IO | LEFT_UNINTERRUPTIBLE;
    let is_timer = by == PAUSE_TIMER && woken_by.is_some_and(|waking| !is_by_a_thread(waking));
    left_state & waits == waits && is_timer && span.end_ns.saturating_sub(span.start_ns) <= MAX_PAUSE_NS
}

/// A page of this memory, if it is known which.
fn page_from(disk: &str, memory: Option<String>) -> String {
    format!("{} from {disk}", memory.as_deref().unwrap_or("a page"))
}

/// What took longer on the way back than it usually takes, for no reason that was seen.
pub(crate) fn unexplained() -> Blamed {
    Blamed::unknown("on the way back to the program")
}

/// The victim's own way through the kernel, and what took longer than that.
pub(crate) fn path(ns: u64, rest: Blamed) -> Vec<(Blamed, u64)> {
    let ordinary = ns.min(OWN_PATH_NS);
    vec![(Blamed::new(Kind::KernelWake, "switch to program"), ordinary), (rest, ns - ordinary)]
}
