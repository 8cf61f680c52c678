//! The whole answer about a task set.

use super::admission::{Admission, DeadlineParameters, admission};
use super::bounds::{hyperbolic, liu_layland, utilization};
use super::edf::Edf;
use super::fix::{bearable, fixes};
use super::global::GlobalEdf;
use super::outcome::{Outcome, demand_on, global_on, leaves_out_offsets, outcomes};
use super::pseudo::{LatencyFigure, latency_figure};
use super::tasks::{Policy, Reservation, Task, TaskSet};
use super::words::{
    admission_note, assumptions, late_in_words, late_too_in_words, longest_seen_in_words, schedulable_in_words,
    unknown_in_words, unknown_with_latency_in_words, with_assumed_use,
};
use crate::{Error, Input, under_load};
use punctual_recording::{Stage, format_ns};

/// The verdict on a task set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Every deadline is met, with the measured latency, if there is one, charged to every activation.
    Schedulable,
    /// The set keeps up with the measured latencies, but a task that meets one of the permitted rate is late.
    OnAverage,
    /// A task misses its deadline.
    NotSchedulable,
    /// The analysis was given up.
    Unknown,
}

impl Standing {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Schedulable => "schedulable",
            Standing::OnAverage => "on-average",
            Standing::NotSchedulable => "not-schedulable",
            Standing::Unknown => "unknown",
        }
    }
}

/// One CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuAnalysis {
    /// Its number.
    pub cpu: u32,
    /// Computing times over periods, added up; reservations count with their budgets.
    pub utilization: f64,
    /// The bound of Liu and Layland for that many tasks; `None` if it says nothing: other deadlines than periods,
    /// jitter, blocking, reservations, other priorities than rate-monotonic.
    pub liu_layland: Option<f64>,
    /// The hyperbolic product, which may reach 2; `None` likewise.
    pub hyperbolic: Option<f64>,
    /// What EDF says of its deadline tasks and reservations; `None` if there are none, or if several CPUs serve them.
    pub edf: Option<Edf>,
}

/// One task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskAnalysis {
    /// The task.
    pub task: Task,
    /// The outcome without any latency.
    pub plain: Outcome,
    /// The measured latency at the task's permitted error rate.
    pub latency: Option<LatencyFigure>,
    /// The outcome with the pseudo worst case as blocking.
    pub with_pseudo: Option<Outcome>,
    /// The outcome with the latency at the permitted error rate as blocking.
    pub with_blocking: Option<Outcome>,
    /// How much latency it tolerates, ns; `None` if it breaks without any.
    pub bears_ns: Option<u64>,
}

/// One reservation.
#[derive(Debug, Clone, PartialEq)]
pub struct ReservationAnalysis {
    /// The reservation.
    pub reservation: Reservation,
    /// The longest time without service if its place is fixed, ns.
    pub fixed_blackout_ns: u64,
    /// The longest time without service if its budget floats, ns.
    pub floating_blackout_ns: u64,
    /// The share that its tasks ask for.
    pub asked: f64,
}

/// The answer about a task set.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The verdict.
    pub standing: Standing,
    /// The same in a sentence, with the task that misses its deadline.
    pub verdict: String,
    /// By CPU.
    pub cpus: Vec<CpuAnalysis>,
    /// By task, in the order of the set.
    pub tasks: Vec<TaskAnalysis>,
    /// By reservation, in the order of the set.
    pub reservations: Vec<ReservationAnalysis>,
    /// The kernel's admission of the deadline tasks and reservations; `None` if there are none.
    pub admission: Option<Admission>,
    /// If deadline tasks and reservations share several CPUs: what published tests for global EDF say.
    pub global: Option<GlobalEdf>,
    /// The name of the first task that misses its deadline.
    pub breaks: Option<String>,
    /// Changes, each of which alone would make every task meet its deadline.
    pub fixes: Vec<String>,
    /// What a reader must know, one line each.
    pub notes: Vec<String>,
}

