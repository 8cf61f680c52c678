//! The reservations that may be tried.

use crate::{Job, Reservation};
use punctual_random::Random;

/// Budgets and periods are whole multiples of this, ns.
const STEP_NS: u64 = 10_000;
/// A period is at least this long, ns: the kernel's own bound is 0.1 ms, and each switch to the thread costs something.
pub const MIN_PERIOD_NS: u64 = 500_000;
/// And at most this long, ns: the kernel's bound.
const MAX_PERIOD_NS: u64 = 4_000_000_000;
/// The most budgets that are tried for a period.
const BUDGETS: u32 = 20;
/// The largest share, thousandths: the kernel admits 950 of a CPU.
pub const MAX_SHARE_THOUSANDTHS: u64 = 900;

/// For each period, in an order drawn from the seed, the budgets that may be enough: from 0.8 of what the job usually takes, below
/// which no reservation can be enough for long, to twice its [`Job::work_ns`], each about a twentieth above the previous one. A job
/// whose deadline is beyond its period takes that much in each of its periods, not once before its deadline.
/// The periods are the deadline and a half, a quarter and an eighth of it: a thread whose reservation begins with its job gets all
/// of these before its deadline.
pub fn grid(job: Job, usual_work_ns: u64, seed: u64) -> Vec<(u64, Vec<u64>)> {
    let mut rows: Vec<(u64, Vec<u64>)> = [1, 2, 4, 8]
        .into_iter()
        .map(|parts| job.deadline_ns.min(MAX_PERIOD_NS) / parts / STEP_NS * STEP_NS)
        .filter(|&period_ns| period_ns >= MIN_PERIOD_NS)
        .map(|period_ns| (period_ns, budgets(job, usual_work_ns.min(job.work_ns), period_ns)))
        .filter(|(_, budgets)| !budgets.is_empty())
        .collect();
    let mut random = Random(seed);
    for index in (1..rows.len()).rev() {
        rows.swap(index, random.below(index as u64 + 1) as usize);
    }
    rows
}

fn budgets(job: Job, usual_work_ns: u64, period_ns: u64) -> Vec<u64> {
    // How often the budget is given while one job's work is due: before its deadline, or before the next job comes, if that is sooner.
    let times = if job.deadline_ns > job.period_ns {
        job.period_ns as f64 / period_ns as f64
    } else {
        (job.deadline_ns / period_ns).max(1) as f64
    };
    let (low, high) = (0.8 * usual_work_ns.max(1) as f64 / times, 2.0 * job.work_ns.max(1) as f64 / times);
    let budget = |number: u32| (low * (high / low).powf(f64::from(number) / f64::from(BUDGETS - 1))) as u64;
    let most_ns = largest_budget_ns(period_ns);
    let mut budgets: Vec<u64> = (0..BUDGETS).map(budget).map(in_steps).filter(|&budget| budget <= most_ns).collect();
    budgets.dedup();
    budgets
}

/// The budget of the largest share of this period, ns.
fn largest_budget_ns(period_ns: u64) -> u64 {
    period_ns / 1_000 * MAX_SHARE_THOUSANDTHS
}

/// The smallest whole multiple of the step that is no less, ns.
fn in_steps(budget_ns: u64) -> u64 {
    budget_ns.div_ceil(STEP_NS) * STEP_NS
}

/// A tenth more budget, for a job that takes longer than the trials saw, as far as there is room for it.
pub fn with_margin(found: Reservation) -> Reservation {
    let most_ns = largest_budget_ns(found.period_ns).max(found.budget_ns);
    Reservation { budget_ns: in_steps(found.budget_ns + found.budget_ns / 10).min(most_ns), ..found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_holds_what_the_kernel_takes() {
        let mut met = 0;
        for (period_ns, work_ns) in [(1_000_000, 200_000), (12_500_000, 1_840_000), (10_000_000, 8_000_000)] {
            let rows = grid(Job { period_ns, work_ns, deadline_ns: period_ns }, work_ns, 7);
            assert!(!rows.is_empty());
            for (period_ns, budgets) in rows {
                assert!(budgets.windows(2).all(|pair| pair[0] < pair[1]) && period_ns >= MIN_PERIOD_NS);
                assert!(budgets.iter().all(|&budget_ns| budget_ns * 10 <= period_ns * 9 && budget_ns >= STEP_NS));
                met += budgets.len();
            }
        }
        assert!(met > 60, "{met}");
    }

    #[test]
    fn no_budget_is_below_what_the_jobs_take_however_far_their_deadline_is() {
        let (period_ns, work_ns) = (1_000_000, 310_000);
        for buffers in [2, 3, 4, 5, 37, 9_000] {
            let job = Job { period_ns, work_ns, deadline_ns: (buffers - 1) * period_ns };
            let rows = grid(job, work_ns, 7);
            assert!(!rows.is_empty(), "{buffers} buffers");
            for (period_ns, budgets) in rows {
                let shares = budgets.iter().map(|&budget_ns| Reservation { budget_ns, period_ns }.share_thousandths());
                let (least, most) = (shares.clone().min().unwrap(), shares.max().unwrap());
                let said = format!("{buffers} buffers, every {period_ns} ns: {least} to {most} thousandths");
                assert!(least >= 248 && (590..=900).contains(&most), "{said}");
            }
        }
    }

    #[test]
    fn another_seed_is_another_order_of_the_same_rows() {
        let job = Job { period_ns: 20_000_000, work_ns: 3_000_000, deadline_ns: 20_000_000 };
        let sorted = |seed| {
            let mut rows = grid(job, 2_000_000, seed);
            rows.sort();
            rows
        };
        assert_eq!(sorted(1), sorted(2));
        let of = |seed| grid(job, 2_000_000, seed);
        assert!((0..20).any(|seed| of(seed) != of(1)));
        assert_eq!(of(5), of(5));
    }

    #[test]
    fn the_margin_is_a_tenth_where_there_is_room() {
        let with = |budget_ns| with_margin(Reservation { budget_ns, period_ns: 10_000_000 }).budget_ns;
        assert_eq!([with(2_000_000), with(8_900_000), with(9_000_000)], [2_200_000, 9_000_000, 9_000_000]);
    }
}
