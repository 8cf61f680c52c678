//! Whose a stretch of time is.

use punctual_recording::Awaited;
use std::cmp::Ordering;
use std::fmt::{Display, Formatter, Result};

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
