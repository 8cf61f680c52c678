//! Sleeps of exactly one period or several, as of polls with such a time-out: in a loop that otherwise sleeps for what is left of its period, they may be within a
//! cycle. After little work they end next to a point of its grid, where its next cycle, or one after a planned pause, would begin.

use super::lasted::slept_after;
use crate::Wakeup;

/// From when a thread sets a timer for a time from then on until it sleeps takes no longer than this, ns.
const SETS_NS: u64 = 20_000;
/// If one timer in so many, or more, comes after such a sleep, the loop waits for its next cycle in this way.
pub(super) const MANY: u64 = 4;

/// A row of such sleeps is over when so many other timers have come, if none of them is a point of the grid.
const OTHERS: u64 = 3;

/// The timers of a thread that come after such sleeps.
#[derive(Debug, Default)]
pub(super) struct WholeSleeps {
    /// How many timers were no points of a grid.
    taken: u64,
    /// How many were, and how many of them came after sleeps that look so, too.
    on_grid: (u64, u64),
    /// When the last timer was due that began a cycle.
    from_ns: u64,
    /// How many other timers have come since the last of these.
    others: u64,
    waits: u64,
    /// How many periods they lasted.
    periods: u64,
    /// The longest cycle of which they may be part, ns.
    longest_ns: u64,
}

impl WholeSleeps {
    /// Takes the next wakeup by a timer of the thread's own, after a sleep from then on, and says whether it may be within a cycle. A point of its grid, if it keeps
    /// one, is the beginning of one.
    pub(super) fn take(
        &mut self,
        wakeup: &Wakeup,
        slept_ns: Option<u64>,
        is_on_grid: Option<bool>,
        period_ns: u64,
    ) -> bool {
        let due_ns = wakeup.expected_ns;
        let sleep_ns = slept_ns.and_then(|slept_ns| due_ns.checked_sub(slept_ns));
        let periods = sleep_ns.and_then(|sleep_ns| whole_periods(sleep_ns, period_ns));
        if is_on_grid == Some(true) {
            self.on_grid.0 += 1;
            self.on_grid.1 += u64::from(periods.is_some());
        } else {
            self.taken += 1;
        }
        let Some(periods) = periods.filter(|_| is_on_grid != Some(true)) else {
            self.others += 1;
            if is_on_grid != Some(false) || self.others >= OTHERS {
                self.from_ns = due_ns;
            }
            return false;
        };
        let until_ns = slept_after(wakeup).unwrap_or(due_ns);
        self.others = 0;
        self.waits += 1;
        self.periods = self.periods.saturating_add(periods);
        self.longest_ns = self.longest_ns.max(until_ns.saturating_sub(self.from_ns));
        self.are_few()
    }

    /// Whether the loop mostly waits for its next cycle in another way: for the points of its grid, if it has had about as many of these as other timers.
    fn are_few(&self) -> bool {
        let (points, whole) = self.on_grid;
        if points.saturating_mul(MANY) > self.taken {
            return whole.saturating_mul(MANY) <= points;
        }
        self.waits.saturating_mul(MANY) <= self.taken
    }

    /// How many there were, how many periods they lasted, and how long the longest of the cycles took of which they may be part, ns. Where they are many, this tells
    /// nothing.
    pub(super) fn waits(&self) -> (u64, u64, u64) {
        if self.are_few() { (self.waits, self.periods, self.longest_ns) } else { (0, 0, 0) }
    }
}

/// How many periods a thread slept for, if it set its timer for exactly so many from then on.
fn whole_periods(sleep_ns: u64, period_ns: u64) -> Option<u64> {
    let periods = sleep_ns.saturating_add(SETS_NS) / period_ns;
    (periods > 0 && sleep_ns <= periods.saturating_mul(period_ns)).then_some(periods)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What is found of a loop of 1 ms that works for 100 us and sleeps so long before its cycles, us.
    fn waits(sleeps_us: &[u64], is_on_grid: impl Fn(u64) -> Option<bool>) -> (u64, u64, u64) {
        let (mut whole, mut slept_ns) = (WholeSleeps::default(), None);
        for sleep_us in sleeps_us {
            let expected_ns = slept_ns.unwrap_or(MS) + sleep_us * 1_000;
            let wakeup = Wakeup { expected_ns, work_ns: Some(100_000), ..Wakeup::default() };
            whole.take(&wakeup, slept_ns, is_on_grid(*sleep_us), MS);
            slept_ns = slept_after(&wakeup);
        }
        whole.waits()
    }

    #[test]
    fn a_sleep_of_whole_periods_may_be_within_a_cycle() {
        let mut sleeps = vec![900; 20];
        assert_eq!(waits(&sleeps, |_| None), (0, 0, 0));
        // Three in a row are part of the cycle that began before the first.
        sleeps.extend([990, 995, 990, 900, 900]);
        assert_eq!(waits(&sleeps, |_| None), (3, 3, 100_000 + 3 * 100_000 + 2_975_000));
        assert_eq!(waits(&sleeps, |_| Some(true)), (0, 0, 0), "points of its grid");
        sleeps.extend([1_010, 970]);
        assert_eq!(waits(&sleeps, |_| None).0, 3, "other sleeps");
        assert_eq!(waits(&[990; 20], |_| None), (0, 0, 0), "as it sleeps each time");
        // Two and four periods.
        sleeps.extend([900, 1_995, 900, 3_990]);
        assert_eq!(waits(&sleeps, |_| None), (5, 9, 100_000 + 100_000 + 3_990_000));
    }

    #[test]
    fn a_row_of_such_sleeps_goes_on_until_the_grid_of_the_loop_does() {
        // One sleep of the row was set late.
        let sleeps = [[900; 20].as_slice(), &[1_990, 1_970, 1_990], &[900; 5], &[990, 900]].concat();
        let row_ns = 4 * 100_000 + (1_990 + 1_970 + 1_990) * 1_000;
        let is_point = |sleep_us| sleep_us == 900;
        assert_eq!(waits(&sleeps, |sleep_us| Some(is_point(sleep_us))), (3, 5, row_ns));
        assert_eq!(waits(&sleeps, |_| None).2, 200_000 + 1_990_000, "no grid");
        // Where it left its grid, it goes on by timers in a row.
        assert_eq!(waits(&sleeps, |_| Some(false)).2, row_ns);
    }
}