/// Analyses a task set, with the latency of a recorded stage if one is given.
///
/// The recording must have been made without these tasks: what they do to each other is computed here.
///
/// # Errors
/// [`Error::Recording`] if the recording lacks the stage.
pub fn analyse(set: &TaskSet, latency: Option<(&Input, Stage)>) -> Result<Analysis, Error> {
    let count = set.tasks.len();
    let zero = vec![0u64; count];
    let global = global_on(set, &zero);
    let mut notes = set.notes.clone();
    notes.extend(assumptions(set));
    if let Some(tests) = &global {
        notes.push(format!(
            "deadline tasks and reservations run on any of the {} CPUs, as the kernel serves them: their `cpu` counts only with `partitioned = true`",
            tests.cpus
        ));
    }
    let figures = match latency {
        Some((input, stage)) => latency_figures(set, input, stage, &mut notes)?,
        None => vec![None; count],
    };
    let plain = outcomes(set, &zero);
    let pseudo = Charged::of(set, &figures, |figure| figure.pseudo_ns);
    let blocking = Charged::of(set, &figures, |figure| figure.charged_ns);
    if set.tasks.iter().any(|task| task.offset_ns > 0) && latency.is_some() {
        notes.push("offsets are ignored where latency is charged, which is safe".to_owned());
    }
    let charged = [pseudo.as_ref(), blocking.as_ref()];
    let Judgement { standing, breaks: breaking, extra_ns, mut verdict } = judge(set, global.as_ref(), &plain, charged)
        .unwrap_or_else(|| Judgement {
            standing: Standing::Schedulable,
            breaks: None,
            extra_ns: zero.clone(),
            verdict: schedulable_in_words(latency.is_some(), &figures),
        });
    let with = |found: &Option<Charged>, index: usize| found.as_ref().map(|found| found.outcomes[index]);
    let tasks = (0..count)
        .map(|index| TaskAnalysis {
            task: set.tasks[index].clone(),
            plain: plain[index],
            latency: figures[index].clone(),
            with_pseudo: with(&pseudo, index),
            with_blocking: with(&blocking, index),
            bears_ns: bearable(set, index),
        })
        .collect();
    let admission = kernel_admission(set);
    if admission.as_ref().is_some_and(|admission| admission.refused.is_some()) {
        verdict.push_str("; but the kernel will not admit it");
    }
    verdict = with_assumed_use(verdict, latency.map(|latency| latency.0), &plain);
    notes.extend(admission.as_ref().and_then(|admission| admission_note(set, admission)));
    Ok(Analysis {
        standing,
        verdict,
        cpus: cpus(set, &zero),
        tasks,
        reservations: set.reservations.iter().map(|reservation| reservation_analysis(set, reservation)).collect(),
        admission,
        global,
        breaks: breaking.map(|index| set.tasks[index].name.clone()),
        fixes: breaking.map_or_else(Vec::new, |index| fixes(set, &extra_ns, index)),
        notes,
    })
}

/// The verdict on a set without latency, and, if its deadline tasks and reservations share CPUs, what tests for global
/// EDF say. [`analyse`] begins with this; callers that ask about many sets use it directly.
pub fn standing(set: &TaskSet) -> (Standing, Option<GlobalEdf>) {
    let zero = vec![0u64; set.tasks.len()];
    let global = global_on(set, &zero);
    let judged = judge(set, global.as_ref(), &outcomes(set, &zero), [None, None]);
    (judged.map_or(Standing::Schedulable, |judged| judged.standing), global)
}

/// The verdict on a set.
struct Judgement {
    standing: Standing,
    /// The first task that misses its deadline.
    breaks: Option<usize>,
    /// The latency charged to each task when it does, ns.
    extra_ns: Vec<u64>,
    verdict: String,
}

