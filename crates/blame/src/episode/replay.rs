//! What each CPU was doing between one event and the next.

use crate::episode::nesting::with_nesting;
use punctual_recording::Episode;
use punctual_recording::episode::{Event, EventKind, IN_INTERRUPT, IN_NMI, IN_SOFTIRQ};
use std::collections::BTreeMap;

/// How long the scheduler takes at most to switch once nothing is in the way.
pub(crate) const SWITCH_NS: u64 = 10_000;

/// The state in which a kernel worker leaves its CPU that has no work: it cannot be interrupted, and does not count as load.
pub(crate) const RESTS: u32 = 0x402;

/// How deep interrupts, softirqs and what runs in them may be nested, whatever the events say.
const MAX_OPEN: usize = 64;

/// Something that has begun on a CPU and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The event that began it (for what began before the evidence, the one that ended it).
    pub kind: EventKind,
    /// Its [`Event::value`].
    pub value: u64,
    /// Its [`Event::name`].
    pub name: u32,
    /// Whether it runs in an interrupt; otherwise in a softirq or, for work items, in a thread.
    pub in_interrupt: bool,
    /// When it began; `None` if that was before the evidence.
    pub began_ns: Option<u64>,
}

/// Something that was not seen to begin or to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// An interrupt.
    Interrupt,
    /// A softirq.
    Softirq,
}

/// The time between two neighbouring events of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Time of the event that begins it.
    pub start_ns: u64,
    /// Time of the event that ends it.
    pub end_ns: u64,
    /// How much of it the host stole, ns, at most its length.
    pub steal_ns: u64,
    /// The current thread; 0: idle.
    pub tid: u32,
    /// Its priority, see [`Event::priority`]: of those that it had at the beginning and at the end, the one that goes
    /// first. Once it sinks below whoever waits, that one is let in.
    pub priority: i16,
    /// Since when it has been the current thread, if the evidence reaches back that far.
    pub since_ns: Option<u64>,
    /// What is open, outermost first.
    pub open: Vec<Running>,
    /// What was not seen to begin or to end in it, if anything: then there was more than what is open.
    pub missed: Option<Missed>,
    /// Position in the episode's events of the event that ends it.
    pub ends_with: usize,
    /// The thread that the CPU had been switched to, if another one is there at the end: a switch in between was not
    /// seen, and nobody knows when it was.
    pub instead_of: Option<u32>,
}

impl Slice {
    /// The innermost thing open in an interrupt, and the outermost.
    pub fn interrupt(&self) -> Option<(&Running, &Running)> {
        let mut inside = self.open.iter().filter(|open| open.in_interrupt);
        let outermost = inside.next()?;
        Some((inside.next_back().unwrap_or(outermost), outermost))
    }

    /// The function of the work item that the thread, a kernel worker, is working on: the position of its name.
    pub fn work(&self) -> Option<u32> {
        self.open.iter().rfind(|open| open.kind == EventKind::WorkBegin).map(|open| open.name)
    }

    /// The innermost thing open in a softirq, and the softirq.
    pub fn softirq(&self) -> Option<(&Running, &Running)> {
        let is_softirq = |open: &&Running| !open.in_interrupt && open.kind != EventKind::WorkBegin;
        let mut inside = self.open.iter().filter(is_softirq);
        let outermost = inside.next()?;
        Some((inside.next_back().unwrap_or(outermost), outermost))
    }
}

/// A CPU's slices, by time, without gaps up to the last event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuTimeline {
    /// The slices.
    pub slices: Vec<Slice>,
}

impl CpuTimeline {
    /// The slices that overlap a range of time.
    pub fn within(&self, start_ns: u64, end_ns: u64) -> &[Slice] {
        let first = self.slices.partition_point(|slice| slice.end_ns <= start_ns);
        let last = self.slices.partition_point(|slice| slice.start_ns < end_ns);
        self.slices.get(first..last.max(first)).unwrap_or_default()
    }
}

/// What begins and what ends it.
fn end_of(kind: EventKind) -> Option<EventKind> {
    Some(match kind {
        EventKind::VectorBegin => EventKind::VectorEnd,
        EventKind::HandlerBegin => EventKind::HandlerEnd,
        EventKind::SoftirqBegin => EventKind::SoftirqEnd,
        EventKind::TimerBegin => EventKind::TimerEnd,
        EventKind::CallbackBegin => EventKind::CallbackEnd,
        EventKind::TaskletBegin => EventKind::TaskletEnd,
        EventKind::WorkBegin => EventKind::WorkEnd,
        EventKind::FunctionBegin => EventKind::FunctionEnd,
        _ => return None,
    })
}

/// What ends and what began it, the other way round: asked several times for each event.
fn begin_of(kind: EventKind) -> Option<EventKind> {
    Some(match kind {
        EventKind::VectorEnd => EventKind::VectorBegin,
        EventKind::HandlerEnd => EventKind::HandlerBegin,
        EventKind::SoftirqEnd => EventKind::SoftirqBegin,
        EventKind::TimerEnd => EventKind::TimerBegin,
        EventKind::CallbackEnd => EventKind::CallbackBegin,
        EventKind::TaskletEnd => EventKind::TaskletBegin,
        EventKind::WorkEnd => EventKind::WorkBegin,
        EventKind::FunctionEnd => EventKind::FunctionBegin,
        _ => return None,
    })
}

