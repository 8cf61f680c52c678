//! Earliest deadline first on one processor.

/// A task as its demand sees it, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// The longest computing time, ns.
    pub compute_ns: u64,
    /// The least time between activations, ns.
    pub period_ns: u64,
    /// The time from release to deadline, less the jitter of the release, ns.
    pub deadline_ns: u64,
}

/// What an EDF analysis found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edf {
    /// Every deadline is met.
    Schedulable,
    /// In some window of this length more work is due than fits, ns.
    Overrun {
        /// The window's length, ns.
        window_ns: u64,
        /// The work that must be done in it, ns.
        demand_ns: u64,
    },
    /// More than a processor's time is asked for in the long run.
    Overloaded,
    /// The analysis was given up: nothing is known.
    Unknown,
}

const STEPS: usize = 1_000_000;

/// The work of tasks that is released and due within any window of this length, ns: the processor demand.
fn demand(tasks: &[Demand], window: u128, rests: &[bool]) -> u128 {
    (0..tasks.len()).map(|index| demand_of(&tasks[index], window, rests.get(index).copied().unwrap_or(false))).sum()
}

/// Of one task. With a rest: what is left, as much as its density times the time until its deadline, and then whole budgets.
pub(super) fn demand_of(task: &Demand, window: u128, rests: bool) -> u128 {
    let (period, deadline) = (u128::from(task.period_ns.max(1)), u128::from(task.deadline_ns));
    let compute = u128::from(task.compute_ns);
    if rests {
        let within = (window % period).min(deadline);
        return window / period * compute + (within * compute).div_ceil(deadline.max(1));
    }
    if window < deadline { 0 } else { ((window - deadline) / period + 1) * compute }
}

/// The last deadline before an instant, ns.
fn deadline_before(tasks: &[Demand], instant: u128) -> Option<u128> {
    tasks
        .iter()
        .filter(|task| u128::from(task.deadline_ns) < instant)
        .map(|task| {
            let (period, deadline) = (u128::from(task.period_ns.max(1)), u128::from(task.deadline_ns));
            (instant - deadline - 1) / period * period + deadline
        })
        .max()
}

/// Whether these tasks meet their deadlines under EDF, each held up by `blocking_ns` at most by work it cannot preempt.
///
/// Quick processor-demand analysis: from the end of the longest busy period backwards, checking only where demand
/// itself says to look next (Zhang and Burns, IEEE Transactions on Computers 2009). Blocking is charged to every
/// window.
pub fn edf(tasks: &[Demand], blocking_ns: u64) -> Edf {
    edf_served(tasks, &vec![blocking_ns; tasks.len()], &[])
}

/// The same with a blocking for each task (0 where none is given): a window is charged the longest of those whose deadline lies
/// within it, since no other is late in it (Baker, Real-Time Systems 1991).
///
/// `rests`: of each, whether its constant-bandwidth server may go on with what is left of its last budget: a thread that wakes before its
/// deadline is over keeps that deadline and as much of the rest as is its density until then (`update_dl_entity`,
/// `update_dl_revised_wakeup`), so that more than a sporadic task's work can be due in a window.
pub(crate) fn edf_served(tasks: &[Demand], blocking_ns: &[u64], rests: &[bool]) -> Edf {
    let Some(shortest) = tasks.iter().map(|task| u128::from(task.deadline_ns)).min() else { return Edf::Schedulable };
    let load: f64 = tasks.iter().map(|task| task.compute_ns as f64 / task.period_ns.max(1) as f64).sum();
    if load > 1.0 + 1e-12 {
        return Edf::Overloaded;
    }
    // The densities fit: that is enough for any servers (Abeni and Buttazzo, RTSS 1998), and a processor that is never idle has no end of busy.
    let density: f64 =
        tasks.iter().map(|task| task.compute_ns as f64 / task.deadline_ns.min(task.period_ns).max(1) as f64).sum();
    if density <= 1.0 + 1e-12 && blocking_ns.iter().all(|&blocking| blocking == 0) {
        return Edf::Schedulable;
    }
    let blocking = |window: u128| {
        let within = tasks.iter().zip(blocking_ns).filter(|(task, _)| u128::from(task.deadline_ns) <= window);
        within.map(|(_, blocking)| u128::from(*blocking)).max().unwrap_or(0)
    };
    let longest = u128::from(blocking_ns.iter().copied().max().unwrap_or(0));
    let Some(end) = busy_period(tasks, longest, rests) else { return Edf::Unknown };
    let overrun = |window: u128, demand: u128| Edf::Overrun {
        window_ns: u64::try_from(window).unwrap_or(u64::MAX),
        demand_ns: u64::try_from(demand).unwrap_or(u64::MAX),
    };
    // A deadline beyond the busy period cannot be missed first; one within may lie after its last release.
    let Some(mut window) = deadline_before(tasks, end) else { return Edf::Schedulable };
    for _ in 0..STEPS {
        let needed = demand(tasks, window, rests) + blocking(window);
        if needed > window {
            return overrun(window, needed);
        }
        if needed <= shortest {
            // Demand is the same everywhere from the shortest deadline to here.
            let first = demand(tasks, shortest, rests) + blocking(shortest);
            return if first > shortest { overrun(shortest, first) } else { Edf::Schedulable };
        }
        window = if needed < window {
            needed
        } else {
            match deadline_before(tasks, window) {
                Some(before) => before,
                None => return Edf::Schedulable,
            }
        };
    }
    Edf::Unknown
}

