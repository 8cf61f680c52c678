//! What theory predicts: response times under fixed priorities, demand under earliest deadline first.
//!
//! It is independent of the machine, so each can check the other.

use crate::error::{Error, Result};
use crate::machine::{Activity, MachineSpec, Policy};
use crate::time::{Picoseconds, format_span};

/// A periodic task as theory sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Between releases.
    pub period: Picoseconds,
    /// The most that one job computes.
    pub compute: Picoseconds,
    /// From release to deadline, at most the period.
    pub deadline: Picoseconds,
}

/// The longest response of each task under preemptive fixed priorities, tasks in order of falling priority, by
/// response-time analysis; `None` where it exceeds the period, so that jobs pile up.
pub fn response_times(tasks: &[Task]) -> Vec<Option<Picoseconds>> {
    tasks
        .iter()
        .enumerate()
        .map(|(index, task)| {
            let mut response = task.compute;
            loop {
                let higher = tasks[..index].iter().try_fold(0u64, |sum, higher| {
                    sum.checked_add(response.div_ceil(higher.period).checked_mul(higher.compute)?)
                });
                let next = higher.and_then(|higher| higher.checked_add(task.compute))?;
                if next > task.period {
                    return None;
                }
                if next == response {
                    return Some(response);
                }
                response = next;
            }
        })
        .collect()
}

/// Whether all deadlines are met under preemptive EDF on one CPU, by demand in every busy interval: exact.
///
/// # Errors
/// The share asked for, if it exceeds the CPU; or the time by which more is asked for than there is.
pub fn edf_feasible(tasks: &[Task]) -> std::result::Result<(), String> {
    let share: f64 = tasks.iter().map(|task| task.compute as f64 / task.period as f64).sum();
    if share > 1.0 + 1e-12 {
        return Err(format!("they ask for {:.1} percent of a CPU", share * 100.0));
    }
    let demand = |by: Picoseconds| -> u128 {
        tasks
            .iter()
            .filter(|task| by >= task.deadline)
            .map(|task| u128::from((by - task.deadline) / task.period + 1) * u128::from(task.compute))
            .sum()
    };
    // After the first moment at which everything released is done, nothing new can happen.
    let mut busy: u128 = tasks.iter().map(|task| u128::from(task.compute)).sum();
    loop {
        let next: u128 =
            tasks.iter().map(|task| busy.div_ceil(u128::from(task.period)) * u128::from(task.compute)).sum();
        if next == busy {
            break;
        }
        busy = next;
        if busy > u128::from(u64::MAX / 4) {
            return Err("their busy period is too long to examine".to_owned());
        }
    }
    let mut points: Vec<Picoseconds> = Vec::new();
    for task in tasks {
        let mut at = task.deadline;
        while u128::from(at) <= busy {
            points.push(at);
            at += task.period;
            if points.len() > 1_000_000 {
                return Err("there are too many deadlines to examine".to_owned());
            }
        }
    }
    match points.into_iter().filter(|&by| demand(by) > u128::from(by)).min() {
        Some(by) => Err(format!("more is due by {} than there is time", format_span(by))),
        None => Ok(()),
    }
}

/// Whether the density test says that all deadlines are met under global EDF on so many CPUs: the sum of compute time over
/// deadline is at most `cpus - (cpus - 1) * largest` (Goossens, Funk and Baruah, 2003, with deadlines for periods).
/// Sufficient, not necessary.
///
/// # Errors
/// The sum and what it may be.
pub fn global_edf_admitted(tasks: &[Task], cpus: usize) -> std::result::Result<(), String> {
    let density = |task: &Task| task.compute as f64 / task.deadline.min(task.period) as f64;
    let sum: f64 = tasks.iter().map(density).sum();
    let largest = tasks.iter().map(density).fold(0.0, f64::max);
    let bound = cpus as f64 - (cpus as f64 - 1.0) * largest;
    if largest > 1.0 || sum > bound + 1e-12 {
        return Err(format!("their densities sum to {sum:.3}, and the test for {cpus} CPUs admits {bound:.3}"));
    }
    Ok(())
}

/// Admission by theory: rate-monotonic threads of each CPU by response-time analysis, EDF threads by demand, each
/// as if it were alone there; EDF threads that migrate by density. Reservations and floating budgets are always admitted
/// by the machine itself.
///
/// # Errors
/// One line that names CPU or thread.
pub fn admit(spec: &MachineSpec) -> Result<()> {
    admit_migrating(spec)?;
    for cpu in 0..spec.cpus {
        let mut monotonic: Vec<(&str, Task)> = Vec::new();
        let mut earliest: Vec<Task> = Vec::new();
        for thread in spec.threads.iter().filter(|thread| thread.cpu == cpu && !thread.migrates) {
            let Activity::Periodic { period, .. } = thread.activity else { continue };
            let compute = thread.work.longest();
            match thread.policy {
                Policy::RateMonotonic { .. } => {
                    monotonic.push((&thread.name, Task { period, compute, deadline: period }));
                }
                Policy::EarliestDeadline { deadline } => earliest.push(Task { period, compute, deadline }),
                _ => {}
            }
        }
        monotonic.sort_by_key(|(_, task)| task.period);
        let tasks: Vec<Task> = monotonic.iter().map(|(_, task)| *task).collect();
        for ((name, _), response) in monotonic.iter().zip(response_times(&tasks)) {
            if response.is_none() {
                return Err(Error::Machine(format!("thread {name:?} would miss deadlines: it is not admitted")));
            }
        }
        edf_feasible(&earliest)
            .map_err(|why| Error::Machine(format!("the EDF threads of CPU {cpu} are not admitted: {why}")))?;
    }
    Ok(())
}

/// The threads that migrate. No test is known here for them beside EDF threads that stay on their CPU, and for
/// rate-monotonic ones.
fn admit_migrating(spec: &MachineSpec) -> Result<()> {
    let refuse = |what: String| Err(Error::Machine(what));
    let mut tasks = Vec::new();
    for thread in spec.threads.iter().filter(|thread| thread.migrates) {
        let Activity::Periodic { period, .. } = thread.activity else { continue };
        match thread.policy {
            Policy::EarliestDeadline { deadline } => {
                tasks.push(Task { period, compute: thread.work.longest(), deadline });
            }
            Policy::RateMonotonic { .. } => {
                return refuse(format!(
                    "thread {:?} is rate-monotonic and migrates: there is no admission test for that, set admission = false",
                    thread.name
                ));
            }
            _ => {}
        }
    }
    let pinned = |thread: &&crate::machine::ThreadSpec| {
        !thread.migrates && matches!(thread.policy, Policy::EarliestDeadline { .. } | Policy::RateMonotonic { .. })
    };
    if let (false, Some(thread)) = (tasks.is_empty(), spec.threads.iter().find(pinned)) {
        return refuse(format!(
            "thread {:?} stays on its CPU beside EDF threads that migrate: there is no admission test for that, set \
             admission = false",
            thread.name
        ));
    }
    global_edf_admitted(&tasks, spec.cpus)
        .or_else(|why| refuse(format!("the EDF threads that migrate are not admitted: {why}")))
}
