//! Who ends a wait for another thread. Whoever wakes the thread counts only if that is what it waited for.

use super::classifier::{Blamed, Classifier, LOOK_NS};
use super::holder::{self, sleepers_call, waker_ends};
use super::way::Counted;
use crate::episode::chain::{is_by_a_thread, slice_before};
use crate::episode::detail::Detail;
use crate::episode::span::StateSpan;
use crate::episode::story::{STOPPED, timer_due};
use crate::kind::Kind;
use crate::who::Who;
use punctual_recording::episode::{
    Call, Event, EventKind, IN_INTERRUPT, IN_SOFTIRQ, LEFT_DEAD, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_FOR_SPINLOCK,
    LEFT_UNINTERRUPTIBLE, Sender, WakingAct,
};
use punctual_recording::{Awaited, Softirq};

/// The name of who ended a wait if a packet did that no thread of this machine is known to have sent.
const NETWORK: &str = "the network";
/// A softirq that begins this soon after an interrupt's end belongs to that interrupt, ns.
const AFTER_INTERRUPT_NS: u64 = 5_000;

/// So many times in a row may a wait be ended in vain.
const MAX_IN_VAIN: usize = 256;
/// In a count of nesting: softirqs are kept off, or one is being served.
const SOFTIRQS_OFF: u32 = 0xff << 8;

/// How a wait ended.
pub(super) enum End {
    /// A thread did what the other waited for, or sent it.
    By(u32),
    /// A timer.
    Timer,
    /// A timer, and it waited for a lock of the program.
    Lock,
    /// A device.
    Device,
    /// A packet, and who sent it is not known.
    Network,
    /// Something else, in words: the thread that woke it did not end the wait.
    NotBy(String),
}

