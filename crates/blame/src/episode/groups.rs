//! Control groups: which of them ran out of quota, and whose threads have how much weight.

use crate::episode::span::{Doing, StateSpan};
use crate::episode::subject::Subject;
use punctual_recording::Episode;
use punctual_recording::episode::{Event, EventKind, Group};

/// Weights of two normal threads where they compete: of threads in one group, or of the groups that part them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Of the one that had the CPU, as the scheduler counts: 1,024 is usual.
    pub weight: u64,
    /// Of the one that waited.
    pub waiting_weight: u64,
}

/// The scheduler's weights of nice -20 to 19.
const NICE_WEIGHTS: [u64; 40] = [
    88_761, 71_755, 56_483, 46_273, 36_291, 29_154, 23_254, 18_705, 14_949, 11_916, 9_548, 7_620, 6_100, 4_904, 3_906,
    3_121, 2_501, 1_991, 1_586, 1_277, 1_024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];
/// The priority number of nice -20.
const FIRST_NORMAL: i16 = 100;

/// The weight of a normal thread by its priority number.
fn weight_of(priority: i16) -> u64 {
    let nice = usize::try_from(priority - FIRST_NORMAL).unwrap_or(0);
    NICE_WEIGHTS[nice.min(NICE_WEIGHTS.len() - 1)]
}

/// The groups that count on the way to one, with the weight of each: those without a weight of their own do not.
fn levels(group: Option<&Group>) -> Vec<(&str, u64)> {
    let Some(group) = group else { return Vec::new() };
    let components = group.path.split('/').filter(|component| !component.is_empty());
    components.zip(group.weights.iter().copied()).take_while(|(_, weight)| *weight > 0).collect()
}

/// What two normal threads have, each given by its number and priority: the one that runs, and the one that waits.
pub(crate) fn turn(episode: &Episode, runs: (u32, i16), waits: (u32, i16)) -> Turn {
    let (its, waiting) = (levels(episode.group_of(runs.0)), levels(episode.group_of(waits.0)));
    let common = its.iter().zip(&waiting).take_while(|(its, waiting)| its.0 == waiting.0).count();
    let weight = |levels: &[(&str, u64)], priority| levels.get(common).map_or(weight_of(priority), |level| level.1);
    Turn { weight: weight(&its, runs.1), waiting_weight: weight(&waiting, waits.1) }
}

/// Whether a group is another one or lies in it.
fn is_within(path: &str, outer: &str) -> bool {
    outer == "/" || path == outer || path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// A thread's waiting, cut where its group runs out of quota and is given new one: in between it waits for that, whoever
/// runs.
pub(crate) fn cut_by_quota(episode: &Episode, subject: &Subject<'_>, spans: Vec<StateSpan>) -> Vec<StateSpan> {
    let begins = begins(episode, subject);
    if begins.is_empty() {
        return spans;
    }
    let mut cut = Vec::with_capacity(spans.len());
    for span in spans {
        if !matches!(span.doing, Doing::Waiting { .. }) {
            cut.push(span);
            continue;
        }
        let mut without: Vec<(u64, u64, u32)> =
            begins.iter().filter_map(|begin| within(episode, begin, &span)).collect();
        without.sort_unstable();
        let mut reached = span.start_ns;
        for (from, to, name) in without {
            let from = from.max(reached);
            if from >= to {
                continue;
            }
            if from > reached {
                cut.push(StateSpan { start_ns: reached, end_ns: from, ..span });
            }
            cut.push(StateSpan { start_ns: from, end_ns: to, doing: Doing::OutOfQuota { name }, ..span });
            reached = to;
        }
        if reached < span.end_ns {
            cut.push(StateSpan { start_ns: reached, ..span });
        }
    }
    cut
}

/// The events that say that the thread's group is out of quota: by the thread itself, or by another one in there; each
/// with when the thread has its CPU next, which ends that.
fn begins<'a>(episode: &'a Episode, subject: &Subject<'_>) -> Vec<(&'a Event, u64)> {
    let own = episode.group_of(subject.tid);
    let concerns = |event: &&Event| {
        event.kind == EventKind::OutOfQuota
            && (event.value == u64::from(subject.tid)
                || own.is_some_and(|own| is_within(&own.path, episode.name(event.name))))
    };
    let runs_next = |after_ns: u64| {
        let runs = episode.events.iter().filter(|event| {
            event.kind == EventKind::Switch && event.value == u64::from(subject.tid) && event.at_ns > after_ns
        });
        runs.map(|event| event.at_ns).min().unwrap_or(u64::MAX)
    };
    episode.events.iter().filter(concerns).map(|event| (event, runs_next(event.at_ns))).collect()
}

/// The part of a span of waiting in which the group is out of quota, and the name of that group.
fn within(episode: &Episode, (begin, runs_next): &(&Event, u64), span: &StateSpan) -> Option<(u64, u64, u32)> {
    let cpu = (begin.extra >> 32) as u32;
    if cpu != span.cpu || begin.at_ns >= span.end_ns {
        return None;
    }
    let refills = episode.events.iter().filter(|event| {
        let is_without = event.extra.checked_shr(cpu).is_some_and(|cpus| cpus & 1 == 1);
        event.kind == EventKind::QuotaRefill && event.name == begin.name && event.at_ns > begin.at_ns && !is_without
    });
    let refilled = refills.map(|event| event.at_ns).min().unwrap_or(u64::MAX);
    let (from, to) = (begin.at_ns.max(span.start_ns), refilled.min(*runs_next).min(span.end_ns));
    (from < to).then_some((from, to, begin.name))
}
