//! How much later a thread came to run with a reservation than without.

use punctual_comparison::{Comparison, FIGURES, Outcome};
use punctual_recording::format_ns;

/// What is so many times as late is later, however little a few rounds show of how much it varies.
const MUCH: f64 = 2.0;

/// A figure of how late a thread came to run that is worse with a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Later {
    /// Its name: `p99`.
    pub figure: &'static str,
    /// As the thread was, ns.
    pub before_ns: u64,
    /// With the reservation, ns.
    pub with_ns: u64,
}

impl Later {
    /// What a comparison of a thread as it was (A) with its reservation (B) shows; `None` if it is not later.
    pub fn of(comparison: &Comparison) -> Option<Later> {
        let total = comparison.total()?;
        let ratio = total.shown()?;
        if ratio.outcome() != Outcome::Worse && ratio.estimate < MUCH {
            return None;
        }
        let place = FIGURES.iter().position(|figure| *figure == ratio.figure)?;
        let value = |values: &[Option<u64>]| values.get(place).copied().flatten();
        let (before_ns, with_ns) = (value(&total.a.values_ns)?, value(&total.b.values_ns)?);
        Some(Later { figure: ratio.figure.name, before_ns, with_ns })
    }

    /// The end of a sentence: `its wakeups are later with it: p99 1.69 ms against 149 us`.
    pub(crate) fn in_words(self) -> String {
        let Later { figure, before_ns, with_ns } = self;
        format!("its wakeups are later with it: {figure} {} against {}", format_ns(with_ns), format_ns(before_ns))
    }
}
