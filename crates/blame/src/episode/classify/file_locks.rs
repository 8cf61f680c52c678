//! Locks of files that go from one to the next. Who waits behind somebody that waits as well is woken as that one gets the lock, to wait on behind it:
//! until then the lock was not that one's, but of whoever let that one in.

use super::classifier::{Classifier, LOOK_NS};
use super::holder::sleepers_call;
use crate::episode::chain::is_by_a_thread;
use crate::episode::span::{Doing, StateSpan};
use punctual_recording::episode::{Call, Event, WakingAct};

/// How many that got the lock one after another are looked through.
const MAX_IN_TURN: usize = 64;

impl Classifier<'_> {
    /// Cuts a wait for a lock of a file that somebody ended who had just got the lock.
    pub(super) fn cut_by_file_lock(&self, span: StateSpan) -> Vec<StateSpan> {
        let Doing::Blocked { left_state, woken_by: Some(woken_by) } = span.doing else { return vec![span] };
        let mut spans = Vec::new();
        let (mut ender, mut end_ns) = (woken_by, span.end_ns);
        for _ in 0..MAX_IN_TURN {
            let is_within = |let_in: &&Event| span.start_ns < let_in.at_ns && let_in.at_ns < end_ns;
            let Some(let_in) = self.let_in(&self.episode.events[ender]).filter(is_within) else { break };
            let doing = Doing::Blocked { left_state, woken_by: Some(ender) };
            spans.push(StateSpan { start_ns: let_in.at_ns, end_ns, doing, ..span });
            (ender, end_ns) = (self.position(let_in), let_in.at_ns);
        }
        spans.push(StateSpan { end_ns, doing: Doing::Blocked { left_state, woken_by: Some(ender) }, ..span });
        spans.reverse();
        spans
    }

    /// The waking by which whoever woke a thread for a lock of a file was let in itself, if it did so at once, and the thread waited on.
    fn let_in(&self, woken_by: &Event) -> Option<&Event> {
        let is_file_lock = |event: &Event| {
            let is_signal = event.lock_waking().act == WakingAct::Signals;
            is_by_a_thread(event) && !is_signal && sleepers_call(event) == Some(Call::FileLock)
        };
        if !is_file_lock(woken_by) {
            return None;
        }
        let (leave, looked_ns) = self.leaves_next(woken_by.value, woken_by.at_ns)?;
        let waits_on = self.index.next_woken(woken_by.value as u32, leave.at_ns).is_some_and(is_file_lock);
        let let_in = self.index.last_woken(woken_by.tid, woken_by.at_ns).filter(|event| is_file_lock(event))?;
        let comes_ns = self.index.next_switch_to(woken_by.tid, let_in.at_ns)?;
        let is_at_once = (comes_ns..comes_ns.saturating_add(LOOK_NS)).contains(&woken_by.at_ns);
        let is_another = ![0, woken_by.tid, self.subject.tid].contains(&let_in.tid);
        let is_in_vain = waits_on && looked_ns < LOOK_NS;
        (is_in_vain && is_at_once && is_another).then_some(let_in)
    }
}
