//! The whole answer about a task set.

use super::admission::{Admission, DeadlineParameters, admission};
use super::bounds::{hyperbolic, liu_layland, utilization};
use super::edf::Edf;
use super::fix::{bearable, fixes};
use super::global::GlobalEdf;
use super::outcome::{Outcome, demand_on, global_on, leaves_out_offsets, outcomes};
use super::pseudo::{LatencyFigure, latency_figure};
use super::tasks::{Policy, Reservation, Task, TaskSet};
use crate::{Error, Input};
use punctual_recording::{Stage, format_ns};

/// How a task set stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Every deadline is met, with the measured latency charged to every activation, if there is one.
    Schedulable,
    /// It keeps up with the latencies that were measured, but a task that meets one of the permitted rate is late.
    OnAverage,
    /// A task breaks.
    NotSchedulable,
    /// An analysis was given up.
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
    /// Which.
    pub cpu: u32,
    /// Computing times over periods, added up; reservations count with their budgets.
    pub utilization: f64,
    /// The bound of Liu and Layland for as many tasks; `None` where it says nothing: other deadlines than periods,
    /// jitter, blocking, reservations, other priorities than rate-monotonic.
    pub liu_layland: Option<f64>,
    /// The hyperbolic product, which may reach 2; `None` likewise.
    pub hyperbolic: Option<f64>,
    /// What EDF makes of its deadline tasks and reservations; `None` where there are none, and where they are served on several CPUs.
    pub edf: Option<Edf>,
}

/// One task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskAnalysis {
    /// The task.
    pub task: Task,
    /// Without any latency.
    pub plain: Outcome,
    /// The measured latency at the task's permitted error rate.
    pub latency: Option<LatencyFigure>,
    /// With the pseudo worst case as blocking.
    pub with_pseudo: Option<Outcome>,
    /// With the latency at the permitted error rate as blocking.
    pub with_blocking: Option<Outcome>,
    /// How much latency it bears, ns; `None` where it breaks without any.
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
    /// How it stands.
    pub standing: Standing,
    /// That in a sentence, with the task that breaks.
    pub verdict: String,
    /// By CPU.
    pub cpus: Vec<CpuAnalysis>,
    /// By task, in the order of the set.
    pub tasks: Vec<TaskAnalysis>,
    /// By reservation, in the order of the set.
    pub reservations: Vec<ReservationAnalysis>,
    /// The kernel's admission of the deadline tasks and reservations; `None` where there are none.
    pub admission: Option<Admission>,
    /// Where deadline tasks and reservations share several CPUs: what published tests for global EDF say.
    pub global: Option<GlobalEdf>,
    /// The name of the first task that breaks.
    pub breaks: Option<String>,
    /// What would each alone make every task meet its deadline.
    pub fixes: Vec<String>,
    /// What a reader must know. One line each.
    pub notes: Vec<String>,
}

/// Analyses a task set, with the latency of a recorded stage where one is given.
///
/// The recording must have been made without these tasks: what they do to each other is computed here.
///
/// # Errors
/// [`Error::Recording`] where the recording lacks the stage.
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
        notes.push("offsets are left out of account where latency is charged, which is safe".to_owned());
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

/// How a set stands without latency, and what tests for global EDF say where its deadline tasks and reservations share CPUs: what [`analyse`]
/// begins with, for those who ask of many sets.
pub fn standing(set: &TaskSet) -> (Standing, Option<GlobalEdf>) {
    let zero = vec![0u64; set.tasks.len()];
    let global = global_on(set, &zero);
    let judged = judge(set, global.as_ref(), &outcomes(set, &zero), [None, None]);
    (judged.map_or(Standing::Schedulable, |judged| judged.standing), global)
}

/// A usual tick of the kernel's clock, ns.
const TICK_NS: u64 = 4_000_000;

/// What must be known of how offsets and short budgets are taken.
fn assumptions(set: &TaskSet) -> impl Iterator<Item = String> {
    let offsets = leaves_out_offsets(set).then_some(
        "offsets count only on CPUs where all tasks have fixed priorities, no two the same, deadlines within their periods, and neither \
         jitter nor blocking: elsewhere tasks are taken to start together",
    );
    let is_short = set.reservations.iter().any(|reservation| reservation.budget_ns < TICK_NS);
    let budgets = is_short.then_some(
        "a kernel that enforces budgets at its tick (4 ms at 250 Hz) may serve a budget shorter than that up to a tick later than a \
         floating budget allows for",
    );
    offsets.into_iter().chain(budgets).map(str::to_owned)
}

