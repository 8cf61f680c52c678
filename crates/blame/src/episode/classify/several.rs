//! Who ends a wait for one of several things. Whoever brings one of them has ended that wait only if it was the one
//! that counts: an event loop that is told about something else takes that, and waits on. Such a loop waits by `poll`
//! and the like, reads from one descriptor what several have to say, or takes it from a queue of the program or of the
//! kernel.

use super::answer::{End, are_of_one_word};
use super::classifier::Classifier;
use punctual_recording::episode::{
    Call, Event, EventKind, LEFT_FOR_LOCK, LEFT_FOR_SPINLOCK, LEFT_UNINTERRUPTIBLE, Sender,
};
use std::collections::BTreeSet;

/// Sleeps within the work of a loop: for a lock, for a page.
const OF_WORK: u32 = LEFT_FOR_LOCK | LEFT_UNINTERRUPTIBLE | LEFT_FOR_SPINLOCK;

/// A thread that works on what it was told for longer than this, ns, has waited for it.
const TAKE_NS: u64 = 1_000_000;
/// The kernel's names for its threads that serve softirqs; and for those that serve timers with PREEMPT_RT.
const SERVE_SOFTIRQS: [&str; 2] = ["ksoftirqd/", "ktimers/"];
/// How many waits in a row of one loop are looked through ...
pub(super) const MAX_WAITS: usize = 64;
/// ... and how many wakings for who was asked: whoever was asked before those counts as asked by nobody.
pub(super) const MAX_WAKINGS: usize = 64;
/// How many wakings on each side of a wait are looked through for who tells that loop about things.
const MAX_TELLERS: usize = 32;

