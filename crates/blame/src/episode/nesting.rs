//! What each CPU was in at each event, if the kernel's own count was not read.

use punctual_recording::Episode;
use punctual_recording::episode::{Event, EventKind, IN_INTERRUPT, IN_SOFTIRQ};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One interrupt; a higher count does not occur.
const ONE_INTERRUPT: u32 = IN_INTERRUPT & IN_INTERRUPT.wrapping_neg();

/// Whether the events' counts can be believed: read, and not contradicted. Between the beginning and the end of an
/// interrupt the count shows it; if it never does, it was read from the wrong place or with the wrong layout.
pub fn is_nesting_known(episode: &Episode) -> bool {
    let mut edges = episode.events.iter().filter(|event| is_edge(event.kind)).peekable();
    episode.nesting_known && (edges.peek().is_none() || edges.any(|event| event.context & IN_INTERRUPT != 0))
}

/// Whether it is the beginning or the end of an interrupt. Not every processor reports those that belong to no device.
fn is_edge(kind: EventKind) -> bool {
    matches!(kind, EventKind::VectorBegin | EventKind::VectorEnd | EventKind::HandlerBegin | EventKind::HandlerEnd)
}

/// The episode with meaningful counts: its own, or those that follow from beginnings and ends alone.
pub(crate) fn with_nesting(episode: &Episode) -> Cow<'_, Episode> {
    if is_nesting_known(episode) {
        return Cow::Borrowed(episode);
    }
    let mut derived = episode.clone();
    let mut by_cpu: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, event) in episode.events.iter().enumerate() {
        by_cpu.entry(event.cpu).or_default().push(index);
    }
    for mut indexes in by_cpu.into_values() {
        indexes.sort_by_key(|&index| episode.events[index].at_ns);
        derive(&mut derived.events, &indexes);
    }
    derived.nesting_known = true;
    Cow::Owned(derived)
}

/// Which interrupts and softirqs are open on a CPU.
#[derive(Default)]
struct Open {
    vector: bool,
    handlers: u32,
    softirq: bool,
}

impl Open {
    fn context(&self) -> u32 {
        let interrupt = if self.vector || self.handlers > 0 { ONE_INTERRUPT } else { 0 };
        interrupt | if self.softirq { IN_SOFTIRQ } else { 0 }
    }
}

fn derive(events: &mut [Event], indexes: &[usize]) {
    let mut open = open_before(events, indexes);
    for &index in indexes {
        let event = &mut events[index];
        match event.kind {
            EventKind::VectorBegin => open = Open { vector: true, handlers: 0, ..open },
            EventKind::HandlerBegin => open.handlers += 1,
            EventKind::SoftirqBegin => open = Open { softirq: true, ..Open::default() },
            // None of it lasts across a switch.
            EventKind::Switch => open = Open::default(),
            _ => (),
        }
        event.context = open.context();
        match event.kind {
            EventKind::VectorEnd => open = Open { vector: false, handlers: 0, ..open },
            EventKind::HandlerEnd => open.handlers = open.handlers.saturating_sub(1),
            EventKind::SoftirqEnd => open = Open::default(),
            _ => (),
        }
    }
}

/// What ends without having begun was open before the first event.
fn open_before(events: &[Event], indexes: &[usize]) -> Open {
    let mut open = Open::default();
    let (mut vector, mut handlers, mut softirq) = (false, 0_u32, false);
    for event in indexes.iter().map(|&index| &events[index]) {
        match event.kind {
            EventKind::VectorBegin => vector = true,
            EventKind::HandlerBegin => handlers += 1,
            EventKind::SoftirqBegin => softirq = true,
            EventKind::VectorEnd if !std::mem::take(&mut vector) => open.vector = true,
            EventKind::HandlerEnd if handlers == 0 => open.handlers += 1,
            EventKind::HandlerEnd => handlers -= 1,
            EventKind::SoftirqEnd if !std::mem::take(&mut softirq) => open.softirq = true,
            EventKind::Switch => break,
            _ => (),
        }
    }
    open
}
