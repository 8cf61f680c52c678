//! Who stopped a thread.

use super::classifier::{Blamed, Classifier};
use crate::episode::chain::waker;
use crate::episode::detail::Detail;
use crate::episode::span::StateSpan;
use crate::kind::Kind;
use punctual_recording::episode::{
    Event, LEFT_FOR_SPINLOCK, LEFT_FROZEN, LEFT_STOPPED, LEFT_TRACED, LEFT_UNINTERRUPTIBLE, WakingAct,
};

impl Classifier<'_> {
    /// The thread was stopped from the beginning of the span on, and goes on because of this waking.
    pub(crate) fn stopped(&self, span: &StateSpan, left_state: u32, woken_by: Option<&Event>) -> Blamed {
        // Only a thread continues another; an interrupt there was something else.
        let continues = woken_by.and_then(|waking| match waker(self.episode, waking, self.timelines) {
            (_, name, Some(tid)) if name == "?" => Some((self.thread(tid), tid)),
            (_, name, tid) => Some((name, tid?)),
        });
        let by = |verb: &str| continues.as_ref().map(|(name, _)| Detail::Seen(format!("{verb} by {name}")));
        if left_state & LEFT_FROZEN != 0 && left_state & (LEFT_STOPPED | LEFT_TRACED) == 0 {
            return Blamed { detail: by("thawed"), ..Blamed::new(Kind::Stopped, "the freezer of its control group") };
        }
        if left_state & LEFT_TRACED != 0 {
            // Whoever traces it is who lets it go on, but by a signal anybody may.
            let is_by_signal = woken_by.is_some_and(|waking| waking.lock_waking().act == WakingAct::Signals);
            return match continues.filter(|_| !is_by_signal) {
                Some((name, tid)) => Blamed {
                    detail: Some(Detail::Seen("its tracer".to_owned())),
                    tid: Some(tid),
                    ..Blamed::new(Kind::Stopped, name)
                },
                None => Blamed::new(Kind::Stopped, "its tracer"),
            };
        }
        match self.asked_to_stop(span) {
            Some(asked) => Blamed {
                detail: Some(Detail::Seen(format!("signal {}", signal(asked.extra >> 32)))),
                tid: Some(asked.tid),
                ..Blamed::new(Kind::Stopped, self.episode.name(asked.name))
            },
            None => Blamed { detail: by("continued"), ..Blamed::new(Kind::Stopped, "somebody not seen") },
        }
    }

    /// Who asked for this stop. A thread that has slept or was stopped since it was asked has another reason: it went on from that one, or
    /// took no notice of it.
    fn asked_to_stop(&self, span: &StateSpan) -> Option<&Event> {
        let tid = self.subject.tid;
        let asked = self.index.last_stop(tid, span.start_ns)?;
        let stops_ns = self.index.last_leave(tid, span.start_ns).map_or(span.start_ns, |leave| leave.at_ns);
        let since = self.index.leaves_within(tid, asked.at_ns.saturating_add(1), stops_ns);
        let mut slept = since.iter().map(|leave| leave.left_state()).filter(|state| *state != 0);
        let is_spent = slept.any(|state| state & (LEFT_FOR_SPINLOCK | LEFT_UNINTERRUPTIBLE) == 0);
        (!is_spent).then_some(asked)
    }
}

fn signal(number: u64) -> String {
    match number {
        19 => "SIGSTOP".to_owned(),
        20 => "SIGTSTP".to_owned(),
        21 => "SIGTTIN".to_owned(),
        22 => "SIGTTOU".to_owned(),
        number => number.to_string(),
    }
}
