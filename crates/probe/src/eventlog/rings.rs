//! Empties the rings of `bpf/log.bpf.c` while programs write into them.

use super::merge::Noted;
use crate::shared::event_ring::{EventRings, Record};
use crate::shared::lossy_ring::Slot;
use punctual_kernel::bpf::SharedMemory;
use punctual_recording::episode::{Event, EventKind};

/// As `bpf/log.bpf.c` sizes them.
const RECORDS: usize = 65_536;
const STACKS: usize = 1;

/// A record that is unfinished for this long never will be finished: its CPU is gone, or stands still.
const PATIENCE_NS: u64 = 1_000_000_000;

/// How far a ring was read.
#[derive(Debug, Default)]
struct RingCursor {
    next: u64,
    /// Since when the next record is awaited.
    awaited_ns: Option<u64>,
    /// The time of the last record.
    last_ns: u64,
    /// Lost since the last record.
    lost: u64,
    dropped: u64,
}

/// What comes out of a ring.
enum Drained {
    Record(Record),
    /// So many were lost before this time.
    Lost(u64, u64),
}

impl RingCursor {
    /// Reads up to `head`. Returns the time up to which everything has come, which is `now_ns` if nothing is awaited.
    /// What is lost after `until_ns` is not counted.
    fn advance(
        &mut self,
        now_ns: u64,
        until_ns: u64,
        head: u64,
        read: impl Fn(u64) -> Slot<Record>,
        mut take: impl FnMut(Drained),
    ) -> u64 {
        let gone = head.saturating_sub(self.next).saturating_sub(RECORDS as u64);
        self.lose(gone, until_ns);
        while self.next < head {
            match read(self.next) {
                Slot::Whole(record) => {
                    if self.lost > 0 {
                        take(Drained::Lost(std::mem::take(&mut self.lost), record.time));
                    }
                    self.next += 1;
                    self.awaited_ns = None;
                    self.last_ns = self.last_ns.max(record.time);
                    take(Drained::Record(record));
                }
                Slot::Overwritten => self.lose(1, until_ns),
                Slot::Unfinished => {
                    let since = *self.awaited_ns.get_or_insert(now_ns);
                    if now_ns.saturating_sub(since) < PATIENCE_NS {
                        return self.last_ns.min(now_ns);
                    }
                    self.lose(1, until_ns);
                }
            }
        }
        now_ns
    }

    fn lose(&mut self, number: u64, until_ns: u64) {
        if number > 0 {
            self.next += number;
            self.awaited_ns = None;
            if self.last_ns <= until_ns {
                self.lost += number;
                self.dropped += number;
            }
        }
    }
}

/// How much the programs have written, on all CPUs.
pub(super) struct Written(EventRings<RECORDS, STACKS>);

impl Written {
    pub(super) fn new(memory: SharedMemory, possible: usize) -> Written {
        Written(EventRings::new(memory, possible))
    }

    /// Records ever written.
    pub(super) fn records(&self) -> u64 {
        (0..self.0.cpus()).map(|cpu| self.0.heads(cpu).0).sum()
    }
}

/// The rings of all CPUs that are logged.
pub(super) struct LogRings {
    rings: EventRings<RECORDS, STACKS>,
    cursors: Vec<(u32, RingCursor)>,
    /// The host's counter of each CPU when its first record came.
    first_steal: Vec<u64>,
}

impl LogRings {
    /// Reads what comes from now on. There are rings for this many possible CPUs.
    pub(super) fn new(memory: SharedMemory, possible: usize, cpus: &[u32]) -> LogRings {
        let known = cpus.iter().copied().filter(|cpu| (*cpu as usize) < possible);
        let rings = EventRings::new(memory, possible);
        let from_now_on = |cpu| RingCursor { next: rings.heads(cpu as usize).0, ..RingCursor::default() };
        let cursors: Vec<(u32, RingCursor)> = known.map(|cpu| (cpu, from_now_on(cpu))).collect();
        LogRings { first_steal: vec![0; cursors.len()], cursors, rings }
    }

    /// Takes what has come. Returns the time up to which everything has.
    pub(super) fn drain(&mut self, now_ns: u64, until_ns: u64, noted: &mut Vec<Noted>) -> u64 {
        let mut reached = now_ns;
        for ((cpu, cursor), first_steal) in self.cursors.iter_mut().zip(&mut self.first_steal) {
            let cpu = *cpu;
            let up_to = cursor.advance(
                now_ns,
                until_ns,
                self.rings.heads(cpu as usize).0,
                |position| self.rings.record(cpu as usize, position),
                |out| match out {
                    Drained::Record(record) => noted.extend(event(cpu, &record, first_steal)),
                    Drained::Lost(number, at_ns) => noted.push(dropped(cpu, number, at_ns, "ring")),
                },
            );
            reached = reached.min(up_to);
        }
        reached
    }

