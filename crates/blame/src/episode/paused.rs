//! Sleeps of a late thread that may be the one that asks: nobody waits for it then.

use crate::episode::answered::is_own_sleep;
use crate::episode::piece::Piece;
use crate::episode::subject::Subject;
use crate::who::MAYBE_BEFORE_QUESTION;
use punctual_recording::{Episode, Stage};

/// Tells the late thread's own sleeps apart where nothing tells which side of its connections asks, unless they are told apart already.
pub(super) fn set_apart(episode: &Episode, subject: Subject<'_>, pieces: &mut [Piece]) {
    if subject.stage != Stage::Request || !subject.is_due || !episode.asker_unknown {
        return;
    }
    for piece in pieces.iter_mut().filter(|piece| is_own_sleep(piece) && !piece.who.is_maybe_in_no_request()) {
        piece.who = format!("{}{MAYBE_BEFORE_QUESTION}", piece.who).into();
    }
}
