//! The outcome for every task of a set, by the analysis that fits it.

use super::edf::{Demand, Edf, edf};
use super::response::{Interferer, response_time};
use super::simulate::{Periodic, responses};
use super::supply::Supply;
use super::tasks::{Policy, Reservation, Task, TaskSet};

/// Which analysis decided about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Analysed {
    /// Response-time analysis under fixed priorities.
    ResponseTime,
    /// The schedule played through, because releases are tied by offsets.
    Offsets,
    /// EDF demand.
    Demand,
    /// Response time within a reservation.
    Reservation,
}

impl Analysed {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Analysed::ResponseTime => "response-time",
            Analysed::Offsets => "offsets",
            Analysed::Demand => "demand",
            Analysed::Reservation => "reservation",
        }
    }
}

/// What one analysis says about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Which analysis.
    pub analysed: Analysed,
    /// Its longest response time, ns; `None` where there is no bound, and under EDF, which gives none.
    /// Within a reservation: with a floating budget, the worse of the two.
    pub response_ns: Option<u64>,
    /// Within a reservation: with a fixed slot, ns.
    pub fixed_slot_ns: Option<u64>,
    /// Whether it meets its deadline; `None` where the analysis was given up.
    pub meets: Option<bool>,
}

/// Whether `other` may run before `task`: equal priorities are served in the order of their coming, so each may.
fn before(other: &Task, task: &Task) -> bool {
    match (other.priority, task.priority) {
        (Some(left), Some(right)) => left >= right,
        (Some(_), None) => true,
        (None, Some(_)) => false,
        // Deadline-monotonic, which is the best order there is where deadlines are periods at most.
        (None, None) => other.deadline_ns <= task.deadline_ns,
    }
}

fn interferer(task: &Task) -> Interferer {
    Interferer { compute_ns: task.compute_ns, period_ns: task.period_ns, jitter_ns: task.jitter_ns }
}

/// What is served before all fixed priorities. It may run anywhere before its deadline: what it is held up
/// in one period comes close to the next, like jitter.
fn from_deadline(task: &Task) -> Interferer {
    let slack = task.deadline_ns.saturating_sub(task.compute_ns);
    Interferer { jitter_ns: task.jitter_ns + slack, ..interferer(task) }
}

fn from_reservation(reservation: &Reservation) -> Interferer {
    let Reservation { budget_ns, period_ns, .. } = *reservation;
    Interferer { compute_ns: budget_ns, period_ns, jitter_ns: period_ns - budget_ns }
}

