//! What the flight recorder saw over a longer time than its rings hold: copied out of them piece by piece, up to a bound.

use super::programs::FlightRecorder;
use super::rings::Copied;
use crate::shared::event_ring::{Record, Stack};
use std::collections::VecDeque;

/// Records, and stacks, that are kept for all CPUs together; 64 bytes, and less than 1 KiB each. A stretch that is
/// taken out is a copy of them, and several wait for their names: what is kept is a small part of what a follower may
/// take.
const MAX_RECORDS: usize = 1 << 18;
const MAX_STACKS: usize = 1 << 12;

/// What was copied from a CPU so far.
#[derive(Debug, Default)]
struct KeptCpu {
    cpu: u32,
    records: VecDeque<Record>,
    stacks: VecDeque<Stack>,
    /// Everything from here on is there, ns.
    from_ns: u64,
    /// Until when something is missing, and why.
    broken: Option<(u64, &'static str)>,
}

/// The pieces.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    cpus: Vec<KeptCpu>,
    /// Until when everything was copied, ns; 0: nothing was.
    reached_ns: u64,
}

impl Kept {
    /// Copies what is new up to `until_ns`, which is in the past, and forgets what was before `since_ns`.
    pub(crate) fn go_on(&mut self, recorder: &FlightRecorder, since_ns: u64, until_ns: u64) {
        if until_ns <= self.reached_ns || until_ns <= since_ns {
            return;
        }
        if since_ns > self.reached_ns {
            self.cpus.clear();
            self.reached_ns = 0;
        }
        let start = if self.reached_ns == 0 { since_ns } else { self.reached_ns + 1 };
        self.add(recorder.copy(start, until_ns), start, until_ns);
        self.forget(since_ns);
    }

    fn add(&mut self, pieces: Vec<(u32, Copied)>, start: u64, until_ns: u64) {
        let is_first = self.cpus.is_empty();
        if is_first {
            self.cpus = pieces.iter().map(|&(cpu, _)| KeptCpu { cpu, from_ns: start, ..KeptCpu::default() }).collect();
        }
        for (kept, (_, piece)) in self.cpus.iter_mut().zip(pieces) {
            // The first piece includes one from before it: it tells who had the CPU as the piece began.
            let is_new = |time: u64| is_first || time >= start;
            kept.records.extend(piece.records.into_iter().filter(|record| is_new(record.time)));
            kept.stacks.extend(piece.stacks.into_iter().filter(|stack| is_new(stack.time)));
            if let Some(reason) = piece.broken {
                kept.broken = Some((until_ns, reason));
            }
        }
        self.reached_ns = until_ns;
    }

    fn forget(&mut self, since_ns: u64) {
        let cpus = self.cpus.len().max(1);
        let (max_records, max_stacks) = (MAX_RECORDS / cpus, MAX_STACKS / cpus);
        for kept in &mut self.cpus {
            kept.from_ns = kept.from_ns.max(since_ns);
            let too_many = kept.records.len().saturating_sub(max_records);
            if let Some(last) = too_many.checked_sub(1).and_then(|last| kept.records.get(last)) {
                kept.from_ns = kept.from_ns.max(last.time + 1);
            }
            // One from before stays: it tells who had the CPU.
            let old = kept.records.partition_point(|record| record.time < kept.from_ns).saturating_sub(1);
            kept.records.drain(..old);
            let old = kept.stacks.partition_point(|stack| stack.time < kept.from_ns);
            kept.stacks.drain(..old.max(kept.stacks.len().saturating_sub(max_stacks)));
        }
    }

    /// What happened on each CPU between two times; `None` if that is not all here.
    pub(crate) fn between(&self, start: u64, end: u64) -> Option<Vec<(u32, Copied)>> {
        if end > self.reached_ns || self.cpus.is_empty() || self.cpus.iter().any(|kept| start < kept.from_ns) {
            return None;
        }
        Some(self.cpus.iter().map(|kept| (kept.cpu, kept.between(start, end))).collect())
    }
}

impl KeptCpu {
    fn between(&self, start: u64, end: u64) -> Copied {
        let first = self.records.partition_point(|record| record.time < start).saturating_sub(1);
        let last = self.records.partition_point(|record| record.time <= end);
        let stacks = self.stacks.iter().filter(|stack| (start..=end).contains(&stack.time));
        Copied {
            records: self.records.range(first..last.max(first)).copied().collect(),
            stacks: stacks.copied().collect(),
            broken: self.broken.filter(|(until_ns, _)| *until_ns >= start).map(|(_, reason)| reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: u64) -> Record {
        Record { sequence: 1, time, steal: 0, task: 0, context: 0, value: 0, extra: 0, name: [0; 16] }
    }

    fn piece(times: &[u64], broken: Option<&'static str>) -> Vec<(u32, Copied)> {
        vec![(3, Copied { records: times.iter().map(|&time| record(time)).collect(), stacks: Vec::new(), broken })]
    }

    fn times(kept: &Kept, start: u64, end: u64) -> Option<(Vec<u64>, Option<&'static str>)> {
        let mut all = kept.between(start, end)?;
        let (_, copied) = all.pop()?;
        Some((copied.records.iter().map(|record| record.time).collect(), copied.broken))
    }

    #[test]
    fn pieces_become_one_with_one_record_from_before() {
        let mut kept = Kept::default();
        kept.add(piece(&[90, 100, 150], None), 100, 200);
        // What the ring hands out from before the second piece is already there.
        kept.add(piece(&[150, 201, 260], None), 201, 300);
        assert_eq!(times(&kept, 100, 300), Some((vec![90, 100, 150, 201, 260], None)));
        assert_eq!(times(&kept, 200, 250), Some((vec![150, 201], None)));
        assert_eq!((times(&kept, 99, 200), times(&kept, 100, 301)), (None, None));
        kept.forget(210);
        assert_eq!(times(&kept, 210, 300), Some((vec![201, 260], None)));
        assert_eq!(times(&kept, 209, 300), None, "forgotten");
    }

    #[test]
    fn a_hole_is_one_of_every_time_before_its_end() {
        let mut kept = Kept::default();
        kept.add(piece(&[90, 150], Some("a hole")), 100, 200);
        kept.add(piece(&[150, 260], None), 201, 300);
        assert_eq!(times(&kept, 150, 300).unwrap().1, Some("a hole"));
        assert_eq!(times(&kept, 201, 300).unwrap().1, None);
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let mut kept = Kept::default();
        let many: Vec<u64> = (1..=MAX_RECORDS as u64 + 10).collect();
        kept.add(piece(&many, None), 1, *many.last().unwrap());
        kept.forget(1);
        assert!(kept.cpus[0].records.len() <= MAX_RECORDS + 1, "{}", kept.cpus[0].records.len());
        assert_eq!(times(&kept, 10, 20), None);
        assert_eq!(times(&kept, 12, 13).unwrap().0, [11, 12, 13]);
    }
}
