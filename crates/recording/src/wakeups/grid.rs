//! The grid of periods that a thread's own timers keep.

/// Points are off the grid by no more than this, ns: timers are due to the nanosecond, and a period may be rounded.
const OFF_GRID_NS: u64 = 2_000;
/// Timers that are off a grid by this part of a period, or less, were meant for it.
pub(super) const NEAR_GRID: u64 = 32;
/// A grid is left for another one if one of this many of its points, or more, are apart in a row.
const LEFT: u64 = 50;
/// Times between timers of one period are no more than this many times as long as one another.
const MAX_TIMES: u64 = 4;
/// A grid has at least this many periods.
pub(super) const MIN_PERIODS: u64 = 10;

/// Timers of a thread that were due at the same point of a period.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) points: u64,
    /// Timers that were meant for it but were due beside it.
    near: u64,
    /// Those of them that begin a cycle.
    pub(super) beside: u64,
    /// When its first and its last point were due.
    due_ns: (u64, u64),
    /// The numbers of these two among the thread's timers.
    timers: (u64, u64),
    /// Whether a timer off the grid came since its last point.
    is_off: bool,
    /// How many of its last points in a row came more than a period after the one before, with timers off the grid in between,
    /// and the most that did.
    apart: (u64, u64),
    /// How many timers that were not meant for it came since its last point, and when the last of them was due.
    after: (u64, u64),
    /// Timers that were not meant for it.
    others: Others,
}

/// Timers beside a grid: whether they keep a period of their own.
#[derive(Debug, Default)]
struct Others {
    taken: u64,
    due_ns: u64,
    /// How long before the last one the one before it was due, ns.
    apart_ns: u64,
    /// How many came as long after the one before as that after its own, or a few times as long, and not whole periods of the grid later.
    alike: u64,
}

impl Others {
    fn take(&mut self, due_ns: u64, period_ns: u64) {
        let apart_ns = due_ns.saturating_sub(self.due_ns);
        let beyond_ns = apart_ns % period_ns;
        let is_other = beyond_ns.min(period_ns - beyond_ns) > period_ns / NEAR_GRID;
        // Some of its expiries may not have woken the thread, which did not sleep then.
        let (short_ns, long_ns) = (apart_ns.min(self.apart_ns).max(1), apart_ns.max(self.apart_ns));
        let times = (long_ns + short_ns / 2) / short_ns;
        let is_alike = times <= MAX_TIMES && long_ns.abs_diff(times * short_ns) <= times * OFF_GRID_NS;
        self.alike += u64::from(is_other && is_alike);
        self.taken += 1;
        (self.due_ns, self.apart_ns) = (due_ns, apart_ns);
    }
}

impl Grid {
    /// For a timer that was due then, and that has not been taken yet.
    pub(super) fn new(due_ns: u64, timer: u64) -> Grid {
        Grid {
            points: 0,
            near: 0,
            beside: 0,
            due_ns: (due_ns, due_ns),
            timers: (timer, timer),
            is_off: false,
            apart: (0, 0),
            after: (0, due_ns),
            others: Others::default(),
        }
    }

    /// Takes the thread's next timer, and says whether it begins a cycle: as a point of the grid, or beside one if `is_next`
    /// says that such a timer is no sleep within the cycle before. If it may be one because of how long it took, it was not meant for it.
    pub(super) fn take(&mut self, due_ns: u64, timer: u64, (is_next, is_wait): (bool, bool), period_ns: u64) -> bool {
        if self.holds(due_ns, period_ns) {
            let is_apart = self.is_off && periods_between((self.due_ns.1, due_ns), period_ns) > 2;
            self.apart.0 = if is_apart { self.apart.0 + 1 } else { 0 };
            self.apart.1 = self.apart.1.max(self.apart.0);
            self.is_off = false;
            self.points += 1;
            (self.due_ns.1, self.timers.1) = (due_ns, timer);
            self.after = (0, due_ns);
            return true;
        }
        let is_near = !is_wait && self.off_ns(due_ns, period_ns) <= period_ns / NEAR_GRID;
        let is_beside = is_near && is_next;
        self.near += u64::from(is_near);
        self.beside += u64::from(is_beside);
        if is_beside {
            // Its period passed, too.
            self.due_ns.1 = due_ns;
        }
        self.is_off |= !is_beside;
        if !is_near {
            self.after = (self.after.0 + 1, due_ns);
            self.others.take(due_ns, period_ns);
        }
        is_beside
    }

