//! Whose a stretch of time is.

use punctual_recording::Awaited;
use std::cmp::Ordering;
use std::fmt::{Display, Formatter, Result};

/// Before the name of one that is called like a thread that waits, and is none of those.
pub(crate) const OTHER: &str = "another ";
/// Between a name and a thread's number, which a bracket follows.
pub(crate) const THREAD: &str = " (thread ";

/// What is known, for [`Kind::Unknown`](crate::Kind::Unknown), of a wait within a request of which nothing tells whether it was for an
/// answer or for the next request.
pub const ANSWER_OR_REQUEST: &str = "a wait for an answer or for the next request";

/// What follows the name, for [`Kind::Sleep`](crate::Kind::Sleep) of the timer and for [`Kind::Own`](crate::Kind::Own) of the thread, where the late thread had woken
/// whoever asked before it slept or worked, and woke nobody afterwards: that may have been the answer.
pub(crate) const MAYBE_AFTER_ANSWER: &str = ", maybe after the answer";

/// What follows it where the late thread may be the one that asks, by a connection that its program accepted: then it sleeps until it asks again.
pub(crate) const MAYBE_BEFORE_QUESTION: &str = ", maybe before it asks";

/// What follows the name, for [`Kind::Stopped`](crate::Kind::Stopped) and [`Kind::Own`](crate::Kind::Own), where a signal or a stop ended the late thread's wait
/// for its next request: that may have come meanwhile, or not.
pub(crate) const MAYBE_WITHOUT_REQUEST: &str = ", maybe while no request was waiting";

/// Who or what had a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// By name: a thread, an interrupt, a softirq. For [`Kind::Unknown`](crate::Kind::Unknown), what is known instead.
    Seen(String),
    /// Somebody was waited for, but who that is was not seen: [`Detail::NotSeen`](crate::Detail::NotSeen) has the reason.
    NotSeen(Awaited),
}

impl Who {
    /// The name in tables and JSON. A thread may be called whatever it likes: to tell whether anybody was seen, look at the
    /// variant.
    pub fn name(&self) -> &str {
        match self {
            Who::Seen(name) => name,
            Who::NotSeen(Awaited::Holder) => "holder not seen",
            Who::NotSeen(Awaited::Ender) => "ender not seen",
        }
    }

    /// The name; of *another python3 (thread 7)* only *another python3*, which all have in common that are called like the
    /// threads that wait, and are none of those. No name of a thread is so long that it looks like this.
    pub fn shared_name(&self) -> &str {
        let name = self.name();
        let is_number = |rest: &str| rest.strip_suffix(')').is_some_and(|number| number.parse::<u32>().is_ok());
        match name.rsplit_once(THREAD) {
            Some((shared, rest)) if shared.starts_with(OTHER) && is_number(rest) => shared,
            _ => name,
        }
    }

    /// Whether it is a timer until which the late thread slept, or the thread itself, when it may have answered already.
    pub fn is_maybe_after_answer(&self) -> bool {
        self.name().ends_with(MAYBE_AFTER_ANSWER)
    }

    /// Whether it is a timer until which the late thread slept and nothing tells whether anybody waited for that.
    pub fn is_maybe_in_no_request(&self) -> bool {
        self.is_maybe_after_answer() || self.name().ends_with(MAYBE_BEFORE_QUESTION)
    }

    /// Whether it is what passed after a signal or a stop that came as the late thread waited for its next request.
    pub fn is_maybe_without_request(&self) -> bool {
        self.name().ends_with(MAYBE_WITHOUT_REQUEST)
    }

    /// Who was waited for, if that one was not seen.
    pub fn not_seen(&self) -> Option<Awaited> {
        match self {
            Who::Seen(_) => None,
            Who::NotSeen(awaited) => Some(*awaited),
        }
    }
}

impl From<&str> for Who {
    fn from(name: &str) -> Who {
        Who::Seen(name.to_owned())
    }
}

impl From<String> for Who {
    fn from(name: String) -> Who {
        Who::Seen(name)
    }
}

impl From<Awaited> for Who {
    fn from(awaited: Awaited) -> Who {
        Who::NotSeen(awaited)
    }
}

/// By name, in the order of tables.
impl Ord for Who {
    fn cmp(&self, other: &Who) -> Ordering {
        self.name().cmp(other.name()).then(self.not_seen().is_some().cmp(&other.not_seen().is_some()))
    }
}

impl PartialOrd for Who {
    fn partial_cmp(&self, other: &Who) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Display for Who {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(self.name())
    }
}
