//! What a reservation of X in every Y gives at worst.

/// Who gives processor time, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supply {
    /// The whole processor.
    Processor,
    /// X at the same place in every Y, as a precomputed schedule gives it: at worst Y - X without any.
    FixedSlot {
        /// X, ns.
        budget_ns: u64,
        /// Y, ns.
        period_ns: u64,
    },
    /// X somewhere in every Y, as `SCHED_DEADLINE` gives it: at worst at the beginning of one period and at the
    /// end of the next, so 2·(Y - X) without any (Shin and Lee, RTSS 2003).
    FloatingBudget {
        /// X, ns.
        budget_ns: u64,
        /// Y, ns.
        period_ns: u64,
    },
}

impl Supply {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Supply::Processor => "processor",
            Supply::FixedSlot { .. } => "fixed-slot",
            Supply::FloatingBudget { .. } => "floating-budget",
        }
    }

    /// The share of the processor that it gives in the long run.
    pub fn share(self) -> f64 {
        match self {
            Supply::Processor => 1.0,
            Supply::FixedSlot { budget_ns, period_ns } | Supply::FloatingBudget { budget_ns, period_ns } => {
                budget_ns as f64 / period_ns.max(1) as f64
            }
        }
    }

    /// The longest time, ns, for which it may give nothing.
    pub fn blackout_ns(self) -> u64 {
        match self {
            Supply::Processor => 0,
            Supply::FixedSlot { budget_ns, period_ns } => period_ns.saturating_sub(budget_ns),
            Supply::FloatingBudget { budget_ns, period_ns } => 2 * period_ns.saturating_sub(budget_ns),
        }
    }

    /// The least time, ns, in which it gives this much, ns, wherever the wait begins.
    pub(crate) fn time_for(self, demand: u128) -> u128 {
        let (budget, period, wait) = match self {
            Supply::Processor => return demand,
            Supply::FixedSlot { budget_ns, period_ns } => (budget_ns, period_ns, self.blackout_ns()),
            Supply::FloatingBudget { budget_ns, period_ns } => (budget_ns, period_ns, self.blackout_ns()),
        };
        if demand == 0 {
            return 0;
        }
        if budget == 0 {
            return u128::MAX / 4;
        }
        let (budget, period) = (u128::from(budget), u128::from(period));
        let whole = (demand - 1) / budget;
        u128::from(wait) + whole * period + (demand - whole * budget)
    }

    /// The least that it gives in any window of this length, ns (the supply bound function).
    pub fn least_in(self, window_ns: u64) -> u64 {
        let (budget, period) = match self {
            Supply::Processor => return window_ns,
            Supply::FixedSlot { budget_ns, period_ns } | Supply::FloatingBudget { budget_ns, period_ns } => {
                (budget_ns, period_ns.max(1))
            }
        };
        let Some(after) = window_ns.checked_sub(self.blackout_ns()) else { return 0 };
        (after / period) * budget + (after % period).min(budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: u64 = 1_000;
    const WORK_NS: u64 = 1_840 * US;
    const GAP_NS: u64 = 12_500 * US;

    fn fixed(x: u64, y: u64) -> Supply {
        Supply::FixedSlot { budget_ns: x * 1_000 * US, period_ns: y * 1_000 * US }
    }

    fn floating(x: u64, y: u64) -> Supply {
        Supply::FloatingBudget { budget_ns: x * 1_000 * US, period_ns: y * 1_000 * US }
    }

    /// The largest whole Y, ms, that `holds`.
    fn largest(holds: impl Fn(u64) -> bool) -> u64 {
        (2..50).filter(|&y| holds(y)).max().unwrap()
    }

    #[test]
    fn a_soft_modem_in_a_reservation() {
        let by_share_and_gap =
            |x: u64| largest(|y| y > x && fixed(x, y).share() >= 0.147 && fixed(x, y).blackout_ns() <= GAP_NS);
        assert_eq!([1, 2, 3, 4].map(by_share_and_gap), [6, 13, 15, 16]);
        let by_floating_deadline = |x: u64| largest(|y| y > x && floating(x, y).least_in(GAP_NS) >= WORK_NS);
        assert_eq!([1, 2, 3, 4].map(by_floating_deadline), [4, 7, 8, 9]);
    }

    #[test]
    fn the_smallest_floating_server_of_the_modem() {
        // 14.7 % and at most 12.5 ms without any: a period of 7.33 ms and a budget of 1.08.
        let server = Supply::FloatingBudget { budget_ns: 1_077 * US, period_ns: 7_327 * US };
        assert!((server.share() - 0.147).abs() < 1e-4 && server.blackout_ns().abs_diff(GAP_NS) <= 10 * US);
    }

    #[test]
    fn three_of_fifteen_and_four_of_seventeen() {
        // On fixed slots 1.84 ms of work is done within 14.8 ms in 4/17 and within 13.84 ms in 3/15.
        assert_eq!(fixed(4, 17).time_for(WORK_NS.into()), 14_840_000);
        assert_eq!(fixed(3, 15).time_for(WORK_NS.into()), 13_840_000);
    }

    proptest! {
        #[test]
        fn time_undoes_supply(budget in 1..1_000u64, more in 0..1_000u64, demand in 1..5_000u64, float: bool) {
            let period_ns = budget + more;
            let supply = if float {
                Supply::FloatingBudget { budget_ns: budget, period_ns }
            } else {
                Supply::FixedSlot { budget_ns: budget, period_ns }
            };
            let time = supply.time_for(demand.into()) as u64;
            prop_assert_eq!(supply.least_in(time), demand);
            prop_assert!(supply.least_in(time - 1) < demand);
        }

        #[test]
        fn the_least_in_any_window_of_a_fixed_slot(budget in 1..20u64, more in 1..20u64, window in 0..100u64) {
            let period = budget + more;
            let supply = Supply::FixedSlot { budget_ns: budget, period_ns: period };
            let given = |from: u64| (from..from + window).filter(|tick| tick % period < budget).count() as u64;
            prop_assert_eq!(supply.least_in(window), (0..period).map(given).min().unwrap());
        }
    }
}
