//! Who gave a kernel worker the work by which it ended somebody's wait. Until then that one was waited for, and only
//! from then on the worker: what a worker did before has nothing to do with whoever waits for this work.

use super::answer::End;
use super::classifier::Classifier;
use crate::episode::chain::is_by_a_thread;
use crate::episode::span::{Doing, StateSpan};
use punctual_recording::episode::{Event, EventKind};

/// How many workers are followed that hand on work to one another.
const MAX_HANDED_ON: usize = 8;
/// The kernel's name for its workers.
pub(super) const WORKER: &str = "kworker/";

impl Classifier<'_> {
    /// Cuts a wait that a kernel worker ended at the moment at which it was given the work by which it ended the wait,
    /// and so on if a worker gave it that in turn.
    pub(super) fn cut_by_queue(&self, span: StateSpan) -> Vec<StateSpan> {
        let Doing::Blocked { left_state, woken_by: Some(woken_by) } = span.doing else { return vec![span] };
        let waker = &self.episode.events[woken_by];
        // A worker without work waits for whoever wakes it.
        if !self.waits_for_another(left_state, Some(waker))
            || !matches!(self.end(waker), End::By(tid) if tid == waker.tid)
            || self.subject.name.starts_with(WORKER)
        {
            return vec![span];
        }
        let mut spans = Vec::new();
        let (mut ender, mut end_ns) = (woken_by, span.end_ns);
        for _ in 0..MAX_HANDED_ON {
            let queued = self.queued(&self.episode.events[ender]);
            let queued = queued.filter(|&queued| span.start_ns <= self.episode.events[queued].at_ns);
            let Some(queued) = queued else { break };
            let at_ns = self.episode.events[queued].at_ns;
            // A stop came in between: until it ended, nobody had been given anything.
            if at_ns >= end_ns {
                ender = queued;
                continue;
            }
            let doing = Doing::Blocked { left_state, woken_by: Some(ender) };
            spans.push(StateSpan { start_ns: at_ns, end_ns, doing, ..span });
            (ender, end_ns) = (queued, at_ns);
        }
        if end_ns > span.start_ns {
            spans.push(StateSpan { end_ns, doing: Doing::Blocked { left_state, woken_by: Some(ender) }, ..span });
        }
        spans.reverse();
        spans
    }

    /// Position of the event that queued the work item in which a kernel worker did something.
    fn queued(&self, event: &Event) -> Option<usize> {
        let item = self.index.work_at(event.tid, event.at_ns).filter(|_| is_by_a_thread(event))?;
        self.index.last_queued(item.value, item.at_ns)
    }

    /// The waking that ended the wait, given only how it came about.
    pub(super) fn waking_after<'event>(&'event self, event: &'event Event) -> &'event Event {
        match event.kind {
            EventKind::WorkQueued => self.index.next_woken(self.subject.tid, event.at_ns).unwrap_or(event),
            _ => event,
        }
    }
}
