//! What a thread was doing: not yet woken, waiting for a CPU, running, blocked.

use crate::episode::groups::cut_by_quota;
use crate::episode::index::Index;
use crate::episode::replay::{CpuTimeline, SWITCH_NS};
use crate::episode::span::{Doing, StateSpan};
use crate::episode::subject::Subject;
use punctual_recording::Episode;
use punctual_recording::episode::{Event, EventKind, IN_INTERRUPT, LEFT_FROZEN, LEFT_STOPPED, LEFT_TRACED};
use std::collections::BTreeMap;

/// Any of these: the thread was stopped.
pub(crate) const STOPPED: u32 = LEFT_STOPPED | LEFT_TRACED | LEFT_FROZEN;

/// A timer that comes this long before it must, ns, uses another clock.
const MAX_SLACK_NS: u64 = 1_000_000_000;

/// Position of the event by which the thread was woken, the first after it was due.
pub(crate) fn waking(episode: &Episode, subject: &Subject<'_>) -> Option<usize> {
    let is_it = |event: &Event| {
        event.kind == EventKind::Waking
            && event.value == u64::from(subject.tid)
            && event.at_ns >= subject.start_ns
            && event.at_ns <= subject.end_ns
    };
    // Events come by time within a CPU, not across them.
    let candidates = episode.events.iter().enumerate().filter(|(_, event)| is_it(event));
    candidates.min_by_key(|(_, event)| event.at_ns).map(|(index, _)| index)
}

/// The story from the beginning of the thread's time to the end, without gaps.
pub(crate) fn story(
    episode: &Episode,
    subject: &Subject<'_>,
    timelines: &BTreeMap<u32, CpuTimeline>,
    index: &Index<'_>,
) -> Vec<StateSpan> {
    let Subject { tid, start_ns: start, end_ns: end, .. } = *subject;
    let mut own: Vec<usize> =
        (0..episode.events.len()).filter(|&index| concerns(&episode.events[index], tid)).collect();
    own.sort_by_key(|&index| episode.events[index].at_ns);
    let own = Own { ahead: ahead(episode, &own, tid), events: own };
    let first = own.events.partition_point(|&index| episode.events[index].at_ns < start);
    let asleep = match subject.is_due {
        true => Doing::Due,
        false => Doing::Blocked { left_state: 0, woken_by: own.ahead[first].waking },
    };
    let first_cpu = waking(episode, subject).map_or(subject.cpu, |index| episode.events[index].cpu);
    let before = State { doing: asleep, cpu: first_cpu, priority: subject.priority };
    let mut now = match own.events.first() {
        Some(&index) if !subject.is_due => before_first(&episode.events[index], subject, before),
        _ => before,
    };
    for position in 0..first {
        now = after(episode, &own, position, subject, now).unwrap_or(now);
    }
    (now.doing, now.cpu) = at_start(now, subject, timelines, asleep);
    let mut spans = Vec::new();
    let mut reached = start;
    for position in first..own.events.len() {
        let event = &episode.events[own.events[position]];
        if event.at_ns > end {
            break;
        }
        let Some(next) = after(episode, &own, position, subject, now) else { continue };
        let State { doing, cpu, priority } = now;
        if event.at_ns > reached {
            // A sleep that a timer ended: from when the timer was due, it is the timer that was late.
            let due = match doing {
                Doing::Blocked { .. } => timer_due(index, event).unwrap_or(event.at_ns).clamp(reached, event.at_ns),
                Doing::Due => timer_allowed(index, event).map_or(reached, |due| due.clamp(reached, event.at_ns)),
                _ => event.at_ns,
            };
            let doing = if doing == Doing::Due && due > reached { Doing::Slack } else { doing };
            if due > reached {
                spans.push(StateSpan { start_ns: reached, end_ns: due, cpu, doing, priority });
            }
            if event.at_ns > due {
                let (cpu, doing) = (event.cpu, Doing::Due);
                spans.push(StateSpan { start_ns: due, end_ns: event.at_ns, cpu, doing, priority });
            }
            reached = event.at_ns;
        }
        now = next;
    }
    if end > reached {
        let State { doing, cpu, priority } = now;
        spans.push(StateSpan { start_ns: reached, end_ns: end, cpu, doing, priority });
    }
    cut_by_quota(episode, index, subject, spans)
}

/// The events that concern a thread, by time.
struct Own {
    /// Their positions in the episode.
    events: Vec<usize>,
    /// For each, and for the end, what follows from there on.
    ahead: Vec<Ahead>,
}

/// What comes next for a thread.
#[derive(Clone, Copy, Default)]
struct Ahead {
    /// Position of its next waking, if that comes before it is next switched in.
    waking: Option<usize>,
    /// The CPU in whose queue it is if it is woken now: the one on which it is next switched in, or from which it is
    /// moved away first.
    queue: Option<u32>,
}

fn ahead(episode: &Episode, own: &[usize], tid: u32) -> Vec<Ahead> {
    let mut all = vec![Ahead::default(); own.len() + 1];
    for (position, &index) in own.iter().enumerate().rev() {
        let event = &episode.events[index];
        let mut here = all[position + 1];
        match event.kind {
            EventKind::Waking => here.waking = Some(index),
            // What wakes it later ends another sleep.
            EventKind::Switch if event.value == u64::from(tid) => here = Ahead { waking: None, queue: Some(event.cpu) },
            EventKind::Migrate => here.queue = Some(event.extra as u32),
            _ => {}
        }
        all[position] = here;
    }
    all
}

