//! What is known of a thread's cycles when it is done, or why they cannot be counted.

use super::begun::Begun;
use super::cycle_count::CycleCount;
use super::last_seen::WasAway;
use super::spacing::Spacing;
use super::whole_sleeps::WholeSleeps;

/// What one rule found.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) count: CycleCount,
    /// When those long cycles were due that wakeups that nobody saw explain.
    pub(super) joined: Vec<u64>,
    /// Periods that began within the last stretch.
    pub(super) after_last: u64,
    /// Whole periods that stretches lasted.
    pub(super) covered: u64,
    /// The longest if each stretch is one cycle, as [`CycleCount::longest_skipping_ns`] is where none may be followed by another at once.
    pub(super) longest_skipping_ns: u64,
}

/// Why the cycles of a thread cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untold {
    /// Nothing shows which wakeups begin one.
    Unclear,
    /// More wakeups would begin one than there were periods.
    TooOften,
}

impl Untold {
    pub(super) fn untold(self) -> CycleCount {
        let too_often = u64::from(self == Untold::TooOften);
        CycleCount { untold: 1, too_often, ..CycleCount::default() }
    }
}

impl Finished {
    /// With so many periods, of which so many woke the thread: known from a grid.
    pub(super) fn with_periods(self, periods: u64, woken: u64) -> Finished {
        // No wakeup follows the last stretch, and so no point of the grid.
        let periods = periods.saturating_add(self.after_last);
        let not_woken = periods.saturating_sub(woken).saturating_sub(self.count.held);
        Finished { count: CycleCount { periods, not_woken, ..self.count }, ..self }
    }

    /// For a thread that mostly did not sleep in so many periods.
    pub(super) fn starved(self, periods: u64) -> Finished {
        let starved_periods = periods.saturating_add(self.after_last);
        Finished { count: CycleCount { starved: 1, starved_periods, ..self.count }, ..self }
    }

    /// Of a thread that sets a timer for each of its sleeps: if it skips periods at all, it never goes on with another cycle at once.
    pub(super) fn of_timers(self, sets_timers: bool) -> Finished {
        if !sets_timers {
            return self;
        }
        let longest_skipping_ns = self.longest_skipping_ns;
        Finished { count: CycleCount { run_on: 0, longest_skipping_ns, ..self.count }, ..self }
    }

    /// With those of the wakeups that begin its cycles which may be waits within one.
    pub(super) fn with_waits(self, spacing: &Spacing) -> Finished {
        let (waits, waited_periods, longest_waited_ns) = spacing.waits();
        Finished { count: CycleCount { waits, waited_periods, longest_waited_ns, ..self.count }, ..self }
    }

    /// With beginnings of cycles that may as well be parts of another one, which then took so long, ns.
    pub(super) fn with_more_waits(self, (begun, longest_ns): (u64, u64)) -> Finished {
        if begun == 0 {
            return self;
        }
        let waits = self.count.waits.saturating_add(begun).min(self.count.cycles);
        let longest_waited_ns = self.count.longest_waited_ns.max(longest_ns);
        Finished { count: CycleCount { waits, longest_waited_ns, ..self.count }, ..self }
    }

    /// With waits of a period each, or several.
    pub(super) fn with_whole_sleeps(self, whole: &WholeSleeps) -> Finished {
        self.with_periods_of_waits(whole.waits())
    }

    /// With cycles that others than usual began, while nobody else did.
    pub(super) fn with_other_wakers(self, waits: (u64, u64, u64)) -> Finished {
        self.with_periods_of_waits(waits)
    }

    fn with_periods_of_waits(self, (waits, periods, longest_ns): (u64, u64, u64)) -> Finished {
        let found = self.with_more_waits((waits, longest_ns));
        let waited_periods = found.count.waited_periods.saturating_add(periods);
        Finished { count: CycleCount { waited_periods, ..found.count }, ..found }
    }

    /// With sleeps of more than two periods by timers, which begin cycles, that may have been pauses, or parts of the cycles before them.
    pub(super) fn with_away(self, away: WasAway) -> Finished {
        // If some came at other times than usual, these are among the overruns already.
        let away = if self.count.waits > 0 { WasAway { times: 0, periods: 0, ..away } } else { away };
        let count = CycleCount {
            overruns: self.count.overruns.saturating_add(away.times),
            paused: self.count.paused.saturating_add(away.times),
            paused_periods: self.count.paused_periods.saturating_add(away.periods),
            longest_paused_ns: self.count.longest_paused_ns.max(away.longest_ns),
            ..self.count
        };
        Finished { count, ..self }
    }

    /// With about how many periods passed, and how many of them began without a wakeup.
    pub(super) fn estimated(self, begun: &Begun, period_ns: u64) -> Finished {
        // Which of these passed in its sleep is not known without a grid.
        let count = CycleCount { asleep: 0, ..self.count };
        let Some(not_woken) = begun.not_woken(count.held, period_ns) else { return Finished { count, ..self } };
        let periods = begun.count.saturating_add(count.held).saturating_add(not_woken);
        Finished { count: CycleCount { estimated_periods: periods, estimated_not_woken: not_woken, ..count }, ..self }
    }
}
