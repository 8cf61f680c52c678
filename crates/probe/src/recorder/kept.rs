//! What the flight recorder saw over a longer time than its rings hold: copied out of them piece by piece, up to a bound.
//! Where there is no room for all of it, what nobody is known to want goes first.

use super::bounded_channel;
use super::programs::FlightRecorder;
use super::rings::{Copied, OVERWRITTEN, UNFINISHED, is_whole};
use crate::shared::event_ring::{Record, Stack};
use std::collections::VecDeque;

/// The share of what evidence may take while it waits to be written. A stretch that is taken out is a copy, and several
/// wait for their names: what is kept here is a small part of what a follower may take.
const PART_OF_WAITING: u64 = 3;

const NO_ROOM: &str = "there was no room to keep all that the recorder saw";

/// A time from one moment to another, both included, ns.
pub(crate) type Span = (u64, u64);

/// What was copied at a time.
#[derive(Debug)]
struct Piece {
    from_ns: u64,
    to_ns: u64,
    /// By CPU, with one record from before the piece: it tells who had the CPU as the piece began.
    cpus: Vec<(u32, Copied)>,
    bytes: u64,
}

impl Piece {
    /// What it has of the CPU at this place of its list, which is the same in all pieces.
    fn of(&self, place: usize) -> &Copied {
        &self.cpus[place].1
    }
}

/// The pieces, by time.
#[derive(Debug)]
pub(crate) struct Kept {
    pieces: VecDeque<Piece>,
    /// What they take together, bytes, and what they may take.
    bytes: u64,
    most: u64,
    /// Until when everything was copied, ns; 0: nothing was.
    reached_ns: u64,
    /// The end of the last piece that had to go although it was no older than all that is wanted, ns.
    let_go_ns: u64,
}

impl Kept {
    /// With as much room as this machine's free memory allows.
    pub(crate) fn with_room() -> Kept {
        Kept::new(bounded_channel::max_bytes() / PART_OF_WAITING)
    }

    fn new(most: u64) -> Kept {
        Kept { pieces: VecDeque::new(), bytes: 0, most, reached_ns: 0, let_go_ns: 0 }
    }

    /// Copies what is new up to `until_ns`, which is in the past, and forgets what was before all that is wanted.
    /// `wanted` are times by when they begin, none of which touch.
    pub(crate) fn go_on(&mut self, recorder: &FlightRecorder, wanted: &[Span], until_ns: u64) {
        let Some(&(since_ns, _)) = wanted.first() else { return };
        if until_ns <= self.reached_ns || until_ns <= since_ns {
            return;
        }
        if since_ns > self.reached_ns {
            self.pieces.clear();
            (self.bytes, self.reached_ns) = (0, 0);
        }
        let start = if self.reached_ns == 0 { since_ns } else { self.reached_ns + 1 };
        self.add(recorder.copy(start, until_ns), start, until_ns);
        self.forget(wanted);
    }

    fn add(&mut self, mut cpus: Vec<(u32, Copied)>, from_ns: u64, to_ns: u64) {
        // On a machine of many CPUs that rests, the lists take more than what is in them.
        let mut bytes = cpus.capacity() * size_of::<(u32, Copied)>();
        for (_, copied) in &mut cpus {
            copied.records.shrink_to_fit();
            copied.stacks.shrink_to_fit();
            bytes += copied.records.capacity() * size_of::<Record>() + copied.stacks.capacity() * size_of::<Stack>();
        }
        self.bytes += bytes as u64;
        self.pieces.push_back(Piece { from_ns, to_ns, cpus, bytes: bytes as u64 });
        self.reached_ns = to_ns;
    }

