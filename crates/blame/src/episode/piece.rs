//! A stretch of the lateness.

use crate::episode::detail::Detail;
use crate::episode::groups::Turn;
use crate::episode::priorities::Priorities;
use crate::kind::Kind;
use crate::who::{ANSWER_OR_REQUEST, Who};
use punctual_recording::episode::Call;

/// A stretch of the lateness with one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// When it began, ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// How long it was, ns.
    pub ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Why it passed.
    pub kind: Kind,
    /// Who had it.
    pub who: Who,
    /// The number of the thread that had it, if it was one.
    pub thread: Option<u32>,
    /// What more is known of it.
    pub detail: Option<Detail>,
    /// For a wait for a lock or for another thread: what whoever held it or ended it was doing meanwhile;
    /// [`Kind::Unknown`] if that was not seen.
    pub inside: Option<(Kind, Who)>,
    /// For a wait within a request: what that one was doing and, if it waited in turn, what whoever it waited for did,
    /// to the end. Otherwise empty.
    pub path: Vec<(Kind, Who)>,
    /// For a wait for another thread: what the late one had called the kernel for, if that is known.
    pub call: Option<Call>,
    /// For a wait for another thread: whether the wait ended when that one ended, by a crash or otherwise.
    pub has_ended: bool,
    /// The control group of the thread that had it, if that is known.
    pub cgroup: Option<String>,
    /// What weights the two have, if a normal thread had its turn and another one waited.
    pub turn: Option<Turn>,
    /// What priorities the two have, if a thread with a higher or the same one ran and at least one of the two is not a
    /// normal one.
    pub priorities: Option<Priorities>,
}

/// Whether nothing tells of a part or a piece whether a request was waiting.
pub fn is_not_told(kind: Kind, who: &Who) -> bool {
    match kind {
        Kind::Unknown => who.name() == ANSWER_OR_REQUEST,
        Kind::Sleep => who.is_maybe_in_no_request(),
        Kind::Own => who.is_maybe_without_request() || who.is_maybe_after_answer(),
        Kind::Stopped => who.is_maybe_without_request(),
        _ => false,
    }
}

/// The longest time, ns, of which each piece is so.
pub fn longest_stretch_ns(pieces: &[Piece], is_so: impl Fn(&Piece) -> bool) -> u64 {
    longest_stretch(pieces, is_so).map_or(0, |(from_ns, to_ns)| to_ns - from_ns)
}

/// From when to when that is, ns.
pub(super) fn longest_stretch(pieces: &[Piece], is_so: impl Fn(&Piece) -> bool) -> Option<(u64, u64)> {
    let stretches = pieces.split(|piece| !is_so(piece));
    let bounds = stretches.filter_map(|stretch| {
        let from_ns = stretch.first()?.start_ns;
        Some((from_ns, from_ns + stretch.iter().map(|piece| piece.ns).sum::<u64>()))
    });
    bounds.max_by_key(|(from_ns, to_ns)| to_ns - from_ns)
}

impl Piece {
    /// Whether it is known that a request was waiting.
    pub fn is_of_a_request(&self) -> bool {
        self.kind != Kind::Idle && !is_not_told(self.kind, &self.who)
    }

    /// Whether nothing explains it, or nothing explains what held up the holder of the lock.
    pub(super) fn is_unknown(&self) -> bool {
        self.kind == Kind::Unknown || matches!(self.inside, Some((Kind::Unknown, _)))
    }
}
