//! A reservation: so much CPU time in every period.

use serde::{Deserialize, Serialize};

/// `budget_ns` of CPU time in every `period_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reservation {
    /// CPU time in each period, ns; at most the period.
    pub budget_ns: u64,
    /// The period, ns; above 0.
    pub period_ns: u64,
}

impl Reservation {
    /// Whether this one takes a smaller share of the CPU than the other.
    pub fn is_smaller_than(self, other: Reservation) -> bool {
        u128::from(self.budget_ns) * u128::from(other.period_ns)
            < u128::from(other.budget_ns) * u128::from(self.period_ns)
    }

    /// Its share of a CPU, rounded to thousandths.
    pub fn share_thousandths(self) -> u64 {
        let period = u128::from(self.period_ns.max(1));
        u64::try_from((u128::from(self.budget_ns) * 1_000 + period / 2) / period).unwrap_or(u64::MAX)
    }
}
