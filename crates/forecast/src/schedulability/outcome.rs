//! The outcome for every task of a set, by the analysis that fits it.

use super::demand::Demand;
use super::edf::{Edf, edf_served};
use super::edf_response::edf_response;
use super::global::{GlobalEdf, global_edf, global_edf_served};
use super::response::{Interferer, response_time_among};
use super::simulate::{Periodic, responses};
use super::supply::Supply;
use super::tasks::{Policy, Reservation, Task, TaskSet};

/// The analysis that decided about a task.
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
    /// Its longest response time, ns; `None` if there is no bound, and under EDF, which gives none. Within a
    /// reservation with a floating budget, it is the worse of the two.
    pub response_ns: Option<u64>,
    /// Within a reservation: with a fixed slot, ns.
    pub fixed_slot_ns: Option<u64>,
    /// Whether it meets its deadline; `None` if the analysis was given up.
    pub meets: Option<bool>,
}

/// Whether `other` runs before `task` whenever both could; for equal priorities see [`is_peer`].
fn before(other: &Task, task: &Task) -> bool {
    match (other.priority, task.priority) {
        (Some(left), Some(right)) => left > right,
        (Some(_), None) => true,
        (None, Some(_)) => false,
        // Deadline-monotonic, which is the best order if deadlines do not exceed periods.
        (None, None) => other.deadline_ns <= task.deadline_ns,
    }
}

fn is_equal(other: &Task, task: &Task) -> bool {
    other.priority.is_some() && other.priority == task.priority
}

/// Tasks of equal priority that sleep between their jobs are served in order of arrival. If its deadline is beyond its
/// period, a task may find its next job already there, and continues with it before any other.
fn is_peer(other: &Task, task: &Task) -> bool {
    is_equal(other, task) && other.deadline_ns <= other.period_ns
}

/// Whether all of `other` may run before `task`.
fn goes_first(other: &Task, task: &Task) -> bool {
    before(other, task) || (is_equal(other, task) && !is_peer(other, task))
}

fn interferer(task: &Task) -> Interferer {
    let Task { compute_ns, period_ns, jitter_ns, deadline_ns, .. } = *task;
    let server_deadline_ns = (task.policy == Policy::Deadline).then_some(deadline_ns);
    Interferer { compute_ns, period_ns, jitter_ns, server_deadline_ns }
}

/// Work that is served before all fixed priorities of any CPU that it may come to. If it is held up on one CPU, it
/// comes to another CPU close to the next activation, like jitter. On one processor it is not like jitter: whatever
/// waits there keeps the processor from fixed priorities, so their busy period begins without it, and the order in
/// which EDF serves it does not matter to what comes after.
fn from_anywhere(task: &Task, response_ns: Option<u64>) -> Interferer {
    let late = response_ns.unwrap_or(task.deadline_ns).saturating_sub(task.compute_ns);
    Interferer { jitter_ns: task.jitter_ns + late, server_deadline_ns: None, ..interferer(task) }
}

/// A reservation wakes whenever its tasks do, so only its server limits what it takes from the others.
fn from_reservation(reservation: &Reservation, is_anywhere: bool) -> Interferer {
    let Reservation { budget_ns, period_ns, .. } = *reservation;
    // A server that wakes at any time runs, within a window, no more than its share of the window and of a period
    // before and behind it: that much is due by then.
    let jitter_ns = if is_anywhere { 2 * period_ns } else { period_ns };
    let server_deadline_ns = (!is_anywhere).then_some(period_ns);
    Interferer { compute_ns: budget_ns, period_ns, jitter_ns, server_deadline_ns }
}