impl Classifier<'_> {
    /// Whether the thread slept for what another one should do, and the question is about that: not for the disk, for a
    /// lock, nor because it was stopped.
    pub(crate) fn waits_for_another(&self, left_state: u32, woken_by: Option<&Event>) -> bool {
        self.is_of_a_request()
            && left_state & (STOPPED | LEFT_FOR_LOCK | LEFT_FOR_SPINLOCK) == 0
            && (left_state & LEFT_FOR_IO == 0 || waits_in_ring(left_state))
            && self.last_waited_for(woken_by) != Some(EventKind::LockBegin)
    }

    /// The thread that ended the wait.
    pub(crate) fn who_answered(&self, woken_by: &Event) -> Option<u32> {
        match self.end(woken_by) {
            End::By(tid) => Some(tid),
            _ => None,
        }
    }

    /// Whether the thread, which others wait for, slept until a timer.
    pub(crate) fn sleeps_on_timer(&self, woken_by: Option<&Event>) -> bool {
        !self.subject.is_due && woken_by.is_some_and(|waking| matches!(self.end(waking), End::Timer))
    }

    /// How the wait ended; if a kernel worker ended it, `woken_by` may be the event by which it was given the work.
    pub(super) fn end(&self, woken_by: &Event) -> End {
        let end = match self.counted(woken_by) {
            Counted::NotTold => self.of_several(woken_by, self.direct_end(woken_by)),
            Counted::Itself => self.direct_end(woken_by),
            Counted::Later(last) => self.direct_end(last),
            Counted::NotSeen => End::NotBy("it served others meanwhile".to_owned()),
        };
        match end {
            End::By(tid) => self.behind_poller(woken_by, tid),
            end => end,
        }
    }

    /// The same, if only this wait counts.
    pub(super) fn direct_end(&self, woken_by: &Event) -> End {
        let slice = slice_before(self.episode, woken_by, self.timelines);
        if woken_by.context & IN_INTERRUPT != 0 {
            return match (timer_due(self.index, woken_by), self.after_time_limits(woken_by)) {
                (Some(_), Some(tid)) => End::By(tid),
                (Some(_), None) => self.at_limit(woken_by),
                (None, _) => End::Device,
            };
        }
        if woken_by.context & IN_SOFTIRQ != 0 {
            let Some((inner, outer)) = slice.and_then(|slice| slice.softirq()) else { return End::Device };
            let number = if outer.kind == EventKind::SoftirqBegin { Softirq::from_code(outer.value) } else { None };
            return match number {
                _ if matches!(inner.kind, EventKind::CallbackBegin | EventKind::TimerBegin) => End::Timer,
                Some(Softirq::Timer | Softirq::Hrtimer) => End::Timer,
                Some(Softirq::NetRx | Softirq::NetTx) => self.sender(woken_by).map_or(End::Network, End::By),
                _ => End::Device,
            };
        }
        let by = self.thread(woken_by.tid);
        if woken_by.tid == 0 {
            return End::NotBy("woken out of the idle loop".to_owned());
        }
        if woken_by.kind == EventKind::WorkQueued {
            return End::By(woken_by.tid);
        }
        let told = woken_by.lock_waking();
        let for_signal = waits_for_signal(woken_by);
        // When a thread ends, so does what it had: its side of a pipe, its locks; and those who wait for its end have reached it.
        if told.act == WakingAct::Ends {
            return self.of_children(woken_by);
        }
        if told.act == WakingAct::Thaws {
            return End::NotBy(format!("{by} thawed it, and what it waited for had come before"));
        }
        if told.act == WakingAct::Signals && !for_signal {
            return End::NotBy(format!("the wait ended with a signal of {by}"));
        }
        if woken_by.wait_end().is_some() && !for_signal {
            return End::By(woken_by.tid);
        }
        if let Some((last, is_repeated)) = self.ended_at_last(woken_by).filter(|(last, _)| !is_by_same(woken_by, last))
        {
            // What it waited for came with the last of them. Whoever wakes it again and again may hand it one thing
            // after another.
            let slept_ns = self.index.last_leave(woken_by.value as u32, woken_by.at_ns).map_or(0, |leave| leave.at_ns);
            return match self.end(last) {
                End::By(tid) if !is_repeated || self.owes(tid, woken_by.value as u32, slept_ns) => End::By(tid),
                _ => End::NotBy(format!("woken in vain by {by}: it waited on at once")),
            };
        }
        if for_signal {
            return End::By(woken_by.tid);
        }
        // What is left is a wait for a word in memory, or a recording that does not say.
        match told.act {
            WakingAct::NotTold => End::NotBy(format!("woken by {by}; how is not in the recording")),
            // Another word is the one that it was sent to meanwhile.
            WakingAct::WakesWord | WakingAct::UnlocksWord | WakingAct::Requeues => End::By(woken_by.tid),
            // With a thread the kernel wakes those who join it.
            WakingAct::Else if self.ends_next(woken_by) => End::By(woken_by.tid),
            WakingAct::Else | WakingAct::Signals | WakingAct::Ends | WakingAct::Thaws => {
                End::NotBy(format!("woken by {by}, over nothing that it waited for"))
            }
        }
    }

    /// Whether what wakes a thread is the delivery of a packet.
    pub(super) fn is_by_packet(&self, woken_by: &Event) -> bool {
        let is_in_softirq = woken_by.context & (IN_SOFTIRQ | IN_INTERRUPT) == IN_SOFTIRQ;
        is_in_softirq && matches!(self.direct_end(woken_by), End::Network | End::By(_))
    }

    /// Whether the current thread left its CPU next because it had ended.
    pub(super) fn ends_next(&self, event: &Event) -> bool {
        let leaves = self.index.next_leave(event.tid, event.at_ns);
        leaves.is_some_and(|switch| switch.left_state() & LEFT_DEAD != 0)
    }

    /// For one that waited for a word in memory up to a time limit and then waited on there, who ended that: like those
    /// who wait for Python's lock and check every 5 ms whether it is free.
    fn after_time_limits(&self, woken_by: &Event) -> Option<u32> {
        let (last, _) = self.ended_at_last(woken_by)?;
        if last.context & (IN_INTERRUPT | IN_SOFTIRQ) != 0 {
            return None;
        }
        self.who_answered(last)
    }

    /// For one that was woken in vain, the waking after which it did not wait on at once, and whether on the way there
    /// one thread woke it twice in a row.
    pub(super) fn ended_at_last(&self, woken_by: &Event) -> Option<(&Event, bool)> {
        let (mut last, mut is_repeated) = (None, false);
        for _ in 0..MAX_IN_VAIN {
            let before = last.unwrap_or(woken_by);
            let Some(next) = self.next_if_in_vain(before) else { break };
            is_repeated |= is_by_same(before, next);
            last = Some(next);
        }
        last.map(|last| (last, is_repeated))
    }

    /// Whether one that waited for a word or a signal was woken, looked, and waited on there, until somebody else woke
    /// it: what it waited for had not come. If so, that waking.
    fn next_if_in_vain(&self, woken_by: &Event) -> Option<&Event> {
        let told = woken_by.lock_waking().act;
        // What an interrupt interrupts has nothing to do with whom it wakes.
        let by_timer = woken_by.context & IN_INTERRUPT != 0 && timer_due(self.index, woken_by).is_some();
        let wakes_word = matches!(told, WakingAct::WakesWord | WakingAct::UnlocksWord | WakingAct::Requeues)
            || by_timer && told != WakingAct::NotTold;
        if !(wakes_word && woken_by.wait_end().is_none() || waits_for_signal(woken_by) && !by_timer) {
            return None;
        }
        let tid = woken_by.value;
        let later = self.index.turns_from(tid, woken_by.at_ns.saturating_add(1));
        // Others may go first meanwhile, and it may wait for the lock around what it looks at.
        let mut ran_ns = 0;
        let mut runs_since = None;
        let mut goes_on = None;
        for (position, event) in later.iter().enumerate().filter(|(_, event)| event.kind == EventKind::Switch) {
            if event.value == tid {
                runs_since = Some(event.at_ns);
                continue;
            }
            let since = runs_since.take()?;
            ran_ns += event.at_ns - since;
            if event.left_state() != 0 && event.left_state() & (LEFT_FOR_LOCK | LEFT_FOR_SPINLOCK) == 0 {
                goes_on = later[position..].iter().find(|event| event.kind == EventKind::Waking);
                break;
            }
        }
        let next: &Event = goes_on.copied().filter(|_| ran_ns < LOOK_NS)?;
        let on_there = match waits_for_signal(woken_by) {
            true => waits_for_signal(next),
            false => are_of_one_word(next, woken_by),
        };
        on_there.then_some(next)
    }

    /// The thread that sent what a softirq delivers. If the recording does not say: the one in which it runs, if that
    /// is sending and the softirq is its own, not one that an interrupt left behind.
    fn sender(&self, woken_by: &Event) -> Option<u32> {
        match woken_by.wait_end().map_or(Sender::NotTold, |end| end.sender) {
            Sender::Thread(tid) => return Some(tid),
            Sender::NoThread => return None,
            Sender::NotTold => {}
        }
        let sends = woken_by.wait_end().is_some_and(|end| end.waker == Some(Call::Write));
        let slices = self.timelines.get(&woken_by.cpu).map_or(&[][..], |timeline| timeline.slices.as_slice());
        let before = &slices[..slices.partition_point(|slice| slice.end_ns <= woken_by.at_ns)];
        let event = |at: usize| &self.episode.events[before[at].ends_with];
        // Back to where softirqs began to be served.
        let mut began_ns = woken_by.at_ns;
        let mut outside = None;
        for at in (0..before.len()).rev() {
            let earlier = event(at);
            let is_another_time =
                earlier.kind == EventKind::SoftirqEnd && began_ns.saturating_sub(earlier.at_ns) > AFTER_INTERRUPT_NS;
            if earlier.kind == EventKind::SoftirqBegin {
                began_ns = earlier.at_ns;
            } else if is_another_time || earlier.context & IN_SOFTIRQ == 0 && earlier.kind != EventKind::SoftirqEnd {
                outside = Some(earlier);
                break;
            }
        }
        // An interrupt that came while softirqs were held off left none to be served at its end.
        let of_interrupt = outside.is_some_and(|earlier| {
            matches!(earlier.kind, EventKind::VectorEnd | EventKind::HandlerEnd)
                && earlier.context & SOFTIRQS_OFF == 0
                && began_ns.saturating_sub(earlier.at_ns) < AFTER_INTERRUPT_NS
        });
        (sends && !of_interrupt && woken_by.tid != 0).then_some(woken_by.tid)
    }

    /// The thread waited for another one; what that did is not looked into, or there was none.
    pub(crate) fn not_answered(&self, span: &StateSpan, woken_by: Option<&Event>, by: String) -> Blamed {
        let Some(woken_by) = woken_by else {
            return not_seen(Awaited::Ender, "nobody was seen to end it".to_owned());
        };
        let is_sleep = woken_by.wait_end().is_some_and(|end| end.sleeper == Call::Sleep);
        let is_queued = woken_by.kind == EventKind::WorkQueued;
        match self.end(woken_by) {
            // Those who wait in a circle, one without a name, or one too many.
            End::By(tid) => {
                let during = self.shared.name_during(tid, span.start_ns, span.end_ns);
                let name = during.map_or_else(|| self.thread(tid), str::to_owned);
                let inside = Some((Kind::Unknown, format!("what {name} did was not looked into").into()));
                let call = sleepers_call(self.waking_after(woken_by));
                let has_ended = woken_by.tid == tid && waker_ends(woken_by);
                Blamed { inside, call, has_ended, tid: Some(tid), ..Blamed::new(Kind::Wait, name) }
            }
            End::Timer if is_sleep || is_queued || !self.subject.is_due => Blamed::new(Kind::Sleep, by),
            End::Timer => not_seen(Awaited::Ender, "the wait ended by its time limit".to_owned()),
            End::Lock => {
                holder::not_seen("the wait ended by its time limit, and then it let the lock go itself".to_owned())
            }
            End::Device => self.own_request(span, woken_by).unwrap_or_else(|| Blamed::new(Kind::Io, by)),
            End::Network => not_seen(NETWORK, format!("who sent it: it came by softirq {by}")),
            End::NotBy(words) => not_seen(Awaited::Ender, words),
        }
    }
}

