//! How long a cycle certainly lasted in which its thread slept: it may have ended with that sleep, and something other than the next
//! cycle have woken the thread, such as a message.

use super::catch_up::Usual;
use super::once::LONG_PERIODS;
use crate::Wakeup;

/// What is certain of a cycle that goes on, or may.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lasted {
    /// When the thread began to run in it, or last did so with work of it left, ns.
    ran_ns: u64,
    /// When it slept after that, ns; `None` if that was not seen.
    slept_ns: Option<u64>,
    /// How long it had executed by then, ns; `None` if that is not known.
    executed_ns: Option<u64>,
    /// Whether it may have ended before the thread's last sleep.
    may_be_over: bool,
}

/// When a thread sleeps after a wakeup, ns, if that was seen.
pub(super) fn slept_after(wakeup: &Wakeup) -> Option<u64> {
    wakeup.work_ns.map(|work_ns| ran(wakeup).saturating_add(work_ns))
}

fn ran(wakeup: &Wakeup) -> u64 {
    wakeup.expected_ns.saturating_add(wakeup.total_ns)
}

impl Lasted {
    /// A cycle that began with this wakeup.
    pub(super) fn from(wakeup: &Wakeup) -> Lasted {
        Lasted {
            ran_ns: ran(wakeup),
            slept_ns: slept_after(wakeup),
            executed_ns: wakeup.executed_ns,
            may_be_over: false,
        }
    }

    /// Takes a wakeup that begins no other cycle, after a sleep from then on, and says whether that sleep may have been a pause.
    ///
    /// A timer that the thread set for a sleep is part of what it was doing, unless the sleep is so long that it may be a pause. After
    /// any other sleep the cycle certainly goes on if it had executed clearly less than others do, as before a lock.
    pub(super) fn take(
        &mut self,
        wakeup: &Wakeup,
        by_timer: bool,
        from_ns: Option<u64>,
        usual: &Usual,
        period_ns: u64,
    ) -> bool {
        let is_long =
            |from_ns: u64| wakeup.expected_ns.saturating_sub(from_ns) > period_ns.saturating_mul(LONG_PERIODS);
        let is_long = from_ns.is_some_and(is_long);
        let is_unfinished = !self.may_be_over && self.executed_ns.is_some_and(|ns| usual.is_unfinished(ns));
        let goes_on = if by_timer { !is_long && !self.may_be_over } else { is_unfinished };
        if is_unfinished && !by_timer {
            self.ran_ns = ran(wakeup);
        }
        if goes_on {
            self.slept_ns = slept_after(wakeup);
            let sum = |ns: u64| Some(ns.saturating_add(wakeup.executed_ns?));
            self.executed_ns = self.executed_ns.and_then(sum);
        } else {
            self.may_be_over = true;
        }
        is_long && !goes_on
    }

    /// Until when it certainly lasted, if it was seen to last until then, ns: one cycle, and as many as began meanwhile, if the thread
    /// did not wait for the next on its way.
    pub(super) fn until(&self, seen_ns: u64) -> (u64, u64) {
        let ran_ns = self.ran_ns.min(seen_ns);
        (ran_ns, self.slept_ns.map_or(ran_ns, |slept_ns| slept_ns.min(seen_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A wakeup then that executes for so long, us.
    fn wakeup(expected_us: u64, executed_us: u64) -> Wakeup {
        let executed_ns = Some(executed_us * 1_000);
        Wakeup { expected_ns: expected_us * 1_000, work_ns: executed_ns, executed_ns, ..Wakeup::default() }
    }

    /// Until when, in us, a cycle of 1 ms lasted with these wakeups, which timers of the thread caused or not, where cycles usually
    /// execute for 200 us; and whether a sleep in it may have been a pause.
    fn lasted(first_us: u64, others: &[(u64, u64, bool)]) -> (u64, bool) {
        let mut usual = Usual::default();
        (0..100).for_each(|number| usual.take(200_000 + number * 100, 300_000));
        let first = wakeup(0, first_us);
        let (mut lasted, mut slept_ns, mut has_paused) = (Lasted::from(&first), slept_after(&first), false);
        for (expected_us, executed_us, by_timer) in others {
            let next = wakeup(*expected_us, *executed_us);
            has_paused |= lasted.take(&next, *by_timer, slept_ns, &usual, MS);
            slept_ns = slept_after(&next);
        }
        (lasted.until(slept_ns.unwrap()).1 / 1_000, has_paused)
    }

    #[test]
    fn a_cycle_lasts_until_nothing_shows_that_it_goes_on() {
        for (what, first_us, others, expected) in [
            ("one wakeup", 200, &[][..], (200, false)),
            ("a message after the cycle", 200, &[(900, 150, false)], (200, false)),
            ("a lock in its midst", 100, &[(900, 150, false)], (1_050, false)),
            ("a lock in its midst, and a message", 100, &[(900, 150, false), (1_300, 50, false)], (1_050, false)),
            ("two locks", 50, &[(500, 50, false), (900, 100, false)], (1_000, false)),
            ("a lock for long", 100, &[(5_000, 150, false)], (5_150, false)),
            ("a wait for long", 200, &[(5_000, 150, false)], (200, true)),
            ("a sleep of its own", 200, &[(900, 150, true)], (1_050, false)),
            ("a pause", 200, &[(5_000, 150, true)], (200, true)),
            ("a sleep of its own after a message", 200, &[(500, 150, false), (900, 150, true)], (200, false)),
        ] {
            assert_eq!(lasted(first_us, others), expected, "{what}");
        }
    }
}