/// How a set stands.
struct Judgement {
    standing: Standing,
    /// The first task that breaks.
    breaks: Option<usize>,
    /// What is charged to each task when it does, ns.
    extra_ns: Vec<u64>,
    verdict: String,
}

/// How a set stands that is not schedulable for sure: without latency, with that of the long run (`pseudo`), and with one
/// that may come at any time (`blocking`).
fn judge(
    set: &TaskSet,
    global: Option<&GlobalEdf>,
    plain: &[Outcome],
    [pseudo, blocking]: [Option<&Charged>; 2],
) -> Option<Judgement> {
    let none = || vec![0u64; set.tasks.len()];
    if let Some(index) = breaks(plain) {
        let verdict = late_in_words(set, global, index, &plain[index]);
        let standing = Standing::NotSchedulable;
        return Some(Judgement { standing, breaks: Some(index), extra_ns: none(), verdict });
    }
    // Whom it makes late where deadline tasks move nobody knows.
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
        charged.and_then(|charged| breaks(&charged.outcomes).map(|index| (index, charged.extra_ns.clone())))
    };
    if let Some((index, extra_ns)) = first_late(pseudo) {
        let name = &set.tasks[index].name;
        let verdict = format!("not schedulable with the measured latency: `{name}` does not keep up even on average");
        return Some(Judgement { standing: Standing::NotSchedulable, breaks: Some(index), extra_ns, verdict });
    }
    let (index, extra_ns) = first_late(blocking)?;
    let verdict = format!(
        "schedulable on average: `{}` keeps up, but is late when a latency of its permitted rate ({}) meets it",
        set.tasks[index].name,
        format_ns(extra_ns[index])
    );
    Some(Judgement { standing: Standing::OnAverage, breaks: Some(index), extra_ns, verdict })
}

/// What comes of the tasks when latency is charged to them.
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

/// Each task's, of a recorded stage, and what there is to say of the recording.
fn latency_figures(
    set: &TaskSet,
    input: &Input,
    stage: Stage,
    notes: &mut Vec<String>,
) -> Result<Vec<Option<LatencyFigure>>, Error> {
    notes.extend(input.cautions.iter().cloned());
    let tail = input.tail(stage)?;
    let figure = |task: &Task| latency_figure(input, &tail, stage, task.permitted_s, task.period_ns).map(Some);
    let figures = set.tasks.iter().map(figure).collect::<Result<Vec<_>, Error>>()?;
    notes.push(format!(
        "latency: {} of {} under load {}, recorded without these tasks",
        stage.name(),
        input.measure,
        input.load
    ));
    if figures.iter().flatten().any(|figure| figure.is_longest_seen) {
        let text = "the recording is too short for a permitted rate: the longest latency seen is charged, \
                    and a longer one may come that often";
        notes.push(text.to_owned());
    }
    Ok(figures)
}

fn late_in_words(set: &TaskSet, global: Option<&GlobalEdf>, index: usize, outcome: &Outcome) -> String {
    let name = &set.tasks[index].name;
    match outcome.analysed {
        super::Analysed::Demand if global.is_some() => {
            format!("not schedulable: the CPUs that `{name}` shares cannot do all that their deadline tasks ask for")
        }
        super::Analysed::Demand => format!("not schedulable: EDF cannot meet the deadlines of `{name}`'s CPU"),
        _ => {
            let response = outcome.response_ns;
            let response = response.map_or("has no bound".to_owned(), |ns| format!("may take {}", format_ns(ns)));
            let deadline = format_ns(set.tasks[index].deadline_ns);
            format!("not schedulable: `{name}` {response} and must be done in {deadline}")
        }
    }
}

fn unknown_in_words(global: Option<&GlobalEdf>, leaves_out_offsets: bool) -> String {
    match global {
        Some(tests) => format!(
            "unknown: no test shows that global EDF on {} CPUs meets every deadline (nor that it misses one); with a CPU each \
             (exclusive cpusets, `partitioned = true`) it may be known",
            tests.cpus
        ),
        None if leaves_out_offsets => {
            "unknown: a deadline could be missed if the offsets were not there, and they are not taken into account"
                .to_owned()
        }
        None => "unknown: the set is too intricate to be analysed".to_owned(),
    }
}