/// The outcome for each task, in their order; `extra_ns` is added to each task's blocking.
pub(super) fn outcomes(set: &TaskSet, extra_ns: &[u64]) -> Vec<Outcome> {
    let mut cpus: Vec<u32> = set.tasks.iter().map(|task| task.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let global = global_on(set, extra_ns);
    let mut found: Vec<Option<Outcome>> = vec![None; set.tasks.len()];
    for cpu in cpus {
        let on_cpu = |index: &usize| set.tasks[*index].cpu == cpu;
        let indices: Vec<usize> = (0..set.tasks.len()).filter(on_cpu).collect();
        let urgent = Urgent::of(set, cpu, &indices, extra_ns, global.as_ref());
        let played = played_through(set, cpu, &indices, extra_ns);
        let has_offsets = indices.iter().any(|&index| set.tasks[index].offset_ns > 0);
        for &index in &indices {
            let (above, peers) = beside(set, &indices, index);
            let leaves_out_offsets = has_offsets && played.is_none();
            let task = Judged { set, index, extra_ns: extra_ns[index], above, peers, leaves_out_offsets };
            let reservation = set.tasks[index].reservation.as_ref();
            let reservation = reservation.and_then(|name| set.reservations.iter().find(|found| found.name == *name));
            found[index] = Some(match (set.tasks[index].policy, reservation) {
                (Policy::Deadline, _) => {
                    let meets = urgent.meets(set, index);
                    Outcome { analysed: Analysed::Demand, response_ns: None, fixed_slot_ns: None, meets }
                }
                (Policy::Fixed, Some(reservation)) => task.within(reservation, &urgent),
                (Policy::Fixed, None) => task.on(cpu, &urgent, played.as_deref()),
            });
        }
    }
    let none = Outcome { analysed: Analysed::ResponseTime, response_ns: None, fixed_slot_ns: None, meets: None };
    found.into_iter().map(|outcome| outcome.unwrap_or(none)).collect()
}

/// The fixed-priority tasks of a CPU that run before this one, and those of its priority: in its reservation, or in
/// none.
fn beside(set: &TaskSet, on_cpu: &[usize], index: usize) -> (Vec<Interferer>, Vec<Interferer>) {
    let task = &set.tasks[index];
    let is_beside = |other: &&usize| {
        let other_task = &set.tasks[**other];
        **other != index && other_task.policy == Policy::Fixed && other_task.reservation == task.reservation
    };
    let those = |is: fn(&Task, &Task) -> bool| -> Vec<Interferer> {
        let others = on_cpu.iter().filter(is_beside).map(|&other| &set.tasks[other]);
        others.filter(|other| is(other, task)).map(interferer).collect()
    };
    (those(goes_first), those(is_peer))
}

/// A fixed-priority task and what stands in its way.
struct Judged<'a> {
    set: &'a TaskSet,
    index: usize,
    /// Added to its blocking, ns.
    extra_ns: u64,
    above: Vec<Interferer>,
    peers: Vec<Interferer>,
    /// Whether tasks of its CPU have offsets that the analysis ignores: then they may never coincide as its bound
    /// assumes.
    leaves_out_offsets: bool,
}

impl Judged<'_> {
    fn task(&self) -> &Task {
        &self.set.tasks[self.index]
    }

    fn response_ns(&self, above: &[Interferer], supply: Supply) -> Option<u64> {
        let blocking = self.task().blocking_ns + self.extra_ns;
        response_time_among(interferer(self.task()), above, &self.peers, blocking, supply)
    }

    fn meets(&self, response_ns: Option<u64>) -> Option<bool> {
        Some(response_ns.is_some_and(|response| response <= self.task().deadline_ns))
    }

    /// Within a reservation, given whether it is served itself.
    fn within(&self, reservation: &Reservation, urgent: &Urgent<'_>) -> Outcome {
        let response_ns = self.response_ns(&self.above, reservation.floating_budget());
        // It keeps its promise only if it is served itself.
        let meets = match self.meets(response_ns) {
            Some(true) => urgent.fits,
            // On several CPUs its budget may never come that late: only what even a whole processor would not save is
            // certainly late.
            Some(false) if urgent.global.is_some() && response_ns.is_some() => {
                self.meets(self.response_ns(&self.above, Supply::Processor)).filter(|meets| !meets)
            }
            other => other,
        };
        let fixed_slot_ns = self.response_ns(&self.above, reservation.fixed_slot());
        Outcome { analysed: Analysed::Reservation, response_ns, fixed_slot_ns, meets }
    }

    /// On a CPU, below the urgent work there.
    fn on(&self, cpu: u32, urgent: &Urgent<'_>, played: Option<&[(usize, Option<u64>)]>) -> Outcome {
        let above: Vec<Interferer> = self.above.iter().copied().chain(urgent.above_fixed(self.set, cpu)).collect();
        let bound = self.response_ns(&above, Supply::Processor);
        let exact = played.and_then(|played| played.iter().find(|entry| entry.0 == self.index)?.1);
        let Some(exact) = exact else {
            let meets = match self.meets(bound) {
                // How late a deadline task comes to this CPU is known only if it meets its deadline.
                Some(true) if urgent.global.is_some() && urgent.fits != Some(true) => None,
                // Nobody knows when, at worst, deadline tasks come to this CPU: only what is late without them is
                // certainly late.
                Some(false) if urgent.global.is_some() => {
                    self.meets(self.response_ns(&self.above, Supply::Processor)).filter(|meets| !meets)
                }
                // Only what would be late by itself is certainly late.
                Some(false) if self.leaves_out_offsets && bound.is_some() => {
                    let by_itself = self.task().compute_ns + self.task().blocking_ns + self.extra_ns;
                    self.meets(Some(by_itself)).filter(|meets| !meets)
                }
                judged => judged,
            };
            return Outcome { analysed: Analysed::ResponseTime, response_ns: bound, fixed_slot_ns: None, meets };
        };
        // Below a miss, playing through stops being exact; the bound is safe everywhere.
        let response_ns = Some(bound.map_or(exact, |bound| bound.min(exact)));
        Outcome { analysed: Analysed::Offsets, response_ns, fixed_slot_ns: None, meets: self.meets(response_ns) }
    }
}

