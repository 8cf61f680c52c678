//! Global EDF, as `SCHED_DEADLINE` runs it on the CPUs of a root domain: published tests, each sufficient by itself.

use super::demand::Demand;
use super::server::Server;

/// What each test says: whether it shows that every deadline is met. No test shows that one is missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalEdf {
    /// How many CPUs the tasks share.
    pub cpus: u32,
    /// The density bound: Σλ <= m - (m - 1)·max λ with λ = C / min(D, T) (Goossens, Funk and Baruah, Real-Time Systems
    /// 2003, for D = T; Bertogna, Cirinei and Lipari, ECRTS 2005, for D < T).
    pub density: bool,
    /// The bound on interference of Bertogna, Cirinei and Lipari (ECRTS 2005).
    pub interference: bool,
    /// The response times of Bertogna and Cirinei (RTSS 2007) all lie within the deadlines.
    pub response: bool,
    /// Those response times, ns; `None` if one is beyond its deadline.
    pub responses_ns: Vec<Option<u64>>,
    /// The tasks ask for more than the CPUs have, or a task needs longer than its deadline: no test could pass.
    pub is_hopeless: bool,
}

impl GlobalEdf {
    /// Whether any test shows that every deadline is met.
    pub fn is_schedulable(&self) -> bool {
        self.density || self.interference || self.response
    }