fn schedulable_in_words(is_measured: bool, figures: &[Option<LatencyFigure>]) -> String {
    let too_short = figures.iter().flatten().any(|figure| figure.is_longest_seen);
    let with = match is_measured {
        false => "",
        true if too_short => {
            ", with the longest latency seen charged to every activation; the recording is too short to know the permitted one"
        }
        true => ", with the latency of the permitted rate charged to every activation",
    };
    format!("schedulable: every deadline is met{with}")
}

/// Where the kernel's admission is not what it should be, or refuses.
fn admission_note(set: &TaskSet, admission: &Admission) -> Option<String> {
    if let Some((index, reason)) = &admission.refused {
        return Some(format!("the kernel refuses deadline task or reservation {}: {reason}", index + 1));
    }
    match admission.should {
        Edf::Overrun { window_ns, demand_ns } if set.limits.cpus == 1 => Some(format!(
            "the kernel admits the deadline tasks, wrongly: within {}, {} must be done",
            format_ns(window_ns),
            format_ns(demand_ns)
        )),
        _ => None,
    }
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
mod tests {
    use super::*;
    use crate::schedulability::Analysed;
    use crate::testing::{Random, input};

    fn set(text: &str) -> TaskSet {
        TaskSet::parse_toml(text).unwrap()
    }

    const MODEM_AND_AUDIO: &str = r#"
        [[task]]
        name = "modem"
        period = "11.25ms"
        compute = "3.3ms"
        priority = 90
        [[task]]
        name = "audio"
        period = "16ms"
        compute = "2ms"
        priority = 80
    "#;

    #[test]
    fn a_modem_above_audio() {
        let found = analyse(&set(MODEM_AND_AUDIO), None).unwrap();
        assert_eq!(found.standing, Standing::Schedulable);
        let responses: Vec<_> = found.tasks.iter().map(|task| task.plain.response_ns).collect();
        assert_eq!(responses, [Some(3_300_000), Some(5_300_000)]);
        // Nothing ties their releases to each other.
        assert!(found.tasks.iter().all(|task| task.plain.analysed == Analysed::ResponseTime));
        // Blocked for 11.25 - 3.3 ms the modem is just in time; audio bears 16 - 2 - 2 * 3.3.
        let bears: Vec<_> = found.tasks.iter().map(|task| task.bears_ns.unwrap() / 10_000).collect();
        assert_eq!(bears, [794, 739]);
        let cpu = &found.cpus[0];
        assert!(cpu.utilization < cpu.liu_layland.unwrap() && cpu.hyperbolic.unwrap() < 2.0);
        // Neither a deadline task nor a reservation: nothing to ask of EDF.
        assert_eq!(cpu.edf, None);
    }

    #[test]
    fn the_task_that_breaks_and_what_fixes_it() {
        let broken =
            MODEM_AND_AUDIO.replace("priority = 90", "priority = 70").replace("compute = \"2ms\"", "compute = \"9ms\"");
        let found = analyse(&set(&broken), None).unwrap();
        assert_eq!((found.standing, found.breaks.as_deref()), (Standing::NotSchedulable, Some("modem")));
        assert!(
            found.verdict.contains("`modem` may take 12.3 ms") && found.verdict.contains("11.2 ms"),
            "{}",
            found.verdict
        );
        let text = found.fixes.join("\n");
        assert!(text.contains("most urgent first: modem, audio"), "{text}");
        assert!(
            text.contains("`audio` computing for 7.95 ms") && text.contains("`modem` computing for 2.25 ms"),
            "{text}"
        );
        assert!(text.contains("a deadline of 12.3 ms for `modem`"), "{text}");
    }

    #[test]
    fn where_no_order_does_edf_may() {
        // 94 % of the CPU; whichever comes second takes 4.2 or 6.2 ms.
        let text = "[[task]]\nname=\"a\"\nperiod=\"4ms\"\ncompute=\"2ms\"\npriority=2\n\
                    [[task]]\nname=\"b\"\nperiod=\"5ms\"\ncompute=\"2.2ms\"\npriority=1\n";
        let found = analyse(&set(text), None).unwrap();
        assert_eq!(found.breaks.as_deref(), Some("b"));
        assert_eq!(found.fixes[0], "EDF (SCHED_DEADLINE) in place of fixed priorities");
    }

    #[test]
    fn standings_have_names_in_json() {
        let all = [Standing::Schedulable, Standing::OnAverage, Standing::NotSchedulable, Standing::Unknown];
        assert_eq!(all.map(Standing::name), ["schedulable", "on-average", "not-schedulable", "unknown"]);
    }

    #[test]
    fn deadline_tasks_that_the_kernel_admits_wrongly() {
        let text = "cpus = 1\n[[task]]\nname=\"a\"\nperiod=\"100ms\"\ncompute=\"5ms\"\ndeadline=\"5ms\"\npolicy=\"deadline\"\n\
                    [[task]]\nname=\"b\"\nperiod=\"100ms\"\ncompute=\"5ms\"\ndeadline=\"5ms\"\npolicy=\"deadline\"\n";
        let found = analyse(&set(text), None).unwrap();
        assert_eq!(found.standing, Standing::NotSchedulable);
        assert_eq!(found.admission.unwrap().refused, None);
        assert!(found.notes.iter().any(|note| note.contains("wrongly")), "{:?}", found.notes);
    }

    #[test]
    fn a_lone_deadline_task_costs_what_it_computes() {
        let text = "[[task]]\nname=\"d\"\nperiod=\"10ms\"\ncompute=\"3ms\"\npolicy=\"deadline\"\n\
                    [[task]]\nname=\"f\"\nperiod=\"20ms\"\ncompute=\"4ms\"\ndeadline=\"7ms\"\n";
        let found = analyse(&set(text), None).unwrap();
        assert_eq!((found.standing, found.tasks[1].plain.response_ns), (Standing::Schedulable, Some(7_000_000)));
    }

    #[test]
    fn deadline_tasks_share_the_cpus_unless_each_is_a_root_domain() {
        let task = |name: &str, cpu: u32, compute: u32| {
            format!(
                "[[task]]\nname=\"{name}\"\ncpu={cpu}\nperiod=\"10ms\"\ncompute=\"{compute}ms\"\npolicy=\"deadline\"\n"
            )
        };
        // Both on one CPU are too much for it; on two they have one each.
        let pair = task("a", 0, 6) + &task("b", 0, 6);
        let shared = analyse(&set(&format!("cpus = 2\n{pair}")), None).unwrap();
        assert_eq!(shared.standing, Standing::Schedulable);
        assert!(shared.global.as_ref().is_some_and(|global| global.response && global.cpus == 2), "{shared:?}");
        let apart = analyse(&set(&format!("cpus = 2\npartitioned = true\n{pair}")), None).unwrap();
        assert_eq!((apart.standing, apart.global), (Standing::NotSchedulable, None));
        // Three of them no test lets pass, although a CPU each and a third of each other might do.
        let three = format!("cpus = 2\n{}{}", pair, task("c", 1, 6));
        let found = analyse(&set(&three), None).unwrap();
        assert_eq!(found.standing, Standing::Unknown);
        assert!(found.verdict.contains("no test shows that global EDF on 2 CPUs"), "{}", found.verdict);
    }

    #[test]
    fn more_than_all_cpus_is_too_much_whoever_is_late() {
        let task = |name: &str, cpu: u32, rest: &str| {
            format!("[[task]]\nname=\"{name}\"\ncpu={cpu}\nperiod=\"10ms\"\ncompute=\"7ms\"\n{rest}\n")
        };
        let text = task("d", 0, "policy=\"deadline\"") + &task("a", 0, "") + &task("b", 1, "");
        let found = analyse(&set(&text), None).unwrap();
        assert_eq!(found.verdict, "not schedulable: all tasks together ask for 2.10 CPUs, and there are 2");
        assert_eq!((found.standing, found.breaks), (Standing::NotSchedulable, None));
        assert_eq!(standing(&set(&text)).0, Standing::NotSchedulable);
    }

    #[test]
    fn jitter_counts_from_the_wakeup() {
        let text = "[[task]]\nname=\"a\"\nperiod=\"10ms\"\ncompute=\"3ms\"\ndeadline=\"8ms\"\npolicy=\"deadline\"\njitter=\"2ms\"\n\
                    [[task]]\nname=\"b\"\nperiod=\"10ms\"\ncompute=\"3ms\"\ndeadline=\"8ms\"\npolicy=\"deadline\"\n";
        // Woken 2 late it may wait 3 for the other and compute 3: done at 8.
        assert_eq!(analyse(&set(text), None).unwrap().standing, Standing::Schedulable);
        let later = analyse(&set(&text.replace("jitter=\"2ms\"", "jitter=\"2.1ms\"")), None).unwrap();
        assert_eq!((later.standing, later.breaks.as_deref()), (Standing::NotSchedulable, Some("a")));
    }

    #[test]
    fn reservations_under_both_supplies() {
        let text = "[[reservation]]\nname=\"r\"\nbudget=\"1ms\"\nperiod=\"6ms\"\n\
                    [[task]]\nname=\"modem\"\nperiod=\"12.5ms\"\ncompute=\"1.84ms\"\nreservation=\"r\"\n";
        let found = analyse(&set(text), None).unwrap();
        let modem = found.tasks[0].plain;
        // Fixed: 5 + 6 + 0.84; floating: 5 more.
        assert_eq!((modem.fixed_slot_ns, modem.response_ns), (Some(11_840_000), Some(16_840_000)));
        assert_eq!(found.standing, Standing::NotSchedulable);
        // All of its work in one budget: after 2 * (6 - 1.84) ms of nothing it is done in time; with two it is not.
        let fix = "reservation `r` of 1.84 ms in every 6.00 ms (it has 1.00 ms)";
        assert!(found.fixes.iter().any(|found| found == fix), "{:?}", found.fixes);
        assert_eq!(
            (found.reservations[0].fixed_blackout_ns, found.reservations[0].floating_blackout_ns),
            (5_000_000, 10_000_000)
        );
    }

    #[test]
    fn offsets_keep_tasks_apart() {
        let text = "[[task]]\nname=\"a\"\nperiod=\"10ms\"\ncompute=\"4ms\"\ndeadline=\"5ms\"\npriority=2\n\
                    [[task]]\nname=\"b\"\nperiod=\"10ms\"\ncompute=\"4ms\"\ndeadline=\"5ms\"\npriority=1\noffset=\"5ms\"\n";
        assert_eq!(analyse(&set(text), None).unwrap().standing, Standing::Schedulable);
        // Deadline tasks of other CPUs would come between; there are none.
        assert_eq!(analyse(&set(&format!("cpus = 2\n{text}")), None).unwrap().standing, Standing::Schedulable);
        let together = analyse(&set(&text.replace("offset=\"5ms\"", "")), None).unwrap();
        assert_eq!(together.breaks.as_deref(), Some("b"));
    }

    #[test]
    fn offsets_that_are_left_out_leave_open_what_only_they_could_mend() {
        let task = |name: &str, compute: u32, deadline: u32, offset: u32| {
            format!(
                "[[task]]\nname=\"{name}\"\nperiod=\"6ms\"\ncompute=\"{compute}ms\"\ndeadline=\"{deadline}ms\"\npriority=2\noffset=\"{offset}ms\"\n"
            )
        };
        // Played through by hand both are in time: `a` runs from 1 to 5, `b` from 5 to 6.
        let found = analyse(&set(&format!("{}{}", task("a", 4, 4, 1), task("b", 1, 2, 5))), None).unwrap();
        assert_eq!(found.standing, Standing::Unknown, "{}", found.verdict);
        assert!(found.notes.iter().any(|note| note.starts_with("offsets count only")), "{:?}", found.notes);
        // Late by itself, and more than a CPU can do, no offset mends.
        for hopeless in [[task("a", 4, 3, 1), task("b", 1, 2, 5)], [task("a", 4, 6, 1), task("b", 3, 6, 5)]] {
            let found = analyse(&set(&hopeless.concat()), None).unwrap();
            assert_eq!(found.standing, Standing::NotSchedulable, "{}", found.verdict);
        }
    }

    #[test]
    fn a_latency_once_an_hour_is_borne_on_average_only() {
        // Ten hours; stalls of 12 ms twenty times an hour, which the modem's deadline cannot bear.
        let mut random = Random(3);
        let mut late: Vec<(u64, u64)> = (0..200)
            .map(|_| ((random.uniform() * 3.6e13) as u64, 12_000_000 + (random.exponential() * 1e5) as u64))
            .collect();
        late.sort_unstable();
        let input = input(1_000_000, &late, 36_000_000, Some(0));
        let found = analyse(&set(MODEM_AND_AUDIO), Some((&input, Stage::Total))).unwrap();
        assert_eq!((found.standing, found.breaks.as_deref()), (Standing::OnAverage, Some("modem")));
        let figure = found.tasks[0].latency.as_ref().unwrap();
        // An hour in periods of 11.25 ms.
        assert_eq!(figure.activations, 320_000.0);
        assert!(!figure.is_longest_seen && figure.charged_ns > 12_000_000 && figure.pseudo_ns < 50_000);
        assert!(found.tasks[0].with_pseudo.unwrap().response_ns < found.tasks[0].with_blocking.unwrap().response_ns);
    }
}