/// Whether a thread waits in a ring of requests (`io_uring`): by the kernel's account for input and output, whatever it
/// asked for. Anything else that waits for those cannot be interrupted.
pub(super) fn waits_in_ring(left_state: u32) -> bool {
    left_state & LEFT_FOR_IO != 0 && left_state & LEFT_UNINTERRUPTIBLE == 0
}

/// Whether two wakings ended waits for one word in memory. A condition variable of the C library has two adjacent words.
pub(super) fn are_of_one_word(one: &Event, other: &Event) -> bool {
    let place = |event: &Event| {
        let told = event.lock_waking();
        (event.wait_end().is_none() && told.act != WakingAct::NotTold).then_some(told.place)
    };
    place(one).zip(place(other)).is_some_and(|(one, other)| one.abs_diff(other) <= 2)
}

/// Whether one and the same thread woke somebody twice.
fn is_by_same(one: &Event, other: &Event) -> bool {
    is_by_a_thread(one) && is_by_a_thread(other) && one.tid == other.tid
}

/// Whether the woken thread had called the kernel to wait for a signal.
pub(super) fn waits_for_signal(woken_by: &Event) -> bool {
    woken_by.wait_end().is_some_and(|end| end.sleeper == Call::Signal)
}

fn not_seen(who: impl Into<Who>, why: String) -> Blamed {
    let inside = Some((Kind::Unknown, why.clone().into()));
    Blamed { detail: Some(Detail::NotSeen(why)), inside, ..Blamed::new(Kind::Wait, who) }
}