impl Classifier<'_> {
    /// For a wait that ended like this, who ended what was waited for. A thread that had been asked before, and answers
    /// in a later wait of that loop, was waited for all the time. For a call that waits for several things only a
    /// thread that is seen to have been asked is named: the answer of one that was already working when it was asked
    /// may have come while the loop was working, and wakes nobody then.
    pub(super) fn of_several(&self, woken_by: &Event, end: End) -> End {
        let by = match end {
            End::By(tid) => Some(tid),
            End::Timer => None,
            _ => return end,
        };
        let sleeper = woken_by.value as u32;
        let slept_ns = self.index.last_leave(sleeper, woken_by.at_ns).map(|leave| leave.at_ns);
        let Some(slept_ns) = slept_ns else { return end };
        let is_one_of_several = || continues(woken_by, woken_by) || is_queue(woken_by);
        if let Some(end) = by.filter(|_| is_one_of_several()).and_then(|tid| self.of_mailbox(woken_by, tid, slept_ns)) {
            return end;
        }
        if !continues(woken_by, woken_by) {
            return self.of_queue(woken_by, slept_ns, end);
        }
        if by.is_some_and(|tid| self.owes(tid, sleeper, slept_ns)) {
            return end;
        }
        let later = match self.later_for_several(woken_by, by, slept_ns) {
            Later::Answer(tid) => return End::By(tid),
            later => later,
        };
        let Some(tid) = by else { return end };
        match self.why_not_by(woken_by, tid, slept_ns, &later) {
            Some(why) => End::NotBy(format!("{} told it of one of several things{why}", self.thread(tid))),
            None => end,
        }
    }

    /// What the later waits of the loop say about one that ended like this.
    fn later_for_several(&self, woken_by: &Event, by: Option<u32>, slept_ns: u64) -> Later {
        let sleeper = woken_by.value as u32;
        let (mut last, mut later) = (woken_by, Later::Nothing);
        for number in 0..MAX_WAITS {
            let Some((next, ran_ns)) = self.next_for_several(last) else { break };
            if number == 0 {
                let asks = |event: &&Event| self.wakes_itself(event) && Some(event.value as u32) != by;
                let asked = self.index.wakings_by(sleeper, woken_by.at_ns, next.at_ns).iter().any(asks);
                if ran_ns < TAKE_NS && !asked {
                    later = Later::WaitsOn;
                }
            }
            if let End::By(tid) = self.direct_end(next)
                && Some(tid) != by
                && !self.is_asked(tid, sleeper, woken_by.at_ns, next.at_ns)
            {
                if self.owes(tid, sleeper, slept_ns) {
                    return Later::Answer(tid);
                }
                if !matches!(later, Later::AtWork(_)) && self.is_awake(tid, slept_ns) {
                    later = Later::AtWork(tid);
                }
            }
            last = next;
        }
        later
    }

    /// Why whoever told the loop about something, and is not seen to have been asked, is not named for that wait, if it is not.
    fn why_not_by(&self, woken_by: &Event, tid: u32, slept_ns: u64, later: &Later) -> Option<String> {
        let sleeper = woken_by.value as u32;
        let is_of_one = descriptor(woken_by).is_some();
        if let Later::AtWork(other) = later {
            return Some(format!(", and {}, which was at work already, of the next", self.thread(*other)));
        }
        if is_of_one {
            let other = self.other_teller(woken_by, tid, slept_ns)?;
            return Some(format!(", as {} does, which may have been asked", self.thread(other)));
        }
        if matches!(later, Later::WaitsOn) {
            return Some(", and it waited on".to_owned());
        }
        if self.has_asked(sleeper, slept_ns) {
            return Some(", and another had been asked".to_owned());
        }
        // Whoever is waited for by another one waits for its work.
        self.subject.is_due.then(|| ", and nobody is seen to have been asked".to_owned())
    }

    /// Another one that may have been waited for: one that tells that loop about things as well, and owes it an answer;
    /// or one of another program that was working when the wait began, and when it ended. If whoever told it came by
    /// itself, one that is not seen to tell it about anything but was asked, however long ago, may be it too.
    fn other_teller(&self, woken_by: &Event, tid: u32, slept_ns: u64) -> Option<u32> {
        let sleeper = woken_by.value as u32;
        let is_at_work = |other| {
            !self.index.are_of_one_process(tid, other)
                && self.is_awake(other, slept_ns)
                && self.is_awake(other, woken_by.at_ns)
                && !self.is_asked_next(other, woken_by)
        };
        let may_answer = |other: u32| self.owes(other, sleeper, slept_ns) || is_at_work(other);
        // Whoever that one has woken since answers in its place.
        let may_be = |other: &u32| *other != tid && !self.is_asked(tid, *other, slept_ns, woken_by.at_ns);
        let tells = self.tellers(woken_by).into_iter().filter(may_be).find(|other| may_answer(*other));
        let came_by_itself = !self.is_awake(tid, slept_ns);
        let is_asked = || {
            let asked = self.index.wakings_by(sleeper, 0, woken_by.at_ns).iter().rev().take(MAX_WAKINGS);
            let mut asked = asked.filter(|event| self.wakes_itself(event)).map(|event| event.value as u32);
            asked.find(|other| may_be(other) && is_at_work(*other))
        };
        tells.or_else(|| came_by_itself.then(is_asked).flatten())
    }

    /// Whether a thread tells the loop about something later, and was asked for that after this wait.
    fn is_asked_next(&self, tid: u32, woken_by: &Event) -> bool {
        let (sleeper, since_ns) = (woken_by.value as u32, woken_by.at_ns.saturating_add(1));
        let mut later = self.index.wakings_of(sleeper, since_ns, u64::MAX).iter().take(MAX_TELLERS);
        later.find(|event| is_from(event, tid)).is_some_and(|event| self.is_asked(tid, sleeper, since_ns, event.at_ns))
    }

    /// For a wait for what comes through a queue, or for a signal: whoever puts something in is not named if another
    /// one, which was asked by something else, is still working for that. To be let in to a lock, or to go on at the
    /// same place, is not to be asked.
    fn of_queue(&self, woken_by: &Event, slept_ns: u64, end: End) -> End {
        let End::By(tid) = end else { return end };
        let sleeper = woken_by.value as u32;
        if tid != woken_by.tid || !is_queue(woken_by) || self.owes(tid, sleeper, slept_ns) {
            return end;
        }
        let owes = |asked: &&&Event| {
            let other = asked.value as u32;
            let leave = self.index.last_leave(other, asked.at_ns);
            other != tid
                && self.wakes_itself(asked)
                && !is_same_queue(asked, woken_by)
                && leave.is_none_or(|leave| leave.left_state() & LEFT_FOR_LOCK == 0)
                && self.answered_ns(other, sleeper, slept_ns) < asked.at_ns
                && self.is_at_it(asked, woken_by.at_ns)
                && !self.is_asked(tid, other, slept_ns, woken_by.at_ns)
        };
        match self.index.wakings_by(sleeper, 0, slept_ns).iter().rev().take(MAX_WAKINGS).find(owes) {
            Some(asked) => End::NotBy(format!(
                "{} told it of one of several things, and {} had been asked",
                self.thread(tid),
                self.thread(asked.value as u32)
            )),
            None => end,
        }
    }

    /// Who is seen to tell a loop about things, around a time.
    pub(super) fn tellers(&self, woken_by: &Event) -> BTreeSet<u32> {
        let sleeper = woken_by.value as u32;
        let before = self.index.wakings_of(sleeper, 0, woken_by.at_ns).iter().rev().take(MAX_TELLERS);
        let after = self.index.wakings_of(sleeper, woken_by.at_ns.saturating_add(1), u64::MAX).iter().take(MAX_TELLERS);
        let is_of_loop = |event: &&&Event| continues(woken_by, event);
        before.chain(after).filter(is_of_loop).filter_map(|event| teller(event)).collect()
    }

    /// The waking that ends the next wait of the loop, and how long the thread ran before that.
    fn next_for_several(&self, woken_by: &Event) -> Option<(&Event, u64)> {
        let tid = woken_by.value;
        let later = self.index.turns_from(tid, woken_by.at_ns.saturating_add(1));
        let (mut ran_ns, mut runs_since) = (0, None);
        for (position, event) in later.iter().enumerate().filter(|(_, event)| event.kind == EventKind::Switch) {
            if event.at_ns > self.subject.end_ns {
                return None;
            }
            if event.value == tid {
                runs_since = Some(event.at_ns);
                continue;
            }
            ran_ns += event.at_ns - runs_since.take()?;
            // Others may go first meanwhile, and it may wait for a lock, or for a page.
            if event.left_state() != 0 && event.left_state() & OF_WORK == 0 {
                let next = later[position..].iter().find(|event| event.kind == EventKind::Waking)?;
                return continues(woken_by, next).then_some((*next, ran_ns));
            }
        }
        None
    }

    /// Whether a thread did not sleep at a time: whoever asks it for something need not wake it.
    pub(super) fn is_awake(&self, tid: u32, at_ns: u64) -> bool {
        match self.index.last_turn(tid, at_ns) {
            Some(event) => {
                event.kind != EventKind::Switch || event.tid != tid || event.left_state() & !LEFT_FOR_SPINLOCK == 0
            }
            None => {
                let next = self.index.turns_from(u64::from(tid), at_ns).first();
                next.is_none_or(|event| event.kind != EventKind::Waking)
            }
        }
    }

    /// Whether the sleeper had asked anybody, when it went to sleep, who has not woken it since.
    fn has_asked(&self, sleeper: u32, slept_ns: u64) -> bool {
        let mut asked = self.index.wakings_by(sleeper, 0, slept_ns).iter().rev().take(MAX_WAKINGS);
        asked.any(|event| self.wakes_itself(event) && self.owes(event.value as u32, sleeper, slept_ns))
    }

    /// Whether the sleeper had asked a thread, when it went to sleep, that has not woken it since.
    pub(super) fn owes(&self, tid: u32, sleeper: u32, slept_ns: u64) -> bool {
        self.is_asked(tid, sleeper, self.answered_ns(tid, sleeper, slept_ns), slept_ns)
    }

    /// When a thread last woke the sleeper, up to a time; 0: not as far as was seen.
    pub(super) fn answered_ns(&self, tid: u32, sleeper: u32, slept_ns: u64) -> u64 {
        let mut answers = self.index.wakings_of(sleeper, 0, slept_ns).iter().rev().take(MAX_WAKINGS);
        answers.find(|event| is_from(event, tid)).map_or(0, |event| event.at_ns)
    }

    /// Whether the current thread itself woke somebody. A thread to which an interrupt leaves its softirqs is woken as
    /// that ends, whatever thread it interrupted.
    pub(super) fn wakes_itself(&self, event: &Event) -> bool {
        let is_for_softirqs = |name: &&str| SERVE_SOFTIRQS.iter().any(|server| name.starts_with(server));
        let woken = self.threads.get(&(event.value as u32)).copied();
        event.is_the_threads_own() && !woken.as_ref().is_some_and(is_for_softirqs)
    }

    /// Whether a thread was woken by what the other one did, between two times.
    pub(super) fn is_asked(&self, tid: u32, by: u32, from_ns: u64, to_ns: u64) -> bool {
        let mut wakings = self.index.wakings_of(tid, from_ns, to_ns).iter().rev().take(MAX_WAKINGS);
        wakings.any(|event| is_from(event, by))
    }
}