/// The verdict on a set that is not certainly schedulable: without latency, with that of the long run (`pseudo`), and
/// with one that may come at any time (`blocking`).
fn judge(
    set: &TaskSet,
    global: Option<&GlobalEdf>,
    plain: &[Outcome],
    [pseudo, blocking]: [Option<&Charged>; 2],
) -> Option<Judgement> {
    let none = || vec![0u64; set.tasks.len()];
    if let Some(index) = breaks(plain) {
        let verdict = late_in_words(set, global, index, &plain[index]) + &late_too_in_words(set, plain, index);
        let standing = Standing::NotSchedulable;
        return Some(Judgement { standing, breaks: Some(index), extra_ns: none(), verdict });
    }
    // If deadline tasks move between CPUs, nobody knows which task they make late.
    let asked = utilization(set.tasks.iter().map(|task| (task.compute_ns, task.period_ns)));
    if let Some(tests) = global.filter(|tests| asked > f64::from(tests.cpus) * (1.0 + 1e-12)) {
        let verdict =
            format!("not schedulable: all tasks together ask for {asked:.2} CPUs, and there are {}", tests.cpus);
        return Some(Judgement { standing: Standing::NotSchedulable, breaks: None, extra_ns: none(), verdict });
    }
    if plain.iter().any(|outcome| outcome.meets.is_none()) {
        let verdict = unknown_in_words(global, leaves_out_offsets(set));
        return Some(Judgement { standing: Standing::Unknown, breaks: None, extra_ns: none(), verdict });
    }
    let first_late = |charged: Option<&Charged>| {
        let charged = charged?;
        let index = breaks(&charged.outcomes)?;
        Some((index, charged.extra_ns.clone(), late_too_in_words(set, &charged.outcomes, index)))
    };
    if let Some((index, extra_ns, others)) = first_late(pseudo) {
        let name = &set.tasks[index].name;
        let verdict =
            format!("not schedulable with the measured latency: `{name}` does not keep up even on average{others}");
        return Some(Judgement { standing: Standing::NotSchedulable, breaks: Some(index), extra_ns, verdict });
    }
    // A deadline that no test covers is not shown to be met.
    let not_shown = |charged: Option<&Charged>| {
        charged.is_some_and(|charged| charged.outcomes.iter().any(|outcome| outcome.meets.is_none()))
    };
    let late = if not_shown(pseudo) { None } else { first_late(blocking) };
    if late.is_none() && (not_shown(pseudo) || not_shown(blocking)) {
        let verdict = unknown_with_latency_in_words(!not_shown(pseudo));
        return Some(Judgement { standing: Standing::Unknown, breaks: None, extra_ns: none(), verdict });
    }
    let (index, extra_ns, others) = late?;
    let verdict = format!(
        "schedulable on average: `{}` keeps up, but is late when a latency of its permitted rate ({}) meets it{others}",
        set.tasks[index].name,
        format_ns(extra_ns[index])
    );
    Some(Judgement { standing: Standing::OnAverage, breaks: Some(index), extra_ns, verdict })
}

/// How the tasks fare when latency is charged to them.
struct Charged {
    /// To each of them, ns.
    extra_ns: Vec<u64>,
    outcomes: Vec<Outcome>,
}

impl Charged {
    fn of(set: &TaskSet, figures: &[Option<LatencyFigure>], ns: fn(&LatencyFigure) -> u64) -> Option<Charged> {
        let extra_ns: Vec<u64> = figures.iter().map(|figure| figure.as_ref().map(ns)).collect::<Option<_>>()?;
        Some(Charged { outcomes: outcomes(set, &extra_ns), extra_ns })
    }
}

/// The first task that is late.
fn breaks(outcomes: &[Outcome]) -> Option<usize> {
    outcomes.iter().position(|outcome| outcome.meets == Some(false))
}

