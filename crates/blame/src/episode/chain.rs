//! Who woke the thread, and who woke that one.

use crate::episode::nesting::with_nesting;
use crate::episode::replay::replay;
use crate::episode::story::waking;
use crate::episode::subject::Subject;
use crate::{CpuTimeline, Slice};
use punctual_recording::episode::{Event, EventKind, IN_INTERRUPT, IN_SOFTIRQ};
use punctual_recording::{Episode, Vector};
use std::collections::BTreeMap;

/// One waking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Who was woken.
    pub woken: String,
    /// By what: `interrupt`, `softirq` or `thread`.
    pub by: &'static str,
    /// Its name: the timer's or handler's function, the softirq's, the thread's.
    pub name: String,
}

/// No chain is longer, whatever the events say.
const MAX_LENGTH: usize = 16;

/// The wakings that led to the victim's, latest first, to the interrupt at the root or as far as the evidence reaches.
pub fn chain(episode: &Episode) -> Vec<Link> {
    let episode = &*with_nesting(episode);
    chain_by(episode, &replay(episode))
}

/// The same, given what each CPU was doing. The events' nesting is known.
pub(crate) fn chain_by(episode: &Episode, timelines: &BTreeMap<u32, CpuTimeline>) -> Vec<Link> {
    let mut links = Vec::new();
    let mut woken = (episode.victim.tid, episode.victim.name.clone());
    let mut found = waking(episode, &Subject::victim(episode));
    while let Some(index) = found {
        let event = &episode.events[index];
        let (by, name, tid) = waker(episode, event, timelines);
        links.push(Link { at_ns: event.at_ns, cpu: event.cpu, woken: woken.1, by, name: name.clone() });
        let Some(tid) = tid.filter(|_| links.len() < MAX_LENGTH) else { break };
        woken = (tid, name);
        let earlier = episode.events.iter().enumerate().filter(|(_, earlier)| {
            earlier.kind == EventKind::Waking && earlier.value == u64::from(tid) && earlier.at_ns < event.at_ns
        });
        found = earlier.max_by_key(|(_, earlier)| earlier.at_ns).map(|(index, _)| index);
    }
    links
}

/// What the CPU was doing when an event came.
pub(crate) fn slice_before<'a>(
    episode: &Episode,
    event: &Event,
    timelines: &'a BTreeMap<u32, CpuTimeline>,
) -> Option<&'a Slice> {
    let slices = timelines.get(&event.cpu).map_or(&[][..], |timeline| timeline.slices.as_slice());
    // Several may end at the same time.
    let first = slices.partition_point(|slice| slice.end_ns < event.at_ns);
    let at_once = slices[first..].iter().take_while(|slice| slice.end_ns == event.at_ns);
    at_once.into_iter().find(|slice| episode.events[slice.ends_with] == *event)
}

/// What did the waking, by kind and name, and the thread to go on with if a thread did.
pub(crate) fn waker(
    episode: &Episode,
    event: &Event,
    timelines: &BTreeMap<u32, CpuTimeline>,
) -> (&'static str, String, Option<u32>) {
    let slice = slice_before(episode, event, timelines);
    let name = |running: &crate::Running| match running.kind {
        EventKind::VectorBegin => Vector::name_of(running.value).unwrap_or("?").to_owned(),
        _ => episode.name(running.name).to_owned(),
    };
    if event.context & IN_INTERRUPT != 0 {
        let inner = slice.and_then(|slice| slice.interrupt()).map(|(inner, _)| name(inner));
        return ("interrupt", inner.unwrap_or_else(|| "?".to_owned()), None);
    }
    if event.context & IN_SOFTIRQ != 0 {
        let inner = slice.and_then(|slice| slice.softirq()).map(|(inner, _)| name(inner));
        return ("softirq", inner.unwrap_or_else(|| "?".to_owned()), None);
    }
    ("thread", episode.name(event.name).to_owned(), Some(event.tid))
}

pub(crate) fn is_by_a_thread(event: &Event) -> bool {
    event.context & (IN_INTERRUPT | IN_SOFTIRQ) == 0
}