/// What the later waits of a loop say about one of them.
enum Later {
    /// In one of them this thread answered, which had been asked before.
    Answer(u32),
    /// In one of them this thread told it something, and was already working when that wait began: it may have been asked before.
    AtWork(u32),
    /// The loop did no more than take what it was told, and waited on.
    WaitsOn,
    /// Nothing.
    Nothing,
}

/// Whose a waking is: a thread's own, or the delivery of what it has sent.
pub(crate) fn teller(event: &Event) -> Option<u32> {
    match event.wait_end().map(|end| end.sender) {
        Some(Sender::Thread(sender)) => Some(sender),
        _ => event.is_the_threads_own().then_some(event.tid),
    }
}

/// Whether a waking is this thread's.
pub(super) fn is_from(event: &Event, tid: u32) -> bool {
    teller(event) == Some(tid)
}

/// Whether a wait is for what comes through a queue.
fn is_queue(woken_by: &Event) -> bool {
    is_same_queue(woken_by, woken_by)
}

/// Whether two waits are for what comes to one place: by calls for one of several things, by one descriptor, or through one queue.
pub(super) fn are_of_one_place(before: &Event, next: &Event) -> bool {
    continues(before, next) || is_same_queue(before, next)
}

/// Whether two waits are for what comes through the same queue: a word of the program, what the kernel hands on, signals.
fn is_same_queue(before: &Event, next: &Event) -> bool {
    match (before.wait_end(), next.wait_end()) {
        (Some(before), Some(next)) => {
            before.sleeper == next.sleeper && matches!(before.sleeper, Call::Queue | Call::Signal)
        }
        (None, None) => are_of_one_word(before, next),
        _ => false,
    }
}

/// What the woken thread read from, if that is known.
pub(super) fn descriptor(woken_by: &Event) -> Option<u32> {
    woken_by.wait_end().and_then(|end| end.descriptor)
}

/// Whether a call is one for several things. Of a wait for a single word in memory another kind of waking tells: `futex_waitv` waits for several.
pub(super) fn is_for_several(call: Call) -> bool {
    matches!(call, Call::Poll | Call::Futex)
}

/// Whether two waits are for one of several things, and of the same loop: by calls that tell which of them came, or by
/// reading from one descriptor.
fn continues(before: &Event, next: &Event) -> bool {
    // One that a stop interrupted is resumed by another call.
    let call = |event: &Event| match event.wait_end()?.sleeper {
        Call::Restart => Some(Call::Poll),
        call => Some(call),
    };
    let is_read = descriptor(before).is_some() && descriptor(before) == descriptor(next);
    call(before) == call(next) && (call(before).is_some_and(is_for_several) || is_read)
}
