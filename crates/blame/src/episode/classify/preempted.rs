//! A thread that loses its CPU in the midst of a wait for a lock of the kernel, and goes on with that once it has a CPU again: the lock kept it all the
//! time, and whoever had the CPU kept it from nothing.

use super::classifier::{Blamed, Classifier, LOOK_NS};
use crate::episode::detail::Detail;
use crate::episode::span::StateSpan;
use crate::kind::Kind;
use punctual_recording::Awaited;
use punctual_recording::episode::EventKind;

impl Classifier<'_> {
    /// The lock for which the thread would have waited in this span if it had had a CPU: it waited for it when it lost that, has hardly run before
    /// it sleeps for it, and is woken later.
    pub(super) fn would_have_waited(&self, span: &StateSpan, since_ns: u64) -> Option<Blamed> {
        let tid = self.subject.tid;
        let turn = self.index.last_turn(tid, since_ns)?;
        let is_preempted = turn.kind == EventKind::Switch && turn.tid == tid && turn.left_state() == 0;
        let (leave, ran_ns) = self.leaves_next(u64::from(tid), span.start_ns).filter(|_| is_preempted)?;
        let lock = self.waits.in_lock(leave.at_ns, leave.at_ns)?;
        let spun = self.spins.iter().any(|spin| spin.end_ns <= turn.at_ns && spin.until_ns == turn.at_ns);
        let goes_on = ran_ns < LOOK_NS && (spun || lock.begin_ns <= turn.at_ns);
        self.index.next_woken(tid, leave.at_ns).filter(|woken_by| goes_on && woken_by.at_ns <= lock.end_ns)?;
        let detail = Some(Detail::Seen(format!("kernel {}", lock.words)));
        Some(match self.who_ends(&lock, span.start_ns) {
            Some(holder) => Blamed { detail, ..Blamed::new(Kind::Lock, holder) },
            None => {
                let inside = Some((Kind::Unknown, format!("who held it (kernel {})", lock.words).into()));
                Blamed { detail, inside, ..Blamed::new(Kind::Lock, Awaited::Holder) }
            }
        })
    }
}
