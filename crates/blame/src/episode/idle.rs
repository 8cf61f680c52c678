//! Time in which the late thread had no request: whoever sends it the next one slept of its own accord.

use crate::episode::classify::Classifier;
use crate::episode::detail::Detail;
use crate::episode::piece::Piece;
use crate::episode::shared::Shared;
use crate::episode::subject::Subject;
use crate::kind::Kind;
use crate::who::Who;

/// What stands instead of a name: nobody is to blame.
const NO_REQUEST: &str = "no request was waiting";

/// Sets apart the waits, by time, of which most passed as whoever was waited for, or whoever that one waited for in the
/// end, slept until a timer of its own: unless the request is known to begin as somebody asks for something, the wait
/// may be for the next request.
pub(super) fn set_apart(shared: &Shared<'_>, subject: Subject<'_>, pieces: &mut [Piece]) {
    if !pieces.iter().any(sleeps) || !Classifier::new(shared, subject).may_begin_with_an_answer() {
        return;
    }
    for wait in pieces.chunk_by_mut(are_of_one_wait) {
        let in_all_ns: u64 = wait.iter().map(|piece| piece.ns).sum();
        let asleep_ns: u64 = wait.iter().filter(|piece| sleeps(piece)).map(|piece| piece.ns).sum();
        let longest = wait.iter().filter(|piece| sleeps(piece)).max_by_key(|piece| piece.ns);
        let Some(whose) = longest.map(sleeper).filter(|_| asleep_ns > in_all_ns / 2).cloned() else { continue };
        for piece in wait {
            piece.who = NO_REQUEST.into();
            piece.thread = None;
            piece.kind = Kind::Idle;
            piece.detail = Some(Detail::Slept(whose.clone()));
            (piece.inside, piece.path, piece.call, piece.cgroup) = (None, Vec::new(), None, None);
            piece.has_ended = false;
        }
    }
}

fn are_of_one_wait(one: &Piece, next: &Piece) -> bool {
    one.kind == Kind::Wait && next.kind == Kind::Wait && one.who == next.who
}

/// Whether it is a wait at whose end somebody slept until a timer, and for no lock.
fn sleeps(piece: &Piece) -> bool {
    let Some(((last, _), before)) = piece.path.split_last() else { return false };
    piece.kind == Kind::Wait && *last == Kind::Sleep && before.iter().all(|(kind, _)| *kind == Kind::Wait)
}

/// Who that was: the last of the chain.
fn sleeper(piece: &Piece) -> &Who {
    let awaited = piece.path.iter().rev().find(|(kind, _)| *kind == Kind::Wait);
    awaited.map_or(&piece.who, |(_, who)| who)
}
