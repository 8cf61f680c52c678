//! What else is known about a piece besides whose it is, and the words for it.

use super::asked::Asked;
use crate::kind::{Kind, Meanwhile};
use crate::who::Who;
use std::fmt::{Display, Formatter, Result};

/// Which budget was used up: the time that a control group may have in each period.
pub const QUOTA_USED_UP: &str = "the quota of its control group";
/// The same, of real-time threads alone.
pub const REAL_TIME_BUDGET_USED_UP: &str = "its control group's budget for real-time threads";

/// What else is known about a piece besides whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// The code that samples or interrupted instructions saw there, or where it ran.
    Seen(String),
    /// Who asked for it, after the code or where it ran.
    Asked(Option<String>, Asked),
    /// Why nobody saw who was waited for.
    NotSeen(String),
    /// The limit of a control group for the disk of this name held back what was waited for.
    HeldBack(String, HeldBack),
    /// Whoever was waited for worked, and no sample saw where.
    AtWork,
    /// This one, who sends the next request, slept until a timer of its own.
    Slept(Who),
    /// The holder of a lock was itself held up by this.
    KeptBy(Kind, Who),
    /// Whoever was waited for in another way was itself held up by this.
    Meanwhile(Kind, Who),
    /// Whoever was waited for waited in turn, and so on: as in [`Piece::path`](crate::Piece::path), and the code that
    /// samples saw at its end.
    Along(Vec<(Kind, Who)>, Option<String>),
}

/// Who was kept by the limit of a control group for a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldBack {
    /// A thread of that group.
    Own,
    /// A thread that waited for what another one had asked for.
    Anothers,
    /// A thread that waited for a file system's journal, which waited for that: the name of the journal's thread.
    Journal(String),
}

impl Detail {
    /// What happened to whoever was waited for, as the end of a sentence, if it says that and not a place in code.
    pub fn fate(&self) -> Option<String> {
        match self {
            Detail::Seen(_)
            | Detail::Asked(..)
            | Detail::NotSeen(_)
            | Detail::HeldBack(..)
            | Detail::AtWork
            | Detail::Slept(_) => None,
            Detail::KeptBy(kind, who) | Detail::Meanwhile(kind, who) => Some(kind.meanwhile(who).to_string()),
            Detail::Along(path, seen) => {
                let mut told = String::new();
                let mut before: Option<&Who> = None;
                for (kind, who) in path {
                    told += &match (before, kind.meanwhile(who)) {
                        (None, did) => did.to_string(),
                        (Some(before), Meanwhile::It(did)) => format!(", and {before} {did}"),
                        (Some(_), did @ Meanwhile::Another(_)) => format!(", and {did}"),
                    };
                    before = Some(who);
                }
                if let Some(seen) = seen {
                    told += &format!(" in {seen}");
                }
                Some(told)
            }
        }
    }

    /// Who asked for it, if that is known.
    pub fn asked(&self) -> Option<&Asked> {
        match self {
            Detail::Asked(_, asked) => Some(asked),
            _ => None,
        }
    }

    /// The code, or where it ran, if it says that.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Detail::Seen(code) | Detail::Asked(Some(code), _) | Detail::Along(_, Some(code)) => Some(code),
            _ => None,
        }
    }
}

impl Display for Detail {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Detail::Seen(words) | Detail::NotSeen(words) => out.write_str(words),
            Detail::Asked(Some(seen), asked) => write!(out, "{seen}, {asked}"),
            Detail::Asked(None, asked) => asked.fmt(out),
            Detail::HeldBack(disk, HeldBack::Own) => write!(out, "the limit of its control group for {disk}"),
            Detail::HeldBack(disk, HeldBack::Anothers) => {
                write!(out, "the limit for {disk} of another control group, which had asked for what it waits for")
            }
            Detail::HeldBack(disk, HeldBack::Journal(name)) => {
                write!(
                    out,
                    "the limit for {disk} of a control group, which had asked for what the journal ({name}) waits for"
                )
            }
            Detail::AtWork => out.write_str("at work"),
            Detail::Slept(who) => write!(out, "{who} slept until a timer of its own"),
            Detail::KeptBy(..) => write!(out, "while it held the lock, {}", self.fate().unwrap_or_default()),
            Detail::Meanwhile(..) | Detail::Along(..) => write!(out, "meanwhile {}", self.fate().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fate_of_each_who_was_waited_for_follows_the_last() {
        let along = |name: &str, kind, whose: &str, seen: Option<&str>| {
            Detail::Along(vec![(Kind::Wait, name.into()), (kind, whose.into())], seen.map(str::to_owned))
        };
        let at_work = along("server", Kind::Own, "server", Some("parse"));
        assert_eq!(at_work.to_string(), "meanwhile it waited for server, and server was at work in parse");
        assert_eq!(at_work.code(), Some("parse"));
        // A thread may be called whatever it likes.
        let kept = along("server", Kind::HigherPriority, "it was", None);
        assert_eq!(
            kept.fate().as_deref(),
            Some("it waited for server, and it was ran on its CPU, with the higher priority")
        );
    }

    #[test]
    fn code_that_reads_like_a_fate_is_code() {
        for words in ["while it held the lock, it slept", "meanwhile it slept", "at work"] {
            let code = Detail::Seen(words.into());
            assert_eq!((code.fate(), code.to_string().as_str(), code.code()), (None, words, Some(words)));
        }
        let held = Detail::KeptBy(Kind::Sleep, "tick".into());
        assert_eq!(held.to_string(), "while it held the lock, it slept until a timer (tick)");
        assert_eq!(held.fate().as_deref(), Some("it slept until a timer (tick)"));
        assert_eq!((Detail::AtWork.fate(), Detail::AtWork.to_string().as_str()), (None, "at work"));
    }
}