    /// The tests by name, as tables show them.
    pub fn tests(&self) -> [(&'static str, bool); 3] {
        [
            ("GFB density", self.density),
            ("BCL interference", self.interference),
            ("Bertogna-Cirinei response times", self.response),
        ]
    }
}

/// After this many rounds, response times stay as they are, which is safe.
const ROUNDS: usize = 200;
/// The most steps of one response time.
const STEPS: usize = 20_000;

/// Tasks under global EDF on this many CPUs, each also held up for its own `blocking_ns`.
pub fn global_edf(tasks: &[Demand], blocking_ns: &[u64], cpus: u32) -> GlobalEdf {
    // If its deadline is later than the next release, a task could still be running then: its period counts as the
    // deadline, which is safe.
    let tasks: Vec<Demand> =
        tasks.iter().map(|task| Demand { deadline_ns: task.deadline_ns.min(task.period_ns), ..*task }).collect();
    let blocking = |index: usize| blocking_ns.get(index).copied().unwrap_or(0);
    let density = |index: usize| {
        let own = tasks[index].compute_ns as f64 + blocking(index) as f64;
        own / tasks[index].deadline_ns.max(1) as f64
    };
    let densities: Vec<f64> = (0..tasks.len()).map(density).collect();
    let (sum, most) = densities.iter().fold((0.0, 0.0f64), |(sum, most), value| (sum + value, most.max(*value)));
    let m = f64::from(cpus);
    let load: f64 = tasks.iter().map(|task| task.compute_ns as f64 / task.period_ns.max(1) as f64).sum();
    let is_hopeless = load > m * (1.0 + 1e-12) || most > 1.0;
    let responses_ns = response_times(&tasks, blocking_ns, cpus);
    GlobalEdf {
        cpus,
        density: !is_hopeless && sum <= (m - (m - 1.0) * most) * (1.0 - 1e-12),
        interference: !is_hopeless && interference(&tasks, &densities, cpus),
        response: !is_hopeless && responses_ns.iter().all(Option::is_some),
        responses_ns,
        is_hopeless,
    }
}

/// The same with servers that may continue with what is left of a budget, because their threads wake late by this much
/// (`late_ns`, one for each): for a reservation, at any time.
///
/// In no span of time does such a server ask for more than its density, C / D: a rest is never more than that until its
/// deadline, and a new budget comes only if what was used is no more, because so much was left. So it would be in time
/// alone on a processor of that speed, and the density bound holds for it as for a sporadic task (Baruah, Goossens and
/// Lipari, RTAS 2002, for D = T), unless it is held up: a rest that is due soon tolerates no blocking. None of the
/// other tests covers rests. If all deadlines are met by density, response times tell how long a thread that wakes late
/// needs; besides what comes to it, a server has at most one budget from before.
pub(super) fn global_edf_served(tasks: &[Demand], blocking_ns: &[u64], late_ns: &[u64], cpus: u32) -> GlobalEdf {
    let plain = global_edf(tasks, blocking_ns, cpus);
    let bears_rests = blocking_ns.iter().all(|&blocking| blocking == 0)
        && tasks.iter().all(|task| task.deadline_ns <= task.period_ns);
    let density = plain.density && bears_rests;
    let response = |own: usize| if density { served_response(tasks, late_ns, own, cpus) } else { None };
    GlobalEdf {
        density,
        interference: false,
        response: false,
        responses_ns: (0..tasks.len()).map(response).collect(),
        ..plain
    }
}

/// The response time of a whole budget beside servers that may have rests, if all deadlines are met and none is beyond
/// its period; `None` where it lies beyond the deadline.
///
/// What comes to a server bounds what it does within a window. If its thread has a job in every period, which then
/// finishes by its deadline after the latest wakeup, those jobs bound it too.
fn served_response(tasks: &[Demand], late_ns: &[u64], own: usize, cpus: u32) -> Option<u64> {
    let deadline = tasks[own].deadline_ns;
    let most = |other: usize, window: u128| {
        let (task, late) = (&tasks[other], late_ns.get(other).copied().unwrap_or(0));
        if late <= task.period_ns - task.deadline_ns {
            return workload(task, window, 0).min(within(task, deadline, 0));
        }
        let server = Server::of(task, late);
        let comes = server.come_within(window).min(server.due_within(u128::from(deadline)));
        let jobs = Demand { deadline_ns: task.deadline_ns + late, ..*task };
        let by_jobs = if late < task.period_ns { workload(&jobs, window, 0) } else { u128::MAX };
        by_jobs.min(u128::from(task.compute_ns) + comes)
    };
    let others = |response: u128, room: u128| {
        (0..tasks.len()).filter(|&other| other != own).map(|other| most(other, response).min(room)).sum()
    };
    settled(u128::from(tasks[own].compute_ns), deadline, cpus, others)
}

/// The least response time of work that takes `base` by itself at which the `others` fit on the CPUs, each taking its
/// part of the response time and at most that much; `None` where it lies beyond the deadline.
fn settled(base: u128, deadline_ns: u64, cpus: u32, others: impl Fn(u128, u128) -> u128) -> Option<u64> {
    let mut response = base;
    for _ in 0..STEPS {
        if response > u128::from(deadline_ns) {
            return None;
        }
        let next = base + others(response, response - base + 1) / u128::from(cpus.max(1));
        if next <= response {
            return u64::try_from(response).ok();
        }
        response = next;
    }
    None
}

/// For each task k: Σ over i of min(β_i, 1 - λ_k) < m·(1 - λ_k), where β_i is the share of k's window that i can take.
fn interference(tasks: &[Demand], densities: &[f64], cpus: u32) -> bool {
    (0..tasks.len()).all(|own| {
        let deadline = tasks[own].deadline_ns;
        let room = 1.0 - densities[own];
        let taken: f64 = (0..tasks.len())
            .filter(|&other| other != own)
            .map(|other| (within(&tasks[other], deadline, 0) as f64 / deadline.max(1) as f64).min(room))
            .sum();
        taken < f64::from(cpus) * room * (1.0 - 1e-12)
    })
}

/// The most that a task with its deadline at or before the end of a window does within it, under EDF, if it always
/// finishes `slack` before its deadline.
fn within(task: &Demand, window: u64, slack: u64) -> u128 {
    let period = u128::from(task.period_ns.max(1));
    let (window, compute) = (u128::from(window), u128::from(task.compute_ns));
    // Its last deadline is at the end of the window; the first job may have begun earlier, and only a part of it is
    // done here.
    let whole = (window + period).saturating_sub(u128::from(task.deadline_ns)) / period;
    let rest = window.saturating_sub(whole * period).saturating_sub(u128::from(slack));
    whole * compute + compute.min(rest)
}

/// The most that a task does within a window anywhere, if it always finishes `slack` before its deadline.
fn workload(task: &Demand, window: u128, slack: u64) -> u128 {
    let period = u128::from(task.period_ns.max(1));
    let compute = u128::from(task.compute_ns);
    let reach = (window + u128::from(task.deadline_ns)).saturating_sub(compute + u128::from(slack));
    let whole = reach / period;
    whole * compute + compute.min(reach - whole * period)
}

fn response_times(tasks: &[Demand], blocking_ns: &[u64], cpus: u32) -> Vec<Option<u64>> {
    let mut slack = vec![0u64; tasks.len()];
    let mut found = vec![None; tasks.len()];
    for _ in 0..ROUNDS {
        let mut changed = false;
        for own in 0..tasks.len() {
            let task = &tasks[own];
            let base = u128::from(task.compute_ns) + u128::from(blocking_ns.get(own).copied().unwrap_or(0));
            let others = |response: u128, room: u128| {
                (0..tasks.len())
                    .filter(|&other| other != own)
                    .map(|other| {
                        let most = workload(&tasks[other], response, slack[other]);
                        most.min(within(&tasks[other], task.deadline_ns, slack[other])).min(room)
                    })
                    .sum()
            };
            if let Some(response) = settled(base, task.deadline_ns, cpus, others) {
                found[own] = Some(response);
                let now = task.deadline_ns - response;
                if now > slack[own] {
                    (slack[own], changed) = (now, true);
                }
            }
        }
        if !changed {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(compute_ns: u64, deadline_ns: u64, period_ns: u64) -> Demand {
        Demand { compute_ns, period_ns, deadline_ns }
    }

    #[test]
    fn a_heavy_task_beside_light_ones() {
        // Dhall's effect (Dhall and Liu, Operations Research 1978): two light tasks hold up both CPUs, and the heavy
        // one misses.
        let dhall = [task(2, 10, 10), task(2, 10, 10), task(10, 11, 11)];
        let found = global_edf(&dhall, &[0; 3], 2);
        assert!(!found.is_schedulable() && !found.is_hopeless, "{found:?}");
        // With a deadline that tolerates both, it passes: response times by hand, C + floor(sum of min(W, R - C + 1) /
        // m) from R = C on.
        let found = global_edf(&[task(2, 10, 10), task(2, 10, 10), task(6, 11, 11)], &[0; 3], 2);
        assert_eq!(found.responses_ns, [Some(4), Some(4), Some(8)]);
        assert!(found.density && found.response && !found.is_hopeless, "{found:?}");
    }

    #[test]
    fn densities_up_to_the_bound_pass() {
        // On two CPUs with 0.5 as the largest: up to 2 - 0.5.
        let of_ten = |computes: [u64; 3]| global_edf(&computes.map(|compute| task(compute, 10, 10)), &[0; 3], 2);
        assert!(of_ten([5, 5, 4]).density);
        assert!(!of_ten([5, 5, 6]).density);
        // What holds a task up counts as its own work.
        assert!(!global_edf(&[task(5, 10, 10), task(5, 10, 10), task(4, 10, 10)], &[0, 0, 2], 2).density);
    }

    #[test]
    fn as_many_tasks_as_processors_have_one_each() {
        let found = global_edf(&[task(9, 10, 10), task(10, 10, 10)], &[0; 2], 2);
        assert!(found.response && found.responses_ns == [Some(9), Some(10)], "{found:?}");
        let full = global_edf(&[task(10, 10, 10); 2], &[0; 2], 2);
        assert!(!full.is_hopeless && full.responses_ns == [Some(10), Some(10)], "{full:?}");
        assert!(global_edf(&[task(9, 10, 10); 3], &[0; 3], 2).is_hopeless);
    }

    #[test]
    fn servers_that_wake_at_any_time_keep_to_their_density() {
        // Reservations of 3 and 2 of 10 and a task of 2, late by 2: 0.7 <= 2 - 0.3. Beside it the first does 3 + 3
        // within 10, the other 2 + 2: 2 + floor((5 + 4) / 2) = 6.
        let tasks = [task(2, 10, 10), task(3, 10, 10), task(2, 10, 10)];
        let found = global_edf_served(&tasks, &[0], &[2, 10, 10], 2);
        assert!(found.is_schedulable() && !found.interference && !found.response, "{found:?}");
        assert_eq!(found.responses_ns[0], Some(6));
        // A rest that is due soon tolerates no blocking, and what is not dense enough for the bound passes no other
        // test.
        assert!(!global_edf_served(&tasks, &[1], &[2, 10, 10], 2).is_schedulable());
        let dense = [task(6, 10, 10), task(5, 10, 10), task(5, 10, 10)];
        assert!(!global_edf_served(&dense, &[0], &[1, 0, 0], 2).is_schedulable());
        assert!(!global_edf_served(&[task(2, 11, 10)], &[0], &[2], 2).is_schedulable());
        // Nor is anything said of those beside one whose deadline is beyond its period.
        let beyond = global_edf_served(&[task(2, 11, 10), task(2, 10, 10)], &[0; 2], &[2, 0], 2);
        assert_eq!((beyond.is_schedulable(), beyond.responses_ns), (false, vec![None; 2]));
    }

    #[test]
    fn what_a_task_does_in_a_window() {
        let task = task(3, 10, 10);
        // Deadlines at 5, 15 and 25 of 25: all of two, and of the first what is not done 4 before its deadline.
        assert_eq!((within(&task, 25, 0), within(&task, 25, 4)), (9, 7));
        // 3 up to a deadline at 3, then from 3, 13 and 23 on: the last has 2. If done 4 early, the first two follow at
        // 7 and 17.
        assert_eq!((workload(&task, 25, 0), workload(&task, 25, 4)), (11, 9));
    }
}
