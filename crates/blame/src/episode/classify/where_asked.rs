//! Threads that wait for their answers where they are asked, by one condition, queue or pipe for all that comes: an event loop without a call for several
//! things. A worker that delays a task waits so, up to a limit, for the next one.

use super::answer::{End, are_of_one_word};
use super::classifier::Classifier;
use super::limits::SAME_WORD;
use super::several::{MAX_WAKINGS, descriptor, is_from, teller};
use punctual_recording::episode::{Call, Event, LEFT_FOR_LOCK, ONE_POLLED};

impl<'a> Classifier<'a> {
    /// Whether a thread that another one waits for waited where that one asks it. Whoever ends such a wait may come with a request of its own.
    pub(super) fn is_where_asked(&self, woken_by: &Event) -> bool {
        self.asked.get_or_init(|| self.find_asked()).is_some_and(|asked| are_of_one_source(asked, woken_by))
    }

    /// How whoever waits for the thread asked it last. One that was at work then was not woken: it is asked where it was told something by one whom it had asked for
    /// nothing, and to whom it told something afterwards, if others tell it things there, too.
    fn find_asked(&self) -> Option<&'a Event> {
        let (asker, server) = (self.subject.asked_by?, self.subject.tid);
        let tells = |until_ns: u64| {
            let wakings = self.index.wakings_of(server, 0, until_ns).iter().copied().rev().take(MAX_WAKINGS);
            wakings.filter(|event| !self.lets_in(event))
        };
        let mut asks = tells(self.subject.start_ns.saturating_add(1));
        let by_others = || {
            tells(self.subject.end_ns).find(|asks| {
                let is_clients = teller(asks).is_some_and(|tid| {
                    let is_told = self.is_asked(tid, server, asks.at_ns, u64::MAX);
                    is_told && !self.is_asked(tid, server, 0, asks.at_ns)
                });
                let is_shared = |other: &Event| teller(other) != teller(asks) && are_of_one_source(other, asks);
                is_clients && tells(self.subject.end_ns).any(is_shared)
            })
        };
        asks.find(|event| is_from(event, asker)).or_else(by_others)
    }

    /// Whether a wait where the thread is asked may be one for a lock: it lets others go on there before it sleeps again, or whoever ended it waits there, too. An
    /// interpreter's lock is passed to and fro so, and whoever had it was waited for. Whoever was asleep as the wait began had none.
    pub(super) fn may_be_of_lock(&self, woken_by: &Event, end: &End) -> bool {
        let End::By(tid) = end else { return false };
        let slept_ns = self.index.last_leave(self.subject.tid, woken_by.at_ns).map_or(0, |leave| leave.at_ns);
        let lets_go = || self.lets_go_beside(woken_by).is_some_and(|words| words <= SAME_WORD);
        let is_word = woken_by.wait_end().is_none();
        is_word && self.is_awake(*tid, slept_ns) && (lets_go() || self.waits_there(*tid, woken_by))
    }

    /// Whether a thread was seen to be woken there, too.
    fn waits_there(&self, tid: u32, woken_by: &Event) -> bool {
        let wakings = self.index.wakings_of(tid, 0, u64::MAX);
        wakings.iter().any(|event| are_of_one_word(event, woken_by))
    }

    /// Whether a waking is one by which a thread is let in to a lock of its program: that asks it for nothing.
    pub(super) fn lets_in(&self, event: &Event) -> bool {
        let leave = self.index.last_leave(event.value as u32, event.at_ns);
        leave.is_some_and(|leave| leave.left_state() & LEFT_FOR_LOCK != 0)
    }
}

/// Whether two waits are for the same word of a program, or for what comes by one descriptor. Of the kernel's queues and semaphores nothing tells which one it
/// was.
fn are_of_one_source(one: &Event, other: &Event) -> bool {
    let read = |event: &Event| {
        let reads = event.wait_end().is_some_and(|end| end.sleeper == Call::Read);
        descriptor(event).filter(|read| reads && *read != ONE_POLLED)
    };
    are_of_one_word(one, other) || read(one).is_some() && read(one) == read(other)
}
