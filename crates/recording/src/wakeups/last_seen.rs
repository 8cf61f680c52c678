//! Until when a thread was seen to do its cycles: not by a wakeup that only ended it, by what it may wait for within a cycle, nor by the handler of a signal.

use super::grid::{MIN_PERIODS, NEAR_GRID};
use super::once::LONG_PERIODS;
use super::woken::Woken;
use crate::Wakeup;

/// A loop off whose grid a timer of its own woke it was seen to go on only when so many cycles in a row have begun as usual.
const IN_A_ROW: u64 = 3;

/// What a thread's wakeups say of that.
#[derive(Debug, Default)]
pub(super) struct LastSeen {
    /// Its last sleep, if that was seen to begin.
    last: Option<Sleep>,
    /// The first sleep of more than two periods since which its loop was not seen to go on.
    since: Option<Away>,
    /// The sleep after the last wakeup by which it was, if that was seen to begin.
    gone_on: Option<Sleep>,
    /// What began since then, whatever woke the thread.
    begun: BegunSince,
    /// Whether that is more than two periods ago, although the thread woke.
    is_overdue: bool,
    /// When the last cycle was due that began as usual, ns.
    due_ns: u64,
    /// Those sleeps after which it was.
    away: WasAway,
    /// How many cycles in a row began since such a sleep, if there was one.
    in_a_row: u64,
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

/// A sleep of more than two periods, and what came of it.
#[derive(Debug, Clone, Copy)]
struct Away {
    sleep: Sleep,
    begun: BegunSince,
}

/// Sleeps of more than two periods that timers of the thread's own ended, and after which its loop was seen to go on: each may have been a pause, or part of a
/// cycle.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct WasAway {
    pub(super) times: u64,
    /// How many periods began in these sleeps, and in what the thread did until it went on.
    pub(super) periods: u64,
    /// The longest cycle if such a sleep was part of it, ns.
    pub(super) longest_ns: u64,
}

/// How many cycles began since a sleep by two of the rules for that, and may as well be parts of the cycle before it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct BegunSince {
    /// With timers of the thread's own that send no signal.
    pub(super) by_timer: u64,
    /// Half a period or more after the one before.
    pub(super) by_time: u64,
}

/// How a wakeup compares with those that began a thread's cycles before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsUsual {
    /// Whether it comes half a period or more after the last cycle began.
    pub(super) is_apart: bool,
    /// Whether what woke the thread mostly does: timers of its own, or whoever else it is.
    pub(super) is_by_usual: bool,
    /// Whether it ends a sleep that may be within a cycle, because it is as long as whole periods.
    pub(super) is_wait: bool,
    /// Whether it is a point of the grid that the thread's timers keep, if they keep one.
    pub(super) is_on_grid: Option<bool>,
}

impl LastSeen {
    /// Takes the thread's next wakeup, and the sleep after it, if that was seen to begin.
    pub(super) fn take(&mut self, wakeup: &Wakeup, woken: Woken, usual: AsUsual, sleep: Option<Sleep>, period_ns: u64) {
        let long = self.last.filter(|sleep| is_long(sleep.from_ns, wakeup.expected_ns, period_ns));
        let begins = usual.is_apart && usual.is_by_usual && !usual.is_wait && long.is_none();
        let is_next = begins && is_even(self.due_ns, wakeup.expected_ns, period_ns);
        if begins {
            self.due_ns = wakeup.expected_ns;
        }
        self.in_a_row = if long.is_some() || usual.is_wait { 0 } else { self.in_a_row + u64::from(is_next) };
        let goes_on = match usual.is_on_grid {
            Some(is_on_grid) => (is_on_grid && !usual.is_wait) || (is_next && self.in_a_row >= IN_A_ROW),
            None => begins,
        };
        if goes_on {
            self.go_on(period_ns);
            (self.gone_on, self.begun, self.is_overdue) = (sleep, BegunSince::default(), false);
        } else {
            self.begun.take(woken, usual);
            self.is_overdue |= self.gone_on.is_some_and(|sleep| is_long(sleep.from_ns, wakeup.expected_ns, period_ns));
            if let Some(away) = self.since.as_mut() {
                away.begun.take(woken, usual);
            } else if let Some(sleep) = long {
                let mut begun = BegunSince::default();
                begun.take(woken, usual);
                self.since = Some(Away { sleep, begun });
            }
        }
        self.last = sleep;
        self.signalled.take(wakeup, woken, sleep, period_ns);
    }

    /// Takes that its loop was seen to go on after its last sleep.
    fn go_on(&mut self, period_ns: u64) {
        let Some(Away { sleep, .. }) = self.since.take().filter(|away| away.begun.by_timer > 0) else { return };
        let until_ns = self.last.map_or(sleep.from_ns, |last| last.from_ns);
        let length_ns = until_ns.saturating_sub(sleep.due_ns);
        self.away.times += 1;
        self.away.longest_ns = self.away.longest_ns.max(length_ns);
        self.away.periods = self.away.periods.saturating_add(length_ns / period_ns);
    }