/// The deadline tasks and reservations that concern the tasks of a CPU.
struct Urgent<'a> {
    /// Whether all meet their deadlines; `None` if no test shows it.
    fits: Option<bool>,
    /// Under global EDF: what its tests say.
    global: Option<&'a GlobalEdf>,
    /// The deadline tasks among them, by their place in the set, in the order of their demands.
    members: Vec<usize>,
    /// On one processor: their demands, and how long work that they cannot preempt may hold up each.
    demands: Vec<Demand>,
    blocking_ns: Vec<u64>,
    /// How late each of them may wake, ns.
    late_ns: Vec<u64>,
}

impl<'a> Urgent<'a> {
    fn of(set: &TaskSet, cpu: u32, indices: &[usize], extra_ns: &[u64], global: Option<&'a GlobalEdf>) -> Urgent<'a> {
        if let Some(tests) = global {
            let fits = if tests.is_schedulable() { Some(true) } else { tests.is_hopeless.then_some(false) };
            return Urgent {
                fits,
                global,
                members: deadline_tasks(set),
                demands: Vec::new(),
                blocking_ns: Vec::new(),
                late_ns: Vec::new(),
            };
        }
        let (demands, blocking_ns, late_ns) = demands_on(set, cpu, indices, extra_ns);
        let fits = match edf_served(&demands, &blocking_ns, &late_ns) {
            Edf::Schedulable => Some(true),
            Edf::Unknown => None,
            Edf::Overloaded | Edf::Overrun { .. } => Some(false),
        };
        let members = indices.iter().copied().filter(|&index| set.tasks[index].policy == Policy::Deadline).collect();
        Urgent { fits, global: None, members, demands, blocking_ns, late_ns }
    }

    /// Whether a deadline task finishes within its deadline of its nominal release. Its budget and its deadline count
    /// from the moment it wakes, and the constant-bandwidth server gives it no more than one budget a period whenever
    /// it wakes (`update_dl_entity`): so its lateness adds to its own response time and does not affect the others.
    fn meets(&self, set: &TaskSet, index: usize) -> Option<bool> {
        let task = &set.tasks[index];
        if self.fits != Some(true) || task.jitter_ns == 0 {
            return self.fits;
        }
        let place = self.members.iter().position(|&member| member == index)?;
        match self.global {
            // Its response time is only a bound.
            Some(tests) => {
                let response = tests.responses_ns.get(place).copied().flatten()?;
                (response + task.jitter_ns <= task.deadline_ns).then_some(true)
            }
            None => {
                // The longest blocking of anything in its busy period.
                let blocking = self.blocking_ns.iter().copied().max().unwrap_or(0);
                let response = edf_response(&self.demands, place, blocking, &self.late_ns);
                Some(response.is_some_and(|response| response + task.jitter_ns <= task.deadline_ns))
            }
        }
    }

    /// The part of them that runs before the fixed priorities of a CPU.
    fn above_fixed(&self, set: &TaskSet, cpu: u32) -> Vec<Interferer> {
        let reserved = |reservation: &&Reservation| self.global.is_some() || reservation.cpu == cpu;
        let reservations =
            set.reservations.iter().filter(reserved).map(|found| from_reservation(found, self.global.is_some()));
        let tasks = self.members.iter().enumerate().map(|(place, &member)| match self.global {
            Some(tests) => from_anywhere(&set.tasks[member], tests.responses_ns.get(place).copied().flatten()),
            None => interferer(&set.tasks[member]),
        });
        tasks.chain(reservations).collect()
    }
}

fn deadline_tasks(set: &TaskSet) -> Vec<usize> {
    (0..set.tasks.len()).filter(|&index| set.tasks[index].policy == Policy::Deadline).collect()
}

fn demand_of(task: &Task) -> Demand {
    Demand { compute_ns: task.compute_ns, period_ns: task.period_ns, deadline_ns: task.deadline_ns }
}

fn demand_of_reservation(reservation: &Reservation) -> Demand {
    let Reservation { budget_ns, period_ns, .. } = *reservation;
    Demand { compute_ns: budget_ns, period_ns, deadline_ns: period_ns }
}

/// Whether a deadline task may wake before its last deadline is over, and so continue with what is left of its budget.
fn rests(task: &Task) -> bool {
    task.jitter_ns > task.period_ns.saturating_sub(task.deadline_ns)
}

/// Global EDF over all deadline tasks and reservations, as the kernel runs them on the CPUs of a root domain; `None` if
/// there are none, on one CPU, or if each CPU has a root domain of its own.
pub(super) fn global_on(set: &TaskSet, extra_ns: &[u64]) -> Option<GlobalEdf> {
    let members = deadline_tasks(set);
    if set.partitioned || set.limits.cpus < 2 || (members.is_empty() && set.reservations.is_empty()) {
        return None;
    }
    let demands = members.iter().map(|&index| demand_of(&set.tasks[index]));
    let demands: Vec<Demand> = demands.chain(set.reservations.iter().map(demand_of_reservation)).collect();
    let blocking: Vec<u64> = members.iter().map(|&index| set.tasks[index].blocking_ns + extra_ns[index]).collect();
    if set.reservations.is_empty() && !members.iter().any(|&index| rests(&set.tasks[index])) {
        return Some(global_edf(&demands, &blocking, set.limits.cpus));
    }
    // A reservation wakes whenever its tasks do.
    let late = members.iter().map(|&index| set.tasks[index].jitter_ns);
    let late: Vec<u64> = late.chain(set.reservations.iter().map(|reservation| reservation.period_ns)).collect();
    Some(global_edf_served(&demands, &blocking, &late, set.limits.cpus))
}

/// The deadline tasks and the reservations of one CPU, and how long work that they cannot preempt may hold them up.
fn demands_on(set: &TaskSet, cpu: u32, indices: &[usize], extra_ns: &[u64]) -> (Vec<Demand>, Vec<u64>, Vec<u64>) {
    let deadline = || indices.iter().filter(|&&index| set.tasks[index].policy == Policy::Deadline);
    let reserved = set.reservations.iter().filter(|reservation| reservation.cpu == cpu);
    let tasks = deadline().map(|&index| demand_of(&set.tasks[index]));
    let demands: Vec<Demand> = tasks.chain(reserved.map(demand_of_reservation)).collect();
    let blocking = deadline().map(|&index| set.tasks[index].blocking_ns + extra_ns[index]).collect();
    // A reservation wakes whenever its tasks do.
    let late = deadline().map(|&index| set.tasks[index].jitter_ns);
    let late = late.chain(demands.iter().skip(deadline().count()).map(|reservation| reservation.period_ns)).collect();
    (demands, blocking, late)
}

/// EDF over the deadline tasks and the reservations of one CPU.
pub(super) fn demand_on(set: &TaskSet, cpu: u32, indices: &[usize], extra_ns: &[u64]) -> Edf {
    let (demands, blocking, late) = demands_on(set, cpu, indices, extra_ns);
    edf_served(&demands, &blocking, &late)
}

/// Whether some CPU's offsets do not count, because its schedule cannot be played through.
pub(super) fn leaves_out_offsets(set: &TaskSet) -> bool {
    let none = vec![0u64; set.tasks.len()];
    let cpus = set.tasks.iter().filter(|task| task.offset_ns > 0).map(|task| task.cpu);
    cpus.into_iter().any(|cpu| {
        let indices: Vec<usize> = (0..set.tasks.len()).filter(|&index| set.tasks[index].cpu == cpu).collect();
        played_through(set, cpu, &indices, &none).is_none()
    })
}

/// Response times with offsets, where the schedule of a CPU can be played through exactly: fixed priorities, all
/// different, strictly periodic, deadlines no longer than periods, nothing that blocks or comes late.
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
    let comes_from_elsewhere = !set.partitioned
        && set.limits.cpus > 1
        && (!set.reservations.is_empty() || set.tasks.iter().any(|task| task.policy == Policy::Deadline));
    if !tied || reserved || comes_from_elsewhere || indices.iter().any(|&index| extra_ns[index] > 0) {
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
        is_equal(left, right) || (before(left, right) && before(right, left))
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
    // Below a task that misses, the simulated schedule is no longer what would happen.
    let sound = found.iter().take_while(|response| response.is_some()).count();
    Some(order.into_iter().zip(found).take(sound).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of each task, on this many CPUs.
    fn meets(cpus: u32, tasks: &str) -> Vec<Option<bool>> {
        let set = TaskSet::parse_toml(&format!("cpus = {cpus}\n{tasks}")).unwrap();
        outcomes(&set, &vec![0; set.tasks.len()]).iter().map(|outcome| outcome.meets).collect()
    }

    fn deadline(compute_ms: f64, deadline_ms: f64, jitter_ms: f64) -> String {
        format!(
            "[[task]]\nname=\"d\"\nperiod=\"10ms\"\ncompute=\"{compute_ms}ms\"\ndeadline=\"{deadline_ms}ms\"\n\
             jitter=\"{jitter_ms}ms\"\npolicy=\"deadline\"\n"
        )
    }

    const FIXED: &str = "[[task]]\nname=\"f\"\nperiod=\"20ms\"\ncompute=\"1ms\"\n";

    #[test]
    fn what_was_held_up_elsewhere_comes_like_jitter() {
        let set = TaskSet::parse_toml(&deadline(3.0, 10.0, 1.0)).unwrap();
        // Done at 8, which is 5 after the earliest; or by the deadline, 7 after.
        let jitter_ns = |response_ns| from_anywhere(&set.tasks[0], response_ns).jitter_ns;
        assert_eq!((jitter_ns(Some(8_000_000)), jitter_ns(None)), (6_000_000, 8_000_000));
    }

    #[test]
    fn below_deadline_tasks_of_all_cpus() {
        assert_eq!(meets(2, &(deadline(3.0, 10.0, 0.0) + FIXED)), [Some(true); 2]);
        // No test passes three that may come at once: then nobody knows when they come to this CPU.
        let three = ["a", "b", "c"].map(|name| deadline(1.0, 1.1, 0.0).replace("\"d\"", &format!("{name:?}")));
        assert_eq!(meets(2, &(three.concat() + FIXED))[3], None);
    }

    #[test]
    fn what_is_late_only_with_deadline_tasks_of_other_cpus_is_unknown() {
        let below =
            |compute: &str| deadline(3.0, 10.0, 0.0) + &FIXED.replace("\"1ms\"", compute) + "deadline=\"2ms\"\n";
        // Charged for 3 of the deadline task it takes 4, without it 1; if it needs 3, it can never be done in 2.
        assert_eq!(meets(2, &below("\"1ms\"")), [Some(true), None]);
        assert_eq!(meets(2, &below("\"3ms\"")), [Some(true), Some(false)]);
        assert_eq!(meets(1, &below("\"1ms\"")), [Some(true), Some(false)]);
    }

    #[test]
    fn an_equal_priority_that_may_go_on_without_sleeping_is_more_urgent() {
        let pair = |deadline: &str| {
            let text = format!(
                "[[task]]\nname=\"a\"\nperiod=\"10ms\"\ncompute=\"6ms\"\ndeadline={deadline:?}\npriority=5\n\
                 [[task]]\nname=\"b\"\nperiod=\"40ms\"\ncompute=\"5ms\"\npriority=5\n"
            );
            outcomes(&TaskSet::parse_toml(&text).unwrap(), &[0; 2])[1].response_ns
        };
        // 6 and 5; or the second 6 before them.
        assert_eq!((pair("10ms"), pair("11ms")), (Some(11_000_000), Some(17_000_000)));
    }

    #[test]
    fn a_late_release_takes_from_the_deadline_on_several_cpus_too() {
        assert_eq!(meets(2, &deadline(6.0, 8.0, 1.9)), [Some(true)]);
        assert_eq!(meets(2, &deadline(7.0, 8.0, 1.9)), [None]);
    }
}
