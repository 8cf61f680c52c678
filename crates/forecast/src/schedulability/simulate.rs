//! A fixed-priority schedule played through, for tasks whose releases are tied to each other by offsets.

/// A strictly periodic task; tasks are in order of priority, highest first. Any unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Periodic {
    pub(crate) compute: u64,
    pub(crate) period: u64,
    pub(crate) deadline: u64,
    pub(crate) offset: u64,
}

/// The most activations to play through.
const MAX_ACTIVATIONS: u128 = 300_000;

/// The longest response time of each task, released strictly periodically from its offset, with deadlines no longer
/// than periods: the schedule repeats from the largest offset plus one hyperperiod on, so two hyperperiods show
/// everything (Leung and Merrill, Information Processing Letters 1980). `None` if that is too long to play through;
/// `Some(None)` for a task that misses its deadline.
pub(crate) fn responses(tasks: &[Periodic]) -> Option<Vec<Option<u64>>> {
    let hyperperiod = tasks.iter().try_fold(1u128, |sum, task| {
        let period = u128::from(task.period);
        (sum / gcd(sum, period)).checked_mul(period)
    })?;
    let last = tasks.iter().map(|task| u128::from(task.offset)).max()?;
    let end = u64::try_from(hyperperiod.checked_mul(2)?.checked_add(last)?).ok()?;
    let activations: u128 = tasks.iter().map(|task| u128::from(end / task.period.max(1))).sum();
    if activations > MAX_ACTIVATIONS {
        return None;
    }
    let mut worst = vec![Some(0u64); tasks.len()];
    // The next release, and what is left of the current activation.
    let mut next: Vec<u64> = tasks.iter().map(|task| task.offset).collect();
    let mut left: Vec<Option<(u64, u64)>> = vec![None; tasks.len()];
    let mut now = 0u64;
    while now < end {
        for (index, task) in tasks.iter().enumerate() {
            if next[index] <= now {
                // Still running when the next is due: deadlines do not exceed periods, so this one was missed.
                if left[index].is_some() {
                    worst[index] = None;
                }
                left[index] = Some((task.compute, next[index]));
                next[index] += task.period;
            }
        }
        let release = next.iter().copied().min().unwrap_or(end);
        let Some(running) = left.iter().position(Option::is_some) else {
            now = release;
            continue;
        };
        let (work, released) = left[running].unwrap_or_default();
        let done = now + work;
        if done > release {
            left[running] = Some((done - release, released));
            now = release;
            continue;
        }
        left[running] = None;
        now = done;
        let response = done - released;
        worst[running] =
            worst[running].filter(|_| response <= tasks[running].deadline).map(|worst| worst.max(response));
    }
    // If more is released than can be done, the backlog grows, even if only after the time that was played.
    let mut demanded = 0u128;
    for (worst, task) in worst.iter_mut().zip(tasks) {
        demanded += u128::from(task.compute) * (hyperperiod / u128::from(task.period));
        if demanded > hyperperiod {
            *worst = None;
        }
    }
    Some(worst)
}

