//! What would fix a set that misses a deadline.

use super::edf::Edf;
use super::outcome::{demand_on, global_on, outcomes};
use super::tasks::{Policy, TaskSet};
use punctual_recording::format_ns;

/// Every change that alone would make every task meet its deadline, in words, for the first task that misses its own.
pub(super) fn fixes(set: &TaskSet, extra_ns: &[u64], breaking: usize) -> Vec<String> {
    let all_meet = |set: &TaskSet| outcomes(set, extra_ns).iter().all(|outcome| outcome.meets == Some(true));
    let task = &set.tasks[breaking];
    let mut found = Vec::new();
    if let Some(order) = best_order(set, extra_ns, task.cpu) {
        let names: Vec<&str> = order.iter().map(|&index| set.tasks[index].name.as_str()).collect();
        found.push(format!("other priorities, most urgent first: {}", names.join(", ")));
    } else if task.policy == Policy::Fixed && task.reservation.is_none() {
        let mut changed = set.clone();
        for other in changed.tasks.iter_mut().filter(|other| other.cpu == task.cpu && other.reservation.is_none()) {
            other.policy = Policy::Deadline;
        }
        if all_meet(&changed) {
            found.push("EDF (SCHED_DEADLINE) in place of fixed priorities".to_owned());
        }
    }
    if let Some(name) = &task.reservation
        && let Some(position) = set.reservations.iter().position(|reservation| reservation.name == *name)
    {
        let reservation = &set.reservations[position];
        let mut changed = set.clone();
        let mut fits = |budget_ns: u64| {
            changed.reservations[position].budget_ns = budget_ns;
            all_meet(&changed)
        };
        if let Some(budget) = least(reservation.budget_ns, reservation.period_ns, &mut fits) {
            found.push(format!(
                "reservation `{name}` of {} in every {} (it has {})",
                format_ns(budget),
                format_ns(reservation.period_ns),
                format_ns(reservation.budget_ns)
            ));
        }
    }
    for (index, other) in set.tasks.iter().enumerate().filter(|(_, other)| other.cpu == task.cpu) {
        let mut changed = set.clone();
        let mut fits = |compute_ns: u64| {
            changed.tasks[index].compute_ns = compute_ns;
            all_meet(&changed)
        };
        if let Some(compute) = most(other.compute_ns, &mut fits) {
            let (most, now) = (format_ns(compute), format_ns(other.compute_ns));
            found.push(format!("`{}` computing for {most} at most (it takes {now})", other.name));
        }
    }
    found.extend(later_deadlines(set, extra_ns));
    found
}

/// The deadlines that the late tasks would meet, in words; `None` if one of them has no bound, or if a task would still miss
/// its deadline with these.
fn later_deadlines(set: &TaskSet, extra_ns: &[u64]) -> Option<String> {
    let mut changed = set.clone();
    let mut parts = Vec::new();
    for (task, outcome) in changed.tasks.iter_mut().zip(outcomes(set, extra_ns)) {
        if outcome.meets == Some(true) {
            continue;
        }
        let response = outcome.response_ns.filter(|&response| response > task.deadline_ns)?;
        parts.push(format!("{} for `{}` (it has {})", format_ns(response), task.name, format_ns(task.deadline_ns)));
        task.deadline_ns = response;
    }
    if !outcomes(&changed, extra_ns).iter().all(|outcome| outcome.meets == Some(true)) {
        return None;
    }
    match parts.as_slice() {
        [] => None,
        [one] => Some(format!("a deadline of {one}: more buffering")),
        several => Some(format!("deadlines of {}: more buffering", several.join(" and of "))),
    }
}

/// The longest extra blocking, ns, that a task tolerates, with everything else the same; `None` if it tolerates none.
pub(super) fn bearable(set: &TaskSet, task: usize) -> Option<u64> {
    let mut extra = vec![0; set.tasks.len()];
    let mut fits = |blocking_ns: u64| {
        extra[task] = blocking_ns;
        outcomes(set, &extra)[task].meets == Some(true)
    };
    if !fits(0) {
        return None;
    }
    Some(most(set.tasks[task].deadline_ns, &mut fits).unwrap_or(0))
}

/// The largest value in 1..now that fits, to one part in a million; `None` if none does.
fn most(now: u64, fits: &mut impl FnMut(u64) -> bool) -> Option<u64> {
    if now <= 1 || !fits(1) {
        return None;
    }
    let (mut low, mut high) = (1, now);
    while high - low > (now / 1_000_000).max(1) {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// The least value in now..=limit that fits, to one part in a million; `None` if none does.
fn least(now: u64, limit: u64, fits: &mut impl FnMut(u64) -> bool) -> Option<u64> {
    if !fits(limit) {
        return None;
    }
    let (mut low, mut high) = (now, limit);
    while high - low > (limit / 1_000_000).max(1) {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// An order of the fixed priorities of one CPU in which every task meets its deadline, most urgent first, if there is
/// one: the least urgent place goes to any task that tolerates it, and so on upwards (Audsley, University of York YCS
/// 164, 1991).
fn best_order(set: &TaskSet, extra_ns: &[u64], cpu: u32) -> Option<Vec<usize>> {
    let free = |index: &usize| {
        let task = &set.tasks[*index];
        task.cpu == cpu && task.policy == Policy::Fixed && task.reservation.is_none()
    };
    let mut open: Vec<usize> = (0..set.tasks.len()).filter(free).collect();
    if open.is_empty() {
        return None;
    }
    let mut changed = set.clone();
    let indices: Vec<usize> = (0..set.tasks.len()).filter(|&index| set.tasks[index].cpu == cpu).collect();
    let urgent = match global_on(set, extra_ns) {
        Some(tests) => tests.is_schedulable(),
        None => demand_on(set, cpu, &indices, extra_ns) == Edf::Schedulable,
    };
    if !urgent {
        return None;
    }
    // With offsets, an order's effect depends on the whole order: the search ignores them, which is safe.
    for &index in &open {
        changed.tasks[index].priority = Some(u32::MAX);
        changed.tasks[index].offset_ns = 0;
    }
    let mut order = Vec::new();
    for place in 0..open.len() {
        let lowest = open.iter().position(|&index| {
            let mut tried = changed.clone();
            tried.tasks[index].priority = Some(place as u32);
            outcomes(&tried, extra_ns)[index].meets == Some(true)
        })?;
        let index = open.remove(lowest);
        changed.tasks[index].priority = Some(place as u32);
        order.push(index);
    }
    order.reverse();
    Some(order)
}
