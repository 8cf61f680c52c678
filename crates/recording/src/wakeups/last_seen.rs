//! Until when a thread was seen to do its cycles: not by a wakeup that only ended it, nor by the handler of a signal.

use super::grid::MIN_PERIODS;
use super::once::LONG_PERIODS;
use super::woken::Woken;
use crate::Wakeup;

/// What a thread's wakeups say of that.
#[derive(Debug, Default)]
pub(super) struct LastSeen {
    /// Its last sleep, if that was seen to begin.
    last: Option<Sleep>,
    /// The one before its last wakeup, if that came after more than two periods, and not by a timer of its own.
    before_last: Option<Sleep>,
    /// The first such sleep since which no timer of its own woke it.
    since_timers: Option<Sleep>,
    signalled: Signalled,
}

/// A sleep of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sleep {
    /// When it began, ns.
    pub(super) from_ns: u64,
    /// When the cycle before it was due, ns.
    pub(super) due_ns: u64,
    /// How often the thread had woken by then.
    pub(super) wakeups: u64,
}

impl LastSeen {
    /// Takes the thread's next wakeup, and the sleep after it, if that was seen to begin.
    pub(super) fn take(&mut self, wakeup: &Wakeup, woken: Woken, sleep: Option<Sleep>, period_ns: u64) {
        let is_long = |sleep: &Sleep| is_long(sleep.from_ns, wakeup.expected_ns, period_ns);
        self.before_last = self.last.filter(|sleep| !woken.is_by_timer() && is_long(sleep));
        self.since_timers = self.since_timers.filter(|_| !woken.is_by_timer()).or(self.before_last);
        self.last = sleep;
        self.signalled.take(wakeup, woken, sleep, period_ns);
    }

    /// For a thread that ended: the sleep of more than two periods out of which it may only have come to end. A signal that kills a thread
    /// wakes it, and so does another thread that ends their program: whatever it waited for did not come. A loop of timers is past
    /// that only when one of these wakes it again.
    pub(super) fn before_end(&self, is_of_timers: bool) -> Option<Sleep> {
        if is_of_timers { self.since_timers } else { self.before_last }
    }

    /// The longest time, ns, until then, in which timers that send signals woke a thread, and none for which it waits, where such a one
    /// otherwise woke it once in one or two periods; 0 if there is none. The handlers of these signals may have run within a cycle.
    pub(super) fn signalled_ns(&self, until_ns: u64, period_ns: u64) -> u64 {
        let is_regular = self.signalled.regular >= MIN_PERIODS;
        if is_regular { self.signalled.longest_until(until_ns, period_ns) } else { 0 }
    }
}

fn is_long(from_ns: u64, until_ns: u64, period_ns: u64) -> bool {
    until_ns.saturating_sub(from_ns) > period_ns.saturating_mul(LONG_PERIODS)
}

/// Times in which only timers that send signals woke a thread.
#[derive(Debug, Default)]
struct Signalled {
    /// When it slept after a timer for which it waits had last woken it, or, before the first of these, when it first woke at all, ns.
    since_ns: Option<u64>,
    /// Whether a timer that sends a signal has woken it since.
    is_open: bool,
    /// How often timers for which it waits woke it no more than two periods after one another.
    regular: u64,
    /// The longest such time that is over, ns.
    longest_ns: u64,
}

impl Signalled {
    fn take(&mut self, wakeup: &Wakeup, woken: Woken, sleep: Option<Sleep>, period_ns: u64) {
        let since_ns = *self.since_ns.get_or_insert(wakeup.expected_ns);
        match woken {
            Woken::Timer => {
                self.longest_ns = self.longest_until(wakeup.expected_ns, period_ns);
                self.regular += u64::from(!is_long(since_ns, wakeup.expected_ns, period_ns));
                self.since_ns = Some(sleep.map_or(wakeup.expected_ns, |sleep| sleep.from_ns));
                self.is_open = false;
            }
            Woken::Signal => self.is_open = true,
            Woken::Other => {}
        }
    }

    /// The longest such time, ns, if the last one is over then.
    fn longest_until(&self, until_ns: u64, period_ns: u64) -> u64 {
        let since_ns = self.since_ns.filter(|since_ns| self.is_open && is_long(*since_ns, until_ns, period_ns));
        self.longest_ns.max(since_ns.map_or(0, |since_ns| until_ns.saturating_sub(since_ns)))
    }
}