    /// Lets go of what is older than all that is wanted. If the rest is still too much, the oldest that nobody wants
    /// goes, and only then the oldest of all.
    fn forget(&mut self, wanted: &[Span]) {
        let since_ns = wanted.first().map_or(u64::MAX, |(since_ns, _)| *since_ns);
        while self.pieces.front().is_some_and(|piece| piece.to_ns < since_ns) {
            self.remove(0);
        }
        while self.bytes > self.most && !self.pieces.is_empty() {
            let unwanted = self.pieces.iter().position(|piece| !is_wanted(wanted, piece));
            let index = unwanted.unwrap_or(0);
            self.let_go_ns = self.let_go_ns.max(self.pieces[index].to_ns);
            self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) {
        if let Some(piece) = self.pieces.remove(index) {
            self.bytes -= piece.bytes;
        }
    }

    /// What happened on each CPU between two times. Where something is missing it is what came after that, and says so:
    /// who had a CPU before a hole need not have it after. `None` if the end is not here.
    fn between(&self, start: u64, end: u64) -> Option<Vec<(u32, Copied)>> {
        let first = self.pieces.partition_point(|piece| piece.to_ns < start);
        let last = self.pieces.partition_point(|piece| piece.from_ns <= end);
        let pieces: Vec<&Piece> = self.pieces.range(first..last.max(first)).collect();
        pieces.last().filter(|piece| piece.to_ns >= end)?;
        let expected_ns = |at: usize| if at == 0 { start } else { pieces[at - 1].to_ns + 1 };
        let after_hole = (0..pieces.len()).rfind(|&at| pieces[at].from_ns > expected_ns(at));
        let why = after_hole.map(|at| if self.let_go_ns >= expected_ns(at) { NO_ROOM } else { OVERWRITTEN });
        let whole = &pieces[after_hole.unwrap_or(0)..];
        let cpus = whole[0].cpus.iter().enumerate();
        Some(cpus.map(|(place, (cpu, _))| (*cpu, of_cpu(whole, place, why, (start, end)))).collect())
    }

    /// What happened from some time before a stretch to its end. What is not whole here may be so in the rings, from
    /// which `copy` takes it; if only what was before the stretch is missing, the rest is whole.
    pub(crate) fn between_or(
        &self,
        before: u64,
        (start, end): Span,
        copy: impl FnOnce() -> Vec<(u32, Copied)>,
    ) -> Vec<(u32, Copied)> {
        match self.between(before, end) {
            Some(kept) if is_whole(&kept) => kept,
            Some(kept) => {
                let copied = copy();
                if is_whole(&copied) {
                    return copied;
                }
                self.between(start, end).filter(|own| is_whole(own)).unwrap_or(kept)
            }
            None => copy(),
        }
    }
}

/// Whether a piece holds something of a time that is wanted.
fn is_wanted(wanted: &[Span], piece: &Piece) -> bool {
    let begun = wanted.partition_point(|(begin_ns, _)| *begin_ns <= piece.to_ns);
    begun > 0 && wanted[begun - 1].1 >= piece.from_ns
}

/// What pieces without a hole between them have of one of their CPUs, between two times. `missing`: why something is
/// missing before them.
fn of_cpu(pieces: &[&Piece], place: usize, missing: Option<&'static str>, (start, end): Span) -> Copied {
    // A piece with a hole has what came after that; a single record that is missing makes none.
    let has_hole = |why: &str| why != UNFINISHED;
    let hole_at = pieces.iter().rposition(|piece| piece.of(place).broken.is_some_and(has_hole));
    let pieces = &pieces[hole_at.unwrap_or(0)..];
    let missing = missing.filter(|_| hole_at.is_none());
    let broken = missing.or_else(|| pieces.iter().find_map(|piece| piece.of(place).broken));
    // Exactly as much as there is: what waits for its names is bounded by the room that it takes.
    let room: usize = pieces.iter().map(|piece| piece.of(place).records.len()).sum();
    let mut records: Vec<Record> = Vec::with_capacity(room);
    for piece in pieces {
        // What is there already ends with the record that the next piece has from before it.
        let is_first = records.is_empty();
        let more = piece.of(place).records.iter();
        records.extend(more.filter(|record| is_first || record.time >= piece.from_ns).copied());
    }
    let first = records.partition_point(|record| record.time < start).saturating_sub(1);
    records.truncate(records.partition_point(|record| record.time <= end));
    records.drain(..first.min(records.len()));
    let stacks = pieces.iter().flat_map(|piece| &piece.of(place).stacks);
    let stacks = stacks.filter(|stack| (start..=end).contains(&stack.time)).copied().collect();
    Copied { records, stacks, broken }
}

/// Times in any order as times by when they begin, none of which touch.
pub(crate) fn joined(spans: impl IntoIterator<Item = Span>) -> Vec<Span> {
    let mut spans: Vec<Span> = spans.into_iter().collect();
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for (begin_ns, end_ns) in spans {
        match joined.last_mut().filter(|last| begin_ns <= last.1.saturating_add(1)) {
            Some(last) => last.1 = last.1.max(end_ns),
            None => joined.push((begin_ns, end_ns)),
        }
    }
    joined
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