    /// When its first point was due, ns.
    pub(super) fn first_ns(&self) -> u64 {
        self.due_ns.0
    }

    pub(super) fn holds(&self, due_ns: u64, period_ns: u64) -> bool {
        self.off_ns(due_ns, period_ns) <= OFF_GRID_NS
    }

    /// Whether a timer that is due then is a point of it, or as near to one as others that were meant for it.
    pub(super) fn is_met(&self, due_ns: u64, period_ns: u64) -> bool {
        let off_ns = if self.has_near() { period_ns / NEAR_GRID } else { OFF_GRID_NS };
        self.off_ns(due_ns, period_ns) <= off_ns
    }

    /// Whether timers stray from it.
    fn has_near(&self) -> bool {
        self.near * 20 > self.points
    }

    fn off_ns(&self, due_ns: u64, period_ns: u64) -> u64 {
        let apart = (self.due_ns.0 % period_ns).abs_diff(due_ns % period_ns);
        apart.min(period_ns - apart)
    }

    /// Whether the thread may have had another period for a while, some of whose points are on this grid: where it sleeps within
    /// its cycles, not many of them in a row last until several periods have begun, unless all do.
    pub(super) fn is_left(&self) -> bool {
        let most = self.apart.1;
        most >= MIN_PERIODS && most.saturating_mul(LEFT) >= self.points && most * 10 <= self.points * 9
    }

    /// Whether the thread's timers went on beside it after its last point, about once in a period: it moved to another grid.
    pub(super) fn is_over(&self, period_ns: u64) -> bool {
        let (timers, last_ns) = self.after;
        let periods = periods_between((self.due_ns.1, last_ns), period_ns) - 1;
        periods >= MIN_PERIODS && timers * 2 >= periods
    }

    /// Whether the thread kept this other grid before its first point, and moved from there to it.
    pub(super) fn is_after(&self, other: &Grid, period_ns: u64) -> bool {
        let periods = other.periods(period_ns);
        other.timers.1 < self.timers.0 && periods >= MIN_PERIODS && other.points * 2 >= periods
    }

    /// From its first point to its last.
    pub(super) fn periods(&self, period_ns: u64) -> u64 {
        periods_between(self.due_ns, period_ns)
    }

    /// Whether it has so many of the thread's timers that it is the thread's own grid.
    pub(super) fn is_kept(&self, timers: u64, period_ns: u64) -> bool {
        let periods = self.periods(period_ns);
        periods >= MIN_PERIODS && self.points * 2 >= periods && self.points * 4 >= timers
    }

    /// Whether timers off the grid were not meant for it: hardly any timer is beside it, and it lasts as long as the
    /// thread's timers.
    pub(super) fn is_exact(&self, timers: u64) -> bool {
        !self.has_near() && (self.timers.1 - self.timers.0 + 1) * 10 >= timers * 9
    }

    /// Whether the thread has another timer with a period of its own, whose expiries are no sleeps within its cycles.
    pub(super) fn is_shared(&self) -> bool {
        self.others.alike >= MIN_PERIODS && self.others.alike * 2 >= self.others.taken
    }

    /// Whether most of the thread's timers were meant for it.
    pub(super) fn is_meant(&self, timers: u64) -> bool {
        (self.points + self.near) * 4 >= timers * 3
    }
}

/// The periods from one point to another, including both.
pub(super) fn periods_between((first_ns, last_ns): (u64, u64), period_ns: u64) -> u64 {
    last_ns.saturating_sub(first_ns).saturating_add(period_ns / 2) / period_ns + 1
}