/// The thread's current state.
#[derive(Clone, Copy)]
struct State {
    doing: Doing,
    cpu: u32,
    priority: i16,
}

/// Its state before the first event that concerns it, which shows it: one that is switched in has waited for its CPU,
/// and so has one that is moved; one that is switched out has run. Only one that is woken has slept.
fn before_first(event: &Event, subject: &Subject<'_>, otherwise: State) -> State {
    let waiting = Doing::Waiting { since_ns: 0, moved: None };
    let is_in = event.value == u64::from(subject.tid);
    match event.kind {
        EventKind::Switch if is_in => State { doing: waiting, cpu: event.cpu, priority: event.other_priority() },
        EventKind::Switch => State { doing: Doing::Running, cpu: event.cpu, priority: event.priority },
        EventKind::Migrate => State { doing: waiting, cpu: event.extra as u32, ..otherwise },
        _ => otherwise,
    }
}

/// Its state after one of the events that concern it; `None` if that changes nothing.
fn after(episode: &Episode, own: &Own, position: usize, subject: &Subject<'_>, now: State) -> Option<State> {
    let (index, ahead) = (own.events[position], own.ahead[position + 1]);
    let event = &episode.events[index];
    let is_in = event.value == u64::from(subject.tid);
    let since_ns = event.at_ns;
    let (doing, cpu) = match (event.kind, now.doing) {
        (EventKind::Waking, Doing::Due | Doing::Blocked { .. }) => {
            (Doing::Waiting { since_ns, moved: None }, ahead.queue.unwrap_or(subject.cpu))
        }
        (EventKind::Migrate, Doing::Waiting { since_ns, .. }) => {
            (Doing::Waiting { since_ns, moved: Some(index) }, (event.extra >> 32) as u32)
        }
        (EventKind::Switch, _) if is_in => (Doing::Running, event.cpu),
        (EventKind::Switch, _) if event.left_state() == 0 => (Doing::Waiting { since_ns, moved: None }, event.cpu),
        (EventKind::Switch, _) => match (ahead, woken_on_its_way_out(episode, own, position)) {
            (Ahead { waking: None, queue: Some(queue) }, Some(since_ns)) => {
                (Doing::Waiting { since_ns, moved: None }, queue)
            }
            _ => (Doing::Blocked { left_state: event.left_state(), woken_by: ahead.waking }, event.cpu),
        },
        _ => return None,
    };
    // It may have been given another priority since it began.
    let priority = match event.kind {
        EventKind::Switch if !is_in => event.priority,
        EventKind::Migrate => now.priority,
        _ => event.other_priority(),
    };
    Some(State { doing, cpu, priority })
}

/// When another CPU woke a thread that was on its way to leave this one by this switch, to sleep: such a waking is reported as soon as the
/// thread has said that it will sleep, and the switch a moment later.
fn woken_on_its_way_out(episode: &Episode, own: &Own, position: usize) -> Option<u64> {
    let leaves = &episode.events[own.events[position]];
    let before = &episode.events[own.events[position.checked_sub(1)?]];
    let is_it = before.kind == EventKind::Waking && before.cpu != leaves.cpu;
    (is_it && leaves.at_ns - before.at_ns <= SWITCH_NS).then_some(before.at_ns)
}

/// What it was doing when its time began, after all that happened before, and where.
fn at_start(
    before: State,
    subject: &Subject<'_>,
    timelines: &BTreeMap<u32, CpuTimeline>,
    asleep: Doing,
) -> (Doing, u32) {
    let State { doing, cpu, .. } = before;
    let runs = |timeline: &CpuTimeline| {
        let slices = timeline.within(subject.start_ns, subject.start_ns.saturating_add(1));
        slices.first().is_some_and(|slice| slice.tid == subject.tid && subject.tid != 0)
    };
    match (timelines.iter().find(|(_, timeline)| runs(timeline)), doing) {
        (Some((&cpu, _)), _) => (Doing::Running, cpu),
        // It was preempted, or woken before.
        (None, Doing::Waiting { .. }) => (doing, cpu),
        // Its timer is armed anew once it goes on, however long ago it was due.
        (None, Doing::Blocked { left_state, .. }) if left_state & STOPPED != 0 => (doing, cpu),
        (None, Doing::Blocked { .. } | Doing::Running) if !subject.is_due => (doing, cpu),
        _ => (asleep, cpu),
    }
}

/// By when the timer that woke somebody had to come, if it used the events' clock; within the slack that its thread
/// allows it may come earlier.
fn timer_allowed(index: &Index<'_>, waking: &Event) -> Option<u64> {
    timer_due(index, waking).filter(|due| *due < waking.at_ns.saturating_add(MAX_SLACK_NS))
}

/// When the timer was due whose function woke somebody, or gave a kernel worker something to do.
pub(crate) fn timer_due(index: &Index<'_>, waking: &Event) -> Option<u64> {
    if !matches!(waking.kind, EventKind::Waking | EventKind::WorkQueued) || waking.context & IN_INTERRUPT == 0 {
        return None;
    }
    // A timer whose function is over woke nobody any more: a device did.
    let last = index.last_timer(waking.cpu, waking.at_ns);
    last.filter(|event| event.kind == EventKind::TimerBegin).map(|event| event.extra).filter(|due| *due > 0)
}

fn concerns(event: &Event, tid: u32) -> bool {
    match event.kind {
        EventKind::Switch => event.value == u64::from(tid) || event.tid == tid,
        EventKind::Waking | EventKind::Migrate => event.value == u64::from(tid),
        _ => false,
    }
}