    /// The sleep, more than two periods ago, since which its loop was not seen to go on, although it woke. What ended that sleep may have been what a thread
    /// does as it ends: a signal that kills it wakes it, and so do another thread that ends their program, and a time-out after which it gives up. Or it was for
    /// something else than the next cycle, such as a message, and so were those that followed.
    pub(super) fn since(&self) -> Option<Sleep> {
        self.overdue().map(|(sleep, _)| sleep).or(self.since.map(|away| away.sleep))
    }

    /// How many cycles began since then, by the rules that take any wakeup, or any timer, for the beginning of one.
    pub(super) fn begun_since(&self) -> BegunSince {
        self.overdue().map(|(_, begun)| begun).or(self.since.map(|away| away.begun)).unwrap_or_default()
    }

    fn overdue(&self) -> Option<(Sleep, BegunSince)> {
        self.gone_on.filter(|_| self.is_overdue).map(|sleep| (sleep, self.begun))
    }

    /// What is known of such sleeps after which it was seen to go on.
    pub(super) fn was_away(&self) -> WasAway {
        self.away
    }

    /// The longest time, ns, until then, in which timers that send signals woke a thread, and none for which it waits, where such a one
    /// otherwise woke it once in one or two periods; 0 if there is none. The handlers of these signals may have run within a cycle.
    pub(super) fn signalled_ns(&self, until_ns: u64, period_ns: u64) -> u64 {
        if self.is_regular() { self.signalled.longest_until(until_ns, period_ns) } else { 0 }
    }

    /// How often such timers woke it in these times.
    pub(super) fn signals_until(&self, until_ns: u64, period_ns: u64) -> u64 {
        if self.is_regular() { self.signalled.woken_until(until_ns, period_ns) } else { 0 }
    }

    fn is_regular(&self) -> bool {
        self.signalled.regular >= MIN_PERIODS
    }
}

impl WasAway {
    /// Those that are left if so many wakeups were not seen, each of which may have ended one of them.
    pub(super) fn beside(self, unseen: u64) -> WasAway {
        WasAway { times: self.times.saturating_sub(unseen), ..self }
    }
}

impl BegunSince {
    fn take(&mut self, woken: Woken, usual: AsUsual) {
        self.by_timer += u64::from(woken == Woken::Timer);
        self.by_time += u64::from(usual.is_apart);
    }
}

fn is_long(from_ns: u64, until_ns: u64, period_ns: u64) -> bool {
    until_ns.saturating_sub(from_ns) > period_ns.saturating_mul(LONG_PERIODS)
}

/// Whether what is due then comes whole periods after what was due before, as cycles on a grid do.
fn is_even(from_ns: u64, due_ns: u64, period_ns: u64) -> bool {
    let beyond_ns = due_ns.saturating_sub(from_ns) % period_ns;
    beyond_ns.min(period_ns - beyond_ns) <= period_ns / NEAR_GRID
}

/// Times in which only timers that send signals woke a thread.
#[derive(Debug, Default)]
struct Signalled {
    /// When it slept after a timer for which it waits had last woken it, or, before the first of these, when it first woke at all, ns.
    since_ns: Option<u64>,
    /// How often a timer that sends a signal has woken it since.
    open: u64,
    /// How often one did in all such times that are over and lasted for more than two periods.
    woken: u64,
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
                self.woken = self.woken_until(wakeup.expected_ns, period_ns);
                self.longest_ns = self.longest_until(wakeup.expected_ns, period_ns);
                self.regular += u64::from(!is_long(since_ns, wakeup.expected_ns, period_ns));
                self.since_ns = Some(sleep.map_or(wakeup.expected_ns, |sleep| sleep.from_ns));
                self.open = 0;
            }
            Woken::Signal => self.open += 1,
            Woken::Device | Woken::Other => {}
        }
    }

    /// The longest such time, ns, if the last one is over then.
    fn longest_until(&self, until_ns: u64, period_ns: u64) -> u64 {
        self.longest_ns.max(self.last_until(until_ns, period_ns).unwrap_or(0))
    }

    /// How often timers that send signals woke it in all such times, if the last one is over then.
    fn woken_until(&self, until_ns: u64, period_ns: u64) -> u64 {
        self.woken.saturating_add(self.last_until(until_ns, period_ns).map_or(0, |_| self.open))
    }

    /// How long the last one took, ns, if it is over then.
    fn last_until(&self, until_ns: u64, period_ns: u64) -> Option<u64> {
        let since_ns = self.since_ns.filter(|since_ns| self.open > 0 && is_long(*since_ns, until_ns, period_ns));
        since_ns.map(|since_ns| until_ns.saturating_sub(since_ns))
    }
}
