//! Response times under EDF on one processor.

use super::demand::Demand;
use super::edf::{busy_period, servers};

/// Steps after which the search is given up.
const STEPS: usize = 200_000;
/// Releases as close as this, ns, count as one: the worst of them.
const FINEST_NS: u128 = 1_000;

/// The longest response time, ns, of the task at `own`, scheduled by its deadline from the release on; `None` if there
/// is none within its deadline, or none was found. `late_ns`: how late each may wake. The task's own lateness is not
/// included.
///
/// Under EDF the worst case need not begin with the task itself: the search tries every release for which its deadline
/// is where another's demand grows (Spuri, INRIA RR-2772, 1996).
pub(super) fn edf_response(tasks: &[Demand], own: usize, blocking_ns: u64, late_ns: &[u64]) -> Option<u64> {
    let load: f64 = tasks.iter().map(|task| task.compute_ns as f64 / task.period_ns.max(1) as f64).sum();
    if load > 1.0 + 1e-12 {
        return None;
    }
    let task = tasks.get(own)?;
    let (compute, deadline) = (u128::from(task.compute_ns), u128::from(task.deadline_ns));
    let period = u128::from(task.period_ns.max(1));
    let servers = servers(tasks, late_ns);
    let busy = busy_period(tasks, &servers, blocking_ns)?;
    let blocking = u128::from(blocking_ns);
    let mut steps = 0;
    // When it finishes, from the beginning of the busy period on: released then, with the others' work that is due by
    // then.
    let mut done = |release: u128, due: u128| {
        let own_work = blocking + (1 + release / period) * compute;
        settled(&mut steps, own_work, |length| {
            let others = servers.iter().enumerate().filter(|(index, _)| *index != own);
            own_work + others.map(|(_, other)| other.come_within(length).min(other.due_within(due))).sum::<u128>()
        })
    };
    let mut worst = blocking + compute;
    // No deadline within the busy period is later than that.
    let mut end = busy + deadline;
    while let Some(begin) = servers.iter().filter_map(|server| server.change_before(end)).max() {
        if begin < deadline {
            break;
        }
        let mut spans = vec![(begin, end)];
        while let Some((from, to)) = spans.pop() {
            let release = from - deadline;
            worst = worst.max(done(release, from)?.saturating_sub(release));
            // What is due may grow until the end of the span.
            let at_most = done(release, to - 1)?.saturating_sub(release);
            if at_most <= worst {
                continue;
            }
            if to - from <= FINEST_NS {
                worst = at_most;
            } else {
                spans.extend([(from, from.midpoint(to)), (from.midpoint(to), to)]);
            }
        }
        end = begin;
    }
    u64::try_from(worst).ok().filter(|&worst| worst <= task.deadline_ns)
}

/// The least length in which no more work comes than fits; `None` if the steps for the whole search do not suffice.
fn settled(steps: &mut usize, from: u128, work: impl Fn(u128) -> u128) -> Option<u128> {
    let mut length = from;
    loop {
        let next = work(length);
        *steps += 1;
        if *steps > STEPS {
            return None;
        }
        if next <= length {
            return Some(length);
        }
        length = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(compute_ns: u64, deadline_ns: u64, period_ns: u64) -> Demand {
        Demand { compute_ns, period_ns, deadline_ns }
    }

    #[test]
    fn alone_it_takes_its_computing_time() {
        assert_eq!(edf_response(&[task(3, 10, 10)], 0, 0, &[]), Some(3));
        assert_eq!(edf_response(&[task(3, 10, 10)], 0, 4, &[]), Some(7));
        assert_eq!(edf_response(&[task(3, 10, 10)], 0, 8, &[]), None);
    }

    #[test]
    fn the_worst_release_need_not_be_the_first() {
        // With both released together the long one takes 3, because the short one's second deadline is no earlier than
        // its own.
        let pair = [task(1, 2, 2), task(2, 4, 4)];
        assert_eq!((edf_response(&pair, 0, 0, &[]), edf_response(&pair, 1, 0, &[])), (Some(2), Some(4)));
    }

    #[test]
    fn a_late_one_may_come_again_too_soon() {
        let pair = [task(4_000, 20_000, 40_000), task(5_000, 10_000, 10_000)];
        assert_eq!(edf_response(&pair, 0, 0, &[]), Some(9_000));
        // If late by 3, it may come again after 7: 4, two whole ones; after 14 there is no third.
        assert_eq!(edf_response(&pair, 0, 0, &[0, 3_000]), Some(14_000));
        // If late by 0.5, after 9.5: 4 and the first are done by then.
        assert_eq!(edf_response(&pair, 0, 0, &[0, 500]), Some(9_000));
    }

    #[test]
    fn a_processor_that_is_never_idle_is_given_up() {
        assert_eq!(edf_response(&[task(10, 10, 10)], 0, 1, &[]), None);
    }

    /// The longest response of the task at `own` in schedules that are played: the others are released together, this
    /// one at every time after that, and where deadlines are equal it comes last.
    fn played(tasks: &[Demand], own: usize) -> u64 {
        const LENGTH: u64 = 200;
        let mut worst = 0;
        for phase in 0..tasks[own].period_ns {
            let begin = |index: usize| if index == own { phase } else { 0 };
            let mut jobs: Vec<(u64, bool, u64, u64)> = Vec::new();
            for now in 0..LENGTH {
                for (index, task) in tasks.iter().enumerate() {
                    if now >= begin(index) && (now - begin(index)).is_multiple_of(task.period_ns) {
                        jobs.push((now + task.deadline_ns, index == own, now, task.compute_ns));
                    }
                }
                let Some(first) = (0..jobs.len()).min_by_key(|&job| jobs[job]) else { continue };
                jobs[first].3 -= 1;
                if jobs[first].3 == 0 {
                    let (_, is_own, released, _) = jobs.swap_remove(first);
                    worst = worst.max(if is_own { now + 1 - released } else { 0 });
                }
            }
        }
        worst
    }

    #[test]
    fn the_worst_release_may_come_when_all_that_was_released_first_is_done() {
        // The first's third release, at 6, waits for the last of the second, whose deadline is at 7.
        for (pair, worst) in [([task(2, 3, 3), task(3, 7, 13)], 3), ([task(4, 9, 7), task(4, 12, 11)], 6)] {
            assert_eq!((edf_response(&pair, 0, 0, &[]), played(&pair, 0)), (Some(worst), worst));
        }
    }

    proptest! {
        #[test]
        fn agrees_with_schedules_that_are_played(tasks in prop::collection::vec((1..4u64, 1..14u64, 3..12u64), 1..4)) {
            let tasks: Vec<Demand> = tasks.into_iter().map(|(compute, deadline, period)| task(compute, deadline, period)).collect();
            // Busy periods end long before the played time does.
            prop_assume!(tasks.iter().map(|task| task.compute_ns as f64 / task.period_ns as f64).sum::<f64>() <= 0.9);
            let expected = played(&tasks, 0);
            prop_assert_eq!(edf_response(&tasks, 0, 0, &[]), Some(expected).filter(|&worst| worst <= tasks[0].deadline_ns));
        }
    }
}
