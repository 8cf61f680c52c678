//! What a late request ends with may come after its answer: whoever asked may not have waited for that.

use crate::episode::classify::Classifier;
use crate::episode::piece::Piece;
use crate::episode::shared::Shared;
use crate::episode::subject::Subject;
use crate::episode::unasked::cut;
use crate::kind::Kind;
use crate::who::MAYBE_AFTER_ANSWER;
use punctual_recording::Stage;

/// Tells the late thread's own sleeps apart that come after it last woke anybody, if it has woken whoever asked: that may have been the answer, or only
/// a part of it. As long as it wakes somebody afterwards, a sleep may hold up the answer. If it woke nobody at all, whoever asked did not wait when the answer came, and
/// that may have been before a sleep or after it. If whoever asked waited to read and was woken in time, what the thread works from then on may come after the answer,
/// too: whoever waits for a word may have waited for a lock.
pub(super) fn set_apart(shared: &Shared<'_>, subject: Subject<'_>, pieces: &mut Vec<Piece>) {
    let is_request = subject.stage == Stage::Request && subject.is_due;
    if !is_request || !pieces.iter().any(|piece| is_own_sleep(piece) || piece.kind == Kind::Own) {
        return;
    }
    let classifier = Classifier::new(shared, subject);
    let Some(told) = classifier.told() else { return };
    let threshold_ns = shared.episode.threshold_ns;
    let is_in_time = told.was_read && told.last_ns.saturating_sub(subject.start_ns) <= threshold_ns;
    let works_on = is_in_time && subject.end_ns.saturating_sub(told.last_ns) > threshold_ns;
    if works_on {
        cut(pieces, told.last_ns);
    }
    let is_it = |piece: &Piece| is_own_sleep(piece) || works_on && piece.kind == Kind::Own;
    for piece in pieces.iter_mut().filter(|piece| is_it(piece) && piece.start_ns >= told.last_ns) {
        piece.who = format!("{}{MAYBE_AFTER_ANSWER}", piece.who).into();
    }
}

/// Whether the late thread itself slept until a timer.
pub(super) fn is_own_sleep(piece: &Piece) -> bool {
    piece.kind == Kind::Sleep
}
