//! Who stopped a thread.

use super::classifier::{Blamed, Classifier};
use crate::episode::chain::waker;
use crate::episode::detail::Detail;
use crate::episode::span::StateSpan;
use crate::kind::Kind;
use punctual_recording::episode::{Event, LEFT_FROZEN, LEFT_STOPPED, LEFT_TRACED};

impl Classifier<'_> {
    /// The thread was stopped from the beginning of the span on, and goes on because of this waking.
    pub(crate) fn stopped(&self, span: &StateSpan, left_state: u32, woken_by: Option<&Event>) -> Blamed {
        // Only a thread lets one go on; an interrupt there was something else.
        let continues = woken_by.and_then(|waking| match waker(self.episode, waking, self.timelines) {
            (_, name, Some(tid)) if name == "?" => Some((self.thread(tid), tid)),
            (_, name, tid) => Some((name, tid?)),
        });
        let by = |verb: &str| continues.as_ref().map(|(name, _)| Detail::Seen(format!("{verb} by {name}")));
        if left_state & LEFT_FROZEN != 0 && left_state & (LEFT_STOPPED | LEFT_TRACED) == 0 {
            return Blamed { detail: by("thawed"), ..Blamed::new(Kind::Stopped, "the freezer of its control group") };
        }
        if left_state & LEFT_TRACED != 0 {
            // Whoever traces it is who lets it go on.
            return match continues {
                Some((name, tid)) => Blamed {
                    detail: Some(Detail::Seen("its tracer".to_owned())),
                    tid: Some(tid),
                    ..Blamed::new(Kind::Stopped, name)
                },
                None => Blamed::new(Kind::Stopped, "its tracer"),
            };
        }
        match self.index.last_stop(self.subject.tid, span.start_ns) {
            Some(asked) => Blamed {
                detail: Some(Detail::Seen(format!("signal {}", signal(asked.extra >> 32)))),
                tid: Some(asked.tid),
                ..Blamed::new(Kind::Stopped, self.episode.name(asked.name))
            },
            None => Blamed { detail: by("continued"), ..Blamed::new(Kind::Stopped, "somebody not seen") },
        }
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