struct Cpu {
    open: Vec<Running>,
    /// What threads left the CPU in the middle of: workers' work items, and softirqs if a thread that serves them can
    /// be preempted.
    left: BTreeMap<u32, Vec<Running>>,
    since_ns: Option<u64>,
    last: Event,
    /// The current thread and its priority after the last event.
    current: (u32, i16),
    /// From which thread to which the last switch went.
    switched: Option<(u32, u32)>,
}

/// Plays the events back, CPU by CPU.
pub fn replay(episode: &Episode) -> BTreeMap<u32, CpuTimeline> {
    replay_events(&with_nesting(episode).events)
}

/// The same for events whose contexts have a known nesting.
pub fn replay_events(events: &[Event]) -> BTreeMap<u32, CpuTimeline> {
    let mut by_cpu: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        by_cpu.entry(event.cpu).or_default().push(index);
    }
    by_cpu
        .into_iter()
        .map(|(cpu, mut indexes)| {
            indexes.sort_by_key(|&index| events[index].at_ns);
            (cpu, CpuTimeline { slices: replay_cpu(events, &indexes) })
        })
        .collect()
}

fn replay_cpu(events: &[Event], indexes: &[usize]) -> Vec<Slice> {
    let Some((&first, rest)) = indexes.split_first() else { return Vec::new() };
    let mut cpu = Cpu {
        open: open_before(events, indexes),
        left: BTreeMap::new(),
        since_ns: None,
        last: events[first],
        current: (events[first].tid, events[first].priority),
        switched: None,
    };
    let mut slices = Vec::with_capacity(indexes.len());
    // Each event says what the CPU was doing when it came, so the time before the first one is known too.
    slices.push(Slice {
        start_ns: 0,
        end_ns: events[first].at_ns,
        steal_ns: 0,
        tid: cpu.current.0,
        priority: cpu.current.1,
        since_ns: None,
        open: cpu.open.clone(),
        missed: None,
        ends_with: first,
        instead_of: None,
    });
    cpu.apply(&events[first]);
    for &index in rest {
        let event = &events[index];
        let (tid, before) = cpu.current;
        let missed = cpu.missed(event);
        let instead_of = cpu.reconcile(event);
        let length = event.at_ns - cpu.last.at_ns;
        let steal = event.steal_ns.saturating_sub(cpu.last.steal_ns).min(length);
        slices.push(Slice {
            start_ns: cpu.last.at_ns,
            end_ns: event.at_ns,
            steal_ns: if cpu.last.steal_ns == 0 { 0 } else { steal },
            tid: cpu.current.0,
            priority: if tid == cpu.current.0 { cpu.current.1.min(before) } else { cpu.current.1 },
            since_ns: cpu.since_ns,
            open: cpu.open.clone(),
            missed,
            ends_with: index,
            instead_of,
        });
        cpu.apply(event);
        cpu.last = *event;
    }
    slices
}

/// What was open before the first event: whatever ends without having begun, as far as the first event's nesting
/// count agrees.
fn open_before(events: &[Event], indexes: &[usize]) -> Vec<Running> {
    let mut depth: Vec<EventKind> = Vec::new();
    let mut before = Vec::new();
    let first = &events[indexes[0]];
    for &index in indexes {
        let event = &events[index];
        if end_of(event.kind).is_some() {
            depth.push(event.kind);
        } else if let Some(begin) = begin_of(event.kind) {
            if let Some(position) = depth.iter().rposition(|open| *open == begin) {
                depth.truncate(position);
            } else if depth.is_empty() && !is_between(begin, event) {
                let in_interrupt = is_in_interrupt(begin, event);
                let agreed = match begin {
                    EventKind::WorkBegin => event.tid == first.tid,
                    _ if in_interrupt => first.context & IN_INTERRUPT != 0,
                    _ => first.context & IN_SOFTIRQ != 0,
                };
                if agreed && before.len() < MAX_OPEN {
                    let Event { value, name, .. } = *event;
                    before.insert(0, Running { kind: begin, value, name, in_interrupt, began_ns: None });
                }
            }
        } else if event.kind == EventKind::Switch {
            // Interrupts and softirqs end before a switch.
            break;
        }
    }
    before
}

fn is_in_interrupt(begin: EventKind, event: &Event) -> bool {
    match begin {
        EventKind::VectorBegin | EventKind::HandlerBegin => true,
        EventKind::SoftirqBegin | EventKind::TaskletBegin | EventKind::WorkBegin => false,
        _ => event.context & IN_INTERRUPT != 0,
    }
}

/// Whether it is a function that another CPU asked for and that the idle loop or a thread calls, without an interrupt:
/// there it holds up nobody whose time would not be accounted for anyway.
fn is_between(begin: EventKind, event: &Event) -> bool {
    begin == EventKind::FunctionBegin && event.context & IN_INTERRUPT == 0
}

