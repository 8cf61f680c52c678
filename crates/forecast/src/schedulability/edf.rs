//! Earliest deadline first on one processor.

use super::demand::Demand;
use super::server::Server;

/// What an EDF analysis found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edf {
    /// Every deadline is met.
    Schedulable,
    /// Some window of this length has more work due than fits, ns.
    Overrun {
        /// The window's length, ns.
        window_ns: u64,
        /// The work that must be done in it, ns.
        demand_ns: u64,
    },
    /// In the long run the tasks ask for more than a processor's time.
    Overloaded,
    /// The analysis was given up: nothing is known.
    Unknown,
}

const STEPS: usize = 1_000_000;

/// Whether these tasks meet their deadlines under EDF, each held up for at most `blocking_ns` by work it cannot
/// preempt.
///
/// Quick processor-demand analysis: from the end of the longest busy period backwards, checking only where demand
/// itself says to look next (Zhang and Burns, IEEE Transactions on Computers 2009). Blocking is charged to every
/// window.
pub fn edf(tasks: &[Demand], blocking_ns: u64) -> Edf {
    edf_served(tasks, &vec![blocking_ns; tasks.len()], &[])
}

/// The same with a blocking for each task (0 if none is given): a window is charged the longest of those whose deadline
/// lies within it, because no other is late in it (Baker, Real-Time Systems 1991).
///
/// `late_ns`: how late each may wake, in which case its constant-bandwidth server continues with what is left of its
/// last budget ([`Server`]).
pub(super) fn edf_served(tasks: &[Demand], blocking_ns: &[u64], late_ns: &[u64]) -> Edf {
    let load: f64 = tasks.iter().map(|task| task.compute_ns as f64 / task.period_ns.max(1) as f64).sum();
    if load > 1.0 + 1e-12 {
        return Edf::Overloaded;
    }
    // The densities fit: that is enough for any servers (Abeni and Buttazzo, RTSS 1998), and on a processor that is
    // never idle the busy period never ends.
    let density: f64 =
        tasks.iter().map(|task| task.compute_ns as f64 / task.deadline_ns.min(task.period_ns).max(1) as f64).sum();
    if density <= 1.0 + 1e-12 && blocking_ns.iter().all(|&blocking| blocking == 0) {
        return Edf::Schedulable;
    }
    let servers = servers(tasks, late_ns);
    let needed = |window: u128| {
        let within = tasks.iter().zip(blocking_ns).filter(|(task, _)| u128::from(task.deadline_ns) <= window);
        let blocking = within.map(|(_, blocking)| u128::from(*blocking)).max().unwrap_or(0);
        servers.iter().map(|server| server.due_within(window)).sum::<u128>() + blocking
    };
    let change_before = |instant: u128| servers.iter().filter_map(|server| server.change_before(instant)).max();
    let longest = blocking_ns.iter().copied().max().unwrap_or(0);
    let Some(end) = busy_period(tasks, &servers, longest) else { return Edf::Unknown };
    // A deadline within the busy period may lie after its last release; from there on demand repeats itself or is
    // lower.
    let latest = tasks.iter().map(|task| u128::from(task.deadline_ns.max(task.period_ns))).max().unwrap_or(0);
    let Some(mut window) = change_before(end + latest) else { return Edf::Schedulable };
    for _ in 0..STEPS {
        let due = needed(window);
        if due > window {
            return overrun(window, due);
        }
        if due == 0 {
            return Edf::Schedulable;
        }
        if due < window {
            window = due;
            continue;
        }
        let Some(before) = change_before(window) else { return Edf::Schedulable };
        // From there to here demand grows along a line: if it is ever too much, it is too much at the beginning of the
        // line.
        for beginning in [before, before + 1] {
            let due = needed(beginning);
            if due > beginning {
                return overrun(beginning, due);
            }
        }
        window = before;
    }
    Edf::Unknown
}

fn overrun(window: u128, demand: u128) -> Edf {
    Edf::Overrun {
        window_ns: u64::try_from(window).unwrap_or(u64::MAX),
        demand_ns: u64::try_from(demand).unwrap_or(u64::MAX),
    }
}

/// The servers of tasks that wake this late; on time if nothing is given.
pub(super) fn servers(tasks: &[Demand], late_ns: &[u64]) -> Vec<Server> {
    let late = late_ns.iter().copied().chain(std::iter::repeat(0));
    tasks.iter().zip(late).map(|(task, late)| Server::of(task, late)).collect()
}

/// The longest time for which the processor can be busy; if it may never be idle, the time after which its demand
/// repeats itself.
pub(super) fn busy_period(tasks: &[Demand], servers: &[Server], blocking_ns: u64) -> Option<u128> {
    let blocking = u128::from(blocking_ns);
    let come = |window: u128| blocking + servers.iter().map(|server| server.come_within(window)).sum::<u128>();
    let repeats = hyperperiod(tasks);
    let mut length = come(1);
    for _ in 0..STEPS {
        let next = come(length);
        if next <= length {
            return Some(length);
        }
        length = next;
        if let Some(repeats) = repeats.filter(|&repeats| length > repeats) {
            return Some(repeats);
        }
        if length > 1 << 63 {
            return None;
        }
    }
    None
}

/// The least common multiple of the periods; `None` if it is too long to be useful.
fn hyperperiod(tasks: &[Demand]) -> Option<u128> {
    tasks.iter().try_fold(1u128, |sum, task| {
        let period = u128::from(task.period_ns.max(1));
        let (mut left, mut right) = (sum, period);
        while right > 0 {
            (left, right) = (right, left % right);
        }
        (sum / left).checked_mul(period).filter(|&sum| sum < 1 << 63)
    })
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
    fn rests_of_budgets_may_be_too_much_where_whole_ones_are_not() {
        let pair = [task(3_000, 4_000, 20_000), task(4_000, 8_000, 20_000)];
        assert_eq!(edf_served(&pair, &[], &[]), Edf::Schedulable);
        // Woken again at any time: in 4, all of the first is due, and half of the 4 of the second.
        let found = edf_served(&pair, &[], &[20_000; 2]);
        assert_eq!(found, Edf::Overrun { window_ns: 4_000, demand_ns: 5_000 });
        // If the second is late by 14, a rest of it is due at most 2 after a wakeup: 1 of 4.
        assert_eq!(edf_served(&pair, &[], &[0, 14_000]), Edf::Schedulable);
    }

    #[test]
    fn a_processor_that_is_never_idle_repeats_itself() {
        // 4 of 5 and 2 of 10: 4 are due in 5, 10 in 10. A deadline of 9: 10 are due in 10, and 6 in 9. One of 5: 16 are
        // due in 15.
        let with = |deadline| edf(&[task(4, 5, 5), task(2, deadline, 10)], 0);
        assert_eq!([10, 9].map(with), [Edf::Schedulable; 2]);
        assert_eq!(with(5), Edf::Overrun { window_ns: 15, demand_ns: 16 });
        // Held up for 1, 11 are due in 10.
        assert_eq!(edf(&[task(4, 5, 5), task(2, 9, 10)], 1), Edf::Overrun { window_ns: 10, demand_ns: 11 });
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
            let fits = (u128::from(shortest)..=end).all(|window| servers(&tasks, &[]).iter().map(|server| server.due_within(window)).sum::<u128>() + u128::from(blocking) <= window);
            prop_assert_eq!(edf(&tasks, blocking) == Edf::Schedulable, fits);
        }
    }
}