/// The outcome for each task, in their order; `extra_ns` is added to each task's blocking.
pub(super) fn outcomes(set: &TaskSet, extra_ns: &[u64]) -> Vec<Outcome> {
    let mut cpus: Vec<u32> = set.tasks.iter().map(|task| task.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let mut found: Vec<Option<Outcome>> = vec![None; set.tasks.len()];
    for cpu in cpus {
        let on_cpu = |index: &usize| set.tasks[*index].cpu == cpu;
        let indices: Vec<usize> = (0..set.tasks.len()).filter(on_cpu).collect();
        let urgent = demand_on(set, cpu, &indices, extra_ns);
        let played = played_through(set, cpu, &indices, extra_ns);
        for &index in &indices {
            let task = &set.tasks[index];
            let blocking = task.blocking_ns + extra_ns[index];
            let judge = |response: Option<u64>| Some(response.is_some_and(|response| response <= task.deadline_ns));
            let reservation =
                task.reservation.as_ref().and_then(|name| set.reservations.iter().find(|found| found.name == *name));
            let above = |other: &&usize| {
                let other_task = &set.tasks[**other];
                **other != index
                    && other_task.policy == Policy::Fixed
                    && other_task.reservation == task.reservation
                    && before(other_task, task)
            };
            let mut interferers: Vec<Interferer> =
                indices.iter().filter(above).map(|&other| interferer(&set.tasks[other])).collect();
            found[index] = Some(match (task.policy, reservation) {
                (Policy::Deadline, _) => {
                    let meets = match urgent {
                        Edf::Schedulable => Some(true),
                        Edf::Unknown => None,
                        Edf::Overloaded | Edf::Overrun { .. } => Some(false),
                    };
                    Outcome { analysed: Analysed::Demand, response_ns: None, fixed_slot_ns: None, meets }
                }
                (Policy::Fixed, Some(reservation)) => {
                    let within = |supply: Supply| response_time(interferer(task), &interferers, blocking, supply);
                    let response_ns = within(reservation.floating_budget());
                    Outcome {
                        analysed: Analysed::Reservation,
                        response_ns,
                        fixed_slot_ns: within(reservation.fixed_slot()),
                        meets: judge(response_ns),
                    }
                }
                (Policy::Fixed, None) => {
                    let here = indices.iter().map(|&other| &set.tasks[other]);
                    interferers.extend(here.filter(|other| other.policy == Policy::Deadline).map(from_deadline));
                    let reserved = set.reservations.iter().filter(|reservation| reservation.cpu == cpu);
                    interferers.extend(reserved.map(from_reservation));
                    let bound = response_time(interferer(task), &interferers, blocking, Supply::Processor);
                    let exact = played.as_ref().and_then(|played| played.iter().find(|entry| entry.0 == index));
                    match exact {
                        // Playing through stops being exact below a miss; the bound is safe everywhere.
                        Some((_, Some(response))) => {
                            let response = Some(bound.map_or(*response, |bound| bound.min(*response)));
                            Outcome {
                                analysed: Analysed::Offsets,
                                response_ns: response,
                                fixed_slot_ns: None,
                                meets: judge(response),
                            }
                        }
                        _ => Outcome {
                            analysed: Analysed::ResponseTime,
                            response_ns: bound,
                            fixed_slot_ns: None,
                            meets: judge(bound),
                        },
                    }
                }
            });
        }
    }
    let none = Outcome { analysed: Analysed::ResponseTime, response_ns: None, fixed_slot_ns: None, meets: None };
    found.into_iter().map(|outcome| outcome.unwrap_or(none)).collect()
}

/// EDF over the deadline tasks and the reservations of one CPU.
pub(super) fn demand_on(set: &TaskSet, cpu: u32, indices: &[usize], extra_ns: &[u64]) -> Edf {
    let deadline = || indices.iter().filter(|&&index| set.tasks[index].policy == Policy::Deadline);
    let mut demands: Vec<Demand> = deadline()
        .map(|&index| {
            let task = &set.tasks[index];
            Demand {
                compute_ns: task.compute_ns,
                period_ns: task.period_ns,
                deadline_ns: task.deadline_ns.saturating_sub(task.jitter_ns),
            }
        })
        .collect();
    demands.extend(set.reservations.iter().filter(|reservation| reservation.cpu == cpu).map(|reservation| Demand {
        compute_ns: reservation.budget_ns,
        period_ns: reservation.period_ns,
        deadline_ns: reservation.period_ns,
    }));
    let blocking = deadline().map(|&index| set.tasks[index].blocking_ns + extra_ns[index]).max().unwrap_or(0);
    edf(&demands, blocking)
}

/// Response times with offsets, where the schedule of a CPU can be played through exactly: fixed priorities, all
/// different, strictly periodic, deadlines at most periods, nothing that blocks or comes late.
fn played_through(set: &TaskSet, cpu: u32, indices: &[usize], extra_ns: &[u64]) -> Option<Vec<(usize, Option<u64>)>> {
    let tasks = || indices.iter().map(|&index| &set.tasks[index]);
    let exact = |task: &Task| {
        task.policy == Policy::Fixed
            && task.reservation.is_none()
            && task.jitter_ns == 0
            && task.blocking_ns == 0
            && task.deadline_ns <= task.period_ns
    };
    let tied = tasks().any(|task| task.offset_ns > 0) && tasks().all(exact);
    let reserved = set.reservations.iter().any(|reservation| reservation.cpu == cpu);
    if !tied || reserved || indices.iter().any(|&index| extra_ns[index] > 0) {
        return None;
    }
    let mut order = indices.to_vec();
    order.sort_by(|&left, &right| {
        let key = |index: usize| {
            let task = &set.tasks[index];
            (std::cmp::Reverse(task.priority), if task.priority.is_some() { 0 } else { task.deadline_ns })
        };
        key(left).cmp(&key(right))
    });
    let equal = |pair: &[usize]| {
        let (left, right) = (&set.tasks[pair[0]], &set.tasks[pair[1]]);
        before(left, right) && before(right, left)
    };
    if order.windows(2).any(equal) {
        return None;
    }
    let periodic = |&index: &usize| {
        let task = &set.tasks[index];
        Periodic {
            compute: task.compute_ns,
            period: task.period_ns,
            deadline: task.deadline_ns,
            offset: task.offset_ns,
        }
    };
    let found = responses(&order.iter().map(periodic).collect::<Vec<_>>())?;
    // Below a task that misses, what was played through is no longer what would happen.
    let sound = found.iter().take_while(|response| response.is_some()).count();
    Some(order.into_iter().zip(found).take(sound).collect())
}
