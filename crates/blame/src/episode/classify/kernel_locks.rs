//! Since when whoever let a lock of the kernel go can have had it. No thread goes on in its program while it has one.

use super::classifier::Classifier;
use crate::episode::chain::is_by_a_thread;
use crate::episode::span::{Doing, StateSpan};
use crate::episode::waits::KernelLock;
use punctual_recording::episode::Event;

impl Classifier<'_> {
    /// Cuts a sleep for a lock of the kernel where whoever let it go was last seen in its program: who had it until then was not seen.
    pub(super) fn cut_by_program(&self, span: StateSpan) -> Vec<StateSpan> {
        let Doing::Blocked { woken_by: Some(woken_by), .. } = span.doing else { return vec![span] };
        let Some(lock) = self.waits.in_lock(span.start_ns, span.end_ns) else { return vec![span] };
        let waker = &self.episode.events[woken_by];
        match self.had_since(&lock, waker) {
            Some(since_ns) if span.start_ns < since_ns && since_ns < span.end_ns => {
                let doing = Doing::HeldBefore { taker: waker.tid };
                vec![StateSpan { end_ns: since_ns, doing, ..span }, StateSpan { start_ns: since_ns, ..span }]
            }
            _ => vec![span],
        }
    }

    /// From when on a thread that let a lock go can have had it, if it was seen without.
    pub(super) fn had_since(&self, lock: &KernelLock, waker: &Event) -> Option<u64> {
        let in_program = self.index.last_in_program(waker.tid, waker.at_ns);
        in_program.filter(|_| is_by_a_thread(waker) && !lock.may_be_kept)
    }
}
