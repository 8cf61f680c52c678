//! Two predictions of the reservation that a job needs, and what each assumes.

use crate::{Job, Reservation};

/// Whether the rule of the soft modem paper (section 6.6) calls the reservation sufficient: its share is at least the job's,
/// and no gap in it is longer than the job's period. Assumes one gap of period less budget, and even work.
pub fn by_rule(job: Job, reservation: Reservation) -> bool {
    has_its_share(job, reservation) && reservation.period_ns - reservation.budget_ns <= job.period_ns
}

/// Whether the least that the reservation supplies in any interval as long as the deadline, less a wakeup as late as
/// `lateness_ns`, covers the work. Assumes that the reservation is independent of the job's phase, so that two gaps may
/// follow each other, and that each job has ended before the next is released where the deadline is within the period.
pub fn by_supply(job: Job, lateness_ns: u64, reservation: Reservation) -> bool {
    let length = job.deadline_ns.saturating_sub(lateness_ns);
    has_its_share(job, reservation) && least_supply(reservation, length) >= job.work_ns
}

/// Whether the reservation's share of the CPU is at least the job's: with less, no deadline is late enough.
fn has_its_share(job: Job, reservation: Reservation) -> bool {
    !reservation.is_smaller_than(Reservation { budget_ns: job.work_ns, period_ns: job.period_ns })
}

/// The least that a periodic reservation supplies in any interval of this length: nothing for two gaps, then whole periods
/// (the supply bound function of Shin and Lee, RTSS 2003).
fn least_supply(reservation: Reservation, length_ns: u64) -> u64 {
    let Reservation { budget_ns, period_ns } = reservation;
    let Some(rest) = length_ns.checked_sub(2 * (period_ns - budget_ns)) else { return 0 };
    rest / period_ns * budget_ns + (rest % period_ns).min(budget_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3 of the paper: budget and period in ms, and how many of ten attempts succeeded.
    const MEASURED: [(u64, u64, u32); 12] = [
        (1, 7, 10),
        (1, 8, 0),
        (2, 13, 10),
        (2, 14, 2),
        (2, 15, 0),
        (3, 15, 10),
        (3, 16, 9),
        (3, 17, 0),
        (4, 16, 10),
        (4, 17, 0),
        (7, 20, 0),
        (8, 20, 10),
    ];

    #[test]
    fn the_rule_errs_once_in_the_papers_twelve_reservations() {
        let job = Job { period_ns: 12_500_000, work_ns: 1_840_000, deadline_ns: 12_500_000 };
        let wrong: Vec<_> = MEASURED
            .iter()
            .filter(|&&(budget, period, succeeded)| {
                let tried = Reservation { budget_ns: budget * 1_000_000, period_ns: period * 1_000_000 };
                by_rule(job, tried) != (succeeded == 10)
            })
            .collect();
        assert_eq!(wrong, [&(1, 7, 10)]);
    }

    proptest::proptest! {
        #[test]
        fn supply_never_falls_with_the_budget(period in 1u64..1000, budget in 0u64..1000, length in 0u64..5000) {
            let budget = budget % period;
            let with = |budget_ns| least_supply(Reservation { budget_ns, period_ns: period }, length);
            proptest::prop_assert!(with(budget) <= with(budget + 1));
        }
    }
}