    /// What was lost at the end, after the last record of a CPU.
    pub(super) fn lost_at_the_end(&mut self, at_ns: u64, noted: &mut Vec<Noted>) {
        for (cpu, cursor) in &mut self.cursors {
            let lost = std::mem::take(&mut cursor.lost);
            if lost > 0 {
                noted.push(dropped(*cpu, lost, at_ns, "ring"));
            }
        }
    }

    /// What was dropped so far, by CPU.
    pub(super) fn dropped(&self) -> Vec<(u32, u64)> {
        self.cursors.iter().map(|(cpu, cursor)| (*cpu, cursor.dropped)).collect()
    }
}

fn event(cpu: u32, record: &Record, first_steal: &mut u64) -> Option<Noted> {
    if *first_steal == 0 {
        *first_steal = record.steal;
    }
    let event = Event {
        at_ns: record.time,
        cpu,
        kind: EventKind::from_code(record.kind())?,
        tid: record.tid(),
        priority: record.priority(),
        context: record.context(),
        // 0 is for unknown.
        steal_ns: if record.steal == 0 { 0 } else { record.steal.saturating_sub(*first_steal) + 1 },
        value: record.value,
        extra: record.extra,
        name: 0,
    };
    Some(Noted { event, comm: record.name, text: None })
}

/// The row that reports a loss.
pub(super) fn dropped(cpu: u32, number: u64, at_ns: u64, whence: &str) -> Noted {
    let event = Event {
        at_ns,
        cpu,
        kind: EventKind::Dropped,
        tid: 0,
        priority: 0,
        context: 0,
        steal_ns: 0,
        value: number,
        extra: 0,
        name: 0,
    };
    Noted { event, comm: [0; 16], text: Some(whence.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_rings_are_those_of_the_programs() {
        EventRings::<RECORDS, STACKS>::are_those_of(crate::eventlog::programs::OBJECT);
    }

    fn record(position: u64) -> Record {
        Record {
            sequence: position + 1,
            time: position * 10,
            steal: 0,
            task: 0,
            context: 2 << 24,
            value: position,
            extra: 0,
            name: [0; 16],
        }
    }

    proptest! {
        /// However fast the writer goes and whatever it leaves unfinished, each record is either handed on once, in
        /// order, or counted as dropped.
        #[test]
        fn every_record_comes_once_or_is_dropped(
            steps in prop::collection::vec((0..3 * RECORDS as u64, any::<bool>()), 1..12),
        ) {
            let (mut cursor, mut head, mut now) = (RingCursor::default(), 0, 0);
            let (mut taken, mut lost, mut last) = (0, 0, None);
            for (step, unfinished) in steps {
                head += step;
                now += PATIENCE_NS;
                let stuck = unfinished.then(|| head.saturating_sub(2));
                let read = |position: u64| match position {
                    position if head - position > RECORDS as u64 - 5 => Slot::Overwritten,
                    position if Some(position) == stuck => Slot::Unfinished,
                    position => Slot::Whole(record(position)),
                };
                // The second look comes when patience has run out, and does not find it either.
                for now in [now - PATIENCE_NS, now] {
                    cursor.advance(now, u64::MAX, head, read, |out| match out {
                        Drained::Record(record) => {
                            assert!(last.is_none_or(|last| record.value > last));
                            last = Some(record.value);
                            taken += 1;
                        }
                        Drained::Lost(number, _) => lost += number,
                    });
                }
                prop_assert_eq!(cursor.next, head);
                prop_assert_eq!(taken + cursor.dropped, head);
                prop_assert_eq!(lost + cursor.lost, cursor.dropped);
            }
        }
    }

    #[test]
    fn what_is_awaited_holds_the_time_back() {
        let mut cursor = RingCursor::default();
        let read = |position| if position < 3 { Slot::Whole(record(position)) } else { Slot::Unfinished };
        assert_eq!(cursor.advance(1_000, u64::MAX, 5, read, |_| {}), 20);
        assert_eq!(cursor.advance(2_000, u64::MAX, 5, |position| Slot::Whole(record(position)), |_| {}), 2_000);
        assert_eq!((cursor.next, cursor.dropped), (5, 0));
    }

    #[test]
    fn what_is_lost_after_the_end_is_nobodys_loss() {
        let (mut cursor, mut told) = (RingCursor::default(), 0);
        let read = |position| if position % 2 == 0 { Slot::Whole(record(position)) } else { Slot::Overwritten };
        // Records are at 0, 20, 40, ...: the one lost between 20 and 40 may have been in time.
        cursor.advance(1_000, 25, 10, read, |out| told += u64::from(matches!(out, Drained::Lost(..))));
        assert_eq!((cursor.next, cursor.dropped, cursor.lost, told), (10, 2, 0, 2));
    }
}
