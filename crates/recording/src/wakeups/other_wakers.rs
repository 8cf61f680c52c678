//! Whoever else than usual wakes a thread: for as long as nobody else does, it may wait for them within a cycle, and their wakeups begin none.

use super::grid::MIN_PERIODS;
use super::lasted::slept_after;
use super::once::LONG_PERIODS;
use super::woken::Woken;
use crate::Wakeup;

/// What woke it, and which thread, if it was one.
type Who = (Woken, Option<u32>);

/// If one wakeup in so many, or more, begins a cycle in place of one of whoever usually does, others begin them, too: as where the last of several threads does.
const INSTEAD: u64 = 32;

/// Who wakes a thread in most cases, and what others did in times of more than two periods in which that one did not.
#[derive(Debug, Default)]
pub(super) struct OtherWakers {
    taken: u64,
    /// How many cycles others began in at most two periods in which the usual one began none.
    instead: u64,
    /// Who woke it most often, and how much more often than everybody else.
    most: Option<(Who, u64)>,
    /// When the last cycle was due that this one began, ns.
    from_ns: u64,
    /// What others have done since.
    open: Waits,
    /// What they did before, in times that are over.
    over: Waits,
}

/// Beginnings of cycles that may be within one that then took so long.
#[derive(Debug, Default, Clone, Copy)]
struct Waits {
    begun: u64,
    periods: u64,
    longest_ns: u64,
}

impl OtherWakers {
    /// Takes the next wakeup, and whether it begins a cycle by time, and says whether whoever wakes it usually did, or nobody does so usually.
    pub(super) fn take(&mut self, wakeup: &Wakeup, woken: Woken, begins: bool, period_ns: u64) -> bool {
        let who = (woken, woken.who(wakeup.woken_by));
        if self.is_usual(who) {
            self.take_waker(who);
            if begins {
                let is_short = self.open.longest_ns <= period_ns.saturating_mul(LONG_PERIODS);
                self.instead += if is_short { self.open.begun } else { 0 };
                self.over = self.all(period_ns);
                (self.from_ns, self.open) = (wakeup.expected_ns, Waits::default());
            }
            return true;
        }
        let until_ns = slept_after(wakeup).unwrap_or(wakeup.expected_ns);
        self.open.begun += u64::from(begins);
        self.open.longest_ns = until_ns.saturating_sub(self.from_ns);
        self.open.periods = self.open.longest_ns / period_ns;
        false
    }

    /// With what others have done since, if that took more than two periods.
    fn all(&self, period_ns: u64) -> Waits {
        if self.open.longest_ns <= period_ns.saturating_mul(LONG_PERIODS) {
            return self.over;
        }
        Waits {
            begun: self.over.begun + self.open.begun,
            periods: self.over.periods.saturating_add(self.open.periods),
            longest_ns: self.over.longest_ns.max(self.open.longest_ns),
        }
    }

    /// What others do while it is known who does so usually is not taken, and does not make them usual, however often they do it.
    fn is_usual(&self, who: Who) -> bool {
        let Some((usual, more)) = self.most else { return true };
        let is_alone = self.instead.saturating_mul(INSTEAD) < self.taken;
        let is_known = self.taken >= MIN_PERIODS && more.saturating_mul(2) >= self.taken && is_alone;
        usual == who || !is_known
    }

    /// The one that wakes it in most cases is the one that is left if each other waker takes away one of its wakeups.
    fn take_waker(&mut self, who: Who) {
        self.taken += 1;
        self.most = match self.most {
            Some((usual, more)) if usual == who => Some((usual, more + 1)),
            Some((usual, more)) if more > 0 => Some((usual, more - 1)),
            _ => Some((who, 1)),
        };
    }

    /// How many beginnings of cycles may be within others, how many periods these took, and how long the longest did, ns; without the last one, if that is known
    /// from elsewhere.
    pub(super) fn waits(&self, without_last: bool, period_ns: u64) -> (u64, u64, u64) {
        let Waits { begun, periods, longest_ns } = if without_last { self.over } else { self.all(period_ns) };
        (begun, periods, longest_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What is found of a loop of 1 ms in each of whose periods this one wakes it, and whether the last is as usual.
    fn found(wakers: &[(Woken, u32)]) -> ((u64, u64, u64), bool) {
        let (mut others, mut is_usual) = (OtherWakers::default(), true);
        for ((woken, waker), number) in wakers.iter().zip(1..) {
            let wakeup = Wakeup {
                expected_ns: number * MS,
                work_ns: Some(100_000),
                woken_by: Some(*waker),
                ..Wakeup::default()
            };
            is_usual = others.take(&wakeup, *woken, true, MS);
        }
        (others.waits(false, MS), is_usual)
    }

    #[test]
    fn while_only_others_than_usual_wake_a_loop_a_cycle_may_go_on() {
        let by = |waker: u32, times: usize| vec![(Woken::Other, waker); times];
        let none = (0, 0, 0);
        // Twenty in a row begin no cycles for certain; nor do sixty, more than there are of the usual ones.
        for times in [20, 60] {
            let length_ns = times as u64 * MS + 100_000;
            let waits = (times as u64, times as u64, length_ns);
            assert_eq!(found(&[by(1, 40), by(2, times)].concat()), (waits, false), "{times}");
            assert_eq!(found(&[by(1, 40), by(2, times), by(1, 20)].concat()), (waits, true), "{times}");
        }
        // One in between is as long ago as its period; two of different threads are others, too.
        assert_eq!(found(&[by(1, 40), by(2, 1), by(1, 40), by(3, 1), by(1, 1)].concat()), (none, true));
        assert_eq!(found(&[by(1, 40), by(2, 1), by(3, 1)].concat()), ((2, 2, 2 * MS + 100_000), false));
        // Nobody wakes it usually; and what devices do, whoever stands for them.
        let turns: Vec<_> = (0..90).map(|number| (Woken::Other, number % 3)).collect();
        assert_eq!(found(&turns), (none, true));
        let devices: Vec<_> = (0..90).map(|number| (Woken::Device, number / 40)).collect();
        assert_eq!(found(&devices), (none, true));
        assert_eq!(found(&[by(1, 5), by(2, 40)].concat()), (none, true), "too few to tell");
        // The last of two threads at a barrier wakes it, which one in ten times is the second, and at last that one for long.
        let barrier: Vec<_> = (0..90).map(|number| (Woken::Other, u32::from(number % 10 == 0))).collect();
        assert_eq!(found(&[barrier, by(1, 8)].concat()), (none, true));
    }
}
