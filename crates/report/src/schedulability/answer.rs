//! The answer of `punctual schedulability`.

use super::share;
use crate::answer::Answer;
use punctual_forecast::schedulability::{Analysis, CpuAnalysis, Edf, Outcome, ReservationAnalysis, TaskAnalysis};
use serde::Serialize;

/// The analysis of a task set.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SchedulabilityAnswer<'a> {
    schema: &'static str,
    verdict: &'a str,
    exit_code: u8,
    standing: &'static str,
    breaks: Option<&'a str>,
    fixes: &'a [String],
    notes: &'a [String],
    tasks: Vec<TaskRow<'a>>,
    cpus: Vec<CpuRow>,
    reservations: Vec<ReservationRow<'a>>,
    admission: Option<AdmissionRow<'a>>,
    global_edf: Option<GlobalRow>,
}

impl<'a> SchedulabilityAnswer<'a> {
    /// The answer for programs.
    pub fn new(analysis: &'a Analysis) -> SchedulabilityAnswer<'a> {
        let admission = analysis.admission.as_ref().map(|admission| AdmissionRow {
            admitted: admission.refused.is_none(),
            refused: admission.refused.as_ref().map(|(index, _)| *index),
            reason: admission.refused.as_ref().map(|(_, reason)| reason.as_str()),
            asked_share: share(admission.asked),
            available_share: share(admission.available),
            should: EdfRow::new(&admission.should),
        });
        SchedulabilityAnswer {
            schema: "punctual.schedulability/1",
            verdict: &analysis.verdict,
            exit_code: 0,
            standing: analysis.standing.name(),
            breaks: analysis.breaks.as_deref(),
            fixes: &analysis.fixes,
            notes: &analysis.notes,
            tasks: analysis.tasks.iter().map(TaskRow::new).collect(),
            cpus: analysis.cpus.iter().map(CpuRow::new).collect(),
            reservations: analysis.reservations.iter().map(ReservationRow::new).collect(),
            admission,
            global_edf: analysis.global.as_ref().map(|global| GlobalRow {
                cpus: global.cpus,
                density: global.density,
                interference: global.interference,
                response_times: global.response,
            }),
        }
    }
}

/// What published tests say about deadline tasks and reservations that share several CPUs: whether each shows that all
/// deadlines are met.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GlobalRow {
    cpus: u32,
    density: bool,
    interference: bool,
    response_times: bool,
}

impl Answer for SchedulabilityAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// One analysis of a task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OutcomeRow {
    analysis: &'static str,
    response_ns: Option<u64>,
    fixed_slot_response_ns: Option<u64>,
    meets: Option<bool>,
}

impl OutcomeRow {
    fn new(outcome: &Outcome) -> OutcomeRow {
        OutcomeRow {
            analysis: outcome.analysed.name(),
            response_ns: outcome.response_ns,
            fixed_slot_response_ns: outcome.fixed_slot_ns,
            meets: outcome.meets,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TaskRow<'a> {
    task: &'a str,
    cpu: u32,
    period_ns: u64,
    compute_ns: u64,
    deadline_ns: u64,
    priority: Option<u32>,
    reservation: Option<&'a str>,
    without_latency: OutcomeRow,
    with_pseudo_worst_case: Option<OutcomeRow>,
    with_blocking: Option<OutcomeRow>,
    bears_ns: Option<u64>,
    latency: Option<LatencyRow<'a>>,
}

/// The measured latency that a task meets.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LatencyRow<'a> {
    permitted_s: u64,
    compression: Option<f64>,
    low_ns: Option<u64>,
    estimate_ns: Option<u64>,
    high_ns: Option<u64>,
    charged_ns: u64,
    is_longest_seen: bool,
    veto: Option<&'a str>,
    measure_further_s: Option<f64>,
    mean_ns: u64,
    activations: f64,
    pseudo_worst_case_ns: u64,
}

impl<'a> TaskRow<'a> {
    fn new(found: &'a TaskAnalysis) -> TaskRow<'a> {
        let task = &found.task;
        let ns = |value: Option<f64>| value.map(|value| value.max(0.0) as u64);
        let latency = found.latency.as_ref().map(|figure| LatencyRow {
            permitted_s: figure.permitted_s,
            compression: figure.compression,
            low_ns: ns(figure.at_rate.low),
            estimate_ns: ns(figure.at_rate.value),
            high_ns: ns(figure.at_rate.high),
            charged_ns: figure.charged_ns,
            is_longest_seen: figure.is_longest_seen,
            veto: figure.veto.as_deref(),
            measure_further_s: figure.measure_further_s,
            mean_ns: figure.mean_ns,
            activations: figure.activations,
            pseudo_worst_case_ns: figure.pseudo_ns,
        });
        TaskRow {
            task: &task.name,
            cpu: task.cpu,
            period_ns: task.period_ns,
            compute_ns: task.compute_ns,
            deadline_ns: task.deadline_ns,
            priority: task.priority,
            reservation: task.reservation.as_deref(),
            without_latency: OutcomeRow::new(&found.plain),
            with_pseudo_worst_case: found.with_pseudo.as_ref().map(OutcomeRow::new),
            with_blocking: found.with_blocking.as_ref().map(OutcomeRow::new),
            bears_ns: found.bears_ns,
            latency,
        }
    }
}

/// What earliest deadline first makes of it. `schedulable` is `null` if nobody knows; the window in which more is
/// asked for than fits is given only if it is not schedulable, and `null` if there is more than a CPU's worth.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EdfRow {
    schedulable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_ns: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    demand_ns: Option<Option<u64>>,
}

impl EdfRow {
    fn new(edf: &Edf) -> EdfRow {
        let (schedulable, window_ns, demand_ns) = match *edf {
            Edf::Schedulable => (Some(true), None, None),
            Edf::Overrun { window_ns, demand_ns } => (Some(false), Some(Some(window_ns)), Some(Some(demand_ns))),
            Edf::Overloaded => (Some(false), Some(None), Some(None)),
            Edf::Unknown => (None, None, None),
        };
        EdfRow { schedulable, window_ns, demand_ns }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CpuRow {
    cpu: u32,
    utilization: f64,
    liu_layland_bound: Option<f64>,
    hyperbolic_product: Option<f64>,
    edf: Option<EdfRow>,
}

impl CpuRow {
    fn new(found: &CpuAnalysis) -> CpuRow {
        CpuRow {
            cpu: found.cpu,
            utilization: found.utilization,
            liu_layland_bound: found.liu_layland,
            hyperbolic_product: found.hyperbolic,
            edf: found.edf.as_ref().map(EdfRow::new),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReservationRow<'a> {
    reservation: &'a str,
    cpu: u32,
    budget_ns: u64,
    period_ns: u64,
    asked_share: f64,
    fixed_slot_blackout_ns: u64,
    floating_budget_blackout_ns: u64,
}

impl<'a> ReservationRow<'a> {
    fn new(found: &'a ReservationAnalysis) -> ReservationRow<'a> {
        ReservationRow {
            reservation: &found.reservation.name,
            cpu: found.reservation.cpu,
            budget_ns: found.reservation.budget_ns,
            period_ns: found.reservation.period_ns,
            asked_share: found.asked,
            fixed_slot_blackout_ns: found.fixed_blackout_ns,
            floating_budget_blackout_ns: found.floating_blackout_ns,
        }
    }
}

/// Whether the kernel would take the reservations.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AdmissionRow<'a> {
    admitted: bool,
    refused: Option<usize>,
    reason: Option<&'a str>,
    asked_share: f64,
    available_share: f64,
    should: EdfRow,
}
