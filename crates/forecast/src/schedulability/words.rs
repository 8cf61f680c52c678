//! The sentences of an answer about a task set.

use super::admission::Admission;
use super::edf::Edf;
use super::global::GlobalEdf;
use super::outcome::{Analysed, Outcome, leaves_out_offsets};
use super::pseudo::LatencyFigure;
use super::tasks::TaskSet;
use crate::answer::assumed_use;
use crate::{Input, format_seconds};
use punctual_recording::format_ns;

/// A usual tick of the kernel's clock, ns.
const TICK_NS: u64 = 4_000_000;

/// The most tasks that a verdict names beside the first.
const MAX_NAMED: usize = 3;

/// What the reader must know about offsets and short budgets.
pub(super) fn assumptions(set: &TaskSet) -> impl Iterator<Item = String> {
    let offsets = leaves_out_offsets(set).then_some(
        "offsets count only on CPUs where all tasks have fixed priorities, no two the same, deadlines within their periods, and neither \
         jitter nor blocking: elsewhere tasks are assumed to start together",
    );
    let is_short = set.reservations.iter().any(|reservation| reservation.budget_ns < TICK_NS);
    let budgets = is_short.then_some(
        "a kernel that enforces budgets at its tick (4 ms at 250 Hz) may serve a budget shorter than that up to a tick later than a \
         floating budget allows for",
    );
    offsets.into_iter().chain(budgets).map(str::to_owned)
}

/// Which task is late, and by what analysis.
pub(super) fn late_in_words(set: &TaskSet, global: Option<&GlobalEdf>, index: usize, outcome: &Outcome) -> String {
    let name = &set.tasks[index].name;
    match outcome.analysed {
        Analysed::Demand if global.is_some() => {
            format!("not schedulable: the CPUs that `{name}` shares cannot serve all that their deadline tasks ask for")
        }
        Analysed::Demand => format!("not schedulable: EDF cannot meet the deadlines of `{name}`'s CPU"),
        _ => {
            let response = outcome.response_ns;
            let response = response.map_or("has no bound".to_owned(), |ns| format!("may take {}", format_ns(ns)));
            let deadline = format_ns(set.tasks[index].deadline_ns);
            format!("not schedulable: `{name}` {response} and must be done in {deadline}")
        }
    }
}

/// Which other tasks are late, to follow the verdict on the first one. Where EDF cannot serve a CPU, the verdict is about all
/// of its tasks already.
pub(super) fn late_too_in_words(set: &TaskSet, outcomes: &[Outcome], first: usize) -> String {
    let is_late_too = |index: usize, outcome: &Outcome| {
        index != first && outcome.meets == Some(false) && !matches!(outcome.analysed, Analysed::Demand)
    };
    let late = outcomes.iter().enumerate().filter(|(index, outcome)| is_late_too(*index, outcome));
    let mut names: Vec<String> = late.map(|(index, _)| format!("`{}`", set.tasks[index].name)).collect();
    let unnamed = names.len().saturating_sub(MAX_NAMED);
    if unnamed > 0 {
        names.truncate(MAX_NAMED);
        names.push(format!("{unnamed} more"));
    }
    match (names.pop(), names.as_slice()) {
        (None, _) => String::new(),
        (Some(one), []) => format!("; {one} is late, too"),
        (Some(last), others) => format!("; {} and {last} are late, too", others.join(", ")),
    }
}

/// Why it is not known whether the set is schedulable.
pub(super) fn unknown_in_words(global: Option<&GlobalEdf>, leaves_out_offsets: bool) -> String {
    match global {
        Some(tests) => format!(
            "unknown: no test shows that global EDF on {} CPUs meets every deadline (nor that it misses one); with a CPU each \
             (exclusive cpusets, `partitioned = true`) it may be known",
            tests.cpus
        ),
        None if leaves_out_offsets => {
            "unknown: without the offsets a deadline could be missed, and they are not taken into account".to_owned()
        }
        None => "unknown: the set is too complex to be analysed".to_owned(),
    }
}

/// Says that no test shows whether deadlines are met with the measured latency, although they are met without it, and
/// perhaps on average.
pub(super) fn unknown_with_latency_in_words(is_met_on_average: bool) -> String {
    let (met, open) = match is_met_on_average {
        true => ("without latency and on average", "the latency of the permitted rate charged to every activation"),
        false => ("without latency", "the average latency charged to every activation"),
    };
    format!("unknown: every deadline is met {met}; with {open} no test shows it")
}

/// Says that every deadline is met, and what was charged.
pub(super) fn schedulable_in_words(is_measured: bool, figures: &[Option<LatencyFigure>]) -> String {
    let is_unknown = figures.iter().flatten().any(|figure| figure.is_longest_seen);
    let with = match is_measured {
        false => "",
        true if is_unknown => {
            ", with the longest latency seen charged to every activation; that of the permitted rate cannot be told from this recording"
        }
        true => ", with the latency of the permitted rate charged to every activation",
    };
    format!("schedulable: every deadline is met{with}")
}

/// Says why the latency of a permitted rate cannot be told, and how much longer to measure; `None` if it can.
pub(super) fn longest_seen_in_words(figures: &[Option<LatencyFigure>]) -> Option<String> {
    let longest = || figures.iter().flatten().filter(|figure| figure.is_longest_seen);
    longest().next()?;
    let mut reasons: Vec<&str> = Vec::new();
    for reason in longest().filter_map(|figure| figure.veto.as_deref()) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    let further = longest().filter_map(|figure| figure.measure_further_s).reduce(f64::max);
    let more = further.map_or_else(String::new, |s| format!("; measure at least {} more", format_seconds(s)));
    Some(format!(
        "the latency of a permitted rate cannot be told{why}: the longest latency seen is charged in its place, and a longer one may come \
         that often{more}"
    ))
}

/// A verdict with what is assumed of the load's hours, which permitted rates count: it rests on these unless a task is late, or
/// nothing is known, without any latency (`plain`).
pub(super) fn with_assumed_use(verdict: String, latency: Option<&Input>, plain: &[Outcome]) -> String {
    let rests_on = latency.filter(|_| plain.iter().all(|outcome| outcome.meets == Some(true)));
    match rests_on.and_then(|input| assumed_use(&input.load, input.compression())) {
        Some(words) => format!("{verdict}; it is assumed that {words}"),
        None => verdict,
    }
}

/// A note if the kernel's admission differs from what it should be, or refuses.
pub(super) fn admission_note(set: &TaskSet, admission: &Admission) -> Option<String> {
    if let Some((index, reason)) = &admission.refused {
        return Some(format!("the kernel refuses deadline task or reservation {}: {reason}", index + 1));
    }
    match admission.should {
        Edf::Overrun { window_ns, demand_ns } if set.limits.cpus == 1 => Some(format!(
            "the kernel wrongly admits the deadline tasks: within {}, {} must be done",
            format_ns(window_ns),
            format_ns(demand_ns)
        )),
        _ => None,
    }
}
