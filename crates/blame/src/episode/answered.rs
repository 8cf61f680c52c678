//! Sleeps at the end of a late request that may come after its answer: whoever asked may not have waited for them.

use crate::episode::classify::Classifier;
use crate::episode::piece::Piece;
use crate::episode::shared::Shared;
use crate::episode::subject::Subject;
use crate::kind::Kind;
use crate::who::MAYBE_AFTER_ANSWER;
use punctual_recording::Stage;

/// Tells the late thread's own sleeps apart that come after it last woke anybody, if it has woken whoever asked: that may have been the answer, or only
/// a part of it. As long as it wakes somebody afterwards, a sleep may hold up the answer.
pub(super) fn set_apart(shared: &Shared<'_>, subject: Subject<'_>, pieces: &mut [Piece]) {
    let is_request = subject.stage == Stage::Request && subject.is_due;
    if !is_request || !pieces.iter().any(is_own_sleep) {
        return;
    }
    let Some(told_ns) = Classifier::new(shared, subject).last_told_ns() else { return };
    for piece in pieces.iter_mut().filter(|piece| is_own_sleep(piece) && piece.start_ns >= told_ns) {
        piece.who = format!("{}{MAYBE_AFTER_ANSWER}", piece.who).into();
    }
}

/// Whether the late thread itself slept until a timer.
pub(super) fn is_own_sleep(piece: &Piece) -> bool {
    piece.kind == Kind::Sleep
}
