//! Reservations of a CPU for a periodic job: what two models predict, and the search for the smallest by trials.
//!
//! Pure: the caller makes the trials. All times are in ns.

mod predict;
mod search;

pub use predict::{Job, by_rule, by_supply};
pub use search::{Class, Search, Step};

/// `budget_ns` of CPU time in every `period_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}