impl Cpu {
    /// What has begun or ended since the last event without being seen, judging by the next event and its nesting count.
    fn missed(&self, event: &Event) -> Option<Missed> {
        let ended = begin_of(event.kind);
        let is_open = |kind| self.open.iter().any(|open| open.kind == kind);
        let in_interrupt = event.context & (IN_INTERRUPT | IN_NMI) != 0;
        let in_softirq = event.context & IN_SOFTIRQ != 0;
        let is_softirq = |open: &Running| !open.in_interrupt && open.kind != EventKind::WorkBegin;
        let (has_interrupt, has_softirq) =
            (self.open.iter().any(|open| open.in_interrupt), self.open.iter().any(is_softirq));
        let is_edge = |begin, end| event.kind == begin || event.kind == end;
        let of_interrupt = is_edge(EventKind::VectorBegin, EventKind::VectorEnd)
            || is_edge(EventKind::HandlerBegin, EventKind::HandlerEnd);
        let of_softirq = is_edge(EventKind::SoftirqBegin, EventKind::SoftirqEnd);
        match event.kind {
            EventKind::VectorEnd | EventKind::HandlerEnd if !ended.is_some_and(is_open) => Some(Missed::Interrupt),
            EventKind::VectorBegin if has_interrupt => Some(Missed::Interrupt),
            EventKind::SoftirqEnd if !is_open(EventKind::SoftirqBegin) => Some(Missed::Softirq),
            // Its beginning need not have been seen: not every class of interrupts has a tracepoint.
            _ if !of_interrupt && has_interrupt && !in_interrupt => Some(Missed::Interrupt),
            _ if !of_softirq && in_softirq != has_softirq => Some(Missed::Softirq),
            _ => None,
        }
    }

    /// Beginnings and ends can be missing if a program was already running: the nesting count shows that. So can
    /// switches: returns the thread that was thought to be on the CPU if it is another one.
    fn reconcile(&mut self, event: &Event) -> Option<u32> {
        let begins_interrupt = event.kind == EventKind::VectorBegin;
        if begins_interrupt || event.context & IN_INTERRUPT == 0 {
            // Interrupts do not interrupt one another.
            self.open.retain(|open| !open.in_interrupt);
        }
        if event.context & IN_SOFTIRQ == 0 && event.kind != EventKind::SoftirqEnd {
            self.open.retain(|open| open.in_interrupt || open.kind == EventKind::WorkBegin);
        }
        let mut instead_of = None;
        if event.tid != self.current.0 {
            instead_of = (!self.is_switching(event)).then_some(self.current.0);
            self.current = (event.tid, event.priority);
            self.since_ns = None;
        }
        self.current.1 = event.priority;
        instead_of
    }

    /// A switch is noted before it is done: what comes in between still belongs to the thread that leaves.
    fn is_switching(&self, event: &Event) -> bool {
        self.switched.is_some_and(|(from, to)| {
            let is_leaving = event.tid == from && event.at_ns - self.last.at_ns <= SWITCH_NS;
            is_leaving || self.current.0 == from && event.tid == to
        })
    }

    fn apply(&mut self, event: &Event) {
        if event.kind == EventKind::Switch {
            let in_softirq = event.context & IN_SOFTIRQ != 0;
            // A worker that rests has ended its work, also where that was not seen.
            let rests = event.left_state() == RESTS;
            self.open.retain(|open| match open.kind {
                EventKind::WorkBegin => !rests,
                _ => in_softirq && !open.in_interrupt,
            });
            if !self.open.is_empty() {
                self.left.insert(event.tid, std::mem::take(&mut self.open));
            }
            self.open.extend(self.left.remove(&(event.value as u32)).unwrap_or_default());
            self.current = (event.value as u32, event.other_priority());
            self.switched = Some((event.tid, event.value as u32));
            self.since_ns = Some(event.at_ns);
        } else if end_of(event.kind).is_some() {
            if self.open.len() >= MAX_OPEN || is_between(event.kind, event) {
                return;
            }
            self.open.push(Running {
                kind: event.kind,
                value: event.value,
                name: event.name,
                in_interrupt: is_in_interrupt(event.kind, event),
                began_ns: Some(event.at_ns),
            });
        } else if let Some(begin) = begin_of(event.kind) {
            // The beginning of one in an interrupt is not seen if it interrupts the noting of another's: its end must
            // not end what it interrupted.
            let in_interrupt = is_in_interrupt(begin, event);
            let is_it = |open: &Running| open.kind == begin && open.in_interrupt == in_interrupt;
            if let Some(position) = self.open.iter().rposition(is_it) {
                self.open.truncate(position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_began_is_what_has_that_end() {
        let mut met = 0;
        for kind in EventKind::ALL {
            let begins = EventKind::ALL.into_iter().find(|begin| end_of(*begin) == Some(kind));
            assert_eq!(begin_of(kind), begins, "{kind:?}");
            met += usize::from(begins.is_some());
        }
        assert_eq!(met, 8);
    }
}
