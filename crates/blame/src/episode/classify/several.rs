//! Who ends a wait for one of several things. Whoever brings one of them has ended that wait only if it was the one that counts:
//! an event loop that is told of something else takes that, and waits on. Such a loop waits by `poll` and the like, or reads from one
//! descriptor what several have to say.

use super::answer::End;
use super::classifier::Classifier;
use punctual_recording::episode::{Call, Event, EventKind, LEFT_FOR_LOCK, LEFT_UNINTERRUPTIBLE, Sender};

/// Whoever works on what it was told for longer than this, ns, has waited for it.
const TAKE_NS: u64 = 1_000_000;
/// So many waits in a row of one loop are looked through ...
const MAX_WAITS: usize = 64;
/// ... and so many wakings for who was asked: whoever was asked before those counts as asked by nobody.
pub(super) const MAX_WAKINGS: usize = 64;

impl Classifier<'_> {
    /// Of a wait that ended like this, who ended what was waited for. A thread that had been asked before, and answers in a later
    /// wait of that loop, was waited for all the time. Where nobody is seen to have been asked, who brings something that the loop does no
    /// more than take is not known to be it; nor is whoever brings anything, where the one that brings the last was at work already as the
    /// wait began: nothing tells whether that had been asked before.
    pub(super) fn of_several(&self, woken_by: &Event, end: End) -> End {
        let by = match end {
            End::By(tid) => Some(tid),
            End::Timer => None,
            _ => return end,
        };
        let sleeper = woken_by.value as u32;
        let slept_ns = self.index.last_leave(sleeper, woken_by.at_ns).map(|leave| leave.at_ns);
        let Some(slept_ns) = slept_ns.filter(|_| continues(woken_by, woken_by)) else { return end };
        if by.is_some_and(|tid| self.owes(tid, sleeper, slept_ns)) {
            return end;
        }
        let (mut last, mut is_taken_only, mut at_work) = (woken_by, false, None);
        for number in 0..MAX_WAITS {
            let Some((next, ran_ns)) = self.next_for_several(last) else { break };
            if number == 0 {
                let asks = |event: &&Event| event.is_the_threads_own() && Some(event.value as u32) != by;
                let asked = self.index.wakings_by(sleeper, woken_by.at_ns, next.at_ns).iter().any(asks);
                is_taken_only = ran_ns < TAKE_NS && !asked && descriptor(woken_by).is_none();
            }
            if let End::By(tid) = self.direct_end(next)
                && Some(tid) != by
                && !self.is_asked(tid, sleeper, woken_by.at_ns, next.at_ns)
            {
                if self.owes(tid, sleeper, slept_ns) {
                    return End::By(tid);
                }
                at_work = at_work.or_else(|| self.is_awake(tid, slept_ns).then_some(tid));
            }
            last = next;
        }
        let told = |tid| format!("{} told it of one of several things", self.thread(tid));
        match (by, at_work) {
            (Some(tid), Some(other)) => {
                let other = self.thread(other);
                End::NotBy(format!("{}, and {other}, which was at work already, of the next", told(tid)))
            }
            (Some(tid), None) if is_taken_only => End::NotBy(format!("{}, and it waited on", told(tid))),
            // That one's answer may have come while the loop was at work.
            (Some(tid), None) if descriptor(woken_by).is_none() && self.has_asked(sleeper, slept_ns) => {
                End::NotBy(format!("{}, and another had been asked", told(tid)))
            }
            _ => end,
        }
    }

    /// The waking that ends the next wait of the loop, and for how long the thread ran before that.
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
            // Others may come before it meanwhile, and it may wait for a lock, or for a page.
            if event.left_state() != 0 && event.left_state() & (LEFT_FOR_LOCK | LEFT_UNINTERRUPTIBLE) == 0 {
                let next = later[position..].iter().find(|event| event.kind == EventKind::Waking)?;
                return continues(woken_by, next).then_some((*next, ran_ns));
            }
        }
        None
    }

    /// Whether a thread did not sleep at a time: whoever asks it for something need not wake it.
    fn is_awake(&self, tid: u32, at_ns: u64) -> bool {
        match self.index.last_turn(tid, at_ns) {
            Some(event) => event.kind != EventKind::Switch || event.tid != tid || event.left_state() == 0,
            None => {
                let next = self.index.turns_from(u64::from(tid), at_ns).first();
                next.is_none_or(|event| event.kind != EventKind::Waking)
            }
        }
    }

    /// Whether anybody was asked by the sleeper, and has not woken it since, as that went to sleep.
    fn has_asked(&self, sleeper: u32, slept_ns: u64) -> bool {
        let mut asked = self.index.wakings_by(sleeper, 0, slept_ns).iter().rev().take(MAX_WAKINGS);
        asked.any(|event| event.is_the_threads_own() && self.owes(event.value as u32, sleeper, slept_ns))
    }

    /// Whether a thread was asked by the sleeper, and has not woken it since, as that went to sleep.
    pub(super) fn owes(&self, tid: u32, sleeper: u32, slept_ns: u64) -> bool {
        let mut answers = self.index.wakings_of(sleeper, 0, slept_ns).iter().rev().take(MAX_WAKINGS);
        let answered_ns = answers.find(|event| is_from(event, tid)).map_or(0, |event| event.at_ns);
        self.is_asked(tid, sleeper, answered_ns, slept_ns)
    }

    /// Whether a thread was woken by what the other one did, between two times.
    fn is_asked(&self, tid: u32, by: u32, from_ns: u64, to_ns: u64) -> bool {
        let mut wakings = self.index.wakings_of(tid, from_ns, to_ns).iter().rev().take(MAX_WAKINGS);
        wakings.any(|event| is_from(event, by))
    }
}

/// Whether a waking is a thread's own, or the delivery of what it has sent.
fn is_from(event: &Event, tid: u32) -> bool {
    match event.wait_end().map(|end| end.sender) {
        Some(Sender::Thread(sender)) => sender == tid,
        _ => event.tid == tid && event.is_the_threads_own(),
    }
}

/// What who is woken read from, where that is told.
fn descriptor(woken_by: &Event) -> Option<u32> {
    woken_by.wait_end().and_then(|end| end.descriptor)
}

/// Whether two waits are for one of several things, and the same loop's: by calls that tell which of them came, or by reading from one
/// descriptor.
fn continues(before: &Event, next: &Event) -> bool {
    // One that was interrupted by a stop goes on by another call.
    let call = |event: &Event| match event.wait_end()?.sleeper {
        Call::Restart => Some(Call::Poll),
        call => Some(call),
    };
    let is_read = descriptor(before).is_some() && descriptor(before) == descriptor(next);
    call(before) == call(next) && (call(before) == Some(Call::Poll) || is_read)
}