/// Each task's latency, from a recorded stage, and notes on the recording.
fn latency_figures(
    set: &TaskSet,
    input: &Input,
    stage: Stage,
    notes: &mut Vec<String>,
) -> Result<Vec<Option<LatencyFigure>>, Error> {
    notes.extend(input.cautions.iter().cloned());
    let tails = input.tails_of_waits(stage);
    let figure = |task: &Task| latency_figure(input, &tails, stage, task.permitted_s, task.period_ns).map(Some);
    let figures = set.tasks.iter().map(figure).collect::<Result<Vec<_>, Error>>()?;
    notes.push(format!(
        "latency: {} of {} {}, recorded without these tasks",
        stage.name(),
        input.measure,
        under_load(&input.load)
    ));
    notes.extend(longest_seen_in_words(&figures));
    Ok(figures)
}

fn reservation_analysis(set: &TaskSet, reservation: &Reservation) -> ReservationAnalysis {
    let inside = set.tasks.iter().filter(|task| task.reservation.as_ref() == Some(&reservation.name));
    ReservationAnalysis {
        reservation: reservation.clone(),
        fixed_blackout_ns: reservation.fixed_slot().blackout_ns(),
        floating_blackout_ns: reservation.floating_budget().blackout_ns(),
        asked: utilization(inside.map(|task| (task.compute_ns, task.period_ns))),
    }
}

fn kernel_admission(set: &TaskSet) -> Option<Admission> {
    let tasks = set.tasks.iter().filter(|task| task.policy == Policy::Deadline).map(|task| DeadlineParameters {
        runtime_ns: task.compute_ns,
        deadline_ns: task.deadline_ns,
        period_ns: task.period_ns,
    });
    let reserved = set.reservations.iter().map(|reservation| DeadlineParameters {
        runtime_ns: reservation.budget_ns,
        deadline_ns: reservation.period_ns,
        period_ns: reservation.period_ns,
    });
    let all: Vec<DeadlineParameters> = tasks.chain(reserved).collect();
    (!all.is_empty()).then(|| admission(&all, set.limits))
}

fn cpus(set: &TaskSet, zero: &[u64]) -> Vec<CpuAnalysis> {
    let is_global = global_on(set, zero).is_some();
    let mut numbers: Vec<u32> = set.tasks.iter().map(|task| task.cpu).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let analyse_cpu = |cpu: u32| {
        let indices: Vec<usize> = (0..set.tasks.len()).filter(|&index| set.tasks[index].cpu == cpu).collect();
        let tasks: Vec<&Task> = indices.iter().map(|&index| &set.tasks[index]).collect();
        let reserved: Vec<&Reservation> = set.reservations.iter().filter(|found| found.cpu == cpu).collect();
        let free = || tasks.iter().filter(|task| task.reservation.is_none());
        let loads: Vec<(u64, u64)> = free().map(|task| (task.compute_ns, task.period_ns)).collect();
        let budgets = reserved.iter().map(|reservation| (reservation.budget_ns, reservation.period_ns));
        let rate_monotonic = tasks
            .iter()
            .all(|left| tasks.iter().all(|right| left.period_ns >= right.period_ns || left.priority >= right.priority))
            && (tasks.iter().all(|task| task.priority.is_some()) || tasks.iter().all(|task| task.priority.is_none()));
        let plain = reserved.is_empty()
            && rate_monotonic
            && tasks.iter().all(|task| {
                task.policy == Policy::Fixed
                    && task.deadline_ns >= task.period_ns
                    && task.jitter_ns == 0
                    && task.blocking_ns == 0
            });
        let urgent = !reserved.is_empty() || tasks.iter().any(|task| task.policy == Policy::Deadline);
        CpuAnalysis {
            cpu,
            utilization: utilization(loads.iter().copied().chain(budgets)),
            liu_layland: plain.then(|| liu_layland(loads.len())),
            hyperbolic: plain.then(|| hyperbolic(loads.iter().copied())),
            edf: (urgent && !is_global).then(|| demand_on(set, cpu, &indices, zero)),
        }
    };
    numbers.into_iter().map(analyse_cpu).collect()
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