/// The longest time for which the processor can be busy, from a moment when all tasks are released.
fn busy_period(tasks: &[Demand], blocking: u128, rests: &[bool]) -> Option<u128> {
    // What is left of a budget comes first.
    let rest = tasks.iter().zip(rests).filter(|(_, rests)| **rests).map(|(task, _)| u128::from(task.compute_ns));
    let blocking = blocking + rest.sum::<u128>();
    let mut length: u128 = blocking + tasks.iter().map(|task| u128::from(task.compute_ns)).sum::<u128>();
    for _ in 0..STEPS {
        let work = tasks.iter().map(|task| {
            // Jitter lets releases come closer: what was taken off the deadline is added to the window.
            length.div_ceil(u128::from(task.period_ns.max(1))) * u128::from(task.compute_ns)
        });
        let next = blocking + work.sum::<u128>();
        if next <= length {
            // With jitter or late deadlines the last checked point may lie beyond by a period.
            let latest = tasks.iter().map(|task| u128::from(task.deadline_ns.max(task.period_ns))).max().unwrap_or(0);
            return Some(length + latest);
        }
        length = next;
        if length > 1 << 63 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(compute_ns: u64, deadline_ns: u64, period_ns: u64) -> Demand {
        Demand { compute_ns, period_ns, deadline_ns }
    }

    #[test]
    fn two_that_the_kernel_admits_although_one_must_miss() {
        let pair = [task(5, 5, 100), task(5, 5, 100)];
        assert_eq!(edf(&pair, 0), Edf::Overrun { window_ns: 5, demand_ns: 10 });
        assert_eq!(edf(&pair[..1], 0), Edf::Schedulable);
        assert_eq!(edf(&pair[..1], 1), Edf::Overrun { window_ns: 5, demand_ns: 6 });
    }

    #[test]
    fn full_and_overfull() {
        assert_eq!(edf(&[task(1, 2, 2), task(2, 4, 4)], 0), Edf::Schedulable);
        assert_eq!(edf(&[task(1, 2, 2), task(3, 4, 4)], 0), Edf::Overloaded);
        assert_eq!(edf(&[], 0), Edf::Schedulable);
    }

    #[test]
    fn what_is_left_of_a_budget_comes_first() {
        // In 25: two whole budgets of 4, and half of one for half of a period. Without a rest: those due at 10 and 20.
        let one = task(4, 10, 10);
        assert_eq!((demand_of(&one, 25, true), demand_of(&one, 25, false)), (10, 8));
    }

    proptest! {
        #[test]
        fn agrees_with_looking_everywhere(tasks in prop::collection::vec((1..6u64, 1..20u64, 2..20u64), 1..5), blocking in 0..3u64) {
            let tasks: Vec<Demand> = tasks.into_iter().map(|(compute, deadline, period)| task(compute, deadline, period)).collect();
            let load: f64 = tasks.iter().map(|task| task.compute_ns as f64 / task.period_ns as f64).sum();
            prop_assume!(load <= 0.999);
            // Beyond this no demand can exceed the window: load·t + sum of C + B <= t.
            let constant: u64 = tasks.iter().map(|task| task.compute_ns).sum::<u64>() + blocking;
            let end = (constant as f64 / (1.0 - load)).ceil() as u128 + 50;
            prop_assume!(end < 200_000);
            let shortest = tasks.iter().map(|task| task.deadline_ns).min().unwrap();
            let fits = (u128::from(shortest)..=end).all(|window| demand(&tasks, window, &[]) + u128::from(blocking) <= window);
            prop_assert_eq!(edf(&tasks, blocking) == Edf::Schedulable, fits);
        }
    }
}
