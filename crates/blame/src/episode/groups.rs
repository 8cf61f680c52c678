//! Control groups: which of them ran out of quota, and how much weight threads have.

use crate::episode::index::Index;
use crate::episode::span::{Doing, StateSpan};
use crate::episode::subject::Subject;
use punctual_recording::Episode;
use punctual_recording::episode::{EventKind, Group, IDLE_PRIORITY};
use std::collections::BTreeMap;

/// Weights of two normal threads where they compete: of threads in one group, or of the groups that separate them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// That of the one that had the CPU, in the scheduler's units: 1,024 is usual.
    pub weight: u64,
    /// That of the one that waited.
    pub waiting_weight: u64,
    /// Whether that is the weight of its session's automatic group, in which alone its nice value counts; `None` if its
    /// group is not known.
    pub waits_in_session: Option<bool>,
}

/// The kernel's name for the groups that it makes by itself, for sessions; they are just below the root.
pub(crate) const AUTOMATIC: &str = "/autogroup-";

/// The scheduler's weight of what runs when nobody else wants the CPU: a thread of `SCHED_IDLE`, a group with `cpu.idle`.
pub const IDLE_WEIGHT: u64 = 3;

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
    if priority >= IDLE_PRIORITY {
        return IDLE_WEIGHT;
    }
    let nice = usize::try_from(priority - FIRST_NORMAL).unwrap_or(0);
    NICE_WEIGHTS[nice.min(NICE_WEIGHTS.len() - 1)]
}

/// The groups that count on the way to one, with the weight of each: those without a weight of their own do not.
fn levels(group: Option<&Group>) -> Vec<(&str, u64)> {
    let Some(group) = group else { return Vec::new() };
    let components = group.path.split('/').filter(|component| !component.is_empty());
    components.zip(group.weights.iter().copied()).take_while(|(_, weight)| *weight > 0).collect()
}

/// What weights two normal threads have, each given by its number and priority: the one that runs, and the one that waits.
pub(crate) fn turn(index: &Index<'_>, runs: (u32, i16), waits: (u32, i16)) -> Turn {
    let (its, waiting) = (levels(index.group_of(runs.0)), levels(index.group_of(waits.0)));
    let common = its.iter().zip(&waiting).take_while(|(its, waiting)| its.0 == waiting.0).count();
    let weight = |levels: &[(&str, u64)], priority| levels.get(common).map_or(weight_of(priority), |level| level.1);
    let is_session = waiting.get(common).is_some_and(|(name, _)| name.starts_with(&AUTOMATIC[1..]));
    Turn {
        weight: weight(&its, runs.1),
        waiting_weight: weight(&waiting, waits.1),
        waits_in_session: index.group_of(waits.0).map(|_| is_session),
    }
}

/// Whether a group is another one or is inside it.
fn is_within(path: &str, outer: &str) -> bool {
    outer == "/" || path == outer || path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// A thread's waiting, cut where its group runs out of quota and where it gets new quota: in between it waits for that,
/// whoever runs. Quota is that of normal threads: one that is in real time, or is lent such a priority, needs none.
pub(crate) fn cut_by_quota(
    episode: &Episode,
    index: &Index<'_>,
    subject: &Subject<'_>,
    spans: Vec<StateSpan>,
) -> Vec<StateSpan> {
    let throttled = throttled(episode, index, subject);
    if throttled.is_empty() {
        return spans;
    }
    let mut cut = Vec::with_capacity(spans.len());
    for span in spans {
        if !matches!(span.doing, Doing::Waiting { .. }) || span.priority < FIRST_NORMAL {
            cut.push(span);
            continue;
        }
        let mut without: Vec<(u64, u64, u32)> =
            throttled.get(&span.cpu).into_iter().flat_map(|of_cpu| of_cpu.within(&span)).collect();
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

/// When the groups of a thread were out of quota on a CPU: from, to, and the name of the group.
#[derive(Default)]
struct Throttled {
    /// By their beginnings.
    times: Vec<(u64, u64, u32)>,
    /// The latest end among each and those before it.
    latest: Vec<u64>,
}

impl Throttled {
    /// Those that overlap a span, cut to it.
    fn within(&self, span: &StateSpan) -> impl Iterator<Item = (u64, u64, u32)> {
        let first = self.latest.partition_point(|latest| *latest <= span.start_ns);
        let end = self.times.partition_point(|(from, ..)| *from < span.end_ns);
        let cut = |&(from, to, name): &(u64, u64, u32)| {
            let (from, to) = (from.max(span.start_ns), to.min(span.end_ns));
            (from < to).then_some((from, to, name))
        };
        self.times.get(first..end.max(first)).unwrap_or_default().iter().filter_map(cut)
    }
}

/// When the thread's group was out of quota, by CPU. Events say so, for the thread itself or for another one in the
/// group; it ends when the thread next has its CPU, and when there is new quota.
fn throttled(episode: &Episode, index: &Index<'_>, subject: &Subject<'_>) -> BTreeMap<u32, Throttled> {
    let own = index.group_of(subject.tid).filter(|_| !index.has_changed_group(subject.tid));
    let mut refills = Refills { episode, known: BTreeMap::new() };
    let mut by_cpu: BTreeMap<u32, Throttled> = BTreeMap::new();
    let mut is_own: BTreeMap<u32, bool> = BTreeMap::new();
    for begin in episode.events.iter().filter(|event| event.kind == EventKind::OutOfQuota) {
        let mut of_group = || {
            own.is_some_and(|own| {
                *is_own.entry(begin.name).or_insert_with(|| is_within(&own.path, episode.name(begin.name)))
            })
        };
        if begin.value != u64::from(subject.tid) && !of_group() {
            continue;
        }
        let cpu = (begin.extra >> 32) as u32;
        let runs_next = index.next_switch_to(subject.tid, begin.at_ns);
        let until = runs_next.unwrap_or(u64::MAX).min(refills.next(begin.name, cpu, begin.at_ns));
        by_cpu.entry(cpu).or_default().times.push((begin.at_ns, until, begin.name));
    }
    for throttled in by_cpu.values_mut() {
        throttled.times.sort_unstable();
        let mut latest = 0;
        throttled.latest = throttled
            .times
            .iter()
            .map(|(_, to, _)| {
                latest = latest.max(*to);
                latest
            })
            .collect();
    }
    by_cpu
}

/// When groups were given new quota, by the position of their names and by CPU, as far as somebody asked.
struct Refills<'a> {
    episode: &'a Episode,
    known: BTreeMap<(u32, u32), Vec<u64>>,
}

impl Refills<'_> {
    /// When a group next has quota on a CPU.
    fn next(&mut self, name: u32, cpu: u32, after_ns: u64) -> u64 {
        // No other CPU is said to have none.
        let cpu = cpu.min(64);
        let times = self.known.entry((name, cpu)).or_insert_with(|| {
            let refills = self.episode.events.iter().filter(|event| {
                let is_without = event.extra.checked_shr(cpu).is_some_and(|cpus| cpus & 1 == 1);
                event.kind == EventKind::QuotaRefill && event.name == name && !is_without
            });
            let mut times: Vec<u64> = refills.map(|event| event.at_ns).collect();
            times.sort_unstable();
            times
        });
        times.get(times.partition_point(|at_ns| *at_ns <= after_ns)).copied().unwrap_or(u64::MAX)
    }
}
