//! How a thread used its reservation, as far as `/proc` tells: the kernel does not count how often it held a thread back.

use crate::clock;
use crate::stat_line::number_in_status;

/// Nothing is said before this many periods have gone by.
const MIN_PERIODS: u64 = 20;
/// A thread has used up its budget if it ran for this much of the time reserved for it, percent.
const USED_UP_PERCENT: u64 = 90;
/// Where the kernel checks budgets at its ticks, a thread runs for up to this long at a time, ns, and then waits for as many
/// periods as that took budgets.
const MAX_TICK_NS: u64 = 10_000_000;

/// What is known of a thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    at_ns: u64,
    /// CPU time, ns.
    ran_ns: u64,
    /// How often it was taken off its CPU although it had not waited for anything.
    taken_off: u64,
}

impl Reading {
    fn of(tid: u32) -> Option<Reading> {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{tid}/task/{tid}/{name}")).ok();
        let (ran_ns, taken_off) = (ran_ns(&read("schedstat")?)?, taken_off(&read("status")?)?);
        Some(Reading { at_ns: clock::monotonic_ns(), ran_ns, taken_off })
    }
}

fn ran_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

fn taken_off(status: &str) -> Option<u64> {
    number_in_status(status, "nonvoluntary_ctxt_switches")
}

/// The use that a thread with a reservation made of it between the first look and the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetUse {
    first: Option<Reading>,
    last: Option<Reading>,
}

/// A thread used up its budget, period by period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp {
    /// Of the time reserved for it, percent.
    pub percent: u64,
    /// How often the kernel took it off its CPU before it waited for anything: it was held back this often at most.
    pub taken_off: u64,
    /// Periods in that time.
    pub periods: u64,
}

impl BudgetUse {
    /// Looks at the thread, whose reservation has been the same since the first look.
    pub fn look(&mut self, tid: u32) {
        if let Some(reading) = Reading::of(tid) {
            self.first.get_or_insert(reading);
            self.last = Some(reading);
        }
    }

    /// Whether it used up this budget of each period, ns; `None` if it did not, or if that is not known.
    pub fn used_up(&self, budget_ns: u64, period_ns: u64) -> Option<UsedUp> {
        let (first, last) = self.first.zip(self.last)?;
        let periods = last.at_ns.saturating_sub(first.at_ns) / period_ns.max(1);
        let ran_ns = last.ran_ns.saturating_sub(first.ran_ns);
        let taken_off = last.taken_off.saturating_sub(first.taken_off);
        let reserved_ns = u128::from(periods) * u128::from(budget_ns);
        let percent = u64::try_from(u128::from(ran_ns) * 100 / reserved_ns.max(1)).unwrap_or(u64::MAX);
        // A thread that waits by itself once it has done its work is not taken off: it has just enough.
        let least = ran_ns / budget_ns.max(MAX_TICK_NS).saturating_mul(2);
        let is_used_up = periods >= MIN_PERIODS && percent >= USED_UP_PERCENT && taken_off > least;
        is_used_up.then_some(UsedUp { percent: percent.min(100), taken_off, periods })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn used(milliseconds: u64, ran_ms: u64, taken_off: u64) -> BudgetUse {
        let first = Reading { at_ns: 5 * MS, ran_ns: 7 * MS, taken_off: 3 };
        let last = Reading {
            at_ns: first.at_ns + milliseconds * MS,
            ran_ns: first.ran_ns + ran_ms * MS,
            taken_off: first.taken_off + taken_off,
        };
        BudgetUse { first: Some(first), last: Some(last) }
    }

    #[test]
    fn a_thread_that_is_held_back_in_every_period_is_told_from_one_that_has_enough() {
        let of = |used: BudgetUse| used.used_up(2 * MS, 10 * MS);
        let all = of(used(1_000, 199, 100)).unwrap();
        assert_eq!(all, UsedUp { percent: 99, taken_off: 100, periods: 100 });
        // Held back at ticks: two budgets at a time, in every other period.
        assert!(of(used(1_000, 200, 50)).is_some());
        // It sleeps once it is done, a little before its budget is used up.
        assert_eq!(of(used(1_000, 195, 2)), None);
        // Others went before it now and then, and it used half of its time.
        assert_eq!(of(used(1_000, 100, 90)), None);
        // Too short, and not known at all.
        assert_eq!(of(used(100, 20, 10)), None);
        assert_eq!(of(BudgetUse::default()), None);
        // What it ran beyond it, since the kernel charges it late, is no more than all.
        assert_eq!(of(used(1_000, 230, 100)).map(|all| all.percent), Some(100));
    }

    #[test]
    fn the_numbers_are_found_in_what_the_kernel_writes() {
        assert_eq!(ran_ns("123456789 42 7\n"), Some(123_456_789));
        let status =
            "Name:\tnonvoluntary_ctxt_switches:\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t34\n";
        assert_eq!((taken_off(status), taken_off("Name:\tloop\n"), ran_ns("")), (Some(34), None, None));
        let mut own = BudgetUse::default();
        own.look(clock::thread_id());
        if own.first.is_none() {
            punctual_testing::skip("the_numbers_are_found_in_what_the_kernel_writes", "there is no schedstat");
        }
        assert_eq!(own.first, own.last);
    }
}
