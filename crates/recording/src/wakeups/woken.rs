//! What woke a thread, as far as it tells cycles apart.

use crate::{Waker, WakerKind};

/// A timer for which several threads can wait, as [`Waker`] calls it.
pub(super) const SHAREABLE: &str = "timerfd";

/// What ended a thread's sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// A timer of its own for which it waited, or may have waited.
    Timer,
    /// A timer of its own that sends a signal, for which it may have waited: if it has a handler for that signal, this may as well run
    /// in the midst of whatever else it waits for.
    Signal,
    /// Anything else.
    Other,
}

impl Woken {
    /// What a waker of a recording is, if it is known.
    pub(super) fn by(waker: Option<&Waker>) -> Woken {
        match waker.filter(|waker| waker.kind == WakerKind::Timer) {
            Some(timer) if SIGNALLING.contains(&timer.name.as_str()) => Woken::Signal,
            Some(_) => Woken::Timer,
            None => Woken::Other,
        }
    }

    /// Whether a timer of its own did.
    pub(super) fn is_by_timer(self) -> bool {
        self != Woken::Other
    }
}

/// Timers that send signals, as [`Waker`] calls them.
const SIGNALLING: [&str; 2] = ["posix timer", "interval timer"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_that_send_signals_are_told_from_those_for_which_a_thread_waits() {
        let of = |kind: WakerKind, name: &str| Woken::by(Some(&Waker { kind, name: name.to_owned(), id: None }));
        let timers = ["sleep", SHAREABLE, "posix timer", "interval timer"].map(|name| of(WakerKind::Timer, name));
        assert_eq!(timers, [Woken::Timer, Woken::Timer, Woken::Signal, Woken::Signal]);
        // A thread may have any name.
        let others = [of(WakerKind::Thread, "interval timer"), Woken::by(None)];
        assert_eq!(others, [Woken::Other; 2]);
        assert!(timers.into_iter().all(Woken::is_by_timer) && !Woken::Other.is_by_timer());
    }
}