fn gcd(left: u128, right: u128) -> u128 {
    if right == 0 { left } else { gcd(right, left % right) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulability::response::{Interferer, response_time};
    use crate::schedulability::supply::Supply;
    use proptest::prelude::*;

    /// Tick by tick, as plainly as possible.
    fn brute_force(tasks: &[Periodic], end: u64) -> Vec<Option<u64>> {
        let mut worst = vec![Some(0u64); tasks.len()];
        let mut queue: Vec<Vec<(u64, u64)>> = vec![Vec::new(); tasks.len()];
        for now in 0..end {
            for (index, task) in tasks.iter().enumerate() {
                if now >= task.offset && (now - task.offset) % task.period == 0 {
                    queue[index].push((now, task.compute));
                }
                if queue[index].iter().any(|(released, _)| now >= released + task.deadline) {
                    worst[index] = None;
                }
            }
            if let Some(index) = queue.iter().position(|waiting| !waiting.is_empty()) {
                queue[index][0].1 -= 1;
                if queue[index][0].1 == 0 {
                    let (released, _) = queue[index].remove(0);
                    worst[index] = worst[index].map(|worst| worst.max(now + 1 - released));
                }
            }
        }
        worst
    }

    fn any_tasks() -> impl Strategy<Value = Vec<Periodic>> {
        let periods = prop::sample::select(vec![4u64, 5, 6, 8, 10, 12, 15, 20]);
        prop::collection::vec((1..5u64, periods, 0..20u64, 1..=100u64), 1..5).prop_map(|tasks| {
            let periodic = |(compute, period, offset, share): (u64, u64, u64, u64)| {
                let compute = compute.min(period);
                let deadline = (period * share / 100).clamp(compute, period);
                Periodic { compute, period, deadline, offset }
            };
            tasks.into_iter().map(periodic).collect()
        })
    }

    /// The property below found this: 0.8 + 0.2 + 0.07 is too much, but the miss comes after two hyperperiods.
    #[test]
    fn what_repeats_too_late_is_not_played_through() {
        let task = |period| Periodic { compute: 1, period, deadline: period, offset: 0 };
        assert_eq!(responses(&[task(999_999_937), task(1_000_000_007)]), None);
        // No two of these have a divisor in common: they repeat after more than 2^127.
        assert_eq!(responses(&[(1 << 43) - 1, (1 << 43) - 3, (1 << 41) + 5].map(task)), None);
    }

    #[test]
    fn a_backlog_that_grows_slowly_is_a_miss() {
        let periodic = |compute, period, deadline, offset| Periodic { compute, period, deadline, offset };
        let tasks = [periodic(4, 5, 4, 15), periodic(3, 15, 12, 8), periodic(1, 15, 5, 15)];
        assert_eq!(responses(&tasks).unwrap()[2], None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn playing_through_agrees_with_brute_force(tasks in any_tasks()) {
            let found = responses(&tasks).unwrap();
            let brute = brute_force(&tasks, 20 + 2 * 120);
            for (index, (found, brute)) in found.iter().zip(&brute).enumerate() {
                // Once a task misses, what comes after it differs between the two; nothing above it may differ.
                prop_assert_eq!(found, brute, "task {}", index);
                if brute.is_none() {
                    break;
                }
            }
        }

        #[test]
        fn no_schedulable_is_ever_contradicted(tasks in any_tasks()) {
            let brute = brute_force(&tasks, 20 + 2 * 120);
            for index in 0..tasks.len() {
                let as_interferer = |task: &Periodic| Interferer { compute_ns: task.compute, period_ns: task.period, jitter_ns: 0, server_deadline_ns: None };
                let above: Vec<Interferer> = tasks[..index].iter().map(as_interferer).collect();
                let bound = response_time(as_interferer(&tasks[index]), &above, 0, Supply::Processor);
                if let Some(bound) = bound.filter(|&bound| bound <= tasks[index].deadline) {
                    prop_assert!(brute[index].is_some_and(|seen| seen <= bound), "task {index}: {bound}, {brute:?}");
                }
            }
        }

        #[test]
        fn without_offsets_the_bound_is_reached(tasks in any_tasks()) {
            let tasks: Vec<Periodic> = tasks.into_iter().map(|task| Periodic { offset: 0, deadline: task.period, ..task }).collect();
            let brute = brute_force(&tasks, 240);
            for index in 0..tasks.len() {
                let as_interferer = |task: &Periodic| Interferer { compute_ns: task.compute, period_ns: task.period, jitter_ns: 0, server_deadline_ns: None };
                let above: Vec<Interferer> = tasks[..index].iter().map(as_interferer).collect();
                let bound = response_time(as_interferer(&tasks[index]), &above, 0, Supply::Processor);
                prop_assert_eq!(bound.filter(|&bound| bound <= tasks[index].deadline), brute[index]);
            }
        }

        #[test]
        fn edf_is_never_contradicted(tasks in any_tasks()) {
            use crate::schedulability::demand::Demand;
            use crate::schedulability::edf::{Edf, edf};
            let demand = |task: &Periodic| Demand { compute_ns: task.compute, period_ns: task.period, deadline_ns: task.deadline };
            let found = edf(&tasks.iter().map(demand).collect::<Vec<_>>(), 0);
            let mut waiting: Vec<(u64, u64)> = Vec::new();
            let mut missed = false;
            // Released together, which is the worst: the verdict is then exact.
            for now in 0..480 {
                for task in tasks.iter().filter(|task| now % task.period == 0) {
                    waiting.push((now + task.deadline, task.compute));
                }
                missed |= waiting.iter().any(|(deadline, _)| now >= *deadline);
                if let Some(first) = (0..waiting.len()).min_by_key(|&index| waiting[index].0) {
                    waiting[first].1 -= 1;
                    if waiting[first].1 == 0 {
                        waiting.remove(first);
                    }
                }
            }
            prop_assert_eq!(found == Edf::Schedulable, !missed);
        }
    }
}
