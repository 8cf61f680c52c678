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
    /// A device, or a thread of the kernel that may stand for one.
    Device,
    /// Anything else, which is another thread.
    Other,
}

impl Woken {
    /// What a waker of a recording is, if it is known.
    pub(super) fn by(waker: Option<&Waker>) -> Woken {
        match waker.filter(|waker| waker.kind == WakerKind::Timer) {
            Some(timer) if SIGNALLING.contains(&timer.name.as_str()) => Woken::Signal,
            Some(_) => Woken::Timer,
            None if waker.is_some_and(is_device) => Woken::Device,
            None => Woken::Other,
        }
    }

    /// Whether a timer of its own did.
    pub(super) fn is_by_timer(self) -> bool {
        matches!(self, Woken::Timer | Woken::Signal)
    }

    /// Who woke it, to tell them apart: what devices do is done by interrupts, softirqs and threads of the kernel as it comes.
    pub(super) fn who(self, waker: Option<u32>) -> Option<u32> {
        waker.filter(|_| self == Woken::Other)
    }
}

/// Threads of the kernel that do what interrupts and softirqs leave to them, by what their names begin with.
const FOR_DEVICES: [&str; 3] = ["ksoftirqd/", "kworker/", "irq/"];

fn is_device(waker: &Waker) -> bool {
    match waker.kind {
        WakerKind::Timer | WakerKind::Interrupt | WakerKind::Softirq => true,
        WakerKind::Thread => FOR_DEVICES.iter().any(|name| waker.name.starts_with(name)),
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
        assert!(timers.into_iter().all(Woken::is_by_timer));
        assert!(![Woken::Device, Woken::Other].into_iter().any(Woken::is_by_timer));
    }

    #[test]
    fn whoever_stands_for_a_device_is_no_other_than_the_device() {
        let who = |kind: WakerKind, name: &str| {
            Woken::by(Some(&Waker { kind, name: name.to_owned(), id: None })).who(Some(7))
        };
        let devices = [
            who(WakerKind::Interrupt, "can0"),
            who(WakerKind::Softirq, "net_rx"),
            who(WakerKind::Thread, "ksoftirqd/0"),
            who(WakerKind::Thread, "irq/45-can0"),
        ];
        assert_eq!(devices, [None; 4]);
        assert_eq!(who(WakerKind::Thread, "planner"), Some(7));
    }
}
