//! Requests that a signal or a stop begins: the thread waited for its next one, and was woken to be stopped or to handle the signal.

use super::answer::waits_for_signal;
use super::classifier::{Classifier, LOOK_NS};
use crate::episode::chain::is_by_a_thread;
use crate::episode::story::STOPPED;
use punctual_recording::Stage;
use punctual_recording::episode::{LEFT_FROZEN, LEFT_TRACED, WakingAct};

/// How many stops in a row are looked through.
const MAX_STOPS: usize = 64;

impl Classifier<'_> {
    /// Up to when nothing shows that a request was waiting, ns, if no request but a signal or a stop ended the wait before the late one: until the thread
    /// goes on after that, or has handled the signal and waits for something. A request may have come meanwhile: whoever sends it wakes nobody then.
    pub(crate) fn unasked_until_ns(&self) -> Option<u64> {
        let tid = self.subject.tid;
        let is_request = self.subject.stage == Stage::Request && self.subject.is_due;
        let first = self.waking.filter(|first| is_request && is_by_a_thread(first))?;
        let is_signalled = first.lock_waking().act == WakingAct::Signals && !waits_for_signal(first);
        let (mut leave, ran_ns) = self.leaves_next(u64::from(tid), first.at_ns)?;
        // On a busy machine a signalled thread may take long until it is stopped.
        if leave.left_state() & STOPPED == 0 || !is_signalled && ran_ns >= LOOK_NS {
            return is_signalled.then_some(leave.at_ns);
        }
        // The freezer and a tracer send no signal. A thread that gets one may have been asked just before.
        let is_of_no_signal = leave.left_state() & (LEFT_FROZEN | LEFT_TRACED) != 0;
        let slept_ns = self.index.last_leave(tid, first.at_ns).map_or(0, |leave| leave.at_ns);
        if !(is_signalled || is_of_no_signal && self.wakes_to_stop(first, slept_ns)) {
            return None;
        }
        for _ in 0..MAX_STOPS {
            let Some(continued) = self.index.next_woken(tid, leave.at_ns) else { break };
            match self.leaves_next(u64::from(tid), continued.at_ns) {
                Some((again, ran_ns)) if again.left_state() & STOPPED != 0 && ran_ns < LOOK_NS => leave = again,
                _ => return Some(continued.at_ns),
            }
        }
        Some(self.subject.end_ns)
    }
}
