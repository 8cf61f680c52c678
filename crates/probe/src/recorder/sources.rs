//! Where a thread may get its work, and how likely it does there.

use super::stretches::EndedBy;
use punctual_recording::episode::Call;

/// A place where a thread waits, and how likely it gets its work there, see [`quality`].
#[derive(Clone, Copy)]
pub(super) struct Source {
    /// 0: a timer that was seen to wake it first, and where it waited then is not known.
    pub(super) place: u32,
    pub(super) quality: u8,
}

impl Source {
    /// Whether a timer ends its waits.
    pub(super) fn is_timer(self) -> bool {
        self.quality >= BY_A_TIMER
    }
}

/// That of a place where a timer ended a wait, if that is no plain sleep.
pub(super) const BY_A_TIMER: u8 = 5;
/// That of a place where it waits for a connection or reads one that it accepted, whoever is at the other end, and whatever its time limit.
pub(super) const ACCEPTED: u8 = 4;

/// How likely a thread gets its work there: most likely where it sleeps for nothing but a timer; next from a timer in
/// other ways; from outside, through a call that waits for several things rather than one; from another thread,
/// likewise.
pub(super) fn quality(ended_by: EndedBy, call: Option<Call>) -> u8 {
    let is_for_several = call == Some(Call::Poll);
    match ended_by {
        EndedBy::Timer => BY_A_TIMER + u8::from(call == Some(Call::Sleep)),
        EndedBy::Outside => 3 + u8::from(is_for_several),
        EndedBy::Thread | EndedBy::Sender => 1 + u8::from(is_for_several),
    }
}
