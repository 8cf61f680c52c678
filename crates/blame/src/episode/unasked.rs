//! The beginning of a late request that may be none: a signal or a stop ended the wait for it.

use crate::episode::classify::Classifier;
use crate::episode::idle::become_untold;
use crate::episode::piece::Piece;
use crate::episode::shared::Shared;
use crate::episode::subject::Subject;
use crate::kind::Kind;
use crate::who::MAYBE_WITHOUT_REQUEST;
use punctual_recording::Stage;

/// Sets apart what passed until the thread went on after a stop that came as it waited for its next request, or had handled a signal: nothing shows whether
/// a request came meanwhile. Who stopped it, and that it worked, is seen all the same.
pub(super) fn set_apart(shared: &Shared<'_>, subject: Subject<'_>, pieces: &mut Vec<Piece>) {
    if subject.stage != Stage::Request || !subject.is_due {
        return;
    }
    let Some(until_ns) = Classifier::new(shared, subject).unasked_until_ns() else { return };
    cut(pieces, until_ns);
    for piece in pieces.iter_mut().filter(|piece| piece.start_ns < until_ns) {
        match piece.kind {
            Kind::Stopped | Kind::Own => piece.who = format!("{}{MAYBE_WITHOUT_REQUEST}", piece.who).into(),
            _ => become_untold(piece),
        }
    }
}

/// Cuts the piece in two within which this time lies.
pub(super) fn cut(pieces: &mut Vec<Piece>, at_ns: u64) {
    let is_around = |piece: &Piece| piece.start_ns < at_ns && at_ns < piece.start_ns.saturating_add(piece.ns);
    let Some(position) = pieces.iter().position(is_around) else { return };
    let piece = &mut pieces[position];
    let before_ns = at_ns - piece.start_ns;
    let rest = Piece { start_ns: at_ns, ns: piece.ns - before_ns, ..piece.clone() };
    piece.ns = before_ns;
    pieces.insert(position + 1, rest);
}
